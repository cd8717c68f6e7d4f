"""Messages of several threads at once, each with its like on the other rank, where MPI lets all of them call it.

The threads run in C without the interpreter's lock (``threads.h``), and begin each repetition together. The loop is
called by both ranks of a pair, `first` true on the rank that sends first.
"""

from libc.stdint cimport uint64_t
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.mpi_calls cimport (
    CHKERR, COMMMODEL_MPI_ABI, PyMPIComm_Get, check_same_library, import_mpi4py,
)

import numpy as np

cdef extern from "mpi/threads.h" nogil:
    int COMMMODEL_MOST_THREADS
    int COMMMODEL_MOST_MESSAGES
    ctypedef struct Team "struct commmodel_team":
        mpi.MPI_Comm comm
        char *buffer
        Py_ssize_t stride
        Py_ssize_t repetitions
        Py_ssize_t batch
        int peer
        int first
        int size
        int threads
        int window
        int clock
        uint64_t *begins
        uint64_t *ends
    int commmodel_exchange(Team *, int *)
    int commmodel_can_start(int)

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()
MOST_THREADS = COMMMODEL_MOST_THREADS


def can_start(int threads):
    """Return whether this process can have so many threads at once, the caller one of them; none of them calls MPI."""
    cdef bint result
    if not 1 <= threads <= COMMMODEL_MOST_THREADS:
        raise ValueError(f"{threads} threads: 1 to {COMMMODEL_MOST_THREADS}")
    with nogil:
        result = commmodel_can_start(threads)
    return result


def exchanges(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size, Py_ssize_t stride,
              int threads, int window, Py_ssize_t repetitions, Py_ssize_t batch, int clock):
    """Return the ticks in which `threads` threads each make `batch` exchanges of `size` bytes, for each repetition.

    From the first thread's begin to the last one's end. An exchange is a round trip, or with a `window` of more than
    one message so many that are begun at once, one way, and an empty answer. Thread i sends from i (1 + window) times
    `stride`, and receives behind it. Raises RuntimeError on all ranks where one cannot start the threads.
    """
    cdef Team team
    cdef int provided, is_short = 0
    CHKERR(mpi.MPI_Query_thread(&provided))
    if threads > 1 and provided < mpi.MPI_THREAD_MULTIPLE:
        raise RuntimeError("threads that all call MPI need the thread level multiple")
    if not 1 <= threads <= COMMMODEL_MOST_THREADS:
        raise ValueError(f"{threads} threads: 1 to {COMMMODEL_MOST_THREADS}")
    if not 1 <= window <= COMMMODEL_MOST_MESSAGES:
        raise ValueError(f"a window of {window} messages: 1 to {COMMMODEL_MOST_MESSAGES}")
    if not 0 <= size <= stride or (1 + window) * threads * stride > buffer.shape[0] or size > 2**31 - 1:
        raise ValueError(f"messages of {size} bytes of {threads} threads, {stride} bytes apart, do not fit a buffer of "
                         f"{buffer.shape[0]} bytes")
    ticks = np.zeros((2, repetitions, threads), dtype=np.uint64)
    cdef uint64_t[:, :, ::1] out = ticks
    team.comm = PyMPIComm_Get(comm)[0]
    team.buffer, team.stride, team.size = <char *>&buffer[0], stride, <int>size
    team.peer, team.first, team.threads, team.clock = peer, first, threads, clock
    team.window, team.repetitions, team.batch = window, repetitions, batch
    team.begins, team.ends = &out[0, 0, 0], &out[1, 0, 0]
    with nogil:
        CHKERR(commmodel_exchange(&team, &is_short))
        CHKERR(mpi.MPI_Barrier(team.comm))
    if is_short:
        raise RuntimeError(f"a rank cannot start {threads} threads")
    return ticks[1].max(axis=1) - ticks[0].min(axis=1)
