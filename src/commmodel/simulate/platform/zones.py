"""The kinds of zones that routes are computed in, as the mappings that `commmodel._core.routing.routes` takes.

A zone's links are added to an `Assembly`; limiters and loopbacks are those of the hosts, and in networks with switches
limiters are those of the switches as well. Main entries: `star`, `table`, `hops`, `torus`, `fat_tree`, `dragonfly`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import integer
from commmodel.errors import InputError
from commmodel.simulate.platform.description import MOST_HOSTS, Assembly

__all__ = ["Cables", "dragonfly", "fat_tree", "hops", "star", "table", "torus"]

Name = Callable[[int], str]


@dataclass(frozen=True)
class Cables:
    """What the links of a zone have in common: B/s and s; none where it is None."""

    bandwidth: float
    latency: float
    sharing: str = "split"
    as_simgrid: bool = False
    """Whether ways through fat trees and dragonflies are those of SimGrid 3.32."""
    limiter: float | None = None
    loopback: tuple[float, float] | None = None
    backbone: tuple[float, float, str] | None = None

    def extras(self, assembly: Assembly, hosts: int, nodes: int, name: Name, switch: Name) -> dict[str, Any]:
        """Add limiters and loopbacks, and return their numbers."""
        limiter = loopback = np.empty(0, np.int64)
        if self.limiter is not None:
            first = assembly.add_links(hosts, self.limiter, 0.0, lambda place: f"{name(place)} limiter", "shared")
            if nodes > hosts:
                assembly.add_links(nodes - hosts, self.limiter, 0.0, lambda i: f"{switch(i)} limiter", "shared")
            limiter = first + np.arange(nodes)
        if self.loopback is not None:
            loopback = np.arange(hosts) + assembly.add_links(
                hosts, *self.loopback, lambda place: f"{name(place)} loopback", "fatpipe"
            )
        return {"limiter": limiter, "loopback": loopback}


def _bounded(sizes: Sequence[int], what: str) -> int:
    """Return the product of sizes, which must not be absurd."""
    if prod(integer(what, size) for size in sizes) > MOST_HOSTS:
        raise InputError(f"{what} {list(sizes)}: all must be at least 1, and their product at most {MOST_HOSTS}")
    return prod(sizes)


def star(assembly: Assembly, hosts: int, cables: Cables, name: Name, zone_name: str = "") -> dict[str, Any]:
    """Return hosts on one switch: limiter, up, backbone, down, limiter; a backbone is one link for all."""
    directions = 2 if cables.sharing == "split" else 1
    first = assembly.add_links(hosts, cables.bandwidth, cables.latency, name, cables.sharing)
    numbers = np.arange(hosts, dtype=np.int64)
    none = np.full(hosts, -1, np.int64)
    extras = cables.extras(assembly, hosts, hosts, name, name)
    backbone = -1
    if cables.backbone is not None:
        rate, time, sharing = cables.backbone
        title = f"{zone_name} backbone".strip()
        backbone = assembly.add_links(1, rate, time, lambda _: title, "shared" if sharing == "split" else sharing)
    return {
        "kind": "star",
        "hosts": hosts,
        "points": hosts,
        "up": first + directions * numbers,
        "down": first + directions * numbers + directions - 1,
        "limiter": extras["limiter"] if extras["limiter"].size else none,
        "loopback": extras["loopback"] if extras["loopback"].size else none,
        "backbone": backbone,
    }


def table(hosts: int, points: int, offsets: NDArray[np.int64], links: NDArray[np.int64]) -> dict[str, Any]:
    """Return a zone that lists the links between each two of its points; the hosts are the first of them."""
    return {"kind": "table", "hosts": hosts, "points": points, "offsets": offsets, "links": links}


def hops(hosts: int, points: int, **ways: NDArray[Any]) -> dict[str, Any]:
    """Return a zone whose ways lead over hops, as `commmodel._core.routing.routes.Routing` takes it."""
    return {"kind": "hops", "hosts": hosts, "points": points, **ways}


def _regular(kind: str, sizes: Sequence[int], common: Cables, first: int, **more: Any) -> dict[str, Any]:
    directions = 2 if common.sharing == "split" else 1
    hosts = prod(sizes)
    return {
        "kind": kind,
        "hosts": hosts,
        "points": hosts,
        "sizes": tuple(sizes),
        "directions": directions,
        "first_link": first,
        "as_simgrid": common.as_simgrid,
        **more,
    }


def torus(assembly: Assembly, sizes: Sequence[int], cables: Cables, name: Name) -> dict[str, Any]:
    """Return a torus, the first size that of neighbouring numbers; each host has one link upwards in each dimension."""
    hosts, dimensions = _bounded(sizes, "torus"), len(sizes)
    if dimensions > 16:
        raise InputError(f"a torus of {dimensions} dimensions: at most 16")

    def link_name(place: int) -> str:
        return f"{name(place // dimensions)} +{'xyzuvw'[place % dimensions] if dimensions <= 6 else place % dimensions}"

    first = assembly.add_links(hosts * dimensions, cables.bandwidth, cables.latency, link_name, cables.sharing)
    return _regular("torus", sizes, cables, first, **cables.extras(assembly, hosts, hosts, name, name))


def fat_tree(
    assembly: Assembly,
    down: Sequence[int],
    up: Sequence[int],
    parallel: Sequence[int],
    cables: Cables,
    name: Name,
) -> dict[str, Any]:
    """Return a fat tree, from the lowest level up.

    down: children of a switch of each level; up: parents of a node of the level below; parallel: cables to each of
    them. A way upwards takes the port that the destination names, a way down the same cable.
    """
    hosts = _bounded(down, "fat tree, down")
    if not len(down) == len(up) == len(parallel) <= 16:
        raise InputError("a fat tree has as many numbers down, up and parallel: one for each of at most 16 levels")
    _bounded(up, "fat tree, up")
    _bounded(parallel, "fat tree, parallel")
    starts, places, links, nodes = [], [], [], hosts
    below = copies = 1
    for children, parents, ports in zip(down, up, parallel, strict=True):
        links.append(hosts // below * copies * parents * ports)
        below, copies = below * children, copies * parents
        starts.append(nodes)
        nodes += hosts // below * copies
        places.append(hosts // below * copies)
        if sum(links) > 2**26 or nodes > 2**26:
            raise InputError("a fat tree of more than 2^26 links or nodes")

    def switch(place: int) -> str:
        for level, count in enumerate(places, 1):
            if place < count:
                return f"switch {level}.{place}"
            place -= count
        raise IndexError(place)

    def link_name(place: int) -> str:
        for level, count in enumerate(links):
            if place < count:
                node, port = divmod(place, up[level] * parallel[level])
                lower = name(node) if level == 0 else f"switch {level}.{node}"
                return f"{lower} port {port}"
            place -= count
        raise IndexError(place)

    first = assembly.add_links(sum(links), cables.bandwidth, cables.latency, link_name, cables.sharing)
    extras = cables.extras(assembly, hosts, nodes, name, switch)
    more = {"parents": tuple(up), "cables": tuple(parallel)}
    return _regular("fat-tree", down, cables, first, **more, **extras)


def dragonfly(
    assembly: Assembly, sizes: Sequence[int], parallel: Sequence[int], cables: Cables, name: Name
) -> dict[str, Any]:
    """Return a dragonfly of groups of chassis of blades, each with a router and its hosts.

    Parameters
    ----------
    sizes : four integers
        Groups, chassis of a group, blades of a chassis, hosts of a blade.
    parallel : three integers
        Cables of which a link between groups (blue), between chassis (black) and within a chassis (green) consists.
    """
    if len(sizes) != 4 or len(parallel) != 3:
        raise InputError("a dragonfly has groups, chassis, blades and nodes, and cables for the first three")
    hosts = _bounded(sizes, "dragonfly")
    _bounded(parallel, "dragonfly, parallel cables")
    groups, chassis, blades, _ = sizes
    if groups > chassis * blades:
        problem = f"dragonfly: {groups} groups, but a group of {chassis * blades} routers has links to as many others"
        raise InputError(f"{problem}: take fewer groups, or more blades")
    routers = groups * chassis * blades
    green, black = groups * chassis * (blades * (blades - 1) // 2), groups * (chassis * (chassis - 1) // 2) * blades
    blue = groups * (groups - 1) // 2
    if green + black + blue > 2**26:
        raise InputError("a dragonfly of more than 2^26 links")

    def numbered(colour: str) -> Name:
        return lambda place: f"{colour} link {place}"

    first = assembly.add_links(hosts, cables.bandwidth, cables.latency, name, cables.sharing)
    colours = ("blue", blue), ("black", black), ("green", green)
    for (colour, count), times in reversed(list(zip(colours, parallel, strict=True))):
        if count:
            rate = cables.bandwidth * times
            assembly.add_links(count, rate, cables.latency, numbered(colour), cables.sharing)
    extras = cables.extras(assembly, hosts, hosts + routers, name, lambda place: f"router {place}")
    return _regular("dragonfly", sizes, cables, first, **extras)
