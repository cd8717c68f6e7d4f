"""Ping-pongs by requests that are made once: persistent and partitioned ones, and plain ones beside them.

The loop is called by both ranks of a pair, `first` true on the rank that sends first; it returns the ticks of each
round trip (uint64), uninterpreted. Between two ticks stand MPI calls and nothing else.
"""

from libc.limits cimport INT_MAX
from libc.stdint cimport uint64_t
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport TAG_MESSAGE, ticks_start, ticks_stop
from commmodel._core.mpi.mpi_calls cimport (
    CHKERR, COMMMODEL_MPI_ABI, PyMPIComm_Get, check_same_library, import_mpi4py,
)

import numpy as np

cdef extern from *:
    """
    #if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
    #define COMMMODEL_PARTITIONED 1
    #define commmodel_psend_init MPI_Psend_init
    #define commmodel_precv_init MPI_Precv_init
    #define commmodel_pready MPI_Pready
    #else
    #define COMMMODEL_PARTITIONED 0
    #define commmodel_psend_init(...) MPI_ERR_OTHER
    #define commmodel_precv_init(...) MPI_ERR_OTHER
    #define commmodel_pready(...) MPI_ERR_OTHER
    #endif
    """
    int COMMMODEL_PARTITIONED
    int commmodel_psend_init(void*, int, mpi.MPI_Count, mpi.MPI_Datatype, int, int, mpi.MPI_Comm, mpi.MPI_Info,
                             mpi.MPI_Request*) nogil
    int commmodel_precv_init(void*, int, mpi.MPI_Count, mpi.MPI_Datatype, int, int, mpi.MPI_Comm, mpi.MPI_Info,
                             mpi.MPI_Request*) nogil
    int commmodel_pready(int, mpi.MPI_Request) nogil

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()
HAS_PARTITIONED = bool(COMMMODEL_PARTITIONED)

cdef enum Kind:
    NON_BLOCKING
    PERSISTENT
    PARTITIONED

REQUESTS = {"non-blocking": NON_BLOCKING, "persistent": PERSISTENT, "partitioned": PARTITIONED}


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
    if exchange.kind == NON_BLOCKING:
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
    if exchange.kind == NON_BLOCKING:
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
    is_made = exchange.kind != NON_BLOCKING
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
