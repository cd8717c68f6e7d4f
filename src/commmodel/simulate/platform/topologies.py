"""Topologies: of each a description, which is what a TOML file says, and a function that makes a platform.

A description derives from `Topology` and names the kind of its zone, a class in ``_core/routing``. The functions are
those of `commmodel.simulate.platform`. Sources: Bédaride 2013, Section IV-B and Figure 5 (limiters and
cabinets); Ahn et al. 2009 (HyperX: with two routers in each dimension a hypercube, with two dimensions a flattened
butterfly).
"""

from collections.abc import Sequence
from functools import partial
from math import comb, prod
from typing import Any, TypeVar, Unpack

import numpy as np

from commmodel.arguments import Count, NotNegative, Positive, integer
from commmodel.errors import InputError
from commmodel.plugins import Parts
from commmodel.signatures import checked
from commmodel.simulate.platform.description import MOST_HOSTS, Assembly, Platform
from commmodel.simulate.platform.topology import Backbone, Link, Name, Options, Topology, check_sizes, make

__all__ = ["cabinets", "crossbar", "dragonfly", "fat_tree", "flat", "hyperx", "torus"]

TopologyKind = TypeVar("TopologyKind", bound=Topology)


class Flat(Topology, frozen=True, tag="flat"):
    """Hosts on one switch."""

    hosts: int
    backbone: Backbone | None = None

    def zone(self, assembly: Assembly, name: Name, title: str = "") -> dict[str, Any]:
        """Return one star; title: the switch's name."""
        return _star(self, assembly, self.hosts, name, self.backbone, title)


def _star(
    topology: Topology, assembly: Assembly, hosts: int, name: Name, backbone: Backbone | None, title: str = ""
) -> dict[str, Any]:
    """Return hosts on one switch: limiter, up, backbone, down, limiter; a backbone is one link for all."""
    integer("hosts", hosts, 1, MOST_HOSTS)
    up = topology.add_cables(assembly, hosts, name) + topology.directions * np.arange(hosts, dtype=np.int64)
    links = topology.add_host_links(assembly, hosts, name)
    no_links = np.full(hosts, -1, np.int64)
    number = -1
    if backbone is not None:
        full_title = f"{title} backbone".strip()
        number = assembly.add_links(1, backbone.bandwidth, backbone.latency, lambda _: full_title, backbone.sharing)
    return {
        "kind": "star",
        "hosts": hosts,
        "points": hosts,
        "up": up,
        "down": up + topology.directions - 1,
        "limiter": links["limiter"] if links["limiter"].size else no_links,
        "loopback": links["loopback"] if links["loopback"].size else no_links,
        "backbone": number,
    }


@checked
def flat(
    hosts: Count,
    bandwidth: Positive,
    latency: NotNegative,
    *,
    backbone: Backbone | tuple[float, float] | None = None,
    **options: Unpack[Options],
) -> Platform:
    """Return hosts on one switch.

    Parameters
    ----------
    hosts : int
        1 or more.
    bandwidth, latency : float
        B/s, above 0, and s, 0 or more, of each host's link, in each direction.
    backbone : Backbone or (float, float), optional
        One link on every route: B/s and s.
    **options
        ``limiter`` (B/s), ``loopback`` (B/s and s), ``sharing``, ``cores``, ``speed`` (flop/s of a core),
        ``host_names`` and ``name``, as in `Topology`.

    Examples
    --------
    >>> flat(4, 125e6, 15e-6, limiter=187.5e6).route(0, 2)
    ['node-0 limiter', 'node-0 up', 'node-2 down', 'node-2 limiter']
    """
    return make(Flat, hosts=hosts, bandwidth=bandwidth, latency=latency, backbone=backbone, **options)


class Uplink(Link, frozen=True):
    """Links of a cabinet: up, down, and a limiter for both."""

    limiter: float | None = None


