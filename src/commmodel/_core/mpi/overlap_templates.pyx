"""Communication and computation of one problem in the templates of Figure 6 (Iancu 2007). Main entry: `two_sided`.

Which messages there are, in which order and in which bursts, is the caller's affair: a step is a row (rank, offset,
length) of an int64 array, and the bursts of n steps are given by their bounds, like 0, 4, 8, ..., n. A burst may be
empty. Every rank of the communicator calls the same function and gets the ticks of its own part of each repetition
(uint64), divided by the iterations. Each repetition begins after a barrier; nothing is allocated in it.

The computation of a piece is b[i] = a[i] + s on float64, from the message buffer to `result`, at the same offset, as
many times as there are passes, each with another s. All passes over some numbers come before those over the next ones,
so that a number costs the same in a large message as in a small one, which would stay in a cache.
"""

from libc.limits cimport INT_MAX
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport (
    TAG_MESSAGE, new_requests, ticks_start, ticks_stop, wait, wait_all, write_lines,
)
from commmodel._core.mpi.mpi_calls cimport (
    CHKERR, COMMMODEL_MPI_ABI, PyMPIComm_Get, PyMPIWin_Get, check_same_library, import_mpi4py,
)

import numpy as np

import_mpi4py()
check_same_library()

MPI_ABI = COMMMODEL_MPI_ABI.decode()

cdef extern from *:
    """
    /* Not inlined, and all memory may have changed after it: else the compiler would see that the next pass overwrites
       what this one wrote, and leave it out. */
    __attribute__((noinline)) static void add_scalar(double *restrict sums, const double *restrict values,
                                                     Py_ssize_t count, double scalar)
    {
        for (Py_ssize_t i = 0; i < count; ++i)
            sums[i] = values[i] + scalar;
        __asm__ __volatile__("" ::: "memory");
    }
    """
    void add_scalar(double *, const double *, Py_ssize_t, double) noexcept nogil

cdef enum Template:
    COMMUNICATION
    TIGHT
    LOOSE
    PIPELINED

cdef enum Operation:
    TWO_SIDED
    GET
    PUT

cdef enum:
    FLOAT_BYTES = 8
    AT_ONCE = 128  # numbers; two kinds of 1 KiB are in the nearest cache, and a call costs little beside them
    UNDER_WAY = 2  # bursts, at most: the pipelined template begins one before it completes the other

TEMPLATES = {
    "blocking": COMMUNICATION, "communication": COMMUNICATION, "tight": TIGHT, "loose": LOOSE, "pipelined": PIPELINED,
}
"""Blocking is a matter of the bursts: with one message each, nothing is under way beside it."""


cdef struct Step:
    int rank
    int length
    Py_ssize_t offset


cdef struct Part:
    # The messages in one direction. Request i of burst j is at requests[j % UNDER_WAY * longest + i].
    char *memory
    Step *steps
    Py_ssize_t *bounds
    mpi.MPI_Request *requests
    Py_ssize_t longest


cdef struct Problem:
    Operation operation
    Template template
    Part own  # what this rank computes on: it receives, gets or puts it
    Part served  # what it sends to others; nothing with one-sided operations
    Py_ssize_t bursts
    Py_ssize_t passes
    char *result
    mpi.MPI_Comm comm
    mpi.MPI_Win window


cdef int check_steps(int64_t[:, ::1] steps, Py_ssize_t room, Py_ssize_t result_room) except -1:
    """Refuse steps outside the buffer; where they are computed on, also those that are no place for float64."""
    cdef Py_ssize_t i
    cdef int64_t offset, length, ceiling
    if steps.shape[1] != 3:
        raise ValueError(f"a step has 3 numbers, rank, offset and length, not {steps.shape[1]}")
    for i in range(steps.shape[0]):
        offset, length = steps[i, 1], steps[i, 2]
        if not 0 <= length <= INT_MAX or not 0 <= offset <= room - length:
            raise ValueError(f"step {i}: {length} bytes at {offset} do not fit a buffer of {room} bytes")
        if result_room < 0:
            continue
        ceiling = (length + FLOAT_BYTES - 1) // FLOAT_BYTES * FLOAT_BYTES
        if offset % FLOAT_BYTES or offset + ceiling > min(room, result_room):
            raise ValueError(f"step {i}: {length} bytes at {offset} are no float64 within buffers of {room} and "
                             f"{result_room} bytes")
    return 0


