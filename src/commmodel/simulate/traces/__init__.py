"""Traces: reading as programs, and writing as time-independent traces. Main entries: `load`, `replay`, `dump`."""

from commmodel.lazy import attributes
from commmodel.simulate.traces.formats import FORMATS, Trace, is_foreign, is_trace, load, replay
from commmodel.simulate.traces.rank_actions import ForeignTrace
from commmodel.simulate.traces.reader import replay_texts
from commmodel.simulate.traces.writer import dump

__all__ = ["FORMATS", "ForeignTrace", "Trace", "dump", "is_foreign", "is_trace", "load", "replay", "replay_texts"]
__dir__ = attributes(__name__)[1]
