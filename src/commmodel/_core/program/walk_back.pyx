"""The critical path of a recorded run, walked back from its end: how it goes stands in walk_back.hpp."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

import numpy as np

cdef extern from "program/walk_back.hpp" namespace "commmodel" nogil:
    cdef struct Interval:
        pass

    cdef struct Transfer:
        pass

    cdef struct PathCosts:
        pass

    cdef struct PathSegment:
        pass

    cdef struct PathRules:
        int32_t of_delays, nic_keeps, in_order, measured

    cdef struct History:
        int32_t ranks
        const int64_t *first
        const Interval *intervals
        int64_t messages
        const Transfer *transfers
        const PathCosts *costs
        PathRules rules

    cdef cppclass WalkBack:
        WalkBack(const History &) except +
        void walk(int32_t, double) except +
        const vector[PathSegment] &segments()

SEGMENT = np.dtype(
    [(name, np.int32) for name in ("rank", "kind", "peer", "unused")]
    + [("interval", np.int64), ("message", np.int64), ("start", np.float64), ("end", np.float64)]
)
COSTS = np.dtype(
    [(name, np.float64) for name in ("send", "isend", "receive", "question", "latency", "gap", "transit")]
    + [("waits", np.int64)]
)


def walk_back(intervals, first, transfers, costs, rules, int32_t rank, double time):
    """Return the path to a time of a rank.

    Parameters
    ----------
    intervals, transfers : structured array
        Of `commmodel.simulate.result.INTERVAL`, in the order of ranks and then of times, and `MESSAGE`.
    first : int64 array, shape (ranks + 1,)
        Of each rank's intervals, the first.
    costs : structured array of `COSTS`, shape (messages,)
    rules : tuple of bool
        Whether the record is the delay engine's, a NIC keeps what it cannot send yet, messages that wait ask for their
        receives, and the record is measured.
    rank : int
    time : float
        Seconds.

    Returns
    -------
    structured array of `SEGMENT`
        In the order of time.
    """
    cdef const int64_t[::1] places = np.ascontiguousarray(first, dtype=np.int64)
    cdef const unsigned char[::1] rows = _bytes(intervals, sizeof(Interval))
    cdef const unsigned char[::1] sent = _bytes(transfers, sizeof(Transfer))
    cdef const unsigned char[::1] prices = _bytes(costs, sizeof(PathCosts))
    cdef int64_t messages = len(transfers)
    if len(costs) != messages or not 0 <= rank < places.shape[0] - 1 or places[places.shape[0] - 1] != len(intervals):
        raise ValueError("intervals, messages and costs do not fit together")
    if SEGMENT.itemsize != sizeof(PathSegment):
        raise ValueError("segments of another size")
    cdef History history
    history.ranks = <int32_t> (places.shape[0] - 1)
    history.first = &places[0]
    history.intervals = <const Interval *> (&rows[0] if rows.shape[0] else NULL)
    history.messages = messages
    history.transfers = <const Transfer *> (&sent[0] if messages else NULL)
    history.costs = <const PathCosts *> (&prices[0] if messages else NULL)
    history.rules.of_delays, history.rules.nic_keeps, history.rules.in_order, history.rules.measured = rules
    cdef WalkBack *walk = new WalkBack(history)
    cdef unsigned char[::1] copy
    try:
        with nogil:
            walk.walk(rank, time)
        segments = np.zeros(walk.segments().size(), dtype=SEGMENT)
        if len(segments):
            copy = segments.view(np.uint8)
            memcpy(&copy[0], walk.segments().data(), copy.shape[0])
    finally:
        del walk
    return segments


cdef _bytes(rows, size_t size):
    """Return rows as bytes."""
    rows = np.ascontiguousarray(rows)
    if rows.dtype.itemsize != size:
        raise ValueError(f"rows of {rows.dtype.itemsize} bytes, not {size}")
    return rows.view(np.uint8).reshape(-1)
