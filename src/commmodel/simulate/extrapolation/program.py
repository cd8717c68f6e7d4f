"""A program on another number of processes, made of its structure. Main entry: `ExtrapolatedActions`."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from commmodel.arguments import Count
from commmodel.choices import ProblemGrowth
from commmodel.collectives.call import CollectiveCall
from commmodel.collectives.settings import CollectiveSettings
from commmodel.errors import InputError
from commmodel.signatures import checked
from commmodel.simulate.extrapolation.functions import Candidate, Surroundings, difference, lines_of, masked
from commmodel.simulate.extrapolation.grids import Dimensions, ProcessGrid
from commmodel.simulate.extrapolation.growths import time_factor, whole
from commmodel.simulate.extrapolation.model import ALONE, WORLD, PositionModel, Span, StepKind, StructureModel
from commmodel.simulate.extrapolation.sizes import SizeModel
from commmodel.simulate.operations import Program
from commmodel.simulate.traces import replay_texts
from commmodel.simulate.traces.action_text import SPEED, Action, MemberCall, Piece, Tags, as_piece
from commmodel.simulate.work.communicators import Definition

_TRIED_RANKS = 256
_MOST_TRIED = 1 << 18
_PIECE = 2048
"""Steps of a rank that are made at a time."""
_PER_RANK = {
    "alltoall", "alltoallv", "alltoallw", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv",
    "reduce_scatter", "reduce_scatter_block",
}  # fmt: skip
"""Collectives whose counts are of each rank's part: one number of processes does not tell how these grow."""
_MASK = (1 << 61) - 1


@dataclass
class _PositionRule:
    """A position of the skeleton on the number of processes that is wanted."""

    site: PositionModel
    rounds: Candidate
    condition: Candidate | None
    peer: Candidate | None
    tag: Candidate | None
    sizes: dict[str, tuple[SizeModel, int]]
    """Field -> model, and the number of the law of those that are possible."""
    body: "list[_PositionRule]" = field(default_factory=list)
    factor: float = 1.0
    """Of the time of computation on the most processes that there are."""
    calls: dict[Any, MemberCall] = field(default_factory=dict)


