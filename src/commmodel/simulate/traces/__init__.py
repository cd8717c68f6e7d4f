"""Traces: reading as programs, and writing as time-independent traces. Main entries: `load`, `replay`, `write`."""

from commmodel.simulate.traces.formats import FORMATS, Trace, is_foreign, load, replay
from commmodel.simulate.traces.rank_actions import ForeignTrace
from commmodel.simulate.traces.reader import replay_texts
from commmodel.simulate.traces.writer import write

__all__ = ["FORMATS", "ForeignTrace", "Trace", "is_foreign", "load", "replay", "replay_texts", "write"]
