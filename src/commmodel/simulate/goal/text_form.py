"""GOAL schedules as text. Main entries: `parse`, `parse_pieces`, `text`."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import GoalKind as Kind
from commmodel._core.delays.loggops import parse_goal
from commmodel.arguments import occurring_ranks, rank_count
from commmodel.errors import DamagedFileError, InputError
from commmodel.signatures import checked
from commmodel.simulate.goal.schedule import DEPENDENCY, GOAL_OPERATION, GoalSchedule


@checked
def parse(words: str) -> GoalSchedule:
    r"""Return the schedule that a text gives; raises as `commmodel.simulate.goal.load` does.

    >>> parse("num_ranks 1\nrank 0 {\na: calc 5\nb: calc 6\nb requires a\n}").dependencies.tolist()
    [(1, 0, 0)]
    """
    return parse_pieces("GOAL", [words.encode()], "")


def parse_pieces(where: object, text_pieces: Iterable[bytes], name: str) -> GoalSchedule:
    """Return the schedule that pieces of a text give; `where` names them in errors."""
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
