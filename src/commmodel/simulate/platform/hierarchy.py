"""Zones within zones, flattened: leaf zones with hosts, and for each two of them the links between.

A route between hosts of two leaf zones is a route from the host to the point where its zone is left, a list of links
that is the same for all hosts of the zone, and a route from the point where the other is entered. Main entry:
`passages`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel._core.routing.routes import Routing, shortest
from commmodel.errors import InputError

Point = tuple[int, int]
"""Leaf zone and point in it; point −1 is its gateway."""
_MOST_POINTS = 2048
_MOST_LEAVES = 2048
_MOST_CUTS = 1 << 22
Cuts = NDArray[np.int64]
"""Two hosts each, from which to which no route leads, shape (pairs, 2)."""


class NoRouteError(InputError):
    """That there is no route, which matters only where ranks need it."""


@dataclass
class Leaf:
    """A leaf zone."""

    name: str
    zone: dict[str, Any]
    routes: Mapping[tuple[int, int], Sequence[int]] | None = None
    """Of tables: points -> links; those that are not there have no route."""
    links: int = 0
    """All links there are so far, its own among them."""
    routing: Routing | None = None
    reach: dict[tuple[int, bool], list[int]] = field(default_factory=dict)

    def route(self, source: int, destination: int) -> list[int]:
        """Return the links between two points."""
        if source == destination:
            return []
        if self.routes is not None:
            if (source, destination) not in self.routes:
                raise NoRouteError(f"zone {self.name!r} has no route from point {source} to point {destination}")
            return list(self.routes[source, destination])
        if self.zone["kind"] == "star":
            star, links = self.zone, []
            if source >= 0:
                links += [int(star["limiter"][source]), int(star["up"][source])]
            links.append(star["backbone"])
            if destination >= 0:
                links += [int(star["down"][destination]), int(star["limiter"][destination])]
            return [link for link in links if link >= 0]
        if source < 0 or destination < 0:
            return []
        if self.routing is None:
            self.routing = Routing(
                np.ones(self.links), np.zeros(self.links), np.zeros(self.links, np.uint8), [self.zone]
            )
        return self.routing.route(source, destination)

    def cut_off(self, point: int, leaving: bool) -> list[int]:
        """Return the hosts without a route to the point where the zone is left, or from that where it is entered."""
        if self.routes is None:
            return []
        if (point, leaving) not in self.reach:
            ends = (((host, point) if leaving else (point, host), host) for host in range(self.zone["hosts"]))
            self.reach[point, leaving] = [host for pair, host in ends if host != point and pair not in self.routes]
        return self.reach[point, leaving]


@dataclass
class Tree:
    """A zone with its inner zones."""

    name: str
    parent: "Tree | None" = None
    leaf: int | None = None
    """Number of its own hosts' and routers' zone."""
    between: dict[tuple[str, str], tuple[Point, list[int], Point]] = field(default_factory=dict)
    """Names of two inner zones -> where the one is left, links, where the other is entered."""
    is_shortest: bool = False
    """Whether routes between inner zones are the shortest ones through others."""
    order: list[str] = field(default_factory=list)
    """Of inner zones."""

    def ancestors(self) -> list["Tree"]:
        """Return this zone and those around it, the outermost first."""
        return [*(self.parent.ancestors() if self.parent else []), self]


def shortest_routes(points: int, hops: Mapping[tuple[int, int], Sequence[int]]) -> "ShortestRoutes":
    """Return the routes between points that take the fewest links (Floyd, 1962), made of hops: points -> links.

    Of equally long routes the first one found stands, points in their order.
    """
    _check_points(points)
    distance = np.full((points, points), np.inf)
    for ends, links in hops.items():
        distance[ends] = len(links)
    return ShortestRoutes(hops, shortest(distance)[1])


def _check_points(points: int) -> None:
    if points > _MOST_POINTS:
        raise InputError(f"{points} points of a zone with the shortest routes: at most {_MOST_POINTS}")


@dataclass(frozen=True, eq=False)
class ShortestRoutes(Mapping[tuple[int, int], Sequence[int]]):
    """Routes over hops: points -> links, put together on request."""

    hops: Mapping[tuple[int, int], Sequence[int]]
    before: NDArray[np.int32]
    """Shape (points, points): of each route the point before the last."""

    def __getitem__(self, ends: tuple[int, int]) -> list[int]:
        if ends not in self:
            raise KeyError(ends)
        if ends[0] == ends[1]:
            return list(self.hops[ends])
        return [link for hop in pairwise(walk(self.before, *ends)) for link in self.hops[hop]]

    def __contains__(self, ends: object) -> bool:
        if not isinstance(ends, tuple):
            return False
        return ends in self.hops or (ends[0] != ends[1] and bool(self.before[ends] >= 0))

    def __iter__(self) -> Iterator[tuple[int, int]]:
        size = self.before.shape[0]
        return (ends for ends in product(range(size), range(size)) if ends in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `commmodel._core.routing.routes.Routing` takes."""
        ordered = sorted(self.hops)
        counts = np.bincount([source for source, _ in ordered], minlength=self.before.shape[0])
        return {
            "before": self.before,
            "first": np.concatenate([[0], np.cumsum(counts)]),
            "ends": np.array([destination for _, destination in ordered], np.int64),
            "offsets": np.cumsum([0, *(len(self.hops[ends]) for ends in ordered)]),
            "links": np.array([link for ends in ordered for link in self.hops[ends]], np.int64),
        }


