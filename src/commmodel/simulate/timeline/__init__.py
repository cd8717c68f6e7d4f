"""Timelines of ranks' states, simulated or measured, and their files.

::

    record.py     Timeline, in the order of ranks and times; made from a SimulationResult
    transferring.py  waits of other programs told apart: nothing moves, or a message of the rank is in flight
    perfetto.py   the Trace Event Format (Perfetto, chrome://tracing), written
    paje.py       Paje (ViTE, pj_dump), written
    measured.py   our CSV, written and read; the Trace Event Format, read
    writing.py    all of them, by a file's name

Files are written piece by piece, so that millions of intervals need no more memory than their arrays. A name that
ends in ``.gz`` is compressed. Main entries: `Timeline`, `dump` and `load`. What reads and
writes files is loaded at its first use.
"""

from typing import TYPE_CHECKING

from commmodel._core.common.codes import State
from commmodel.lazy import attributes
from commmodel.simulate.states import STATE_NAMES
from commmodel.simulate.timeline.record import Timeline
from commmodel.simulate.timeline.transferring import split_waits

if TYPE_CHECKING:
    from commmodel.simulate.timeline.measured import load, write_csv
    from commmodel.simulate.timeline.paje import write_paje
    from commmodel.simulate.timeline.perfetto import write_perfetto
    from commmodel.simulate.timeline.writing import WRITERS, dump
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = [
    "STATE_NAMES", "WRITERS", "State", "Timeline", "dump", "load", "split_waits", "write_csv",
    "write_paje", "write_perfetto",
]  # fmt: skip
