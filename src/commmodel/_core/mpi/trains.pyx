"""Trains of messages with one answer: PRTT(n, d, s) of Hoefler, Lichei and Rehm (2007), and round trips.

Each public function is one loop, called by both ranks of a pair, `first` true on the rank that sends; it returns the
ticks of each train (uint64), uninterpreted. Between two ticks stand MPI calls, and with a delay the reading of the
clock until it is over.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport (
    Message, begin_send, check_places, describe, new_requests, post_window, read_lines, receive, receive_ready, release,
    send, send_ready, spin, ticks_start, ticks_stop, wait_all, write_lines,
)
from commmodel._core.mpi.mpi_calls cimport (
    CHKERR, COMMMODEL_MPI_ABI, PyMPIComm_Get, check_same_library, import_mpi4py,
)

import numpy as np

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()

cdef enum:
    TAG_ANSWER = 3


cdef int check_answer(int answer) except -1:
    if answer not in (0, 1):
        raise ValueError(f"an answer of {answer} bytes: it has 0 or 1")
    return 0


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
    check_places(buffer, first and not touched, size, stride, messages)
    check_answer(answer)
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef Message message, place
    cdef Py_ssize_t i, extent = (messages - 1) * stride + size, apart = stride if touched else 0
    cdef int _message
    cdef uint64_t begin
    describe(&message, buffer, size)
    with nogil:
        for i in range(repetitions):
            place = message
            if first:
                if touched:
                    write_lines(message.address, extent)
                receive_ready(peer, handle)
                begin = ticks_start(clock)
                send(&place, peer, handle)
                for _message in range(1, messages):
                    if delay:
                        spin(delay, clock)
                    place.address = <char *>place.address + apart
                    send(&place, peer, handle)
                receive_answer(answer, peer, handle)
            else:
                send_ready(peer, handle)
                begin = ticks_start(clock)
                for _message in range(messages):
                    receive(&place, peer, handle)
                    place.address = <char *>place.address + stride
                send_answer(answer, peer, handle)
            out[i] = ticks_stop(clock) - begin
            if touched and not first:
                read_lines(message.address, extent)
    release(&message)
    return ticks


def immediate_train(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
                    Py_ssize_t stride, int messages, uint64_t delay, int answer, Py_ssize_t repetitions, int clock,
                    bint touched=False):
    """Return the ticks of `repetitions` trains of `messages` MPI_Isend with one MPI_Waitall, and an answer.

    The receiver has posted its receives, `stride` bytes apart, before it says that it is ready. The delay lies
    between the return of one MPI_Isend and the begin of the next; all else is as in `blocking_train`.
    """
    check_places(buffer, first and not touched, size, stride, messages)
    check_answer(answer)
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef Message message, place
    cdef mpi.MPI_Request *requests
    cdef Py_ssize_t i, extent = (messages - 1) * stride + size, apart = stride if touched else 0
    cdef int j
    cdef uint64_t begin
    describe(&message, buffer, size)
    requests = new_requests(messages)
    try:
        with nogil:
            for i in range(repetitions):
                if first:
                    place = message
                    if touched:
                        write_lines(message.address, extent)
                    receive_ready(peer, handle)
                    begin = ticks_start(clock)
                    begin_send(&place, peer, handle, &requests[0])
                    for j in range(1, messages):
                        if delay:
                            spin(delay, clock)
                        place.address = <char *>place.address + apart
                        begin_send(&place, peer, handle, &requests[j])
                    wait_all(messages, requests)
                    receive_answer(answer, peer, handle)
                else:
                    post_window(&message, requests, messages, stride, peer, handle)
                    send_ready(peer, handle)
                    begin = ticks_start(clock)
                    wait_all(messages, requests)
                    send_answer(answer, peer, handle)
                out[i] = ticks_stop(clock) - begin
                if touched and not first:
                    read_lines(message.address, extent)
    finally:
        free(requests)
    release(&message)
    return ticks