class Cabinets(Topology, frozen=True, tag="cabinets"):
    """Hosts on a switch of their cabinet, and the cabinets on one switch."""

    hosts: tuple[int, ...]
    """Of each cabinet."""
    uplink: Uplink
    backbone: Backbone | None = None
    """Of each cabinet."""
    are_nodes: bool = False
    """Whether a cabinet is a node, and its hosts are its sockets. Programs see them as the sockets of one host, and the
    names are those of nodes."""

    def sockets_of_nodes(self) -> Sequence[int]:
        """Return the numbers of hosts of cabinets that are nodes."""
        return self.hosts if self.are_nodes else ()

    def assemble(self, assembly: Assembly, name: Name) -> dict[str, Any]:
        """Add a star for each cabinet, and return the links between cabinets."""
        count, begin = len(self.hosts), 0
        if not 0 < count <= 2**16:
            raise InputError(f"{count} cabinets: expected from 1 to {2**16}")
        for number, hosts in enumerate(self.hosts):
            names = partial(lambda place, begin: name(place + begin), begin=begin)
            if self.are_nodes:
                names = partial(lambda place, number: f"{name(number)}/{place}", number=number)
            zone = _star(self, assembly, hosts, names, self.backbone, f"cabinet {number}")
            assembly.add_zone(zone, names, self.speed, self.cores)
            begin += hosts
        uplink, cabinet = self.uplink, "cabinet {}".format
        up = assembly.add_links(count, uplink.bandwidth, uplink.latency, cabinet) + 2 * np.arange(count)
        outward, inward = [up], [up + 1]
        if uplink.limiter is not None:
            limiter = assembly.add_links(count, uplink.limiter, 0.0, "cabinet {} limiter".format, "shared")
            numbers = limiter + np.arange(count)
            outward, inward = [numbers, *outward], [*inward, numbers]
        offsets = np.arange(count + 1) * len(outward)
        return {
            "outward_offsets": offsets,
            "outward": np.stack(outward, axis=1).ravel(),
            "inward_offsets": offsets,
            "inward": np.stack(inward, axis=1).ravel(),
        }


@checked
def cabinets(
    hosts: Sequence[int],
    bandwidth: Positive,
    latency: NotNegative,
    uplink: Uplink | tuple[float, ...],
    *,
    backbone: Backbone | tuple[float, float] | None = None,
    are_nodes: bool = False,
    **options: Unpack[Options],
) -> Platform:
    """Return cabinets of hosts, each with an uplink; or nodes of sockets, each with a link to the others.

    Parameters
    ----------
    hosts : sequence of int
        Of each cabinet.
    bandwidth, latency : float
        B/s, above 0, and s, 0 or more, of each host's link, in each direction.
    uplink : Uplink or (float, float, float)
        Of each cabinet: B/s, s, and B/s of the limiter of both directions.
    backbone : Backbone or (float, float), optional
        One link on every route of a cabinet: B/s and s.
    are_nodes : bool
        Whether a cabinet is a node, and its hosts are its sockets: a program sees one host.
    **options
        ``limiter`` (B/s), ``loopback`` (B/s and s), ``sharing``, ``cores``, ``speed`` (flop/s of a core),
        ``host_names`` and ``name``, as in `Topology`.

    Examples
    --------
    >>> cabinets([2, 2], 125e6, 15e-6, (1.25e9, 0.0, 1.625e9)).route(0, 3)[1:-1]
    ['cabinet 0 limiter', 'cabinet 0 up', 'cabinet 1 down', 'cabinet 1 limiter']
    """
    link = Uplink(*uplink) if isinstance(uplink, tuple) else uplink
    shape = {"hosts": tuple(hosts), "uplink": link, "backbone": backbone, "are_nodes": are_nodes}
    return make(Cabinets, **shape, bandwidth=bandwidth, latency=latency, **options)


class Crossbar(Topology, frozen=True, tag="crossbar"):
    """A link for each two hosts."""

    hosts: int

    def zone(self, assembly: Assembly, name: Name) -> dict[str, Any]:
        """Return a table of routes."""
        hosts = integer("hosts", self.hosts, 1, MOST_HOSTS)
        if hosts > 4096:
            raise InputError(f"a crossbar of {hosts} hosts: at most 4096")
        pairs = comb(hosts, 2)
        low, high = np.triu_indices(hosts, 1)
        first = self.add_cables(assembly, pairs, lambda i: f"{name(int(low[i]))} {name(int(high[i]))}")
        links = self.add_host_links(assembly, hosts, name)
        numbers = np.full((hosts, hosts, 3), -1, np.int64)
        numbers[low, high, 1] = first + self.directions * np.arange(pairs)
        numbers[high, low, 1] = numbers[low, high, 1] + self.directions - 1
        if self.limiter is not None:
            numbers[:, :, 0], numbers[:, :, 2] = links["limiter"][:, None], links["limiter"][None, :]
        diagonal = np.arange(hosts)
        numbers[diagonal, diagonal] = -1
        if self.loopback is not None:
            numbers[diagonal, diagonal, 1] = links["loopback"]
        used = (numbers >= 0).reshape(hosts * hosts, 3)
        offsets = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)
        routes = numbers.reshape(hosts * hosts, 3)[used]
        return {"kind": "table", "hosts": hosts, "points": hosts, "offsets": offsets, "links": routes}


