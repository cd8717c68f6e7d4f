"""Rows of messages begun one after the other: what beginning one costs, when a queue is full, what goes on by itself.

Each public function is one loop, called by both ranks of a pair; it returns ticks (uint64), uninterpreted. Messages lie
`stride` bytes apart in both buffers, as those of a program do. What was begun is completed before the next repetition.
Source: Iancu and Strohmaier (2007), Section 2.1.

One-sided loops take an mpi4py window of bytes that each rank has locked (MPI_Win_lock_all): what is put into, or got
from. Message i lies at i times `stride` in it, too.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport (
    TAG_MESSAGE, TAG_READY, Message, begin_window, check_places, describe, new_requests, post_window, read_lines,
    receive_ready, release, send_ready, spin, ticks_start, ticks_stop, wait_all, write_lines,
)
from commmodel._core.mpi.mpi_calls cimport (
    CHKERR, COMMMODEL_MPI_ABI, PyMPIComm_Get, PyMPIWin_Get, check_same_library, import_mpi4py,
)

import numpy as np

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()


cdef inline int send_one(Message *message, Py_ssize_t offset, int peer, mpi.MPI_Comm comm,
                         mpi.MPI_Request *request) except -1 nogil:
    return CHKERR(mpi.MPI_Isend(<char *>message.address + offset, message.count, message.type, peer, TAG_MESSAGE, comm,
                                request))


cdef inline int move_one(Message *message, Py_ssize_t offset, int peer, mpi.MPI_Win window, bint get) except -1 nogil:
    if get:
        return CHKERR(mpi.MPI_Get(<char *>message.address + offset, message.count, message.type, peer, offset,
                                  message.count, message.type, window))
    return CHKERR(mpi.MPI_Put(<char *>message.address + offset, message.count, message.type, peer, offset,
                              message.count, message.type, window))


cdef inline int move_row(Message *message, int burst, Py_ssize_t stride, int peer, mpi.MPI_Win window,
                         bint get) except -1 nogil:
    cdef int i
    for i in range(burst):
        move_one(message, i * stride, peer, window, get)
    return 0


cdef int check_window(window, Py_ssize_t size, Py_ssize_t stride, int burst) except -1:
    """Refuse a window that has no room for the messages: MPI may write beyond its end."""
    from mpi4py import MPI
    cdef Py_ssize_t room = window.Get_attr(MPI.WIN_SIZE)
    if (burst - 1) * stride + size > room:
        raise ValueError(f"{burst} messages of {size} bytes, {stride} bytes apart, do not fit a window of {room} bytes")
    return 0


def two_sided_burst(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size, Py_ssize_t stride,
                    int burst, Py_ssize_t repetitions, int clock):
    """Return the ticks of `burst` MPI_Isend in a row where `first`, of as many MPI_Irecv on its peer.

    The receives are posted while nothing of theirs has been sent, the sends begun when all receives are posted.
    """
    check_places(buffer, False, size, stride, burst)
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef Message message
    cdef mpi.MPI_Request *requests
    cdef Py_ssize_t i
    cdef uint64_t begin
    describe(&message, buffer, size)
    requests = new_requests(burst)
    try:
        with nogil:
            for i in range(repetitions):
                if first:
                    receive_ready(peer, handle)
                    begin = ticks_start(clock)
                    begin_window(&message, requests, burst, stride, peer, handle)
                    out[i] = ticks_stop(clock) - begin
                    wait_all(burst, requests)
                    send_ready(peer, handle)
                else:
                    begin = ticks_start(clock)
                    post_window(&message, requests, burst, stride, peer, handle)
                    out[i] = ticks_stop(clock) - begin
                    send_ready(peer, handle)
                    wait_all(burst, requests)
                    receive_ready(peer, handle)
    finally:
        free(requests)
    release(&message)
    return ticks


cdef one_sided_burst(comm, window, int peer, bint first, unsigned char[::1] buffer, Py_ssize_t size, Py_ssize_t stride,
                     int burst, Py_ssize_t repetitions, int clock, bint get):
    check_places(buffer, False, size, stride, burst)
    check_window(window, size, stride, burst)
    ticks = np.zeros(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef mpi.MPI_Win target = PyMPIWin_Get(window)[0]
    cdef Message message
    cdef Py_ssize_t i
    cdef uint64_t begin
    describe(&message, buffer, size)
    with nogil:
        CHKERR(mpi.MPI_Barrier(handle))
        if first:
            for i in range(repetitions):
                begin = ticks_start(clock)
                move_row(&message, burst, stride, peer, target, get)
                out[i] = ticks_stop(clock) - begin
                CHKERR(mpi.MPI_Win_flush(peer, target))
        CHKERR(mpi.MPI_Barrier(handle))
    release(&message)
    return ticks


def put_burst(comm, window, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
              Py_ssize_t stride, int burst, Py_ssize_t repetitions, int clock):
    """Return the ticks of `burst` MPI_Put in a row where `first`, and 0 on its peer, which waits in a barrier."""
    return one_sided_burst(comm, window, peer, first, buffer, size, stride, burst, repetitions, clock, False)


def get_burst(comm, window, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
              Py_ssize_t stride, int burst, Py_ssize_t repetitions, int clock):
    """Return the ticks of `burst` MPI_Get in a row, all else as in `put_burst`."""
    return one_sided_burst(comm, window, peer, first, buffer, size, stride, burst, repetitions, clock, True)


def isend_queue(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size, Py_ssize_t stride,
                int count, Py_ssize_t repetitions, int clock):
    """Return the ticks of each of `count` MPI_Isend in a row where `first`, shape (repetitions, count), else 0.

    The receives are posted before, and the receiver waits for them.
    """
    check_places(buffer, False, size, stride, count)
    ticks = np.zeros((repetitions, count), dtype=np.uint64)
    cdef uint64_t[:, ::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef Message message
    cdef mpi.MPI_Request *requests
    cdef Py_ssize_t i
    cdef int j
    cdef uint64_t begin
    describe(&message, buffer, size)
    requests = new_requests(count)
    try:
        with nogil:
            for i in range(repetitions):
                if first:
                    receive_ready(peer, handle)
                    for j in range(count):
                        begin = ticks_start(clock)
                        send_one(&message, j * stride, peer, handle, &requests[j])
                        out[i, j] = ticks_stop(clock) - begin
                    wait_all(count, requests)
                    send_ready(peer, handle)
                else:
                    post_window(&message, requests, count, stride, peer, handle)
                    send_ready(peer, handle)
                    wait_all(count, requests)
                    receive_ready(peer, handle)
    finally:
        free(requests)
    release(&message)
    return ticks


cdef one_sided_queue(comm, window, int peer, bint first, unsigned char[::1] buffer, Py_ssize_t size, Py_ssize_t stride,
                     int count, Py_ssize_t repetitions, int clock, bint get):
    check_places(buffer, False, size, stride, count)
    check_window(window, size, stride, count)
    ticks = np.zeros((repetitions, count), dtype=np.uint64)
    cdef uint64_t[:, ::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef mpi.MPI_Win target = PyMPIWin_Get(window)[0]
    cdef Message message
    cdef Py_ssize_t i
    cdef int j
    cdef uint64_t begin
    describe(&message, buffer, size)
    with nogil:
        CHKERR(mpi.MPI_Barrier(handle))
        if first:
            for i in range(repetitions):
                for j in range(count):
                    begin = ticks_start(clock)
                    move_one(&message, j * stride, peer, target, get)
                    out[i, j] = ticks_stop(clock) - begin
                CHKERR(mpi.MPI_Win_flush(peer, target))
        CHKERR(mpi.MPI_Barrier(handle))
    release(&message)
    return ticks


def put_queue(comm, window, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
              Py_ssize_t stride, int count, Py_ssize_t repetitions, int clock):
    """Return the ticks of each of `count` MPI_Put in a row where `first`, shape (repetitions, count), else 0."""
    return one_sided_queue(comm, window, peer, first, buffer, size, stride, count, repetitions, clock, False)


def get_queue(comm, window, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
              Py_ssize_t stride, int count, Py_ssize_t repetitions, int clock):
    """Return the ticks of each of `count` MPI_Get in a row where `first`, shape (repetitions, count), else 0."""
    return one_sided_queue(comm, window, peer, first, buffer, size, stride, count, repetitions, clock, True)


cdef inline int look(mpi.MPI_Comm comm) except -1 nogil:
    """Call MPI once more, so that what a library has only noted down is under way: programs wait for something, too,
    between what they begin and what they compute."""
    cdef int there
    return CHKERR(mpi.MPI_Iprobe(mpi.MPI_ANY_SOURCE, TAG_READY, comm, &there, mpi.MPI_STATUS_IGNORE))


def two_sided_exchange(comm, int peer, unsigned char[::1] send_buffer not None,
                       unsigned char[::1] receive_buffer not None, Py_ssize_t size, Py_ssize_t stride, int burst,
                       uint64_t delay, Py_ssize_t repetitions, int clock):
    """Return the ticks of an exchange of `burst` messages each way, in which both ranks leave MPI for `delay` ticks.

    After a barrier of `comm` each rank begins its MPI_Irecv, then its MPI_Isend, calls MPI once more, spends the delay
    outside MPI, and completes all of them in one MPI_Waitall.
    """
    check_places(send_buffer, False, size, stride, burst)
    check_places(receive_buffer, False, size, stride, burst)
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef Message outgoing, incoming
    cdef mpi.MPI_Request *requests
    cdef Py_ssize_t i
    cdef uint64_t begin
    describe(&outgoing, send_buffer, size)
    describe(&incoming, receive_buffer, size)
    requests = new_requests(2 * burst)
    try:
        with nogil:
            for i in range(repetitions):
                CHKERR(mpi.MPI_Barrier(handle))
                begin = ticks_start(clock)
                post_window(&incoming, requests, burst, stride, peer, handle)
                begin_window(&outgoing, &requests[burst], burst, stride, peer, handle)
                look(handle)
                if delay:
                    spin(delay, clock)
                wait_all(2 * burst, requests)
                out[i] = ticks_stop(clock) - begin
    finally:
        free(requests)
    release(&outgoing)
    release(&incoming)
    return ticks


cdef one_sided_exchange(comm, window, int peer, unsigned char[::1] buffer, Py_ssize_t size, Py_ssize_t stride,
                        int burst, uint64_t delay, Py_ssize_t repetitions, int clock, bint get):
    check_places(buffer, False, size, stride, burst)
    check_window(window, size, stride, burst)
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef mpi.MPI_Win target = PyMPIWin_Get(window)[0]
    cdef Message message
    cdef Py_ssize_t i
    cdef uint64_t begin
    describe(&message, buffer, size)
    with nogil:
        for i in range(repetitions):
            CHKERR(mpi.MPI_Barrier(handle))
            begin = ticks_start(clock)
            move_row(&message, burst, stride, peer, target, get)
            look(handle)
            if delay:
                spin(delay, clock)
            CHKERR(mpi.MPI_Win_flush(peer, target))
            out[i] = ticks_stop(clock) - begin
        CHKERR(mpi.MPI_Barrier(handle))
    release(&message)
    return ticks


def put_exchange(comm, window, int peer, unsigned char[::1] buffer not None, Py_ssize_t size, Py_ssize_t stride,
                 int burst, uint64_t delay, Py_ssize_t repetitions, int clock):
    """Return the ticks of an exchange of `burst` MPI_Put each way, in which both ranks leave MPI for `delay` ticks.

    After a barrier of `comm` each rank begins its own, spends the delay outside MPI, and completes them with one
    MPI_Win_flush.
    """
    return one_sided_exchange(comm, window, peer, buffer, size, stride, burst, delay, repetitions, clock, False)


def get_exchange(comm, window, int peer, unsigned char[::1] buffer not None, Py_ssize_t size, Py_ssize_t stride,
                 int burst, uint64_t delay, Py_ssize_t repetitions, int clock):
    """Return the ticks of an exchange of `burst` MPI_Get each way, all else as in `put_exchange`."""
    return one_sided_exchange(comm, window, peer, buffer, size, stride, burst, delay, repetitions, clock, True)


def both_ways(comm, int receiver, int sender, unsigned char[::1] send_buffer not None,
              unsigned char[::1] receive_buffer not None, Py_ssize_t size, Py_ssize_t stride, int window,
              Py_ssize_t repetitions, int clock, bint touched=False):
    """Return the ticks of `repetitions` windows, each of `window` messages in both directions at once.

    Messages go to the rank `receiver` and come from the rank `sender`, mostly one and the same. As in
    `commmodel._core.mpi.pingpong.stream` messages leave from the buffer's begin; the receives are posted before
    the barrier of `comm` that begins a window. A rank's ticks are until all its messages have left and arrived.
    Touched ones leave `stride` bytes apart, are written before the barrier and read after the window.
    """
    check_places(receive_buffer, False, size, stride, window)
    check_places(send_buffer, not touched, size, stride, window)
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef Message outgoing, incoming
    cdef mpi.MPI_Request *requests
    cdef Py_ssize_t i, extent = (window - 1) * stride + size
    cdef uint64_t begin
    describe(&outgoing, send_buffer, size)
    describe(&incoming, receive_buffer, size)
    requests = new_requests(2 * window)
    try:
        with nogil:
            for i in range(repetitions):
                if touched:
                    write_lines(outgoing.address, extent)
                post_window(&incoming, requests, window, stride, sender, handle)
                CHKERR(mpi.MPI_Barrier(handle))
                begin = ticks_start(clock)
                begin_window(&outgoing, &requests[window], window, stride if touched else 0, receiver, handle)
                wait_all(2 * window, requests)
                out[i] = ticks_stop(clock) - begin
                if touched:
                    read_lines(incoming.address, extent)
    finally:
        free(requests)
    release(&outgoing)
    release(&incoming)
    return ticks
