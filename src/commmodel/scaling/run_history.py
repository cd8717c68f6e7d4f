"""Measurements of one machine over time: each quantity, and since when it is another. Main entry: `history`.

A change point lies between two runs. What is measured before it is compared with what is measured after it as
`commmodel.scaling.difference` compares two files: with the nearest runs that together have enough launches, so that a
file of five launches is compared with its neighbour, and of files of one launch each five with five.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from commmodel.arguments import NotNegative, finite, share
from commmodel.choices import Statistic, Unit
from commmodel.errors import InputError
from commmodel.results import Configuration, Measurements, library_name, whole_launches
from commmodel.results.configurations import Function, Memory, Queue
from commmodel.scaling.collected import CollectedSeries, collect
from commmodel.scaling.difference import Change, differences
from commmodel.scaling.environment import changed_environment
from commmodel.scaling.samples import reduce
from commmodel.signatures import checked
from commmodel.values import OneLine, Value

FEWEST_RUNS = 3
_ENOUGH = 5
"""Launches on each side of a change point, where there are as many."""


@dataclass(frozen=True)
class HistoryRun(OneLine):
    """A file of measurements.

    Attributes
    ----------
    name : str
        Of the file.
    created : str
        When its first launch began; empty where that is not recorded.
    library : str
        The MPI library.
    launches : int
        How many there are.
    """

    name: str
    created: str
    library: str
    launches: int


@dataclass(frozen=True)
class HistoryPoint(OneLine):
    """The value of a run.

    Attributes
    ----------
    run : int
        Its number, from 0.
    value, low, high : float
        Mean over its launches, and the least and the most of them.
    """

    run: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class HistorySeries(OneLine):
    """The values of a configuration in all runs that measured it.

    Attributes
    ----------
    configuration, unit
        What was measured, and in what: seconds, bytes or a plain number.
    points : tuple of HistoryPoint
        In the order of time.
    """

    configuration: Configuration
    unit: Unit
    points: tuple[HistoryPoint, ...]


@dataclass(frozen=True)
class ChangePoint(OneLine):
    """A configuration that is another since a run.

    Attributes
    ----------
    configuration, unit
        What was measured, and in what.
    run : int
        Number of the first run that has changed, from 0.
    before, after : float
        Means over the launches of the nearest runs before and since.
    ratio, low, high : float
        `after` / `before` and its interval.
    change : str
        ``slower``, ``faster``, ``larger`` or ``smaller``.
    """

    configuration: Configuration
    unit: Unit
    run: int
    before: float
    after: float
    ratio: float
    low: float
    high: float
    change: Change

    @property
    def is_worse(self) -> bool:
        """Whether it became slower, or uses or counts more."""
        grew = self.change == "larger" and isinstance(self.configuration, Memory | Function)
        return self.change == "slower" or grew


@dataclass(frozen=True)
class History(Value):
    """Measurements of a machine over time.

    Attributes
    ----------
    runs : tuple of HistoryRun
        In the order of time.
    series : tuple of HistorySeries
        Those with a change point first.
    changes : tuple of ChangePoint
        By run, the largest first.
    environment : dict
        Run -> what was another there than in the run before: (name, before, after).
    remarks : tuple of str
        What a reader must know.
    """

    runs: tuple[HistoryRun, ...]
    series: tuple[HistorySeries, ...]
    changes: tuple[ChangePoint, ...]
    environment: dict[int, tuple[tuple[str, str, str], ...]]
    remarks: tuple[str, ...]


def _in_time(files: Mapping[str, Measurements]) -> list[tuple[str, Measurements]]:
    """Return the files in the order in which they were measured; as they are given where one does not say when."""
    begun = {name: min((launch.header.created for launch in file.launches), default="") for name, file in files.items()}
    names = sorted(files, key=begun.__getitem__) if all(begun.values()) else list(files)
    return [(name, files[name]) for name in names]


def _run(name: str, measurements: Measurements) -> HistoryRun:
    headers = [launch.header for launch in measurements.launches]
    libraries = dict.fromkeys(map(library_name, headers))
    created = min((header.created for header in headers if header.created), default="")
    return HistoryRun(name, created, "; ".join(libraries), len(whole_launches(measurements)))


def _point(run: int, values: Sequence[float], unit: str) -> HistoryPoint:
    is_time = unit == "s" and min(values) > 0
    mean = float(np.exp(np.mean(np.log(values)))) if is_time else float(np.mean(values))
    return HistoryPoint(run, mean, float(min(values)), float(max(values)))


def _series(sides: Sequence[CollectedSeries], statistic: Statistic) -> list[HistorySeries]:
    """Return what two runs or more have measured, in the order of the files."""
    configurations = dict.fromkeys(configuration for side in sides for configuration in side.samples)
    series = []
    for configuration in configurations:
        runs = {run: side.samples[configuration] for run, side in enumerate(sides) if configuration in side.samples}
        units = {samples.unit for samples in runs.values()}
        if len(runs) > 1 and len(units) == 1 and not isinstance(configuration, Queue):
            points = [
                _point(run, reduce(samples.launches, statistic).tolist(), samples.unit) for run, samples in runs.items()
            ]
            series.append(HistorySeries(configuration, units.pop(), tuple(points)))
    return series


def _window(runs: Sequence[HistoryRun], numbers: Sequence[int]) -> list[int]:
    """Return the first of some runs that together have enough launches."""
    chosen: list[int] = []
    for number in numbers:
        if sum(runs[other].launches for other in chosen) >= _ENOUGH:
            break
        chosen.append(number)
    return sorted(chosen)


def _plainest(by_run: Mapping[int, ChangePoint]) -> list[ChangePoint]:
    """Return the largest change of each stretch of neighbouring runs that changed in one direction."""
    stretches: list[list[ChangePoint]] = []
    for run, point in sorted(by_run.items()):
        last = stretches[-1][-1] if stretches else None
        if last is not None and last.run == run - 1 and last.change == point.change:
            stretches[-1].append(point)
        else:
            stretches.append([point])
    return [max(stretch, key=_size) for stretch in stretches]


def _size(point: ChangePoint) -> float:
    return abs(math.log(point.ratio)) if 0 < point.ratio < math.inf else math.inf


@checked
def history(
    files: Mapping[str, Measurements],
    *,
    statistic: Statistic = "median",
    confidence: float = 0.95,
    least: NotNegative = 0.05,
) -> History:
    """Return each quantity over time, and the runs since which one is another.

    Parameters
    ----------
    files : mapping of str to Measurements
        Name of each file -> its measurements, of one machine, with the same kernels and sizes. Three or more.
    statistic : str
        What the repetitions of a launch are reduced to, one of `commmodel.scaling.samples.STATISTICS`.
    confidence : float
        From 0.01 to 0.999999; of all change points together: where nothing changed at all, 1 − `confidence` is about
        the most that the chance is that any is named.
    least : float
        Changes up to this share are not named.

    Raises
    ------
    InputError
        For fewer than three files, or where neighbours have nothing in common.

    Notes
    -----
    Between two files `commmodel.scaling.differences` decides, with a share of the chance for each pair of neighbours.
    Of files of one launch each, change points less than five files from either end are seldom found.

    Examples
    --------
    >>> from commmodel.results import Header, Launch, Library, Measurements, Record
    >>> from commmodel.results.configurations import Collective
    >>> def measured(week, factor):
    ...     headers = [Header("commmodel-results", 1, f"2026-01-{week:02}T0{launch}:00:00+00:00", (), Library("MPI"),
    ...         (), ()) for launch in range(5)]
    ...     times = lambda launch: (factor * 1e-6 * (1 + launch / 100),) * 20
    ...     return Measurements(tuple(Launch(header, (Record(Collective("bcast", 8, 4), "s", times(launch)),))
    ...         for launch, header in enumerate(headers)))
    >>> weeks = history({f"week {week}": measured(week, 1 + 2 * (week > 2)) for week in range(1, 5)})
    >>> [(weeks.runs[point.run].name, point.change) for point in weeks.changes]
    [('week 3', 'slower')]
    """
    share("confidence", confidence)
    finite("least", least, 0)
    if len(files) < FEWEST_RUNS:
        raise InputError(f"{len(files)} files are no history: give three or more, or compare two")
    ordered = _in_time(files)
    runs = [_run(name, measurements) for name, measurements in ordered]
    sides = [collect(measurements) for _, measurements in ordered]
    of_each = 1 - (1 - confidence) / (len(runs) - 1)
    points: dict[Configuration, dict[int, ChangePoint]] = {}
    environment, fewest = {}, math.inf
    for run in range(1, len(runs)):
        before, after = _window(runs, range(run - 1, -1, -1)), _window(runs, range(run, len(runs)))
        try:
            result = differences(
                _joined(ordered, before), _joined(ordered, after), statistic=statistic, confidence=of_each, least=least
            )
        except InputError as error:
            raise InputError(f"{runs[run - 1].name} and {runs[run].name}: {error}") from None
        fewest = min(fewest, *(sum(runs[number].launches for number in window) for window in (before, after)))
        for row in result.rows:
            if row.change not in {"same", "unclear"}:
                point = ChangePoint(
                    row.configuration, row.unit, run, row.before, row.after, row.ratio, row.low, row.high, row.change
                )
                points.setdefault(row.configuration, {})[run] = point
        if changed := _changed(ordered[run - 1][1], ordered[run][1]):
            environment[run] = changed
    changes = [point for by_run in points.values() for point in _plainest(by_run)]
    changes.sort(key=lambda point: (point.run, -_size(point)))
    series = _series(sides, statistic)
    series.sort(key=lambda row: row.configuration not in points)
    return History(tuple(runs), tuple(series), tuple(changes), environment, tuple(_remarks(sides, fewest)))


def _joined(ordered: Sequence[tuple[str, Measurements]], numbers: Sequence[int]) -> Measurements:
    return Measurements(tuple(launch for number in numbers for launch in ordered[number][1].launches))


def _changed(before: Measurements, after: Measurements) -> tuple[tuple[str, str, str], ...]:
    return changed_environment(*([launch.header for launch in side.launches] for side in (before, after)))


def _remarks(sides: Sequence[CollectedSeries], fewest: float) -> list[str]:
    remarks = list(dict.fromkeys(note for side in sides for note in side.notes))
    if fewest < _ENOUGH:
        remarks.append(
            f"on one side of a run there are {fewest:g} launches only: a change there can hardly be told from chance; "
            "measure five launches or more for each file (--launches 5)"
        )
    return remarks
