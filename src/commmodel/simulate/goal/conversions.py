"""GOAL schedules made of collectives and of programs. Main entries: `from_collective`, `from_program`."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import GoalKind as Kind
from commmodel.arguments import NotNegative, Positive
from commmodel.collectives import Schedule as CollectiveSchedule
from commmodel.signatures import checked
from commmodel.simulate.goal.schedule import DEPENDENCY, GOAL_OPERATION, GoalSchedule
from commmodel.simulate.operations import EVERY_NAMED, Code, Operations, Program
from commmodel.simulate.work.block_streams import fresh


@checked
def from_collective(
    schedule: CollectiveSchedule, memory_copy: NotNegative = 0.0, reduction: NotNegative = 0.0
) -> GoalSchedule:
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


@checked
def from_program(program: Program, *, second: Positive = 1e9) -> GoalSchedule:
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
    >>> from commmodel.simulate.goal import text
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
        _append_rank(source.pieces(rank), rows, edges, second)
        offsets.append(len(rows))
    operations = np.array(rows, GOAL_OPERATION)
    inner = operations["tag"] < -1
    highest = int(operations["tag"].max(initial=0))
    operations["tag"][inner] = highest - 1 - operations["tag"][inner]
    dependencies = np.array(edges, DEPENDENCY)
    return GoalSchedule(operations, np.array(offsets, dtype=np.int64), dependencies, program.name)


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
