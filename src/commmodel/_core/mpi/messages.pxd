# What the loops between two ranks share: how a message of any size is described to MPI, how it is sent and received,
# and the clock. All of it is inlined; nothing here holds a Python object on the way that is timed.

from libc.limits cimport INT_MAX
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.mpi_calls cimport CHKERR, PyMPIComm_Get

cdef extern from "clock/ticks.h" nogil:
    int TICKS_SIMULATED
    uint64_t ticks_start(int)
    uint64_t ticks_stop(int)
    int ticks_sleep(int, uint64_t)

cdef extern from "mpi/touch.h" nogil:
    void write_lines(void *, Py_ssize_t)
    void read_lines(const void *, Py_ssize_t)

cdef enum:
    TAG_MESSAGE = 1
    TAG_READY = 2
    TAG_NEVER_SENT = 4
    LARGE_BLOCK = 1 << 30


cdef struct Message:
    # `count` elements of `type` are the message: MPI-3 counts are int, so above 2 GiB one element of a
    # derived type stands for all of it. MPI_Send_c would do as well, but Open MPI 5 does not have it.
    void *address
    int count
    mpi.MPI_Datatype type


cdef inline int describe(Message *message, unsigned char[::1] buffer, Py_ssize_t size) except -1:
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


cdef inline int release(Message *message) except -1:
    if message.type != mpi.MPI_BYTE:
        CHKERR(mpi.MPI_Type_free(&message.type))
    return 0


cdef inline int check_places(unsigned char[::1] buffer, bint first, Py_ssize_t size, Py_ssize_t stride,
                             int window) except -1:
    """Refuse a window of messages that is none, that overlaps, or that its receiver has no room for."""
    if window < 1 or not size <= stride:
        raise ValueError(f"a window of {window} messages of {size} bytes, {stride} bytes apart, cannot be sent")
    if not first and (window - 1) * stride + size > buffer.shape[0]:
        raise ValueError(f"a window of {window} messages, {stride} bytes apart, does not fit a buffer of "
                         f"{buffer.shape[0]} bytes")
    return 0


cdef inline uint64_t touch(void *address, Py_ssize_t size, int clock) noexcept nogil:
    """Read a message that has arrived and write the next one in its place; return the ticks that this takes."""
    cdef uint64_t begin
    if not size:
        return 0
    begin = ticks_start(clock)
    read_lines(address, size)
    write_lines(address, size)
    return ticks_stop(clock) - begin


cdef inline mpi.MPI_Request *new_requests(int count) except NULL:
    """Return room for as many requests, for its caller to free."""
    cdef mpi.MPI_Request *requests = <mpi.MPI_Request *>malloc(count * sizeof(mpi.MPI_Request))
    if requests == NULL:
        raise MemoryError(f"no memory for {count} requests")
    return requests


cdef inline int send(Message *message, int peer, mpi.MPI_Comm comm) except -1 nogil:
    return CHKERR(mpi.MPI_Send(message.address, message.count, message.type, peer, TAG_MESSAGE, comm))


cdef inline int receive(Message *message, int peer, mpi.MPI_Comm comm) except -1 nogil:
    return CHKERR(mpi.MPI_Recv(message.address, message.count, message.type, peer, TAG_MESSAGE, comm,
                               mpi.MPI_STATUS_IGNORE))


cdef inline int begin_send(Message *message, int peer, mpi.MPI_Comm comm, mpi.MPI_Request *request) except -1 nogil:
    return CHKERR(mpi.MPI_Isend(message.address, message.count, message.type, peer, TAG_MESSAGE, comm, request))


cdef inline int begin_receive(Message *message, int peer, mpi.MPI_Comm comm,
                              mpi.MPI_Request *request) except -1 nogil:
    return CHKERR(mpi.MPI_Irecv(message.address, message.count, message.type, peer, TAG_MESSAGE, comm, request))


cdef inline int wait(mpi.MPI_Request *request) except -1 nogil:
    return CHKERR(mpi.MPI_Wait(request, mpi.MPI_STATUS_IGNORE))


cdef inline int wait_all(int window, mpi.MPI_Request *requests) except -1 nogil:
    return CHKERR(mpi.MPI_Waitall(window, requests, mpi.MPI_STATUSES_IGNORE))


cdef inline int begin_window(Message *message, mpi.MPI_Request *requests, int window, Py_ssize_t stride, int peer,
                             mpi.MPI_Comm comm) except -1 nogil:
    """Begin the sends of a window, `stride` bytes apart, or all from one place (0)."""
    cdef char *address = <char *>message.address
    cdef int i
    for i in range(window):
        CHKERR(mpi.MPI_Isend(address + i * stride, message.count, message.type, peer, TAG_MESSAGE, comm, &requests[i]))
    return 0


cdef inline int post_window(Message *message, mpi.MPI_Request *requests, int window, Py_ssize_t stride, int peer,
                            mpi.MPI_Comm comm) except -1 nogil:
    """Post the receives of a window, `stride` bytes apart, as MPI forbids pending receives to overlap."""
    cdef char *address = <char *>message.address
    cdef int i
    for i in range(window):
        CHKERR(mpi.MPI_Irecv(address + i * stride, message.count, message.type, peer, TAG_MESSAGE, comm, &requests[i]))
    return 0


cdef inline int send_ready(int peer, mpi.MPI_Comm comm) except -1 nogil:
    return CHKERR(mpi.MPI_Send(NULL, 0, mpi.MPI_BYTE, peer, TAG_READY, comm))


