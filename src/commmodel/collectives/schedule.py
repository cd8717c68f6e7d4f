"""Schedules of collective algorithms: rounds of messages with sender, receiver and bytes.

A schedule is a sequence of rounds. In a round a process begins its sends in the order listed, receives what others
send it, waits for all of it, and then copies or combines what it got. It enters its next round when it has done so:
no process waits for others than those it exchanges messages with, so processes may be in different rounds. Everything
is an array over the messages of the round, so that a schedule of a million messages is built in a moment.

What moves is named by blocks (`commmodel.collectives.algorithms.blocks`), so that `verify_rounds` can run a schedule on
symbols and see whether the right data arrive. An algorithm is a function from a `Problem` to rounds. Main entry:
`build`, in `commmodel.collectives`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import enough_memory, refuse, whole
from commmodel.collectives.operation import ELEMENT_SIZE, Operator, ScheduledName
from commmodel.docstrings import with_attributes
from commmodel.signatures import check_fields
from commmodel.values import OneLine, Value

Integers = NDArray[np.int64]
NONE: Integers = np.empty(0, dtype=np.int64)
NONE.flags.writeable = False


@dataclass(frozen=True)
class Nodes(Value):
    """How processes lie on nodes, and what algorithms in two levels use on each level."""

    per_node: int
    """k, ≥ 1. Ranks 0 to k - 1 are on the first node, the next k on the second."""
    within: Mapping[ScheduledName, str] = field(default_factory=dict)
    """Operation -> algorithm among the processes of a node."""
    between: Mapping[ScheduledName, str] = field(default_factory=dict)
    """The same among one process of each node; what they leave out is as in
    `commmodel.collectives.algorithms.two_level.USUAL`."""

    def __post_init__(self) -> None:
        check_fields(self)
        whole("per_node", self.per_node, 1)


@with_attributes
@dataclass(frozen=True)
class Problem:
    """Size of a collective operation: processes, bytes, root, segments and nodes."""

    processes: int
    """P, ≥ 1."""
    message_size: int = 0
    """n in bytes, ≥ 0, what the count argument of the MPI call says. The whole vector of a broadcast, reduction or
    scan; each process's block of a gather, scatter, allgather, alltoall or reduce_scatter_block; 0 for a barrier."""
    root: int = 0
    """Of a broadcast, reduction, gather or scatter."""
    segment_size: int | None = None
    """Bytes of a piece where an algorithm sends pieces one after the other, None for all at once."""
    nodes: Nodes | None = None
    """Where processes share nodes, None where nothing tells them apart."""
    element_size: int = ELEMENT_SIZE
    """Bytes of an element of the datatype, as libraries choose by the number of elements, too."""
    operator: Operator = "predefined"
    """Of a reduction, one of `OPERATORS`."""
    in_place: bool = False
    """Whether data are in the receive buffer already (MPI_IN_PLACE)."""

    def __post_init__(self) -> None:
        check_fields(self)
        for name, least in (("processes", 1), ("message_size", 0), ("element_size", 1), ("segment_size", 1)):
            if (value := getattr(self, name)) is not None:
                whole(name, value, least)
        if not 0 <= self.root < self.processes:
            raise refuse("root", self.root, f"the {self.processes} processes are numbered from 0")


class Access(NamedTuple):
    """Data that a process takes from memory without a message: from its own, or from a neighbour's on its node."""

    process: int
    owner: int
    blocks: Sequence[int]
    """Ids at the owner, after the messages of the round."""
    into: Sequence[int]
    """Ids under which the process puts them."""
    combine: bool = False


