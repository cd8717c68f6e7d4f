"""Point-to-point loops: ping-pong, pairs, streams, the two halves of a ping, and a send that may block.

Each public function is one loop. It is called by both ranks of a pair, `first` true on the rank that sends
first; it returns the ticks of each repetition (uint64), uninterpreted. Between two ticks stand MPI calls and
nothing else. A repetition times `batch` exchanges with one pair of ticks; `batch` 1 times every message.

Messages are `touched` as those of programs are: written before they are sent, read when they have arrived, outside of
what is timed.
"""

from libc.stdint cimport uint64_t
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport (
    Loop, Repetition, begin_receive, begin_send, begin_together, begin_window, check_places, extent, new_loop,
    post_window, read_lines, receive, receive_ready, repeat, send, send_ready, spin, ticks_start, ticks_stop, touch,
    wait, wait_all, write_lines,
)
from commmodel._core.mpi.mpi_calls cimport COMMMODEL_MPI_ABI, check_same_library, import_mpi4py

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()


cdef int exchange(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef Py_ssize_t _exchange
    cdef uint64_t begin
    if loop.alternative:
        begin_together(loop.comm, loop.clock)
    begin = ticks_start(loop.clock)
    if loop.first:
        for _exchange in range(loop.count):
            send(&loop.outgoing, loop.peer, loop.comm)
            receive(&loop.incoming, loop.peer, loop.comm)
    else:
        for _exchange in range(loop.count):
            receive(&loop.incoming, loop.peer, loop.comm)
            send(&loop.outgoing, loop.peer, loop.comm)
    ticks[0] = ticks_stop(loop.clock) - begin
    return 0


cdef int touched_exchange(Loop loop, uint64_t *ticks) except -1 nogil:
    """Send messages there and back, which each rank reads and writes before it sends them on."""
    cdef Py_ssize_t number
    cdef uint64_t begin, touching = 0
    if loop.first:
        touch(loop.outgoing.address, loop.size, loop.clock)
    if loop.alternative:
        begin_together(loop.comm, loop.clock)
    begin = ticks_start(loop.clock)
    for number in range(loop.count):
        if loop.first:
            if number:
                touching += touch(loop.outgoing.address, loop.size, loop.clock)
            send(&loop.outgoing, loop.peer, loop.comm)
            receive(&loop.outgoing, loop.peer, loop.comm)
        else:
            receive(&loop.outgoing, loop.peer, loop.comm)
            touching += touch(loop.outgoing.address, loop.size, loop.clock)
            send(&loop.outgoing, loop.peer, loop.comm)
    ticks[0] = ticks_stop(loop.clock) - begin - touching if loop.first else touching
    return 0


cdef timed_exchanges(comm, int peer, bint first, unsigned char[::1] send_buffer, unsigned char[::1] receive_buffer,
                     Py_ssize_t size, Py_ssize_t repetitions, Py_ssize_t batch, int clock, bint together,
                     bint touched):
    cdef Loop loop = new_loop(comm, peer, first, size, clock, touched)
    loop.count, loop.alternative = batch, together
    return repeat(&loop, touched_exchange if touched else exchange, send_buffer, receive_buffer, 0, repetitions)


def pingpong(comm, int peer, bint first, unsigned char[::1] send_buffer not None,
             unsigned char[::1] receive_buffer not None, Py_ssize_t size, Py_ssize_t repetitions,
             Py_ssize_t batch, int clock, bint touched=False):
    """Return the ticks of `repetitions` times `batch` round trips of `size` bytes.

    A touched message goes there and back between the send buffers: each rank reads what has arrived, writes the next
    message in its place and sends that. The ticks of `first` are then without its own touching; those of its peer are
    those of the peer's touching, to be taken off, too.
    """
    return timed_exchanges(comm, peer, first, send_buffer, receive_buffer, size, repetitions, batch, clock, False,
                           touched)


def pairs(comm, int peer, bint first, unsigned char[::1] send_buffer not None,
          unsigned char[::1] receive_buffer not None, Py_ssize_t size, Py_ssize_t repetitions,
          Py_ssize_t batch, int clock, bint touched=False):
    """Return what `pingpong` does for round trips of which each repetition begins after a barrier of `comm`."""
    return timed_exchanges(comm, peer, first, send_buffer, receive_buffer, size, repetitions, batch, clock, True,
                           touched)


def stream(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size, Py_ssize_t stride,
           int window, Py_ssize_t repetitions, int clock, bint touched=False):
    """Return the ticks of `repetitions` windows, each of `window` messages from `first` to its peer at once.

    Messages leave from the buffer's begin and arrive `stride` bytes apart, as MPI forbids pending receives to overlap;
    or, `stride` 0, all in one place, where MPI does not say what arrives, but libraries take as long as for any data.
    Touched ones leave `stride` bytes apart, too.
    The receiver has posted a window's receives before the barrier of `comm` that begins it, and answers when all of
    it is there; the sender's ticks are from its first MPI_Isend to this answer.
    """
    check_places(buffer, first and not touched, size, stride or size, window if stride else 1)
    if window < 1:
        raise ValueError(f"a window of {window} messages cannot be sent")
    cdef Loop loop = new_loop(comm, peer, first, size, clock, touched)
    loop.count, loop.stride = window, stride
    return repeat(&loop, stream_window, buffer, buffer, window, repetitions)


cdef int stream_window(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef uint64_t begin
    if loop.first:
        if loop.touched:
            write_lines(loop.outgoing.address, extent(&loop))
        begin_together(loop.comm, loop.clock)
        begin = ticks_start(loop.clock)
        begin_window(&loop.outgoing, loop.requests, loop.count, loop.stride if loop.touched else 0, loop.peer,
                     loop.comm)
        wait_all(loop.count, loop.requests)
        receive_ready(loop.peer, loop.comm)
    else:
        post_window(&loop.incoming, loop.requests, loop.count, loop.stride, loop.peer, loop.comm)
        begin_together(loop.comm, loop.clock)
        begin = ticks_start(loop.clock)
        wait_all(loop.count, loop.requests)
        send_ready(loop.peer, loop.comm)
    ticks[0] = ticks_stop(loop.clock) - begin
    if loop.touched and not loop.first:
        read_lines(loop.incoming.address, extent(&loop))
    return 0


cdef int ping(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef mpi.MPI_Request request
    cdef uint64_t begin
    if loop.first:
        if loop.touched:
            write_lines(loop.outgoing.address, loop.size)
        receive_ready(loop.peer, loop.comm)
        begin = ticks_start(loop.clock)
        if loop.alternative:
            begin_send(&loop.outgoing, loop.peer, loop.comm, &request)
            wait(&request)
        else:
            send(&loop.outgoing, loop.peer, loop.comm)
    else:
        begin = ticks_start(loop.clock)
        begin_receive(&loop.incoming, loop.peer, loop.comm, &request)
        send_ready(loop.peer, loop.comm)
        wait(&request)
    ticks[0] = ticks_stop(loop.clock) - begin
    if loop.touched and not loop.first:
        read_lines(loop.incoming.address, loop.size)
    return 0


cdef timed_pings(Repetition repetition, comm, int peer, bint first, unsigned char[::1] buffer, Py_ssize_t size,
                 Py_ssize_t repetitions, uint64_t pause, int clock, bint immediate, bint touched):
    cdef Loop loop = new_loop(comm, peer, first, size, clock, touched)
    loop.delay, loop.alternative = pause, immediate
    return repeat(&loop, repetition, buffer, buffer, 0, repetitions)


def ping_send(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
              Py_ssize_t repetitions, int clock, bint touched=False):
    """Return the ticks that `first` spends in MPI_Send while its peer waits in a receive already posted.

    The other rank returns the ticks from that receive's posting to its completion.
    """
    return timed_pings(ping, comm, peer, first, buffer, size, repetitions, 0, clock, False, touched)


def ping_isend(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
               Py_ssize_t repetitions, int clock, bint touched=False):
    """Return the ticks that `first` spends in MPI_Isend and its MPI_Wait, all else as in `ping_send`."""
    return timed_pings(ping, comm, peer, first, buffer, size, repetitions, 0, clock, True, touched)


cdef int receive_later(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef mpi.MPI_Request request
    cdef uint64_t begin
    if loop.first:
        if loop.touched:
            write_lines(loop.outgoing.address, loop.size)
        receive_ready(loop.peer, loop.comm)
        begin = ticks_start(loop.clock)
        send(&loop.outgoing, loop.peer, loop.comm)
    else:
        send_ready(loop.peer, loop.comm)
        spin(loop.delay, loop.clock)
        begin = ticks_start(loop.clock)
        if loop.alternative:
            begin_receive(&loop.incoming, loop.peer, loop.comm, &request)
            wait(&request)
        else:
            receive(&loop.incoming, loop.peer, loop.comm)
    ticks[0] = ticks_stop(loop.clock) - begin
    if loop.touched and not loop.first:
        read_lines(loop.incoming.address, loop.size)
    return 0


def ping_receive(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
                 Py_ssize_t repetitions, uint64_t pause, int clock, bint touched=False):
    """Return the ticks that the receiver (`first` false) spends in MPI_Recv for a message that is there.

    It asks for the message and waits `pause` ticks outside MPI before it receives. A message above the eager
    limit cannot arrive before that; its sender is then waiting inside MPI_Send. The sender returns its own
    time in MPI_Send.
    """
    return timed_pings(receive_later, comm, peer, first, buffer, size, repetitions, pause, clock, False, touched)


def ping_ireceive(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
                  Py_ssize_t repetitions, uint64_t pause, int clock, bint touched=False):
    """Return the ticks that the receiver spends in MPI_Irecv and its MPI_Wait, all else as in `ping_receive`."""
    return timed_pings(receive_later, comm, peer, first, buffer, size, repetitions, pause, clock, True, touched)


def delayed_send(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
                 uint64_t delay, int clock):
    """Return the ticks of one MPI_Send whose receiver stays out of MPI for `delay` ticks.

    A send under the eager protocol returns at once; under rendezvous it returns only after the delay.
    """
    cdef Loop loop = new_loop(comm, peer, first, size, clock, False)
    loop.delay = delay
    return int(repeat(&loop, send_late, buffer, buffer, 0, 1)[0])


cdef int send_late(Loop loop, uint64_t *ticks) except -1 nogil:
    cdef uint64_t begin
    if loop.first:
        receive_ready(loop.peer, loop.comm)
        begin = ticks_start(loop.clock)
        send(&loop.outgoing, loop.peer, loop.comm)
    else:
        send_ready(loop.peer, loop.comm)
        begin = ticks_start(loop.clock)
        spin(loop.delay, loop.clock)
        receive(&loop.incoming, loop.peer, loop.comm)
    ticks[0] = ticks_stop(loop.clock) - begin
    return 0
