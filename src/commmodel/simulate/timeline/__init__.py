"""Timelines of ranks' states, simulated or measured, and their files.

::

    record.py     Timeline, in the order of ranks and times; made from a SimulationResult
    transferring.py  waits told apart: nothing moves, or a message of the rank is under way
    perfetto.py   the Trace Event Format (Perfetto, chrome://tracing), written
    paje.py       Paje (ViTE, pj_dump), written
    measured.py   our CSV, written and read; the Trace Event Format, read

Files are written piece by piece, so that millions of intervals need no more memory than their arrays. A name that
ends in ``.gz`` is compressed. Main entries: `Timeline`, `write` and `read`.
"""

import os

from commmodel.errors import InputError
from commmodel.simulate.timeline.measured import read, write_csv
from commmodel.simulate.timeline.paje import write_paje
from commmodel.simulate.timeline.perfetto import write_perfetto
from commmodel.simulate.timeline.record import STATE_NAMES, Timeline
from commmodel.simulate.timeline.transferring import DRAWN_NAMES, TRANSFER, split_waits

__all__ = [
    "DRAWN_NAMES", "STATE_NAMES", "TRANSFER", "WRITERS", "Timeline", "read", "split_waits", "write", "write_csv",
    "write_paje", "write_perfetto",
]  # fmt: skip

WRITERS = {".json": write_perfetto, ".paje": write_paje, ".trace": write_paje, ".csv": write_csv}
"""Which format a file's name asks for."""


def write(path: str | os.PathLike[str], timeline: Timeline) -> None:
    """Write a timeline in the format of the file's name; an existing file is replaced.

    Parameters
    ----------
    path : path
        Ends in ``.json`` (Perfetto), ``.paje`` or ``.trace`` (Paje), or ``.csv`` (ours), with ``.gz`` behind it or not.
    timeline : Timeline

    Raises
    ------
    InputError
        Where the name says no format, or the file cannot be written.
    """
    name = os.fspath(path).lower()
    suffix = os.path.splitext(name.removesuffix(".gz"))[1]
    if suffix not in WRITERS:
        raise InputError(f"{path}: no format of a timeline: the name must end in {', '.join(WRITERS)} (and .gz)")
    WRITERS[suffix](path, timeline)
