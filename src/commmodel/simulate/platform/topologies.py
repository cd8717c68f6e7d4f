"""Platforms of the usual kinds, each one function of a few numbers; or the same as a description, for a file.

`flat(16, 125e6, 15e-6)` and `build(Flat(hosts=16, bandwidth=125e6, latency=15e-6))` are the same. Bandwidths are in
B/s, latencies in s, speeds in flop/s. Sources: the limiter and cabinets: Bédaride 2013, Section IV-B and Figure 5.
Main entries: `flat`, `cabinets`, `fat_tree`, `torus`, `dragonfly`, `crossbar`, `build`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from commmodel.arguments import finite, integer
from commmodel.errors import InputError
from commmodel.simulate.platform import zones
from commmodel.simulate.platform.description import MOST_HOSTS, Assembly, Platform

__all__ = [
    "Backbone", "Cabinets", "Crossbar", "Description", "Dragonfly", "FatTree", "Flat", "Link", "Torus", "build",
    "cabinets", "crossbar", "dragonfly", "fat_tree", "flat", "torus",
]  # fmt: skip

Sharing = Literal["split", "shared", "fatpipe"]


class Link(Struct, frozen=True, forbid_unknown_fields=True):
    """A link: B/s, s."""

    bandwidth: float
    latency: float = 0.0


class Backbone(Link, frozen=True):
    """One link that every way through a switch takes."""

    sharing: Literal["shared", "fatpipe"] = "shared"


class Uplink(Link, frozen=True):
    """What connects a cabinet: up, down, and a limiter for both."""

    limiter: float | None = None


class _Hosts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What every platform has."""

    bandwidth: float
    """B/s of a link, in each direction."""
    latency: float
    """s of a link."""
    name: str = ""
    limiter: float | None = None
    """B/s that what a host sends and receives has together."""
    loopback: Link | None = None
    """What connects processes on one host; where it is missing, they use the host's link."""
    sharing: Sharing = "split"
    cores: int = 1
    speed: float = 1e9
    """flop/s of a core."""
    host_names: str = "node-{}"
    """Names, with {} for the number."""


class Flat(_Hosts, frozen=True, tag="flat", tag_field="kind"):
    """Hosts on one switch."""

    hosts: int
    backbone: Backbone | None = None


class Cabinets(_Hosts, frozen=True, tag="cabinets", tag_field="kind"):
    """Hosts on a switch of their cabinet, and the cabinets on one switch."""

    hosts: tuple[int, ...]
    """Of each cabinet."""
    uplink: Uplink
    backbone: Backbone | None = None
    """Of each cabinet."""


class FatTree(_Hosts, frozen=True, tag="fat-tree", tag_field="kind"):
    """A tree with several parents of each node; from the lowest level up."""

    down: tuple[int, ...]
    up: tuple[int, ...]
    parallel: tuple[int, ...]


class Torus(_Hosts, frozen=True, tag="torus", tag_field="kind"):
    """Hosts in a grid of any number of dimensions, each the neighbour of two others in each."""

    sizes: tuple[int, ...]


class Dragonfly(_Hosts, frozen=True, tag="dragonfly", tag_field="kind"):
    """Groups of chassis of blades of nodes."""

    groups: int
    chassis: int
    blades: int
    nodes: int
    parallel: tuple[int, int, int] = (1, 1, 1)
    """Cables of a link between groups, between chassis, between blades."""


class Crossbar(_Hosts, frozen=True, tag="crossbar", tag_field="kind"):
    """A link for each two hosts."""

    hosts: int


Description = Flat | Cabinets | FatTree | Torus | Dragonfly | Crossbar


def _cables(what: Any) -> zones.Cables:
    backbone = getattr(what, "backbone", None)
    for link, title in ((what.loopback, "loopback"), (backbone, "backbone")):
        if link is not None:
            finite(f"bandwidth of the {title}", link.bandwidth, 0)
            finite(f"latency of the {title}", link.latency, 0)
    return zones.Cables(
        what.bandwidth,
        what.latency,
        what.sharing,
        limiter=what.limiter,
        loopback=None if what.loopback is None else (what.loopback.bandwidth, what.loopback.latency),
        backbone=None if backbone is None else (backbone.bandwidth, backbone.latency, backbone.sharing),
    )


