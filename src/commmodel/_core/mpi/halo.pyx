"""An exchange with several neighbours at once: all messages begun, then completed together.

The function is called by all ranks of a communicator; it returns ticks (uint64), uninterpreted.
"""

from libc.stdint cimport uint64_t

from commmodel._core.mpi.messages cimport (
    Loop, Message, begin_receive, begin_send, begin_together, check_places, extent, new_loop, read_lines, repeat,
    ticks_start, ticks_stop, wait_all, write_lines,
)
from commmodel._core.mpi.mpi_calls cimport check_same_library, import_mpi4py

import_mpi4py()
check_same_library()


def exchange(comm, int[::1] sources not None, int[::1] targets not None, unsigned char[::1] send_buffer not None,
             unsigned char[::1] receive_buffer not None, Py_ssize_t size, Py_ssize_t stride, Py_ssize_t repetitions,
             int clock, bint touched=False):
    """Return the ticks of exchanges in which message i comes from ``sources[i]`` and message i goes to ``targets[i]``.

    After a barrier of `comm` each rank begins its MPI_Irecv, then its MPI_Isend, and completes all of them in one
    MPI_Waitall. Messages lie `stride` bytes apart in both buffers. Touched ones are written before the barrier and
    read after the MPI_Waitall.
    """
    cdef int count = <int>sources.shape[0]
    if targets.shape[0] != count:
        raise ValueError(f"{count} sources, but {targets.shape[0]} targets")
    check_places(send_buffer, False, size, stride, count)
    check_places(receive_buffer, False, size, stride, count)
    cdef Loop loop = new_loop(comm, 0, True, size, clock, touched)
    loop.count, loop.stride, loop.sources, loop.targets = count, stride, &sources[0], &targets[0]
    return repeat(&loop, exchange_once, send_buffer, receive_buffer, 2 * count, repetitions)


cdef int exchange_once(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef Message outgoing = loop.outgoing, incoming = loop.incoming
    cdef Py_ssize_t i
    cdef uint64_t begin
    if loop.touched:
        write_lines(loop.outgoing.address, extent(&loop))
    begin_together(loop.comm, loop.clock)
    begin = ticks_start(loop.clock)
    for i in range(loop.count):
        incoming.address = <char *>loop.incoming.address + i * loop.stride
        begin_receive(&incoming, loop.sources[i], loop.comm, &loop.requests[i])
    for i in range(loop.count):
        outgoing.address = <char *>loop.outgoing.address + i * loop.stride
        begin_send(&outgoing, loop.targets[i], loop.comm, &loop.requests[loop.count + i])
    wait_all(2 * loop.count, loop.requests)
    ticks[0] = ticks_stop(loop.clock) - begin
    if loop.touched:
        read_lines(loop.incoming.address, extent(&loop))
    return 0
