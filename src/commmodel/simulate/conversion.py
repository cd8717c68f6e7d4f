"""Traces and GOAL schedules written in another format. Main entry: `convert`."""

import os
from pathlib import Path

from commmodel.errors import InputError
from commmodel.simulate import goal, traces

_SUFFIXES = (".goal", ".bin")


def is_convertible(source: str | os.PathLike[str], output: str | os.PathLike[str]) -> bool:
    """Whether `convert` is what writes this source to this output."""
    return Path(output).suffix in _SUFFIXES or traces.is_trace(source)


def convert(source: str | os.PathLike[str], output: str | os.PathLike[str]) -> list[str]:
    """Write a GOAL schedule or a trace in the format that the name of the output tells.

    Parameters
    ----------
    source : path
        A GOAL schedule as text or binary, or a trace of any format; its content tells.
    output : path
        ``.goal`` for a GOAL schedule as text, ``.bin`` for LogGOPSim's binary form, or a folder (no suffix) for
        time-independent traces.

    Returns
    -------
    list of str
        Sentences on what has not been carried over.

    Raises
    ------
    InputError
        Where the source cannot be read or has no such form.
    """
    suffix = Path(output).suffix
    if suffix in _SUFFIXES and goal.is_schedule(source):
        goal.dump(goal.load(source), output)
        return []
    trace = traces.load(source)
    if suffix in _SUFFIXES:
        goal.dump(goal.from_program(trace.program()), output)
    elif not suffix and isinstance(trace, traces.ForeignTrace):
        traces.dump(trace, output)
    else:
        choice = "a folder (no suffix), .goal or .bin" if isinstance(trace, traces.ForeignTrace) else ".goal or .bin"
        raise InputError(f"{output}: its suffix tells no format that {source} is converted to: choose {choice}")
    return [*trace.notes()]
