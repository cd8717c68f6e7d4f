"""Rows of messages begun one after the other: what beginning one costs, when a queue is full, what goes on by itself.

Each public function is one loop, called by both ranks of a pair; it returns ticks (uint64), uninterpreted. Messages lie
`stride` bytes apart in both buffers, as those of a program do. What was begun is completed before the next repetition.
Source: Iancu and Strohmaier (2007), Section 2.1.

One-sided loops take an mpi4py window of bytes that each rank has locked (MPI_Win_lock_all): what is put into, or got
from. Message i lies at i times `stride` in it, too.
"""

from libc.stdint cimport uint64_t
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport (
    TAG_READY, Loop, Message, Repetition, begin_send, begin_together, begin_window, check_places, extent, new_loop,
    post_window, read_lines, receive_ready, repeat, send_ready, spin, ticks_start, ticks_stop, wait_all, write_lines,
)
from commmodel._core.mpi.mpi_calls cimport (
    CHKERR, COMMMODEL_MPI_ABI, PyMPIWin_Get, check_same_library, import_mpi4py,
)

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()


cdef inline int move_one(Loop *loop, Py_ssize_t offset) except -1 nogil:
    cdef char *address = <char *>loop.outgoing.address + offset
    if loop.alternative:
        return CHKERR(mpi.MPI_Get(address, loop.outgoing.count, loop.outgoing.type, loop.peer, offset,
                                  loop.outgoing.count, loop.outgoing.type, loop.window))
    return CHKERR(mpi.MPI_Put(address, loop.outgoing.count, loop.outgoing.type, loop.peer, offset,
                              loop.outgoing.count, loop.outgoing.type, loop.window))


cdef inline int move_row(Loop *loop) except -1 nogil:
    cdef Py_ssize_t i
    for i in range(loop.count):
        move_one(loop, i * loop.stride)
    return 0


cdef int meet(Loop *loop) except -1:
    with nogil:
        return CHKERR(mpi.MPI_Barrier(loop.comm))


cdef repeat_one_sided(Repetition repetition, comm, window, int peer, bint first, unsigned char[::1] buffer,
                      Py_ssize_t size, Py_ssize_t stride, int count, uint64_t delay, Py_ssize_t repetitions,
                      int clock, bint get, Py_ssize_t values=1):
    """Return the ticks of a loop of `count` MPI_Put or MPI_Get on a window: 0 where not `first`."""
    check_places(buffer, False, size, stride, count)
    check_window(window, size, stride, count)
    cdef Loop loop = new_loop(comm, peer, first, size, clock, False)
    loop.count, loop.stride, loop.delay, loop.alternative = count, stride, delay, get
    loop.window = PyMPIWin_Get(window)[0]
    meet(&loop)
    ticks = repeat(&loop, repetition, buffer, buffer, 0, repetitions, values)
    meet(&loop)
    return ticks


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
    cdef Loop loop = new_loop(comm, peer, first, size, clock, False)
    loop.count, loop.stride = burst, stride
    return repeat(&loop, begin_burst, buffer, buffer, burst, repetitions)


