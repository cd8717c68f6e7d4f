"""Write the drawings: ``python -m tools.drawings [NAME ...]``."""

import argparse
from collections.abc import Sequence

from tools.drawings import DRAWINGS, FOLDER


def main(argv: Sequence[str] | None = None) -> int:
    """Write those that are named, or all."""
    parser = argparse.ArgumentParser(prog="tools.drawings", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these ({', '.join(DRAWINGS)})")
    names = parser.parse_args(argv).names or list(DRAWINGS)
    if strangers := [name for name in names if name not in DRAWINGS]:
        parser.error(f"{strangers[0]}: there are {', '.join(DRAWINGS)}")
    FOLDER.mkdir(exist_ok=True)
    for name in names:
        (FOLDER / f"{name}.svg").write_text(DRAWINGS[name](), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
