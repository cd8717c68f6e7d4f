"""Ways through a platform: the Python side of routing.hpp.

`Routing` is made from arrays by `commmodel.simulate.platform`; the engine takes its `capsule` and asks for ways without
Python. Whatever would make a way leave an array is refused here.
"""

from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp cimport bool as cpp_bool
from libcpp.utility cimport move
from libcpp.vector cimport vector

import numpy as np


cdef extern from "routing/routing.hpp" namespace "commmodel" nogil:
    cdef enum class Kind(int32_t):
        star
        table
        torus
        fat_tree
        dragonfly
        hops

    cdef cppclass Hops:
        int64_t points
        vector[int32_t] before, ends, links
        vector[int64_t] first, offsets
        cpp_bool are_sound()

    void find_shortest(int64_t, double *, int32_t *)

    cdef cppclass Port:
        int32_t limiter, up, down, loopback

    cdef cppclass Passage:
        int32_t leave, enter
        int64_t begin, end

    cdef cppclass Zone:
        Kind kind
        int64_t hosts, points
        vector[Port] ports
        int32_t backbone, first_link, directions
        vector[int64_t] offsets, sizes, parents, cables
        vector[int32_t] links, loopback, limiter
        Hops hops
        cpp_bool as_simgrid
        void prepare()
        int64_t own_links()
        int64_t nodes()

    cdef cppclass Lists "commmodel::Routing::Lists":
        vector[int64_t] offsets
        vector[int32_t] links

    cdef cppclass CppRouting "commmodel::Routing":
        int64_t hosts()
        const vector[double] &capacity()
        const vector[double] &latency()
        const vector[uint8_t] &fatpipe()
        void route(int64_t, int64_t, vector[int32_t] &)
        void set_links(vector[double], vector[double], vector[uint8_t])
        void add_zone(Zone)
        void set_passages(vector[Passage], vector[int32_t])
        void set_lists(Lists, Lists)


cdef int64_t MOST = 2**31 - 1  # hosts and links: their numbers are int32


cdef vector[int32_t] _integers(values, int64_t least, int64_t most, str what) except *:
    """Copy an array of numbers that must lie between two."""
    array = np.ascontiguousarray(values, np.int64)
    cdef const int64_t[::1] view = array.ravel()
    cdef vector[int32_t] out
    cdef int64_t i
    out.resize(view.shape[0])
    for i in range(view.shape[0]):
        if not least <= view[i] <= most:
            raise ValueError(f"{what} {view[i]}: expected {least} to {most}")
        out[i] = <int32_t>view[i]
    return out


cdef vector[int64_t] _offsets(values, int64_t count, size_t last, str what) except *:
    """Copy offsets: count + 1 of them, ascending from 0 to the last."""
    cdef const int64_t[::1] view = np.ascontiguousarray(values, np.int64).ravel()
    cdef vector[int64_t] out
    cdef int64_t i
    if view.shape[0] != count + 1 or view[0] != 0 or view[count] != <int64_t>last:
        raise ValueError(f"{what}: {view.shape[0]} offsets that must be {count + 1}, from 0 to {last}")
    out.resize(count + 1)
    for i in range(count + 1):
        if i and view[i] < view[i - 1]:
            raise ValueError(f"{what}: offsets must ascend")
        out[i] = view[i]
    return out


cdef vector[int64_t] _sizes(values, str what) except *:
    cdef vector[int64_t] out
    for value in values:
        if not 1 <= value <= MOST:
            raise ValueError(f"{what}: {value} must be from 1 to {MOST}")
        out.push_back(value)
    if out.empty():
        raise ValueError(f"{what}: none")
    return out


