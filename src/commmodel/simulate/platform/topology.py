"""The base of all topologies: links of hosts, limiters, loopbacks; and the construction of a platform.

Bandwidths are in B/s, latencies in s, speeds in flop/s. Topologies stand in
`commmodel.simulate.platform.topologies`. Main entries: `Topology`, `Link`, `Backbone`, `make`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Literal, TypedDict

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from commmodel.arguments import finite, integer
from commmodel.errors import InputError, choice_of
from commmodel.simulate.platform.description import MOST_HOSTS, NO_COSTS, Assembly, Platform, Sharing
from commmodel.values import OneLine

Name = Callable[[int], str]
"""Number of a host, switch or link -> its name."""


class Link(Struct, frozen=True, forbid_unknown_fields=True):
    """A link: B/s, s."""

    bandwidth: float
    latency: float = 0.0


class Backbone(Link, frozen=True):
    """One link on every route through a switch."""

    sharing: Literal["shared", "fatpipe"] = "shared"


class Power(Struct, frozen=True, forbid_unknown_fields=True):
    """W of a host: P = epsilon + (all - epsilon) × the share of its cores that compute, or idle where none does."""

    idle: float
    """Switched on, with nothing to do."""
    epsilon: float
    """With next to no load."""
    all: float
    """All cores compute."""
    off: float = 0.0


class Options(TypedDict, total=False):
    """What every platform may have beside its shape, bandwidth and latency: fields of `Topology`."""

    name: str
    limiter: float | None
    loopback: Link | tuple[float, float] | None
    sharing: Sharing
    cores: int
    speed: float
    power: Power | tuple[float, ...] | None
    price: float | None
    host_names: str


class Topology(
    OneLine, Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind"
):
    """A topology as a few numbers: the common fields of all topologies.

    Ranks of one host use `loopback`, and without one the link of their host, at its speed. `limiter` is what all that a
    host sends and receives has together. `sharing` says whether the directions of a link have a bandwidth each.
    """

    bandwidth: float
    """B/s of a link, in each direction."""
    latency: float
    """s of a link."""
    name: str = ""
    limiter: float | None = None
    """B/s that all that a host sends and receives has together; in networks with switches, a switch's as well."""
    loopback: Link | None = None
    """Link between processes of one host; without it they use the host's link."""
    sharing: Sharing = "split"
    cores: int = 1
    speed: float = 1e9
    """flop/s of a core."""
    power: Power | None = None
    """Of a host."""
    price: float | None = None
    """Of a host and hour, in any currency."""
    host_names: str = "node-{}"
    """Names, with {} for the number."""

    @property
    def directions(self) -> int:
        """Links per cable, 2 where each direction has the full bandwidth."""
        return 2 if self.sharing == "split" else 1

    def zone(self, assembly: Assembly, name: Name) -> dict[str, Any]:
        """Add the links, and return the zone: what `commmodel._core.routing.routes` takes, hosts named by `name`."""
        raise NotImplementedError

    def assemble(self, assembly: Assembly, name: Name) -> Mapping[str, Any] | None:
        """Add all zones, and return the links between them: none for a single zone."""
        assembly.add_zone(self.zone(assembly, name), name, self.speed, self.cores)
        return None

    def build(self) -> Platform:
        """Return the platform; `InputError` where a number is out of range."""
        assembly, name = Assembly(), _namer(self.host_names)
        integer("cores", self.cores, 1, 2**20)
        finite("latency", self.latency, 0)
        rates = {"bandwidth": self.bandwidth, "limiter": self.limiter, "speed": self.speed}
        for field, value in rates.items():
            if value is not None:
                finite(field, value, above=0)
        for title in ("loopback", "backbone"):
            if (link := getattr(self, title, None)) is not None:
                finite(f"bandwidth of the {title}", link.bandwidth, 0)
                finite(f"latency of the {title}", link.latency, 0)
        costs = self.costs()
        passages = self.assemble(assembly, name)
        kind = str(self.__struct_config__.tag)
        platform = assembly.platform(self.name or kind, kind, passages, self)
        sockets, hosts = self.sockets_of_nodes(), platform.hosts
        changes: dict[str, Any] = {"sockets": np.array(sockets, np.int64)} if sockets else {}
        if self.power is not None:
            changes["watts"] = np.tile(costs[:-1], (hosts, 1))
        if self.price is not None:
            changes["prices"] = np.full(hosts, costs[-1])
        return replace(platform, **changes) if changes else platform

    def costs(self) -> NDArray[np.float64]:
        """Return the watts and the price of a host, NaN where they are not known; `InputError` where they are wrong."""
        power = self.power
        watts = NO_COSTS[:-1] if power is None else (power.idle, power.epsilon, power.all, power.off)
        for name, value in zip(Power.__struct_fields__, watts, strict=True):
            if power is not None:
                finite(f"power: {name}", value, 0)
        if self.price is not None:
            finite("price", self.price, 0)
        return np.array([*watts, math.nan if self.price is None else self.price])

    def sockets_of_nodes(self) -> Sequence[int]:
        """Return how many hosts, one after the other, are sockets of each node; nothing where a host is a node."""
        return ()

    def add_cables(self, assembly: Assembly, count: int, name: Name, times: float = 1) -> int:
        """Add cables of a given width; return the number of their first link."""
        return assembly.add_links(count, self.bandwidth * times, self.latency, name, self.sharing)

    def add_host_links(
        self, assembly: Assembly, hosts: int, name: Name, nodes: int = 0, switch: Name | None = None
    ) -> dict[str, NDArray[np.int64]]:
        """Add limiters and loopbacks and return their numbers; nodes beyond the hosts are switches."""
        limiter = loopback = np.empty(0, np.int64)
        if self.limiter is not None:
            first = assembly.add_links(hosts, self.limiter, 0.0, lambda host: f"{name(host)} limiter", "shared")
            if switch is not None:
                assembly.add_links(nodes - hosts, self.limiter, 0.0, lambda i: f"{switch(i)} limiter", "shared")
            limiter = first + np.arange(max(hosts, nodes))
        if self.loopback is not None:
            loopback = np.arange(hosts) + assembly.add_links(
                hosts, self.loopback.bandwidth, self.loopback.latency, lambda i: f"{name(i)} loopback", "fatpipe"
            )
        return {"limiter": limiter, "loopback": loopback}

    def regular_zone(self, kind: str, sizes: Sequence[int], first: int, **more: Any) -> dict[str, Any]:
        """Return a zone whose links are numbered by a rule, from the first on; the sizes' product is its hosts."""
        hosts = prod(sizes)
        numbers = {"hosts": hosts, "points": hosts, "directions": self.directions, "first_link": first}
        return {"kind": kind, "sizes": tuple(sizes), **numbers, **more}


def check_sizes(sizes: Sequence[int], title: str) -> int:
    """Return the product of sizes; raise where it exceeds the largest number of hosts."""
    if prod(integer(title, size) for size in sizes) > MOST_HOSTS:
        raise InputError(f"{title} {list(sizes)}: all must be at least 1, and their product at most {MOST_HOSTS}")
    return prod(sizes)


def make(kind: type[Topology], **fields: Any) -> Platform:
    """Return a platform of a topology; pairs of numbers stand for links."""
    if unknown := [name for name in fields if name not in kind.__struct_fields__]:
        raise InputError(f"unknown argument {unknown[0]}: {choice_of(unknown[0], kind.__struct_fields__)}")
    for field, link in (("loopback", Link), ("backbone", Backbone)):
        if isinstance(fields.get(field), tuple):
            fields[field] = link(*fields[field])
    if isinstance(fields.get("power"), tuple):
        fields["power"] = Power(*fields["power"])
    return kind(**fields).build()


def _namer(pattern: str) -> Name:
    before, mark, after = pattern.partition("{}")
    if not mark or len(pattern) > 1000:
        raise InputError(f"host_names {pattern[:80]!r}: it must hold {{}} for the number, like node-{{}}")
    return lambda place: f"{before}{place}{after}"
