"""The structure of a program, inferred from what its ranks did on one or several numbers of processes.

Main entry: `StructureModel`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel.errors import InputError
from commmodel.simulate.extrapolation.functions import (
    Candidate,
    NumberSamples,
    Surroundings,
    conditions,
    counts,
    joined,
    lines_of,
    masked,
    matching,
    numbers_of,
    partners,
)
from commmodel.simulate.extrapolation.grids import Dimensions, GridRule, ProcessGrid, grid_rules
from commmodel.simulate.extrapolation.sizes import SizeModel, size_model
from commmodel.simulate.extrapolation.skeletons import Skeleton, SkeletonParse, SkeletonPosition
from commmodel.simulate.extrapolation.streams import RankStep, StepSource, read_rank

FEWEST = 4
"""Processes from which on a structure can be told."""
_LABELLED_SIDE = 3
_COUNTS = ("sent_counts", "received_counts")
Span = tuple[int, Dimensions]
"""Communicators: number of the grid, and the dimensions that they span."""
WORLD: Span = (-1, ())
ALONE: Span = (-2, ())


@dataclass(frozen=True)
class StepKind:
    """What is the same of all steps of a position."""

    site: str
    verb: str
    span: Span
    neighbour: tuple[int, Dimensions] | None = None
    """Of a message to a neighbour: the grid (0 is the line of all ranks), and the distance in each dimension."""
    facts: tuple[Any, ...] = ()
    """Of a collective: element, operator, in_place, is_derived, block."""


@dataclass
class PositionModel:
    """What is known of a position of the skeleton."""

    position: SkeletonPosition
    kind: StepKind | None
    """None of a loop."""
    first: str
    """Where its first step is."""
    rounds: list[Candidate]
    """Functions for how often a loop goes round; of a step 0 or 1."""
    condition: list[Candidate]
    """Conditions under which a loop goes round at all; empty where `rounds` says it."""
    body: "list[PositionModel]" = field(default_factory=list)
    peer: list[Candidate] = field(default_factory=list)
    tag: list[Candidate] = field(default_factory=list)
    sizes: dict[str, SizeModel] = field(default_factory=dict)
    """Field of the step or the call -> its size."""
    times: "dict[tuple[int, int], StepTimes]" = field(default_factory=dict)
    """Number of the source and rank -> its times."""


class StepTimes:
    """Seconds of computation and of sleep before a step of a rank, in each round of the loops around it."""

    def __init__(
        self, computation: NDArray[np.float64], sleep: NDArray[np.float64], indices: Sequence[NDArray[np.int64]]
    ) -> None:
        self.computation, self.sleep = computation, sleep
        self._places: dict[tuple[int, ...], int] = {}
        self._counts: list[int] = []
        if np.ptp(computation) or np.ptp(sleep):
            rounds = [index.tolist() for index in indices[::2]]
            self._places = {item: place for place, item in enumerate(zip(*rounds, strict=True))} if rounds else {}
            self._counts = [max(index) + 1 for index in rounds]

    def at(self, indices: Sequence[int], number: int) -> tuple[float, float]:
        """Return the seconds in a round: loops of other lengths have the same first and last rounds.

        `indices` are those of `Surroundings`; `number` counts the times that the step has come.
        """
        place = number % self.computation.size
        if self._places:
            rounds = tuple(
                min(index, count - 1) if index <= left else max(count - 1 - left, 0)
                for index, left, count in zip(indices[::2], indices[1::2], self._counts, strict=True)
            )
            place = self._places.get(rounds, place)
        return float(self.computation[place]), float(self.sleep[place])


class _SourceRun:
    """A source, its ranks' steps, and its grids."""

    def __init__(self, source: StepSource) -> None:
        self.source, self.processes = source, source.processes
        self.ranks: list[list[RankStep]] = [read_rank(source, rank) for rank in range(source.processes)]
        self.grids: list[ProcessGrid] = []
        self.keys: list[list[int]] = []
        self.parses: list[SkeletonParse] = []


