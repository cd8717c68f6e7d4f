"""Point-to-point loops: ping-pong, pairs, streams, the two halves of a ping, and a send that may block.

Each public function is one loop. It is called by both ranks of a pair, `first` true on the rank that sends
first; it returns the ticks of each repetition (uint64), uninterpreted. Between two ticks stand MPI calls and
nothing else. A repetition times `batch` exchanges with one pair of ticks; `batch` 1 times every message.
"""

from libc.limits cimport INT_MAX
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from mpi4py cimport libmpi as mpi

from commmodel._core.mpicalls cimport (
    CHKERR, COMMMODEL_MPI_ABI, PyMPIComm_Get, check_same_library, import_mpi4py,
)

import numpy as np

cdef extern from "ticks.h" nogil:
    uint64_t ticks_start(int)
    uint64_t ticks_stop(int)

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()

cdef enum:
    TAG_MESSAGE = 1
    TAG_READY = 2
    LARGE_BLOCK = 1 << 30


cdef struct Message:
    # `count` elements of `type` are the message: MPI-3 counts are int, so above 2 GiB one element of a
    # derived type stands for all of it. MPI_Send_c would do as well, but Open MPI 5 does not have it.
    void *address
    int count
    mpi.MPI_Datatype type


cdef int describe(Message *message, unsigned char[::1] buffer, Py_ssize_t size) except -1:
    cdef mpi.MPI_Datatype block, blocks
    cdef mpi.MPI_Datatype types[2]
    cdef int lengths[2]
    cdef mpi.MPI_Aint places[2]
    if not 0 <= size <= buffer.shape[0]:
        raise ValueError(f"a message of {size} bytes does not fit a buffer of {buffer.shape[0]} bytes")
    message.address = &buffer[0]
    if size <= INT_MAX:
        message.count = <int>size
        message.type = mpi.MPI_BYTE
        return 0
    CHKERR(mpi.MPI_Type_contiguous(LARGE_BLOCK, mpi.MPI_BYTE, &block))
    CHKERR(mpi.MPI_Type_contiguous(<int>(size // LARGE_BLOCK), block, &blocks))
    types[0], types[1] = blocks, mpi.MPI_BYTE
    lengths[0], lengths[1] = 1, <int>(size % LARGE_BLOCK)
    places[0], places[1] = 0, size - size % LARGE_BLOCK
    CHKERR(mpi.MPI_Type_create_struct(2, lengths, places, types, &message.type))
    CHKERR(mpi.MPI_Type_commit(&message.type))
    CHKERR(mpi.MPI_Type_free(&blocks))
    CHKERR(mpi.MPI_Type_free(&block))
    message.count = 1
    return 0


cdef int release(Message *message) except -1:
    if message.type != mpi.MPI_BYTE:
        CHKERR(mpi.MPI_Type_free(&message.type))
    return 0


cdef inline int send(Message *message, int peer, mpi.MPI_Comm comm) except -1 nogil:
    return CHKERR(mpi.MPI_Send(message.address, message.count, message.type, peer, TAG_MESSAGE, comm))


cdef inline int receive(Message *message, int peer, mpi.MPI_Comm comm) except -1 nogil:
    return CHKERR(mpi.MPI_Recv(message.address, message.count, message.type, peer, TAG_MESSAGE, comm,
                               mpi.MPI_STATUS_IGNORE))


cdef inline int send_ready(int peer, mpi.MPI_Comm comm) except -1 nogil:
    return CHKERR(mpi.MPI_Send(NULL, 0, mpi.MPI_BYTE, peer, TAG_READY, comm))


cdef inline int receive_ready(int peer, mpi.MPI_Comm comm) except -1 nogil:
    return CHKERR(mpi.MPI_Recv(NULL, 0, mpi.MPI_BYTE, peer, TAG_READY, comm, mpi.MPI_STATUS_IGNORE))


cdef inline void spin(uint64_t ticks, int clock) noexcept nogil:
    cdef uint64_t begin = ticks_start(clock)
    while ticks_stop(clock) - begin < ticks:
        pass


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


cdef timed_exchanges(comm, int peer, bint first, unsigned char[::1] send_buffer, unsigned char[::1] receive_buffer,
                     Py_ssize_t size, Py_ssize_t repetitions, Py_ssize_t batch, int clock, bint together):
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef Message outgoing, incoming
    cdef Py_ssize_t i
    cdef uint64_t begin
    describe(&outgoing, send_buffer, size)
    describe(&incoming, receive_buffer, size)
    with nogil:
        for i in range(repetitions):
            if together:
                CHKERR(mpi.MPI_Barrier(handle))
            begin = ticks_start(clock)
            exchanges(&outgoing, &incoming, peer, first, handle, batch)
            out[i] = ticks_stop(clock) - begin
    release(&outgoing)
    release(&incoming)
    return ticks


def pingpong(comm, int peer, bint first, unsigned char[::1] send_buffer not None,
             unsigned char[::1] receive_buffer not None, Py_ssize_t size, Py_ssize_t repetitions,
             Py_ssize_t batch, int clock):
    """Return the ticks of `repetitions` times `batch` round trips of `size` bytes."""
    return timed_exchanges(comm, peer, first, send_buffer, receive_buffer, size, repetitions, batch, clock, False)


def pairs(comm, int peer, bint first, unsigned char[::1] send_buffer not None,
          unsigned char[::1] receive_buffer not None, Py_ssize_t size, Py_ssize_t repetitions,
          Py_ssize_t batch, int clock):
    """Return the ticks of `repetitions` times `batch` round trips, each begun after a barrier of `comm`."""
    return timed_exchanges(comm, peer, first, send_buffer, receive_buffer, size, repetitions, batch, clock, True)


cdef int send_window(Message *message, mpi.MPI_Request *requests, int window, int peer,
                     mpi.MPI_Comm comm) except -1 nogil:
    cdef int i
    for i in range(window):
        CHKERR(mpi.MPI_Isend(message.address, message.count, message.type, peer, TAG_MESSAGE, comm, &requests[i]))
    CHKERR(mpi.MPI_Waitall(window, requests, mpi.MPI_STATUSES_IGNORE))
    return receive_ready(peer, comm)


cdef int post_window(Message *message, mpi.MPI_Request *requests, int window, Py_ssize_t stride, int peer,
                     mpi.MPI_Comm comm) except -1 nogil:
    cdef char *address = <char *>message.address
    cdef int i
    for i in range(window):
        CHKERR(mpi.MPI_Irecv(address + i * stride, message.count, message.type, peer, TAG_MESSAGE, comm, &requests[i]))
    return 0


def stream(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size, Py_ssize_t stride,
           int window, Py_ssize_t repetitions, int clock):
    """Return the ticks of `repetitions` windows, each of `window` messages from `first` to its peer at once.

    Messages leave from the buffer's begin and arrive `stride` bytes apart, as MPI forbids pending receives to overlap.
    The receiver has posted a window's receives before the barrier of `comm` that begins it, and answers when all of
    it is there; the sender's ticks are from its first MPI_Isend to this answer.
    """
    if window < 1 or not size <= stride:
        raise ValueError(f"a window of {window} messages of {size} bytes, {stride} bytes apart, cannot be sent")
    if not first and (window - 1) * stride + size > buffer.shape[0]:
        raise ValueError(f"a window of {window} messages, {stride} bytes apart, does not fit a buffer of "
                         f"{buffer.shape[0]} bytes")
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef Message message
    cdef mpi.MPI_Request *requests
    cdef Py_ssize_t i
    cdef uint64_t begin
    describe(&message, buffer, size)
    requests = <mpi.MPI_Request *>malloc(window * sizeof(mpi.MPI_Request))
    if requests == NULL:
        raise MemoryError(f"no memory for {window} requests")
    try:
        with nogil:
            for i in range(repetitions):
                if first:
                    CHKERR(mpi.MPI_Barrier(handle))
                    begin = ticks_start(clock)
                    send_window(&message, requests, window, peer, handle)
                else:
                    post_window(&message, requests, window, stride, peer, handle)
                    CHKERR(mpi.MPI_Barrier(handle))
                    begin = ticks_start(clock)
                    CHKERR(mpi.MPI_Waitall(window, requests, mpi.MPI_STATUSES_IGNORE))
                    send_ready(peer, handle)
                out[i] = ticks_stop(clock) - begin
    finally:
        free(requests)
    release(&message)
    return ticks


def ping_send(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
              Py_ssize_t repetitions, int clock):
    """Return the ticks that `first` spends in MPI_Send while its peer waits in a receive already posted.

    The other rank returns the ticks from that receive's posting to its completion.
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
            if first:
                receive_ready(peer, handle)
                begin = ticks_start(clock)
                send(&message, peer, handle)
            else:
                begin = ticks_start(clock)
                CHKERR(mpi.MPI_Irecv(message.address, message.count, message.type, peer, TAG_MESSAGE, handle,
                                     &request))
                send_ready(peer, handle)
                CHKERR(mpi.MPI_Wait(&request, mpi.MPI_STATUS_IGNORE))
            out[i] = ticks_stop(clock) - begin
    release(&message)
    return ticks


def ping_receive(comm, int peer, bint first, unsigned char[::1] buffer not None, Py_ssize_t size,
                 Py_ssize_t repetitions, uint64_t pause, int clock):
    """Return the ticks that the receiver (`first` false) spends in MPI_Recv for a message that is there.

    It asks for the message and waits `pause` ticks outside MPI before it receives. A message above the eager
    limit cannot arrive before that; its sender is then waiting inside MPI_Send. The sender returns its own
    time in MPI_Send.
    """
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef Message message
    cdef Py_ssize_t i
    cdef uint64_t begin
    describe(&message, buffer, size)
    with nogil:
        for i in range(repetitions):
            if first:
                receive_ready(peer, handle)
                begin = ticks_start(clock)
                send(&message, peer, handle)
            else:
                send_ready(peer, handle)
                spin(pause, clock)
                begin = ticks_start(clock)
                receive(&message, peer, handle)
            out[i] = ticks_stop(clock) - begin
    release(&message)
    return ticks


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
