"""What can be known about the clocks that `ticks.h` reads. No MPI here, and no choice: see `bench/clock.py`."""

cimport cython
from libc.stdint cimport uint64_t

import numpy as np

cdef extern from "sched.h" nogil:
    int sched_getcpu()

cdef extern from "time.h" nogil:
    ctypedef int clockid_t
    clockid_t CLOCK_MONOTONIC_RAW

cdef extern from "clock/ticks.h" nogil:
    const char *TICKS_COUNTER_NAME
    int TICKS_CLOCK_GETTIME
    int TICKS_COUNTER
    int TICKS_SIMULATED
    uint64_t ticks_of(clockid_t)
    uint64_t ticks_start(int)
    uint64_t ticks_stop(int)

cdef extern from "clock/processor.h" nogil:
    unsigned cpuid_highest(unsigned)
    void cpuid_read(unsigned, unsigned *)
    unsigned long long counter_frequency_register()

CLOCK_GETTIME = TICKS_CLOCK_GETTIME
COUNTER = TICKS_COUNTER
SIMULATED = TICKS_SIMULATED
COUNTER_NAME = TICKS_COUNTER_NAME.decode()


def current_cpu():
    """Return the number of the processor that runs this thread now."""
    return sched_getcpu()


def cpuid(leaf):
    """Return the four registers of a CPUID leaf, or None where the processor has no such leaf."""
    cdef unsigned registers[4]
    cdef unsigned wanted = leaf
    cdef bint hypervisor = 0x40000000 <= wanted < 0x50000000
    if hypervisor:
        if cpuid_highest(0) < 1:
            return None
        cpuid_read(1, registers)
        if not registers[2] >> 31:  # no hypervisor
            return None
        cpuid_read(0x40000000, registers)
        if wanted > registers[0]:
            return None
    elif cpuid_highest(wanted) < wanted:
        return None
    cpuid_read(wanted, registers)
    return registers[0], registers[1], registers[2], registers[3]


def frequency_register():
    """Return the counter's frequency in Hz as aarch64's cntfrq_el0 gives it, elsewhere 0."""
    return counter_frequency_register()


cdef uint64_t _bracketed(int clock, uint64_t *reference) noexcept nogil:
    """Read the clock between two readings of CLOCK_MONOTONIC_RAW; keep the tightest of ten brackets."""
    cdef uint64_t before, after, ticks, best_ticks = 0, best_width = <uint64_t>-1
    cdef int _attempt
    for _attempt in range(10):
        before = ticks_of(CLOCK_MONOTONIC_RAW)
        ticks = ticks_start(clock)
        after = ticks_of(CLOCK_MONOTONIC_RAW)
        if after - before < best_width:
            best_width = after - before
            best_ticks = ticks
            reference[0] = before + (after - before) // 2
    return best_ticks


@cython.cdivision(True)
def calibrate(int clock, double seconds):
    """Return ticks per second, counted against CLOCK_MONOTONIC_RAW over the given time."""
    cdef uint64_t start_reference, end_reference, start, end
    with nogil:
        start = _bracketed(clock, &start_reference)
        while ticks_of(CLOCK_MONOTONIC_RAW) - start_reference < seconds * 1e9:
            pass
        end = _bracketed(clock, &end_reference)
    return (end - start) * 1e9 / (end_reference - start_reference)


def read_pairs(int clock, Py_ssize_t count):
    """Return the ticks between a start and a stop that enclose nothing, `count` times (uint64)."""
    ticks = np.empty(count, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef uint64_t begin
    cdef Py_ssize_t i
    with nogil:
        for i in range(count):
            begin = ticks_start(clock)
            out[i] = ticks_stop(clock) - begin
    return ticks


def read_ticks(int clock, Py_ssize_t count):
    """Return `count` readings of the clock in a row (uint64)."""
    ticks = np.empty(count, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef Py_ssize_t i
    with nogil:
        for i in range(count):
            out[i] = ticks_stop(clock)
    return ticks
