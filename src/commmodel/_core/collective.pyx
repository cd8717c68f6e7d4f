"""Collective operations, each begun after a barrier, and what they do within memory. Main entry: `collective`.

Every rank of the communicator calls it alike and gets the ticks of its own part of each repetition (uint64). Between
two ticks stands one MPI call. Rank 0 is the root where there is one. Which algorithm the library takes is its own
affair, and not known here.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy
from mpi4py cimport libmpi as mpi

from commmodel._core.messages cimport Message, ticks_start, ticks_stop
from commmodel._core.mpicalls cimport (
    CHKERR, COMMMODEL_MPI_ABI, PyMPIComm_Get, check_same_library, import_mpi4py,
)
from commmodel._core.operations cimport (
    ALLGATHER, ALLREDUCE, ALLTOALL, BARRIER, BCAST, GATHER, REDUCE, REDUCE_SCATTER, ROOT, SCAN, SCATTER, Call,
    carry_out, check_room, describe_elements, finish, prepare,
)

import numpy as np

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()

OPERATIONS = {
    "barrier": BARRIER, "bcast": BCAST, "reduce": REDUCE, "allreduce": ALLREDUCE, "gather": GATHER,
    "scatter": SCATTER, "allgather": ALLGATHER, "alltoall": ALLTOALL, "reduce_scatter": REDUCE_SCATTER, "scan": SCAN,
}


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
    cdef Call call
    cdef Py_ssize_t i
    cdef uint64_t begin
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    prepare(&call, OPERATIONS[operation], PyMPIComm_Get(comm)[0], send_buffer, receive_buffer, size)
    with nogil:
        for i in range(repetitions):
            CHKERR(mpi.MPI_Barrier(call.comm))
            begin = ticks_start(clock)
            carry_out(&call)
            out[i] = ticks_stop(clock) - begin
    finish(&call)
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
