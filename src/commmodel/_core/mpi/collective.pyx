"""Collective operations, and what they do within memory. Main entries: `collective`, `announced`, `windowed`.

They differ in how a repetition begins: after a barrier, at a time that rank 0 announces for each one, or in windows of
a fixed length. Every rank of the communicator calls them alike. Between two readings of the clock stands one operation.
Rank 0 is the root where there is one. Which algorithm the library takes is its own affair, and not known here.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport Message, read_lines, ticks_sleep, ticks_start, ticks_stop, write_lines
from commmodel._core.mpi.mpi_calls cimport (
    CHKERR, COMMMODEL_MPI_ABI, PyMPIComm_Get, check_same_library, import_mpi4py,
)
from commmodel._core.mpi.operations cimport (
    ALLGATHER, ALLGATHERV, ALLREDUCE, ALLTOALL, ALLTOALLV, ALLTOALLW, BARRIER, BCAST, BCAST_BINARY_TREE, BCAST_LINEAR,
    BLOCKING, EXSCAN, GATHER, GATHERV, NEIGHBOR_ALLGATHER, NEIGHBOR_ALLGATHERV, NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLV,
    NEIGHBOR_ALLTOALLW, NON_BLOCKING, OVERLAPPED, REDUCE, REDUCE_SCATTER, REDUCE_SCATTERV, ROOT, SCAN, SCATTER,
    SCATTERV, Call, Mode, Operation, carry_out, check_room, choose_mode, choose_touching, describe_elements,
    finish, prepare,
)

import numpy as np

cdef extern from "sched.h" nogil:
    int sched_yield()

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()

OPERATIONS = {
    "barrier": BARRIER, "bcast": BCAST, "reduce": REDUCE, "allreduce": ALLREDUCE, "gather": GATHER,
    "scatter": SCATTER, "allgather": ALLGATHER, "alltoall": ALLTOALL, "reduce_scatter_block": REDUCE_SCATTER,
    "scan": SCAN, "exscan": EXSCAN, "gatherv": GATHERV, "scatterv": SCATTERV, "allgatherv": ALLGATHERV,
    "alltoallv": ALLTOALLV,
    "alltoallw": ALLTOALLW, "reduce_scatter": REDUCE_SCATTERV, "neighbor_allgather": NEIGHBOR_ALLGATHER,
    "neighbor_allgatherv": NEIGHBOR_ALLGATHERV, "neighbor_alltoall": NEIGHBOR_ALLTOALL,
    "neighbor_alltoallv": NEIGHBOR_ALLTOALLV, "neighbor_alltoallw": NEIGHBOR_ALLTOALLW,
    "bcast_binary_tree": BCAST_BINARY_TREE, "bcast_linear": BCAST_LINEAR,
}
MODES = {"blocking": BLOCKING, "non-blocking": NON_BLOCKING, "overlapped": OVERLAPPED}


cdef inline Operation operation_number(str name) except *:
    if name not in OPERATIONS:
        raise ValueError(f"unknown collective {name!r}: one of {', '.join(OPERATIONS)}")
    return OPERATIONS[name]


cdef inline Mode mode_number(str name) except *:
    if name not in MODES:
        raise ValueError(f"unknown mode {name!r}: one of {', '.join(MODES)}")
    return MODES[name]


def collective(comm, str operation not None, unsigned char[::1] send_buffer not None,
               unsigned char[::1] receive_buffer not None, Py_ssize_t size, Py_ssize_t repetitions, int clock,
               str mode not None="blocking", uint64_t delay=0, bint touched=False):
    """Return the ticks (uint64) that this rank spends in each of `repetitions` operations of `comm`, after a barrier.

    `size` is what the count argument says, in bytes: the whole vector of a broadcast, reduction or scan, one block of
    the others. Reductions add floats (MPI_FLOAT, MPI_SUM) where the size is a multiple of 4, and otherwise combine
    bytes (MPI_UINT8_T, MPI_BOR); all others move bytes. A broadcast leaves from the root's send buffer and arrives
    in the others' receive buffers. In the mode ``overlapped`` the rank stays outside MPI for `delay` ticks between the
    begin of the operation and its wait. Touched: each rank writes what it sends before a repetition, and reads what it
    has received after it.
    """
    cdef Call call
    cdef Py_ssize_t i
    cdef uint64_t begin
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    prepare(&call, operation_number(operation), PyMPIComm_Get(comm)[0], send_buffer, receive_buffer, size)
    choose_mode(&call, mode_number(mode), delay, clock)
    if touched:
        choose_touching(&call, size)
    with nogil:
        for i in range(repetitions):
            write_lines(call.outgoing, call.written)
            CHKERR(mpi.MPI_Barrier(call.comm))
            begin = ticks_start(clock)
            carry_out(&call)
            out[i] = ticks_stop(clock) - begin
            read_lines(call.incoming, call.read)
    finish(&call)
    return ticks


cdef enum:
    CAME_LATE = 1
    BEGAN_LATE = 2
    ENDED_LATE = 4

LATE = {"came": CAME_LATE, "began": BEGAN_LATE, "ended": ENDED_LATE}
"""Bits that say how a common start was missed: the rank came after it; it came before, but the system let another
program run at the start; it was not done when the next window began."""


cdef struct Shared:
    int kind
    uint64_t origin
    double seconds_per_tick
    double ticks_per_second
    double intercept
    int64_t patience
    int64_t slack


cdef class CommonClock:
    """A rank's clock, and how its ticks become the seconds of a clock that all ranks share.

    Shared seconds are `intercept` at the tick `origin`, and `seconds_per_tick` more with each tick. Who waits for a
    common start lets others have the processor while it is more than `patience` ticks away; who begins more than
    `slack` ticks after it has missed it.
    """

    cdef Shared shared

    def __init__(self, int kind, uint64_t origin, double seconds_per_tick, double intercept, int64_t patience,
                 int64_t slack):
        if not seconds_per_tick > 0:
            raise ValueError(f"a tick takes more than 0 seconds, not {seconds_per_tick}")
        self.shared.kind = kind
        self.shared.origin = origin
        self.shared.seconds_per_tick = seconds_per_tick
        self.shared.ticks_per_second = 1 / seconds_per_tick
        self.shared.intercept = intercept
        self.shared.patience = patience
        self.shared.slack = slack

    def seconds(self, uint64_t ticks):
        """Return the shared seconds at a tick of this rank's clock."""
        return seconds_at(&self.shared, ticks)

    def ticks(self, double seconds):
        """Return the tick of this rank's clock at a time in shared seconds."""
        return ticks_at(&self.shared, seconds)