class StructureModel:
    """The structure of a program.

    Parameters
    ----------
    sources : sequence of StepSource
        Of growing numbers of processes.

    Raises
    ------
    InputError
        Where no function explains what a rank did, with the call site and the rank.
    """

    def __init__(self, sources: Sequence[StepSource]) -> None:
        ordered = sorted(sources, key=lambda source: source.processes)
        self.sizes: list[int] = [source.processes for source in ordered]
        if len({*self.sizes}) < len(self.sizes):
            raise InputError(f"recordings of {', '.join(map(str, self.sizes))} ranks: give one for each number")
        if self.sizes[0] < FEWEST:
            raise InputError(f"{ordered[0].title}: {self.sizes[0]} ranks show no structure: record {FEWEST} or more")
        self.runs = [_SourceRun(source) for source in ordered]
        self.rules: list[GridRule] = self._chosen_rules()
        for run in self.runs:
            run.grids = [
                ProcessGrid((run.processes,)),
                *(ProcessGrid(rule(run.processes) or ()) for rule in self.rules),
            ]
        self.kinds: list[StepKind] = []
        self._number_kinds()
        partial = frozenset(
            key
            for key, kind in enumerate(self.kinds)
            if kind.neighbour is None and kind.verb != "end" and not kind.facts
        )
        values = [self._values(run, rank, partial) for run in self.runs for rank in range(run.processes)]
        skeleton = Skeleton([keys for run in self.runs for keys in run.keys], partial, values)
        self._parse(skeleton, values)
        starts = [(number, rank, ()) for number, run in enumerate(self.runs) for rank in range(run.processes)]
        self.sites: list[PositionModel] = self._fit(
            skeleton.positions, [(number, rank, [np.zeros(1, np.int64)][:0], 1) for number, rank, _ in starts]
        )
        self.patterns = self._patterns()

    @property
    def is_single(self) -> bool:
        """Whether there is one number of processes only."""
        return len(self.runs) == 1

    # Grids

    def _chosen_rules(self) -> list[GridRule]:
        """Return the rules of the grids that communicators and neighbours show, at most one of each dimension."""
        groups = [
            {step.members for steps in run.ranks for step in steps if step.members and len(step.members) > 1}
            for run in self.runs
        ]
        messages = [self._messages(run) for run in self.runs]
        sites = {site for of_run in messages for site in of_run}
        open_sites = {site for site in sites if not self._is_labelled(site, messages, None)}
        open_groups = [set(of_run) for of_run in groups]
        rules: list[GridRule] = []
        for dimensions in (2, 3):
            best: tuple[int, GridRule, Any, Any] | None = None
            for rule in grid_rules(self.sizes, dimensions):
                labelled = {site for site in open_sites if self._is_labelled(site, messages, rule)}
                spanned = [
                    {members for members in of_run if ProcessGrid(rule(run.processes) or ()).span(members) is not None}
                    for run, of_run in zip(self.runs, open_groups, strict=True)
                ]
                score = len(labelled) + sum(map(len, spanned))
                if score and (best is None or score > best[0]):
                    best = score, rule, labelled, spanned
            if best is not None:
                rules.append(best[1])
                open_sites -= best[2]
                open_groups = [of_run - spanned for of_run, spanned in zip(open_groups, best[3], strict=True)]
        self._labelled = {
            site: next(
                (number for number, rule in enumerate([None, *rules]) if self._is_labelled(site, messages, rule)),
                None,
            )
            for site in sites
        }
        for run, of_run in zip(self.runs, open_groups, strict=True):
            for members in of_run:
                step = next(step for steps in run.ranks for step in steps if step.members == members)
                raise InputError(
                    f"{step.site}: rank {members[0]} is in a communicator of {len(members)} of {run.processes} ranks "
                    "that is no row, column or plane of a grid: it cannot be extrapolated"
                )
        return rules

    @staticmethod
    def _messages(run: _SourceRun) -> dict[tuple[str, str], set[tuple[int, int]]]:
        pairs: dict[tuple[str, str], set[tuple[int, int]]] = defaultdict(set)
        for rank, steps in enumerate(run.ranks):
            for step in steps:
                if step.call is None and step.verb != "end":
                    pairs[step.site, step.verb].add((rank, step.peer))
        return pairs

    def _is_labelled(self, site: tuple[str, str], messages: Sequence[Any], rule: GridRule | None) -> bool:
        """Whether all messages of a site go to direct neighbours in a grid, or the line of all ranks."""
        largest: list[int] = []
        grids = [ProcessGrid((run.processes,) if rule is None else rule(run.processes) or ()) for run in self.runs]
        labels: dict[Dimensions, list[set[int]]] = defaultdict(lambda: [set() for _ in grids])
        for number, (grid, of_run) in enumerate(zip(grids, messages, strict=True)):
            largest = [*map(max, zip(largest or grid.sides, grid.sides, strict=True))]
            for rank, peer in of_run.get(site, ()):
                distance = grid.step(rank, peer)
                if distance is None:
                    return False
                labels[distance][number].add(rank)
        if min(largest) < _LABELLED_SIDE:
            return False
        parts = []
        for run, grid in zip(self.runs, grids, strict=True):
            ranks = np.arange(run.processes)
            lines = lines_of(ranks, run.processes, [] if rule is None else [grid])
            parts.append(Surroundings(ranks, ranks * 0 + run.processes, lines, ()))
        spot = joined(parts)
        for of_run in labels.values():  # whoever has such a neighbour must be told by the place in the grid
            masks = [np.isin(part.rank, [*ranks]) for part, ranks in zip(parts, of_run, strict=True)]
            if next(conditions(NumberSamples(spot, np.concatenate(masks).astype(np.int64))), None) is None:
                return False
        return True

    # Keys

    def _number_kinds(self) -> None:
        numbers: dict[StepKind, int] = {}
        for run in self.runs:
            cache: dict[Any, int] = {}
            for rank, steps in enumerate(run.ranks):
                keys = []
                for step in steps:
                    call = step.call
                    facts = () if call is None else (call.element, call.operator, call.in_place, call.is_derived)
                    identity = (rank, step.site, step.verb, step.members, step.peer, facts)
                    if identity not in cache:
                        cache[identity] = numbers.setdefault(self._kind(run, rank, step, facts), len(numbers))
                    keys.append(cache[identity])
                run.keys.append(keys)
        self.kinds = list(numbers)

    def _kind(self, run: _SourceRun, rank: int, step: RankStep, facts: tuple[Any, ...]) -> StepKind:
        span = self._span(run, step.members)
        if step.call is not None or step.verb == "end":
            return StepKind(step.site, step.verb, span, None, facts)
        grid = self._labelled[step.site, step.verb]
        if grid is None:
            return StepKind(step.site, step.verb, span)
        distance = run.grids[grid].step(rank, step.peer)
        return StepKind(step.site, step.verb, span, (grid, distance or (0,) * len(run.grids[grid].sides)))

    @staticmethod
    def _span(run: _SourceRun, members: tuple[int, ...] | None) -> Span:
        if members is None:
            return WORLD
        if len(members) == 1:
            return ALONE
        for number, grid in enumerate(run.grids[1:], 1):
            spanned = grid.span(members)
            if spanned is not None:
                return number, spanned
        raise NotImplementedError  # the choice of rules has refused it

    @staticmethod
    def _values(run: _SourceRun, rank: int, partial: frozenset[int]) -> tuple[object, ...]:
        """Return the partners of a rank's steps whose partners are no neighbours; empty where there are none such."""
        keys, steps = run.keys[rank], run.ranks[rank]
        if not any(key in partial for key in keys):
            return ()
        return tuple(step.peer if key in partial else 0 for key, step in zip(keys, steps, strict=True))

    def _parse(self, skeleton: Skeleton, values: Sequence[tuple[object, ...]]) -> None:
        remaining = iter(values)
        for run in self.runs:
            cache: dict[tuple[object, ...], SkeletonParse | None] = {}
            for rank, keys in enumerate(run.keys):
                part = next(remaining)
                identity = (tuple(keys), part)
                if identity not in cache:
                    cache[identity] = skeleton.parse(keys, part)
                parse = cache[identity]
                if parse is None:
                    raise InputError(
                        f"{run.source.title}: the calls of rank {rank} do not come in the order of those of other "
                        "ranks: it cannot be extrapolated"
                    )
                run.parses.append(parse)

    # Functions

    def _fit(
        self, positions: Sequence[SkeletonPosition], groups: Sequence[tuple[int, int, list[Any], int]]
    ) -> list[PositionModel]:
        """Return what is known of positions, for groups of source, rank, indices of the loops around, and rounds."""
        return [self._site(position, groups) for position in positions]

    def _site(self, position: SkeletonPosition, groups: Sequence[tuple[int, int, list[Any], int]]) -> PositionModel:
        parts, values, inner = [], [], []
        for number, rank, indices, rounds in groups:
            of_rank = np.array(self.runs[number].parses[rank].counts.get(position.number, [0] * rounds), np.int64)
            parts.append(self._surroundings(number, rank, indices, rounds))
            values.append(of_rank)
            repeated = [np.repeat(index, of_rank) for index in indices]
            if position.key is None:
                starts = np.repeat(np.cumsum(of_rank) - of_rank, of_rank)
                round_numbers = np.arange(of_rank.sum()) - starts
                repeated = [round_numbers, np.repeat(of_rank, of_rank) - 1 - round_numbers, *repeated]
            inner.append((number, rank, repeated, int(of_rank.sum())))
        samples = NumberSamples(joined(parts), np.concatenate(values))
        kind = None if position.key is None else self.kinds[position.key]
        first = self._first_site(position)
        if kind is not None:
            site = PositionModel(position, kind, first, self._conditions(samples, first), [])
            self._fill(site, inner)
            return site
        rounds_of, condition = self._rounds(samples, first)
        return PositionModel(position, None, first, rounds_of, condition, self._fit(position.body, inner))

    def _first_site(self, position: SkeletonPosition) -> str:
        while position.key is None:
            position = position.body[0]
        return self.kinds[position.key].site

    def _surroundings(self, number: int, rank: int, indices: Sequence[Any], rounds: int) -> Surroundings:
        run = self.runs[number]
        ranks = np.full(rounds, rank, np.int64)
        return Surroundings(
            ranks, ranks * 0 + run.processes, lines_of(ranks, run.processes, run.grids[1:]), tuple(indices)
        )

    def _conditions(self, samples: NumberSamples, where: str) -> list[Candidate]:
        listed = list(conditions(samples))
        if not listed:
            raise self._refused(where, samples, "no function of the rank says which ranks make this call")
        return listed

    def _rounds(self, samples: NumberSamples, where: str) -> tuple[list[Candidate], list[Candidate]]:
        listed = matching(samples, counts(samples, is_single=self.is_single))
        if listed:
            return listed, []
        at_work = samples.values > 0
        if at_work.all() or not at_work.any():
            raise self._refused(where, samples, "no function says how often this is repeated")
        condition = self._conditions(NumberSamples(samples.surroundings, at_work.astype(np.int64)), where)
        subset = NumberSamples(masked(samples.surroundings, at_work), samples.values[at_work])
        listed = matching(subset, counts(subset, is_single=self.is_single))
        if not listed:
            raise self._refused(where, subset, "no function says how often this is repeated")
        return listed, condition

    def _refused(self, where: str, samples: NumberSamples, problem: str) -> InputError:
        usual = Counter(samples.values.tolist()).most_common(1)[0][0]
        place = int(np.argmax(samples.values != usual)) if (samples.values != usual).any() else 0
        rank, processes = samples.surroundings.rank[place], samples.surroundings.processes[place]
        return InputError(f"{where}: rank {rank} of {processes}: {problem}: it cannot be extrapolated")

    def _fill(self, site: PositionModel, groups: Sequence[tuple[int, int, list[Any], int]]) -> None:
        """Find the functions of a step's fields."""
        kind = site.kind
        groups = [group for group in groups if group[3]]
        if kind is None or not groups:
            return
        steps: list[list[RankStep]] = []
        for number, rank, indices, _ in groups:
            run = self.runs[number]
            places = run.parses[rank].places[site.position.number]
            of_rank = [run.ranks[rank][place] for place in places]
            steps.append(of_rank)
            site.times[number, rank] = StepTimes(
                np.array([step.computation for step in of_rank]), np.array([step.sleep for step in of_rank]), indices
            )  # fmt: skip
        spot = joined([self._surroundings(*group) for group in groups])
        if kind.verb == "end":
            return
        if kind.facts:
            self._fill_call(site, groups, steps, spot)
            return
        if kind.neighbour is None:
            site.peer = self._matching(spot, [[step.peer for step in of_rank] for of_rank in steps], partners, site)
        site.tag = self._matching(spot, [[step.tag for step in of_rank] for of_rank in steps], numbers_of, site)
        if not kind.verb.startswith("wait"):
            site.sizes["size"] = self._size(site, groups, [[step.size for step in of_rank] for of_rank in steps])

    def _matching(
        self,
        spot: Surroundings,
        values: Sequence[Sequence[int]],
        make: Callable[[NumberSamples], list[Candidate]],
        site: PositionModel,
    ) -> list[Candidate]:
        samples = NumberSamples(spot, np.concatenate([np.array(part, np.int64) for part in values]))
        listed = matching(samples, make(samples))
        if not listed:
            name = "partner" if make is partners else "tag"
            raise self._refused(site.first, samples, f"no function of the rank and P gives its {name}s")
        return listed

    def _fill_call(
        self, site: PositionModel, groups: Sequence[Any], steps: Sequence[Sequence[RankStep]], spot: Surroundings
    ) -> None:
        """Find the functions of a collective's fields."""
        calls = [[step.call for step in of_rank if step.call is not None] for of_rank in steps]
        for name in ("sent", "received"):
            values = [[getattr(call, name) for call in of_rank] for of_rank in calls]
            if any(any(part) for part in values):
                site.sizes[name] = self._size(site, groups, values)
        roots = [
            [step.call.root if step.members is None else step.members[step.call.root] for step in of_rank if step.call]
            for of_rank in steps
        ]
        site.peer = self._matching(spot, roots, partners, site)
        for name in _COUNTS:
            lists = [[getattr(call, name) for call in of_rank] for of_rank in calls]
            if not any(any(part) for part in lists):
                continue
            chosen, values = [], []
            for group, part in zip(groups, lists, strict=True):
                full = np.array([bool(item) for item in part])
                for item in part:
                    if item and len(set(item)) > 1:
                        raise InputError(
                            f"{site.first}: rank {group[1]} of {self.runs[group[0]].processes}: bytes that differ from "
                            "rank to rank: it cannot be extrapolated"
                        )
                if full.any():
                    indices = [index[full] for index in group[2]]
                    chosen.append((group[0], group[1], indices, int(full.sum())))
                    values.append([item[0] for item in part if item])
            site.sizes[name] = self._size(site, chosen, values)

    def _size(self, site: PositionModel, groups: Sequence[Any], values: Sequence[Sequence[int]]) -> SizeModel:
        parts = [
            (self._sides(number), self._surroundings(number, rank, indices, rounds), np.array(part, np.int64))
            for (number, rank, indices, rounds), part in zip(groups, values, strict=True)
        ]
        model = size_model(parts)
        if model is None:
            number, rank = groups[0][:2]
            raise InputError(
                f"{site.first}: rank {rank} of {self.runs[number].processes}: no function of P gives its bytes: it "
                "cannot be extrapolated"
            )
        return model

    def _sides(self, number: int) -> tuple[int, ...]:
        run = self.runs[number]
        return (run.processes, *(side for grid in run.grids[1:] for side in grid.sides))

    # Which ranks do alike

    def _patterns(self) -> dict[tuple[int, int], frozenset[int]]:
        """Return the steps that each rank of each source does at all."""
        return {
            (number, rank): frozenset(position for position, places in parse.places.items() if places)
            for number, run in enumerate(self.runs)
            for rank, parse in enumerate(run.parses)
        }
