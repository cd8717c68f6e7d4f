"""The loops of a program, found in the sequence of a rank's calls, and one skeleton for all ranks.

A skeleton is a list of steps and loops. Each rank's sequence is parsed by it: how often it goes round each loop, and
which steps it leaves out. Main entries: `loops_of`, `Skeleton`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

Shape = tuple[object, ...]
_LONGEST_BODY = 512


@dataclass(eq=False)
class StepNode:
    """A step: its key, and the places of its occurrences in the sequence."""

    key: int
    places: list[int] = field(default_factory=list)

    @property
    def shape(self) -> Shape:
        """What is the same of all its occurrences."""
        return (self.key,)


@dataclass(eq=False)
class LoopNode:
    """A loop: its body, and how often it went round each time."""

    body: "list[Node]"
    counts: list[int]

    def __post_init__(self) -> None:
        self.shape: Shape = ("loop", *(node.shape for node in self.body))


Node = StepNode | LoopNode


def _join(first: Sequence[Node], second: Sequence[Node]) -> list[Node]:
    """Return two iterations of a body of the same shape as one."""
    nodes: list[Node] = []
    for left, right in zip(first, second, strict=True):
        if isinstance(left, StepNode) and isinstance(right, StepNode):
            left.places += right.places
        elif isinstance(left, LoopNode) and isinstance(right, LoopNode):
            left.body = _join(left.body, right.body)
            left.counts += right.counts
        nodes.append(left)
    return nodes


def loops_of(keys: Sequence[int], values: Sequence[object] = ()) -> list[Node]:
    """Return the loops of a sequence of keys: what repeats, at once one after the other.

    A loop whose values repeat, one for each key, is one in another one.

    >>> [type(node).__name__ for node in loops_of([1, 2, 3, 2, 3, 2, 3, 4])]
    ['StepNode', 'LoopNode', 'StepNode']
    """
    nodes: list[Node] = []
    numbers: dict[Shape, int] = {}
    shapes: list[int] = []

    def append(node: Node) -> None:
        nodes.append(node)
        shapes.append(numbers.setdefault(node.shape, len(numbers)))

    def reduce() -> bool:
        last = shapes[-1]
        for width in range(1, min(len(nodes) - 1, _LONGEST_BODY) + 1):
            before = nodes[-width - 1]
            while isinstance(before, LoopNode):  # a further round of it, or of the loop at its end
                if len(before.body) == width and all(
                    left.shape == right.shape for left, right in zip(before.body, nodes[-width:], strict=True)
                ):
                    before.body = _join(before.body, nodes[-width:])
                    before.counts[-1] += 1
                    del nodes[-width:], shapes[-width:]
                    return True
                before = before.body[-1]
            if (
                shapes[-width - 1] == last
                and 2 * width <= len(nodes)
                and shapes[-2 * width : -width] == shapes[-width:]
            ):
                loop = LoopNode(_join(nodes[-2 * width : -width], nodes[-width:]), [2])
                del nodes[-2 * width :], shapes[-2 * width :]
                append(loop)
                return True
        return False

    for place, key in enumerate(keys):
        append(StepNode(key, [place]))
        while len(nodes) > 1 and reduce():
            pass
    order: dict[int, int] = {}
    for key in keys:
        order.setdefault(key, len(order))
    nodes = _rotated(nodes, order)
    return _split(nodes, values) if values else nodes


def _split(nodes: Sequence[Node], values: Sequence[object]) -> list[Node]:
    """Return nodes in which a loop whose values repeat after some rounds is two loops."""
    listed: list[Node] = []
    for node in nodes:
        if isinstance(node, StepNode) or not all(isinstance(part, StepNode) for part in node.body):
            listed.append(node if isinstance(node, StepNode) else LoopNode(_split(node.body, values), node.counts))
            continue
        leaves = [part for part in node.body if isinstance(part, StepNode)]
        count = sum(node.counts)
        rounds = [tuple(values[leaf.places[number]] for leaf in leaves) for number in range(count)]
        periods, at = set(), 0
        for number in node.counts:
            periods.add(_period(rounds[at : at + number]))
            at += number
        period = periods.pop()
        if periods or period == 1 or any(number == period for number in node.counts):
            listed.append(node)
            continue
        inner = LoopNode(node.body, [period] * (count // period))
        listed.append(LoopNode([inner], [number // period for number in node.counts]))
    return listed


def _period(rounds: Sequence[object]) -> int:
    """Return after how many rounds all values come again; the number of rounds where they never do."""
    count = len(rounds)
    for period in range(1, count // 2 + 1):
        if count % period == 0 and all(rounds[place] == rounds[place - period] for place in range(period, count)):
            return period
    return count


def _rotated(nodes: Sequence[Node], order: dict[int, int]) -> list[Node]:
    """Return nodes whose loops begin with the earliest key that they can: A, B C, B C, B is also A B, C B, C B."""
    listed = [
        node if isinstance(node, StepNode) else LoopNode(_rotated(node.body, order), node.counts) for node in nodes
    ]
    place = 0
    while place < len(listed):
        loop = listed[place]
        if isinstance(loop, LoopNode):
            after = listed[place + 1 : place + len(loop.body)]
            most = 0
            for left, right in zip(loop.body, after, strict=False):
                if not isinstance(left, StepNode) or left.shape != right.shape:
                    break
                most += 1
            starts = [(min(order[key] for key in _leaves([node])), by) for by, node in enumerate(loop.body[: most + 1])]
            by = min(starts)[1]
            if by:
                listed[place : place + 1 + by] = _rotate(loop, after[:by])
                place += by
        place += 1
    return listed


def _rotate(loop: LoopNode, after: Sequence[Node]) -> list[Node]:
    """Return the first steps of the first round of a loop, and the loop that begins behind them."""
    first: list[Node] = []
    moved: list[Node] = []
    for left, right in zip(loop.body, after, strict=False):
        if not isinstance(left, StepNode) or not isinstance(right, StepNode):
            raise NotImplementedError
        before, rest, at = [], [], 0
        for count, last in zip(loop.counts, right.places, strict=True):
            before.append(left.places[at])
            rest += [*left.places[at + 1 : at + count], last]
            at += count
        first.append(StepNode(left.key, before))
        moved.append(StepNode(left.key, rest))
    return [*first, LoopNode([*loop.body[len(after) :], *moved], loop.counts)]


# Alignment of a rank's nodes with the skeleton. A choice is (kind, place in the skeleton, nodes of the rank from, to).
_Choice = tuple[str, int, int, int]


def _size(nodes: Sequence[Node]) -> int:
    return sum(1 if isinstance(node, StepNode) else _size(node.body) for node in nodes)


class _Alignment:
    """The best alignment of a list of nodes with another one: most steps in common."""

    def __init__(self, template: Sequence[Node], nodes: Sequence[Node], *, is_complete: bool) -> None:
        self.template, self.nodes, self.is_complete = template, nodes, is_complete
        self._best = cache(self._search)
        self._inner: dict[tuple[int, int, int], _Alignment] = {}

    def inner(self, place: int, first: int, last: int) -> "_Alignment":
        """Return the alignment of the body of a loop with some nodes, or where there is one loop with its body."""
        key = place, first, last
        if key not in self._inner:
            loop, nodes = self.template[place], self.nodes[first:last]
            if not isinstance(loop, LoopNode):
                raise NotImplementedError
            body = nodes[0].body if last == first + 1 and isinstance(nodes[0], LoopNode) else nodes
            self._inner[key] = _Alignment(loop.body, body, is_complete=self.is_complete)
        return self._inner[key]

    @property
    def score(self) -> float:
        """Steps in common; below 0 where it must be complete and is not."""
        return self._best(0, 0, False)[0]

    def choices(self) -> list[_Choice]:
        """Return what is done with each node, in order; further rounds of a loop are choices of their own."""
        place, at, is_open = 0, 0, False
        listed = []
        while place < len(self.template) or at < len(self.nodes):
            choice = self._best(place, at, is_open)[1]
            if choice is None:
                raise NotImplementedError
            kind, _, _, last = choice
            at = last
            if kind == "close":
                place, is_open = place + 1, False
                continue
            listed.append(choice)
            is_open = kind in ("loop", "once")
            place += kind in ("skip", "leaf")
        return listed

    def _search(self, place: int, at: int, is_open: bool) -> tuple[float, _Choice | None]:
        """Return the best score from here on, and the choice here; a loop that is open has rounds already."""
        if place == len(self.template) and at == len(self.nodes):
            return 0.0, None
        options: list[tuple[float, _Choice]] = []
        if is_open:
            options.append((self._best(place + 1, at, False)[0], ("close", place, at, at)))
        elif place < len(self.template):
            options.append((self._best(place + 1, at, False)[0], ("skip", place, at, at)))
        if at < len(self.nodes) and not is_open:
            cost = -1e6 if self.is_complete else -1e-6
            options.append((self._best(place, at + 1, False)[0] + cost, ("insert", place, at, at + 1)))
        if place < len(self.template) and at < len(self.nodes):
            for score, choice in self._matches(place, at):
                is_leaf = choice[0] == "leaf"
                rest = self._best(place + is_leaf, choice[3], not is_leaf)[0]
                options.append((score + rest - 0.4 * is_open, choice))
        return max(options, key=lambda pair: pair[0])

    def _matches(self, place: int, at: int) -> list[tuple[float, _Choice]]:
        left, right = self.template[place], self.nodes[at]
        if isinstance(left, StepNode):
            is_equal = isinstance(right, StepNode) and left.key == right.key
            return [(1.0, ("leaf", place, at, at + 1))] if is_equal else []
        options: list[tuple[float, _Choice]] = []
        if isinstance(right, LoopNode):
            score = self.inner(place, at, at + 1).score
            if score > 0:
                options.append((score, ("loop", place, at, at + 1)))
        for last in range(at + 1, min(len(self.nodes), at + len(left.body)) + 1):
            if last == at + 1 and isinstance(right, LoopNode):
                continue
            score = self.inner(place, at, last).score
            if score > 0:
                options.append((score - 0.25, ("once", place, at, last)))
        return options


def _emptied(nodes: Sequence[Node]) -> list[Node]:
    return [StepNode(node.key) if isinstance(node, StepNode) else LoopNode(_emptied(node.body), []) for node in nodes]


def merge(template: Sequence[Node], nodes: Sequence[Node]) -> list[Node]:
    """Return a skeleton by which both can be parsed."""
    if not template:
        return _emptied(nodes)
    alignment = _Alignment(template, nodes, is_complete=False)
    merged: list[Node] = []
    current = -1
    for kind, place, first, last in alignment.choices():
        if kind == "insert":
            merged += _emptied(nodes[first:last])
        elif kind in ("skip", "leaf"):
            merged.append(template[place])
        else:
            inner = alignment.inner(place, first, last)
            body = merged.pop().body if current == place else inner.template  # type: ignore[union-attr]
            merged.append(LoopNode(merge(body, inner.nodes), []))
            current = place
    return merged


def _leaves(nodes: Sequence[Node]) -> set[int]:
    return {key for node in nodes for key in ({node.key} if isinstance(node, StepNode) else _leaves(node.body))}


def fold(nodes: Sequence[Node], keys: frozenset[int]) -> list[Node]:
    """Return nodes without rounds of a loop beside it that leave out some of its steps, all of certain keys."""
    folded = [node if isinstance(node, StepNode) else LoopNode(fold(node.body, keys), []) for node in nodes]
    place = 0
    while place < len(folded):
        loop = folded[place]
        if isinstance(loop, LoopNode) and _leaves(loop.body) <= keys:
            for count in range(len(loop.body), 0, -1):
                after, before = folded[place + 1 : place + 1 + count], folded[max(place - count, 0) : place]
                if len(after) == count and _is_round(loop, after):
                    del folded[place + 1 : place + 1 + count]
                    place -= 1
                    break
                if len(before) == count and _is_round(loop, before):
                    del folded[place - count : place]
                    place -= count + 1
                    break
        place += 1
    return folded


def _is_round(loop: LoopNode, nodes: Sequence[Node]) -> bool:
    return _Alignment(loop.body, nodes, is_complete=True).score > 0


@dataclass
class SkeletonPosition:
    """A step or a loop of the skeleton: the positions of the loops around it, and its own number."""

    number: int
    key: int | None
    """None of a loop."""
    body: "list[SkeletonPosition]"
    depth: int


@dataclass
class SkeletonParse:
    """A rank's sequence as the skeleton has it: values of each position, for each time that its loop went round."""

    counts: dict[int, list[int]]
    """Position -> how often the loop goes round, or 0 or 1 of a step, each time that it is reached."""
    places: dict[int, list[int]]
    """Position of a step -> its places in the sequence."""


