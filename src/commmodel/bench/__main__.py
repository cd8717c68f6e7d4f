"""``python -m commmodel.bench``."""

import sys

from commmodel.errors import CommModelError

if __name__ == "__main__":
    try:
        from commmodel.bench.command import run
    except CommModelError as error:  # of a package that is not built
        print(f"commmodel.bench: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    raise SystemExit(run())