def shortest(distance):
    """Return the least distances between all points, and on each way the point before the last.

    Of equally long ways the one found first stands, the points as middles in their order.

    Parameters
    ----------
    distance : array of float64, shape (points, points)
        Of hops: infinite where there is none.

    Returns
    -------
    distance : array of float64, shape (points, points)
    before : array of int32, shape (points, points)
        -1 where there is no way.
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
    """Ways between hosts.

    Parameters
    ----------
    capacity : array of float64, shape (links,)
        Bytes per second.
    latency : array of float64, shape (links,)
        Seconds.
    fatpipe : array of uint8, shape (links,)
        1 where a link bounds each flow alone.
    zones : sequence of mappings
        What `commmodel.simulate.platform.zones` gives for each; hosts are numbered zone by zone.
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
        given = (capacity, np.float64), (latency, np.float64), (fatpipe, np.uint8)
        self.capacity, self.latency, self.fatpipe = (np.array(values, dtype) for values, dtype in given)
        cdef int64_t links = self.capacity.size, i, count
        if not self.capacity.shape == self.latency.shape == self.fatpipe.shape == (links,) or links > MOST:
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
        self.inner.set_links(move(capacities), move(latencies), move(fatpipes))
        for zone in zones:
            self._add(zone, links)
            if self.inner.hosts() > MOST:
                raise ValueError(f"more than {MOST} hosts")
        count = len(zones)
        if not count:
            raise ValueError("a platform has at least one zone")
        if count > 1:
            if passages is None:
                raise ValueError("several zones, and nothing between them")
            self._connect([zone["points"] for zone in zones], [zone["kind"] for zone in zones], passages, links)

    cdef int _add(self, zone, int64_t links) except -1:
        cdef Zone one
        cdef vector[int32_t] limiter, up, down, loopback
        cdef Port port
        cdef size_t i
        kind = zone["kind"]
        one.hosts = zone["hosts"]
        one.points = zone["points"]
        if not 0 <= one.hosts <= one.points <= MOST:
            raise ValueError(f"{one.hosts} hosts of {one.points} points")
        if kind == "star":
            one.kind = Kind.star
            limiter = _integers(zone["limiter"], -1, links - 1, "link")
            up = _integers(zone["up"], -1, links - 1, "link")
            down = _integers(zone["down"], -1, links - 1, "link")
            loopback = _integers(zone["loopback"], -1, links - 1, "link")
            if not limiter.size() == up.size() == down.size() == loopback.size() == <size_t>one.hosts:
                raise ValueError("a star has one limiter, up, down and loopback link for each host")
            one.ports.resize(one.hosts)
            for i in range(<size_t>one.hosts):
                port.limiter, port.up, port.down, port.loopback = limiter[i], up[i], down[i], loopback[i]
                one.ports[i] = port
            one.backbone = _integers([zone["backbone"]], -1, links - 1, "link")[0]
        elif kind == "table":
            one.kind = Kind.table
            one.links = _integers(zone["links"], 0, links - 1, "link")
            one.offsets = _offsets(zone["offsets"], one.points * one.points, one.links.size(), "table")
        elif kind == "hops":
            one.kind = Kind.hops
            one.hops.points = one.points
            one.hops.before = _integers(zone["before"], -1, one.points - 1, "point")
            one.hops.ends = _integers(zone["ends"], 0, one.points - 1, "point")
            one.hops.links = _integers(zone["links"], 0, links - 1, "link")
            one.hops.first = _offsets(zone["first"], one.points, one.hops.ends.size(), "hops")
            one.hops.offsets = _offsets(zone["offsets"], one.hops.ends.size(), one.hops.links.size(), "links of hops")
            if one.hops.before.size() != <size_t>(one.points * one.points) or not one.hops.are_sound():
                raise ValueError("hops: a way that does not lead from its first point to its last")
        elif kind in ("torus", "fat-tree", "dragonfly"):
            one.sizes = _sizes(zone["sizes"], kind)
            one.directions = 2 if zone["directions"] == 2 else 1
            one.first_link = zone["first_link"]
            one.as_simgrid = bool(zone["as_simgrid"])
            hosts = 1
            for size in one.sizes:
                hosts *= size
            if hosts != one.hosts or one.points != one.hosts:
                raise ValueError(f"{kind} of {hosts} hosts: {one.hosts} were given")
            if kind == "torus":
                one.kind = Kind.torus
                nodes, own = hosts, hosts * one.sizes.size()
            elif kind == "fat-tree":
                one.kind = Kind.fat_tree
                one.parents = _sizes(zone["parents"], kind)
                one.cables = _sizes(zone["cables"], kind)
                if not one.sizes.size() == one.parents.size() == one.cables.size():
                    raise ValueError("a fat tree has children, parents and cables for each level")
                nodes, own, below, copies = hosts, 0, 1, 1
                for i in range(one.sizes.size()):
                    own += hosts // below * copies * one.parents[i] * one.cables[i]
                    below *= one.sizes[i]
                    copies *= one.parents[i]
                    nodes += hosts // below * copies
            else:
                one.kind = Kind.dragonfly
                if one.sizes.size() != 4:
                    raise ValueError("a dragonfly has groups, chassis, blades and nodes")
                groups, chassis, blades, _ = one.sizes
                if groups > chassis * blades:
                    raise ValueError(f"a dragonfly of {groups} groups needs as many routers in a group")
                nodes = hosts + groups * chassis * blades
                own = hosts + groups * chassis * (blades * (blades - 1) // 2)
                own += groups * (chassis * (chassis - 1) // 2) * blades + groups * (groups - 1) // 2
            if nodes > MOST or not 0 <= one.first_link <= links - own * one.directions:
                raise ValueError(f"{kind}: {own * one.directions} links from number {one.first_link} are not there")
            one.prepare()
            if one.nodes() != nodes or one.own_links() != own * one.directions:
                raise ValueError(f"{kind}: too large")
            one.limiter = _integers(zone["limiter"], 0, links - 1, "link")
            one.loopback = _integers(zone["loopback"], 0, links - 1, "link")
            if one.limiter.size() not in (0, nodes) or one.loopback.size() not in (0, one.hosts):
                raise ValueError(f"{kind}: one limiter for each node and one loopback for each host, or none")
        else:
            raise ValueError(f"unknown kind of zone {kind!r}")
        self.inner.add_zone(move(one))
        return 0

    cdef int _connect(self, points, kinds, passages, int64_t links) except -1:
        cdef vector[Passage] table
        cdef vector[int32_t] listed, leave, enter
        cdef vector[int64_t] offsets
        cdef Lists outward, inward
        cdef Passage passage
        cdef int64_t zones = len(points), i, j
        if "outward" in passages:
            if "table" in kinds or "hops" in kinds:
                raise ValueError("a zone with a table of ways has no gateway of its own")
            outward.links = _integers(passages["outward"], 0, links - 1, "link")
            inward.links = _integers(passages["inward"], 0, links - 1, "link")
            outward.offsets = _offsets(passages["outward_offsets"], zones, outward.links.size(), "outward")
            inward.offsets = _offsets(passages["inward_offsets"], zones, inward.links.size(), "inward")
            self.inner.set_lists(move(outward), move(inward))
            return 0
        leave = _integers(passages["leave"], -1, MOST, "point")
        enter = _integers(passages["enter"], -1, MOST, "point")
        listed = _integers(passages["links"], 0, links - 1, "link")
        offsets = _offsets(passages["offsets"], zones * zones, listed.size(), "passages")
        if not leave.size() == enter.size() == <size_t>(zones * zones):
            raise ValueError("passages: one point to leave and one to enter for each two zones")
        for i in range(zones):
            for j in range(zones):
                passage.leave, passage.enter = leave[i * zones + j], enter[i * zones + j]
                passage.begin, passage.end = offsets[i * zones + j], offsets[i * zones + j + 1]
                for zone, point in ((i, passage.leave), (j, passage.enter)):
                    if point >= points[zone] or (point < 0 and kinds[zone] in ("table", "hops") and i != j):
                        raise ValueError(f"passages: zone {zone} has no point {point}")
                table.push_back(passage)
        self.inner.set_passages(move(table), move(listed))
        return 0

    @property
    def hosts(self):
        """How many hosts there are."""
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
        """Return how many of given ways use each link.

        Parameters
        ----------
        sources, destinations : arrays of integers, shape (ways,)
            Numbers of hosts.

        Returns
        -------
        array of int64, shape (links,)
        """
        cdef vector[int32_t] source = _integers(sources, 0, self.inner.hosts() - 1, "host")
        cdef vector[int32_t] destination = _integers(destinations, 0, self.inner.hosts() - 1, "host")
        cdef vector[int32_t] links
        cdef size_t i
        cdef int32_t link
        if source.size() != destination.size():
            raise ValueError("sources and destinations must be of one length")
        counted = np.zeros(self.capacity.size, np.int64)
        cdef int64_t[::1] out = counted
        with nogil:
            for i in range(source.size()):
                links.clear()
                self.inner.route(source[i], destination[i], links)
                for link in links:
                    out[link] += 1
        return counted