def walk(before: NDArray[np.int32], source: int, destination: int) -> list[int]:
    """Return the points of a route."""
    points = [destination]
    while points[-1] != source:
        points.append(int(before[source, points[-1]]))
        if points[-1] < 0 or len(points) > before.shape[0]:
            raise InputError(f"no route from point {source} to point {destination}")
    return points[::-1]


def table_of(points: int, routes: Mapping[tuple[int, int], Sequence[int]]) -> dict[str, NDArray[np.int64]]:
    """Return offsets and links of the routes between all points, as `commmodel._core.routing.routes` takes them."""
    if points > _MOST_POINTS:
        raise InputError(f"{points} hosts and routers in one zone of routes: at most {_MOST_POINTS}; take a cluster")
    counts = np.zeros(points * points + 1, np.int64)
    ordered = sorted(routes)
    for source, destination in ordered:
        counts[source * points + destination + 1] = len(routes[source, destination])
    links = np.array([link for pair in ordered for link in routes[pair]], np.int64)
    return {"offsets": np.cumsum(counts), "links": links}


class _Finder:
    """Finds what lies between leaf zones, each pair once."""

    def __init__(self, leaves: Sequence[Leaf], trees: Sequence[Tree]) -> None:
        self.leaves = leaves
        self.ancestors = [tree.ancestors() for tree in trees]
        self.passages_of: dict[tuple[int, int], tuple[int, list[int], int]] = {}
        self.paths: dict[int, tuple[dict[str, int], NDArray[np.int32]]] = {}

    def route(self, source: Point, destination: Point) -> list[int]:
        """Return the links between any two points."""
        first, last = self.leaves[source[0]], self.leaves[destination[0]]
        if first is last:
            return first.route(source[1], destination[1])
        leave, links, enter = self.between(source[0], destination[0])
        return [*first.route(source[1], leave), *links, *last.route(enter, destination[1])]

    def between(self, source: int, other: int) -> tuple[int, list[int], int]:
        """Return where one leaf is left, links, and where the other is entered."""
        if (source, other) not in self.passages_of:
            ancestors, other_ancestors = self.ancestors[source], self.ancestors[other]
            depth = 0
            while depth < min(len(ancestors), len(other_ancestors)) and ancestors[depth] is other_ancestors[depth]:
                depth += 1
            if depth in (len(ancestors), len(other_ancestors)):
                names = f"{self.leaves[source].name!r} and {self.leaves[other].name!r}"
                raise InputError(f"zones {names}: no routes between hosts of a zone and those of one within it")
            first, links, last = self.routed(ancestors[depth - 1], ancestors[depth].name, other_ancestors[depth].name)
            leave, enter = first[1], last[1]
            if first[0] != source:
                leave, before, arrive = self.between(source, first[0])
                links = [*before, *self.leaves[first[0]].route(arrive, first[1]), *links]
            if last[0] != other:
                depart, after, enter = self.between(last[0], other)
                links = [*links, *self.leaves[last[0]].route(last[1], depart), *after]
            self.passages_of[source, other] = leave, links, enter
        return self.passages_of[source, other]

    def routed(self, tree: Tree, source: str, other: str) -> tuple[Point, list[int], Point]:
        """Return the route between two inner zones of a zone."""
        if (source, other) in tree.between:
            direct = tree.between[source, other]
            if not tree.is_shortest:
                return direct
        elif not tree.is_shortest:
            raise NoRouteError(f"zone {tree.name!r}: no route from zone {source!r} to zone {other!r}")
        if id(tree) not in self.paths:
            numbers = {name: number for number, name in enumerate(tree.order)}
            hops = {(numbers[a], numbers[b]): route[1] for (a, b), route in tree.between.items()}
            self.paths[id(tree)] = numbers, shortest_routes(len(numbers), hops).before
        numbers, before = self.paths[id(tree)]
        try:
            names = [tree.order[number] for number in walk(before, numbers[source], numbers[other])]
        except InputError:
            raise NoRouteError(f"zone {tree.name!r}: no route from zone {source!r} to zone {other!r}") from None
        routes = [tree.between[pair] for pair in pairwise(names)]
        links = list(routes[0][1])
        for previous, following in pairwise(routes):
            links += [*self.route(previous[2], following[0]), *following[1]]
        return routes[0][0], links, routes[-1][2]


