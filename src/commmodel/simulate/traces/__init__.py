"""Time-independent traces: read as programs, and written. Main entries: `replay` and `write`."""

from commmodel.simulate.traces.reader import replay
from commmodel.simulate.traces.writer import write

__all__ = ["replay", "write"]
