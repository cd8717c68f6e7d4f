"""Carries out programs under LogP, LogGP and LogGPS, and GOAL schedules under LogGOPS. No MPI here.

The rules stand in stream.hpp (programs) and graph.hpp (schedules); the law of a message in message_rule.hpp;
goal_parser.hpp reads GOAL. Main entries: `run_program`, `run_graph`, `parse_goal`; `commmodel.simulate.delays` and
`.goal` give them names and check what they are given.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp cimport bool as cpp_bool
from libcpp.string cimport string
from libcpp.vector cimport vector

import numpy as np

from commmodel._core.program.run cimport (
    Operation, Run, array_of, bytes_of, checked_offsets, finish, first_of, prepare,
)

cdef extern from "program/symmetry.hpp" namespace "commmodel" nogil:
    cdef cppclass Symmetry:
        Symmetry(int32_t, vector[int32_t]) except +


cdef extern from "delays/stream.hpp" namespace "commmodel::delays" nogil:
    cdef struct MessageCosts:
        pass
    cdef struct StreamParameters:
        const MessageCosts *costs[2]
        int32_t lines[2]
        const int64_t *hosts
        double S
        cpp_bool nic_keeps, by_factors
        const Symmetry *symmetry
    void run_stream(
        int32_t, const Operation *, const int64_t *, const StreamParameters &, cpp_bool, Run &,
    ) except +


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
        cpp_bool feed(const char *, size_t) except +
        cpp_bool finish() except +
        vector[GoalOperation] operations
        vector[GoalDependency] dependencies
        vector[int64_t] begins
        vector[int64_t] ends
        GoalFailure failure


cdef extern from "delays/graph.hpp" namespace "commmodel::delays" nogil:
    cdef struct GraphParameters:
        double L, o, g, G, O_s, O_r, S
        cpp_bool newer, by_factors
        const Symmetry *symmetry
    void run_goal(
        int32_t, const int64_t *, const GoalOperation *, int64_t, const GoalDependency *, int64_t,
        const GraphParameters &, cpp_bool, Run &,
    ) except +


cdef Symmetry *_symmetry(symmetry) except? NULL:
    """Make a `commmodel.simulate.symmetry.Symmetry` known to the engines, or NULL of None."""
    if symmetry is None:
        return NULL
    cdef vector[int32_t] bases
    for base in symmetry.bases:
        bases.push_back(base)
    return new Symmetry(symmetry.representatives, bases)


def run_program(
    operations, offsets, refill, between, within, hosts, S, nic_keeps, record, progress=None, slopes=None, symmetry=None
):
    """Carry a program out; see `commmodel.simulate.run`.

    Parameters
    ----------
    operations, offsets, refill
        Of `commmodel.simulate.operations.Program`.
    between, within : float64 arrays, shape (lines, 9)
        Of messages between hosts, and within one: bytes up to which a line holds, L, o, O_s, O_r, g, G, G of small
        messages, size of these.
    hosts : int64 array, shape (ranks,), or None
        The host of each rank; None: each has one of its own.
    S : float
        Messages of more bytes wait until their receive is there.
    nic_keeps : bool
        Whether messages wait in NICs (LogGPS) or at processors (LogP, LogGP).
    record : bool
        Whether intervals and transfers are kept.
    progress : callable, optional
        (seconds simulated, events), called from time to time.
    slopes : {None, "parameters", "factors"}
        Whether each rank's end has its derivatives by what is added to parameters, or by their factors: computation
        (always its factor), L, o, O_s, O_r, g, G and G of small messages; with hosts, then by the same within one, of
        which the first is always 0.
    symmetry : commmodel.simulate.symmetry.Symmetry, optional
        The program is that of ranks that stand for all.

    Returns
    -------
    dict
        What `commmodel.simulate.result.from_record` reads.

    Raises
    ------
    InputError
        If a program does what cannot be done; the message names rank and operation.
    """
    cdef StreamParameters numbers
    cdef const int64_t[::1] bounds = checked_offsets(operations, offsets)
    cdef const unsigned char[::1] rows = bytes_of(operations)
    cdef int32_t ranks = <int32_t>(bounds.shape[0] - 1)
    cdef Run state
    cdef const double[:, ::1] lines_between = between, lines_within = within
    cdef const int64_t[::1] places
    numbers.costs[0] = <const MessageCosts *>&lines_between[0, 0]
    numbers.costs[1] = <const MessageCosts *>&lines_within[0, 0]
    numbers.lines[0], numbers.lines[1] = <int32_t>lines_between.shape[0], <int32_t>lines_within.shape[0]
    numbers.hosts = NULL
    if hosts is not None:
        places = hosts
        numbers.hosts = &places[0]
    numbers.S, numbers.nic_keeps, numbers.by_factors = S, nic_keeps, slopes == "factors"
    caller = prepare(&state, record, ranks, refill, operations.dtype, progress)
    cdef const Operation *first = <const Operation *>first_of(rows)
    cdef cpp_bool with_slopes = slopes is not None
    cdef Symmetry *moves = _symmetry(symmetry)
    numbers.symmetry = moves
    try:
        with nogil:
            run_stream(ranks, first, &bounds[0], numbers, with_slopes, state)
    finally:
        del moves
    return finish(&state, caller)


def run_graph(offsets, operations, dependencies, parameters, newer, record, slopes=None, symmetry=None):
    """Carry a schedule out; see `commmodel.simulate.delays.run_schedule`.

    Parameters
    ----------
    offsets, operations, dependencies
        Of `commmodel.simulate.goal.GoalSchedule`, whose checks they have passed.
    parameters : seven numbers
        L, o, g, G, O of sender and receiver, S, in the schedule's unit.
    newer : bool
        Which rules.
    record, slopes, symmetry
        And what is returned: as of `run_program`.
    """
    cdef GraphParameters numbers
    cdef const unsigned char[::1] rows = bytes_of(operations), edges = bytes_of(dependencies)
    cdef const int64_t[::1] bounds = np.ascontiguousarray(offsets, np.int64)
    cdef const GoalOperation *first = <const GoalOperation *>first_of(rows)
    cdef const GoalDependency *edge = <const GoalDependency *>first_of(edges)
    cdef int32_t ranks = <int32_t>(bounds.shape[0] - 1)
    cdef int64_t count = operations.size, edge_count = dependencies.size
    cdef Run state
    numbers.L, numbers.o, numbers.g, numbers.G, numbers.O_s, numbers.O_r, numbers.S = parameters
    numbers.newer, numbers.by_factors = newer, slopes == "factors"
    caller = prepare(&state, record)
    cdef cpp_bool with_slopes = slopes is not None
    cdef Symmetry *moves = _symmetry(symmetry)
    numbers.symmetry = moves
    try:
        with nogil:
            run_goal(ranks, &bounds[0], first, count, edge, edge_count, numbers, with_slopes, state)
    finally:
        del moves
    return finish(&state, caller)


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
    cdef cpp_bool well = True
    cdef size_t count
    for piece in pieces:
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
        array_of(parser.begins.data(), parser.begins.size() * sizeof(int64_t)).view(np.int64),
        array_of(parser.ends.data(), parser.ends.size() * sizeof(int64_t)).view(np.int64),
        array_of(parser.operations.data(), parser.operations.size() * sizeof(GoalOperation)),
        array_of(parser.dependencies.data(), parser.dependencies.size() * sizeof(GoalDependency)),
    )
