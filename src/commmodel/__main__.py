"""The command ``commmodel``, also ``python -m commmodel``: first of all signals, which must not come into an import."""

from typing import NoReturn

from commmodel.interruption import raise_on_signals

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command and exit."""
    raise_on_signals()
    from commmodel.cli import run

    run()


if __name__ == "__main__":
    main()
