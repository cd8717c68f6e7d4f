"""Trains of messages with one answer: PRTT(n, d, s) of Hoefler, Lichei and Rehm (2007), and round trips.

Each public function is one loop, called by both ranks of a pair, `first` true on the rank that sends; it returns the
ticks of each train (uint64), uninterpreted. Between two ticks stand MPI calls, and with a delay the reading of the
clock until it is over.
"""

from libc.stdint cimport uint64_t
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport (
    Loop, begin_send, check_places, extent, new_loop, post_window, read_lines, receive, receive_ready, repeat, send,
    send_ready, spin, ticks_start, ticks_stop, wait_all, write_lines,
)
from commmodel._core.mpi.mpi_calls cimport CHKERR, COMMMODEL_MPI_ABI, check_same_library, import_mpi4py

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()

cdef enum:
    TAG_ANSWER = 3


cdef inline int send_answer(int answer, int peer, mpi.MPI_Comm comm) except -1 nogil:
    cdef char byte = 1
    return CHKERR(mpi.MPI_Send(&byte, answer, mpi.MPI_BYTE, peer, TAG_ANSWER, comm))


cdef inline int receive_answer(int answer, int peer, mpi.MPI_Comm comm) except -1 nogil:
    cdef char byte
    return CHKERR(mpi.MPI_Recv(&byte, answer, mpi.MPI_BYTE, peer, TAG_ANSWER, comm, mpi.MPI_STATUS_IGNORE))


def waits(uint64_t delay, Py_ssize_t count, int clock):
    """Return the ticks of `count` busy waits in a row, each of `delay` ticks: what a train waits with."""
    cdef Py_ssize_t _wait
    cdef uint64_t begin, ticks
    with nogil:
        begin = ticks_start(clock)
        for _wait in range(count):
            spin(delay, clock)
        ticks = ticks_stop(clock) - begin
    return ticks


def blocking_train(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
                   Py_ssize_t stride, int messages, uint64_t delay, int answer, Py_ssize_t repetitions, int clock,
                   bint touched=False):
    """Return the ticks of `repetitions` trains of `messages` MPI_Send, and an answer of `answer` (0 or 1) bytes.

    Each send but the first begins `delay` ticks after the end of the one before it; the sender spends them outside
    MPI. The receiver says that it is ready, then makes as many MPI_Recv, each to a place of its own, `stride` bytes
    apart, and answers. The sender's ticks are from the begin of its first MPI_Send to the answer. Touched messages
    leave `stride` bytes apart, too; the sender writes all of them before, the receiver reads them after the train.
    """
    cdef Loop loop = new_train(comm, peer, first, buffer, size, stride, messages, delay, answer, clock, touched)
    return repeat(&loop, blocking_messages, buffer, buffer, 0, repetitions)


cdef Loop new_train(comm, int peer, bint first, unsigned char[::1] buffer, Py_ssize_t size, Py_ssize_t stride,
                    int messages, uint64_t delay, int answer, int clock, bint touched) except *:
    check_places(buffer, first and not touched, size, stride, messages)
    if answer not in (0, 1):
        raise ValueError(f"an answer has 0 or 1 bytes, not {answer}")
    cdef Loop loop = new_loop(comm, peer, first, size, clock, touched)
    loop.count, loop.stride, loop.delay, loop.alternative = messages, stride, delay, answer
    return loop


cdef int blocking_messages(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef void *place = loop.outgoing.address
    cdef Py_ssize_t _message, apart = loop.stride if loop.touched else 0
    cdef uint64_t begin
    if loop.first:
        if loop.touched:
            write_lines(place, extent(&loop))
        receive_ready(loop.peer, loop.comm)
        begin = ticks_start(loop.clock)
        send(&loop.outgoing, loop.peer, loop.comm)
        for _message in range(1, loop.count):
            if loop.delay:
                spin(loop.delay, loop.clock)
            loop.outgoing.address = <char *>loop.outgoing.address + apart
            send(&loop.outgoing, loop.peer, loop.comm)
        receive_answer(loop.alternative, loop.peer, loop.comm)
    else:
        send_ready(loop.peer, loop.comm)
        begin = ticks_start(loop.clock)
        for _message in range(loop.count):
            receive(&loop.incoming, loop.peer, loop.comm)
            loop.incoming.address = <char *>loop.incoming.address + loop.stride
        send_answer(loop.alternative, loop.peer, loop.comm)
    ticks[0] = ticks_stop(loop.clock) - begin
    if loop.touched and not loop.first:
        read_lines(place, extent(&loop))
    return 0


def immediate_train(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
                    Py_ssize_t stride, int messages, uint64_t delay, int answer, Py_ssize_t repetitions, int clock,
                    bint touched=False):
    """Return the ticks of `repetitions` trains of `messages` MPI_Isend with one MPI_Waitall, and an answer.

    The receiver has posted its receives, `stride` bytes apart, before it says that it is ready. The delay lies
    between the return of one MPI_Isend and the begin of the next; all else is as in `blocking_train`.
    """
    cdef Loop loop = new_train(comm, peer, first, buffer, size, stride, messages, delay, answer, clock, touched)
    return repeat(&loop, immediate_messages, buffer, buffer, messages, repetitions)


cdef int immediate_messages(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef Py_ssize_t i, apart = loop.stride if loop.touched else 0
    cdef uint64_t begin
    if loop.first:
        if loop.touched:
            write_lines(loop.outgoing.address, extent(&loop))
        receive_ready(loop.peer, loop.comm)
        begin = ticks_start(loop.clock)
        begin_send(&loop.outgoing, loop.peer, loop.comm, &loop.requests[0])
        for i in range(1, loop.count):
            if loop.delay:
                spin(loop.delay, loop.clock)
            loop.outgoing.address = <char *>loop.outgoing.address + apart
            begin_send(&loop.outgoing, loop.peer, loop.comm, &loop.requests[i])
        wait_all(loop.count, loop.requests)
        receive_answer(loop.alternative, loop.peer, loop.comm)
    else:
        post_window(&loop.incoming, loop.requests, loop.count, loop.stride, loop.peer, loop.comm)
        send_ready(loop.peer, loop.comm)
        begin = ticks_start(loop.clock)
        wait_all(loop.count, loop.requests)
        send_answer(loop.alternative, loop.peer, loop.comm)
    ticks[0] = ticks_stop(loop.clock) - begin
    if loop.touched and not loop.first:
        read_lines(loop.incoming.address, extent(&loop))
    return 0
