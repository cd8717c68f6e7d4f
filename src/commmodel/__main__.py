"""``python -m commmodel``: the command ``commmodel``, where the script is not on the PATH."""

from commmodel.cli import run

if __name__ == "__main__":
    run()
