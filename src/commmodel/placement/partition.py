"""Parts of exact sizes of a graph, with little weight between them. Main entries: `Graph`, `partition`.

METIS (Karypis and Kumar 1998) cuts the graph; as it balances with a tolerance, parts are then repaired until each has
exactly its size, and improved by exchanges of two vertices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from importlib import import_module
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commmodel.arguments import refuse
from commmodel.errors import MissingPackageError
from commmodel.values import Value

Integers = NDArray[np.int64]
_LARGEST_SUM = 1 << 29
"""Of the weights that METIS gets, which adds them up in 32 bits."""
_FINEST = 1e6
"""Of the least weight: more digits say no more."""
_TOLERANCES = (1, 30)
"""Per mille by which METIS may make a half larger: little keeps it right, more lets it move vertices at all."""
_CUTS, _SEEDS, _FEW = 4, 4, 10_000
"""Cuts of METIS in a row, of which it takes the best; numbers that it begins with; vertices up to which it is asked
with each of these and each tolerance."""
_PASSES, _PATIENCE = 8, 50
"""Passes at most, and moves without gain after which one ends."""
_LEAST_GAIN = 1e-9
"""That a move must save; sums of weights are not exact."""


@dataclass(frozen=True)
class Graph(Value):
    """An undirected graph in rows: the neighbours of each vertex, and what weighs between them."""

    starts: Integers
    """Where the neighbours of each vertex begin and end, shape (vertices + 1,)."""
    neighbours: Integers
    """Each edge twice, without loops, shape (2 × edges,)."""
    weights: NDArray[np.float64]
    """Above 0, shape (2 × edges,)."""

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return self.starts.size - 1

    @classmethod
    def of_pairs(cls, vertices: int, source: ArrayLike, destination: ArrayLike, weight: ArrayLike) -> "Graph":
        """Return the graph of what goes between pairs, in either direction and however often they are named.

        >>> graph = Graph.of_pairs(3, [0, 1, 2], [1, 0, 2], [5.0, 2.0, 9.0])
        >>> graph.neighbours.tolist(), graph.weights.tolist()
        ([1, 0], [7.0, 7.0])
        """
        first, second = np.asarray(source, np.int64), np.asarray(destination, np.int64)
        load = np.asarray(weight, np.float64)
        counts = (first != second) & (load > 0)
        first, second, load = first[counts], second[counts], load[counts]
        keys = np.concatenate([first * vertices + second, second * vertices + first])
        edges, place = np.unique(keys, return_inverse=True)
        sums = np.bincount(place.ravel(), np.concatenate([load, load]), edges.size).astype(np.float64)
        rows = np.bincount(edges // vertices, minlength=vertices)
        return cls(np.concatenate([[0], np.cumsum(rows)]).astype(np.int64), edges % vertices, sums)

    @property
    def sources(self) -> Integers:
        """The vertex of each row entry, shape (2 × edges,)."""
        return np.repeat(np.arange(self.vertices), np.diff(self.starts))

    def cut(self, parts: ArrayLike) -> float:
        """Return the weight between different parts.

        >>> Graph.of_pairs(3, [0, 1], [1, 2], [5.0, 2.0]).cut([0, 0, 1])
        2.0
        """
        part = np.asarray(parts)
        return float(self.weights[part[self.sources] != part[self.neighbours]].sum() / 2)

    def within(self, vertices: Integers) -> "Graph":
        """Return the graph of some vertices alone, numbered in their order."""
        number = np.full(self.vertices, -1, np.int64)
        number[vertices] = np.arange(vertices.size)
        source, destination = number[self.sources], number[self.neighbours]
        inside = (source >= 0) & (destination >= 0) & (source < destination)
        return Graph.of_pairs(vertices.size, source[inside], destination[inside], self.weights[inside])

    def merged(self, parts: Integers, count: int) -> "Graph":
        """Return the graph whose vertices are parts of this one."""
        source, destination = parts[self.sources], parts[self.neighbours]
        return Graph.of_pairs(count, source, destination, self.weights / 2)

    def without_base(self) -> "Graph":
        """Return the graph less what lies between all pairs alike, which parts of given sizes always cut alike."""
        vertices = self.vertices
        if self.neighbours.size < vertices * (vertices - 1) or not self.weights.size:
            return self
        rest = self.weights - self.weights.min()
        return Graph.of_pairs(vertices, self.sources, self.neighbours, np.where(rest > 0, rest / 2, 0))


def partition(graph: Graph, sizes: Sequence[int]) -> Integers:
    """Return the part of each vertex; part i has exactly ``sizes[i]`` vertices, and little weight is cut.

    The graph is halved, and each half again, so that parts whose numbers are close have much between them.

    Parameters
    ----------
    graph : Graph
    sizes : sequence of int
        Of the parts, 1 or more; their sum is the number of vertices.

    Raises
    ------
    MissingPackageError
        Without pymetis.

    Examples
    --------
    >>> pairs = Graph.of_pairs(4, [0, 1], [2, 3], [8.0, 8.0])
    >>> parts = partition(pairs, [2, 2])
    >>> bool(parts[0] == parts[2]), bool(parts[1] == parts[3]), pairs.cut(parts)
    (True, True, 0.0)
    """
    if sum(sizes) != graph.vertices or min(sizes, default=0) < 1:
        raise refuse("sizes", sizes, f"give sizes from 1 up whose sum is {graph.vertices}")
    parts = np.zeros(graph.vertices, np.int64)
    _halve(graph.without_base(), [*sizes], np.arange(graph.vertices), 0, parts)
    improved = _Parts(graph, parts, sizes)
    improved.exchange()
    return np.array(improved.part)


def _halve(graph: Graph, sizes: list[int], vertices: Integers, first: int, parts: Integers) -> None:
    """Write the parts, numbered from `first`, of the vertices of a graph."""
    if len(sizes) == 1:
        parts[vertices] = first
        return
    if not graph.neighbours.size:
        parts[vertices] = first + np.repeat(np.arange(len(sizes)), sizes)
        return
    half = len(sizes) // 2
    side = _bisection(graph, sum(sizes[:half]), sum(sizes[half:]))
    for number, inner, begin in ((0, sizes[:half], first), (1, sizes[half:], first + half)):
        members = np.flatnonzero(side == number)
        _halve(graph.within(members) if len(inner) > 1 else graph, inner, vertices[members], begin, parts)


def _bisection(graph: Graph, first: int, second: int) -> Integers:
    """Return the side of each vertex, 0 of so many and 1 of the others: the best of some cuts by METIS."""
    pymetis = metis()
    scale = min((_LARGEST_SUM - graph.weights.size) / graph.weights.sum(), _FINEST / graph.weights.min())
    weights = np.maximum(1, np.rint(graph.weights * scale)).astype(np.int64)
    edges = pymetis.CSRAdjacency(graph.starts, graph.neighbours)
    shares = [first / graph.vertices, second / graph.vertices]
    tries = [*product(_TOLERANCES, range(_SEEDS))]
    best, least = np.zeros(0, np.int64), np.inf
    for tolerance, seed in tries if graph.vertices <= _FEW else tries[:1]:
        options = pymetis.Options(ufactor=tolerance, seed=seed, ncuts=_CUTS)
        result = pymetis.part_graph(2, edges, eweights=weights, tpwgts=shares, recursive=True, options=options)
        exact = _Parts(graph, np.asarray(result.vertex_part, np.int64), (first, second))
        exact.repair()
        exact.climb()
        side = np.array(exact.part)
        if (weight := graph.cut(side)) < least:
            best, least = side, weight
    return best


def metis() -> Any:
    """Return the module pymetis; `MissingPackageError` without it."""
    try:
        return import_module("pymetis")
    except ModuleNotFoundError:
        problem = "placing ranks needs pymetis, which is not here: pip install 'commmodel[placement]'"
        raise MissingPackageError(problem) from None


class _Parts:
    """Parts of a graph that vertices move between."""

    def __init__(self, graph: Graph, parts: Integers, sizes: Sequence[int]) -> None:
        self.part: list[int] = parts.tolist()
        self._room = [*sizes]
        for number in self.part:
            self._room[number] -= 1
        starts, neighbours, weights = graph.starts.tolist(), graph.neighbours.tolist(), graph.weights.tolist()
        self._edges = [
            [*zip(neighbours[begin:end], weights[begin:end], strict=True)] for begin, end in pairwise(starts)
        ]
        self._weight: list[dict[int, float]] = []
        for edges in self._edges:
            sums: dict[int, float] = {}
            for other, weight in edges:
                sums[self.part[other]] = sums.get(self.part[other], 0.0) + weight
            self._weight.append(sums)

    def _gain(self, vertex: int, part: int) -> float:
        weight = self._weight[vertex]
        return weight.get(part, 0.0) - weight.get(self.part[vertex], 0.0)

    def _move(self, vertex: int, part: int) -> None:
        before, self.part[vertex] = self.part[vertex], part
        for other, weight in self._edges[vertex]:
            sums = self._weight[other]
            sums[before] -= weight
            sums[part] = sums.get(part, 0.0) + weight

    def repair(self) -> None:
        """Move vertices out of parts that are too large, each time the one that costs least."""
        open_parts = {part for part, room in enumerate(self._room) if room > 0}
        heap = [
            self._best_move(vertex, open_parts) for vertex in range(len(self.part)) if self._room[self.part[vertex]] < 0
        ]
        heapify(heap)
        while open_parts and heap:
            loss, vertex, part = heappop(heap)
            if self._room[self.part[vertex]] >= 0:
                continue
            again = self._best_move(vertex, open_parts)
            if again[0] > loss or part not in open_parts:
                heappush(heap, again)
                continue
            source, part = self.part[vertex], again[2]
            self._move(vertex, part)
            self._room[source] += 1
            self._room[part] -= 1
            if not self._room[part]:
                open_parts.discard(part)

    def _best_move(self, vertex: int, open_parts: set[int]) -> tuple[float, int, int]:
        near = [part for part in self._weight[vertex] if part in open_parts]
        part = max(near, key=self._weight[vertex].__getitem__) if near else min(open_parts)
        return -self._gain(vertex, part), vertex, part

    def climb(self) -> None:
        """Improve two parts as Fiduccia and Mattheyses (1982) do: moves that cost something may lead to better ones.

        In each pass every vertex moves at most once, the best first, so that the parts keep their sizes within one
        vertex; what came after the best state of right sizes is undone.
        """
        for _ in range(_PASSES):
            moves, count = self._pass()
            for vertex in reversed(moves[count:]):
                self._move(vertex, 1 - self.part[vertex])
            if not count:
                break

    def _pass(self) -> tuple[list[int], int]:
        """Move vertices; return them in order, and how many lead to the best state."""
        gains = [self._gain(vertex, 1 - part) for vertex, part in enumerate(self.part)]
        heaps: list[list[tuple[float, int]]] = [[], []]
        for vertex, part in enumerate(self.part):
            if self._weight[vertex].get(1 - part):
                heaps[part].append((-gains[vertex], vertex))
        for heap in heaps:
            heapify(heap)
        is_locked = bytearray(len(gains))
        moves: list[int] = []
        saved, most, count, surplus = 0.0, _LEAST_GAIN, 0, 0
        while len(moves) - count < max(_PATIENCE, len(gains) // 10):
            for part, heap in enumerate(heaps):
                while heap and self._is_stale(heap[0], part, gains, is_locked):
                    heappop(heap)
            if not surplus and not (heaps[0] and heaps[1]):
                break
            side = (surplus < 0) if surplus else int(heaps[1][0] < heaps[0][0])
            if not heaps[side]:
                break
            vertex = heappop(heaps[side])[1]
            is_locked[vertex] = 1
            saved += gains[vertex]
            surplus += 2 * side - 1
            self._move(vertex, 1 - side)
            moves.append(vertex)
            for other, weight in self._edges[vertex]:
                gains[other] += 2 * weight if self.part[other] == side else -2 * weight
                if not is_locked[other]:
                    heappush(heaps[self.part[other]], (-gains[other], other))
            if not surplus and saved > most:
                most, count = saved, len(moves)
        return moves, count

    def _is_stale(self, entry: tuple[float, int], part: int, gains: list[float], is_locked: bytearray) -> bool:
        gain, vertex = entry
        return bool(is_locked[vertex]) or self.part[vertex] != part or -gain != gains[vertex]

    def exchange(self) -> None:
        """Exchange two vertices of two parts as long as that cuts less."""
        for _ in range(_PASSES):
            if not self._exchanges():
                break

    def _exchanges(self) -> int:
        """Go once through all vertices that would rather be elsewhere."""
        wishes: dict[tuple[int, int], list[tuple[float, int]]] = {}
        for vertex, part in enumerate(self.part):
            for other in self._weight[vertex]:
                if other != part:
                    wishes.setdefault((part, other), []).append((-self._gain(vertex, other), vertex))
        count = 0
        for (part, other), leaving in sorted(wishes.items()):
            coming = wishes.get((other, part), [])
            if part > other or not coming:
                continue
            leaving.sort()
            coming.sort()
            count += self._between(part, other, [v for _, v in leaving], [v for _, v in coming])
        return count

    def _between(self, part: int, other: int, leaving: list[int], coming: list[int]) -> int:
        count = 0
        for vertex in leaving:
            if self.part[vertex] != part:
                continue
            gain, best, partner = self._gain(vertex, other), _LEAST_GAIN, -1
            weights = dict(self._edges[vertex])
            for candidate in coming:
                if self.part[candidate] != other:
                    continue
                bonus = self._gain(candidate, part)
                if gain + bonus <= best:
                    break
                total = gain + bonus - 2 * weights.get(candidate, 0.0)
                if total > best:
                    best, partner = total, candidate
            if partner >= 0:
                self._move(vertex, other)
                self._move(partner, part)
                count += 1
        return count
