"""Questions and answers about the time between two ranks. Main entries: `ask`, and `answer` on the other rank.

Readings of each rank's own clock, in ticks (uint64); what they say about the distance of two clocks is worked out in
`bench/synchronisation.py`.
"""

from libc.stdint cimport uint64_t
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport ticks_start, ticks_stop
from commmodel._core.mpi.mpi_calls cimport (
    CHKERR, COMMMODEL_MPI_ABI, PyMPIComm_Get, check_same_library, import_mpi4py,
)

import numpy as np

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()

cdef enum:
    TAG_QUESTION = 5
    TAG_ANSWER = 6


def ask(comm, int peer, Py_ssize_t count, int clock):
    """Ask a rank that answers for its time, `count` times in a row.

    Returns this rank's ticks before each question and after its answer, and the other rank's ticks in the answer.
    """
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    sent, received, answered = (np.empty(count, dtype=np.uint64) for _ in range(3))
    cdef uint64_t[::1] before = sent, after = received, there = answered
    cdef Py_ssize_t i
    with nogil:
        for i in range(count):
            before[i] = ticks_start(clock)
            CHKERR(mpi.MPI_Send(NULL, 0, mpi.MPI_BYTE, peer, TAG_QUESTION, handle))
            CHKERR(mpi.MPI_Recv(&there[i], 1, mpi.MPI_UINT64_T, peer, TAG_ANSWER, handle, mpi.MPI_STATUS_IGNORE))
            after[i] = ticks_stop(clock)
    return sent, received, answered


def answer(comm, int peer, Py_ssize_t count, int clock):
    """Answer so many questions of a rank with this rank's ticks."""
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef uint64_t now
    cdef Py_ssize_t _i
    with nogil:
        for _i in range(count):
            CHKERR(mpi.MPI_Recv(NULL, 0, mpi.MPI_BYTE, peer, TAG_QUESTION, handle, mpi.MPI_STATUS_IGNORE))
            now = ticks_stop(clock)
            CHKERR(mpi.MPI_Send(&now, 1, mpi.MPI_UINT64_T, peer, TAG_ANSWER, handle))
