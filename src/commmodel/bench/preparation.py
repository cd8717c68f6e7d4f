"""Preparation of a plan by all ranks: checks, and options with measured defaults. Main entry: `prepare`."""

from typing import TYPE_CHECKING

import numpy as np

from commmodel.bench.kernels import REGISTRY
from commmodel.bench.placement import Placement
from commmodel.errors import MPIEnvironmentError
from commmodel.results import BenchOptions, Clock

if TYPE_CHECKING:
    from mpi4py import MPI

_PROBE_BYTES = 64


def prepare(comm: "MPI.Intracomm", clock: Clock, options: BenchOptions, placement: Placement) -> BenchOptions:
    """Return the options with measured defaults; raise `MPIEnvironmentError` for what MPI cannot do.

    Called by all ranks; what it returns or raises is the same on each.
    """
    kernels = [REGISTRY[name] for name in options.kernels]
    if any(kernel.one_sided for kernel in kernels) and {"put", "get"} & set(options.operations):
        check_one_sided(comm)
    for kernel in kernels:
        if kernel.prepare:
            options = kernel.prepare(comm, clock, options, placement)
    return options


def check_one_sided(comm: "MPI.Intracomm") -> None:
    """Raise `MPIEnvironmentError` on every rank where MPI_Get or MPI_Put fails on some rank."""
    from mpi4py import MPI

    peer = (comm.rank + 1) % comm.size
    exposed, received = np.full(2 * _PROBE_BYTES, comm.rank, np.uint8), np.empty(_PROBE_BYTES, np.uint8)
    window, problem = None, ""
    try:
        window = MPI.Win.Create(exposed, 1, comm=comm)
        window.Lock_all()
        window.Rget(received, peer).Wait()
        window.Rput(received, peer, _PROBE_BYTES).Wait()
        window.Flush_all()
        window.Unlock_all()
        problem = "" if (received == peer % 256).all() else "MPI_Rget brought other bytes than there were"
    except MPI.Exception as error:
        problem = error.Get_error_string()
    problems = [text for text in comm.allgather(problem) if text]
    if problems:  # and the window is left alone, as to free it all ranks must be in order
        raise MPIEnvironmentError(
            f"one-sided operations do not work here ({problems[0]}): leave put and get out of --operations, "
            "or choose other transports of the MPI library"
        )
    if window is not None:
        window.Free()
