"""MPI thread levels of measurements, which change times more than libraries differ. Main entry: `known_level`.

A program that calls MPI_Init gets what ``single`` is in MPI_Init_thread. mpi4py asks for ``multiple`` unless told
otherwise, and libraries then take a lock or another path in every call.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from commmodel.errors import InputError
from commmodel.results.records import Header, Launch, ThreadLevel

LEVELS: tuple[ThreadLevel, ...] = get_args(ThreadLevel)
"""In MPI's order: each allows all that those before it allow."""

_MPI4PY_DEFAULT: Literal["multiple"] = "multiple"


def known_level(header: Header) -> ThreadLevel | None:
    """Return the thread level that MPI provided; None where unknown, as in most other suites' output.

    Files of this benchmark from before it recorded the level were measured at mpi4py's default, ``multiple``.

    >>> from commmodel.results import Library
    >>> known_level(Header("commmodel-results", 1, "", (), Library("MPICH", thread_level="single"), (), ()))
    'single'
    >>> known_level(Header("commmodel-results", 1, "", (), Library("MPICH"), (), (), versions={"mpi4py": "4.1.2"}))
    'multiple'
    >>> known_level(Header("commmodel-results", 1, "", (), Library("MPICH"), (), ()))
    """
    if header.mpi.thread_level is not None:
        return header.mpi.thread_level
    return _MPI4PY_DEFAULT if "mpi4py" in header.versions else None


def words(header: Header) -> str:
    """Return the thread level in words; empty where unknown.

    >>> from commmodel.results import Library
    >>> library = Library("MPICH", thread_level="serialized", thread_level_asked="multiple")
    >>> words(Header("commmodel-results", 1, "", (), library, (), ()))
    'serialized (asked for: multiple)'
    >>> words(Header("commmodel-results", 1, "", (), Library("MPICH"), (), (), versions={"mpi4py": "4.1.2"}))
    "unknown (mpi4py's default, multiple)"
    """
    level, requested = header.mpi.thread_level, header.mpi.thread_level_asked
    if level is None:
        return f"unknown (mpi4py's default, {_MPI4PY_DEFAULT})" if known_level(header) else ""
    return level if requested in {None, level} else f"{level} (asked for: {requested})"


def _different(launches: Iterable[Launch]) -> str:
    """Return the known thread levels in words, where there are several."""
    levels = {level: words(launch.header) for launch in launches if (level := known_level(launch.header))}
    return "; ".join(levels.values()) if len(levels) > 1 else ""


def refuse_different(launches: Iterable[Launch], advice: str) -> None:
    """Raise `InputError` where launches were measured at different thread levels.

    Parameters
    ----------
    launches : iterable of Launch
    advice : str
        What to do, the end of the message.

    >>> from commmodel.results import Library
    >>> headers = [Header("commmodel-results", 1, "", (), Library("MPICH", thread_level=one), (), ()) for one in LEVELS]
    >>> refuse_different([Launch(header, ()) for header in headers[:2]], "fit each on its own")
    Traceback (most recent call last):
    commmodel.errors.InputError: different MPI thread levels were measured (single; funneled): fit each on its own
    """
    if difference := _different(launches):
        raise InputError(f"different MPI thread levels were measured ({difference}): {advice}")


def remarks(launches: Sequence[Launch], fitted: str = "") -> tuple[str, ...]:
    """Return a line where launches differ in thread level from each other, or from the machine's.

    >>> from commmodel.results import Library
    >>> launch = Launch(Header("commmodel-results", 1, "", (), Library("MPICH", thread_level="single"), (), ()), ())
    >>> remarks([launch]), remarks([launch], "multiple")
    ((), ('measured at MPI thread level single, but the machine was fitted at multiple: times differ by that, too',))
    """
    if difference := _different(launches):
        return (f"measured at different MPI thread levels ({difference}): times differ by that, too",)
    levels = {level: words(launch.header) for launch in launches if (level := known_level(launch.header))}
    return tuple(
        f"measured at MPI thread level {text}, but the machine was fitted at {fitted}: times differ by that, too"
        for level, text in levels.items()
        if fitted and level != fitted
    )
