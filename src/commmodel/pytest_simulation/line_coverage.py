"""Coverage of lines, where pytest-cov or coverage.py measures it. Main entries: `save`, `silence`.

Ranks are copies of an interpreter in which it has begun, so they measure, too, each into a file of its own, as
coverage.py does in copies of a process. Whoever has begun it combines the files.
"""

import sys
from typing import Any


def _running() -> Any:
    """Return what measures here, or None."""
    coverage: Any = sys.modules.get("coverage")
    return None if coverage is None else coverage.Coverage.current()


def save() -> None:
    """Write down which lines have run in this rank."""
    running = _running()
    if running is not None:
        silence()
        running.stop()
        running.save()


def silence() -> None:
    """Have no warnings that this process runs none of the lines: others do. pytest-cov does so where it has workers."""
    running = _running()
    if running is not None:
        running._warn_no_data = running._warn_unimported_source = False