def passages(leaves: Sequence[Leaf], trees: Sequence[Tree]) -> tuple[dict[str, Any] | None, Cuts]:
    """Return what is between leaf zones, as `commmodel._core.routing.routes` takes it; None for one zone.

    Also returned are the hosts of two zones each between which no route leads, shape (pairs, 2).

    Parameters
    ----------
    leaves : sequence of Leaf
    trees : sequence of Tree
        The zone of each leaf.
    """
    count = len(leaves)
    cuts: list[Cuts] = [np.zeros((0, 2), np.int64)]
    if count == 1:
        return None, cuts[0]
    if count > _MOST_LEAVES:
        raise InputError(f"{count} zones with hosts or routers: at most {_MOST_LEAVES}")
    finder = _Finder(leaves, trees)
    default = [0 if leaf.zone["kind"] in {"table", "hops"} else -1 for leaf in leaves]
    leave = np.tile(np.array(default, np.int64)[:, None], (1, count))
    enter = np.tile(np.array(default, np.int64)[None, :], (count, 1))
    offsets = np.zeros(count * count + 1, np.int64)
    lists: list[int] = []
    first = np.concatenate([[0], np.cumsum([leaf.zone["hosts"] for leaf in leaves])])
    hosts = [np.arange(begin, end) for begin, end in pairwise(first.tolist())]

    def cut(sources: NDArray[np.int64], targets: NDArray[np.int64]) -> None:
        if sum(map(len, cuts)) + sources.size * targets.size > _MOST_CUTS:
            raise InputError(f"more than {_MOST_CUTS} pairs of hosts without a route between them: add routes")
        cuts.append(np.stack(np.meshgrid(sources, targets, indexing="ij"), axis=-1).reshape(-1, 2))

    for source in range(count):
        for other in range(count):
            if source != other and leaves[source].zone["hosts"] and leaves[other].zone["hosts"]:
                try:
                    leave[source, other], links, enter[source, other] = finder.between(source, other)
                except NoRouteError:
                    cut(hosts[source], hosts[other])
                else:
                    lists += links
                    if off := leaves[source].cut_off(int(leave[source, other]), leaving=True):
                        cut(first[source] + np.array(off), hosts[other])
                    if off := leaves[other].cut_off(int(enter[source, other]), leaving=False):
                        cut(hosts[source], first[other] + np.array(off))
                if len(lists) > 2**26:
                    raise InputError("the routes between zones are too many or too long")
            offsets[source * count + other + 1] = len(lists)
    between = {"leave": leave, "enter": enter, "offsets": offsets, "links": np.array(lists, np.int64)}
    return between, np.concatenate(cuts)
