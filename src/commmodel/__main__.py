"""``python -m commmodel``: the command ``commmodel``, where its script is not on the path."""

from commmodel.cli import run

if __name__ == "__main__":
    run()
