"""Carries out programs on flows: the Python side of engine.hpp. Main entry: `run`.

What is checked here is what would make the engine read beside an array; what a program says wrong, the engine itself
finds when it comes to it, and `run` says where.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy
from libcpp cimport bool as cpp_bool
from libcpp.vector cimport vector

import time

import numpy as np

from commmodel.errors import InputError

cdef extern from "flows/engine.hpp" namespace "commmodel" nogil:
    cdef cppclass Routing:
        int64_t hosts()

    cdef cppclass Operation:
        pass

    cdef cppclass Interval:
        pass

    cdef cppclass Transfer:
        pass

    cdef cppclass Mark:
        pass

    cdef cppclass Hanging:
        pass

    cdef cppclass Pieces:
        vector[double] limit, constant, per_byte

    cdef cppclass Protocol:
        double header, eager_limit, detached_limit
        Pieces send, isend, receive, latency_factor, bandwidth_factor
        cpp_bool leaves_after_overhead
        double window, capacity_weight, cross_traffic, send_buffer

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
        TOO_LATE

    cdef cppclass Stop:
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

    cdef cppclass Engine:
        vector[double] ends, spent, link_bytes
        vector[Mark] marks
        vector[Interval] intervals
        vector[Transfer] transfers
        vector[Hanging] hanging
        int64_t messages, events, unreceived
        Stop stop
        Engine(
            const Routing &, const Protocol &, const int32_t *, int32_t, const Operation *, const int64_t *,
            cpp_bool, Callbacks
        ) except +
        void run() except +
        int64_t solutions()

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1


cdef int64_t OPERATION_BYTES = 24


class _Refill:
    """Asks a program for more, holds what it gave as long as the engine needs it, and what it raised."""

    def __init__(self, refill, dtype, ranks, progress) -> None:
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
            raise InputError("a block of a program has not the operations of each rank")
        self.blocks[self.given] = np.ascontiguousarray(operations).reshape(-1).view(np.uint8), offsets
        self.given += 1
        return self.blocks[self.given - 1]


cdef cpp_bool _more_of_all(
    void *context, const vector[int32_t] &users, const Operation **operations, const int64_t **offsets
) noexcept with gil:
    state = <object>context
    cdef const unsigned char[::1] view
    cdef const int64_t[::1] bounds
    cdef int64_t number
    try:
        for number in list(state.blocks):
            if users[number] == 0:
                del state.blocks[number]
        block = state.more_of_all()
        if block is None:
            return True
        view, bounds = block
        operations[0] = <const Operation *>&view[0]
        offsets[0] = &bounds[0]
        return True
    except BaseException as error:
        state.raised = error
        return False


cdef cpp_bool _more(void *context, int32_t rank, const Operation **begin, int64_t *count) noexcept with gil:
    state = <object>context
    cdef const unsigned char[::1] view
    try:
        array = state.more(rank)
        if array is None:
            count[0] = 0
            return True
        view = array
        begin[0] = <const Operation *>&view[0]
        count[0] = view.shape[0] // OPERATION_BYTES
        return True
    except BaseException as error:
        state.raised = error
        return False


cdef cpp_bool _may_go_on(void *context, double now, int64_t events) noexcept with gil:
    state = <object>context
    try:
        PyErr_CheckSignals()
        if state.progress is not None:
            state.progress(now, events)
        return True
    except BaseException as error:
        state.raised = error
        return False


cdef Pieces _overheads(pieces) except *:
    cdef Pieces out
    for one in pieces:
        out.limit.push_back(one.limit)
        out.constant.push_back(one.constant)
        out.per_byte.push_back(one.per_byte)
    return out


cdef Pieces _factors(pieces) except *:
    cdef Pieces out
    for one in pieces:
        out.limit.push_back(one.limit)
        out.constant.push_back(one.value)
        out.per_byte.push_back(0.0)
    return out


cdef Protocol _protocol(network) except *:
    cdef Protocol out
    out.header = network.header
    out.eager_limit = network.eager_limit
    out.detached_limit = network.detached_limit
    out.send = _overheads(network.send)
    out.isend = _overheads(network.isend)
    out.receive = _overheads(network.receive)
    out.latency_factor = _factors(network.latency_factors)
    out.bandwidth_factor = _factors(network.bandwidth_factors)
    out.leaves_after_overhead = network.leaves_after_overhead
    out.window = network.window
    out.capacity_weight = network.capacity_weight
    out.cross_traffic = network.cross_traffic
    out.send_buffer = network.send_buffer
    return out


cdef _array(const void *data, size_t size, dtype):
    """Copy items into a new array."""
    out = np.empty(size, dtype)
    if size == 0:
        return out
    cdef unsigned char[::1] view = out.view(np.uint8)
    memcpy(&view[0], data, view.shape[0])
    return out


cdef _explain(Stop stop):
    """Return the error of a run that stopped; in one line what is wrong and where."""
    if stop.fault == TRUNCATED:
        tag = f" with tag {stop.tag}" if stop.tag >= 0 else ""
        return InputError(
            f"a message of {stop.size:.0f} bytes from rank {stop.number} to rank {stop.rank}{tag} is longer than its"
            f" receive, which takes {stop.limit:.0f}: make the receive larger"
        )
    if stop.fault == TOO_LATE:
        return InputError(
            "simulated time goes beyond 1.8e308 s, more than a number holds: take shorter times, or faster links"
        )
    what = {
        <int>UNKNOWN_CODE: f"unknown code {stop.number}",
        <int>BAD_PEER: f"there is no rank {stop.number}",
        <int>BAD_TAG: f"a message cannot have tag {stop.number}",
        <int>BAD_VALUE: f"the value {stop.size:g} is not possible here",
        <int>BAD_REQUEST: f"a request cannot be named {stop.number} here",
        <int>REQUEST_IN_USE: f"request {stop.number} is in use: wait for it first",
        <int>REQUEST_UNKNOWN: f"no request was ever named {stop.number}",
    }.get(<int>stop.fault)
    if what is None:
        return RuntimeError("simulated time does not go on: a fault of the engine, please report it")
    return InputError(f"rank {stop.rank}, operation {stop.operation}: {what}")


def run(routing, hosts, operations, offsets, refill, network, record, layouts, progress=None):
    """Carry a program out.

    Parameters
    ----------
    routing : commmodel._core.routing.routes.Routing
    hosts : int32 array, shape (processes,)
        Rank -> host.
    operations, offsets, refill
        Of `commmodel.simulate.operations.Program`.
    network : commmodel.simulate.network.Network
    record : bool
        Whether intervals and transfers are kept.
    layouts : dict
        Names OPERATION, INTERVAL, MESSAGE and MARK -> dtype.
    progress : callable, optional
        (seconds simulated, events), called from time to time.

    Returns
    -------
    dict
        ends, spent, link_bytes, marks, intervals, transfers, messages, events, solutions, unreceived, wall_seconds, and
        hanging: array of rank, call, awaits_receive, peer, tag, size.

    Raises
    ------
    InputError
        If a program does what cannot be done; the message names rank and operation.
    """
    capsule = routing.capsule
    cdef const Routing *routes = <const Routing *>PyCapsule_GetPointer(capsule, "commmodel.routing")
    cdef const int32_t[::1] places = np.ascontiguousarray(hosts, np.int32)
    cdef const int64_t[::1] bounds = np.ascontiguousarray(offsets, np.int64)
    cdef int64_t ranks = bounds.shape[0] - 1, rank
    if operations.dtype != layouts["OPERATION"] or operations.dtype.itemsize != OPERATION_BYTES:
        raise InputError(f"operations of type {operations.dtype}: they must be of type OPERATION")
    if not 0 < ranks < 2**31 - 1:
        raise InputError(f"{ranks} ranks: there must be at least one, and fewer than 2^31")
    if places.shape[0] != ranks:
        raise InputError(f"{places.shape[0]} places for {ranks} ranks")
    for rank in range(ranks):
        if not 0 <= places[rank] < dereference(routes).hosts():
            raise InputError(f"rank {rank} is on host {places[rank]}: there are {dereference(routes).hosts()} hosts")
        if bounds[rank] > bounds[rank + 1]:
            raise InputError("offsets of a program must rise")
    if bounds[0] != 0 or bounds[ranks] != operations.size:
        raise InputError("offsets of a program must rise from 0 to the number of its operations")
    flat = np.ascontiguousarray(operations).reshape(-1).view(np.uint8)
    cdef const unsigned char[::1] view = flat
    cdef const Operation *first = NULL
    if view.shape[0]:
        first = <const Operation *>&view[0]
    state = _Refill(refill, layouts["OPERATION"], ranks, progress)
    cdef Callbacks callbacks
    callbacks.context = <void *>state
    callbacks.may_go_on = _may_go_on
    if refill is not None:
        callbacks.refill = _more
        if state.next_block is not None:
            callbacks.refill_all = _more_of_all
    cdef Protocol protocol = _protocol(network)
    cdef Engine *engine = NULL
    begin = time.perf_counter()
    engine = new Engine(
        dereference(routes), protocol, &places[0], <int32_t>ranks, first, &bounds[0], bool(record), callbacks
    )
    try:
        with nogil:
            engine.run()
        wall_seconds = time.perf_counter() - begin
        if engine.stop.fault == INTERRUPTED:
            raise state.raised
        if engine.stop.fault != NO_FAULT:
            raise _explain(engine.stop)
        hanging = np.dtype(
            [(name, np.int32) for name in ("rank", "call", "awaits_receive", "peer", "tag")] + [("size", np.float64)]
        )
        return {
            "ends": _array(engine.ends.data(), engine.ends.size(), np.float64),
            "spent": _array(engine.spent.data(), engine.spent.size(), np.float64).reshape(ranks, -1),
            "link_bytes": _array(engine.link_bytes.data(), engine.link_bytes.size(), np.float64),
            "marks": _array(engine.marks.data(), engine.marks.size(), layouts["MARK"]),
            "intervals": _array(engine.intervals.data(), engine.intervals.size(), layouts["INTERVAL"]),
            "transfers": _array(engine.transfers.data(), engine.transfers.size(), layouts["MESSAGE"]),
            "hanging": _array(engine.hanging.data(), engine.hanging.size(), hanging),
            "messages": engine.messages,
            "events": engine.events,
            "solutions": engine.solutions(),
            "unreceived": engine.unreceived,
            "wall_seconds": wall_seconds,
        }
    finally:
        del engine
