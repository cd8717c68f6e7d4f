"""Collective operations, each begun after a barrier, and what they do within memory. Main entry: `collective`.

Every rank of the communicator calls it alike and gets the ticks of its own part of each repetition (uint64). Between
two ticks stands one MPI call. Rank 0 is the root where there is one. Which algorithm the library takes is its own
affair, and not known here.
"""

from libc.limits cimport INT_MAX
from libc.stdint cimport uint64_t
from libc.string cimport memcpy
from mpi4py cimport libmpi as mpi

from commmodel._core.messages cimport Message, describe, release, ticks_start, ticks_stop
from commmodel._core.mpicalls cimport (
    CHKERR, COMMMODEL_MPI_ABI, PyMPIComm_Get, check_same_library, import_mpi4py,
)

import numpy as np

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()

cdef enum Operation:
    BARRIER
    BCAST
    REDUCE
    ALLREDUCE
    GATHER
    SCATTER
    ALLGATHER
    ALLTOALL
    REDUCE_SCATTER
    SCAN

cdef enum:
    ROOT = 0
    FLOAT_BYTES = 4

OPERATIONS = {
    "barrier": BARRIER, "bcast": BCAST, "reduce": REDUCE, "allreduce": ALLREDUCE, "gather": GATHER,
    "scatter": SCATTER, "allgather": ALLGATHER, "alltoall": ALLTOALL, "reduce_scatter": REDUCE_SCATTER, "scan": SCAN,
}


cdef struct Call:
    void *outgoing
    void *incoming
    int count
    mpi.MPI_Datatype type
    mpi.MPI_Op op
    mpi.MPI_Comm comm


cdef int check_room(int operation, Py_ssize_t size, int processes, int rank, unsigned char[::1] send_buffer,
                    unsigned char[::1] receive_buffer) except -1:
    cdef Py_ssize_t sent = size, received = size
    if operation == ALLTOALL or operation == REDUCE_SCATTER or (operation == SCATTER and rank == ROOT):
        sent *= processes
    if operation == ALLTOALL or operation == ALLGATHER or (operation == GATHER and rank == ROOT):
        received *= processes
    if size < 0 or sent > send_buffer.shape[0] or received > receive_buffer.shape[0]:
        raise ValueError(f"{size} bytes of each of {processes} processes do not fit buffers of "
                         f"{send_buffer.shape[0]} and {receive_buffer.shape[0]} bytes")
    return 0


