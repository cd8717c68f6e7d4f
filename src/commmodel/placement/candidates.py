"""Mappings of ranks to seats that keep traffic near. Main entry: `candidate_hosts`."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from commmodel.placement.nodes import Hosts, Seats
from commmodel.placement.partition import Graph, partition

_MOST_SWAPPED = 512
"""Nodes up to which pairs of them are exchanged."""
_NO_LESS = 1e-9
"""Share of all by which an exchange saves nothing."""
Integers = NDArray[np.int64]


def candidate_hosts(graph: Graph, seats: Seats, even: Seats) -> Iterator[tuple[str, Hosts]]:
    """Yield names of mappings and the host of each rank: block, round-robin, and those that cut few bytes.

    Parameters
    ----------
    graph : Graph
        Bytes between ranks.
    seats : Seats
        Of ranks in blocks.
    even : Seats
        With as many ranks on each node, or one more.
    """
    yield "block", seats.hosts
    yield "round-robin", _round_robin(even)
    for seating in [seats] if np.array_equal(seats.hosts, even.hosts) else [seats, even]:
        words = "" if seating is seats else ", spread evenly"
        sizes = np.bincount(seating.node_of_seat).tolist()
        parts = {"by halves": partition(graph, sizes)}
        levels = seating.levels
        if not _are_halves(len(sizes), levels):
            parts["by levels"] = _by_levels(graph, sizes, levels)
        block = np.repeat(np.arange(len(sizes)), sizes)
        least = min(parts, key=lambda name: graph.cut(parts[name]))
        for name, part in (("block", block), (least, parts[least])):
            exchanged = _exchanged(graph, part, sizes, seating.distances)
            if exchanged is not None:
                parts[f"{name}, nodes exchanged"] = exchanged
        for name, part in parts.items():
            yield name + words, _on_hosts(graph, seating, part)


def _round_robin(seats: Seats) -> Hosts:
    node = seats.node_of_seat
    turn = np.arange(node.size) - np.searchsorted(node, node)
    return seats.hosts[np.lexsort((node, turn))]


def _are_halves(nodes: int, levels: list[Integers]) -> bool:
    """Whether halving the nodes again and again comes by all groups of all levels."""
    ranges, left = set(), [(0, nodes)]
    for begin, end in left:
        ranges.add((begin, end))
        middle = begin + (end - begin) // 2
        left += [(begin, middle), (middle, end)] if end - begin > 1 else []
    for group in levels:
        ends = [0, *(np.flatnonzero(np.diff(group)) + 1).tolist(), nodes]
        if len(ends) != int(group.max()) + 2 or not ranges.issuperset(pairwise(ends)):
            return False
    return True


def _by_levels(graph: Graph, sizes: list[int], levels: list[Integers]) -> Integers:
    """Return the node of each rank, found group by group from the largest groups down to nodes."""
    room = np.asarray(sizes)
    parts = np.zeros(graph.vertices, np.int64)

    def divide(part_graph: Graph, ranks: Integers, nodes: Integers, depth: int) -> None:
        group = levels[depth][nodes] if depth < len(levels) else nodes
        names = np.unique(group)
        members = [nodes[group == name] for name in names]
        if len(members) == 1 and depth == len(levels):
            parts[ranks] = nodes[0]
            return
        chosen = partition(part_graph, [int(room[part].sum()) for part in members])
        for number, part in enumerate(members):
            inside = np.flatnonzero(chosen == number)
            divide(part_graph.within(inside), ranks[inside], part, min(depth + 1, len(levels)))

    divide(graph, np.arange(graph.vertices), np.arange(room.size), 0)
    return parts


def _exchanged(graph: Graph, parts: Integers, sizes: list[int], distances: Integers | None) -> Integers | None:
    """Return the parts with those of a size exchanged; None where that does not help, or there are too many.

    A part's place is good where few links carry many of its bytes: each exchange is the one that saves most, from the
    order in which parts are and from that of their ranks.
    """
    count = len(sizes)
    if distances is None or not 2 < count <= _MOST_SWAPPED:
        return None
    between = graph.merged(parts, count)
    weight = np.zeros((count, count))
    weight[between.sources, between.neighbours] = between.weights
    ranks = np.bincount(parts, np.arange(parts.size), count) / sizes
    starts = [np.arange(count)]
    if len({*sizes}) == 1:
        starts.append(np.argsort(np.argsort(ranks, kind="stable")))
    places = [_nearer(weight, distances.astype(np.float64), start, sizes) for start in starts]
    best = min(places, key=lambda place: float((weight * distances[np.ix_(place, place)]).sum()))
    return best[parts] if (best != starts[0]).any() else None


def _nearer(weight: NDArray[np.float64], distances: NDArray[np.float64], place: Integers, sizes: list[int]) -> Integers:
    """Return the place of each part after all exchanges that let fewer links carry bytes."""
    place, far = place.copy(), distances[np.ix_(place, place)]
    is_apart = np.not_equal.outer(sizes, sizes) | np.eye(len(sizes), dtype=np.bool_)
    cost = weight @ far  # of each part at the place of each other
    for _ in range(4 * len(sizes)):
        current = np.diag(cost)
        change = cost + cost.T - current[:, None] - current[None, :] + 2 * weight * far
        change[is_apart] = 0.0
        pair = [*divmod(int(change.argmin()), len(sizes))]
        if change[pair[0], pair[1]] >= -_NO_LESS * float(current.sum()):
            break
        place[pair] = place[pair[::-1]]
        cost[:, pair] = cost[:, pair[::-1]]
        far[pair] = far[pair[::-1]]
        before = far[:, pair].copy()
        far[:, pair] = far[:, pair[::-1]]
        cost += weight[:, pair] @ (far[:, pair] - before).T
    return place


def _on_hosts(graph: Graph, seats: Seats, parts: Integers) -> Hosts:
    """Return the host of each rank on the nodes that parts are; sockets of a node are parts of its ranks again."""
    hosts = np.empty(parts.size, np.int32)
    ends = np.cumsum(np.bincount(seats.node_of_seat))
    order = np.argsort(parts, kind="stable")
    for begin, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        ranks, room = order[begin:end], seats.hosts[begin:end]
        names, counts = np.unique(room, return_counts=True)
        inner = partition(graph.within(ranks), counts.tolist()) if names.size > 1 else np.zeros(ranks.size, np.int64)
        hosts[ranks] = names[inner]
    return hosts
