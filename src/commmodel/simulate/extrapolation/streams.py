"""What ranks did, as steps with the site of each call: the input of an extrapolation.

Computation belongs to the step before which it is. A tag is a communicator and a tag in it. Main
entries: `StepSource`, `read_rank`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from commmodel._core.common.codes import ANY
from commmodel.collectives.call import CollectiveCall
from commmodel.errors import InputError
from commmodel.simulate.traces.action_text import Action, MemberCall
from commmodel.simulate.work.communicators import Definition

END = "the end"
"""Site of what comes after the last call."""
_SECOND = 1e9
_MESSAGES = {"send", "isend", "recv", "irecv"}
_MOST_STEPS = 5_000_000


class StepSource(Protocol):
    """A program as each of its ranks has carried it out on a number of processes."""

    @property
    def processes(self) -> int:
        """P."""

    @property
    def title(self) -> str:
        """For people."""

    def steps(self, rank: int) -> Iterator[tuple[str, Sequence[Action]]]:
        """Yield each call: its name and site, and its actions; computation is in flops, 10^9 a second."""

    def context(self, tag: int) -> tuple[tuple[int, ...] | None, int]:
        """Return the members of the communicator of a tag, None for all ranks, and the tag in it."""


class RankStep(NamedTuple):
    """A message, a wait or a collective of a rank, with the computation before it."""

    site: str
    """Name of the call, and where it is."""
    verb: str
    """``send``, ``isend``, ``recv``, ``irecv``, ``wait-send``, ``wait-receive`` or ``end``, or the name of a
    collective."""
    members: tuple[int, ...] | None
    """Of the communicator; None where it has all ranks."""
    peer: int = ANY
    tag: int = ANY
    size: int = 0
    call: CollectiveCall | None = None
    computation: float = 0.0
    """Seconds."""
    sleep: float = 0.0
    """Seconds of calls that are no messages."""


class _StepReader:
    """Makes steps of the actions of a rank."""

    def __init__(self, source: StepSource, rank: int) -> None:
        self._source, self._rank = source, rank
        self._members: dict[int, tuple[int, ...] | None] = {0: None}
        self._computation = self._sleep = 0.0

    def steps(self) -> Iterator[RankStep]:
        for site, actions in self._source.steps(self._rank):
            for action in actions:
                if isinstance(action, Definition):
                    self._members[action.number] = self._shortened(action.members)
                elif isinstance(action, MemberCall):
                    yield self._step(site, action.call.operation, self._members[action.call.communicator], action.call)
                elif action:
                    yield from self._words(site, action.split())
        yield self._step(END, "end", None, None)

    def _shortened(self, members: Iterable[int]) -> tuple[int, ...] | None:
        listed = tuple(int(member) for member in members)
        return None if listed == tuple(range(self._source.processes)) else listed

    def _step(
        self, site: str, verb: str, members: tuple[int, ...] | None, call: CollectiveCall | None,
        message: tuple[int, int, int] = (ANY, ANY, 0),
    ) -> RankStep:  # fmt: skip
        step = RankStep(site, verb, members, *message, call, self._computation, self._sleep)
        self._computation = self._sleep = 0.0
        return step

    def _words(self, site: str, words: list[str]) -> Iterator[RankStep]:
        verb = words[0]
        if verb == "compute":
            self._computation += float(words[1]) / _SECOND
        elif verb == "sleep":
            self._sleep += float(words[1])
        elif verb in _MESSAGES:
            peer, tag, size = map(int, words[1:4])
            if peer == ANY:
                raise InputError(
                    f"{site}: rank {self._rank} receives from any source, which time decides: it cannot be extrapolated"
                )
            members, number = self._source.context(tag)
            yield self._step(site, verb, members, None, (peer, number, size))
        elif verb == "wait":
            sender, receiver, tag = map(int, words[1:4])
            members, number = self._source.context(tag)
            is_send = sender == self._rank
            kind, peer = ("wait-send", receiver) if is_send else ("wait-receive", sender)
            yield self._step(site, kind, members, None, (peer, number, 0))
        elif verb not in ("init", "finalize"):
            raise InputError(f"{site}: {verb} of rank {self._rank} cannot be extrapolated")


def read_rank(source: StepSource, rank: int) -> list[RankStep]:
    """Return the steps of a rank.

    Raises
    ------
    InputError
        Where a receive takes what comes first, or there are too many steps.
    """
    steps = []
    for step in _StepReader(source, rank).steps():
        steps.append(step)
        if len(steps) > _MOST_STEPS:
            raise InputError(
                f"{source.title}: rank {rank} has more than {_MOST_STEPS:,} steps: record fewer iterations"
            )
    return steps
