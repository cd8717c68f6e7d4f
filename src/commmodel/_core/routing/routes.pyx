"""Routes through a platform: the Python side of routing.hpp.

`Routing` is made from arrays by `commmodel.simulate.platform`; the engine takes its `capsule` and asks for routes
without Python. Arrays by which a route would leave its zone are refused.
"""

from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.string cimport string
from libcpp.vector cimport vector

import numpy as np


cdef extern from "common/constants.hpp" namespace "commmodel" nogil:
    const int32_t LARGEST_INDEX

cdef extern from "routing/shortest.hpp" namespace "commmodel::routing" nogil:
    void find_shortest(int64_t, double *, int32_t *)

cdef extern from "routing/routing.hpp" namespace "commmodel::routing" nogil:
    cdef cppclass Description:
        Description(int64_t)
        void add(const string &, const int64_t *, int64_t)

cdef extern from "routing/routing.hpp" namespace "commmodel" nogil:
    cdef cppclass CppRouting "commmodel::Routing":
        int64_t hosts()
        void route(int64_t, int64_t, vector[int32_t] &)
        void set_links(vector[double], vector[double], vector[uint8_t])
        void add_zone(const string &, const Description &) except +
        void connect(const Description &) except +


cdef _add_arrays(Description *description, arrays):
    """Add arrays of integers by name; return what must live as long as the description."""
    cdef const int64_t[::1] values
    held = {name: np.ascontiguousarray(array, np.int64).ravel() for name, array in arrays.items()}
    for name, array in held.items():
        values = array
        description.add(name.encode(), &values[0] if values.shape[0] else NULL, values.shape[0])
    return held


def shortest(distance):
    """Return the least distances between all points, and on each route the point before the last.

    Of equally long routes the first one found stands, the points as middles in their order.

    Parameters
    ----------
    distance : array of float64, shape (points, points)
        Of hops: infinite where there is none.

    Returns
    -------
    distance : array of float64, shape (points, points)
    before : array of int32, shape (points, points)
        -1 where there is no route.
    """
    lengths = np.array(distance, np.float64, order="C")
    cdef int64_t points = lengths.shape[0]
    if lengths.shape != (points, points):
        raise ValueError("distances between all points: as many rows as columns")
    before = np.where(np.isfinite(lengths), np.arange(points, dtype=np.int32)[:, None], np.int32(-1)).astype(np.int32)
    np.fill_diagonal(lengths, 0.0)
    cdef double[:, ::1] rows = lengths
    cdef int32_t[:, ::1] last = before
    if points:
        with nogil:
            find_shortest(points, &rows[0, 0], &last[0, 0])
    return lengths, before


cdef class Routing:
    """Routes between hosts.

    Parameters
    ----------
    capacity : array of float64, shape (links,)
        Bytes per second.
    latency : array of float64, shape (links,)
        Seconds.
    fatpipe : array of uint8, shape (links,)
        1 where a link bounds each flow alone.
    zones : sequence of mappings
        Of each zone its ``kind``, which has a file of its own in this folder, ``hosts``, ``points`` and what the kind
        takes: integers and arrays of integers. Hosts are numbered zone by zone.
    passages : mapping, optional
        Between zones: either ``leave``, ``enter`` (points, shape (zones, zones); −1 for the gateway), ``offsets`` and
        ``links``; or ``outward_offsets``, ``outward``, ``inward_offsets``, ``inward``. Required for several zones.

    Raises
    ------
    ValueError
        Where numbers contradict each other.
    """

    cdef CppRouting inner
    cdef readonly object capacity, latency, fatpipe

    def __init__(self, capacity, latency, fatpipe, zones, passages=None):
        if self.capacity is not None:
            raise TypeError("a Routing does not change")
        columns = (capacity, np.float64), (latency, np.float64), (fatpipe, np.uint8)
        self.capacity, self.latency, self.fatpipe = (np.array(values, dtype) for values, dtype in columns)
        cdef int64_t links = self.capacity.size, i
        if not self.capacity.shape == self.latency.shape == self.fatpipe.shape == (links,) or links > LARGEST_INDEX:
            raise ValueError("capacity, latency and fatpipe must have one number for each link")
        if not (self.capacity > 0).all() or not (self.latency >= 0).all() or not np.isfinite(self.latency).all():
            raise ValueError("capacities must be above 0, latencies finite and not negative")
        for array in (self.capacity, self.latency, self.fatpipe):
            array.flags.writeable = False
        cdef vector[double] capacities, latencies
        cdef vector[uint8_t] fatpipes
        cdef const double[::1] reals = self.capacity
        cdef const double[::1] seconds = self.latency
        cdef const uint8_t[::1] marks = self.fatpipe
        for i in range(links):
            capacities.push_back(reals[i])
            latencies.push_back(seconds[i])
            fatpipes.push_back(marks[i] != 0)
        self.inner.set_links(capacities, latencies, fatpipes)
        for zone in zones:
            self._add(zone)
        if not len(zones):
            raise ValueError("a platform has at least one zone")
        if len(zones) > 1:
            if passages is None:
                raise ValueError("several zones need routes between them")
            self._connect(passages)

    cdef int _add(self, zone) except -1:
        cdef Description *description = new Description(self.capacity.size)
        try:
            held = _add_arrays(description, {name: array for name, array in zone.items() if name != "kind"})
            self.inner.add_zone(zone["kind"].encode(), description[0])
            del held
        finally:
            del description
        return 0

    cdef int _connect(self, passages) except -1:
        cdef Description *description = new Description(self.capacity.size)
        try:
            held = _add_arrays(description, passages)
            self.inner.connect(description[0])
            del held
        finally:
            del description
        return 0

    @property
    def hosts(self):
        """Number of hosts."""
        return self.inner.hosts()

    @property
    def capsule(self):
        """Pointer to the const C++ object; valid as long as this object lives."""
        return PyCapsule_New(<void *>&self.inner, "commmodel.routing", NULL)

    def route(self, int64_t source, int64_t destination):
        """Return the numbers of the links from one host to another, in order."""
        cdef vector[int32_t] links
        if not 0 <= source < self.inner.hosts() or not 0 <= destination < self.inner.hosts():
            raise ValueError(f"hosts are 0 to {self.inner.hosts() - 1}: {source}, {destination}")
        self.inner.route(source, destination, links)
        return [link for link in links]

    def count(self, sources, destinations):
        """Return how many of a number of routes use each link.

        Parameters
        ----------
        sources, destinations : arrays of integers, shape (routes,)
            Numbers of hosts.

        Returns
        -------
        array of int64, shape (links,)
        """
        cdef const int64_t[::1] source = self._numbers(sources)
        cdef const int64_t[::1] destination = self._numbers(destinations)
        cdef vector[int32_t] links
        cdef Py_ssize_t i
        cdef int32_t link
        if source.shape[0] != destination.shape[0]:
            raise ValueError("sources and destinations must be of one length")
        counted = np.zeros(self.capacity.size, np.int64)
        cdef int64_t[::1] out = counted
        with nogil:
            for i in range(source.shape[0]):
                links.clear()
                self.inner.route(source[i], destination[i], links)
                for link in links:
                    out[link] += 1
        return counted

    def _numbers(self, hosts):
        numbers = np.ascontiguousarray(hosts, np.int64).ravel()
        outside = numbers[(numbers < 0) | (numbers >= self.hosts)]
        if outside.size:
            raise ValueError(f"host {outside[0]}: expected 0 to {self.hosts - 1}")
        return numbers
