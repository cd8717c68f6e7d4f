"""Calls of mpi4py's lower-case methods, which pickle what they send: known by the MPI calls of one line of Python.

Main entry: `object_methods`.
"""

import linecache
import re
from collections.abc import Mapping, Set
from pathlib import Path

from commmodel.record import Profile

_TELLING: Mapping[str, frozenset[str]] = {
    "allgather": frozenset({"MPI_Allgather", "MPI_Allgatherv"}),
    "alltoall": frozenset({"MPI_Alltoall", "MPI_Alltoallv"}),
    "gather": frozenset({"MPI_Gather", "MPI_Gatherv"}),
    "scatter": frozenset({"MPI_Scatter", "MPI_Scatterv"}),
    "allreduce": frozenset({"MPI_Send", "MPI_Recv", "MPI_Bcast"}),
    "sendrecv": frozenset({"MPI_Mprobe", "MPI_Mrecv", "MPI_Isend"}),
    "recv": frozenset({"MPI_Mprobe", "MPI_Mrecv"}),
    "bcast": frozenset({"MPI_Bcast"}),
    "send": frozenset({"MPI_Send"}),
    "ssend": frozenset({"MPI_Ssend"}),
    "isend": frozenset({"MPI_Isend"}),
    "reduce": frozenset({"MPI_Send", "MPI_Recv"}),
    "scan": frozenset({"MPI_Sendrecv"}),
    "exscan": frozenset({"MPI_Sendrecv"}),
}
"""Method -> the calls that it makes on one line; those of larger sets first, as they tell more."""
_PLAIN = frozenset({"bcast", "send", "ssend", "isend", "reduce", "scan", "exscan"})
"""Methods whose calls those of arrays make, too: the source has to tell."""
_LARGEST = 4 << 20
"""Bytes of a source that is read."""


def _method(calls: Set[str], source: str) -> str:
    """Return the method that makes these calls of MPI on one line; empty where it sends arrays, or nothing tells.

    >>> _method({"MPI_Gather", "MPI_Gatherv"}, ""), _method({"MPI_Bcast"}, "comm.Bcast(a)"), _method({"MPI_Bcast"}, "")
    ('gather', '', '')
    >>> _method({"MPI_Bcast"}, "a = comm.bcast(a)")
    'bcast'
    """
    methods = [name for name, needed in _TELLING.items() if needed <= calls]
    typed = [name for name in methods if re.search(rf"\.{name}\s*\(", source)]
    if source and not typed and re.search(r"\.[A-Z][a-z_]+\s*\(", source):
        return ""  # arrays, of several calls on one line
    return next((name for name in (*typed, *(name for name in methods if name not in _PLAIN))), "")


def _source(file: str, line: int) -> str:
    """Return a line of a program that is still there; a recording may name any file, and only a plain one is opened."""
    path = Path(file)
    try:
        is_source = path.is_absolute() and path.is_file() and path.stat().st_size <= _LARGEST
    except (OSError, ValueError):
        return ""
    return linecache.getline(file, line) if is_source else ""


def object_methods(profile: Profile) -> dict[tuple[str, int], str]:
    """Return the lower-case method of each line of Python that calls one."""
    calls: dict[tuple[str, int], set[str]] = {}
    for site in profile.sites:
        if site.file.endswith(".py") and site.line:
            calls.setdefault((site.file, site.line), set()).add(site.call)
    methods = {line: _method(names, _source(*line)) for line, names in calls.items()}
    return {line: method for line, method in methods.items() if method}


def array_advice(method: str) -> str:
    """Return what to call instead of a method that pickles; empty for none.

    >>> array_advice("allreduce")
    'use Allreduce with arrays: allreduce pickles'
    """
    return f"use {method.capitalize()} with arrays: {method} pickles" if method else ""
