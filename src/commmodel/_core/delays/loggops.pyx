"""The engine of the delay models: programs under LogP, LogGP and LogGPS, GOAL schedules under LogGOPS. No MPI here.

The rules stand in `delaystream.hpp` (programs) and `delaygraph.hpp` (schedules), which share the order of time
(`delayqueue.hpp`) and matching (`delaymatching.hpp`, on `matchingtable.hpp`, which the engine of flows uses, too);
`goalparser.hpp` reads GOAL. Main entries: `run_program`, `run_graph`, `parse_goal`;
`commmodel.simulate.delays` and `.goal` give them names and check what they are given.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy
from libcpp cimport bool as truth
from libcpp.string cimport string
from libcpp.vector cimport vector

import numpy as np


cdef extern from "program/program.hpp" namespace "commmodel" nogil:
    cdef struct Operation:
        pass
    cdef struct Interval:
        pass
    cdef struct Transfer:
        pass
    cdef struct Mark:
        pass


cdef extern from "delays/record.hpp" namespace "commmodel::delays" nogil:
    cdef struct Blocked:
        int32_t rank
        string call
        truth sends
        int32_t peer
        int32_t tag
        double size
    cdef cppclass Record:
        truth wanted
        vector[double] ends
        vector[double] spent
        vector[Interval] intervals
        vector[Transfer] transfers
        vector[Mark] marks
        vector[Blocked] blocked
        int64_t messages
        int64_t events
        int64_t unreceived
        string failure


cdef extern from "delays/stream.hpp" namespace "commmodel::delays" nogil:
    cdef struct StreamParameters:
        double L, o, O_s, O_r, g, G, G_small, small, S
        truth cards
    ctypedef truth (*Refill)(void *, int32_t, const Operation **, const Operation **) noexcept
    cdef cppclass Stream:
        Stream(
            int32_t, const Operation *, const int64_t *, Refill, void *, const StreamParameters &, Record &
        ) except +
        void run() except +


cdef extern from "delays/goal_parser.hpp" namespace "commmodel::delays" nogil:
    cdef struct GoalOperation:
        pass
    cdef struct GoalDependency:
        pass
    cdef struct GoalFailure:
        uint64_t line
        string message
    cdef cppclass GoalParser:
        GoalParser() except +
        truth feed(const char *, size_t) except +
        truth finish() except +
        vector[GoalOperation] operations
        vector[GoalDependency] dependencies
        vector[int64_t] begins
        vector[int64_t] ends
        GoalFailure failure


cdef extern from "delays/graph.hpp" namespace "commmodel::delays" nogil:
    cdef struct GraphParameters:
        double L, o, g, G, O_s, O_r, S
        truth newer
    cdef cppclass Graph:
        Graph(
            int32_t, const int64_t *, const GoalOperation *, int64_t, const GoalDependency *, int64_t,
            const GraphParameters &, Record &,
        ) except +
        void run() except +


cdef _copied(const void *first, size_t size):
    """Return bytes as an array of its own."""
    array = np.empty(size, np.uint8)
    cdef unsigned char[::1] out = array
    if size:
        memcpy(&out[0], first, size)
    return array


cdef const unsigned char[::1] _bytes(rows):
    return np.ascontiguousarray(rows).view(np.uint8)


cdef const int64_t[::1] _bounds(offsets):
    return np.ascontiguousarray(offsets, np.int64)


cdef const void *_first(const unsigned char[::1] rows) noexcept:
    return &rows[0] if rows.shape[0] else NULL


cdef int32_t _ranks(const int64_t[::1] bounds) noexcept:
    return <int32_t>(bounds.shape[0] - 1)


cdef _said(Record *record):
    """Return what a run said, its rows as bytes; raise `ValueError` where it failed."""
    cdef size_t i
    if not record.failure.empty():
        raise ValueError(record.failure.decode("utf-8", "replace"))
    blocked = []
    for i in range(record.blocked.size()):
        blocked.append(
            (
                record.blocked[i].rank, record.blocked[i].call.decode(), bool(record.blocked[i].sends),
                record.blocked[i].peer, record.blocked[i].tag, record.blocked[i].size,
            )
        )
    return {
        "ends": _copied(record.ends.data(), record.ends.size() * sizeof(double)).view(np.float64),
        "spent": _copied(record.spent.data(), record.spent.size() * sizeof(double)).view(np.float64),
        "intervals": _copied(record.intervals.data(), record.intervals.size() * sizeof(Interval)),
        "transfers": _copied(record.transfers.data(), record.transfers.size() * sizeof(Transfer)),
        "marks": _copied(record.marks.data(), record.marks.size() * sizeof(Mark)),
        "blocked": blocked,
        "messages": record.messages,
        "events": record.events,
        "unreceived": record.unreceived,
    }


cdef class _Refills:
    """Calls a function for a rank's next operations, and keeps them."""

    cdef object function, kept, raised

    def __init__(self, function):
        self.function = function
        self.kept = {}
        self.raised = None