@dataclass(frozen=True)
class Round(OneLine):
    """Messages between two waits, and the memory work after them."""

    sender: Integers = field(default_factory=lambda: NONE)
    receiver: Integers = field(default_factory=lambda: NONE)
    size: Integers = field(default_factory=lambda: NONE)
    """Ranks and bytes of each message; a process begins its sends in this order."""
    blocks: Callable[[int], Sequence[int]] = lambda _: ()
    """Index of a message -> ids of the blocks that it carries, for `verify` alone."""
    into: Callable[[int], Sequence[int]] | None = None
    """Index of a message -> ids under which the receiver puts them, None for the same. Where it is twice as long, the
    receiver puts everything in two places."""
    combine: bool | NDArray[np.bool_] = False
    """Whether received blocks are combined with what is there (a reduction) or replace it, for all or each message."""
    copier: Integers = field(default_factory=lambda: NONE)
    copied: Integers = field(default_factory=lambda: NONE)
    """Ranks that copy within their memory, each at most once, and bytes, after the messages."""
    reducer: Integers = field(default_factory=lambda: NONE)
    reduced: Integers = field(default_factory=lambda: NONE)
    """Ranks that combine what they received, each at most once, and bytes, after the messages."""
    is_control: bool = False
    """Whether messages carry no data, where processes tell each other addresses, or that they are there."""
    accesses: Callable[[], Iterable[Access]] = lambda: ()
    """-> what processes take from memory after the messages, for `verify` alone. The bytes are in `copied` of those
    that copy them."""


Scheduler = Callable[[Problem], Iterable[Round]]
"""What makes the rounds of an algorithm."""


@dataclass(frozen=True, repr=False)
class Schedule(Value):
    """All rounds of an algorithm as flat arrays, ordered by round."""

    processes: int
    """P."""
    round: Integers
    sender: Integers
    receiver: Integers
    size: Integers
    """Round, ranks and bytes have shape (messages,); within a round a process sends in this order."""
    work_round: Integers
    worker: Integers
    copied: Integers
    reduced: Integers
    """What processes copy and combine at the ends of rounds, in bytes, has shape (works,)."""

    @property
    def messages(self) -> int:
        """The number of messages."""
        return self.size.size

    def __repr__(self) -> str:
        """Return the numbers of processes and messages."""
        return f"Schedule({self.processes} processes, {self.messages} messages)"


_MESSAGE = 240
"""Bytes of a message that is on its way beside all others of its round: here, in a program and in an engine."""


def messages_at_once(count: int) -> None:
    """Raise where the messages of one round do not fit into memory, as of an alltoall by `linear`."""
    enough_memory(float(_MESSAGE) * count, f"{count} messages at once")


def flatten(processes: int, rounds: Iterable[Round]) -> Schedule:
    """Return the rounds as one schedule.

    >>> there = Round(np.array([0]), np.array([1]), np.array([8]), lambda _: [0])
    >>> back = Round(np.array([1]), np.array([0]), np.array([0]))
    >>> schedule = flatten(2, [there, back])
    >>> schedule.round.tolist(), schedule.sender.tolist(), schedule.size.tolist()
    ([0, 1], [0, 1], [8, 0])
    """
    listed = list(rounds)

    def joined(columns: Iterable[Integers]) -> Integers:
        return np.concatenate([NONE, *columns])

    def numbered(columns: Iterable[Integers]) -> Integers:
        return joined(np.full(column.size, number) for number, column in enumerate(columns))

    work = [(np.concatenate([round_.copier, round_.reducer]), round_.copied, round_.reduced) for round_ in listed]
    return Schedule(
        processes=processes,
        round=numbered(round_.sender for round_ in listed),
        sender=joined(round_.sender for round_ in listed),
        receiver=joined(round_.receiver for round_ in listed),
        size=joined(round_.size for round_ in listed),
        work_round=numbered(workers for workers, _, _ in work),
        worker=joined(workers for workers, _, _ in work),
        copied=joined(np.concatenate([copied, np.zeros_like(reduced)]) for _, copied, reduced in work),
        reduced=joined(np.concatenate([np.zeros_like(copied), reduced]) for _, copied, reduced in work),
    )
