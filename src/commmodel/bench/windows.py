"""MPI windows: whether one-sided operations work, and how a window is freed. Main entry: `check_one_sided`."""

from typing import TYPE_CHECKING

import numpy as np

from commmodel.errors import MPIEnvironmentError

if TYPE_CHECKING:
    from mpi4py import MPI

_PROBE_BYTES = 64
# Open MPI 5.0 crashes on acknowledgements that come after MPI_Win_free. It takes up to 31 of them in each look at its
# shared memory, of which there is one in a barrier at least: enough for all of a queue.
_LATE_BARRIERS = 64


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
            f"one-sided operations do not work here ({problems[0]}): leave the kernel one-sided out, and put and get "
            "of --operations, or choose other transports of the MPI library"
        )
    if window is not None:
        window.Free()


def free_window(comm: "MPI.Intracomm", window: "MPI.Win") -> None:
    """Free a window that all ranks of `comm` are done with."""
    for _ in range(_LATE_BARRIERS):
        comm.Barrier()
    window.Free()
