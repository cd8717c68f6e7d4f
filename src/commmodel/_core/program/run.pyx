"""What the engines share with Python: a program's rows, callbacks, and the record of a run (run.hpp).

An engine's function checks a program (`checked_offsets`), prepares a run (`prepare`), lets the engine carry it out
without the interpreter's lock, and returns the record (`finish`), which `commmodel.simulate.result` reads. What would
make an engine read beside an array is checked here; what a program does wrong the engine itself finds when it comes to
it, and `finish` says where.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy
from libcpp cimport bool as cpp_bool
from libcpp.vector cimport vector

import numpy as np

from commmodel.errors import InputError

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef extern from "common/constants.hpp" namespace "commmodel" nogil:
    const int32_t LARGEST_INDEX

cdef int64_t OPERATION_BYTES = sizeof(Operation)
HANGING = np.dtype(
    [(name, np.int32) for name in ("rank", "call", "awaits_receive", "peer", "tag", "line")] + [("size", np.float64)]
)


class AsymmetryError(Exception):
    """Ranks do not do what those do that were to stand for them."""


class _Caller:
    """Asks a program for more, holds what it gave as long as the engine needs it, and what it raised."""

    def __init__(self, refill, dtype, ranks, progress):
        self.refill = refill
        self.progress = progress
        self.next_block = getattr(refill, "next_block", None)
        self.dtype = dtype
        self.ranks = ranks
        self.held = {}
        self.blocks = {}
        self.given = 0
        self.raised = None

    def more(self, rank):
        """Return the next operations of a rank, as bytes."""
        self.held.pop(rank, None)
        operations = self.refill(rank)
        if getattr(operations, "dtype", None) != self.dtype:
            raise InputError(f"refill of rank {rank} gave {type(operations).__name__}: expected an array of OPERATION")
        if operations.size == 0:
            return None
        # A copy, in case that the caller uses its array again.
        self.held[rank] = np.array(operations, order="C", ndmin=1).reshape(-1).view(np.uint8)
        return self.held[rank]

    def more_of_all(self):
        """Return the next operations of all ranks, as bytes, and where each rank's begin; None where that cannot be.

        A block without operations gets no number, as the engine, which counts them too, never hears of it.
        """
        block = self.next_block()
        while block is not None and not block[0].size:
            block = self.next_block()
        if block is None:
            return None
        operations, offsets = block
        offsets = np.ascontiguousarray(offsets, np.int64)
        if operations.dtype != self.dtype or offsets.size != self.ranks + 1 or offsets[self.ranks] != operations.size:
            raise InputError("a block of a program must hold the operations of every rank")
        self.blocks[self.given] = np.ascontiguousarray(operations).reshape(-1).view(np.uint8), offsets
        self.given += 1
        return self.blocks[self.given - 1]


cdef cpp_bool _more_of_all(
    void *context, const vector[int32_t] &users, const Operation **operations, const int64_t **offsets
) noexcept with gil:
    caller = <object>context
    cdef const unsigned char[::1] view
    cdef const int64_t[::1] bounds
    cdef int64_t number
    try:
        for number in list(caller.blocks):
            if users[number] == 0:
                del caller.blocks[number]
        block = caller.more_of_all()
        if block is None:
            return True
        view, bounds = block
        operations[0] = <const Operation *>&view[0]
        offsets[0] = &bounds[0]
        return True
    except BaseException as error:
        caller.raised = error
        return False


cdef cpp_bool _more(void *context, int32_t rank, const Operation **begin, int64_t *count) noexcept with gil:
    caller = <object>context
    cdef const unsigned char[::1] view
    try:
        array = caller.more(rank)
        if array is None:
            count[0] = 0
            return True
        view = array
        begin[0] = <const Operation *>&view[0]
        count[0] = view.shape[0] // OPERATION_BYTES
        return True
    except BaseException as error:
        caller.raised = error
        return False


cdef cpp_bool _may_go_on(void *context, double now, int64_t events) noexcept with gil:
    caller = <object>context
    try:
        PyErr_CheckSignals()
        if caller.progress is not None:
            caller.progress(now, events)
        return True
    except BaseException as error:
        caller.raised = error
        return False


cdef object array_of(const void *first, size_t size):
    """Copy bytes into a new array."""
    out = np.empty(size, np.uint8)
    cdef unsigned char[::1] view = out
    if size:
        memcpy(&view[0], first, size)
    return out


cdef const unsigned char[::1] bytes_of(rows):
    """Return a view of an array's bytes."""
    return np.ascontiguousarray(rows).reshape(-1).view(np.uint8)


cdef const void *first_of(const unsigned char[::1] view) noexcept:
    return &view[0] if view.shape[0] else NULL


