"""What must be known or true before a plan is made, found out together by all ranks. Main entry: `prepare`."""

import time
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from commmodel.bench.buffers import allocate
from commmodel.bench.kernels.overlap_templates import BASE_BYTES, base_passes
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.bench.synchronisation import GroupClock
from commmodel.errors import MPIEnvironmentError
from commmodel.results import Clock, Options

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["check_one_sided", "prepare"]

_ONE_SIDED = frozenset({"overlap", "burst", "queue", "progress"})
"""Kernels that know one-sided operations."""
_BASE_SECONDS = 2.0
_SLEEP_SECONDS = 2e-3
_PROBE_BYTES = 64


def prepare(comm: "MPI.Intracomm", clock: Clock, options: Options, placement: Placement) -> Options:
    """Return the options with what they leave to be measured; raise `MPIEnvironmentError` for what MPI cannot do.

    Called by all ranks; what it returns or raises is the same on each.
    """
    if _ONE_SIDED & set(options.kernels) and {"put", "get"} & set(options.operations):
        check_one_sided(comm)
    if "overlap" in options.kernels and options.passes is None:
        return msgspec.structs.replace(options, passes=_base_passes(comm, clock, options, placement))
    return options


def check_one_sided(comm: "MPI.Intracomm") -> None:
    """Raise `MPIEnvironmentError` on every rank where one of them cannot get or put a few bytes."""
    from mpi4py import MPI

    peer = (comm.rank + 1) % comm.size
    exposed, own = np.full(2 * _PROBE_BYTES, comm.rank, np.uint8), np.empty(_PROBE_BYTES, np.uint8)
    window, problem = None, ""
    try:
        window = MPI.Win.Create(exposed, 1, comm=comm)
        window.Lock_all()
        window.Rget(own, peer).Wait()
        window.Rput(own, peer, _PROBE_BYTES).Wait()
        window.Flush_all()
        window.Unlock_all()
        problem = "" if (own == peer % 256).all() else "MPI_Rget brought other bytes than there were"
    except MPI.Exception as error:
        problem = error.Get_error_string()
    problems = [one for one in comm.allgather(problem) if one]
    if problems:  # and the window is left alone, as to free it all ranks must be in order
        raise MPIEnvironmentError(
            f"one-sided operations do not work here ({problems[0]}): leave put and get out of --operations, "
            "or choose other transports of the MPI library"
        )
    if window is not None:
        window.Free()


def _base_passes(comm: "MPI.Intracomm", clock: Clock, options: Options, placement: Placement) -> int:
    """Return the base amount of computation, found on the first pair of the last path; all other ranks sleep."""
    path = list(placement)[-1]
    pair = placement[path][0]
    passes = 1
    if comm.rank in pair:
        group = comm.group.Incl(pair)
        both = comm.Create_group(group)
        group.Free()
        send_buffer = allocate(BASE_BYTES, options.huge_pages)
        receive_buffer = allocate(2 * BASE_BYTES, options.huge_pages)
        session = Session(
            both, clock, options, send_buffer, receive_buffer, _BASE_SECONDS, GroupClock(both, clock)
        )  # fmt: skip
        passes = base_passes(session, path)
        both.Free()
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(_SLEEP_SECONDS)
    return int(comm.bcast(passes))