class Skeleton:
    """One skeleton for many sequences, the longest ones first.

    Rounds of a loop may leave out steps whose keys are `partial`.
    """

    def __init__(
        self,
        sequences: Sequence[Sequence[int]],
        partial: frozenset[int] = frozenset(),
        values: Sequence[Sequence[object]] = (),
    ) -> None:
        self._trees: dict[tuple[object, ...], list[Node]] = {}
        template: list[Node] = []
        pairs = {
            (tuple(keys), tuple(part)) for keys, part in zip(sequences, values or [()] * len(sequences), strict=True)
        }
        for keys, part in sorted(pairs, key=lambda pair: (-len(set(pair[0])), -len(pair[0]), pair[0])):
            nodes = self._trees[keys, part] = loops_of(keys, part)
            if not template or _Alignment(template, nodes, is_complete=True).score < 0:
                template = fold(merge(template, fold(nodes, partial)), partial)
        self._template = template
        self._count = 0
        self.positions: list[SkeletonPosition] = self._numbered(template, 0)

    def _numbered(self, nodes: Sequence[Node], depth: int) -> list[SkeletonPosition]:
        listed = []
        for node in nodes:
            number = self._count
            self._count += 1
            body = [] if isinstance(node, StepNode) else self._numbered(node.body, depth + 1)
            listed.append(SkeletonPosition(number, node.key if isinstance(node, StepNode) else None, body, depth))
        return listed

    def parse(self, keys: Sequence[int], values: Sequence[object] = ()) -> SkeletonParse | None:
        """Return a sequence as the skeleton has it; None where it is none of it."""
        alignment = _Alignment(self._template, self._trees[tuple(keys), tuple(values)], is_complete=True)
        if alignment.score < 0:
            return None
        parts = self._collect(self.positions, alignment, 1)
        return SkeletonParse(
            {number: of_round[0] for number, of_round in parts.counts.items()},
            {number: of_round[0] for number, of_round in parts.places.items()},
        )

    def _collect(self, positions: Sequence[SkeletonPosition], alignment: _Alignment, times: int) -> "_RoundParts":
        """Return what a list of positions has, in each of so many rounds of the loop around."""
        parts = _RoundParts({}, {})
        for kind, place, first, last in alignment.choices():
            position, node = positions[place], alignment.nodes[min(first, len(alignment.nodes) - 1)]
            if kind == "skip":
                parts.add(position.number, [[0]] * times)
            elif isinstance(node, StepNode) and kind == "leaf":
                parts.add(position.number, [[1]] * times)
                _extend(parts.places, position.number, [[place] for place in node.places])
            else:
                rounds = node.counts if kind == "loop" and isinstance(node, LoopNode) else [1] * times
                parts.add(position.number, [[count] for count in rounds], is_sum=True)
                inner = self._collect(position.body, alignment.inner(place, first, last), sum(rounds))
                for target, source in ((parts.counts, inner.counts), (parts.places, inner.places)):
                    for number, of_round in source.items():
                        _extend(target, number, _regrouped(of_round, rounds))
        return parts


@dataclass
class _RoundParts:
    """Counts and places of positions, in each round of the loop around them."""

    counts: dict[int, list[list[int]]]
    places: dict[int, list[list[int]]]

    def add(self, number: int, of_round: list[list[int]], *, is_sum: bool = False) -> None:
        """Add counts of a position; of a loop that goes on, its rounds are more."""
        if is_sum and number in self.counts:
            pairs = zip(self.counts[number], of_round, strict=True)
            self.counts[number] = [[before[0] + more[0]] for before, more in pairs]
        else:
            self.counts[number] = of_round


def _extend(target: dict[int, list[list[int]]], number: int, of_round: list[list[int]]) -> None:
    if number in target:
        of_round = [before + more for before, more in zip(target[number], of_round, strict=True)]
    target[number] = of_round


def _regrouped(of_round: list[list[int]], rounds: Sequence[int]) -> list[list[int]]:
    """Return what rounds of an inner loop have, for each round of the outer one."""
    grouped, first = [], 0
    for count in rounds:
        grouped.append([item for part in of_round[first : first + count] for item in part])
        first += count
    return grouped
