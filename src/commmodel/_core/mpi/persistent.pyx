"""Messages and collectives by requests that are made once: persistent, partitioned, and plain ones beside them.

`round_trips` is called by both ranks of a pair, `first` true on the rank that sends first; `collectives` by all ranks
of a communicator. They return the ticks of each repetition (uint64), uninterpreted. Between two ticks stand MPI calls
and nothing else.
"""

from libc.limits cimport INT_MAX
from libc.stdint cimport uint64_t
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport TAG_MESSAGE, ticks_start, ticks_stop
from commmodel._core.mpi.mpi_calls cimport (
    CHKERR, COMMMODEL_MPI_ABI, PyMPIComm_Get, check_same_library, import_mpi4py,
)
from commmodel._core.mpi.operations cimport (
    ALLGATHER, ALLREDUCE, ALLTOALL, BCAST, BLOCKING, NON_BLOCKING, REDUCE, ROOT, Call, carry_out, choose_mode, finish,
    prepare,
)
from commmodel._core.mpi.partitioned cimport (
    COMMMODEL_PARTITIONED, commmodel_psend_init, commmodel_precv_init, commmodel_pready,
    commmodel_allreduce_init, commmodel_reduce_init, commmodel_bcast_init, commmodel_alltoall_init,
    commmodel_allgather_init,
)

import numpy as np

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()
HAS_PARTITIONED = bool(COMMMODEL_PARTITIONED)
"""Whether the library has what is new in MPI 4.0: partitioned requests, and persistent collectives."""

cdef enum Kind:
    PLAIN
    PERSISTENT
    PARTITIONED

REQUESTS = {"non-blocking": PLAIN, "persistent": PERSISTENT, "partitioned": PARTITIONED}


cdef struct Exchange:
    mpi.MPI_Comm comm
    mpi.MPI_Request outgoing
    mpi.MPI_Request incoming
    void *sent
    void *received
    int peer
    int size
    int kind
    int partitions
    int clock


cdef inline int send_one(Exchange *exchange) except -1 nogil:
    cdef mpi.MPI_Request request = exchange.outgoing
    cdef int i
    if exchange.kind == PLAIN:
        CHKERR(mpi.MPI_Isend(exchange.sent, exchange.size, mpi.MPI_BYTE, exchange.peer, TAG_MESSAGE, exchange.comm,
                             &request))
        return CHKERR(mpi.MPI_Wait(&request, mpi.MPI_STATUS_IGNORE))
    CHKERR(mpi.MPI_Start(&request))
    if exchange.kind == PARTITIONED:
        for i in range(exchange.partitions):
            CHKERR(commmodel_pready(i, request))
    return CHKERR(mpi.MPI_Wait(&request, mpi.MPI_STATUS_IGNORE))


cdef inline int receive_one(Exchange *exchange) except -1 nogil:
    cdef mpi.MPI_Request request = exchange.incoming
    if exchange.kind == PLAIN:
        CHKERR(mpi.MPI_Irecv(exchange.received, exchange.size, mpi.MPI_BYTE, exchange.peer, TAG_MESSAGE, exchange.comm,
                             &request))
    else:
        CHKERR(mpi.MPI_Start(&request))
    return CHKERR(mpi.MPI_Wait(&request, mpi.MPI_STATUS_IGNORE))


cdef int repeat_round_trips(Exchange exchange, bint first, Py_ssize_t repetitions, uint64_t *ticks) except -1 nogil:
    cdef Py_ssize_t i
    cdef uint64_t begin
    for i in range(repetitions):
        begin = ticks_start(exchange.clock)
        if first:
            send_one(&exchange)
            receive_one(&exchange)
        else:
            receive_one(&exchange)
            send_one(&exchange)
        ticks[i] = ticks_stop(exchange.clock) - begin
    return 0


cdef int make_requests(Exchange *exchange) except -1 nogil:
    cdef int each
    if exchange.kind == PERSISTENT:
        CHKERR(mpi.MPI_Send_init(exchange.sent, exchange.size, mpi.MPI_BYTE, exchange.peer, TAG_MESSAGE, exchange.comm,
                                 &exchange.outgoing))
        return CHKERR(mpi.MPI_Recv_init(exchange.received, exchange.size, mpi.MPI_BYTE, exchange.peer, TAG_MESSAGE,
                                        exchange.comm, &exchange.incoming))
    each = exchange.size // exchange.partitions
    CHKERR(commmodel_psend_init(exchange.sent, exchange.partitions, each, mpi.MPI_BYTE, exchange.peer, TAG_MESSAGE,
                                exchange.comm, mpi.MPI_INFO_NULL, &exchange.outgoing))
    return CHKERR(commmodel_precv_init(exchange.received, exchange.partitions, each, mpi.MPI_BYTE, exchange.peer,
                                       TAG_MESSAGE, exchange.comm, mpi.MPI_INFO_NULL, &exchange.incoming))


