"""Marks in a program, by which the parts of its critical path are told: call sites, and steps since them.

A mark of a number from 0 on begins the operations of a call site; where a program has such marks, they come with it. A
mark below 0 begins a step: what a rank posts after it has waited. Step k since the last call site, or since the begin
of a rank without any, has the mark -1 - k. Marks take no simulated time. Main entries: `with_steps`, `without_sites`,
`attribution`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel.simulate.operations import ANY, OPERATION, UNNAMED, Code, Operations, Program

_WAITS = np.array([Code.WAIT, Code.WAITALL, Code.RECV])
_POSTS = np.array([Code.SEND, Code.ISEND, Code.RECV, Code.IRECV])
_SENDS = np.array([Code.SEND, Code.ISEND])
_TIMES = np.array([Code.COMPUTE, Code.SLEEP])
_Change = Callable[[int, Operations], Operations]


class _Changed:
    """Supplies a program's operations, each piece of a rank changed; from the first where the program begins anew."""

    def __init__(self, program: Program, make: Callable[[int], _Change]) -> None:
        self._program, self._make = program, make
        self._refill: Callable[[int], Operations] | None = None
        self.restart()

    def restart(self) -> None:
        """Begin from the first piece."""
        self._refill = self._program.restarted()
        self._change = self._make(self._program.processes)
        self._first = [True] * self._program.processes

    def __call__(self, rank: int) -> Operations:
        """Return the next operations of a rank; none at its end."""
        if self._first[rank]:
            self._first[rank] = False
            operations = self._program.operations[self._program.offsets[rank] : self._program.offsets[rank + 1]]
            if operations.size:
                return self._change(rank, operations)
        operations = self._refill(rank) if self._refill is not None else self._program.operations[:0]
        return self._change(rank, operations) if operations.size else operations


def _changed(program: Program, make: Callable[[int], _Change]) -> Program:
    nowhere = np.zeros(program.processes + 1, dtype=np.int64)
    return replace(program, operations=program.operations[:0], offsets=nowhere, refill=_Changed(program, make))


class _Steps:
    """Inserts the marks of steps into the operations of ranks, piece by piece."""

    def __init__(self, processes: int) -> None:
        self._step = [0] * processes
        self._has_waited = [False] * processes

    def __call__(self, rank: int, operations: Operations) -> Operations:
        codes = operations["code"]
        is_site = (codes == Code.MARK) & (operations["value"] >= 0)
        waits, posts = np.isin(codes, _WAITS), np.isin(codes, _POSTS)
        relevant = np.flatnonzero(waits | posts | is_site)
        if not relevant.size:
            return operations
        # A post begins a step where the last relevant operation before it was a wait; a site begins anew.
        state = waits[relevant]
        before = np.concatenate(([self._has_waited[rank]], state[:-1]))
        begins = posts[relevant] & before
        count = np.cumsum(begins)
        anchor = np.maximum.accumulate(np.where(is_site[relevant], count, -1))
        steps = np.where(anchor >= 0, count - anchor, count + self._step[rank])
        self._step[rank], self._has_waited[rank] = int(steps[-1]), bool(state[-1])
        marks = np.empty(int(begins.sum()), dtype=OPERATION)
        marks["code"], marks["peer"], marks["tag"], marks["request"] = Code.MARK, ANY, ANY, UNNAMED
        marks["value"] = -1.0 - steps[begins]
        return np.insert(operations, relevant[begins], marks)


def with_steps(program: Program) -> Program:
    """Return a program with marks of the steps of each rank.

    >>> rows = [(Code.SEND, 0, 0, -1, 8.0), (Code.RECV, 0, 0, -1, 8.0), (Code.SEND, 0, 0, -1, 8.0)]
    >>> program = with_steps(Program.from_ranks([np.array(rows, dtype=OPERATION)]))
    >>> [int(row["value"]) for row in next(program.pieces(0))]
    [8, 8, -2, 8]
    """
    return _changed(program, _Steps)


class _Emptied:
    """Leaves the computation and the bytes of a call site out, or of all calls of a step."""

    def __init__(self, processes: int, sites: frozenset[int]) -> None:
        self._sites = np.array(sorted(sites), dtype=np.int64)
        self._site = [-1] * processes

    def __call__(self, rank: int, operations: Operations) -> Operations:
        is_site = (operations["code"] == Code.MARK) & (operations["value"] >= 0)
        places = np.where(is_site, np.arange(operations.size), -1)
        last = np.maximum.accumulate(places)
        sites = np.where(last >= 0, operations["value"][last].astype(np.int64), self._site[rank])
        self._site[rank] = int(sites[-1])
        is_free = np.isin(sites, self._sites) & np.isin(operations["code"], (*_TIMES, *_SENDS))
        changed = operations.copy()
        changed["value"][is_free] = 0.0
        return changed


def without_sites(program: Program, sites: frozenset[int]) -> Program:
    """Return a program in which the calls of some sites, and the computation before them, cost as little as can be.

    That computation takes no time, and those messages have no bytes.
    """
    return _changed(program, lambda processes: _Emptied(processes, sites))


def attribution(
    marks: NDArray[np.void], ranks: NDArray[Any], times: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the call site and the step in which ranks were at some times; -1 where no mark tells.

    Parameters
    ----------
    marks : structured array of `commmodel.simulate.result.MARK`
        Those of a rank in the order in which it passed them.
    ranks : int array, shape (times,)
    times : float64 array, shape (times,)
        When intervals begin: such a one is of the last mark that is not later.
    """
    rows = marks[np.lexsort((np.arange(marks.size), marks["time"], marks["rank"]))]
    numbers = rows["number"]
    bounds = np.searchsorted(rows["rank"], np.arange(int(ranks.max(initial=-1)) + 2))
    begins = np.repeat(bounds[:-1], np.diff(bounds))[: rows.size]
    last_site = np.maximum.accumulate(np.where(numbers >= 0, np.arange(rows.size), -1))
    last_step = np.maximum.accumulate(np.where(numbers < 0, np.arange(rows.size), -1))
    has_site = last_site[: begins.size] >= begins
    is_stepped = last_step[: begins.size] >= np.maximum(begins, last_site[: begins.size])
    site = np.where(has_site, numbers[last_site[: begins.size]], -1)
    step = np.where(is_stepped, -1 - numbers[last_step[: begins.size]], 0)
    places = _last_before(rows["time"], bounds, ranks, times)
    if not begins.size:
        return np.full(ranks.size, -1, np.int32), np.full(ranks.size, -1, np.int32)
    is_known = places >= 0
    return (
        np.where(is_known, site[places], -1).astype(np.int32),
        np.where(is_known, step[places], 0 if (numbers < 0).any() else -1).astype(np.int32),
    )


def _last_before(
    times_of_rows: NDArray[np.float64], bounds: NDArray[np.int64], ranks: NDArray[Any], times: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return for each rank and time its last row that is not later, -1 without one; each rank's rows are in order."""
    places = np.full(ranks.size, -1, dtype=np.int64)
    order = np.argsort(ranks, kind="stable")
    ends = np.searchsorted(ranks[order], np.arange(bounds.size))
    for rank in np.unique(ranks).tolist():
        chosen, begin, end = order[ends[rank] : ends[rank + 1]], bounds[rank], bounds[rank + 1]
        place = begin + np.searchsorted(times_of_rows[begin:end], times[chosen], side="right") - 1
        places[chosen] = np.where(place >= begin, place, -1)
    return places