class ExtrapolatedActions:
    """What the ranks of a program do on another number of processes.

    Parameters
    ----------
    model : StructureModel
    processes : int
    scaling : {"strong", "weak"}, optional
        Of a model of one number of processes: whether all of them together do the same work, or each of them does.
    grid : tuple of int, optional
        Dimensions of the grid of processes; by default as the rule says that gives those of the sources.

    Raises
    ------
    InputError
        Where functions that explain the sources differ on this number of processes, or bytes would be no whole number.
    """

    @checked
    def __init__(
        self,
        model: StructureModel,
        processes: Count,
        *,
        scaling: ProblemGrowth | None = None,
        grid: tuple[int, ...] | None = None,
    ) -> None:
        self.model, self.processes = model, processes
        if model.is_single and scaling is None and processes != model.sizes[0]:
            raise InputError(
                "scaling: one recording does not tell how the work grows: say strong or weak, or give recordings of "
                "several numbers of ranks"
            )
        self.scaling: ProblemGrowth | None = scaling if model.is_single else None
        self.grids: list[ProcessGrid] = [
            ProcessGrid(self._sides_of(rule.dimensions, rule, grid)) for rule in model.rules
        ]
        self._sides = (processes, *(side for grid_ in self.grids for side in grid_.sides))
        ranks = self._tried_ranks()
        spot = Surroundings(ranks, ranks * 0 + processes, lines_of(ranks, processes, self.grids), ())
        self._rules = [self._resolved(site, spot) for site in model.sites]
        self._tags = Tags()
        self._call_sites: dict[str, int] = {}
        self._spans: dict[Span, int] = {}
        self._members: dict[tuple[Span, int], tuple[int, ...]] = {}
        self._sources: dict[int, tuple[int, int]] = {}
        self._balance = 0
        self._ended = 0

    def _sides_of(self, dimensions: int, rule: Any, grid: tuple[int, ...] | None) -> Dimensions:
        if grid is not None and len(grid) == dimensions:
            if math.prod(grid) != self.processes or min(grid) < 2:
                words = " x ".join(map(str, grid))
                raise InputError(f"grid {words}: it must have {self.processes} ranks, and two or more a side", "grid")
            return grid
        sides: Dimensions | None = rule(self.processes)
        if sides is None:
            raise InputError(
                f"{self.processes} ranks: no grid of {dimensions} dimensions {rule.name}, two or more a side"
            )
        return sides

    def _tried_ranks(self) -> Any:
        """Return ranks for which functions are compared: all, or some from all parts."""
        if self.processes <= _TRIED_RANKS:
            return np.arange(self.processes)
        spread = np.linspace(0, self.processes - 1, _TRIED_RANKS).astype(np.int64)
        powers = 1 << np.arange(self.processes.bit_length() - 1)
        edges = np.concatenate([np.arange(8), self.processes - 1 - np.arange(8), powers, powers - 1])
        return np.unique(np.concatenate([spread, edges]))

    @property
    def notes(self) -> list[str]:
        """Return what is assumed, a sentence each."""
        lines = []
        for rule, grid in zip(self.model.rules, self.grids, strict=True):
            before = ", ".join(" x ".join(map(str, rule(count) or ())) for count in self.model.sizes)
            after = " x ".join(map(str, grid.sides))
            lines.append(f"ranks are taken to be a grid of {after} as they were one of {before} ({rule.name})")
        if self.scaling is not None and self.processes != self.model.sizes[0]:
            work = "each rank" if self.scaling == "weak" else "all ranks together"
            lines.append(f"computation and bytes are those of a problem of the same size for {work}")
        return lines

    # Resolution

    def _resolved(self, site: PositionModel, spot: Surroundings) -> _PositionRule:
        """Return a position's functions, which must be the only ones on this number of processes."""
        condition = self._single(site.condition, spot, site, "who does it") if site.condition else None
        if condition is not None:
            spot = masked(spot, _evaluated(condition, spot) != 0)
        rounds = self._single(
            site.rounds, spot, site, "how often it is repeated" if site.kind is None else "who does it"
        )
        values = np.maximum(_evaluated(rounds, spot), 0)
        rule = _PositionRule(site, rounds, condition, None, None, {})
        inner = _inside(spot, values, is_loop=site.kind is None)
        if site.kind is None:
            rule.body = [self._resolved(part, inner) for part in site.body]
            return rule
        if inner.rank.size and site.kind.verb != "end":
            rule.peer = self._single(site.peer, inner, site, "its partner") if site.peer else None
            rule.tag = self._single(site.tag, inner, site, "its tag") if site.tag else None
            rule.sizes = {name: (size, self._law(size, site)) for name, size in site.sizes.items()}
        rule.factor = self._factor(site)
        return rule

    def _single(
        self, candidates: Sequence[Candidate], spot: Surroundings, site: PositionModel, question: str
    ) -> Candidate:
        pair = difference(candidates, spot) if spot.rank.size else None
        if pair is not None:
            raise InputError(
                f"{site.first}: {question} may be {pair[0].words} or {pair[1].words}, which differ on {self.processes} "
                f"ranks: give a recording of {self._other_size()} ranks too"
            )
        return candidates[0]

    def _other_size(self) -> str:
        """Return a number of ranks on which a recording tells functions apart: no side of a grid is as long there."""
        most, rules = max(self.model.sizes), self.model.rules
        before = {side for rule in rules for count in self.model.sizes for side in rule(count) or ()}
        for count in (most * 9 // 4 if most % 4 == 0 else 0, 2 * most, 4 * most, 8 * most):
            sides = [rule(count) for rule in rules]
            if count and all(grid and min(grid) > 2 and not before & {*grid} for grid in sides):
                return str(count)
        return "another number of"

    def _law(self, size: SizeModel, site: PositionModel) -> int:
        """Return the number of the law of bytes; those that are possible must say the same."""
        counts = {len(laws) for laws in size.laws}
        values = {number: [laws[number].value(self._sides) for laws in size.laws] for number in range(min(counts))}
        first = values[0]
        for number, further in values.items():
            if not np.allclose(further, first, rtol=1e-9):
                words = f"{size.laws[0][0].words} or {size.laws[0][number].words}"
                raise InputError(
                    f"{site.first}: its bytes may be {words}, which differ on {self.processes} ranks: give a recording "
                    f"of {self._other_size()} ranks too"
                )
        return 0

    def _factor(self, site: PositionModel) -> float:
        """Return the factor of times of computation."""
        if self.scaling is not None:
            return self.model.sizes[-1] / self.processes if self.scaling == "strong" else 1.0
        totals = []
        for number, count in enumerate(self.model.sizes):
            times = [times.computation.mean() for (source, _), times in site.times.items() if source == number]
            if times:
                totals.append((count, float(np.mean(times))))
        return time_factor(totals, self.processes) if totals else 1.0

    # Evaluation

    def _spot(self, rank: int) -> Surroundings:
        return Surroundings(rank, self.processes, lines_of(rank, self.processes, self.grids), ())

    def _walk(self, rules: Sequence[_PositionRule], spot: Surroundings) -> Iterator[tuple[_PositionRule, Surroundings]]:
        """Yield the steps of a rank, in order."""
        for rule in rules:
            if rule.condition is not None and not rule.condition.function(spot):
                continue
            times = int(rule.rounds.function(spot))
            if rule.site.kind is not None:
                if times:
                    yield rule, spot
                continue
            for number in range(times):
                inner = Surroundings(spot.rank, spot.processes, spot.lines, (number, times - 1 - number, *spot.indices))
                yield from self._walk(rule.body, inner)

    def _source_of(self, rank: int) -> tuple[int, int]:
        """Return the number of a source and its rank that does the same steps, so that its times can be taken."""
        if not self._sources:
            self._place_ranks()
        return self._sources[rank]

    def _place_ranks(self) -> None:
        """Give each rank one of the most processes that does the same steps, in the order of their places."""
        last = len(self.model.runs) - 1
        groups: dict[frozenset[int], list[int]] = {}
        cache: dict[tuple[Any, ...], frozenset[int]] = {}
        for rank in range(self.processes):
            spot = self._spot(rank)
            identity = tuple(self._signature(self._rules, spot))
            if identity not in cache:
                cache[identity] = frozenset(rule.site.position.number for rule, _ in self._walk(self._rules, spot))
            groups.setdefault(cache[identity], []).append(rank)
        for pattern, ranks in groups.items():
            options: list[tuple[int, int]] = []
            for number in range(last, -1, -1):
                options = options or [
                    item for item, done in self.model.patterns.items() if item[0] == number and done == pattern
                ]
            for number in range(last, -1, -1):
                options = options or [
                    item for item, done in self.model.patterns.items() if item[0] == number and pattern <= done
                ]
            if not options:
                raise InputError(
                    f"rank {ranks[0]} of {self.processes} would do what no rank of the recordings does together: "
                    "record more ranks"
                )
            for place, rank in enumerate(ranks):
                self._sources[rank] = options[place * len(options) // len(ranks)]

    def _signature(self, rules: Sequence[_PositionRule], spot: Surroundings) -> Iterator[Any]:
        """Yield what decides which steps a rank does; all of its indices where loops depend on their rounds."""
        for rule in rules:
            is_there = rule.condition is None or bool(rule.condition.function(spot))
            times = int(rule.rounds.function(spot)) if is_there else 0
            yield times
            if rule.site.kind is None and times:
                for number in range(min(times, 64)):
                    inner = Surroundings(
                        spot.rank, spot.processes, spot.lines, (number, times - 1 - number, *spot.indices)
                    )
                    yield from self._signature(rule.body, inner)

    def pieces(self, rank: int, *, located: bool = False) -> Iterator[Piece]:
        """Yield the actions of a rank for a replay, with marks of their call sites where that is asked for."""
        return (as_piece(rank, actions) for actions in self._parts(rank, located))

    def site_mark(self, site: str) -> int:
        """Return the number of the mark of a call site."""
        return self._call_sites.setdefault(site, len(self._call_sites))

    def sites(self) -> tuple[str, ...]:
        """Return the sites by the numbers of their marks, as far as actions have been made."""
        parted = (site.partition(" at ") for site in self._call_sites)
        return tuple(f"{where}, {call}" if where else call for call, _, where in parted)

    def _parts(self, rank: int, located: bool) -> Iterator[list[Action]]:
        writer = _ExtrapolatedRank(self, rank, located=located)
        actions: list[Action] = ["init"]
        for rule, spot in self._walk(self._rules, self._spot(rank)):
            writer.write(rule, spot, actions)
            if len(actions) >= _PIECE:
                yield actions
                actions = []
        self._end(writer.balance)
        yield [*actions, "finalize"]

    def _end(self, balance: int) -> None:
        """Raise where all ranks have ended and their messages and receives are not the same."""
        self._balance = (self._balance + balance) & _MASK
        self._ended += 1
        if self._ended == self.processes:
            self._ended = 0
            balance, self._balance = self._balance, 0
            if balance:
                raise InputError(
                    f"on {self.processes} ranks some messages would have no receive, or some receives no message: the "
                    "program does not follow the rules that explain its recordings"
                )

    def number_of(self, span: Span) -> int:
        """Return the number of communicators that span the same dimensions, for tags: 0 of all ranks."""
        return 0 if span == WORLD else self._spans.setdefault(span, len(self._spans) + 1)

    def members(self, span: Span, rank: int) -> tuple[int, ...]:
        """Return the ranks of the communicator of a rank that spans some dimensions of a grid."""
        if span == ALONE:
            return (rank,)
        grid, spanned = self.grids[span[0] - 1], span[1]
        spot = grid.coordinates(rank)
        first = grid.rank([0 if place in spanned else item for place, item in enumerate(spot)])
        key = span, first
        if key not in self._members:
            self._members[key] = grid.members(first, spanned)
        return self._members[key]

    def tag(self, span: Span, number: int) -> int:
        """Return the tag of actions for one in a communicator."""
        return self._tags(self.number_of(span), number)

    def size(self, rule: _PositionRule, name: str, spot: Surroundings) -> int:
        """Return bytes, which must be a whole number."""
        if name not in rule.sizes:
            return 0
        model, law = rule.sizes[name]
        value = model.value(law, self._sides, None if model.level is None else spot.indices[model.level])
        value *= self._growth(rule, name, value)
        size = whole(value)
        if size is None:
            raise InputError(f"{rule.site.first}: {value:g} bytes on {self.processes} ranks, which is no whole number")
        return size

    def _growth(self, rule: _PositionRule, name: str, value: float) -> float:
        """Return the factor of bytes where there is one number of processes only."""
        kind = rule.site.kind
        if self.scaling is None or kind is None or self.processes == self.model.sizes[0] or not value:
            return 1.0
        problem = "one recording does not tell how its bytes grow: give recordings of several numbers of ranks"
        where = f"{rule.site.first}: {problem}"
        if kind.verb in _PER_RANK:
            raise InputError(where)
        if self.scaling == "weak" or name != "size":
            return 1.0
        if kind.neighbour is None:
            raise InputError(where)
        grid, distance = kind.neighbour
        if grid == 0:
            return 1.0
        before = self.model.rules[grid - 1](self.model.sizes[0]) or ()
        after = self.grids[grid - 1].sides
        return math.prod(old / new for old, new, away in zip(before, after, distance, strict=True) if not away)

    def seconds(self, rule: _PositionRule, spot: Surroundings, number: int) -> tuple[float, float]:
        """Return the computation before a step of a rank, and the sleep, the so-manieth time that it comes there."""
        times = rule.site.times.get(self._source_of(spot.rank))
        if times is None:
            return 0.0, 0.0
        computation, sleep = times.at(spot.indices, number)
        return computation * rule.factor, sleep

    def program(
        self,
        *,
        faster: float | Sequence[float] = 1.0,
        settings: CollectiveSettings | None = None,
        title: str = "",
        located: bool = False,
    ) -> Program:
        """Return the program.

        Parameters
        ----------
        faster : float or sequence of float
            How many times faster all ranks' processors are than those of the sources, or each rank's.
        settings : CollectiveSettings, optional
            Of collectives.
        title : str
            For people.
        located : bool
            Whether what belongs to a call is behind a mark with the number of its site.

        Returns
        -------
        Program
            A stream: it is made as it runs.
        """
        factors = [faster] * self.processes if isinstance(faster, int | float) else faster
        names = [f"extrapolated rank {rank}" for rank in range(self.processes)]
        speeds = [SPEED * factor for factor in factors]
        return replay_texts(partial(self.pieces, located=located), names, speeds=speeds, settings=settings, title=title)


class _ExtrapolatedRank:
    """Writes the actions of a rank."""

    def __init__(self, program: ExtrapolatedActions, rank: int, *, located: bool) -> None:
        self._program, self._rank, self._located = program, rank, located
        self._defined: set[int] = set()
        self._numbers: dict[int, int] = {}
        self.balance = 0
        """Sum over its messages, less that over its receives."""

    def write(self, rule: _PositionRule, spot: Surroundings, actions: list[Action]) -> None:
        """Add the actions of a step."""
        kind, rank = rule.site.kind, self._rank
        if kind is None:
            raise NotImplementedError
        position = rule.site.position.number
        number = self._numbers.get(position, 0)
        self._numbers[position] = number + 1
        if self._located:
            actions.append(f"mark {self._program.site_mark(kind.site)}")
        computation, sleep = self._program.seconds(rule, spot, number)
        if computation > 0:
            actions.append(f"compute {computation * SPEED:.12g}")
        if sleep > 0:
            actions.append(f"sleep {sleep:.12g}")
        if kind.verb == "end":
            return
        if kind.facts:
            self._write_call(rule, kind, spot, actions)
            return
        peer = self._peer(rule, kind, spot)
        tag = 0 if rule.tag is None else int(rule.tag.function(spot))
        tag = self._program.tag(kind.span, tag)
        if kind.verb.startswith("wait"):
            ends = (rank, peer) if kind.verb == "wait-send" else (peer, rank)
            actions.append(f"wait {ends[0]} {ends[1]} {tag}")
            return
        size = self._program.size(rule, "size", spot)
        actions.append(f"{kind.verb} {peer} {tag} {size} 6")
        is_send = "send" in kind.verb
        ends = (rank, peer) if is_send else (peer, rank)
        weight = hash((*ends, 1)) & _MASK  # a receive may be of any tag
        self.balance += weight if is_send else -weight

    def _peer(self, rule: _PositionRule, kind: StepKind, spot: Surroundings) -> int:
        processes = self._program.processes
        if kind.neighbour is None:
            peer = self._rank if rule.peer is None else int(rule.peer.function(spot))
            if not 0 <= peer < processes:
                raise InputError(f"{rule.site.first}: rank {self._rank} of {processes}: its partner would be {peer}")
            return peer
        number, distance = kind.neighbour
        grid = ProcessGrid((processes,)) if number == 0 else self._program.grids[number - 1]
        place = [item + away for item, away in zip(grid.coordinates(self._rank), distance, strict=True)]
        return grid.rank(place)

    def _write_call(self, rule: _PositionRule, kind: StepKind, spot: Surroundings, actions: list[Action]) -> None:
        program, rank, span = self._program, self._rank, kind.span
        members: Any = range(program.processes) if span == WORLD else program.members(span, rank)
        root_rank = 0 if rule.peer is None else int(rule.peer.function(spot))
        sizes = {name: program.size(rule, name, spot) for name in rule.sizes}
        at_root = root_rank == rank or kind.verb in _AT_ALL
        key = members[0], root_rank, tuple(sizes.items()), at_root
        call = rule.calls.get(key)
        number = 0
        if span != WORLD:
            number = 1 + program.number_of(span) * program.processes + members[0]
            if number not in self._defined:
                self._defined.add(number)
                actions.append(Definition(number, members))
        if call is None:
            element, operator, in_place, is_derived = kind.facts
            counts = {
                name: (sizes.pop(name),) * len(members) if at_root else ()
                for name in ("sent_counts", "received_counts")
                if name in sizes
            }
            if root_rank not in members:
                raise InputError(f"{rule.site.first}: rank {rank} of {program.processes}: its root is no member")
            record = CollectiveCall(
                kind.verb, root=members.index(root_rank), element=element, operator=operator, in_place=in_place,
                communicator=number, is_derived=is_derived, sent=sizes.get("sent", 0),
                received=sizes.get("received", 0), sent_counts=counts.get("sent_counts", ()),
                received_counts=counts.get("received_counts", ()),
            )  # fmt: skip
            call = rule.calls[key] = MemberCall(record, len(members))
        actions.append(call)


_AT_ALL = {"alltoallv", "alltoallw", "allgatherv", "reduce_scatter"}
"""Collectives whose counts mean something on all ranks."""


def _evaluated(candidate: Candidate, spot: Surroundings) -> Any:
    with np.errstate(all="ignore"):
        return np.broadcast_to(np.asarray(candidate.function(spot)), spot.rank.shape).astype(np.int64)


def _inside(spot: Surroundings, values: Any, *, is_loop: bool) -> Surroundings:
    """Return the surroundings of the rounds of a loop, or of those that do a step; of many, some."""
    total = int(values.sum())
    if total > _MOST_TRIED:
        chosen = np.zeros(values.size, bool)
        chosen[np.argsort(-values, kind="stable")[: max(1, int(_MOST_TRIED // max(int(values.max()), 1)))]] = True
        values = np.where(chosen, np.minimum(values, _MOST_TRIED), 0)
    indices = tuple(np.repeat(index, values) for index in spot.indices)
    if is_loop:
        starts = np.repeat(np.cumsum(values) - values, values)
        rounds = np.arange(int(values.sum())) - starts
        indices = (rounds, np.repeat(values, values) - 1 - rounds, *indices)
    return Surroundings(
        np.repeat(spot.rank, values),
        np.repeat(spot.processes, values),
        tuple(
            (np.repeat(place, values), np.repeat(length, values), np.repeat(stride, values))
            for place, length, stride in spot.lines
        ),
        indices,
    )