def round_trips(comm, int peer, bint first, unsigned char[::1] send_buffer not None,
                unsigned char[::1] receive_buffer not None, Py_ssize_t size, str request not None, int partitions,
                Py_ssize_t repetitions, int clock):
    """Return the ticks of `repetitions` round trips of `size` bytes by requests of a kind.

    ``non-blocking``: MPI_Isend or MPI_Irecv, and MPI_Wait; ``persistent``: MPI_Start and MPI_Wait of a request made
    before the first; ``partitioned``: the sender declares each of `partitions` equal parts ready between the two.
    """
    cdef Exchange exchange
    cdef bint is_made
    if request not in REQUESTS:
        raise ValueError(f"unknown {request!r}: one of {', '.join(REQUESTS)}")
    if not 0 <= size <= min(send_buffer.shape[0], receive_buffer.shape[0], INT_MAX):
        raise ValueError(f"a message of {size} bytes does not fit the buffers, or an int")
    if partitions < 1 or size % partitions:
        raise ValueError(f"a message of {size} bytes has no {partitions} equal partitions")
    exchange.comm = PyMPIComm_Get(comm)[0]
    exchange.outgoing = exchange.incoming = mpi.MPI_REQUEST_NULL
    exchange.sent, exchange.received = &send_buffer[0], &receive_buffer[0]
    exchange.peer, exchange.size, exchange.clock = peer, <int>size, clock
    exchange.kind, exchange.partitions = REQUESTS[request], partitions
    is_made = exchange.kind != PLAIN
    ticks = np.zeros(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    with nogil:
        if is_made:
            make_requests(&exchange)
        CHKERR(mpi.MPI_Barrier(exchange.comm))
        repeat_round_trips(exchange, first, repetitions, &out[0])
        CHKERR(mpi.MPI_Barrier(exchange.comm))
        if is_made:
            CHKERR(mpi.MPI_Request_free(&exchange.outgoing))
            CHKERR(mpi.MPI_Request_free(&exchange.incoming))
    return ticks


OPERATIONS = {"allreduce": ALLREDUCE, "bcast": BCAST, "alltoall": ALLTOALL, "allgather": ALLGATHER, "reduce": REDUCE}
MODES = {"blocking": BLOCKING, "non-blocking": NON_BLOCKING}


cdef int make_request(Call *c) except -1:
    """Make the persistent request of an operation that `prepare` has described."""
    cdef mpi.MPI_Request *request = &c.request
    cdef mpi.MPI_Info info = mpi.MPI_INFO_NULL
    if c.operation == ALLREDUCE:
        return CHKERR(commmodel_allreduce_init(c.outgoing, c.incoming, c.count, c.type, c.op, c.comm, info, request))
    if c.operation == REDUCE:
        return CHKERR(commmodel_reduce_init(c.outgoing, c.incoming, c.count, c.type, c.op, ROOT, c.comm, info, request))
    if c.operation == BCAST:
        return CHKERR(commmodel_bcast_init(c.incoming, c.count, c.type, ROOT, c.comm, info, request))
    if c.operation == ALLTOALL:
        return CHKERR(commmodel_alltoall_init(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, c.comm, info,
                                              request))
    return CHKERR(commmodel_allgather_init(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, c.comm, info,
                                           request))


cdef int repeat_started(Call *call, Py_ssize_t repetitions, int clock, uint64_t *ticks) except -1 nogil:
    cdef Py_ssize_t i
    cdef uint64_t begin
    for i in range(repetitions):
        CHKERR(mpi.MPI_Barrier(call.comm))
        begin = ticks_start(clock)
        CHKERR(mpi.MPI_Start(&call.request))
        CHKERR(mpi.MPI_Wait(&call.request, mpi.MPI_STATUS_IGNORE))
        ticks[i] = ticks_stop(clock) - begin
    return 0


cdef int repeat_called(Call *call, Py_ssize_t repetitions, int clock, uint64_t *ticks) except -1 nogil:
    cdef Py_ssize_t i
    cdef uint64_t begin
    for i in range(repetitions):
        CHKERR(mpi.MPI_Barrier(call.comm))
        begin = ticks_start(clock)
        carry_out(call)
        ticks[i] = ticks_stop(clock) - begin
    return 0


def collectives(comm, str operation not None, str request not None, unsigned char[::1] send_buffer not None,
                unsigned char[::1] receive_buffer not None, Py_ssize_t size, Py_ssize_t repetitions, int clock):
    """Return the ticks that this rank spends in each of `repetitions` collectives of `comm`, each after a barrier.

    ``blocking``: the call itself; ``non-blocking``: its MPI_I... and MPI_Wait; ``persistent``: MPI_Start and MPI_Wait
    of a request made before the first. `size` is as of `commmodel._core.mpi.collective`.
    """
    cdef Call call
    cdef bint is_made = request == "persistent"
    if operation not in OPERATIONS:
        raise ValueError(f"unknown {operation!r}: one of {', '.join(OPERATIONS)}")
    if not is_made and request not in MODES:
        raise ValueError(f"unknown {request!r}: one of {', '.join(MODES)}, persistent")
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    prepare(&call, OPERATIONS[operation], PyMPIComm_Get(comm)[0], send_buffer, receive_buffer, size)
    if is_made:
        make_request(&call)
        with nogil:
            repeat_started(&call, repetitions, clock, &out[0])
        CHKERR(mpi.MPI_Request_free(&call.request))
    else:
        choose_mode(&call, MODES[request], 0, clock)
        with nogil:
            repeat_called(&call, repetitions, clock, &out[0])
    finish(&call)
    return ticks
