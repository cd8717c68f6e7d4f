"""One-sided operations, each completed before the next: put, get, the accumulates and the atomic ones.

The loop is called by both ranks of a pair, `first` true on the rank that is timed. It returns the ticks of each
repetition (uint64), uninterpreted; 0 on the other rank. Between two ticks stand MPI calls and nothing else.
"""

from libc.stdint cimport int64_t, uint64_t
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport Message, describe, release, ticks_start, ticks_stop
from commmodel._core.mpi.mpi_calls cimport (
    CHKERR, COMMMODEL_MPI_ABI, PyMPIComm_Get, PyMPIWin_Get, check_same_library, import_mpi4py,
)
from commmodel._core.mpi.operations cimport describe_elements

import numpy as np

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()

cdef enum Operation:
    PUT
    GET
    ACCUMULATE
    GET_ACCUMULATE
    FETCH_AND_OP
    COMPARE_AND_SWAP

cdef enum Synchronisation:
    FLUSH
    FLUSH_LOCAL
    LOCK
    LOCK_ALL
    FENCE
    POST_START

OPERATIONS = {
    "put": PUT, "get": GET, "accumulate": ACCUMULATE, "get-accumulate": GET_ACCUMULATE, "fetch-and-op": FETCH_AND_OP,
    "compare-and-swap": COMPARE_AND_SWAP,
}
SYNCHRONISATIONS = {
    "flush": FLUSH, "flush-local": FLUSH_LOCAL, "lock": LOCK, "lock-all": LOCK_ALL, "fence": FENCE,
    "post-start": POST_START,
}
ATOMIC_BYTES = sizeof(int64_t)  # of fetch-and-op and compare-and-swap


cdef struct Access:
    # All that a repetition needs, made before the loop. Loops have a copy of their own, whose address no call is given,
    # so that compilers keep it in registers: a put within a node takes a hundred nanoseconds.
    mpi.MPI_Win window
    mpi.MPI_Group group
    mpi.MPI_Op op
    int peer
    int operation
    int synchronisation
    int clock
    Message origin
    Message result

cdef int64_t expected = 0  # by compare-and-swap


cdef inline int access_window(Access *access) except -1 nogil:
    cdef Message *origin = &access.origin
    cdef Message *result = &access.result
    if access.operation == PUT:
        return CHKERR(mpi.MPI_Put(origin.address, origin.count, origin.type, access.peer, 0, origin.count, origin.type,
                                  access.window))
    if access.operation == GET:
        return CHKERR(mpi.MPI_Get(result.address, result.count, result.type, access.peer, 0, result.count, result.type,
                                  access.window))
    if access.operation == ACCUMULATE:
        return CHKERR(mpi.MPI_Accumulate(origin.address, origin.count, origin.type, access.peer, 0, origin.count,
                                         origin.type, access.op, access.window))
    if access.operation == GET_ACCUMULATE:
        return CHKERR(mpi.MPI_Get_accumulate(origin.address, origin.count, origin.type, result.address, result.count,
                                             result.type, access.peer, 0, origin.count, origin.type, access.op,
                                             access.window))
    if access.operation == FETCH_AND_OP:
        return CHKERR(mpi.MPI_Fetch_and_op(origin.address, result.address, mpi.MPI_INT64_T, access.peer, 0, access.op,
                                           access.window))
    return CHKERR(mpi.MPI_Compare_and_swap(origin.address, &expected, result.address, mpi.MPI_INT64_T,
                                           access.peer, 0, access.window))


cdef inline int access_passive_target(Access *access, uint64_t *ticks) except -1 nogil:
    cdef int how = access.synchronisation
    cdef uint64_t begin = ticks_start(access.clock)
    if how == LOCK:
        CHKERR(mpi.MPI_Win_lock(mpi.MPI_LOCK_SHARED, access.peer, 0, access.window))
    elif how == LOCK_ALL:
        CHKERR(mpi.MPI_Win_lock_all(0, access.window))
    access_window(access)
    if how == FLUSH:
        CHKERR(mpi.MPI_Win_flush(access.peer, access.window))
    elif how == FLUSH_LOCAL:
        CHKERR(mpi.MPI_Win_flush_local(access.peer, access.window))
    elif how == LOCK:
        CHKERR(mpi.MPI_Win_unlock(access.peer, access.window))
    else:
        CHKERR(mpi.MPI_Win_unlock_all(access.window))
    ticks[0] = ticks_stop(access.clock) - begin
    return 0


cdef inline int begin_turn(Access *access) except -1 nogil:
    if access.synchronisation == POST_START:
        return CHKERR(mpi.MPI_Win_start(access.group, 0, access.window))
    return 0


cdef inline int end_turn(Access *access) except -1 nogil:
    if access.synchronisation == POST_START:
        return CHKERR(mpi.MPI_Win_complete(access.window))
    return CHKERR(mpi.MPI_Win_fence(0, access.window))


