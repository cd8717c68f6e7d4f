"""A message to a rank that sends a larger one itself: whether the answer to the first waits behind the second.

The loop is called by both ranks of a pair, `first` true on the rank that is measured; it returns the ticks of each
repetition (uint64), uninterpreted. Between two ticks stand MPI calls and the clock.
"""

from libc.stdint cimport uint64_t

from commmodel._core.mpi.messages cimport (
    Loop, begin_receive, begin_send, new_loop, probe_in_vain, receive_ready, repeat, send, send_ready, ticks_start,
    ticks_stop, wait, wait_all,
)
from commmodel._core.mpi.mpi_calls cimport COMMMODEL_MPI_ABI, check_same_library, import_mpi4py

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
    cdef Loop loop = new_loop(comm, peer, first, size if first else large, clock, False)
    loop.received, loop.delay, loop.alternative = large if first else size, delay, beside
    return repeat(&loop, answer_once, send_buffer, receive_buffer, 2, repetitions)


cdef int answer_once(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef uint64_t begin
    begin_receive(&loop.incoming, loop.peer, loop.comm, &loop.requests[0])
    if not loop.first:
        receive_ready(loop.peer, loop.comm)
        begin = ticks_start(loop.clock)
        begin_send(&loop.outgoing, loop.peer, loop.comm, &loop.requests[1])
        wait_all(2, loop.requests)
        ticks[0] = ticks_stop(loop.clock) - begin
        return 0
    begin = ticks_start(loop.clock)
    send_ready(loop.peer, loop.comm)
    if loop.alternative:
        probe_in_vain(loop.delay, loop.clock, loop.peer, loop.comm)
        begin = ticks_start(loop.clock)
        send(&loop.outgoing, loop.peer, loop.comm)
        ticks[0] = ticks_stop(loop.clock) - begin
        return wait(&loop.requests[0])
    wait(&loop.requests[0])
    ticks[0] = ticks_stop(loop.clock) - begin
    return send(&loop.outgoing, loop.peer, loop.comm)
