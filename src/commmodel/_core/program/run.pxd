# What the engines share with Python: a program's rows, callbacks, and the record of a run.

from libc.stdint cimport int32_t, int64_t
from libcpp cimport bool as cpp_bool
from libcpp.vector cimport vector

cdef extern from "program/run.hpp" namespace "commmodel" nogil:
    cdef struct Operation:
        pass

    cdef struct Interval:
        pass

    cdef struct Transfer:
        pass

    cdef struct Mark:
        pass

    cdef struct Hanging:
        pass

    cdef enum Fault:
        NO_FAULT
        UNKNOWN_CODE
        BAD_PEER
        BAD_TAG
        BAD_VALUE
        BAD_REQUEST
        REQUEST_IN_USE
        REQUEST_UNKNOWN
        TRUNCATED
        INTERRUPTED
        STUCK
        ASYMMETRIC
        TOO_LATE

    cdef struct Stop:
        Fault fault
        int32_t rank, tag
        int64_t operation, number
        double size, limit

    cdef cppclass Callbacks:
        void *context
        cpp_bool (*refill)(void *, int32_t, const Operation **, int64_t *) noexcept nogil
        cpp_bool (*refill_all)(
            void *, const vector[int32_t] &, const Operation **, const int64_t **
        ) noexcept nogil
        cpp_bool (*may_go_on)(void *, double, int64_t) noexcept nogil

    cdef cppclass Live:
        pass

    cdef cppclass Run:
        Callbacks callbacks
        Live *live
        cpp_bool records
        int64_t most_steps
        vector[double] ends, slopes, spent, link_bytes, link_work
        vector[Interval] intervals
        vector[Transfer] transfers
        vector[Mark] marks
        vector[Hanging] hanging
        int64_t messages, events, solver_calls, unmatched_messages
        Stop stop


cdef object array_of(const void *first, size_t size)
cdef const unsigned char[::1] bytes_of(rows)
cdef const void *first_of(const unsigned char[::1] view) noexcept
cdef const int64_t[::1] checked_offsets(operations, offsets)
cdef object prepare(Run *run, record, ranks=*, refill=*, dtype=*, progress=*)
cdef object finish(Run *run, caller)
