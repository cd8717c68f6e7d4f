"""The actions of a rank of another program's trace, written call by call. Main entries: `RankActions`, `ForeignTrace`.

Computation is what lies between calls. Calls that have no action last as long as they did, and are counted.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from commmodel.arguments import finite
from commmodel.collectives.call import CollectiveCall
from commmodel.collectives.settings import CollectiveSettings
from commmodel.simulate.operations import Program
from commmodel.simulate.traces.action_text import SPEED, Action, MemberCall, Piece, Tags, as_piece, as_text
from commmodel.simulate.traces.reader import replay_texts
from commmodel.simulate.work.communicators import Definition

_REMEMBERED = 512
"""Calls of a rank: few, as each may have counts for thousands of ranks."""
WORLD = 0
"""Number of MPI_COMM_WORLD."""


class RankActions:
    """Writes the actions of one rank.

    `members` are the ranks of each communicator, in their order in it, of which 0 is MPI_COMM_WORLD; `tags` are those
    of all ranks. Calls without an action are counted in `not_carried`.
    """

    def __init__(self, rank: int, members: Mapping[int, Sequence[int]], tags: Tags, not_carried: Counter[str]) -> None:
        self.rank = rank
        self._members, self._tags, self._not_carried = members, tags, not_carried
        self._actions: list[Action] = ["init"]
        self._defined: set[int] = set()
        self._alike: dict[tuple[int, CollectiveCall], Action] = {}
        self._end: float | None = None
        self._waits: dict[object, Action] = {}

    def take(self) -> list[Action]:
        """Return the actions since the last call."""
        actions, self._actions = self._actions, []
        return actions

    def compute(self, seconds: float) -> None:
        """Write computation."""
        if seconds > 0:
            self._actions.append(f"compute {seconds * SPEED:.12g}")

    def call(self, begin: float | None, end: float | None, *, polls: bool = False) -> None:
        """Write the computation before a call; none between two calls that poll."""
        if begin is not None and self._end is not None and not polls:
            self.compute(begin - self._end)
        if end is not None:
            self._end = end if self._end is None else max(end, self._end)

    def opaque(self, name: str, seconds: float) -> None:
        """Write a call that has no action as the time that it took."""
        self._not_carried[name] += 1
        if seconds > 0:
            self._actions.append(f"sleep {seconds:.12g}")

    def send(self, communicator: int, peer: int, tag: int, size: int, request: object = None) -> None:
        """Write a send of `size` bytes to a rank in a communicator; `request` makes it one that does not block."""
        target, number = self._members[communicator][peer], self._tags(communicator, tag)
        self._actions.append(f"{'send' if request is None else 'isend'} {target} {number} {size} 6")
        self._post(request, f"wait {self.rank} {target} {number}")

    def receive(self, communicator: int, peer: int, tag: int, size: int, request: object = None) -> None:
        """Write a receive of at most `size` bytes; a negative rank or tag is any."""
        source, number = -1 if peer < 0 else self._members[communicator][peer], self._tags(communicator, tag)
        self._actions.append(f"{'recv' if request is None else 'irecv'} {source} {number} {size} 6")
        self._post(request, f"wait {source} {self.rank} {number}")

    def _post(self, request: object, wait: str) -> None:
        if request is not None:
            self.complete(request)  # it is used again, so what it stood for has ended
            self._waits[request] = wait

    def is_open(self, request: object) -> bool:
        """Whether a request waits to be completed."""
        return request in self._waits

    def complete(self, request: object) -> None:
        """Write that a request has been completed; nothing of one that is not open."""
        action = self._waits.pop(request, None)
        if action:
            self._actions.append(action)

    def complete_all(self) -> None:
        """Write that all open requests have been completed."""
        for request in list(self._waits):
            self.complete(request)

    def collective(self, communicator: int, call: CollectiveCall, request: object = None) -> None:
        """Write a collective of a communicator; with a request, when that is completed."""
        members = self._members[communicator]
        if communicator != WORLD and len(members) > 1 and communicator not in self._defined:
            self._defined.add(communicator)
            self._actions.append(Definition(communicator, members))
        is_alone = communicator != WORLD and len(members) == 1
        action: Action = ""
        if not is_alone:
            key = communicator, call
            action = self._alike.get(key) or MemberCall(call._replace(communicator=communicator), len(members))
            if len(self._alike) >= _REMEMBERED:
                self._alike.clear()
            self._alike[key] = action
        if request is not None:
            self.complete(request)
            self._waits[request] = action
        elif action:
            self._actions.append(action)


class RankReader(Protocol):
    """Reads the actions of a rank, from the beginning; counts calls that have no action."""

    def __call__(self, rank: int, not_carried: Counter[str], /) -> Iterator[list[Action]]:
        """Yield actions in parts."""


class CountedActions:
    """Actions of P ranks that are made while they are read, and the calls that have none.

    `remarks` returns further sentences on what has been read.
    """

    def __init__(self, processes: int, rank_reader: RankReader, remarks: Callable[[], Sequence[str]] = tuple) -> None:
        self.processes: int = processes
        self._rank_reader, self._remarks = rank_reader, remarks
        self._not_carried: dict[int, Counter[str]] = {}

    @property
    def not_carried(self) -> Counter[str]:
        """Names of calls that have no action -> how many have been written as time alone, so far."""
        return sum(self._not_carried.values(), Counter())

    def text(self, rank: int) -> Iterator[str]:
        """Yield the lines of a rank."""
        return (as_text(rank, actions) for actions in self._parts(rank))

    def _parts(self, rank: int) -> Iterator[list[Action]]:
        not_carried = self._not_carried[rank] = Counter()  # anew: a trace may be read more than once
        yield from self._rank_reader(rank, not_carried)
        yield ["finalize"]

    def notes(self) -> list[str]:
        """Return sentences on what has been read and not carried over; complete when all ranks have been read."""
        if not self.not_carried:
            return [*self._remarks()]
        calls = ", ".join(f"{count} {name}" for name, count in self.not_carried.most_common())
        return [f"carried over as the time that they took, not as messages: {calls}", *self._remarks()]

    def pieces(self, rank: int) -> Iterator[Piece]:
        """Yield the actions of a rank for a replay."""
        return (as_piece(rank, actions) for actions in self._parts(rank) if actions)


class ForeignTrace(CountedActions):
    """Another program's trace, read from `path`; its computation is in seconds."""

    in_seconds = True
    """So processors' speeds do not matter."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        processes: int,
        rank_reader: RankReader,
        remarks: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        super().__init__(processes, rank_reader, remarks)
        self.path: str | os.PathLike[str] = path

    def program(
        self,
        speeds: float | Sequence[float] = SPEED,  # noqa: ARG002  (of traces that count flops)
        *,
        faster: float = 1.0,
        settings: CollectiveSettings | None = None,
    ) -> Program:
        """Return the program that does what the ranks did; see `commmodel.simulate.traces.replay`."""
        speed = SPEED * finite("faster", faster, above=0)
        names = [f"{self.path}, rank {rank}" for rank in range(self.processes)]
        return replay_texts(self.pieces, names, speeds=speed, settings=settings, title=os.path.basename(self.path))
