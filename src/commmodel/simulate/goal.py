"""GOAL schedules: operations of ranks with dependencies, read and written as text, or made of collectives.

The Group Operation Assembly Language (Hoefler, Siebert and Lumsdaine 2009) is what LogGOPSim simulates, and what its
generators and trace converters write. Unlike in a program (`commmodel.simulate.operations`), what does not depend on
one another may happen in any order, on several processors and NICs. `docs/reference/goal.md` gives the format.
Main entries: `read`, `write`; `from_collective`; `commmodel.simulate.delays.run_schedule` simulates a schedule.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commmodel._core.delays.loggops import parse_goal
from commmodel.arguments import occurring_ranks, rank_count
from commmodel.collectives import Schedule as CollectiveSchedule
from commmodel.errors import DamagedFileError, InputError
from commmodel.files import write_bytes
from commmodel.simulate.operations import EVERY_NAMED, Code, Operations, Program
from commmodel.simulate.traces.files import pieces
from commmodel.simulate.work.block_streams import fresh

__all__ = [
    "DEPENDENCY", "GOAL_OPERATION", "GoalSchedule", "Kind", "from_collective", "from_program", "parse", "read", "text",
    "write",
]  # fmt: skip

_PIECE = 1 << 22


class Kind(IntEnum):
    """Kinds of operations, with the numbers of the engine."""

    SEND = 0
    RECEIVE = 1
    CALCULATE = 2


GOAL_OPERATION = np.dtype(
    [
        *(("value", np.float64), ("peer", np.int32), ("tag", np.int32), ("kind", np.uint8), ("cpu", np.uint8)),
        *(("nic", np.uint8), ("unused", np.uint8), ("line", np.uint32)),
    ]
)
"""One operation: bytes or time; rank, −1 for any in a receive; tag, the same; the line of the file, or 0."""
DEPENDENCY = np.dtype([("dependent", np.int32), ("on", np.int32), ("start", np.int32)])
"""One operation waits for another of its rank until that is done, or where `start` is 1 until it has started."""


@dataclass(frozen=True)
class GoalSchedule:
    """A GOAL schedule: operations of all ranks, with dependencies.

    Attributes
    ----------
    operations : structured array of `GOAL_OPERATION`, shape (operations,)
        Of all ranks, one rank after the other.
    offsets : int64 array, shape (processes + 1,)
        Where each rank's operations begin and end.
    dependencies : structured array of `DEPENDENCY`, shape (dependencies,)
        Indices of operations; none go in a circle.
    name : str
        What it is, for people.
    """

    operations: NDArray[np.void]
    offsets: NDArray[np.int64]
    dependencies: NDArray[np.void]
    name: str = ""

    def __post_init__(self) -> None:
        if self.operations.dtype != GOAL_OPERATION or self.dependencies.dtype != DEPENDENCY:
            raise InputError("a schedule's arrays must be of the types GOAL_OPERATION and DEPENDENCY")
        count = self.operations.size
        if (
            self.offsets.size < 2
            or self.offsets[0] != 0
            or self.offsets[-1] != count
            or (np.diff(self.offsets) < 0).any()
        ):
            raise InputError("offsets of a schedule must rise from 0 to the number of its operations")
        if count >= 2**31 or self.dependencies.size >= 2**31:
            raise InputError(f"{count} operations, {self.dependencies.size} dependencies: at most {2**31 - 1} of each")
        self._check_operations()
        self._check_dependencies()

    def _check_operations(self) -> None:
        operations = self.operations
        sends, calculates = operations["kind"] == Kind.SEND, operations["kind"] == Kind.CALCULATE
        lowest = np.where(sends | calculates, 0, -1)
        wrong = (
            (operations["peer"] < lowest)
            | (operations["peer"] >= self.processes)
            | (operations["tag"] < lowest)
            | (operations["kind"] > 2)
        )
        wrong |= ~((operations["value"] >= 0) & (operations["value"] < 2.0**53))
        if wrong.any():
            raise InputError(
                f"operation {int(wrong.argmax())} of the schedule: a kind, peer, tag or value that there is not"
            )

    def _check_dependencies(self) -> None:
        after, on = self.dependencies["dependent"], self.dependencies["on"]
        count = self.operations.size
        outside = (after < 0) | (after >= count) | (on < 0) | (on >= count)
        if not outside.any():
            ends = self.offsets[1:]
            outside = np.searchsorted(ends, after, "right") != np.searchsorted(ends, on, "right")
        if outside.any():
            raise InputError(
                f"dependency {int(outside.argmax())} of the schedule does not join two operations of one rank"
            )

    @property
    def processes(self) -> int:
        """P."""
        return self.offsets.size - 1


def read(path: str | os.PathLike[str]) -> GoalSchedule:
    """Read a schedule from a text file, plain or compressed by gzip, bzip2 or xz.

    Raises
    ------
    InputError
        Where the file cannot be read.
    DamagedFileError
        Where it is no schedule: the message names the line; of dependencies in a circle, rank and label.
    """
    path = Path(path)
    return _parsed(path, pieces(path, _PIECE), path.name)


def parse(words: str) -> GoalSchedule:
    r"""Return the schedule that a text gives; raises as `read` does.

    >>> parse("num_ranks 1\nrank 0 {\na: calc 5\nb: calc 6\nb requires a\n}").dependencies.tolist()
    [(1, 0, 0)]
    """
    return _parsed("GOAL", [words.encode()], "")


def _parsed(where: object, text_pieces: Iterable[bytes], name: str) -> GoalSchedule:
    try:
        begins, ends, rows, edges = parse_goal(text_pieces)
    except InputError:
        raise
    except ValueError as error:
        line, problem = error.args
        raise DamagedFileError(where, f"line {line}" if line else "", problem) from None
    try:
        occurring_ranks(begins.size - 1, int(np.count_nonzero(begins >= 0)), ", or leave out ranks without operations")
        rank_count(begins.size)
    except InputError as error:
        raise DamagedFileError(where, "", str(error)) from None
    operations: NDArray[np.void] = rows.view(GOAL_OPERATION)
    dependencies: NDArray[np.void] = edges.view(DEPENDENCY)
    begins, ends = np.where(begins < 0, 0, begins), np.where(ends < 0, 0, ends)
    sizes = ends - begins
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if (begins[sizes > 0] != offsets[:-1][sizes > 0]).any():  # ranks in another order than that of their numbers
        shift = np.repeat(begins - offsets[:-1], sizes)
        order = np.arange(operations.size) + shift
        place = np.empty(operations.size, np.int32)
        place[order] = np.arange(operations.size)
        operations = operations[order]
        for side in ("dependent", "on"):
            dependencies[side] = place[dependencies[side]]
    return GoalSchedule(operations, offsets, dependencies, name)


def text(schedule: GoalSchedule) -> Iterator[str]:
    r"""Yield a schedule's text, rank by rank; labels are l1, l2, ... as in LogGOPSim's generators.

    >>> print("".join(text(parse("num_ranks 1\nrank 0 {\nx: calc 5\ncalc 6 cpu 1\n}"))))
    num_ranks 1
    <BLANKLINE>
    rank 0 {
    l1: calc 5
    l2: calc 6 cpu 1
    }
    <BLANKLINE>
    """
    yield f"num_ranks {schedule.processes}\n"
    order = np.argsort(schedule.dependencies["dependent"], kind="stable")
    listed = schedule.dependencies[order]
    bounds = np.searchsorted(listed["dependent"], schedule.offsets)
    for rank in range(schedule.processes):
        begin, end = schedule.offsets[rank : rank + 2].tolist()
        lines = [f"\nrank {rank} {{"]
        for number, operation in enumerate(schedule.operations[begin:end].tolist(), 1):
            lines.append(f"l{number}: {_operation(*operation[:6])}")
        for dependent, on, start in listed[bounds[rank] : bounds[rank + 1]].tolist():
            relation = "irequires" if start else "requires"
            lines.append(f"l{dependent - begin + 1} {relation} l{on - begin + 1}")
        yield "\n".join([*lines, "}\n"])


def _operation(value: float, peer: int, tag: int, kind: int, cpu: int, nic: int) -> str:
    number = int(value)
    if kind == Kind.CALCULATE:
        words = f"calc {number}"
    else:
        words = f"send {number}b to {peer}" if kind == Kind.SEND else f"recv {number}b from {peer}"
        words += f" tag {tag}" if tag else ""
    words += f" cpu {cpu}" if cpu else ""
    return words + (f" nic {nic}" if nic and kind != Kind.CALCULATE else "")


def write(schedule: GoalSchedule, path: str | os.PathLike[str]) -> None:
    """Write a schedule as text; times and sizes as integers, as the format has them."""
    write_bytes(path, (line.encode("ascii") for line in text(schedule)))


def from_collective(schedule: CollectiveSchedule, memory_copy: float = 0.0, reduction: float = 0.0) -> GoalSchedule:
    """Return a collective's messages as a schedule (`commmodel.collectives.build`).

    What a rank does in a round depends on all that it did in the round before, its sends being done and its messages
    received. Where many depend on many, an operation that takes no time joins them.

    Parameters
    ----------
    schedule : commmodel.collectives.Schedule
    memory_copy, reduction : float
        Time that copying and combining take for each byte, in the schedule's unit.

    Examples
    --------
    >>> from commmodel.collectives import Problem, build
    >>> barrier = from_collective(build("barrier", "dissemination", Problem(4)))
    >>> barrier.operations.size, barrier.dependencies.size
    (16, 16)
    """
    messages = schedule.size.size
    work = np.round(schedule.copied * memory_copy + schedule.reduced * reduction)
    busy = np.flatnonzero(work)
    operations = np.zeros(2 * messages + busy.size, GOAL_OPERATION)
    sends, receives, works = operations[:messages], operations[messages : 2 * messages], operations[2 * messages :]
    sends["kind"], receives["kind"], works["kind"] = Kind.SEND, Kind.RECEIVE, Kind.CALCULATE
    sends["value"] = receives["value"] = schedule.size
    sends["peer"], receives["peer"] = schedule.receiver, schedule.sender
    works["value"] = work[busy]
    ranks = np.concatenate([schedule.sender, schedule.receiver, schedule.worker[busy]])
    # Work comes after the messages of its round; twice the round leaves a place for it.
    steps = np.concatenate([2 * schedule.round, 2 * schedule.round, 2 * schedule.work_round[busy] + 1])
    order = np.lexsort((operations["kind"], steps, ranks))
    return _chained(operations[order], ranks[order], steps[order], schedule.processes)


def _chained(
    operations: NDArray[np.void], ranks: NDArray[np.int64], steps: NDArray[np.int64], processes: int
) -> GoalSchedule:
    """Return the schedule in which each step of a rank depends on its step before."""
    count = operations.size
    new = np.ones(count, bool)
    new[1:] = (ranks[1:] != ranks[:-1]) | (steps[1:] != steps[:-1])
    group = np.cumsum(new) - 1
    begins = np.flatnonzero(new)
    sizes = np.diff(np.append(begins, count))
    follows = np.zeros(begins.size, bool)  # a group that has one before it, of its rank
    follows[1:] = ranks[begins[1:]] == ranks[begins[:-1]]
    before = np.append(0, sizes[:-1])
    joined = follows & (before * sizes > before + sizes)  # by an operation between the two
    # Each operation moves on by the joints up to its group; a joint stands right before its group.
    shift = np.cumsum(joined)
    place = np.arange(count) + shift[group]
    total = count + int(joined.sum())
    joined_operations = np.zeros(total, GOAL_OPERATION)
    joined_operations["kind"] = Kind.CALCULATE
    joined_operations[place] = operations
    owner = np.empty(total, np.int64)
    owner[place] = ranks
    joint = begins[joined] + shift[joined] - 1
    owner[joint] = ranks[begins[joined]]
    parts = []
    direct = np.flatnonzero(follows & ~joined)
    pairs = before[direct] * sizes[direct]
    step_of = np.repeat(direct, pairs)
    step = np.arange(pairs.sum()) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    parts.append(
        (place[begins[step_of] + step // before[step_of]], place[begins[step_of - 1] + step % before[step_of]])
    )
    after = np.flatnonzero(joined[group])
    number = np.cumsum(joined) - 1
    parts.append((place[after], joint[number[group[after]]]))
    ahead = np.flatnonzero(np.append(joined[1:], False)[group]) if begins.size else np.empty(0, np.int64)
    parts.append((joint[number[group[ahead] + 1]], place[ahead]))
    dependencies = np.zeros(sum(part.size for part, _ in parts), DEPENDENCY)
    dependencies["dependent"] = np.concatenate([after for after, _ in parts])
    dependencies["on"] = np.concatenate([before_ for _, before_ in parts])
    offsets = np.searchsorted(owner, np.arange(processes + 1)).astype(np.int64)
    return GoalSchedule(joined_operations, offsets, dependencies)


def from_program(program: Program, *, second: float = 1e9) -> GoalSchedule:
    """Return a program as a schedule.

    What a rank does after a blocking operation depends on it; a request depends on what stood before it, and what
    stands after the wait for it on the request. A test that may fail, and marks, are left out. Tags of collectives,
    which are below 0, become tags above all others.

    Parameters
    ----------
    program : Program
        With all its operations in memory at once.
    second : float
        How many of the schedule's units of time are a second: nanoseconds.

    Examples
    --------
    >>> from commmodel.simulate.work import ring
    >>> print("".join(text(from_program(ring(8, 2)))).split("rank 1")[0])
    num_ranks 2
    <BLANKLINE>
    rank 0 {
    l1: recv 8b from 1 tag 1
    l2: send 8b to 1 tag 1
    l3: calc 0
    l3 requires l1
    l3 requires l2
    }
    <BLANKLINE>
    <BLANKLINE>
    """
    source = fresh(program)
    rows: list[tuple[float, int, int, int, int, int, int, int]] = []
    edges: list[tuple[int, int, int]] = []
    offsets = [0]
    for rank in range(program.processes):
        _append_rank(_all_of(source, rank), rows, edges, second)
        offsets.append(len(rows))
    operations = np.array(rows, GOAL_OPERATION)
    inner = operations["tag"] < -1
    highest = int(operations["tag"].max(initial=0))
    operations["tag"][inner] = highest - 1 - operations["tag"][inner]
    dependencies = np.array(edges, DEPENDENCY)
    return GoalSchedule(operations, np.array(offsets, dtype=np.int64), dependencies, program.name)


def _all_of(program: Program, rank: int) -> Iterator[Operations]:
    yield program.operations[program.offsets[rank] : program.offsets[rank + 1]]
    while program.refill is not None and (operations := program.refill(rank)).size:
        yield operations


def _append_rank(
    pieces_of_rank: Iterator[Operations],
    rows: list[tuple[float, int, int, int, int, int, int, int]],
    edges: list[tuple[int, int, int]],
    second: float,
) -> None:
    """Append a rank's operations and what they depend on."""
    last: int | None = None
    unnamed: list[int] = []
    by_name: dict[int, int] = {}

    def add(value: float, peer: int, tag: int, kind: Kind, after: Iterable[int | None]) -> int:
        rows.append((value, peer, tag, kind, 0, 0, 0, 0))
        edges.extend((len(rows) - 1, on, 0) for on in after if on is not None)
        return len(rows) - 1

    for operations in pieces_of_rank:
        for code, peer, tag, request, value in operations.tolist():
            match code:
                case Code.COMPUTE | Code.SLEEP:
                    last = add(round(value * second), 0, 0, Kind.CALCULATE, [last])
                case Code.SEND:
                    last = add(value, peer, tag, Kind.SEND, [last])
                case Code.RECV:
                    last = add(max(value, 0.0), peer, tag, Kind.RECEIVE, [last])
                case Code.ISEND | Code.IRECV:
                    kind = Kind.SEND if code == Code.ISEND else Kind.RECEIVE
                    number = add(max(value, 0.0), peer, tag, kind, [last])
                    if request >= 0:
                        by_name[request] = number
                    else:
                        unnamed.append(number)
                case Code.WAIT if request in by_name:
                    last = add(0, 0, 0, Kind.CALCULATE, [last, by_name.pop(request)])
                case Code.WAITALL:
                    awaited = list(by_name.values()) if request == EVERY_NAMED else unnamed
                    last = add(0, 0, 0, Kind.CALCULATE, [last, *awaited])
                    (by_name if request == EVERY_NAMED else unnamed).clear()
                case _:
                    pass
