"""Receives behind others: behind posted receives that nothing comes for yet, or behind messages nobody asked for yet.

The loops are called by both ranks of a pair, `first` true on the rank that receives; they return the ticks of each
repetition (uint64), uninterpreted. Between two ticks stand MPI calls and the clock. The entries have tags of their own,
and are there before the first repetition and after the last.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport (
    TAG_MESSAGE, Loop, new_loop, new_requests, receive, receive_on_request, repeat, send_on_request, send_ready,
    ticks_start, ticks_stop,
)
from commmodel._core.mpi.mpi_calls cimport (
    CHKERR, COMMMODEL_MPI_ABI, PyMPIComm_Get, check_same_library, import_mpi4py,
)

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()

cdef enum:
    TAG_ENTRY = 100  # of the first entry: each has the next


cdef int check_entries(int entries) except -1:
    if entries < 0:
        raise ValueError(f"a queue of {entries} entries: it has at least none")
    return 0


def posted(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size, int entries,
           Py_ssize_t repetitions, int clock):
    """Return the ticks from asking for a message to its arrival, its receive posted behind `entries` others.

    Those of the sender are of its MPI_Send.
    """
    cdef mpi.MPI_Comm communicator = PyMPIComm_Get(comm)[0]
    cdef mpi.MPI_Request *requests
    cdef Loop loop
    cdef int i
    check_entries(entries)
    requests = new_requests(entries + 1)
    try:
        if first:
            for i in range(entries):
                CHKERR(mpi.MPI_Irecv(NULL, 0, mpi.MPI_BYTE, peer, TAG_ENTRY + i, communicator, &requests[i]))
        loop = new_loop(comm, peer, first, size, clock, False)
        ticks = repeat(&loop, receive_posted, buffer, buffer, 0, repetitions)
        if first:
            CHKERR(mpi.MPI_Waitall(entries, requests, mpi.MPI_STATUSES_IGNORE))
        else:
            send_entries(entries, peer, communicator)
    finally:
        free(requests)
    return ticks


cdef int send_entries(int entries, int peer, mpi.MPI_Comm communicator) except -1:
    cdef int i
    for i in range(entries):
        CHKERR(mpi.MPI_Send(NULL, 0, mpi.MPI_BYTE, peer, TAG_ENTRY + i, communicator))
    return 0


cdef int receive_posted(Loop loop, uint64_t *ticks) except -1 nogil:
    return receive_on_request(&loop, ticks) if loop.first else send_on_request(&loop, ticks)


def unexpected(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size, int entries,
               Py_ssize_t repetitions, int clock):
    """Return the ticks of the MPI_Recv of a message that has arrived behind `entries` others.

    Those of the sender are of its MPI_Send.
    """
    cdef mpi.MPI_Comm communicator = PyMPIComm_Get(comm)[0]
    cdef int i
    check_entries(entries)
    cdef Loop loop = new_loop(comm, peer, first, size, clock, False)
    if not first:
        send_entries(entries, peer, communicator)
    ticks = repeat(&loop, receive_unexpected, buffer, buffer, 0, repetitions)
    if first:
        for i in range(entries):
            CHKERR(mpi.MPI_Recv(NULL, 0, mpi.MPI_BYTE, peer, TAG_ENTRY + i, communicator, mpi.MPI_STATUS_IGNORE))
    return ticks


cdef int receive_unexpected(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef uint64_t begin
    if not loop.first:
        return send_on_request(&loop, ticks)
    send_ready(loop.peer, loop.comm)
    CHKERR(mpi.MPI_Probe(loop.peer, TAG_MESSAGE, loop.comm, mpi.MPI_STATUS_IGNORE))
    begin = ticks_start(loop.clock)
    receive(&loop.incoming, loop.peer, loop.comm)
    ticks[0] = ticks_stop(loop.clock) - begin
    return 0