cdef const int64_t[::1] checked_offsets(operations, offsets):
    """Return where each rank's operations begin and end; raise where that is not within the operations."""
    cdef const int64_t[::1] bounds = np.ascontiguousarray(offsets, np.int64)
    cdef int64_t ranks = bounds.shape[0] - 1, rank
    if operations.dtype.itemsize != OPERATION_BYTES:
        raise InputError(f"operations of type {operations.dtype}: they must be of type OPERATION")
    if not 0 < ranks < LARGEST_INDEX:
        raise InputError(f"{ranks} ranks: there must be at least one, and fewer than 2^31")
    for rank in range(ranks):
        if bounds[rank] > bounds[rank + 1]:
            raise InputError("offsets of a program must rise")
    if bounds[0] != 0 or bounds[ranks] != operations.size:
        raise InputError("offsets of a program must rise from 0 to the number of its operations")
    return bounds


cdef object prepare(Run *run, record, ranks=0, refill=None, dtype=None, progress=None):
    """Set a run's callbacks; return the object that they need, to be kept until `finish`."""
    caller = _Caller(refill, dtype, ranks, progress)
    run.records = bool(record)
    run.callbacks.context = <void *>caller
    run.callbacks.may_go_on = _may_go_on
    capsule = getattr(refill, "live", None)
    if capsule is not None:
        run.live = <Live *>PyCapsule_GetPointer(capsule, "commmodel.live")
    elif refill is not None:
        run.callbacks.refill = _more
        if caller.next_block is not None:
            run.callbacks.refill_all = _more_of_all
    return caller


cdef object finish(Run *run, caller):
    """Return the record of a run as arrays, rows as bytes; raise where it stopped before its end."""
    if run.stop.fault == INTERRUPTED:
        raise caller.raised or caller.refill.raised
    if run.stop.fault != NO_FAULT:
        raise _explain(run.stop, getattr(caller.refill, "words_of_call", lambda rank: ""))
    return {
        "ends": array_of(run.ends.data(), run.ends.size() * sizeof(double)).view(np.float64),
        "slopes": array_of(run.slopes.data(), run.slopes.size() * sizeof(double)).view(np.float64),
        "spent": array_of(run.spent.data(), run.spent.size() * sizeof(double)).view(np.float64),
        "link_bytes": array_of(run.link_bytes.data(), run.link_bytes.size() * sizeof(double)).view(np.float64),
        "link_work": array_of(run.link_work.data(), run.link_work.size() * sizeof(double)).view(np.float64),
        "marks": array_of(run.marks.data(), run.marks.size() * sizeof(Mark)),
        "intervals": array_of(run.intervals.data(), run.intervals.size() * sizeof(Interval)),
        "transfers": array_of(run.transfers.data(), run.transfers.size() * sizeof(Transfer)),
        "hanging": array_of(run.hanging.data(), run.hanging.size() * sizeof(Hanging)).view(HANGING),
        "messages": run.messages,
        "events": run.events,
        "solver_calls": run.solver_calls,
        "unmatched_messages": run.unmatched_messages,
    }


cdef object _explain(Stop stop, words_of_call):
    """Return the error of a run that stopped; in one line what is wrong and where: the call that a rank is in, too."""
    if stop.fault == TRUNCATED:
        tag = f" with tag {stop.tag}" if stop.tag >= 0 else ""
        return InputError(
            f"a message of {stop.size:.0f} bytes from rank {stop.number} to rank {stop.rank}{tag} is longer than its"
            f" receive, which takes {stop.limit:.0f}: make the receive larger{words_of_call(stop.rank)}"
        )
    if stop.fault == ASYMMETRIC:
        return AsymmetryError("ranks that stand for others do not")
    if stop.fault == TOO_LATE:
        return InputError(
            "simulated time exceeds 1.8e308 s: use shorter times or faster links"
        )
    problem = {
        <int>UNKNOWN_CODE: f"unknown code {stop.number}",
        <int>BAD_PEER: f"there is no rank {stop.number}",
        <int>BAD_TAG: f"a message cannot have tag {stop.number}",
        <int>BAD_VALUE: f"the value {stop.size:g} is not possible here",
        <int>BAD_REQUEST: f"a request cannot be named {stop.number} here",
        <int>REQUEST_IN_USE: f"request {stop.number} is in use: wait for it first",
        <int>REQUEST_UNKNOWN: f"no request was ever named {stop.number}",
    }.get(<int>stop.fault)
    if problem is None:
        return RuntimeError("simulated time does not advance: an error of the engine, please report it")
    return InputError(f"rank {stop.rank}, operation {stop.operation}: {problem}")
