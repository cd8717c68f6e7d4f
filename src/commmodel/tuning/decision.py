"""What measurements decide for cells that were not measured: sizes between, and more processes. Main entry: `decide`.

The cells are decided together. An algorithm replaces the library's choice where that saves the most time for the
probability of being slower, until these probabilities add up to the share of cells that may be slower. How far the
model's probabilities can be trusted is seen in measured cells that are left out.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from commmodel.collectives.library.rules import distribution
from commmodel.tuning.log_times import Estimate, LogTimes, TimePoint
from commmodel.tuning.search import (
    DEFAULT_CHOICE,
    HARDLY_SLOWER,
    LEAST_GAIN,
    AlgorithmSearch,
    CellChoice,
    CollectiveCell,
    choice_of_gain,
    differences,
)

SLOWER_SHARE = 0.02
"""Of the cells that were not measured: how many may be slower than `HARDLY_SLOWER` times the library's own choice."""
_WITNESSES = 2
"""Measured cells in which an algorithm must have won before it is used on more processes."""


class _Option(NamedTuple):
    """An algorithm that may replace the library's choice in a cell."""

    choice: CellChoice
    saved: float
    """Expected share of the library's time."""
    risk: float
    """Probability of being slower."""
    is_slower: bool = False
    """Whether it was, in a measured cell that was left out."""


def decide(search: AlgorithmSearch, cells: Iterable[CollectiveCell]) -> list[CellChoice]:
    """Return what is to be used in each cell, measured or not."""
    listed = list(cells)
    operations = sorted({cell.operation for cell in listed})
    limits = {name: max((cell.processes for cell in search.cells(name)), default=0) for name in operations}
    result: dict[CollectiveCell, CellChoice] = {}
    for is_beyond in (False, True):
        unmeasured = [
            cell for cell in listed
            if not search.is_measured(cell, DEFAULT_CHOICE) and (cell.processes > limits[cell.operation]) == is_beyond
        ]  # fmt: skip
        if not unmeasured:
            continue
        options = [option for cell in unmeasured if (option := _option(search, cell, is_beyond=is_beyond))]
        held_out = [row for name in operations for row in _held_out(search, name, is_beyond=is_beyond)]
        trials = _within([option for option in held_out if option], SLOWER_SHARE * len(held_out))
        # slower trials are Poisson numbers around a multiple of the expected ones: its mean, from a prior with mean 1
        excess = (1 + sum(trial.is_slower for trial in trials)) / (1 + math.fsum(trial.risk for trial in trials))
        for option in _within(options, SLOWER_SHARE / excess * len(unmeasured)):
            result[option.choice.cell] = option.choice
    return [result.get(cell) or search.choice(cell) for cell in listed]


def _within(options: Iterable[_Option], risk: float) -> list[_Option]:
    """Return those that save the most for their risk, as many as the risk allows in all."""
    chosen = []
    for option in sorted(options, key=lambda option: option.risk / option.saved):
        if option.risk <= risk:
            risk -= option.risk
            chosen.append(option)
    return chosen


def _option(search: AlgorithmSearch, cell: CollectiveCell, *, is_beyond: bool) -> _Option | None:
    """Return the algorithm that may replace the library's choice in a cell that was not measured."""
    measured = search.cells(cell.operation)
    if not measured or (is_beyond and len(_numbers_before(search, cell)) <= 1):
        return None  # one number of processes does not show what more of them change
    times = search.times(cell.operation)
    points = search.points(cell)
    return _best(cell, points, times.at(points), usable_algorithms(times, cell, is_beyond=is_beyond))


def _numbers_before(search: AlgorithmSearch, cell: CollectiveCell) -> set[int]:
    """Return the smaller measured numbers of processes, of those that lie on nodes alike: one of them or several."""
    placement = distribution(cell.processes, search.per_node)
    if placement is None:
        return set()
    counts = {other.processes for other in search.cells(cell.operation)}
    return {count for count in counts if count < cell.processes and distribution(count, search.per_node) == placement}


