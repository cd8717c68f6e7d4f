"""Carries out programs on flows: the Python side of engine.hpp. Main entry: `run`."""

from cpython.pycapsule cimport PyCapsule_GetPointer
from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t
from libcpp cimport bool as cpp_bool
from libcpp.vector cimport vector

import numpy as np

from commmodel._core.program.run cimport Operation, Run, bytes_of, checked_offsets, finish, first_of, prepare

from commmodel.errors import InputError

cdef extern from "flows/engine.hpp" namespace "commmodel" nogil:
    cdef cppclass Routing:
        int64_t hosts()

    cdef cppclass Pieces:
        vector[double] limit, constant, per_byte

    cdef cppclass Protocol:
        double header, eager_limit, detached_limit
        Pieces send, isend, receive, latency_factor, bandwidth_factor, message_gap
        cpp_bool leaves_after_overhead, leaves_unexpected, answers_in_order, one_queue
        double window, capacity_weight, penalty_without_latency, cross_traffic, send_buffer
        double answer_latency, variation, unevenness

    cdef cppclass Symmetry:
        Symmetry(int32_t, vector[int32_t])
        int32_t ranks()

    cdef cppclass LinkClasses:
        LinkClasses(const Routing &, const Symmetry &, const int32_t *, cpp_bool) except +

    void run_on_flows(
        const Routing &, const Protocol &, const int32_t *, int32_t, const Operation *, const int64_t *, Run &,
        LinkClasses *
    ) except +


cdef Pieces _pieces(pieces) except *:
    """Take the pieces of an overhead, or those of a factor, which is constant."""
    cdef Pieces out
    for piece in pieces:
        out.limit.push_back(piece.limit)
        out.constant.push_back(piece.constant if hasattr(piece, "constant") else piece.value)
        out.per_byte.push_back(getattr(piece, "per_byte", 0.0))
    return out


cdef Protocol _protocol(network) except *:
    cdef Protocol out
    out.header = network.header
    out.eager_limit = network.eager_limit
    out.detached_limit = network.detached_limit
    out.send = _pieces(network.send)
    out.isend = _pieces(network.isend)
    out.receive = _pieces(network.receive)
    out.latency_factor = _pieces(network.latency_factors)
    out.bandwidth_factor = _pieces(network.bandwidth_factors)
    out.message_gap = _pieces(network.message_gaps)
    out.leaves_after_overhead = network.leaves_after_overhead
    out.leaves_unexpected = network.leaves_unexpected
    out.answers_in_order = network.answers_in_order
    out.one_queue = network.one_queue
    out.window = network.window
    out.capacity_weight = network.capacity_weight
    out.penalty_without_latency = network.penalty_without_latency
    out.cross_traffic = network.cross_traffic
    out.send_buffer = network.send_buffer
    out.answer_latency = network.answer_latency
    out.variation = network.variation
    out.unevenness = network.unevenness
    return out


def run(routing, hosts, operations, offsets, refill, network, record, progress=None, most_steps=0, symmetry=None):
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
    progress : callable, optional
        (seconds simulated, events), called from time to time.
    most_steps : int
        For derivatives of the end: how many steps of the run are kept at most, or there are none. 0: none are wanted.
    symmetry : commmodel.simulate.symmetry.Symmetry, optional
        The program is that of ranks that stand for all, the hosts are those of all. Of these there are no derivatives.

    Returns
    -------
    dict
        What `commmodel.simulate.result.from_record` reads.

    Raises
    ------
    InputError
        If a program does what cannot be done; the message names rank and operation.
    """
    capsule = routing.capsule
    cdef const Routing *routes = <const Routing *>PyCapsule_GetPointer(capsule, "commmodel.routing")
    cdef const int32_t[::1] places = np.ascontiguousarray(hosts, np.int32)
    cdef const int64_t[::1] bounds = checked_offsets(operations, offsets)
    cdef int32_t ranks = <int32_t>(bounds.shape[0] - 1), rank
    cdef Symmetry *moves = NULL
    cdef LinkClasses *classes = NULL
    cdef vector[int32_t] bases
    cdef int32_t all_ranks = ranks
    if symmetry is not None:
        all_ranks = symmetry.ranks
    if places.shape[0] != all_ranks:
        raise InputError(f"{places.shape[0]} places for {all_ranks} ranks")
    for rank in range(all_ranks):
        if not 0 <= places[rank] < dereference(routes).hosts():
            raise InputError(f"rank {rank} is on host {places[rank]}: there are {dereference(routes).hosts()} hosts")
    cdef const unsigned char[::1] rows = bytes_of(operations)
    cdef const Operation *first = <const Operation *>first_of(rows)
    cdef Protocol protocol = _protocol(network)
    cdef Run state
    caller = prepare(&state, record, ranks, refill, operations.dtype, progress)
    state.most_steps = most_steps
    try:
        if symmetry is not None:
            for base in symmetry.bases:
                bases.push_back(base)
            moves = new Symmetry(ranks, bases)
            classes = new LinkClasses(dereference(routes), dereference(moves), &places[0], symmetry.must_be_checked)
        with nogil:
            run_on_flows(
                dereference(routes), protocol, &places[0], ranks, first, &bounds[0], state, classes
            )
    finally:
        del classes
        del moves
    return finish(&state, caller)
