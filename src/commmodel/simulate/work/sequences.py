"""Sequences of programs, and the time of one of them as a benchmark measures it.

Main entries: `sequence`, `repeat`, `between_marks` and `slowest`.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import Count, integer, rank_count
from commmodel.collectives.schedule import Problem
from commmodel.errors import InputError
from commmodel.signatures import checked
from commmodel.simulate.operations import ANY, OPERATION, UNNAMED, Code, Operations, Program
from commmodel.simulate.result import SimulationResult
from commmodel.simulate.work.block_streams import BLOCK, NOTHING, fresh
from commmodel.simulate.work.collective import collective


class _Chain:
    """Supplies the operations of successive programs; a program is made when the first rank reaches it."""

    def __init__(self, processes: int, count: int, make: Callable[[int], Program]) -> None:
        self._processes, self._count, self._make = processes, count, make
        self.restart()

    def restart(self) -> None:
        """Begin from the first program."""
        self._programs: dict[int, tuple[Program, memoryview]] = {}
        self._left: dict[int, int] = {}
        self._place = [0] * self._processes
        self._in_refill = bytearray(self._processes)
        self._ended = 0

    def fresh(self) -> "_Chain":
        """Return a copy at the beginning."""
        return _Chain(self._processes, self._count, self._make)

    def __call__(self, rank: int) -> Operations:
        """Return the next operations of a rank, none at its end."""
        while (place := self._place[rank]) < self._count:
            if place not in self._programs:
                program = fresh(self._make(place))
                self._programs[place] = program, program.offsets.data
                self._left[place] = self._processes
            program, offsets = self._programs[place]
            operations: Operations = NOTHING
            if self._in_refill[rank]:
                operations = program.refill(rank) if program.refill else NOTHING
            else:
                self._in_refill[rank] = 1
                operations = program.operations[offsets[rank] : offsets[rank + 1]]
                if not operations.size and program.refill:
                    operations = program.refill(rank)
            if not operations.size or program.refill is None:
                self._place[rank] += 1
                self._in_refill[rank] = 0
                self._left[place] -= 1
                if not self._left[place]:
                    del self._programs[place], self._left[place]
            if operations.size:
                return operations
        self._ended += 1
        if self._ended >= self._processes:
            self.restart()
        return NOTHING


def _flat(programs: Sequence[Program], name: str) -> Program:
    """Return programs that are whole in memory as one."""
    counts = [np.diff(program.offsets) for program in programs]
    offsets: NDArray[np.int64] = np.concatenate([[0], np.cumsum(np.sum(counts, axis=0))]).astype(np.int64)
    operations = np.empty(int(offsets[-1]), dtype=OPERATION)
    begins = offsets[:-1].copy()
    for program, count in zip(programs, counts, strict=True):
        places = np.repeat(begins - program.offsets[:-1], count) + np.arange(program.operations.size)
        operations[places] = program.operations
        begins += count
    return Program(operations, offsets, name=name)


def _chained(processes: int, count: int, make: Callable[[int], Program], name: str) -> Program:
    return Program(NOTHING, np.zeros(processes + 1, dtype=np.int64), _Chain(processes, count, make), name)


@checked
def sequence(programs: Sequence[Program], name: str = "") -> Program:
    """Return the programs in sequence; a rank begins the next when it has finished its own part.

    Parameters
    ----------
    programs : sequence of Program
        For the same number of processes.
    name : str
        Title.

    Raises
    ------
    InputError
        Where there is none, they are for different numbers of processes, or one is a stream that can be read once.

    Examples
    --------
    >>> barrier = collective("barrier", Problem(4))
    >>> sequence([barrier, mark(4, 0)]).operations.size - barrier.operations.size
    4
    """
    if not programs:
        raise InputError("a sequence of no programs: give at least one")
    sizes = {program.processes for program in programs}
    if len(sizes) > 1:
        raise InputError(
            f"programs of {' and '.join(map(str, sorted(sizes)))} processes in one sequence: give one number"
        )
    name = name or "; ".join(program.name for program in programs if program.name)
    total = sum(program.operations.size for program in programs)
    if total <= BLOCK and all(program.refill is None for program in programs):
        return _flat(programs, name)
    copies = [fresh(program) for program in programs]
    return _chained(sizes.pop(), len(copies), copies.__getitem__, name)


@checked
def repeat(program: Program, times: Count) -> Program:
    """Return the program repeated so many times.

    Parameters
    ----------
    times : int

    Examples
    --------
    >>> repeat(collective("barrier", Problem(2)), 3).offsets.tolist()
    [0, 9, 18]
    """
    integer("times", times)
    name = f"{times} times {program.name}"
    if program.refill is not None:
        copy = fresh(program)
        return _chained(program.processes, times, lambda _: copy, name)
    at_once = min(times, max(1, BLOCK // max(1, program.operations.size)))
    several = _flat([program] * at_once, name)
    if at_once == times:
        return several
    full, rest = divmod(times, at_once)
    last = _flat([program] * rest, name) if rest else None
    count = full + bool(rest)
    return _chained(
        program.processes, count, lambda place: last if last is not None and place == full else several, name
    )


def mark(processes: int, number: int) -> Program:
    """Return the program in which every rank records the time under a number."""
    rank_count(processes)
    integer("mark", number, 0, 2**31 - 1)
    operations = np.empty(processes, dtype=OPERATION)
    operations[:] = (Code.MARK, ANY, ANY, UNNAMED, number)
    return Program(operations, np.arange(processes + 1, dtype=np.int64))


def between_marks(program: Program, barrier: Program | None = None) -> Program:
    """Return a barrier, mark 0, the program and mark 1, as benchmarks measure; `slowest` gives its time.

    The barrier is by dissemination; its messages have the first collective tag, so give the program number 1 or later
    where it is a collective.

    >>> barrier = collective("barrier", Problem(2))
    >>> between_marks(barrier, barrier).operations["code"].tolist()
    [5, 3, 7, 9, 5, 3, 7, 9, 5, 3, 7, 9, 5, 3, 7, 9]
    """
    processes = program.processes
    before = barrier or collective("barrier", Problem(processes), algorithm="dissemination")
    return sequence([before, mark(processes, 0), program, mark(processes, 1)], program.name)


def slowest(result: SimulationResult) -> float:
    """Return the seconds from mark 0 to mark 1 on the slowest rank.

    `InputError` where a rank passed no mark 0 or no mark 1.
    """
    marks = result.marks
    first, last = (marks[marks["number"] == number] for number in (0, 1))
    first, last = first[np.argsort(first["rank"])], last[np.argsort(last["rank"])]
    if not first.size or not np.array_equal(first["rank"], last["rank"]):
        raise InputError("no marks 0 and 1 of all ranks: simulate what `between_marks` returns")
    return float((last["time"] - first["time"]).max())
