"""Which algorithms are worth measuring, and what the measurements decide where they were made.

The library's own choice is measured first at every point, then those algorithms that may be faster still, at each point
the one with the largest expected improvement over the fastest so far for the time that it takes. An algorithm replaces
the library's choice where it is faster, and sure to be hardly slower. Main entries: `AlgorithmSearch` and `explore`.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from commmodel.arrays import Array
from commmodel.collectives.operation import OPERATIONS
from commmodel.statistics import TO_DEVIATION
from commmodel.tuning.log_times import Estimate, LogTimes, MeasuredPoint, TimePoint

DEFAULT_CHOICE = ""
"""Instead of an algorithm: what the library does by itself."""
LEAST_GAIN = 0.01
"""Of an algorithm that replaces the library's choice."""
_LEAST_IMPROVEMENT = 1e-4
"""Expected improvement below which measuring ends; small, as times are off by far more often than normal numbers."""
HARDLY_SLOWER = 1.03
"""Factor by which an algorithm may be slower than the library's own choice, at the lower end of its interval."""
TWO_SIDED = 1.96
"""Deviations of a normal number's interval of 95 %."""
_MEDIAN_LOSS = math.sqrt(math.pi / 2)
"""Standard error of a median over that of a mean, of normal numbers."""
_UNSEEN_SCATTER = 0.05
"""Of the logarithm of a sample, before three samples of any measurement show it."""
_OF_A_ROUND = 0.1
"""Share of the time after which the rest is planned anew: what is cheap tells which of the expensive is worth it."""
_REFITTED = 1.3
"""Growth of the number of measurements after which the Gaussian process is fitted anew."""


class CollectiveCell(NamedTuple):
    """An operation at a size, as in `commmodel.collectives.Problem`, and a number of processes."""

    operation: str
    message_size: int
    processes: int

    @property
    def vector_bytes(self) -> int:
        """Bytes of all blocks."""
        return self.message_size * (self.processes if OPERATIONS[self.operation].size_is_per_block else 1)


class CellChoice(NamedTuple):
    """What is to be used in a cell, and by what factor less time it takes than the library's own choice."""

    cell: CollectiveCell
    algorithm: str
    """`DEFAULT_CHOICE` where no algorithm wins for certain."""
    gain: float = 1.0
    low: float = 1.0
    """Interval of the gain, of 95 %."""
    high: float = 1.0
    is_measured: bool = False
    """Whether this algorithm was measured in this cell."""


Samples = Mapping[tuple[CollectiveCell, str], Sequence[float]]
"""(Cell, algorithm) -> samples in seconds."""


class Instrument(Protocol):
    """Something that measures, within a time."""

    @property
    def seconds_left(self) -> float:
        """Time for further measurements."""

    def cost(self, seconds: float) -> float:
        """Return the time of measuring an operation that takes so long."""

    def measure(self, picks: Mapping[CollectiveCell, str]) -> Samples:
        """Return samples of an algorithm in each of several cells, where it does not fail, and maybe of more."""


