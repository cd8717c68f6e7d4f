"""Grids of processes: how their dimensions follow from P, who is whose neighbour, which communicators are rows.

Ranks are numbered with the last dimension fastest, as in MPI. Main entries: `GridRule`, `grid_rules`, `ProcessGrid`.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Dimensions = tuple[int, ...]
_MOST_DIMENSIONS = 3


def balanced(processes: int, dimensions: int) -> Dimensions:
    """Return the factors of P that are nearest to each other, descending, as MPI_Dims_create gives them.

    >>> balanced(512, 2), balanced(64, 3), balanced(24, 3), balanced(7, 2)
    ((32, 16), (4, 4, 4), (4, 3, 2), (7, 1))
    """
    best: Dimensions = (processes, *[1] * (dimensions - 1))

    def search(rest: int, count: int, most: int, chosen: Dimensions) -> None:
        nonlocal best
        if count == 1:
            if rest <= most and (*chosen, rest) < best:
                best = (*chosen, rest)
            return
        for factor in range(math.ceil(rest ** (1 / count) - 1e-9), min(rest, most) + 1):
            if rest % factor == 0 and (not chosen or (factor,) <= chosen[-1:]):
                search(rest // factor, count - 1, factor, (*chosen, factor))

    search(processes, dimensions, processes, ())
    return best


@dataclass(frozen=True)
class GridRule:
    """How the dimensions of a grid follow from P."""

    name: str
    dimensions: int
    make: Callable[[int], Dimensions | None]
    """P -> dimensions; None where P does not have such."""

    def __call__(self, processes: int) -> Dimensions | None:
        """Return the dimensions for P processes, each of at least 2; None where there are no such."""
        sides = self.make(processes)
        return sides if sides is not None and min(sides) >= 2 and math.prod(sides) == processes else None


def _permuted(order: Dimensions) -> Callable[[int], Dimensions]:
    def make(processes: int) -> Dimensions:
        sides = balanced(processes, len(order))
        return tuple(sides[place] for place in order)

    return make


def _constant(place: int, side: int) -> Callable[[int], Dimensions | None]:
    def make(processes: int) -> Dimensions | None:
        rest, left = divmod(processes, side)
        return None if left else ((side, rest) if place == 0 else (rest, side))

    return make


def grid_rules(processes: Sequence[int], dimensions: int) -> list[GridRule]:
    """Return the rules that give a grid for each number of processes, the usual ones first.

    >>> [rule.name for rule in grid_rules([8, 64], 2)][:3]
    ['as MPI_Dims_create', 'as MPI_Dims_create, dimensions 1 0', '2 in dimension 0']
    """
    orders = itertools.permutations(range(dimensions))
    rules = [
        GridRule(
            "as MPI_Dims_create" + (f", dimensions {' '.join(map(str, order))}" if number else ""),
            dimensions,
            _permuted(order),
        )
        for number, order in enumerate(orders)
    ]
    if dimensions == 2:
        least = min(processes)
        sides = [side for side in range(2, least // 2 + 1) if all(count % side == 0 for count in processes)]
        rules += [
            GridRule(f"{side} in dimension {place}", 2, _constant(place, side)) for side in sides for place in (0, 1)
        ]
    chosen: dict[tuple[Any, ...], GridRule] = {}
    for rule in rules:
        sides_of = tuple(rule(count) for count in processes)
        if None not in sides_of:
            chosen.setdefault((sides_of, rule.name), rule)
    return list(chosen.values())


class ProcessGrid:
    """A grid of processes."""

    def __init__(self, sides: Dimensions) -> None:
        self.sides: Dimensions = sides
        self.strides: Dimensions = tuple(math.prod(sides[place + 1 :]) for place in range(len(sides)))

    @cached_property
    def processes(self) -> int:
        """P."""
        return math.prod(self.sides)

    def coordinates(self, rank: Any) -> tuple[Any, ...]:
        """Return the coordinates of a rank, or of an array of ranks."""
        return tuple(rank // stride % side for stride, side in zip(self.strides, self.sides, strict=True))

    def rank(self, coordinates: Sequence[int]) -> int:
        """Return the rank at coordinates, which wrap around."""
        triples = zip(coordinates, self.sides, self.strides, strict=True)
        return sum(place % side * stride for place, side, stride in triples)

    def step(self, rank: int, peer: int) -> Dimensions | None:
        """Return the direct neighbour that a peer is, diagonals too, as its distance in each dimension; else None.

        >>> ProcessGrid((4, 4)).step(3, 0), ProcessGrid((4, 4)).step(5, 10), ProcessGrid((4, 4)).step(0, 2)
        ((0, 1), (1, 1), None)
        """
        distances = []
        for before, after, side in zip(self.coordinates(rank), self.coordinates(peer), self.sides, strict=True):
            distance = after - before
            if side > 2 and abs(distance) == side - 1:
                distance = -distance // (side - 1)
            if abs(distance) > 1:
                return None
            distances.append(distance)
        return tuple(distances)

    def span(self, members: Sequence[int]) -> Dimensions | None:
        """Return the dimensions that a communicator spans, in which it has all ranks; None where it is none such.

        >>> ProcessGrid((2, 3)).span([3, 4, 5]), ProcessGrid((2, 3)).span([1, 4]), ProcessGrid((2, 3)).span([0, 4])
        ((1,), (0,), None)
        """
        first = self.coordinates(members[0])
        spanned = tuple(
            place
            for place in range(len(self.sides))
            if any(self.coordinates(member)[place] != first[place] for member in members[1:])
        )
        return spanned if tuple(members) == self.members(members[0], spanned) else None

    def members(self, rank: int, spanned: Dimensions) -> tuple[int, ...]:
        """Return the ranks that differ from a rank in the spanned dimensions only, ascending."""
        spot = self.coordinates(rank)
        ranges = [range(side) if place in spanned else (spot[place],) for place, side in enumerate(self.sides)]
        return tuple(map(self.rank, itertools.product(*ranges)))
