"""Sharing of bandwidth among flows on its own, for tests: the Python side of sharing.hpp. Main entry: `Sharing`.

Simulations do not come by here: the engine holds the same C++ class.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from commmodel.errors import InputError

cdef extern from "sharing/sharing.hpp" namespace "commmodel" nogil:
    cdef cppclass Use:
        int32_t link
        float weight

    cdef cppclass Shares "commmodel::Sharing":
        Shares(const vector[double] &capacity, const vector[uint8_t] &fatpipe) except +
        int32_t add(const Use *uses, int32_t count, double penalty, double bound, double work) except +
        double next(double now) except +
        void take_finished(double now, vector[int32_t] &finished) except +
        double rate(int32_t flow)
        int64_t solutions()


cdef class Sharing:
    """Links, and flows that share them.

    Parameters
    ----------
    capacity : sequence of float
        Bytes per second, of each link.
    fatpipe : sequence of bool, optional
        Which links bound each flow alone.

    Examples
    --------
    >>> sharing = Sharing([100.0])
    >>> first = sharing.add(0.0, [0], work=300.0)
    >>> second = sharing.add(0.0, [0], work=100.0)
    >>> sharing.next(0.0), sharing.rate(first)
    (2.0, 50.0)
    >>> sharing.take_finished(2.0) == [second]
    True
    >>> sharing.next(2.0)
    4.0
    """

    cdef Shares *shares
    cdef int32_t links
    cdef set alive

    def __cinit__(self, capacity, fatpipe=None):
        cdef vector[double] capacities
        cdef vector[uint8_t] fatpipes
        for rate in capacity:
            if not rate > 0:
                raise InputError(f"a link has a capacity of {rate}: it must be above 0")
            capacities.push_back(rate)
        for is_fatpipe in fatpipe if fatpipe is not None else [False] * capacities.size():
            fatpipes.push_back(bool(is_fatpipe))
        if fatpipes.size() != capacities.size():
            raise InputError(f"{capacities.size()} links, but {fatpipes.size()} values say which are fatpipes")
        self.links = <int32_t>capacities.size()
        self.alive = set()
        self.shares = new Shares(capacities, fatpipes)

    def __dealloc__(self):
        del self.shares

    def add(self, double now, links, weights=None, double penalty=1, double bound=INFINITY, double work=1):
        """Add a flow from `now` on, which takes weight × rate of each of its links; return its number."""
        cdef vector[Use] uses
        cdef Use use
        weights = [1.0] * len(links) if weights is None else list(weights)
        if len(set(links)) != len(links) or len(weights) != len(links):
            raise InputError("a flow uses each link at most once, and has one weight for each")
        for link, weight in zip(links, weights):
            if not (0 <= link < self.links and weight > 0):
                raise InputError(f"a flow uses link {link} with weight {weight}: there are {self.links} links")
            use.link, use.weight = link, weight
            uses.push_back(use)
        if not (penalty > 0 and bound > 0 and work >= 0):
            raise InputError("penalty and bound of a flow must be above 0, its work at least 0")
        flow = self.shares.add(uses.data(), <int32_t>uses.size(), penalty, bound, work)
        self.alive.add(flow)
        return flow

    def next(self, double now):
        """Return when the next flow finishes, infinite where there is none."""
        return self.shares.next(now)

    def take_finished(self, double now):
        """Take out the flows that finish at `now`, and return their numbers in the order of their `add`."""
        cdef vector[int32_t] finished
        self.shares.take_finished(now, finished)
        self.alive.difference_update(finished)
        return list(finished)

    def rate(self, int32_t flow):
        """Return the rate of a flow, 0 where `next` was not called since it was added."""
        if flow not in self.alive:
            raise InputError(f"there is no flow {flow}")
        return self.shares.rate(flow)

    @property
    def solutions(self):
        """Times that bandwidth was shared anew."""
        return self.shares.solutions()