cdef int describe_elements(Message *message, Py_ssize_t size, mpi.MPI_Op *op) except -1:
    """What a reduction works on: the sum of floats, or bitwise or of bytes where there is no whole number of them."""
    cdef Py_ssize_t width = FLOAT_BYTES if size % FLOAT_BYTES == 0 else 1
    if size // width > INT_MAX:
        raise ValueError(f"a reduction of {size} bytes has more elements than an int counts")
    message.count = <int>(size // width)
    message.type = mpi.MPI_FLOAT if width == FLOAT_BYTES else mpi.MPI_UINT8_T
    op[0] = mpi.MPI_SUM if width == FLOAT_BYTES else mpi.MPI_BOR
    return 0


cdef int carry_out(Operation operation, Call *c) except -1 nogil:
    if operation == BARRIER:
        return CHKERR(mpi.MPI_Barrier(c.comm))
    if operation == BCAST:
        return CHKERR(mpi.MPI_Bcast(c.incoming, c.count, c.type, ROOT, c.comm))
    if operation == REDUCE:
        return CHKERR(mpi.MPI_Reduce(c.outgoing, c.incoming, c.count, c.type, c.op, ROOT, c.comm))
    if operation == ALLREDUCE:
        return CHKERR(mpi.MPI_Allreduce(c.outgoing, c.incoming, c.count, c.type, c.op, c.comm))
    if operation == GATHER:
        return CHKERR(mpi.MPI_Gather(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, ROOT, c.comm))
    if operation == SCATTER:
        return CHKERR(mpi.MPI_Scatter(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, ROOT, c.comm))
    if operation == ALLGATHER:
        return CHKERR(mpi.MPI_Allgather(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, c.comm))
    if operation == ALLTOALL:
        return CHKERR(mpi.MPI_Alltoall(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, c.comm))
    if operation == REDUCE_SCATTER:
        return CHKERR(mpi.MPI_Reduce_scatter_block(c.outgoing, c.incoming, c.count, c.type, c.op, c.comm))
    return CHKERR(mpi.MPI_Scan(c.outgoing, c.incoming, c.count, c.type, c.op, c.comm))


def collective(comm, str operation not None, unsigned char[::1] send_buffer not None,
               unsigned char[::1] receive_buffer not None, Py_ssize_t size, Py_ssize_t repetitions, int clock):
    """Return the ticks that this rank spends in each of `repetitions` collective operations of `comm`.

    `size` is what the count argument says, in bytes: the whole vector of a broadcast, reduction or scan, one block of
    the others. Reductions add floats (MPI_FLOAT, MPI_SUM) where the size is a multiple of 4, and otherwise combine
    bytes (MPI_UINT8_T, MPI_BOR); all others move bytes. A broadcast leaves from the root's send buffer and arrives
    in the others' receive buffers.
    """
    if operation not in OPERATIONS:
        raise ValueError(f"unknown collective {operation!r}: one of {', '.join(OPERATIONS)}")
    cdef Operation which = OPERATIONS[operation]
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef int rank, processes
    cdef Message message
    cdef Call call
    cdef Py_ssize_t i
    cdef uint64_t begin
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    CHKERR(mpi.MPI_Comm_rank(handle, &rank))
    CHKERR(mpi.MPI_Comm_size(handle, &processes))
    check_room(which, size, processes, rank, send_buffer, receive_buffer)
    call.op = mpi.MPI_OP_NULL
    if which in (REDUCE, ALLREDUCE, REDUCE_SCATTER, SCAN):
        describe_elements(&message, size, &call.op)
    else:
        describe(&message, send_buffer, size)
    call.outgoing = &send_buffer[0]
    call.incoming = &send_buffer[0] if which == BCAST and rank == ROOT else &receive_buffer[0]
    call.count = message.count
    call.type = message.type
    call.comm = handle
    with nogil:
        for i in range(repetitions):
            CHKERR(mpi.MPI_Barrier(handle))
            begin = ticks_start(clock)
            carry_out(which, &call)
            out[i] = ticks_stop(clock) - begin
    if call.op == mpi.MPI_OP_NULL:
        release(&message)
    return ticks


def copies(unsigned char[::1] source not None, unsigned char[::1] target not None, Py_ssize_t size,
           Py_ssize_t repetitions, int clock):
    """Return the ticks of each of `repetitions` copies of `size` bytes."""
    check_room(GATHER, size, 1, ROOT, source, target)
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef Py_ssize_t i
    cdef uint64_t begin
    with nogil:
        for i in range(repetitions):
            begin = ticks_start(clock)
            memcpy(&target[0], &source[0], size)
            out[i] = ticks_stop(clock) - begin
    return ticks


def reductions(unsigned char[::1] source not None, unsigned char[::1] target not None, Py_ssize_t size,
               Py_ssize_t repetitions, int clock):
    """Return the ticks of each of `repetitions` MPI_Reduce_local of `size` bytes, combined as in `collective`."""
    check_room(GATHER, size, 1, ROOT, source, target)
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef Message message
    cdef mpi.MPI_Op op
    cdef Py_ssize_t i
    cdef uint64_t begin
    describe_elements(&message, size, &op)
    with nogil:
        for i in range(repetitions):
            begin = ticks_start(clock)
            CHKERR(mpi.MPI_Reduce_local(&source[0], &target[0], message.count, message.type, op))
            out[i] = ticks_stop(clock) - begin
    return ticks