class AlgorithmSearch:
    """What is measured of some operations, and what follows from it.

    Parameters
    ----------
    candidates : callable
        Cell -> names of algorithms that could be used instead of the library's choice.
    predicted : callable
        (cell, algorithm) -> seconds before anything was measured; not finite where nobody knows.
    schedule : callable
        (operation, algorithm) -> name that algorithms with the same messages share; empty where there is none.
    per_node : int, optional
        Processes of each node; without it, nothing is chosen for more processes than were measured.
    """

    def __init__(
        self,
        candidates: Callable[[CollectiveCell], Sequence[str]],
        predicted: Callable[[CollectiveCell, str], float],
        schedule: Callable[[str, str], str],
        per_node: int | None = None,
    ) -> None:
        self.per_node = per_node
        self._candidates, self._predicted, self._schedule = candidates, predicted, schedule
        self._samples: dict[tuple[CollectiveCell, str], list[Array]] = defaultdict(list)
        self._points: dict[CollectiveCell, list[TimePoint]] = {}
        self._times: dict[str, LogTimes] = {}
        self._fitted: dict[str, tuple[int, Array]] = {}

    def add(self, cell: CollectiveCell, algorithm: str, samples: Sequence[float]) -> None:
        """Take in samples of one launch."""
        self._samples[cell, algorithm].append(np.log(np.maximum(samples, 1e-12)))
        self._times.pop(cell.operation, None)

    def exclude(self, cell: CollectiveCell, algorithm: str) -> None:
        """Consider an algorithm in a cell no more: it could not be measured."""
        self._points[cell] = [point for point in self.points(cell) if point.algorithm != algorithm or not algorithm]

    def is_measured(self, cell: CollectiveCell, algorithm: str) -> bool:
        """Whether there are samples."""
        return (cell, algorithm) in self._samples

    def points(self, cell: CollectiveCell) -> list[TimePoint]:
        """Return the library's choice and all candidates of a cell, with their predicted times."""
        if cell not in self._points:
            names = [name for name in self._candidates(cell) if name != DEFAULT_CHOICE]
            times = np.array([self._predicted(cell, name) for name in names])
            usable = times[np.isfinite(times) & (times > 0)]
            fallback = float(np.median(usable)) if usable.size else 1e-5
            rows = [(DEFAULT_CHOICE, self._predicted(cell, DEFAULT_CHOICE)), *zip(names, times.tolist(), strict=True)]
            self._points[cell] = [
                TimePoint(
                    name, self._schedule(cell.operation, name) or f"of {name or 'the library'}",
                    float(cell.vector_bytes), cell.processes,
                    math.log(seconds if math.isfinite(seconds) and seconds > 0 else fallback),
                )
                for name, seconds in rows
            ]  # fmt: skip
        return self._points[cell]

    def cells(self, operation: str) -> list[CollectiveCell]:
        """Return the cells of an operation in which the library's own choice was measured."""
        return [cell for cell, name in self._samples if cell.operation == operation and name == DEFAULT_CHOICE]

    def times(self, operation: str) -> LogTimes:
        """Return the times of an operation's algorithms as far as they are known; something must be measured."""
        if operation not in self._times:
            measured = self._measured(operation)
            count, parameters = self._fitted.get(operation, (0, None))
            if len(measured) > _REFITTED * count:
                parameters = None
            self._times[operation] = LogTimes(measured, parameters)
            if parameters is None:
                self._fitted[operation] = len(measured), self._times[operation].parameters
        return self._times[operation]

    def _measured(self, operation: str) -> list[MeasuredPoint]:
        rows = [(cell, name, launches) for (cell, name), launches in self._samples.items()
                if cell.operation == operation]  # fmt: skip
        scatter = _pooled([samples for _, _, launches in rows for samples in launches])
        measured = []
        for cell, name, launches in rows:
            point = next((point for point in self.points(cell) if point.algorithm == name), None)
            if point is None:
                continue
            medians = [float(np.median(samples)) for samples in launches]
            shares = [1 / samples.size for samples in launches]
            variance = (_MEDIAN_LOSS * scatter / len(launches)) ** 2 * sum(shares)
            measured.append(MeasuredPoint(point, math.fsum(medians) / len(medians), variance, len(medians)))
        return measured

    def improvements(self, cell: CollectiveCell) -> list[tuple[str, float, float]]:
        """Return (algorithm, expected improvement of the logarithm, time) of what was not measured in a cell."""
        points = self.points(cell)
        estimate = self.times(cell.operation).at(points)
        measured = [place for place, point in enumerate(points) if self.is_measured(cell, point.algorithm)]
        best = min(measured, key=lambda place: estimate.means[place]) if measured else 0
        means, deviations = differences(estimate, best)
        expected = _expected_gain(means, deviations)
        return [
            (point.algorithm, float(expected[place]), math.exp(estimate.means[place]))
            for place, point in enumerate(points)
            if place not in measured
        ]

    def fastest_candidate(self, cell: CollectiveCell) -> str:
        """Return the candidate that is expected to be the fastest, the library's own choice aside."""
        points = self.points(cell)
        means = self.times(cell.operation).at(points).means[1:]
        return points[1 + int(np.argmin(means))].algorithm if means.size else DEFAULT_CHOICE

    def choice(self, cell: CollectiveCell) -> CellChoice:
        """Return the fastest measured algorithm of a measured cell that is sure to be hardly slower than the library's.

        Cells that were not measured are chosen together: `commmodel.tuning.decision.decide`.
        """
        if not self.is_measured(cell, DEFAULT_CHOICE):
            return CellChoice(cell, DEFAULT_CHOICE)  # nothing to compare with
        points = [point for point in self.points(cell) if self.is_measured(cell, point.algorithm)]
        means, deviations = differences(self.times(cell.operation).at(points), 0)
        is_safe = (means - TWO_SIDED * deviations > -math.log(HARDLY_SLOWER)) & (means > LEAST_GAIN)
        if not is_safe.any():
            return CellChoice(cell, DEFAULT_CHOICE)
        place = int(np.argmax(np.where(is_safe, means, -math.inf)))
        return choice_of_gain(cell, points[place].algorithm, means[place], deviations[place], is_measured=True)


