"""Traces and GOAL schedules written in another format. Main entry: `convert`."""

import os
from pathlib import Path

from commmodel.errors import InputError
from commmodel.simulate import goal, traces

__all__ = ["convert", "is_convertible"]

_SUFFIXES = (".goal", ".bin")


def is_convertible(output: str | os.PathLike[str]) -> bool:
    """Whether the name of an output tells a format of `convert`."""
    return Path(output).suffix in _SUFFIXES


def convert(source: str | os.PathLike[str], output: str | os.PathLike[str]) -> list[str]:
    """Write a GOAL schedule or a trace in the format that the name of the output tells.

    Parameters
    ----------
    source : path
        A GOAL schedule as text or binary, or a time-independent trace; its content tells.
    output : path
        ``.goal`` for a GOAL schedule as text, ``.bin`` for LogGOPSim's binary form.

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
    if suffix not in _SUFFIXES:
        raise InputError(f"{output}: its suffix tells no format: choose {' or '.join(_SUFFIXES)}")
    schedule = goal.read(source) if goal.is_schedule(source) else goal.from_program(traces.replay(source))
    goal.write(schedule, output)
    return []