cdef truth _refill(void *context, int32_t rank, const Operation **first, const Operation **end) noexcept with gil:
    cdef _Refills refills = <_Refills>context
    cdef const unsigned char[::1] operations
    try:
        array = np.ascontiguousarray(refills.function(rank))
        if array.size == 0:
            first[0] = end[0] = NULL
            return True
        if array.dtype.itemsize != 24:
            raise ValueError("operations of a program must be of type OPERATION")
        operations = array.view(np.uint8)
        refills.kept[rank] = array
        first[0] = <const Operation *>&operations[0]
        end[0] = <const Operation *>(&operations[0] + operations.shape[0])
        return True
    except BaseException as error:
        refills.raised = error
        return False


def run_program(operations, offsets, refill, parameters, cards, record):
    """Carry a program out; see `commmodel.simulate.run`.

    Parameters
    ----------
    operations, offsets, refill
        As in `commmodel.simulate.operations.Program`, whose checks they have passed.
    parameters : nine numbers
        L, o, O_s, O_r, g, G, G of small messages, size of these, S.
    cards : bool
        Whether messages wait in network cards (LogGPS) or at processors (LogP, LogGP).
    record : bool
        Whether to keep each interval and message.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        For an operation that cannot be carried out; it names the rank.
    """
    cdef Record said
    cdef StreamParameters numbers
    cdef Stream *engine
    cdef const unsigned char[::1] rows = _bytes(operations)
    cdef const int64_t[::1] bounds = _bounds(offsets)
    (
        numbers.L, numbers.o, numbers.O_s, numbers.O_r, numbers.g, numbers.G, numbers.G_small, numbers.small, numbers.S,
    ) = parameters
    numbers.cards = cards
    said.wanted = record
    cdef _Refills refills = _Refills(refill)
    cdef Refill function = NULL
    if refill is not None:
        function = _refill
    engine = new Stream(
        _ranks(bounds), <const Operation *>_first(rows), &bounds[0], function, <void *>refills, numbers, said
    )
    try:
        with nogil:
            engine.run()
    finally:
        del engine
    if refills.raised is not None:
        raise refills.raised
    return _said(&said)


def run_graph(offsets, operations, dependencies, parameters, newer, record):
    """Carry a schedule out; see `commmodel.simulate.delays.run_schedule`.

    Parameters
    ----------
    offsets, operations, dependencies
        As in `commmodel.simulate.goal.Schedule`, whose checks they have passed.
    parameters : seven numbers
        L, o, g, G, O of sender and receiver, S, in the schedule's unit.
    newer : bool
        Which rules.
    record
        And what is returned: as of `run_program`.

    Raises
    ------
    ValueError
        Where there are too many processors.
    """
    cdef Record said
    cdef GraphParameters numbers
    cdef Graph *engine
    cdef const unsigned char[::1] rows = _bytes(operations), edges = _bytes(dependencies)
    cdef const int64_t[::1] bounds = _bounds(offsets)
    cdef const GoalOperation *first = <const GoalOperation *>_first(rows)
    cdef const GoalDependency *edge = <const GoalDependency *>_first(edges)
    cdef int32_t ranks = _ranks(bounds)
    cdef int64_t count = operations.size, edge_count = dependencies.size
    numbers.L, numbers.o, numbers.g, numbers.G, numbers.O_s, numbers.O_r, numbers.S = parameters
    numbers.newer = newer
    said.wanted = record
    with nogil:
        engine = new Graph(ranks, &bounds[0], first, count, edge, edge_count, numbers, said)
    try:
        with nogil:
            engine.run()
    finally:
        del engine
    return _said(&said)


def parse_goal(pieces):
    """Read a schedule's text from an iterable of bytes.

    Returns
    -------
    begins, ends : int64 arrays
        Of each rank's operations; -1 for a rank that has none.
    operations, dependencies : uint8 arrays
        Rows as in `commmodel.simulate.goal`.

    Raises
    ------
    ValueError
        With the number of the line, from 1, and what is wrong there.
    """
    cdef GoalParser parser
    cdef const unsigned char[::1] piece
    cdef truth well = True
    cdef size_t count
    for one in pieces:
        piece = one
        count = piece.shape[0]
        if not count:
            continue
        with nogil:
            well = parser.feed(<const char *>&piece[0], count)
        if not well:
            break
    if well:
        well = parser.finish()
    if not well:
        raise ValueError(parser.failure.line, parser.failure.message.decode("utf-8", "replace"))
    return (
        _copied(parser.begins.data(), parser.begins.size() * sizeof(int64_t)).view(np.int64),
        _copied(parser.ends.data(), parser.ends.size() * sizeof(int64_t)).view(np.int64),
        _copied(parser.operations.data(), parser.operations.size() * sizeof(GoalOperation)),
        _copied(parser.dependencies.data(), parser.dependencies.size() * sizeof(GoalDependency)),
    )
