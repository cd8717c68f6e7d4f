"""Point-to-point loops: ping-pong, pairs, streams, the two halves of a ping, and a send that may block.

Each public function is one loop. It is called by both ranks of a pair, `first` true on the rank that sends
first; it returns the ticks of each repetition (uint64), uninterpreted. Between two ticks stand MPI calls and
nothing else. A repetition times `batch` exchanges with one pair of ticks; `batch` 1 times every message.

Messages are `touched` as those of programs are: written before they are sent, read when they have arrived, outside of
what is timed.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport (
    Message, begin_receive, begin_send, begin_window, check_places, describe, new_requests, post_window, read_lines,
    receive, receive_ready, release, send, send_ready, spin, ticks_start, ticks_stop, touch, wait, wait_all,
    write_lines,
)
from commmodel._core.mpi.mpi_calls cimport (
    CHKERR, COMMMODEL_MPI_ABI, PyMPIComm_Get, check_same_library, import_mpi4py,
)

import numpy as np

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()


cdef int exchanges(Message *outgoing, Message *incoming, int peer, bint first, mpi.MPI_Comm comm,
                   Py_ssize_t batch) except -1 nogil:
    cdef Py_ssize_t _exchange
    if first:
        for _exchange in range(batch):
            send(outgoing, peer, comm)
            receive(incoming, peer, comm)
    else:
        for _exchange in range(batch):
            receive(incoming, peer, comm)
            send(outgoing, peer, comm)
    return 0


cdef int touched_exchanges(Message *message, Py_ssize_t size, int peer, bint first, mpi.MPI_Comm comm, Py_ssize_t batch,
                           int clock, uint64_t *touching) except -1 nogil:
    """Send a message there and back, which each rank reads and writes before it sends it on, adding the ticks of that
    to `touching`; before the first exchange it has been written."""
    cdef Py_ssize_t exchange
    for exchange in range(batch):
        if first:
            if exchange:
                touching[0] += touch(message.address, size, clock)
            send(message, peer, comm)
            receive(message, peer, comm)
        else:
            receive(message, peer, comm)
            touching[0] += touch(message.address, size, clock)
            send(message, peer, comm)
    return 0


cdef timed_exchanges(comm, int peer, bint first, unsigned char[::1] send_buffer, unsigned char[::1] receive_buffer,
                     Py_ssize_t size, Py_ssize_t repetitions, Py_ssize_t batch, int clock, bint together,
                     bint touched):
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef Message outgoing, incoming
    cdef Py_ssize_t i
    cdef uint64_t begin, touching
    describe(&outgoing, send_buffer, size)
    describe(&incoming, receive_buffer, size)
    with nogil:
        for i in range(repetitions):
            if touched and first:
                touch(outgoing.address, size, clock)
            if together:
                CHKERR(mpi.MPI_Barrier(handle))
            begin = ticks_start(clock)
            if touched:
                touching = 0
                touched_exchanges(&outgoing, size, peer, first, handle, batch, clock, &touching)
                out[i] = ticks_stop(clock) - begin - touching if first else touching
            else:
                exchanges(&outgoing, &incoming, peer, first, handle, batch)
                out[i] = ticks_stop(clock) - begin
    release(&outgoing)
    release(&incoming)
    return ticks


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
    cdef Py_ssize_t extent = size + (window - 1) * stride  # of the messages in the buffer
    check_places(buffer, first and not touched, size, stride or size, window if stride else 1)
    if window < 1:
        raise ValueError(f"a window of {window} messages cannot be sent")
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef Message message
    cdef mpi.MPI_Request *requests
    cdef Py_ssize_t i
    cdef uint64_t begin
    describe(&message, buffer, size)
    requests = new_requests(window)
    try:
        with nogil:
            for i in range(repetitions):
                if first:
                    if touched:
                        write_lines(message.address, extent)
                    CHKERR(mpi.MPI_Barrier(handle))
                    begin = ticks_start(clock)
                    begin_window(&message, requests, window, stride if touched else 0, peer, handle)
                    wait_all(window, requests)
                    receive_ready(peer, handle)
                else:
                    post_window(&message, requests, window, stride, peer, handle)
                    CHKERR(mpi.MPI_Barrier(handle))
                    begin = ticks_start(clock)
                    wait_all(window, requests)
                    send_ready(peer, handle)
                out[i] = ticks_stop(clock) - begin
                if touched and not first:
                    read_lines(message.address, extent)
    finally:
        free(requests)
    release(&message)
    return ticks


cdef timed_sends(comm, int peer, bint first, unsigned char[::1] buffer, Py_ssize_t size, Py_ssize_t repetitions,
                 int clock, bint immediate, bint touched):
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
            if first:
                if touched:
                    write_lines(message.address, size)
                receive_ready(peer, handle)
                begin = ticks_start(clock)
                if immediate:
                    begin_send(&message, peer, handle, &request)
                    wait(&request)
                else:
                    send(&message, peer, handle)
            else:
                begin = ticks_start(clock)
                begin_receive(&message, peer, handle, &request)
                send_ready(peer, handle)
                wait(&request)
            out[i] = ticks_stop(clock) - begin
            if touched and not first:
                read_lines(message.address, size)
    release(&message)
    return ticks


def ping_send(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
              Py_ssize_t repetitions, int clock, bint touched=False):
    """Return the ticks that `first` spends in MPI_Send while its peer waits in a receive already posted.

    The other rank returns the ticks from that receive's posting to its completion.
    """
    return timed_sends(comm, peer, first, buffer, size, repetitions, clock, False, touched)


def ping_isend(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
               Py_ssize_t repetitions, int clock, bint touched=False):
    """Return the ticks that `first` spends in MPI_Isend and its MPI_Wait, all else as in `ping_send`."""
    return timed_sends(comm, peer, first, buffer, size, repetitions, clock, True, touched)


cdef timed_receives(comm, int peer, bint first, unsigned char[::1] buffer, Py_ssize_t size, Py_ssize_t repetitions,
                    uint64_t pause, int clock, bint immediate, bint touched):
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
            if first:
                if touched:
                    write_lines(message.address, size)
                receive_ready(peer, handle)
                begin = ticks_start(clock)
                send(&message, peer, handle)
            else:
                send_ready(peer, handle)
                spin(pause, clock)
                begin = ticks_start(clock)
                if immediate:
                    begin_receive(&message, peer, handle, &request)
                    wait(&request)
                else:
                    receive(&message, peer, handle)
            out[i] = ticks_stop(clock) - begin
            if touched and not first:
                read_lines(message.address, size)
    release(&message)
    return ticks


def ping_receive(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
                 Py_ssize_t repetitions, uint64_t pause, int clock, bint touched=False):
    """Return the ticks that the receiver (`first` false) spends in MPI_Recv for a message that is there.

    It asks for the message and waits `pause` ticks outside MPI before it receives. A message above the eager
    limit cannot arrive before that; its sender is then waiting inside MPI_Send. The sender returns its own
    time in MPI_Send.
    """
    return timed_receives(comm, peer, first, buffer, size, repetitions, pause, clock, False, touched)


def ping_ireceive(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
                  Py_ssize_t repetitions, uint64_t pause, int clock, bint touched=False):
    """Return the ticks that the receiver spends in MPI_Irecv and its MPI_Wait, all else as in `ping_receive`."""
    return timed_receives(comm, peer, first, buffer, size, repetitions, pause, clock, True, touched)


def delayed_send(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
                 uint64_t delay, int clock):
    """Return the ticks of one MPI_Send whose receiver stays out of MPI for `delay` ticks.

    A send under the eager protocol returns at once; under rendezvous it returns only after the delay.
    """
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef Message message
    cdef uint64_t begin
    cdef uint64_t ticks
    describe(&message, buffer, size)
    with nogil:
        if first:
            receive_ready(peer, handle)
            begin = ticks_start(clock)
            send(&message, peer, handle)
        else:
            send_ready(peer, handle)
            begin = ticks_start(clock)
            spin(delay, clock)
            receive(&message, peer, handle)
        ticks = ticks_stop(clock) - begin
    release(&message)
    return ticks