cdef int check_bounds(int64_t[::1] bounds, Py_ssize_t steps) except -1:
    cdef Py_ssize_t i
    if bounds.shape[0] < 1 or bounds[0] != 0 or bounds[bounds.shape[0] - 1] != steps:
        raise ValueError(f"bursts of {steps} steps need bounds from 0 to {steps}")
    for i in range(1, bounds.shape[0]):
        if bounds[i] < bounds[i - 1]:
            raise ValueError(f"burst {i - 1} ends at {bounds[i]}, before it begins at {bounds[i - 1]}")
    return 0


cdef int describe_part(Part *part, unsigned char[::1] buffer, int64_t[:, ::1] steps, int64_t[::1] bounds) except -1:
    """Copy steps and bounds, and make room for requests; `release_part` frees all of it."""
    cdef Py_ssize_t i
    part.memory = <char *>&buffer[0] if buffer.shape[0] else NULL
    part.longest = 1
    part.steps = <Step *>malloc((steps.shape[0] + 1) * sizeof(Step))
    part.bounds = <Py_ssize_t *>malloc(bounds.shape[0] * sizeof(Py_ssize_t))
    if part.steps == NULL or part.bounds == NULL:
        raise MemoryError(f"no memory for {steps.shape[0]} steps")
    for i in range(steps.shape[0]):
        part.steps[i] = Step(rank=<int>steps[i, 0], length=<int>steps[i, 2], offset=steps[i, 1])
    for i in range(bounds.shape[0]):
        part.bounds[i] = bounds[i]
        if i:
            part.longest = max(part.longest, bounds[i] - bounds[i - 1])
    part.requests = new_requests(UNDER_WAY * <int>part.longest)
    return 0


cdef void release_part(Part *part) noexcept:
    free(part.steps)
    free(part.bounds)
    free(part.requests)


cdef inline Py_ssize_t length_of(Part *part, Py_ssize_t burst) noexcept nogil:
    return part.bounds[burst + 1] - part.bounds[burst]


cdef inline Step *steps_of(Part *part, Py_ssize_t burst) noexcept nogil:
    return part.steps + part.bounds[burst]


cdef inline mpi.MPI_Request *requests_of(Part *part, Py_ssize_t burst) noexcept nogil:
    return part.requests + burst % UNDER_WAY * part.longest


cdef inline int begin_own(Problem *p, Step *step, mpi.MPI_Request *request) except -1 nogil:
    cdef char *place = p.own.memory + step.offset
    if p.operation == TWO_SIDED:
        return CHKERR(mpi.MPI_Irecv(place, step.length, mpi.MPI_BYTE, step.rank, TAG_MESSAGE, p.comm, request))
    if p.operation == GET:
        return CHKERR(mpi.MPI_Rget(place, step.length, mpi.MPI_BYTE, step.rank, step.offset, step.length,
                                   mpi.MPI_BYTE, p.window, request))
    return CHKERR(mpi.MPI_Rput(place, step.length, mpi.MPI_BYTE, step.rank, step.offset, step.length, mpi.MPI_BYTE,
                               p.window, request))


cdef inline int begin(Problem *p, Py_ssize_t burst) except -1 nogil:
    """Initiate a burst: each receive is followed by the send of the same number."""
    cdef Py_ssize_t i, own = length_of(&p.own, burst), served = length_of(&p.served, burst)
    cdef Step *step
    for i in range(max(own, served)):
        if i < own:
            begin_own(p, steps_of(&p.own, burst) + i, requests_of(&p.own, burst) + i)
        if i < served:
            step = steps_of(&p.served, burst) + i
            CHKERR(mpi.MPI_Isend(p.served.memory + step.offset, step.length, mpi.MPI_BYTE, step.rank, TAG_MESSAGE,
                                 p.comm, requests_of(&p.served, burst) + i))
    return 0


cdef inline int complete_sends(Problem *p, Py_ssize_t burst) except -1 nogil:
    if length_of(&p.served, burst):
        wait_all(<int>length_of(&p.served, burst), requests_of(&p.served, burst))
    return 0


