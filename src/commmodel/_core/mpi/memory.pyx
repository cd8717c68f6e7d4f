"""Bytes that MPI's calls keep on a rank, as counted by the preloaded library of allocations.c. Main entry: `kept`.

That library is found by the names of its functions, as it comes with the process or not at all (`is_counting`). Between
two readings of its counters stands one MPI call.
"""

from libc.stdint cimport int64_t
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.mpi_calls cimport (
    CHKERR, COMMMODEL_MPI_ABI, PyMPIComm_Get, check_same_library, import_mpi4py,
)

import numpy as np

cdef extern from "<dlfcn.h>" nogil:
    void *RTLD_DEFAULT
    void *dlsym(void *, const char *)

cdef extern from "preload/allocations.h" nogil:
    ctypedef struct Counts "struct commmodel_allocations":
        int64_t allocated
        int64_t blocks
        int64_t anonymous
        int64_t shared
        int64_t unlisted
    const char *COMMMODEL_READ_ALLOCATIONS
    const char *COMMMODEL_MAPPING_OF
    int COMMMODEL_ANONYMOUS
    int COMMMODEL_SHARED

ctypedef void (*ReadAllocations)(Counts *) noexcept nogil
ctypedef int (*MappingOf)(const void *) noexcept nogil

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()

cdef enum Operation:
    COMM_CREATE
    COMM_DUP
    COMM_SPLIT
    WIN_CREATE
    WIN_ALLOCATE
    CART_CREATE

OPERATIONS = {
    "comm_create": COMM_CREATE, "comm_dup": COMM_DUP, "comm_split": COMM_SPLIT, "win_create": WIN_CREATE,
    "win_allocate": WIN_ALLOCATE, "cart_create": CART_CREATE,
}
COUNTERS = ("allocated", "blocks", "anonymous", "shared")

cdef ReadAllocations read_allocations = <ReadAllocations> dlsym(RTLD_DEFAULT, COMMMODEL_READ_ALLOCATIONS)
cdef MappingOf mapping_of = <MappingOf> dlsym(RTLD_DEFAULT, COMMMODEL_MAPPING_OF)


cdef struct Object:  # what one call makes
    mpi.MPI_Comm comm
    mpi.MPI_Win window
    void *memory


cdef struct Call:
    int operation
    mpi.MPI_Comm comm
    mpi.MPI_Group group
    int size
    int rank
    int[2] sides
    int[2] periodic


def is_counting() -> bool:
    """Return whether the library that counts allocations was loaded before the others."""
    return read_allocations != NULL and mapping_of != NULL


cdef int check_counting() except -1:
    if not is_counting():
        raise RuntimeError("the library that counts allocations is not loaded: start the process with it in LD_PRELOAD")
    return 0


def counters():
    """Return how many bytes this process holds by now: a number for each of `COUNTERS`."""
    check_counting()
    cdef Counts counts
    read_allocations(&counts)
    return {
        "allocated": counts.allocated, "blocks": counts.blocks, "anonymous": counts.anonymous, "shared": counts.shared,
    }


cdef int make(Call *call, Object *made, void *memory, mpi.MPI_Aint size) except -1 nogil:
    if call.operation == COMM_CREATE:
        CHKERR(mpi.MPI_Comm_create(call.comm, call.group, &made.comm))
    elif call.operation == COMM_DUP:
        CHKERR(mpi.MPI_Comm_dup(call.comm, &made.comm))
    elif call.operation == COMM_SPLIT:
        CHKERR(mpi.MPI_Comm_split(call.comm, 0, call.rank, &made.comm))
    elif call.operation == WIN_CREATE:
        CHKERR(mpi.MPI_Win_create(memory, size, 1, mpi.MPI_INFO_NULL, call.comm, &made.window))
    elif call.operation == WIN_ALLOCATE:
        CHKERR(mpi.MPI_Win_allocate(size, 1, mpi.MPI_INFO_NULL, call.comm, &made.memory, &made.window))
    else:
        CHKERR(mpi.MPI_Cart_create(call.comm, 2, call.sides, call.periodic, 0, &made.comm))
    return 0


def kept(comm, str operation not None, unsigned char[::1] memory not None, Py_ssize_t window_size,
         Py_ssize_t repetitions):
    """Return how the counters change in each of `repetitions` calls by all ranks of `comm`, after one that warms up.

    A row of int64 for each of `COUNTERS`, a column for each repetition; negative where a call gives back more than it
    takes. All that is made, the warm-up's too, is kept until the end, and freed then. The windows of win_create are
    pieces of `memory`, one for each call and the warm-up; those of win_allocate, `window_size` bytes each, are taken
    off the counter in which they are. comm_create and comm_split make a communicator of all ranks, cart_create a
    periodic grid of two dimensions. A barrier before each call lets the one before it come to its end everywhere.
    """
    check_counting()
    if operation not in OPERATIONS:
        raise ValueError(f"unknown operation {operation!r}: one of {', '.join(OPERATIONS)}")
    cdef Py_ssize_t calls = repetitions + 1, i
    if repetitions < 1 or window_size < 1 or memory.shape[0] < calls * window_size:
        raise ValueError(
            f"{calls} windows of {window_size} bytes do not fit a buffer of {memory.shape[0]}: "
            "both numbers from 1 up, and a larger buffer"
        )
    cdef Call call
    call.operation = OPERATIONS[operation]
    call.comm = PyMPIComm_Get(comm)[0]
    CHKERR(mpi.MPI_Comm_size(call.comm, &call.size))
    CHKERR(mpi.MPI_Comm_rank(call.comm, &call.rank))
    CHKERR(mpi.MPI_Comm_group(call.comm, &call.group))
    call.sides[0] = call.sides[1] = 0
    call.periodic[0] = call.periodic[1] = 1
    CHKERR(mpi.MPI_Dims_create(call.size, 2, call.sides))
    room = np.zeros(calls * sizeof(Object), dtype=np.uint8)
    cdef unsigned char[::1] room_bytes = room
    cdef Object *made = <Object *> &room_bytes[0]
    changes = np.zeros((len(COUNTERS), calls), dtype=np.int64)
    cdef int64_t[:, ::1] out = changes
    cdef Counts before, after
    cdef int home
    with nogil:
        for i in range(calls):
            CHKERR(mpi.MPI_Barrier(call.comm))
            read_allocations(&before)
            make(&call, &made[i], &memory[i * window_size], window_size)
            read_allocations(&after)
            out[0, i] = after.allocated - before.allocated
            out[1, i] = after.blocks - before.blocks
            out[2, i] = after.anonymous - before.anonymous
            out[3, i] = after.shared - before.shared
            if call.operation == WIN_ALLOCATE:
                home = mapping_of(made[i].memory)
                out[2 if home == COMMMODEL_ANONYMOUS else 3 if home == COMMMODEL_SHARED else 0, i] -= window_size
        for i in range(calls):
            if call.operation in (WIN_CREATE, WIN_ALLOCATE):
                CHKERR(mpi.MPI_Win_free(&made[i].window))
            else:
                CHKERR(mpi.MPI_Comm_free(&made[i].comm))
        CHKERR(mpi.MPI_Group_free(&call.group))
    if after.unlisted:
        raise RuntimeError("more memory mappings than the library that counts allocations can remember")
    return changes[:, 1:]