@checked
def crossbar(hosts: Count, bandwidth: Positive, latency: NotNegative, **options: Unpack[Options]) -> Platform:
    """Return a full crossbar: a link for each two hosts.

    Parameters
    ----------
    hosts : int
        1 or more.
    bandwidth, latency : float
        B/s, above 0, and s, 0 or more, of each host's link, in each direction.
    **options
        ``limiter`` (B/s), ``loopback`` (B/s and s), ``sharing``, ``cores``, ``speed`` (flop/s of a core),
        ``host_names`` and ``name``, as in `Topology`.

    Examples
    --------
    >>> crossbar(3, 125e6, 15e-6).route(2, 0)
    ['node-0 node-2 down']
    """
    return make(Crossbar, hosts=hosts, bandwidth=bandwidth, latency=latency, **options)


class FatTree(Topology, frozen=True, tag="fat-tree"):
    """A tree with several parents of each node; from the lowest level up."""

    down: tuple[int, ...]
    """Children of a switch of each level."""
    up: tuple[int, ...]
    """Parents of a node of the level below."""
    parallel: tuple[int, ...]
    """Cables to each parent."""

    def zone(self, assembly: Assembly, name: Name, as_simgrid: bool = False) -> dict[str, Any]:
        """Return a fat tree: a route upwards takes the port that the destination names, one downwards the same cable.

        as_simgrid: cables downwards are those of SimGrid 3.32.
        """
        down, up, parallel = self.down, self.up, self.parallel
        hosts = check_sizes(down, "fat tree, down")
        if not len(down) == len(up) == len(parallel) <= 16:
            raise InputError("a fat tree has as many numbers down, up and parallel: one for each of at most 16 levels")
        check_sizes(up, "fat tree, up")
        check_sizes(parallel, "fat tree, parallel")
        switches, links = [], []
        below = copies = 1
        for children, parents, cables in zip(down, up, parallel, strict=True):
            links.append(hosts // below * copies * parents * cables)
            below, copies = below * children, copies * parents
            switches.append(hosts // below * copies)

        def switch_name(place: int) -> str:
            level, number = _level_of(place, switches)
            return f"switch {level + 1}.{number}"

        def link_name(place: int) -> str:
            level, number = _level_of(place, links)
            node, port = divmod(number, up[level] * parallel[level])
            return f"{name(node) if level == 0 else f'switch {level}.{node}'} port {port}"

        first = self.add_cables(assembly, sum(links), link_name)
        host_links = self.add_host_links(assembly, hosts, name, hosts + sum(switches), switch_name)
        more = {"parents": up, "cables": parallel, "as_simgrid": as_simgrid}
        return self.regular_zone("fat-tree", down, first, **more, **host_links)


def _level_of(place: int, counts: Sequence[int]) -> tuple[int, int]:
    """Return the level of a number among all levels', and its number there."""
    for level, count in enumerate(counts):
        if place < count:
            return level, place
        place -= count
    raise IndexError(place)


@checked
def fat_tree(
    down: Sequence[int],
    up: Sequence[int],
    parallel: Sequence[int],
    bandwidth: Positive,
    latency: NotNegative,
    **options: Unpack[Options],
) -> Platform:
    """Return a fat tree with D-mod-k routes.

    Parameters
    ----------
    down, up, parallel : sequence of int
        From the lowest level up: children, parents, and cables to each parent.
    bandwidth, latency : float
        B/s, above 0, and s, 0 or more, of each link, in each direction.
    **options
        ``limiter`` (B/s), ``loopback`` (B/s and s), ``sharing``, ``cores``, ``speed`` (flop/s of a core),
        ``host_names`` and ``name``, as in `Topology`.

    Examples
    --------
    >>> fat_tree([4, 4], [1, 2], [1, 2], 125e6, 15e-6).route(0, 5)
    ['node-0 port 0 up', 'switch 1.0 port 2 up', 'switch 1.1 port 2 down', 'node-5 port 0 down']
    """
    shape = {"down": tuple(down), "up": tuple(up), "parallel": tuple(parallel)}
    return make(FatTree, **shape, bandwidth=bandwidth, latency=latency, **options)


class Torus(Topology, frozen=True, tag="torus"):
    """Hosts in a grid of any number of dimensions, each the neighbour of two others in each."""

    sizes: tuple[int, ...]
    """The first is that of neighbouring numbers."""

    def zone(self, assembly: Assembly, name: Name) -> dict[str, Any]:
        """Return a torus; each host has one link upwards in each dimension."""
        hosts, dimensions = check_sizes(self.sizes, "torus"), len(self.sizes)
        if dimensions > 16:
            raise InputError(f"a torus of {dimensions} dimensions: at most 16")

        def link_name(place: int) -> str:
            host, axis = divmod(place, dimensions)
            return f"{name(host)} +{'xyzuvw'[axis] if dimensions <= 6 else axis}"

        first = self.add_cables(assembly, hosts * dimensions, link_name)
        return self.regular_zone("torus", self.sizes, first, **self.add_host_links(assembly, hosts, name))


@checked
def torus(sizes: Sequence[int], bandwidth: Positive, latency: NotNegative, **options: Unpack[Options]) -> Platform:
    """Return a torus with dimension-ordered routes: the first dimension first, in each the shorter way round.

    Parameters
    ----------
    sizes : sequence of int
        Hosts in each dimension.
    bandwidth, latency : float
        B/s, above 0, and s, 0 or more, of each link, in each direction.
    **options
        ``limiter`` (B/s), ``loopback`` (B/s and s), ``sharing``, ``cores``, ``speed`` (flop/s of a core),
        ``host_names`` and ``name``, as in `Topology`.

    Examples
    --------
    >>> torus([4, 3], 125e6, 15e-6).route(0, 7)
    ['node-3 +x down', 'node-3 +y up']
    """
    return make(Torus, sizes=tuple(sizes), bandwidth=bandwidth, latency=latency, **options)


class Dragonfly(Topology, frozen=True, tag="dragonfly"):
    """Groups of chassis of blades of nodes."""

    groups: int
    chassis: int
    blades: int
    nodes: int
    parallel: tuple[int, int, int] = (1, 1, 1)
    """Cables of a link between groups (blue), between chassis (black), between blades (green)."""

    def zone(self, assembly: Assembly, name: Name, as_simgrid: bool = False) -> dict[str, Any]:
        """Return a dragonfly; as_simgrid: routes within the last group are those of SimGrid 3.32."""
        sizes = self.groups, self.chassis, self.blades, self.nodes
        if len(tuple(self.parallel)) != 3:
            raise InputError("a dragonfly has cables for groups, chassis and blades: three numbers")
        hosts = check_sizes(sizes, "dragonfly")
        check_sizes(self.parallel, "dragonfly, parallel cables")
        groups, chassis, blades, _ = sizes
        if groups > chassis * blades:
            problem = (
                f"dragonfly: {groups} groups, but a group of {chassis * blades} routers has links to as many others"
            )
            raise InputError(f"{problem}: take fewer groups, or more blades")
        colours = {
            "green": groups * chassis * comb(blades, 2),
            "black": groups * comb(chassis, 2) * blades,
            "blue": comb(groups, 2),
        }
        first = self.add_cables(assembly, hosts, name)
        for (colour, count), times in zip(colours.items(), reversed(self.parallel), strict=True):
            if count:
                self.add_cables(assembly, count, (colour + " link {}").format, times)
        nodes = hosts + groups * chassis * blades
        host_links = self.add_host_links(assembly, hosts, name, nodes, "router {}".format)
        return self.regular_zone("dragonfly", sizes, first, as_simgrid=as_simgrid, **host_links)


@checked
def dragonfly(
    groups: Count,
    chassis: Count,
    blades: Count,
    nodes: Count,
    bandwidth: Positive,
    latency: NotNegative,
    *,
    parallel: tuple[int, int, int] = (1, 1, 1),
    **options: Unpack[Options],
) -> Platform:
    """Return a dragonfly with minimal routes.

    Parameters
    ----------
    groups, chassis, blades, nodes : int
        Groups, chassis of a group, blades of a chassis, hosts of a blade.
    bandwidth, latency : float
        B/s, above 0, and s, 0 or more, of each link, in each direction.
    **options
        ``limiter`` (B/s), ``loopback`` (B/s and s), ``sharing``, ``cores``, ``speed`` (flop/s of a core),
        ``host_names`` and ``name``, as in `Topology`.
    parallel : (int, int, int)
        Cables of a link between groups, chassis, blades.

    Examples
    --------
    >>> dragonfly(2, 2, 2, 2, 125e6, 15e-6).route(0, 8)
    ['node-0 up', 'green link 0 up', 'blue link 0 up', 'node-8 down']
    """
    shape = {"groups": groups, "chassis": chassis, "blades": blades, "nodes": nodes, "parallel": parallel}
    return make(Dragonfly, **shape, bandwidth=bandwidth, latency=latency, **options)


class HyperX(Topology, frozen=True, tag="hyperx"):
    """A grid of routers, fully connected in each dimension."""

    sizes: tuple[int, ...]
    """Routers in each dimension; the first varies fastest."""
    nodes: int = 1
    """Hosts of a router."""

    def zone(self, assembly: Assembly, name: Name) -> dict[str, Any]:
        """Return a HyperX; the links of a dimension are numbered row by row."""
        sizes = self.nodes, *self.sizes
        hosts = check_sizes(sizes, "hyperx")
        if not 1 <= len(self.sizes) <= 22:
            raise InputError(f"a HyperX of {len(self.sizes)} dimensions: expected from 1 to 22")
        routers = prod(self.sizes)
        counts = [routers // size * comb(size, 2) for size in self.sizes]
        first = self.add_cables(assembly, hosts, name)
        for dimension, count in enumerate(counts):
            self.add_cables(assembly, count, f"dimension {dimension} link {{}}".format)
        host_links = self.add_host_links(assembly, hosts, name, hosts + routers, "router {}".format)
        return self.regular_zone("hyperx", sizes, first, **host_links)


@checked
def hyperx(
    sizes: Sequence[int], bandwidth: Positive, latency: NotNegative, *, nodes: Count = 1, **options: Unpack[Options]
) -> Platform:
    """Return a HyperX with dimension-ordered routes.

    Parameters
    ----------
    sizes : sequence of int
        Routers in each dimension.
    bandwidth, latency : float
        B/s, above 0, and s, 0 or more, of each link, in each direction.
    **options
        ``limiter`` (B/s), ``loopback`` (B/s and s), ``sharing``, ``cores``, ``speed`` (flop/s of a core),
        ``host_names`` and ``name``, as in `Topology`.
    nodes : int
        Hosts of a router.

    Examples
    --------
    >>> hyperx([4, 4], 125e6, 15e-6, nodes=2).route(0, 15)
    ['node-0 up', 'dimension 0 link 2 up', 'dimension 1 link 18 up', 'node-15 down']
    >>> len(hyperx([2] * 4, 125e6, 15e-6).route(0, 15))  # a hypercube: four bits differ
    6
    """
    return make(HyperX, sizes=tuple(sizes), nodes=nodes, bandwidth=bandwidth, latency=latency, **options)


TOPOLOGIES: Parts[type[Topology]] = Parts(
    "unknown kind", "commmodel.topologies",
    {str(kind.__struct_config__.tag): kind for kind in (Cabinets, Crossbar, Dragonfly, FatTree, Flat, HyperX, Torus)},
)  # fmt: skip
"""What a file calls its kind -> topology."""


@checked
def register(topology: type[TopologyKind]) -> type[TopologyKind]:
    """Add a topology of one's own, a class derived from `Topology` with a tag, which files call their kind.

    Raises
    ------
    InputError
        Where a topology of another module has its tag.

    Examples
    --------
    >>> class Cluster(Flat, frozen=True, tag="cluster"):
    ...     pass
    >>> register(Cluster)(hosts=4, bandwidth=125e6, latency=15e-6).build().kind
    'cluster'
    >>> _ = TOPOLOGIES.pop("cluster")
    """
    TOPOLOGIES.add(str(topology.__struct_config__.tag), topology, topology)
    return topology
