"""Communicators of traces that name them by handles, whose values are those of each process alone.

A trace says which rank the caller has in a communicator of how many ranks, and who called what made it: that tells
the ranks of communicators that were split off or duplicated. What is told of others is None. Main entry: `resolved`.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from typing import NamedTuple

Members = Sequence[int]


class Use(NamedTuple):
    """The first use of a handle, or the first with another rank or size."""

    handle: int
    rank: int
    size: int


class Made(NamedTuple):
    """A call that makes a communicator from a parent: by colours and keys, or with all ranks of it."""

    parent: int
    is_split: bool
    color: int = 0
    key: int = 0


Event = Use | Made


class _Resolver:
    def __init__(self, events: Sequence[Sequence[Event]]) -> None:
        self.processes = len(events)
        self.members: dict[int, Members] = {0: range(self.processes)}
        self.numbers: list[list[int | None]] = [[] for _ in events]
        """Of each rank's uses."""
        self._left = [deque(listed) for listed in events]
        self._handles: list[dict[int, int | None]] = [{} for _ in events]
        self._unused: list[list[int]] = [[] for _ in events]
        """Communicators of each rank that have been made and not been used."""
        self._calls: list[dict[int, int]] = [defaultdict(int) for _ in events]
        self._arrived: dict[tuple[int, int], dict[int, Made]] = defaultdict(dict)

    def run(self) -> None:
        """Let each rank go on until it waits for others that make the same communicator."""
        ready = deque(range(self.processes))
        while ready:
            rank = ready.popleft()
            while self._left[rank]:
                event = self._left[rank].popleft()
                if isinstance(event, Use):
                    self._use(rank, event)
                elif (parent := self._handles[rank].get(event.parent)) is not None:
                    number = self._calls[rank][parent]
                    self._calls[rank][parent] += 1
                    arrived = self._arrived[parent, number]
                    arrived[rank] = event
                    if len(arrived) == len(self.members[parent]):
                        self._make(parent, arrived)
                        del self._arrived[parent, number]
                        ready.extend(arrived)
                    break
        for rank, left in enumerate(self._left):  # those that wait for a rank that never comes
            for event in left:
                if isinstance(event, Use):
                    self._use(rank, event)

    def certain(self) -> list[list[int | None]]:
        """Return the communicator of each use; None for one that not all of its ranks use: it may be another."""
        users = Counter(number for numbers in self.numbers for number in {*numbers})
        whole = {number for number, members in self.members.items() if users[number] == len(members)} | {0}
        return [[number if number in whole else None for number in numbers] for numbers in self.numbers]

    def _use(self, rank: int, use: Use) -> None:
        unused = self._unused[rank]
        number: int | None = None
        fits = (n for n in unused if len(self.members[n]) == use.size and self.members[n][use.rank] == rank)
        if 0 <= use.rank < use.size and (fitting := next(fits, None)) is not None:
            number = fitting
            unused.remove(fitting)
        elif use.size == self.processes and (use.rank == rank or not self.numbers[rank]):
            number = 0  # the first that a rank uses is MPI_COMM_WORLD, even where a hand-made trace tells another rank
        elif use.size == 1:
            number = self._new((rank,))
        self._handles[rank][use.handle] = number
        self.numbers[rank].append(number)

    def _new(self, members: Members) -> int:
        number = len(self.members)
        self.members[number] = members
        return number

    def _make(self, parent: int, arrived: dict[int, Made]) -> None:
        order = self.members[parent]
        if not any(call.is_split for call in arrived.values()):
            groups = [order]
        else:
            by_color: dict[int, list[int]] = defaultdict(list)
            for rank in order:
                by_color[arrived[rank].color].append(rank)
            groups = [
                tuple(sorted(ranks, key=lambda rank: arrived[rank].key))  # of the same key, in the parent's order
                for color, ranks in sorted(by_color.items())
                if color >= 0
            ]
        for members in groups:
            number = self._new(members)
            for rank in members:
                self._unused[rank].append(number)


def resolved(events: Sequence[Sequence[Event]]) -> tuple[dict[int, Members], list[list[int | None]]]:
    """Return the ranks of each communicator, and the communicator of each use of each rank; 0 is of all ranks.

    >>> odd_even = [[Use(7, rank, 3), Made(7, True, rank % 2, -rank), Use(9, 1 - rank // 2, 2)] for rank in (0, 2)]
    >>> odd_even.insert(1, [Use(7, 1, 3), Made(7, True, 1, 0), Use(9, 0, 1)])
    >>> resolved(odd_even)
    ({0: range(0, 3), 1: (2, 0), 2: (1,)}, [[0, 1], [0, 2], [0, 1]])
    """
    resolver = _Resolver(events)
    resolver.run()
    return resolver.members, resolver.certain()
