"""Whole numbers as functions of P, the rank and the loops around: partners, roots, tags, counts and conditions.

A function is taken where it gives every sample; where two that do so differ at the number of processes that is wanted,
the answer is refused. Main entries: `NumberSamples`, `partners`, `counts`, `conditions`, `choose`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel.simulate.extrapolation.grids import ProcessGrid

Numbers = NDArray[np.int64]
_FIRST, _LAST = "first", "last"


@dataclass
class Surroundings:
    """Where a step is: arrays of one shape, or numbers."""

    rank: Any
    processes: Any
    lines: tuple[tuple[Any, Any, Any], ...]
    """Of each line of ranks that there is (all ranks, and each dimension of each grid): place in it, length, stride."""
    indices: tuple[Any, ...]
    """Number of the round of each loop around, and of those that are left after it, the innermost loop first."""


Function = Callable[[Surroundings], Any]
Rule = Callable[[Any, Any, tuple[Any, ...]], Any]
"""Place in a line of ranks, its length and the indices of loops -> another place in the line."""


@dataclass(frozen=True)
class Candidate:
    """A function that may be meant, and what it is, for people."""

    words: str
    function: Function = field(compare=False)


@dataclass
class NumberSamples:
    """What has been seen: surroundings as arrays, and the values there."""

    surroundings: Surroundings
    values: Numbers

    def agrees(self, candidate: Candidate) -> bool:
        """Whether a function gives all values."""
        with np.errstate(all="ignore"):
            return bool(np.all(candidate.function(self.surroundings) == self.values))

    @property
    def first(self) -> Surroundings:
        """Where the first value is."""
        spot = self.surroundings
        return Surroundings(
            int(spot.rank[0]),
            int(spot.processes[0]),
            tuple((int(place[0]), int(length[0]), int(stride[0])) for place, length, stride in spot.lines),
            tuple(int(index[0]) for index in spot.indices),
        )


def lines_of(rank: Any, processes: Any, grids: Sequence[ProcessGrid]) -> tuple[tuple[Any, Any, Any], ...]:
    """Return the lines of ranks: all ranks, and the rows of each grid in each dimension."""
    ones = rank * 0 + 1
    lines = [(rank, processes * ones, ones)]
    for grid in grids:
        for place, side, stride in zip(grid.coordinates(rank), grid.sides, grid.strides, strict=True):
            lines.append((place, side * ones, stride * ones))
    return tuple(lines)


def masked(spot: Surroundings, mask: NDArray[np.bool_]) -> Surroundings:
    """Return some of the surroundings."""
    return Surroundings(
        spot.rank[mask],
        spot.processes[mask],
        tuple((place[mask], length[mask], stride[mask]) for place, length, stride in spot.lines),
        tuple(index[mask] for index in spot.indices),
    )


def joined(parts: Sequence[Surroundings]) -> Surroundings:
    """Return arrays of surroundings as one."""
    return Surroundings(
        np.concatenate([part.rank for part in parts]),
        np.concatenate([part.processes for part in parts]),
        tuple(
            tuple(np.concatenate([part.lines[line][item] for part in parts]) for item in range(3))  # type: ignore[misc]
            for line in range(len(parts[0].lines))
        ),
        tuple(np.concatenate([part.indices[level] for part in parts]) for level in range(len(parts[0].indices))),
    )


def _log2(length: Any) -> Any:
    if isinstance(length, int):
        return (length - 1).bit_length()
    return np.ceil(np.log2(length)).astype(np.int64)


def _zeros(place: Any, length: Any) -> Any:
    """Return how many zeros a place ends in, in binary; of 0 as many as there are digits."""
    if isinstance(place, int):
        return (place & -place).bit_length() - 1 if place else _log2(length)
    lowest = np.where(place > 0, place & -place, 1)
    return np.where(place > 0, np.log2(lowest).astype(np.int64), _log2(length))


def _levels(place: Any, length: Any) -> Any:
    """Return on how many levels of a binary tree a place is that is not the only one there."""
    most = _log2(length)
    return (
        min(_zeros(place, length) + 1, most) if isinstance(place, int) else np.minimum(_zeros(place, length) + 1, most)
    )


def _line_names(count: int) -> Iterator[tuple[int, str]]:
    names = {1: [""], 3: ["", " in dimension 0", " in dimension 1"]}
    for line in range(count):
        yield line, names.get(count, [""] + [f" in line {number}" for number in range(count)])[line]


def _in_line(line: int, rule: Rule) -> Function:
    """Return the rank at a place in the same line, by a rule of place, length and indices."""

    def function(spot: Surroundings) -> Any:
        place, length, stride = spot.lines[line]
        return spot.rank + (rule(place, length, spot.indices) - place) * stride

    return function


_PARTNERS: tuple[tuple[str, Callable[[Any, Any, Any], Any]], ...] = (
    ("the {i}-th", lambda _x, _n, i: i),
    ("the {i}-th but the first", lambda _x, _n, i: i + 1),
    ("the {i}-th but itself", lambda x, _n, i: i + (i >= x)),
    ("the {i}-th from the end", lambda _x, n, i: n - 1 - i),
    ("{i} modulo the length", lambda _x, n, i: i % n),
    ("{i} up, around", lambda x, n, i: (x + i) % n),
    ("{i} + 1 up, around", lambda x, n, i: (x + i + 1) % n),
    ("{i} down, around", lambda x, n, i: (x - i) % n),
    ("{i} + 1 down, around", lambda x, n, i: (x - i - 1) % n),
    ("xor {i}", lambda x, _n, i: x ^ i),
    ("xor {i} + 1", lambda x, _n, i: x ^ (i + 1)),
    ("xor 2^{i}", lambda x, _n, i: x ^ (1 << i)),
    ("xor half, quarter, ...", lambda x, n, i: x ^ (n >> (i + 1))),
    ("2^{i} up", lambda x, _n, i: x + (1 << i)),
    ("2^{i} down", lambda x, _n, i: x - (1 << i)),
    ("2^{i} up, around", lambda x, n, i: (x + (1 << i)) % n),
    ("2^{i} down, around", lambda x, n, i: (x - (1 << i)) % n),
    ("half, quarter, ... up", lambda x, n, i: x + (n >> (i + 1))),
    ("half, quarter, ... down", lambda x, n, i: x - (n >> (i + 1))),
    ("child {i} in a binary tree", lambda x, _n, i: 2 * x + 1 + i),
)
_FIXED_PARTNERS: tuple[tuple[str, Callable[[Any, Any], Any]], ...] = (
    ("the first", lambda x, _n: x * 0),
    ("the last", lambda _x, n: n - 1),
    ("half the length away", lambda x, n: (x + n // 2) % n),
    ("xor half the length", lambda x, n: x ^ (n // 2)),
    ("the mirror image", lambda x, n: n - 1 - x),
    ("the parent in a binary tree", lambda x, _n: (x - 1) // 2),
    ("the parent in a binomial tree", lambda x, _n: x & (x - 1)),
)


def _index_name(level: int) -> str:
    return f"round{' of the loop' + ' around' * (level // 2) if level > 1 else ''}{' from the end' * (level % 2)}"


def _by_index(rule: Callable[[Any, Any, Any], Any], level: int) -> Rule:
    return lambda place, length, indices: rule(place, length, indices[level])


def _fixed(rule: Callable[[Any, Any], Any]) -> Rule:
    return lambda place, length, _: rule(place, length)


def _constants(line: int, name: str, place: int, length: int, target: int) -> list[Candidate]:
    """Return functions that have one constant, which a sample gives: the target of a place in a line."""
    by, away = place ^ target, target - place
    around = away % length
    rules: list[tuple[str, Callable[[Any, Any], Any]]] = [
        (f"xor {by}", lambda x, _: x ^ by),
        (f"{around} up, around", lambda x, n: (x + around) % n),
        (f"{away} up", lambda x, _: x + away),
    ]
    if line == 0:
        rules.append((f"rank {target}", lambda x, _: x * 0 + target))
    return [Candidate(words + name, _in_line(line, _fixed(rule))) for words, rule in rules]


def partners(samples: NumberSamples) -> list[Candidate]:
    """Return functions for ranks, as partners and roots are."""
    listed: list[Candidate] = []
    spot = samples.first
    value = int(samples.values[0])
    for line, name in _line_names(len(spot.lines)):
        place, length, stride = spot.lines[line]
        listed += [Candidate(words + name, _in_line(line, _fixed(rule))) for words, rule in _FIXED_PARTNERS]
        away, rest = divmod(value - spot.rank, stride)
        if not rest:
            listed += _constants(line, name, place, length, place + away)
        for level in range(len(spot.indices)):
            index = _index_name(level)
            listed += [
                Candidate(words.format(i=index) + name, _in_line(line, _by_index(rule, level)))
                for words, rule in _PARTNERS
            ]
    if len(spot.lines) >= 3:
        listed.append(Candidate("the transposed place in the grid", _transposed))
    return listed


def _transposed(spot: Surroundings) -> Any:
    """Return the rank at the transposed place; -1 where the grid is not square."""
    (first, height, by_first), (second, width, by_second) = spot.lines[1:3]
    is_square = height == width
    return (spot.rank + (second - first) * by_first + (first - second) * by_second) * is_square - 1 * (height != width)


def _lengths(line: int, name: str, *, is_single: bool) -> list[Candidate]:
    """Return functions of the length of a line, and of places in it, for how often a loop goes round.

    Of a single number of processes without the rarer ones: they would cast doubt on too many constants.
    """

    def plus(rule: Callable[[Any, Any], Any], offset: int) -> Function:
        return lambda spot: rule(*spot.lines[line][:2]) + offset

    rules: list[tuple[str, Callable[[Any, Any], Any], tuple[int, ...]]] = [
        ("P", lambda _, n: n, (0, -1) if is_single else (0, -1, 1)),
        ("log2 P", lambda _, n: _log2(n), (0,) if is_single else (0, -1, 1)),
        ("P / 2", lambda _, n: n // 2, (0,)),
        ("place", lambda x, _: x, (0, -1, 1)),
        ("places behind", lambda x, n: n - 1 - x, (0, -1, 1)),
        ("zeros at the end of the place", _zeros, (0, 1)),
        ("levels of a tree", _levels, (0,)),
    ]
    return [
        Candidate(f"{words}{name}" + (f" {offset:+d}" if offset else ""), plus(rule, offset))
        for words, rule, offsets in rules
        for offset in offsets
    ]


def _multiple(line: int, by: int) -> Function:
    return lambda spot: by * spot.lines[line][1]


def _of_round(level: int, by: int, rest: int) -> Function:
    return lambda spot: by * spot.indices[level] + rest


def _rounds_behind(line: int, level: int) -> Function:
    return lambda spot: spot.lines[line][1] - 1 - spot.indices[level]


def counts(samples: NumberSamples, *, is_single: bool) -> list[Candidate]:
    """Return functions for how often a loop goes round; of a single number of processes, without its multiples."""
    spot, value = samples.first, int(samples.values[0])
    listed = [_constant(value)]
    for line, name in _line_names(len(spot.lines)):
        _, length, _ = spot.lines[line]
        listed += _lengths(line, name, is_single=is_single)
        by, rest = divmod(value, length)
        if not is_single and by > 1 and not rest:
            listed.append(Candidate(f"{by} P{name}", _multiple(line, by)))
        for level in range(len(spot.indices)):
            listed.append(Candidate(f"P{name} - 1 - {_index_name(level)}", _rounds_behind(line, level)))
    for level in range(len(spot.indices)):
        index = _index_name(level)
        listed += [Candidate(index, _of_round(level, 1, 0)), Candidate(f"{index} + 1", _of_round(level, 1, 1))]
    return listed


def numbers_of(samples: NumberSamples) -> list[Candidate]:
    """Return functions for tags: constants, and what counts rounds or ranks."""
    spot, value = samples.first, int(samples.values[0])
    listed = [_constant(value), Candidate(f"rank + {value - spot.rank}", _shifted(value - spot.rank))]
    for level, index in enumerate(spot.indices):
        for by in (1, 2, -1):
            rest = value - by * index
            listed.append(Candidate(f"{by} {_index_name(level)} + {rest}", _of_round(level, by, rest)))
    return listed + partners(samples)


def _shifted(by: int) -> Function:
    return lambda spot: spot.rank + by


def _constant(value: int) -> Candidate:
    return Candidate(f"{value}", lambda spot: spot.rank * 0 + value)


Predicate = tuple[str, Callable[[Any, Any], Any]]
_BORDERS: tuple[Predicate, ...] = (
    ("", lambda x, _n: x * 0 == 0),
    ("all but the last", lambda x, n: x != n - 1),
    ("all but the first", lambda x, _n: x != 0),
    ("the first", lambda x, _n: x == 0),
    ("the last", lambda x, n: x == n - 1),
    ("all but the first and the last", lambda x, n: (x != 0) & (x != n - 1)),
)
_KINDS: tuple[Predicate, ...] = (
    ("", lambda x, _n: x * 0 == 0),
    ("even places", lambda x, _n: x % 2 == 0),
    ("odd places", lambda x, _n: x % 2 == 1),
    ("the first half", lambda x, n: 2 * x < n),
    ("the second half", lambda x, n: 2 * x >= n),
)
_BY_ROUND: tuple[tuple[str, Callable[[Any, Any, Any], Any]], ...] = (
    ("place i", lambda x, n, i: x == i % n),
    ("all but place i", lambda x, n, i: x != i % n),
    ("places after i", lambda x, _n, i: x > i),
    ("places before i", lambda x, _n, i: x < i),
    ("places from i on", lambda x, _n, i: x >= i),
    ("places with digit i", lambda x, _n, i: (x >> i) & 1 == 1),
    ("places without digit i", lambda x, _n, i: (x >> i) & 1 == 0),
    ("multiples of 2^i", lambda x, _n, i: x % (1 << i) == 0),
    ("multiples of 2^(i + 1)", lambda x, _n, i: x % (2 << i) == 0),
    ("odd multiples of 2^i", lambda x, _n, i: x % (2 << i) == (1 << i)),
    ("places with one 2^i further", lambda x, n, i: x + (1 << i) < n),
    ("places from 2^i on", lambda x, _n, i: x >= (1 << i)),
    ("places below 2^i", lambda x, _n, i: x < (1 << i)),
    ("places from 2^i to below 2^(i + 1)", lambda x, _n, i: (x >= (1 << i)) & (x < (2 << i))),
)


def conditions(samples: NumberSamples) -> Iterator[Candidate]:
    """Yield conditions that may say which ranks do something, 0 or 1: the simple ones first.

    A condition on each line of ranks: first and last places, even ones, halves; or one that depends on the round.
    """
    spot = samples.surroundings
    values = samples.values != 0
    if values.all():
        yield _constant(1)
        return
    count = len(spot.lines)
    single = [
        (line, border, kind) for line in range(count) for border in _BORDERS for kind in _KINDS if border[0] or kind[0]
    ]
    # A condition is a product: only those that hold wherever the value is 1 can be part of it.
    parts = []
    for line, border, kind in single:
        place, length, _ = spot.lines[line]
        mask = border[1](place, length) & kind[1](place, length)
        if mask[values].all():
            parts.append(((line, border, kind), mask))
    for item, mask in parts:
        if (mask == values).all():
            yield _condition([item])
    for number, (item, mask) in enumerate(parts):
        for other, second in parts[number + 1 :]:
            if item[0] != other[0] and (mask & second == values).all():
                yield _condition([item, other])
    lines = [[pair for pair in parts if pair[0][0] == line] for line in range(1, count)]
    if count >= 4:
        for triple in _triples(lines):
            if (np.logical_and.reduce([mask for _, mask in triple]) == values).all():
                yield _condition([item for item, _ in triple])
    for line in range(count):
        for level in range(len(spot.indices)):
            for words, rule in _BY_ROUND:
                place, length, _ = spot.lines[line]
                if (rule(place, length, spot.indices[level]) == values).all():
                    yield Candidate(f"{words}, i the {_index_name(level)}", _by_round(line, level, rule))


def _triples(lines: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    first, second, third = lines[-3:]
    for one_of_first in first:
        for one_of_second in second:
            for one_of_third in third:
                yield one_of_first, one_of_second, one_of_third


def _by_round(line: int, level: int, rule: Callable[[Any, Any, Any], Any]) -> Function:
    def function(spot: Surroundings) -> Any:
        place, length, _ = spot.lines[line]
        return rule(place, length, spot.indices[level]) * 1

    return function


def _condition(items: Sequence[tuple[int, Predicate, Predicate]]) -> Candidate:
    def function(spot: Surroundings) -> Any:
        value: Any = 1
        for line, border, kind in items:
            place, length, _ = spot.lines[line]
            value = value * (border[1](place, length) & kind[1](place, length))
        return value

    words = " and ".join(
        " ".join(filter(None, (border[0], kind[0]))) + (f" of line {line}" if line else "")
        for line, border, kind in items
    )
    return Candidate(words, function)


def matching(samples: NumberSamples, candidates: Sequence[Candidate] | Iterator[Candidate]) -> list[Candidate]:
    """Return the candidates that give all samples, each only once."""
    chosen: dict[str, Candidate] = {}
    for candidate in candidates:
        if candidate.words not in chosen and samples.agrees(candidate):
            chosen[candidate.words] = candidate
    return list(chosen.values())


def difference(candidates: Sequence[Candidate], spot: Surroundings) -> tuple[Candidate, Candidate] | None:
    """Return two candidates that differ in some surroundings; None where all say the same."""
    first, *further = candidates
    with np.errstate(all="ignore"):
        expected = np.broadcast_to(np.asarray(first.function(spot)), spot.rank.shape)
        for candidate in further:
            if not np.array_equal(np.broadcast_to(np.asarray(candidate.function(spot)), spot.rank.shape), expected):
                return first, candidate
    return None
