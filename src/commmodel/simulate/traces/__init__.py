"""Time-independent traces: reading as programs, and writing. Main entries: `replay` and `write`."""

from commmodel.simulate.traces.reader import replay
from commmodel.simulate.traces.writer import write

__all__ = ["replay", "write"]
