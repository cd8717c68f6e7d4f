"""A message whose receive is posted before it is sent, or long after, while its receiver is in MPI all the time.

The loop is called by both ranks of a pair, `first` true on the rank that receives; it returns the ticks of each
message (uint64), uninterpreted. Between two ticks stand MPI calls and the clock.
"""

from libc.stdint cimport uint64_t
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport (
    Message, begin_receive, describe, probe_in_vain, receive, receive_ready, release, send, send_ready, ticks_start,
    ticks_stop, wait,
)
from commmodel._core.mpi.mpi_calls cimport COMMMODEL_MPI_ABI, PyMPIComm_Get, check_same_library, import_mpi4py

import numpy as np

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()


def receives(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size, bint late,
             uint64_t delay, Py_ssize_t repetitions, int clock):
    """Return the ticks of the receiver (`first`) for each of `repetitions` messages; the sender's are of MPI_Send.

    The receiver asks for each message. Not `late`, it has posted its receive before, and its ticks are from its asking
    to the end of the receive. `late`, it probes for another message for `delay` ticks, and its ticks are those of the
    MPI_Recv after that.
    """
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef mpi.MPI_Request request
    cdef Message message
    cdef Py_ssize_t i
    cdef uint64_t begin
    describe(&message, buffer, size)
    with nogil:
        for i in range(repetitions):
            if not first:
                receive_ready(peer, handle)
                begin = ticks_start(clock)
                send(&message, peer, handle)
            elif late:
                send_ready(peer, handle)
                probe_in_vain(delay, clock, peer, handle)
                begin = ticks_start(clock)
                receive(&message, peer, handle)
            else:
                begin_receive(&message, peer, handle, &request)
                begin = ticks_start(clock)
                send_ready(peer, handle)
                wait(&request)
            out[i] = ticks_stop(clock) - begin
    release(&message)
    return ticks
