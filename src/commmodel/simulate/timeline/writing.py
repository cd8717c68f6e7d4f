"""Files of timelines, in the format of their names. Main entry: `dump`."""

import os

from commmodel.errors import InputError
from commmodel.signatures import checked
from commmodel.simulate.timeline.measured import write_csv
from commmodel.simulate.timeline.paje import write_paje
from commmodel.simulate.timeline.perfetto import write_perfetto
from commmodel.simulate.timeline.record import Timeline

WRITERS = {".json": write_perfetto, ".paje": write_paje, ".trace": write_paje, ".csv": write_csv}
"""Which format a file's name asks for."""


@checked
def dump(timeline: Timeline, path: str | os.PathLike[str]) -> None:
    """Write a timeline in the format of the file's name; an existing file is replaced.

    Parameters
    ----------
    timeline : Timeline
    path : path
        Ends in ``.json`` (Perfetto), ``.paje`` or ``.trace`` (Paje), or ``.csv`` (ours), with ``.gz`` behind it or not.

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