cdef int begin_burst(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef uint64_t begin
    if loop.first:
        receive_ready(loop.peer, loop.comm)
        begin = ticks_start(loop.clock)
        begin_window(&loop.outgoing, loop.requests, loop.count, loop.stride, loop.peer, loop.comm)
        ticks[0] = ticks_stop(loop.clock) - begin
        wait_all(loop.count, loop.requests)
        return send_ready(loop.peer, loop.comm)
    begin = ticks_start(loop.clock)
    post_window(&loop.incoming, loop.requests, loop.count, loop.stride, loop.peer, loop.comm)
    ticks[0] = ticks_stop(loop.clock) - begin
    send_ready(loop.peer, loop.comm)
    wait_all(loop.count, loop.requests)
    return receive_ready(loop.peer, loop.comm)


cdef int move_burst(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef uint64_t begin
    if not loop.first:
        return 0
    begin = ticks_start(loop.clock)
    move_row(&loop)
    ticks[0] = ticks_stop(loop.clock) - begin
    return CHKERR(mpi.MPI_Win_flush(loop.peer, loop.window))


def put_burst(comm, window, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
              Py_ssize_t stride, int burst, Py_ssize_t repetitions, int clock):
    """Return the ticks of `burst` MPI_Put in a row where `first`, and 0 on its peer, which waits in a barrier."""
    return repeat_one_sided(move_burst, comm, window, peer, first, buffer, size, stride, burst, 0, repetitions, clock,
                            False)


def get_burst(comm, window, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
              Py_ssize_t stride, int burst, Py_ssize_t repetitions, int clock):
    """Return the ticks of `burst` MPI_Get in a row, all else as in `put_burst`."""
    return repeat_one_sided(move_burst, comm, window, peer, first, buffer, size, stride, burst, 0, repetitions, clock,
                            True)


def isend_queue(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size, Py_ssize_t stride,
                int count, Py_ssize_t repetitions, int clock):
    """Return the ticks of each of `count` MPI_Isend in a row where `first`, shape (repetitions, count), else 0.

    The receives are posted before, and the receiver waits for them.
    """
    check_places(buffer, False, size, stride, count)
    cdef Loop loop = new_loop(comm, peer, first, size, clock, False)
    loop.count, loop.stride = count, stride
    return repeat(&loop, queue_sends, buffer, buffer, count, repetitions, count).reshape(repetitions, count)


cdef int queue_sends(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef Message message = loop.outgoing
    cdef Py_ssize_t i
    cdef uint64_t begin
    if not loop.first:
        post_window(&loop.incoming, loop.requests, loop.count, loop.stride, loop.peer, loop.comm)
        send_ready(loop.peer, loop.comm)
        wait_all(loop.count, loop.requests)
        return receive_ready(loop.peer, loop.comm)
    receive_ready(loop.peer, loop.comm)
    for i in range(loop.count):
        message.address = <char *>loop.outgoing.address + i * loop.stride
        begin = ticks_start(loop.clock)
        begin_send(&message, loop.peer, loop.comm, &loop.requests[i])
        ticks[i] = ticks_stop(loop.clock) - begin
    wait_all(loop.count, loop.requests)
    return send_ready(loop.peer, loop.comm)


cdef int queue_moves(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef Py_ssize_t i
    cdef uint64_t begin
    if not loop.first:
        return 0
    for i in range(loop.count):
        begin = ticks_start(loop.clock)
        move_one(&loop, i * loop.stride)
        ticks[i] = ticks_stop(loop.clock) - begin
    return CHKERR(mpi.MPI_Win_flush(loop.peer, loop.window))


def put_queue(comm, window, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
              Py_ssize_t stride, int count, Py_ssize_t repetitions, int clock):
    """Return the ticks of each of `count` MPI_Put in a row where `first`, shape (repetitions, count), else 0."""
    return repeat_one_sided(queue_moves, comm, window, peer, first, buffer, size, stride, count, 0, repetitions, clock,
                            False, count).reshape(repetitions, count)


def get_queue(comm, window, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
              Py_ssize_t stride, int count, Py_ssize_t repetitions, int clock):
    """Return the ticks of each of `count` MPI_Get in a row where `first`, shape (repetitions, count), else 0."""
    return repeat_one_sided(queue_moves, comm, window, peer, first, buffer, size, stride, count, 0, repetitions, clock,
                            True, count).reshape(repetitions, count)


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
    cdef Loop loop = new_loop(comm, peer, True, size, clock, False)
    loop.count, loop.stride, loop.delay = burst, stride, delay
    return repeat(&loop, exchange_bursts, send_buffer, receive_buffer, 2 * burst, repetitions)


cdef int exchange_bursts(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef uint64_t begin
    begin_together(loop.comm, loop.clock)
    begin = ticks_start(loop.clock)
    post_window(&loop.incoming, loop.requests, loop.count, loop.stride, loop.peer, loop.comm)
    begin_window(&loop.outgoing, &loop.requests[loop.count], loop.count, loop.stride, loop.peer, loop.comm)
    look(loop.comm)
    if loop.delay:
        spin(loop.delay, loop.clock)
    wait_all(2 * loop.count, loop.requests)
    ticks[0] = ticks_stop(loop.clock) - begin
    return 0


cdef int move_both_ways(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef uint64_t begin
    begin_together(loop.comm, loop.clock)
    begin = ticks_start(loop.clock)
    move_row(&loop)
    look(loop.comm)
    if loop.delay:
        spin(loop.delay, loop.clock)
    CHKERR(mpi.MPI_Win_flush(loop.peer, loop.window))
    ticks[0] = ticks_stop(loop.clock) - begin
    return 0


def put_exchange(comm, window, int peer, unsigned char[::1] buffer not None, Py_ssize_t size, Py_ssize_t stride,
                 int burst, uint64_t delay, Py_ssize_t repetitions, int clock):
    """Return the ticks of an exchange of `burst` MPI_Put each way, in which both ranks leave MPI for `delay` ticks.

    After a barrier of `comm` each rank begins its own, spends the delay outside MPI, and completes them with one
    MPI_Win_flush.
    """
    return repeat_one_sided(move_both_ways, comm, window, peer, True, buffer, size, stride, burst, delay, repetitions,
                            clock, False)


def get_exchange(comm, window, int peer, unsigned char[::1] buffer not None, Py_ssize_t size, Py_ssize_t stride,
                 int burst, uint64_t delay, Py_ssize_t repetitions, int clock):
    """Return the ticks of an exchange of `burst` MPI_Get each way, all else as in `put_exchange`."""
    return repeat_one_sided(move_both_ways, comm, window, peer, True, buffer, size, stride, burst, delay, repetitions,
                            clock, True)


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
    cdef Loop loop = new_loop(comm, receiver, True, size, clock, touched)
    loop.count, loop.stride, loop.sender = window, stride, sender
    return repeat(&loop, exchange_windows, send_buffer, receive_buffer, 2 * window, repetitions)


cdef int exchange_windows(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef uint64_t begin
    if loop.touched:
        write_lines(loop.outgoing.address, extent(&loop))
    post_window(&loop.incoming, loop.requests, loop.count, loop.stride, loop.sender, loop.comm)
    begin_together(loop.comm, loop.clock)
    begin = ticks_start(loop.clock)
    begin_window(&loop.outgoing, &loop.requests[loop.count], loop.count, loop.stride if loop.touched else 0, loop.peer,
                 loop.comm)
    wait_all(2 * loop.count, loop.requests)
    ticks[0] = ticks_stop(loop.clock) - begin
    if loop.touched:
        read_lines(loop.incoming.address, extent(&loop))
    return 0