cdef inline int receive_ready(int peer, mpi.MPI_Comm comm) except -1 nogil:
    return CHKERR(mpi.MPI_Recv(NULL, 0, mpi.MPI_BYTE, peer, TAG_READY, comm, mpi.MPI_STATUS_IGNORE))


cdef inline int probe_in_vain(uint64_t ticks, int clock, int peer, mpi.MPI_Comm comm) except -1 nogil:
    """Spend `ticks` in MPI, which reads what comes meanwhile."""
    cdef uint64_t begin = ticks_start(clock)
    cdef int flag
    while ticks_stop(clock) - begin < ticks:
        CHKERR(mpi.MPI_Iprobe(peer, TAG_NEVER_SENT, comm, &flag, mpi.MPI_STATUS_IGNORE))
    return 0


cdef inline int greatest(uint64_t *ticks, mpi.MPI_Comm comm) except -1 nogil:
    return CHKERR(mpi.MPI_Allreduce(mpi.MPI_IN_PLACE, ticks, 1, mpi.MPI_UINT64_T, mpi.MPI_MAX, comm))


cdef inline int begin_together(mpi.MPI_Comm comm, int clock) except -1 nogil:
    """Return after a barrier: in a simulation, where all ranks have one clock, at the same tick on all of them.

    Ranks leave a barrier one after the other, by about the latency of a message. Of short messages between several
    pairs, which send in turns then, that would decide how many share a link. Here the ranks agree on when the last of
    them has learnt when the last of them left the barrier, and begin twice as long after that.
    """
    cdef uint64_t left, learnt, now
    CHKERR(mpi.MPI_Barrier(comm))
    if clock != TICKS_SIMULATED:
        return 0
    left = ticks_start(clock)
    greatest(&left, comm)
    learnt = ticks_start(clock)
    greatest(&learnt, comm)
    now = ticks_start(clock)
    if learnt + 2 * (learnt - left) > now:
        ticks_sleep(clock, learnt + 2 * (learnt - left) - now)
    return 0


cdef inline void spin(uint64_t ticks, int clock) noexcept nogil:
    cdef uint64_t begin = ticks_start(clock)
    if ticks_sleep(clock, ticks):
        return
    while ticks_stop(clock) - begin < ticks:
        pass


cdef struct Loop:
    # What a repetition of a loop of messages needs, made by `new_loop` before it. Single loops set how many messages
    # it has, their distance in the buffers, the ticks outside of MPI, and whether it is the alternative of two loops.
    mpi.MPI_Comm comm
    int peer
    int sender  # where it is not the peer
    bint first
    bint touched
    int clock
    Py_ssize_t size
    Py_ssize_t received  # bytes of a message that arrives, where they differ
    Message outgoing
    Message incoming
    mpi.MPI_Request *requests
    Py_ssize_t count
    Py_ssize_t stride
    uint64_t delay
    bint alternative
    mpi.MPI_Win window
    const int *sources
    const int *targets


ctypedef int (*Repetition)(Loop loop, uint64_t *ticks) except -1 nogil


cdef inline Loop new_loop(comm, int peer, bint first, Py_ssize_t size, int clock, bint touched) except *:
    cdef Loop loop
    loop.comm = PyMPIComm_Get(comm)[0]
    loop.peer, loop.sender, loop.first, loop.clock, loop.touched = peer, peer, first, clock, touched
    loop.size = loop.received = size
    loop.count, loop.stride, loop.delay, loop.alternative = 1, 0, 0, False
    return loop


cdef inline int send_on_request(Loop *loop, uint64_t *ticks) except -1 nogil:
    """Send a message when it is asked for; the ticks are those of MPI_Send."""
    receive_ready(loop.peer, loop.comm)
    cdef uint64_t begin = ticks_start(loop.clock)
    send(&loop.outgoing, loop.peer, loop.comm)
    ticks[0] = ticks_stop(loop.clock) - begin
    return 0


cdef inline int receive_on_request(Loop *loop, uint64_t *ticks) except -1 nogil:
    """Post a receive and ask for its message; the ticks are those from asking to its arrival."""
    cdef mpi.MPI_Request request
    begin_receive(&loop.incoming, loop.peer, loop.comm, &request)
    cdef uint64_t begin = ticks_start(loop.clock)
    send_ready(loop.peer, loop.comm)
    wait(&request)
    ticks[0] = ticks_stop(loop.clock) - begin
    return 0


cdef inline Py_ssize_t extent(Loop *loop) noexcept nogil:
    """Return the bytes from the begin of the first message of a repetition to the end of the last."""
    return (loop.count - 1) * loop.stride + loop.size


cdef inline repeat(Loop *loop, Repetition repetition, unsigned char[::1] send_buffer,
                   unsigned char[::1] receive_buffer, int requests, Py_ssize_t repetitions, Py_ssize_t values=1):
    """Return the ticks (uint64) of all repetitions, `values` of each: the frame of all loops of messages.

    A repetition reads the clock itself: the call of its function is not timed.
    """
    import numpy as np
    ticks = np.zeros((repetitions, values), dtype=np.uint64)
    cdef uint64_t[:, ::1] out = ticks
    cdef Py_ssize_t i
    describe(&loop.outgoing, send_buffer, loop.size)
    describe(&loop.incoming, receive_buffer, loop.received)
    loop.requests = new_requests(requests + 1)
    try:
        with nogil:
            for i in range(repetitions):
                repetition(loop[0], &out[i, 0])
    finally:
        free(loop.requests)
    release(&loop.outgoing)
    release(&loop.incoming)
    return ticks if values != 1 else ticks[:, 0]