def _namer(pattern: str) -> Callable[[int], str]:
    before, mark, after = pattern.partition("{}")
    if not mark or len(pattern) > 1000:
        raise InputError(f"host_names {pattern[:80]!r}: it must hold {{}} for the number, like node-{{}}")
    return lambda place: f"{before}{place}{after}"


def _checked_count(hosts: int) -> int:
    return integer("hosts", hosts, 1, MOST_HOSTS)


def _lists(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return offsets and links."""
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return offsets, np.array([link for one in lists for link in one], np.int64)


def _cabinets(what: Cabinets, assembly: Assembly, name: Callable[[int], str]) -> dict[str, Any]:
    """Add the zones of the cabinets, and return what is between them."""
    if not what.hosts or len(what.hosts) > 2**16:
        raise InputError(f"{len(what.hosts)} cabinets: expected from 1 to {2**16}")
    cables, begin = _cables(what), 0
    for number, hosts in enumerate(what.hosts):
        names = partial(lambda place, begin: name(place + begin), begin=begin)
        zone = zones.star(assembly, _checked_count(hosts), cables, names, f"cabinet {number}")
        assembly.add_zone(zone, names, what.speed, what.cores)
        begin += hosts
    count = len(what.hosts)
    first = assembly.add_links(count, what.uplink.bandwidth, what.uplink.latency, "cabinet {}".format)
    outward, inward = [[first + 2 * i] for i in range(count)], [[first + 2 * i + 1] for i in range(count)]
    if what.uplink.limiter is not None:
        limit = assembly.add_links(count, what.uplink.limiter, 0.0, "cabinet {} limiter".format, "shared")
        outward = [[limit + i, *links] for i, links in enumerate(outward)]
        inward = [[*links, limit + i] for i, links in enumerate(inward)]
    offsets, links = zip(_lists(outward), _lists(inward), strict=True)
    return {"outward_offsets": offsets[0], "outward": links[0], "inward_offsets": offsets[1], "inward": links[1]}


def _crossbar(what: Crossbar, assembly: Assembly, name: Callable[[int], str]) -> dict[str, Any]:
    """Add a link for each pair, and return the zone."""
    hosts = _checked_count(what.hosts)
    if hosts > 4096:
        raise InputError(f"a crossbar of {hosts} hosts: at most 4096")
    limiter, loopback = what.limiter is not None, what.loopback is not None
    pairs = hosts * (hosts - 1) // 2
    low, high = np.triu_indices(hosts, 1)
    first = assembly.add_links(
        pairs, what.bandwidth, what.latency, lambda i: f"{name(int(low[i]))} {name(int(high[i]))}", what.sharing
    )
    extras = _cables(what).extras(assembly, hosts, hosts, name, name)
    directions = 2 if what.sharing == "split" else 1
    numbers = np.full((hosts, hosts, 3), -1, np.int64)
    numbers[low, high, 1] = first + directions * np.arange(pairs)
    numbers[high, low, 1] = numbers[low, high, 1] + directions - 1
    if limiter:
        numbers[:, :, 0], numbers[:, :, 2] = extras["limiter"][:, None], extras["limiter"][None, :]
    own = np.arange(hosts)
    numbers[own, own] = -1
    if loopback:
        numbers[own, own, 1] = extras["loopback"]
    used = (numbers >= 0).reshape(hosts * hosts, 3)
    offsets = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)
    return zones.table(hosts, hosts, offsets, numbers.reshape(hosts * hosts, 3)[used])


def build(what: Description) -> Platform:
    """Return the platform of a description.

    Raises
    ------
    InputError
        Where a number is out of range.
    """
    assembly, name, passages = Assembly(), _namer(what.host_names), None
    integer("cores", what.cores, 1, 2**20)
    finite("latency", what.latency, 0)
    rates = {"bandwidth": what.bandwidth, "limiter": what.limiter, "speed": what.speed}
    for field, value in rates.items():
        if value is not None and not finite(field, value, 0) > 0:
            raise InputError(f"{field} {value}: expected a finite number above 0")
    match what:
        case Flat():
            zone = zones.star(assembly, _checked_count(what.hosts), _cables(what), name)
        case Cabinets():
            passages = _cabinets(what, assembly, name)
            zone = {}
        case FatTree():
            sizes = what.down, what.up, what.parallel
            zone = zones.fat_tree(assembly, *sizes, _cables(what), name)
        case Torus():
            zone = zones.torus(assembly, what.sizes, _cables(what), name)
        case Dragonfly():
            counts = what.groups, what.chassis, what.blades, what.nodes
            zone = zones.dragonfly(assembly, counts, what.parallel, _cables(what), name)
        case Crossbar():
            zone = _crossbar(what, assembly, name)
    if zone:
        assembly.add_zone(zone, name, what.speed, what.cores)
    kind = str(what.__struct_config__.tag)
    return assembly.platform(what.name or kind, kind, passages, what)


def _options(options: dict[str, Any]) -> dict[str, Any]:
    """Return keyword arguments with pairs for links, as people pass them, made links."""
    for key, kind in (("loopback", Link), ("backbone", Backbone), ("uplink", Uplink)):
        if isinstance(options.get(key), tuple):
            options[key] = kind(*options[key])
    return options


def flat(hosts: int, bandwidth: float, latency: float, **options: Any) -> Platform:
    """Return hosts on one switch.

    Parameters
    ----------
    hosts : int
    bandwidth, latency : float
        B/s and s of each host's link, in each direction.
    **options
        ``limiter`` (B/s), ``backbone`` and ``loopback`` (pairs of B/s and s), ``sharing``, ``cores``, ``speed``
        (flop/s of a core), ``host_names`` and ``name``, as in `Flat`.

    Examples
    --------
    >>> flat(4, 125e6, 15e-6, limiter=187.5e6).route(0, 2)
    ['node-0 limiter', 'node-0 up', 'node-2 down', 'node-2 limiter']
    """
    return build(Flat(hosts=hosts, bandwidth=bandwidth, latency=latency, **_options(options)))


def cabinets(
    hosts: Sequence[int], bandwidth: float, latency: float, uplink: Uplink | tuple[float, ...], **options: Any
) -> Platform:
    """Return cabinets of hosts; `uplink` is what connects each: B/s, s, and B/s of the limiter of both directions.

    >>> cabinets([2, 2], 125e6, 15e-6, (1.25e9, 0.0, 1.625e9)).route(0, 3)[1:-1]
    ['cabinet 0 limiter', 'cabinet 0 up', 'cabinet 1 down', 'cabinet 1 limiter']
    """
    options = _options(options | {"uplink": uplink})
    return build(Cabinets(hosts=tuple(hosts), bandwidth=bandwidth, latency=latency, **options))


def fat_tree(
    down: Sequence[int], up: Sequence[int], parallel: Sequence[int], bandwidth: float, latency: float, **options: Any
) -> Platform:
    """Return a fat tree with D-mod-k ways: from the lowest level up, children, parents, and cables to each parent.

    >>> fat_tree([4, 4], [1, 2], [1, 2], 125e6, 15e-6).route(0, 5)
    ['node-0 port 0 up', 'switch 1.0 port 2 up', 'switch 1.1 port 2 down', 'node-5 port 0 down']
    """
    options = _options(options) | {"bandwidth": bandwidth, "latency": latency}
    return build(FatTree(down=tuple(down), up=tuple(up), parallel=tuple(parallel), **options))


def torus(sizes: Sequence[int], bandwidth: float, latency: float, **options: Any) -> Platform:
    """Return a torus; ways go through the first dimension first, and in each the shorter way round.

    >>> torus([4, 3], 125e6, 15e-6).route(0, 7)
    ['node-3 +x down', 'node-3 +y up']
    """
    return build(Torus(sizes=tuple(sizes), bandwidth=bandwidth, latency=latency, **_options(options)))


def dragonfly(
    groups: int, chassis: int, blades: int, nodes: int, bandwidth: float, latency: float, **options: Any
) -> Platform:
    """Return a dragonfly with minimal ways; ``parallel`` says how many cables its three kinds of links consist of.

    >>> dragonfly(2, 2, 2, 2, 125e6, 15e-6).route(0, 8)
    ['node-0 up', 'green link 0 up', 'blue link 0 up', 'node-8 down']
    """
    options = _options(options) | {"bandwidth": bandwidth, "latency": latency}
    return build(Dragonfly(groups=groups, chassis=chassis, blades=blades, nodes=nodes, **options))


def crossbar(hosts: int, bandwidth: float, latency: float, **options: Any) -> Platform:
    """Return a full crossbar: a link for each two hosts.

    >>> crossbar(3, 125e6, 15e-6).route(2, 0)
    ['node-0 node-2 down']
    """
    return build(Crossbar(hosts=hosts, bandwidth=bandwidth, latency=latency, **_options(options)))