cdef inline int expose_window(Access *access) except -1 nogil:
    """Let the peer have its turn."""
    if access.synchronisation == POST_START:
        CHKERR(mpi.MPI_Win_post(access.group, 0, access.window))
        return CHKERR(mpi.MPI_Win_wait(access.window))
    return CHKERR(mpi.MPI_Win_fence(0, access.window))


cdef inline int take_turns(Access *access, bint first, uint64_t *ticks) except -1 nogil:
    cdef uint64_t begin
    if not first:
        expose_window(access)
        begin_turn(access)
        access_window(access)
        return end_turn(access)
    begin = ticks_start(access.clock)
    begin_turn(access)
    access_window(access)
    end_turn(access)
    expose_window(access)
    ticks[0] = ticks_stop(access.clock) - begin
    return 0


cdef int work_passively(Access access, Py_ssize_t repetitions, uint64_t *ticks) except -1 nogil:
    cdef Py_ssize_t i
    for i in range(repetitions):
        access_passive_target(&access, &ticks[i])
    return 0


cdef int work_in_turns(Access access, bint first, Py_ssize_t repetitions, uint64_t *ticks) except -1 nogil:
    cdef Py_ssize_t i
    for i in range(repetitions):
        take_turns(&access, first, &ticks[i])
    return 0


cdef int describe_access(Access *access, unsigned char[::1] origin, unsigned char[::1] result,
                         Py_ssize_t size) except -1:
    describe(&access.origin, origin, size)
    describe(&access.result, result, size)
    if access.operation in (ACCUMULATE, GET_ACCUMULATE):  # their elements have types that are never released
        release(&access.origin)
        release(&access.result)
        describe_elements(&access.origin, size, &access.op)
        describe_elements(&access.result, size, &access.op)
    return 0


cdef int check_access(window, Access *access, Py_ssize_t size) except -1:
    """Refuse what MPI would write beyond the window's end, or read beyond a number."""
    from mpi4py import MPI
    cdef Py_ssize_t room = window.Get_attr(MPI.WIN_SIZE)
    if size > room:
        raise ValueError(f"a message of {size} bytes does not fit a window of {room} bytes")
    if access.operation in (FETCH_AND_OP, COMPARE_AND_SWAP) and size != ATOMIC_BYTES:
        raise ValueError(f"an atomic operation is on {ATOMIC_BYTES} bytes, not {size}")
    return 0


cdef int number_of(dict names, str name) except -1:
    if name not in names:
        raise ValueError(f"unknown {name!r}: one of {', '.join(names)}")
    return names[name]


def accesses(comm, window, int peer, bint first, str operation not None, str synchronisation not None,
             unsigned char[::1] origin not None, unsigned char[::1] result not None, Py_ssize_t size,
             Py_ssize_t repetitions, int clock):
    """Return the ticks of `repetitions` operations of `first` on the window of its peer, each with its completion.

    Elements at the window's begin are read or written; accumulates add floats, or where `size` is no multiple of 4
    combine bytes by a bitwise or. fetch-and-op adds an integer of 8 bytes, compare-and-swap replaces a 0. Of ``fence``
    and ``post-start`` a repetition is a turn of each rank; of the others the peer waits in a barrier of `comm`. The
    window's displacements are bytes, and nothing of it is locked.
    """
    cdef Access access
    cdef mpi.MPI_Comm communicator = PyMPIComm_Get(comm)[0]
    cdef mpi.MPI_Group everybody
    cdef bint is_locked, is_passive
    access.window = PyMPIWin_Get(window)[0]
    access.peer, access.clock, access.op = peer, clock, mpi.MPI_SUM
    access.operation = number_of(OPERATIONS, operation)
    access.synchronisation = number_of(SYNCHRONISATIONS, synchronisation)
    check_access(window, &access, size)
    describe_access(&access, origin, result, size)
    is_locked = access.synchronisation in (FLUSH, FLUSH_LOCAL)
    is_passive = is_locked or access.synchronisation in (LOCK, LOCK_ALL)
    ticks = np.zeros(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    CHKERR(mpi.MPI_Comm_group(communicator, &everybody))
    CHKERR(mpi.MPI_Group_incl(everybody, 1, &peer, &access.group))
    with nogil:
        CHKERR(mpi.MPI_Barrier(communicator))
        if is_locked:
            CHKERR(mpi.MPI_Win_lock_all(0, access.window))
        elif access.synchronisation == FENCE:
            CHKERR(mpi.MPI_Win_fence(0, access.window))
        if not is_passive:
            work_in_turns(access, first, repetitions, &out[0])
        elif first:
            work_passively(access, repetitions, &out[0])
        if is_locked:
            CHKERR(mpi.MPI_Win_unlock_all(access.window))
        CHKERR(mpi.MPI_Barrier(communicator))
        CHKERR(mpi.MPI_Group_free(&access.group))
        CHKERR(mpi.MPI_Group_free(&everybody))
    if access.operation not in (ACCUMULATE, GET_ACCUMULATE):
        release(&access.origin)
        release(&access.result)
    return ticks