def choice_of_gain(
    cell: CollectiveCell, algorithm: str, mean: float, deviation: float, *, is_measured: bool
) -> CellChoice:
    """Return a choice from the normal logarithm of its gain."""
    gain, low, high = (math.exp(mean + side * deviation) for side in (0, -TWO_SIDED, TWO_SIDED))
    return CellChoice(cell, algorithm, gain, low, high, is_measured)


def explore(search: AlgorithmSearch, cells: Iterable[CollectiveCell], instrument: Instrument) -> None:
    """Measure what may be faster than the fastest so far, until nothing is expected of it or the time is over."""
    listed = list(cells)
    picks = {cell: DEFAULT_CHOICE for cell in listed if not search.is_measured(cell, DEFAULT_CHOICE)}
    while picks or (picks := _picks(search, listed, instrument)):
        measured = instrument.measure(picks)
        for (cell, name), samples in measured.items():
            search.add(cell, name, samples)
        for pick in picks.items() - measured.keys():
            search.exclude(*pick)
        listed = [cell for cell in listed if search.is_measured(cell, DEFAULT_CHOICE)]
        picks = {}


def _picks(
    search: AlgorithmSearch, cells: Sequence[CollectiveCell], instrument: Instrument
) -> dict[CollectiveCell, str]:
    """Return an algorithm for each cell where one is worth its time, the most improvement for its time first."""
    ranked = []
    for cell in cells:
        for name, expected, seconds in search.improvements(cell):
            if expected > _LEAST_IMPROVEMENT:
                cost = instrument.cost(seconds)
                ranked.append((expected / cost, cost, cell, name))
    ranked.sort(reverse=True)
    picks: dict[CollectiveCell, str] = {}
    left = instrument.seconds_left
    until = left * (1 - _OF_A_ROUND)
    for _, cost, cell, name in ranked:
        if cell not in picks and cost <= left and (left > until or not picks):
            picks[cell] = name
            left -= cost
    return picks


def _pooled(launches: Sequence[Array]) -> float:
    """Return the robust standard deviation of the logarithm of a sample around its launch's median."""
    apart = [samples - np.median(samples) for samples in launches if samples.size > 2]
    return TO_DEVIATION * float(np.median(np.abs(np.concatenate(apart)))) if apart else _UNSEEN_SCATTER


def differences(estimate: Estimate, place: int) -> tuple[Array, Array]:
    """Return by how much each logarithm is below that at a place, and the standard deviation of that."""
    means, covariance = estimate
    variances = np.diag(covariance) + covariance[place, place] - 2 * covariance[place]
    return means[place] - means, np.sqrt(np.maximum(variances, 0.0))


def _expected_gain(means: Array, deviations: Array) -> Array:
    """Return the mean of the positive part of normal numbers."""
    from scipy.special import ndtr

    safe = np.maximum(deviations, 1e-12)
    ratio = means / safe
    return np.asarray(means * ndtr(ratio) + safe * np.exp(-(ratio**2) / 2) / math.sqrt(2 * math.pi))
