"""A message whose receive is posted before it is sent, or long after, while its receiver is in MPI all the time.

The loop is called by both ranks of a pair, `first` true on the rank that receives; it returns the ticks of each
message (uint64), uninterpreted. Between two ticks stand MPI calls and the clock.
"""

from libc.stdint cimport uint64_t

from commmodel._core.mpi.messages cimport (
    Loop, new_loop, probe_in_vain, receive, receive_on_request, repeat, send_on_request, send_ready, ticks_start,
    ticks_stop,
)
from commmodel._core.mpi.mpi_calls cimport COMMMODEL_MPI_ABI, check_same_library, import_mpi4py

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
    cdef Loop loop = new_loop(comm, peer, first, size, clock, False)
    loop.delay, loop.alternative = delay, late
    return repeat(&loop, receive_one, buffer, buffer, 0, repetitions)


cdef int receive_one(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef uint64_t begin
    if not loop.first:
        return send_on_request(&loop, ticks)
    if not loop.alternative:
        return receive_on_request(&loop, ticks)
    send_ready(loop.peer, loop.comm)
    probe_in_vain(loop.delay, loop.clock, loop.peer, loop.comm)
    begin = ticks_start(loop.clock)
    receive(&loop.incoming, loop.peer, loop.comm)
    ticks[0] = ticks_stop(loop.clock) - begin
    return 0
