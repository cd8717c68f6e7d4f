"""A message to a rank that sends a larger one itself: whether the answer to the first waits behind the second.

The loop is called by both ranks of a pair, `first` true on the rank that is measured; it returns the ticks of each
repetition (uint64), uninterpreted. Between two ticks stand MPI calls and the clock.
"""

from libc.stdint cimport uint64_t
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport (
    Message, begin_receive, begin_send, describe, probe_in_vain, receive_ready, release, send, send_ready, ticks_start,
    ticks_stop, wait, wait_all,
)
from commmodel._core.mpi.mpi_calls cimport COMMMODEL_MPI_ABI, PyMPIComm_Get, check_same_library, import_mpi4py

import numpy as np

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()


def sends(comm, int peer, bint first, unsigned char[::1] send_buffer not None,
          unsigned char[::1] receive_buffer not None, Py_ssize_t size, Py_ssize_t large,
          bint beside, uint64_t delay, Py_ssize_t repetitions, int clock):
    """Return the ticks of `first` for each of `repetitions` pairs of messages; the peer's are of both together.

    `first` posts a receive of `large` bytes and asks for that message. Then it sends `size` bytes, whose receive is
    posted. `beside`, that begins after `delay` ticks in MPI, and its ticks are those of this MPI_Send. Else it begins
    when the large message is there, and its ticks are from asking to that.
    """
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef mpi.MPI_Request requests[2]
    cdef Message outgoing, incoming
    cdef Py_ssize_t i
    cdef uint64_t begin
    describe(&outgoing, send_buffer, size if first else large)
    describe(&incoming, receive_buffer, large if first else size)
    with nogil:
        for i in range(repetitions):
            begin_receive(&incoming, peer, handle, &requests[0])
            if not first:
                receive_ready(peer, handle)
                begin = ticks_start(clock)
                begin_send(&outgoing, peer, handle, &requests[1])
                wait_all(2, requests)
                out[i] = ticks_stop(clock) - begin
                continue
            begin = ticks_start(clock)
            send_ready(peer, handle)
            if beside:
                probe_in_vain(delay, clock, peer, handle)
                begin = ticks_start(clock)
                send(&outgoing, peer, handle)
                out[i] = ticks_stop(clock) - begin
                wait(&requests[0])
            else:
                wait(&requests[0])
                out[i] = ticks_stop(clock) - begin
                send(&outgoing, peer, handle)
    release(&incoming)
    release(&outgoing)
    return ticks
