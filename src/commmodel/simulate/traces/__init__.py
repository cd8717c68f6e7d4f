"""Time-independent traces: reading as programs, and writing. Main entries: `replay`, `replay_texts`, `write`."""

from commmodel.simulate.traces.reader import replay, replay_texts
from commmodel.simulate.traces.writer import write

__all__ = ["replay", "replay_texts", "write"]