cdef inline void compute(Problem *p, Step *step) noexcept nogil:
    cdef Py_ssize_t i, block, first, count = (<Py_ssize_t>step.length + FLOAT_BYTES - 1) // FLOAT_BYTES
    cdef double *sums = <double *>(p.result + step.offset)
    cdef double *values = <double *>(p.own.memory + step.offset)
    for block in range((count + AT_ONCE - 1) // AT_ONCE):
        first = block * AT_ONCE
        for i in range(p.passes):
            add_scalar(sums + first, values + first, min(<Py_ssize_t>AT_ONCE, count - first), 1.0 + i)


cdef inline void compute_burst(Problem *p, Py_ssize_t burst) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(length_of(&p.own, burst)):
        compute(p, steps_of(&p.own, burst) + i)


cdef inline int complete_one_by_one(Problem *p, Py_ssize_t burst) except -1 nogil:
    """Compute on each message of a burst as soon as it is there."""
    cdef Py_ssize_t i
    for i in range(length_of(&p.own, burst)):
        wait(requests_of(&p.own, burst) + i)
        compute(p, steps_of(&p.own, burst) + i)
    return complete_sends(p, burst)


cdef inline int complete_all(Problem *p, Py_ssize_t burst) except -1 nogil:
    cdef Py_ssize_t i
    for i in range(length_of(&p.own, burst)):
        wait(requests_of(&p.own, burst) + i)
    return complete_sends(p, burst)


cdef int solve(Problem *p) except -1 nogil:
    cdef Py_ssize_t burst
    if p.template == PIPELINED and p.bursts:
        begin(p, 0)
    for burst in range(p.bursts):
        if p.template == PIPELINED:
            if burst + 1 < p.bursts:
                begin(p, burst + 1)
            complete_one_by_one(p, burst)
        elif p.template == TIGHT:
            begin(p, burst)
            complete_one_by_one(p, burst)
        elif p.template == LOOSE:
            begin(p, burst)
            if burst:
                compute_burst(p, burst - 1)
            complete_all(p, burst)
        else:
            begin(p, burst)
            complete_all(p, burst)
            compute_burst(p, burst)
    if p.template == LOOSE and p.bursts:
        compute_burst(p, p.bursts - 1)
    if p.operation == PUT:
        CHKERR(mpi.MPI_Win_flush_all(p.window))
    return 0


cdef int repeat(Problem *p, uint64_t[::1] ticks, Py_ssize_t iterations, int clock, Py_ssize_t written) except -1 nogil:
    cdef Py_ssize_t i, _iteration
    cdef uint64_t begun
    for i in range(ticks.shape[0]):
        write_lines(p.served.memory, written)
        CHKERR(mpi.MPI_Barrier(p.comm))
        begun = ticks_start(clock)
        for _iteration in range(iterations):
            solve(p)
        ticks[i] = (ticks_stop(clock) - begun) // <uint64_t>iterations
    # Who is done first must still serve one-sided operations of the others, which a barrier does.
    return CHKERR(mpi.MPI_Barrier(p.comm))


cdef check_counts(str template, Py_ssize_t passes, Py_ssize_t iterations):
    if template not in TEMPLATES:
        raise ValueError(f"unknown template {template!r}: one of {', '.join(TEMPLATES)}")
    if passes < 0 or iterations < 1:
        raise ValueError(f"{passes} passes and {iterations} iterations: at least 0 and 1")


def two_sided(comm, str template not None, int64_t[:, ::1] receives not None, int64_t[::1] receive_bounds not None,
              int64_t[:, ::1] sends not None, int64_t[::1] send_bounds not None,
              unsigned char[::1] send_buffer not None, unsigned char[::1] receive_buffer not None,
              unsigned char[::1] result not None, Py_ssize_t passes, Py_ssize_t iterations, Py_ssize_t repetitions,
              int clock, bint touched=False):
    """Return the ticks of `repetitions` problems whose messages are sent by MPI_Isend and received by MPI_Irecv.

    A rank may receive more than it sends, or only one of both, but in as many bursts; a message must be sent in the
    burst, counted from 0, in which it is received, or in an earlier one. `result` begins at a multiple of 8 bytes, as
    does `receive_buffer`. Touched: each rank writes what it sends before the barrier that begins a repetition.
    """
    cdef Problem p
    cdef Py_ssize_t i, written = 0
    check_counts(template, passes, iterations)
    check_steps(receives, receive_buffer.shape[0], result.shape[0])
    check_steps(sends, send_buffer.shape[0], -1)
    check_bounds(receive_bounds, receives.shape[0])
    check_bounds(send_bounds, sends.shape[0])
    if receive_bounds.shape[0] != send_bounds.shape[0]:
        raise ValueError(f"{receive_bounds.shape[0] - 1} bursts of receives and {send_bounds.shape[0] - 1} of sends: "
                         "the numbers must be equal")
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    p.operation, p.template = TWO_SIDED, TEMPLATES[template]
    p.comm = PyMPIComm_Get(comm)[0]
    p.result = <char *>&result[0]
    p.bursts, p.passes = receive_bounds.shape[0] - 1, passes
    p.own = p.served = Part(memory=NULL, steps=NULL, bounds=NULL, requests=NULL, longest=0)
    try:
        describe_part(&p.own, receive_buffer, receives, receive_bounds)
        describe_part(&p.served, send_buffer, sends, send_bounds)
        if touched:
            for i in range(sends.shape[0]):
                written = max(written, sends[i, 1] + sends[i, 2])
        with nogil:
            repeat(&p, out, iterations, clock, written)
    finally:
        release_part(&p.own)
        release_part(&p.served)
    return ticks


cdef one_sided(Operation operation, comm, window, str template, int64_t[:, ::1] steps, int64_t[::1] bounds,
               unsigned char[::1] buffer, unsigned char[::1] result, Py_ssize_t passes, Py_ssize_t iterations,
               Py_ssize_t repetitions, int clock):
    cdef Problem p
    check_counts(template, passes, iterations)
    check_steps(steps, buffer.shape[0], result.shape[0])
    check_bounds(bounds, steps.shape[0])
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    nothing = np.zeros((0, 3), dtype=np.int64), np.zeros(bounds.shape[0], dtype=np.int64)
    p.operation, p.template = operation, TEMPLATES[template]
    p.comm, p.window = PyMPIComm_Get(comm)[0], PyMPIWin_Get(window)[0]
    p.result = <char *>&result[0]
    p.bursts, p.passes = bounds.shape[0] - 1, passes
    p.own = p.served = Part(memory=NULL, steps=NULL, bounds=NULL, requests=NULL, longest=0)
    try:
        describe_part(&p.own, buffer, steps, bounds)
        describe_part(&p.served, buffer, nothing[0], nothing[1])
        with nogil:
            repeat(&p, out, iterations, clock, 0)
    finally:
        release_part(&p.own)
        release_part(&p.served)
    return ticks


def get(comm, window, str template not None, int64_t[:, ::1] steps not None, int64_t[::1] bounds not None,
        unsigned char[::1] receive_buffer not None, unsigned char[::1] result not None, Py_ssize_t passes,
        Py_ssize_t iterations, Py_ssize_t repetitions, int clock):
    """Return the ticks of `repetitions` problems whose messages are fetched by MPI_Rget from the others' windows.

    A step's offset is that in the other's window, in bytes, and in `receive_buffer`. All windows are locked by
    MPI_Win_lock_all. A rank without steps waits in a barrier.
    """
    return one_sided(GET, comm, window, template, steps, bounds, receive_buffer, result, passes, iterations,
                     repetitions, clock)


def put(comm, window, str template not None, int64_t[:, ::1] steps not None, int64_t[::1] bounds not None,
        unsigned char[::1] send_buffer not None, unsigned char[::1] result not None, Py_ssize_t passes,
        Py_ssize_t iterations, Py_ssize_t repetitions, int clock):
    """Return the ticks of `repetitions` problems whose messages are brought by MPI_Rput into the others' windows.

    All is as in `get`, but each rank computes on what it sends, as it does not know when something has arrived. The
    problem ends with MPI_Win_flush_all.
    """
    return one_sided(PUT, comm, window, template, steps, bounds, send_buffer, result, passes, iterations,
                     repetitions, clock)


def computations(comm, int64_t[:, ::1] steps not None, unsigned char[::1] buffer not None,
                 unsigned char[::1] result not None, Py_ssize_t passes, Py_ssize_t repetitions, int clock):
    """Return the ticks of the computation alone on all steps, in each of `repetitions`, which begin after a barrier."""
    cdef Problem p
    cdef Py_ssize_t i
    cdef uint64_t begun
    check_counts("tight", passes, 1)
    check_steps(steps, buffer.shape[0], result.shape[0])
    bounds = np.array([0, steps.shape[0]], dtype=np.int64)
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    p.comm = PyMPIComm_Get(comm)[0]
    p.result = <char *>&result[0]
    p.passes = passes
    p.own = Part(memory=NULL, steps=NULL, bounds=NULL, requests=NULL, longest=0)
    try:
        describe_part(&p.own, buffer, steps, bounds)
        with nogil:
            for i in range(repetitions):
                CHKERR(mpi.MPI_Barrier(p.comm))
                begun = ticks_start(clock)
                compute_burst(&p, 0)
                out[i] = ticks_stop(clock) - begun
    finally:
        release_part(&p.own)
    return ticks
