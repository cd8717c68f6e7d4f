"""A platform: hosts, links, and the routes between hosts, which are computed on request.

Every direction of a link that shares bandwidth for itself is one link here. `Assembly` collects links and zones of any
kind and makes a `Platform` of them; builders and readers use it. Main entries: `Platform`, `Assembly`.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commmodel._core.routing.routes import Routing
from commmodel.arguments import Count, Whole, choice, enough_memory, integer, rank_count, refuse, whole
from commmodel.errors import InputError
from commmodel.signatures import checked
from commmodel.values import Value

MOST_HOSTS = 2**22
_MOST_ROUTED = 128
"""Hosts between which all routes are computed to see which links they use; of more, all links."""
MOST_LINKS = 2**25
"""Each direction that has bandwidth for itself is one."""
_LINK = 220
"""Bytes of a direction of a link, with its share of a host: here, in the routes and in the engine."""
_LOOK = 1 << 18
NO_COSTS = (math.nan,) * 5
"""Watts and price of a host of which none are known."""
Sharing = Literal["split", "shared", "fatpipe"]
"""Each direction for itself; both directions together; each flow for itself."""
MappingRule = Literal["block", "round-robin"]


class LazyNames(Sequence[str]):
    """Names on request, so that those of a million hosts need no memory.

    >>> names = LazyNames([(2, "node-{}".format), (1, lambda place: "server")])
    >>> len(names), names[1], list(names)
    (3, 'node-1', ['node-0', 'node-1', 'server'])
    """

    def __init__(self, pieces: Sequence[tuple[int, Callable[[int], str]]]) -> None:
        self._functions = [function for _, function in pieces]
        self._ends = np.cumsum([count for count, _ in pieces], dtype=np.int64).tolist()

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"{index}: there are {len(self)} names")
        piece = bisect_right(self._ends, place)
        return self._functions[piece](place - (self._ends[piece - 1] if piece else 0))

    def __reduce__(self) -> Any:
        """Pickle the names: functions that make them are seldom importable."""
        return tuple, ([*self],)


@dataclass(frozen=True, repr=False)
class Platform(Value):
    """Hosts, links and routes."""

    name: str
    kind: str
    host_names: Sequence[str]
    speeds: NDArray[np.float64]
    """Flop/s of one core, shape (hosts,)."""
    cores: NDArray[np.int64]
    """Shape (hosts,)."""
    link_names: Sequence[str]
    """One for each direction, ``node-0 up``, ``node-0 down``; without it where both directions share."""
    capacity: NDArray[np.float64]
    """B/s, shape (links,)."""
    latency: NDArray[np.float64]
    """Seconds, shape (links,)."""
    fatpipe: NDArray[np.uint8]
    """1 where each flow may have all of the capacity, shape (links,)."""
    zones: Sequence[Mapping[str, Any]]
    passages: Mapping[str, Any] | None = None
    """What `commmodel._core.routing.routes.Routing` computes routes from."""
    description: Any = None
    """What `commmodel.simulate.platform.dump` writes; None where the platform has no such form."""
    without_route: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """Two hosts each, from which to which no route leads, shape (pairs, 2): no ranks may be on both."""
    notes: tuple[str, ...] = ()
    """What the reader of a file has passed over."""
    changes: tuple[tuple[str, int, float, str], ...] = ()
    """When hosts and links first change, which is not simulated: host or link, its number, seconds, what says so."""
    sockets: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """How many hosts, one after the other, are sockets of a node each, shape (nodes,); empty where hosts are nodes."""
    watts: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 4)))
    """Watts of each host when it is idle, has a load of next to nothing, has all cores busy, and is off, shape
    (hosts, 4). NaN where a host's are not known; empty where those of none are."""
    prices: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """Price of each host and hour, in any currency, shape (hosts,). NaN and empty as `watts`."""

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return self.speeds.size

    def __repr__(self) -> str:
        """Return the name, the kind, and the numbers of hosts and links."""
        return f"Platform({self.name!r}, {self.kind}, {self.hosts} hosts, {self.capacity.size} links)"

    def _content(self) -> Sequence[Any]:
        return super()._content() if self.description is None else [self.description]

    def __reduce__(self) -> Any:
        """Pickle the description, or where there is none, hosts and links; routes are computed anew."""
        if self.description is not None:
            return self.description.build, ()
        return Platform, tuple(getattr(self, field.name) for field in fields(self))

    @cached_property
    def _routing(self) -> Routing:
        try:
            return Routing(self.capacity, self.latency, self.fatpipe, self.zones, self.passages)
        except ValueError as error:
            raise InputError(f"platform {self.name!r}: {error}") from None

    @cached_property
    def node_of(self) -> NDArray[np.int64]:
        """The node of each host, shape (hosts,)."""
        return np.repeat(np.arange(self.sockets.size), self.sockets) if self.sockets.size else np.arange(self.hosts)

    def node_name(self, host: int) -> str:
        """Return the name of a host's node, as a program on it is told.

        >>> from commmodel.simulate.platform import cabinets
        >>> two = cabinets([2, 2], 50e9, 1e-7, (20e9, 1e-6), are_nodes=True)
        >>> two.host_names[3], two.node_name(3)
        ('node-1/1', 'node-1')
        """
        name = self.host_names[host]
        return name.rpartition("/")[0] if self.sockets.size else name

    def seats(self, node: int, ranks: int | None = None) -> NDArray[np.int32]:
        """Return the host of each of so many ranks on a node, by default of one on each of its cores.

        On a node of several sockets they are spread in equal parts over these.

        >>> from commmodel.simulate.platform import cabinets
        >>> two = cabinets([2, 2], 50e9, 1e-7, (20e9, 1e-6), are_nodes=True, cores=2)
        >>> two.seats(1).tolist(), two.seats(1, 2).tolist()
        ([2, 2, 3, 3], [2, 3])
        """
        count = int(self.sockets[node]) if self.sockets.size else 1
        first = int(self.sockets[:node].sum()) if self.sockets.size else node
        hosts = np.arange(first, first + count, dtype=np.int32)
        if ranks is None:
            return np.repeat(hosts, self.cores[hosts])
        return hosts[np.arange(ranks) * count // ranks] if ranks else hosts[:0]

    def routing(self) -> Routing:
        """Return the object that computes routes, the same at each call."""
        return self._routing

    @checked
    @checked
    def route(self, source: Whole, destination: Whole) -> list[str]:
        """Return the names of the links from one host to another.

        Parameters
        ----------
        source, destination : int
            Numbers of hosts, from 0.
        """
        for name, host in (("source", source), ("destination", destination)):
            whole(name, host, 0, self.hosts - 1)
        self.refuse_hosts(np.array([source, destination]))
        return [self.link_names[link] for link in self.routing().route(source, destination)]

    def refuse_hosts(self, hosts: NDArray[np.integer[Any]], *, compute: bool = False) -> None:
        """Raise where no route leads between two of some hosts, or where they are to compute and one has speed 0."""
        is_used = np.zeros(self.hosts, np.bool_)
        is_used[hosts[(hosts >= 0) & (hosts < self.hosts)]] = True
        cut = self.without_route[is_used[self.without_route].all(axis=1)]
        if len(cut):
            source, other = (self.host_names[host] for host in cut[0].tolist())
            problem = f"platform {self.name!r}: no route from {source!r} to {other!r}: put ranks on other hosts"
            raise InputError(f"{problem} with `mapping`, or add the route")
        still = np.flatnonzero(is_used & (self.speeds == 0)).tolist() if compute else []
        if still:
            problem = f"platform {self.name!r}: host {self.host_names[still[0]]!r} has speed 0"
            raise InputError(f"{problem}: put ranks on other hosts with `mapping`")

    def refuse_changes(self, hosts: NDArray[np.integer[Any]], seconds: float) -> None:
        """Raise where a host of some, or a link between them, changes within a simulation of so many seconds."""
        late = [change for change in self.changes if change[2] < seconds]
        if not late:
            return
        used = np.unique(hosts).tolist()
        links = set(range(self.capacity.size))
        if len(used) <= _MOST_ROUTED:
            links = {link for source in used for other in used for link in self.routing().route(source, other)}
        for kind, number, first, where in late:
            if number in (used if kind == "host" else links):
                name = (self.host_names if kind == "host" else self.link_names)[number]
                problem = f"platform {self.name!r}: {kind} {name!r} changes at {first:g} s ({where})"
                raise InputError(f"{problem}, but the simulation takes {seconds:g} s: take the profile out")

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.host_names)}

    def host(self, name: str) -> int:
        """Return the number of the host of that name."""
        try:
            return self._numbers[name]
        except KeyError:
            names = ", ".join(self.host_names[:3]) + (", ..." if self.hosts > 3 else "")
            raise InputError(f"platform {self.name!r} has no host {name!r}; its hosts are {names}") from None

    @checked
    def place(
        self, processes: Count, mapping: str | int | Sequence[int] | Sequence[str] = "block"
    ) -> NDArray[np.int32]:
        """Return the host of each rank.

        Parameters
        ----------
        processes : int
            How many ranks there are.
        mapping : str, int or sequence
            ``block`` fills the cores of a host before it goes to the next; ``round-robin`` goes on to the next host
            with every rank; a number, 1 or more, puts so many ranks on each host, one after the other, whatever its
            cores, or on each node of several sockets, in equal parts on these; or the number or name of each rank's
            host; of fewer hosts each gets as many ranks as all others, one after the other.

        Returns
        -------
        array of int32, shape (processes,)

        Raises
        ------
        InputError
            Where a block mapping needs more cores or hosts than there are, or a host is not there.

        Examples
        --------
        >>> from commmodel.simulate.platform import flat
        >>> two = flat(hosts=2, bandwidth=125e6, latency=15e-6, cores=2)
        >>> two.place(4).tolist(), two.place(4, "round-robin").tolist(), two.place(3, ["node-1"]).tolist()
        ([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1])
        >>> two.place(2, 1).tolist()
        [0, 1]
        """
        rank_count(processes)
        if isinstance(mapping, int):
            return self._place_per_host(processes, mapping)
        if isinstance(mapping, str):
            if choice("mapping", mapping, MappingRule) == "block":
                if processes > (room := int(self.cores.sum())):
                    problem = f"{processes} processes on {room} cores of platform {self.name!r}"
                    raise InputError(f"{problem}: take fewer, or the mapping round-robin")
                ends = np.cumsum(self.cores)
                return np.searchsorted(ends, np.arange(processes), side="right").astype(np.int32)
            return (np.arange(processes) % self.hosts).astype(np.int32)
        if not len(mapping):
            raise refuse("mapping", mapping, "name at least one host")
        numbers = np.array([self.host(host) if isinstance(host, str) else int(host) for host in mapping], np.int64)
        if wrong := numbers[(numbers < 0) | (numbers >= self.hosts)].tolist():
            raise refuse("mapping", wrong[0], f"hosts are 0 to {self.hosts - 1}")
        if processes > numbers.size and processes % numbers.size:
            mend = f"{numbers.size} hosts for {processes} processes: name the host of each, or as many as divide them"
            raise refuse("mapping", mapping, mend)
        return np.resize(numbers, processes).astype(np.int32)

    def _place_per_host(self, processes: int, per_host: int) -> NDArray[np.int32]:
        """Return the host of each rank, so many of them on each."""
        numbers, room = np.arange(processes), self.sockets.size or self.hosts
        nodes = numbers // integer("mapping", per_host)
        if (needed := int(nodes[-1]) + 1) > room:
            problem = f"{processes} processes, {per_host} per node, are {needed} nodes; platform {self.name!r} has"
            raise InputError(f"{problem} {room}: take fewer, or more per node")
        if not self.sockets.size:
            return nodes.astype(np.int32)
        first = np.cumsum(self.sockets) - self.sockets
        return (first[nodes] + numbers % per_host * self.sockets[nodes] // per_host).astype(np.int32)

    def summary(self) -> dict[str, Any]:
        """Return a summary of the platform, with numbers in base units.

        The diameter and the mean number of links of a route are those of a sample of pairs of hosts, of all pairs up to
        64 hosts.
        """
        hosts = self.hosts
        if hosts <= 64:
            ends = [(source, destination) for source in range(hosts) for destination in range(hosts)]
        else:
            generator = np.random.default_rng(0)
            ends = generator.integers(0, hosts, (4096, 2)).tolist()
        routing = self.routing()
        cut = {*map(tuple, self.without_route.tolist())}
        routes = [routing.route(*pair) for pair in ends if pair[0] != pair[1] and tuple(pair) not in cut]
        latencies = [math.fsum(routing.latency[route]) for route in routes]
        return {
            "name": self.name,
            "kind": self.kind,
            "hosts": hosts,
            "cores": int(self.cores.sum()),
            "flops": float((self.speeds * self.cores).sum()),
            "links": self.capacity.size,
            "longest_route": max(map(len, routes), default=0),
            "mean_route": float(np.mean([len(route) for route in routes])) if routes else 0.0,
            "longest_latency": max(latencies, default=0.0),
            "bisection": self.bisection() if hosts > 1 else math.inf,
        }

    def bisection(self) -> float:
        """Return the bytes per second that the first half of the hosts can send to the second, host by host.

        Host i of the first half sends to host i of the second; each flow has one unit of every link of its route. This
        is the rate of the slowest flow, were all links shared equally, times the number of flows; of a symmetric
        platform it is the bandwidth of its bisection.
        """
        half = self.hosts // 2
        first = np.arange(half)
        used = self.routing().count(first, first + half)
        shared = (used > 0) & (self.fatpipe == 0)
        alone = (used > 0) & (self.fatpipe != 0)
        slowest = min(
            float((self.capacity[shared] / used[shared]).min(initial=math.inf)),
            float(self.capacity[alone].min(initial=math.inf)),
        )
        return slowest * half


@dataclass
class Assembly:
    """Links and zones of a platform under construction."""

    _names: list[tuple[int, Callable[[int], str]]] = field(default_factory=list)
    _columns: list[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.uint8]]] = field(default_factory=list)
    _hosts: list[tuple[int, Callable[[int], str]]] = field(default_factory=list)
    _speeds: list[NDArray[np.float64]] = field(default_factory=list)
    _cores: list[NDArray[np.int64]] = field(default_factory=list)
    _costs: list[NDArray[np.float64]] = field(default_factory=list)
    zones: list[dict[str, Any]] = field(default_factory=list)
    links: int = 0
    hosts: int = 0

    def add_links(
        self,
        count: int,
        capacity: ArrayLike,
        latency: ArrayLike,
        name: Callable[[int], str],
        sharing: Sharing = "split",
    ) -> int:
        """Add links of equal sharing; return the number of the first. A split link counts as two, up before down.

        capacity and latency are numbers, or arrays of shape (count,).
        """
        choice("sharing", sharing, Sharing)
        directions = 2 if sharing == "split" else 1
        if self.links + count * directions > MOST_LINKS:
            raise InputError(f"more than {MOST_LINKS} links")
        before, self.links = self.links, self.links + count * directions
        if before // _LOOK != self.links // _LOOK:  # a file lists links one at a time: not at each of them
            enough_memory(self.links * _LINK, f"{self.links} links")
        rates, times = (
            np.full(count * directions, values, np.float64)  # a file lists links by the thousand, one at a time
            if isinstance(values, float)
            else np.repeat(np.broadcast_to(np.asarray(values, np.float64), (count,)), directions)
            for values in (capacity, latency)
        )
        if not ((rates > 0) & (times >= 0) & (times < math.inf)).all():
            bad = int(np.flatnonzero(~((rates > 0) & (times >= 0) & np.isfinite(times)))[0]) // directions
            raise InputError(f"link {name(bad)!r}: a bandwidth must be above 0, a latency finite and not negative")
        self._columns.append((rates, times, np.full(rates.size, sharing == "fatpipe", np.uint8)))
        if directions == 2:
            self._names.append((2 * count, lambda place: f"{name(place // 2)} {'down' if place % 2 else 'up'}"))
        else:
            self._names.append((count, name))
        return before

    def add_zone(
        self,
        zone: dict[str, Any],
        names: Callable[[int], str],
        speeds: ArrayLike = 1e9,
        cores: ArrayLike = 1,
        *,
        costs: ArrayLike = NO_COSTS,
        may_stand: bool = False,
    ) -> None:
        """Add a zone with its hosts, which are numbered zone by zone.

        `costs` are the watts and the price of a host, or of each; may_stand: a speed may be 0.
        """
        count = zone["hosts"]
        if self.hosts + count > MOST_HOSTS:
            raise InputError(f"more than {MOST_HOSTS} hosts")
        self.zones.append(zone)
        self.hosts += count
        self._hosts.append((count, names))
        flops = np.broadcast_to(np.asarray(speeds, np.float64), (count,))
        numbers = np.broadcast_to(np.asarray(cores, np.int64), (count,))
        if not ((flops > 0) & np.isfinite(flops)).all() and not (may_stand and (flops >= 0).all()):
            raise InputError("a host's speed must be finite and above 0")
        if not (numbers >= 1).all():
            raise InputError("a host has at least one core")
        self._speeds.append(flops)
        self._cores.append(numbers)
        rows = np.asarray(costs, np.float64).reshape(-1, len(NO_COSTS))
        self._costs.append(np.broadcast_to(rows, (count, len(NO_COSTS))))

    def platform(
        self, name: str, kind: str, passages: Mapping[str, Any] | None = None, description: Any = None
    ) -> Platform:
        """Return the platform."""
        if not self.hosts:
            raise InputError(f"platform {name!r} has no hosts")
        columns = list(zip(*self._columns, strict=True)) or [(), (), ()]
        platform = Platform(
            name,
            kind,
            LazyNames(self._hosts),
            np.concatenate(self._speeds),
            np.concatenate(self._cores),
            LazyNames(self._names),
            np.concatenate([np.empty(0), *columns[0]]),
            np.concatenate([np.empty(0), *columns[1]]),
            np.concatenate([np.empty(0, np.uint8), *columns[2]]),
            tuple(self.zones),
            passages,
            description,
        )
        platform.routing()  # what contradicts itself is said here
        table = np.concatenate(self._costs)
        watts, prices = table[:, :-1], table[:, -1]
        return replace(
            platform,
            watts=platform.watts if np.isnan(watts).all() else watts,
            prices=platform.prices if np.isnan(prices).all() else prices,
        )
