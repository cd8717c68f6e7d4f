"""Recordings written in other formats. Main entry: `convert`."""

import os
from collections import Counter
from pathlib import Path

from commmodel.errors import InputError
from commmodel.record.actions import RecordedActions
from commmodel.record.files import Recording
from commmodel.record.timelines import timeline
from commmodel.signatures import checked
from commmodel.simulate import goal, traces
from commmodel.simulate.timeline import WRITERS


@checked
def convert(recording: Recording, output: str | os.PathLike[str]) -> Counter[str]:
    """Write a recording in the format that the name of the output tells.

    Parameters
    ----------
    recording : Recording
    output : path
        A folder (no suffix) for time-independent traces; ``.goal`` for a GOAL schedule, ``.bin`` for one in binary
        form; ``.json`` for the Trace Event Format of Perfetto, ``.paje`` or ``.trace`` for Paje and ``.csv`` for a
        table, which are timelines.

    Returns
    -------
    Counter
        Names of calls that have no form in traces and schedules -> how many became time alone; none of timelines.

    Raises
    ------
    InputError
        Where the suffix tells no format, or the output cannot be written.
    """
    path = Path(output)
    suffix = path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix
    if suffix in WRITERS:
        WRITERS[suffix](path, timeline(recording))
        return Counter()
    actions = RecordedActions(recording)
    if suffix == ".goal" or path.suffix == ".bin":
        goal.dump(goal.from_program(actions.program()), path)
    elif not suffix:
        traces.dump(actions, path)
    else:
        formats = f"none for a folder of traces, .goal, .bin, {', '.join(WRITERS)}"
        raise InputError(f"{path}: its suffix tells no format of a recording: choose {formats}")
    return actions.not_carried
