"""What time decides in a run of a program, and how another run may decide it. Main entry: `RunRecord`.

A decision is which message a receive or a probe from any source gets, which of several requests a call completes, or
whether a test finds what it looks for. A choice is a rank of the whole program, the place of a request, or 1 of a test
that finds something and 0 of one that finds nothing. A message was possible for a decision unless its send follows
that, which vector clocks tell: they count the decisions of each rank that a send follows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from commmodel.errors import InputError
from commmodel.simulate.operations import ANY

FREE = -1
"""In place of a choice: time decides."""
RECEIVE, PROBE, COMPLETION, TEST, LOOK, SPIN = range(6)
_TAG_BITS = 20
_ANY_OF_COMMUNICATOR = -2147479552

Place = tuple[int, int]
"""Of a decision: rank, and its number there."""
Choices = dict[Place, int]


@dataclass(frozen=True)
class Decision:
    """What time has decided."""

    rank: int
    number: int
    kind: int
    choice: int
    prescribed: int
    tag: int
    posting: int
    stamp: int
    """Of the rank's clock."""
    order: int
    message: int
    site: Sequence[str]
    other_site: Sequence[str]
    """Of the message's send."""

    @property
    def place(self) -> Place:
        """Which decision it is."""
        return self.rank, self.number

    @property
    def is_test(self) -> bool:
        """Whether a test is to find something or nothing."""
        return self.kind >= TEST


@dataclass
class RunRecord:
    """What a run has decided: of each rank, what `Pump.decisions` returns."""

    prescribed: Choices = field(default_factory=dict)
    """Before the run."""
    ranks: list[tuple[list[Any], list[Any], list[Any]]] = field(default_factory=list)
    """After it."""

    def choices(self) -> dict[int, list[int]]:
        """Return the prescribed choices of each rank, in its order."""
        ranks: dict[int, list[int]] = {}
        for rank, number in sorted(self.prescribed):
            row = ranks.setdefault(rank, [])
            row += [FREE] * (number - len(row)) + [self.prescribed[rank, number]]
        return ranks

    def decisions(self) -> list[Decision]:
        """Return all that were decisions, in an order in which each follows those on which it depends."""
        listed = [
            Decision(rank, number, *words)
            for rank, (rows, _, _) in enumerate(self.ranks)
            for number, words in enumerate(rows)
        ]
        return sorted((decision for decision in listed if decision.order >= 0), key=lambda entry: entry.order)

    def unmet(self) -> bool:
        """Return whether a prescribed choice has not come, though another one could: the run says nothing."""
        for rank, (rows, arrivals, _) in enumerate(self.ranks):
            for number, words in enumerate(rows):
                decision = Decision(rank, number, *words)
                if decision.is_test and decision.order < 0 and decision.prescribed != FREE:
                    return True
                if (
                    decision.order < 0
                    and decision.prescribed != FREE
                    and any(posting < 0 and _fits(decision.tag, tag) for posting, _, tag, _, _ in arrivals)
                ):
                    return True
        return any(number >= len(self.ranks[rank][0]) for rank, number in self.prescribed if rank < len(self.ranks))

    def alternatives(self, decisions: Sequence[Decision]) -> dict[Place, dict[int, Choices]]:
        """Return each decision's other choices, each with the choices of candidates on which it depends."""
        alternatives: dict[Place, dict[int, Choices]] = {}
        for decision in decisions:
            candidates = self._candidates(decision)
            choices = {
                choice: _causes(clock, decisions)
                for choice, clock in candidates.items()
                if choice != decision.choice and (clock is None or clock[decision.rank] < decision.stamp)
            }
            if choices:
                alternatives[decision.place] = choices
        return alternatives

    def _candidates(self, decision: Decision) -> dict[int, Any]:
        """Return what could have been chosen, with the clocks on which that depends."""
        if decision.kind == SPIN:
            return {}
        if decision.is_test and decision.choice:
            return {0: None}
        if decision.kind == LOOK:
            clocks = (
                clock
                for source, clock in self._messages(decision).items()
                if decision.message in (FREE, source) and (clock is None or clock[decision.rank] < decision.stamp)
            )
            return dict(zip((1,), clocks, strict=False))
        return self._messages(decision) if decision.kind in (RECEIVE, PROBE) else self._requests(decision)

    def _messages(self, decision: Decision) -> dict[int, Any]:
        """Return sources whose first message for a receive or probe was not received before, with their clocks."""
        first: dict[int, tuple[int, Any]] = {}
        for posting, source, tag, number, clock in self.ranks[decision.rank][1]:
            is_later = posting < 0 or posting >= decision.posting + (decision.kind != RECEIVE)
            if is_later and _fits(decision.tag, tag) and (source not in first or number < first[source][0]):
                first[source] = number, clock
        return {source: clock for source, (_, clock) in first.items()}

    def _requests(self, decision: Decision) -> dict[int, Any]:
        """Return places of requests that could have been completed, with the clocks of their messages."""
        _, arrivals, candidates = self.ranks[decision.rank]
        clocks = {posting: clock for posting, _, _, _, clock in arrivals if posting >= 0}
        return {
            place: None if is_complete else clocks[posting]
            for number, place, posting, is_complete in candidates
            if number == decision.number and (is_complete or posting in clocks)
        }


def _fits(pattern: int, tag: int) -> bool:
    """Return whether a receive's tag takes a message's."""
    if pattern != ANY and pattern > _ANY_OF_COMMUNICATOR:
        return pattern == tag
    context = tag >> _TAG_BITS
    return tag >= 0 and pattern == (_ANY_OF_COMMUNICATOR - context if context > 0 else ANY)


def _causes(clock: Sequence[int] | None, decisions: Sequence[Decision]) -> Choices:
    if clock is None:
        return {}
    return {decision.place: decision.choice for decision in decisions if decision.stamp <= clock[decision.rank]}


def order_text(choices: Mapping[Place, int]) -> str:
    """Return choices as text, like ``0:2,1;3:-,0``: of each rank, its choices in their order.

    >>> order_text({(0, 0): 2, (0, 1): 1, (3, 1): 0})
    '0:2,1;3:-,0'
    """
    rows = RunRecord(dict(choices)).choices()
    return ";".join(
        f"{rank}:{','.join('-' if word == FREE else str(word) for word in row)}" for rank, row in rows.items()
    )


def parse_order(text: str) -> Choices:
    """Return the choices of a text.

    >>> parse_order("0:2,1;3:-,0")
    {(0, 0): 2, (0, 1): 1, (3, 1): 0}
    """
    choices: Choices = {}
    try:
        for row in filter(None, text.split(";")):
            rank, _, words = row.partition(":")
            for number, word in enumerate(words.split(",")):
                if word != "-":
                    choices[_count(rank), number] = _count(word)
    except ValueError:
        raise InputError(f"{text}: an order is as a finding says it, like 0:2,1;3:-,0") from None
    return choices


def _count(word: str) -> int:
    if not word.isascii() or not word.isdigit():
        raise ValueError(word)
    return int(word)
