"""``python -m commmodel.bench``."""

from commmodel.bench.command import run

if __name__ == "__main__":
    raise SystemExit(run())