def _held_out(search: AlgorithmSearch, operation: str, *, is_beyond: bool) -> Iterator[_Option | None]:
    """Yield what would be chosen in each measured cell from the others: for more processes, those on fewer."""
    if not search.cells(operation):
        return
    times = search.times(operation)
    places: dict[CollectiveCell, list[int]] = {cell: [] for cell in search.cells(operation)}
    by_shape = {(float(cell.vector_bytes), cell.processes): cell for cell in places}
    for place, row in enumerate(times.measured):
        if cell := by_shape.get((row.point.message_bytes, row.point.processes)):
            places[cell].insert(0 if row.point.algorithm == DEFAULT_CHOICE else len(places[cell]), place)
    fewer: dict[int, LogTimes] = {}
    for cell, rows in places.items():
        points = [times.measured[place].point for place in rows]
        part = times
        if is_beyond:
            if not _numbers_before(search, cell):
                continue
            before = [row for row in times.measured if row.point.processes < cell.processes]
            part = fewer.get(cell.processes) or LogTimes(before, times.parameters)
            fewer[cell.processes] = part
        estimate = part.at(points) if is_beyond else times.without(rows)
        option = _best(cell, points, estimate, usable_algorithms(part, cell, is_beyond=is_beyond))
        if option:
            seconds = {times.measured[place].point.algorithm: times.measured[place].log_seconds for place in rows}
            loss = seconds[option.choice.algorithm] - seconds[DEFAULT_CHOICE]
            option = option._replace(is_slower=loss > math.log(HARDLY_SLOWER))
        yield option


def usable_algorithms(times: LogTimes, cell: CollectiveCell, *, is_beyond: bool) -> set[str]:
    """Return the algorithms that were measured, for more processes those that won in the nearest cells they were in."""
    names = {row.point.algorithm for row in times.measured} - {DEFAULT_CHOICE}
    if not is_beyond:
        return names
    seconds: dict[tuple[float, int], dict[str, float]] = {}
    for row in times.measured:
        seconds.setdefault((row.point.message_bytes, row.point.processes), {})[row.point.algorithm] = row.log_seconds
    order = sorted(seconds, key=lambda shape: _distance(shape, cell))
    gains: dict[str, list[float]] = {name: [] for name in names}
    for shape in order:
        row_seconds = seconds[shape]
        for name in row_seconds.keys() & names if DEFAULT_CHOICE in row_seconds else ():
            gains[name].append(row_seconds[DEFAULT_CHOICE] - row_seconds[name])
    return {
        name for name, values in gains.items()
        if len(values) >= _WITNESSES and min(values[:_WITNESSES]) > LEAST_GAIN
    }  # fmt: skip


def _distance(shape: tuple[float, int], cell: CollectiveCell) -> float:
    """Return the doublings of the bytes and of the processes between a measured cell and another one."""
    message_bytes, processes = shape
    return abs(math.log2((message_bytes + 1) / (cell.vector_bytes + 1))) + abs(math.log2(processes / cell.processes))


def _best(cell: CollectiveCell, points: Sequence[TimePoint], estimate: Estimate, usable: set[str]) -> _Option | None:
    """Return the algorithm with the least expected time, if that is less than the library's; its choice comes first."""
    from scipy.special import ndtr

    means, deviations = differences(estimate, 0)
    scores = np.where([point.algorithm in usable for point in points], means - deviations**2 / 2, -math.inf)
    place = int(np.argmax(scores))
    if scores[place] <= LEAST_GAIN:
        return None
    mean, deviation = float(means[place]), max(float(deviations[place]), 1e-9)
    return _Option(
        choice_of_gain(cell, points[place].algorithm, mean, deviation, is_measured=False),
        -math.expm1(-float(scores[place])), float(ndtr((-math.log(HARDLY_SLOWER) - mean) / deviation)),
    )  # fmt: skip