# Distances of ticks from the origin are whole numbers in a double for as long as a month: nothing is rounded away.

cdef inline double seconds_at(Shared *shared, uint64_t ticks) noexcept nogil:
    return <int64_t>(ticks - shared.origin) * shared.seconds_per_tick + shared.intercept


cdef inline uint64_t ticks_at(Shared *shared, double seconds) noexcept nogil:
    return shared.origin + <uint64_t><int64_t>((seconds - shared.intercept) * shared.ticks_per_second)


cdef inline int64_t ticks_until(Shared *shared, uint64_t start) noexcept nogil:
    return <int64_t>(start - ticks_stop(shared.kind))


cdef inline unsigned char missed(Shared *shared, uint64_t start) noexcept nogil:
    """Wait for a common start; return whether this rank came, or was given the processor back, too late for it."""
    cdef int64_t left = ticks_until(shared, start)
    if left < 0:
        return CAME_LATE
    if ticks_sleep(shared.kind, <uint64_t>left):
        left = ticks_until(shared, start)
    while left > shared.patience:
        sched_yield()
        left = ticks_until(shared, start)
    while left > 0:
        left = ticks_until(shared, start)
    return BEGAN_LATE if left < -shared.slack else 0


cdef inline int agree_on_start(Shared *shared, mpi.MPI_Comm comm, int rank, double lead,
                               double *start) except -1 nogil:
    if rank == ROOT:
        start[0] = seconds_at(shared, ticks_start(shared.kind)) + lead
    return CHKERR(mpi.MPI_Bcast(start, 1, mpi.MPI_DOUBLE, ROOT, comm))


cdef on_common_starts(comm, str operation, unsigned char[::1] send_buffer, unsigned char[::1] receive_buffer,
                      Py_ssize_t size, Py_ssize_t repetitions, CommonClock clock, double lead, double window, str mode,
                      uint64_t delay, bint touched):
    """Measure an operation at starts that rank 0 announces one by one, or with a window only the first."""
    cdef Call call
    cdef Shared shared = clock.shared
    cdef Py_ssize_t i
    cdef double first = 0, start = 0
    cdef int rank
    seconds, late = np.empty(repetitions, dtype=np.float64), np.empty(repetitions, dtype=np.uint8)
    cdef double[::1] out = seconds
    cdef unsigned char[::1] out_late = late
    prepare(&call, operation_number(operation), PyMPIComm_Get(comm)[0], send_buffer, receive_buffer, size)
    choose_mode(&call, mode_number(mode), delay, shared.kind)
    if touched:
        choose_touching(&call, size)
    CHKERR(mpi.MPI_Comm_rank(call.comm, &rank))
    with nogil:
        if window:
            agree_on_start(&shared, call.comm, rank, lead, &first)
        for i in range(repetitions):
            start = first + i * window
            write_lines(call.outgoing, call.written)
            if not window:
                agree_on_start(&shared, call.comm, rank, lead, &start)
            out_late[i] = missed(&shared, ticks_at(&shared, start))
            carry_out(&call)
            out[i] = seconds_at(&shared, ticks_stop(shared.kind)) - start
            read_lines(call.incoming, call.read)
            if window and out[i] > window:
                out_late[i] |= ENDED_LATE
    finish(&call)
    return seconds, late


def announced(comm, str operation not None, unsigned char[::1] send_buffer not None,
              unsigned char[::1] receive_buffer not None, Py_ssize_t size, Py_ssize_t repetitions,
              CommonClock clock not None, double lead, str mode not None="blocking", uint64_t delay=0,
              bint touched=False):
    """Carry out an operation, as in `collective`, `repetitions` times, each begun at a time that rank 0 announces.

    It announces it `lead` seconds ahead, by a broadcast. Returns in shared seconds how long after the start this rank
    was done (float64), and 0, or how it missed the start (uint8: `LATE`).
    """
    return on_common_starts(comm, operation, send_buffer, receive_buffer, size, repetitions, clock, lead, 0, mode,
                            delay, touched)


def windowed(comm, str operation not None, unsigned char[::1] send_buffer not None,
             unsigned char[::1] receive_buffer not None, Py_ssize_t size, Py_ssize_t repetitions,
             CommonClock clock not None, double lead, double window, str mode not None="blocking",
             uint64_t delay=0, bint touched=False):
    """Carry out an operation, as in `collective`, `repetitions` times, begun every `window` seconds.

    Rank 0 announces the first start `lead` seconds ahead; nothing is said after that. Returns what `announced` does;
    a rank that is not done when the next window begins has missed a start, too.
    """
    return on_common_starts(comm, operation, send_buffer, receive_buffer, size, repetitions, clock, lead, window, mode,
                            delay, touched)


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
