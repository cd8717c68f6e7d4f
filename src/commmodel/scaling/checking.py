"""Check of measurements against expectations, rules and earlier measurements. Main entries: `check` and `check_values`.

Source: Shudler and others (2015), Section 2.4 and Table 2. A rule or a slowdown counts where it is beyond what
measurements scatter; a verdict is that of all models which the data cannot tell apart.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from commmodel.arguments import Scale, finite, numbers
from commmodel.arrays import Array
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError
from commmodel.frames import Tabular, of_axes
from commmodel.progress import ProgressLine
from commmodel.results import Measurements
from commmodel.results.oversubscription import crowded_hosts
from commmodel.scaling.baseline import Slowdown, slower, status_quo
from commmodel.scaling.bootstrap import Ensemble
from commmodel.scaling.expectations import Expectation, Expectations, Guideline
from commmodel.scaling.few_launches import confirmed, scatter_of
from commmodel.scaling.fitting import FEWEST_SCALES
from commmodel.scaling.growth import ONE, Growth, parse_growth
from commmodel.scaling.guidelines import BrokenRule, broken_guidelines
from commmodel.scaling.limits import ScalePrediction, largest_scale, predict_at
from commmodel.scaling.permutation import FEWEST_PLAIN
from commmodel.scaling.search_space import judged_space
from commmodel.scaling.series import Key, Series, growth_parameters, series_over
from commmodel.scaling.settings import CheckSettings, model
from commmodel.scaling.verdict import Judgement, Verdict, judge_models
from commmodel.signatures import check_fields, checked
from commmodel.units import counted
from commmodel.values import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NEEDED = ": measure a function at three scales or more, as with mpiexec -n 8 python -m commmodel.bench collective"


@with_attributes
@dataclass(frozen=True)
class MemoryLimit:
    """Memory in bytes that several processes share, such as those of a node."""

    limit: float
    processes: float = 1

    def __post_init__(self) -> None:
        check_fields(self)
        finite("limit", self.limit, above=0)
        finite("processes", self.processes, above=0)


@dataclass(frozen=True)
class Room:
    """Scales up to which a limit is kept: by the best model, and by all models that the data allow."""

    scale: float
    low: float
    high: float


@dataclass(frozen=True)
class CheckedSeries(Tabular, Value):
    """One series with its verdict.

    Attributes
    ----------
    series : Series
    source : str
        ``expected`` where the expectation was written down, ``before`` where it is how the baseline grows.
    judgement : Judgement
    predicted : ScalePrediction, optional
        At the target scale, in the series' unit; nothing where no class fits.
    room : Room, optional
        Up to which scale the limit is kept; of memory only.
    """

    series: Series
    source: Literal["expected", "before"]
    judgement: Judgement
    predicted: ScalePrediction | None = None
    room: Room | None = None

    def __repr__(self) -> str:
        """Return the series, what it is expected to grow as, what it grows as, and the verdict."""
        over, judged, best = self.series.over, self.judgement, self.judgement.ensemble.best
        growth = best.growth.text(over) if judged.ensemble.fits else "no class"
        series = f"{self.series.name} ({self.series.metric})"
        return f"CheckedSeries({series}: {judged.expectation.text(over)} expected, {growth} fits, {self.verdict})"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a row for each scale: ``name``, ``metric``, ``over``, and those of the judgement."""
        rows = self.judgement.to_dict()
        names = {name: [getattr(self.series, name)] * len(rows["scale"]) for name in ("name", "metric", "over")}
        return names | rows

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw what was measured, the best model with its interval, and the expectation, as `Judgement.plot`."""
        series = self.series
        return self.judgement.plot(axes, over=series.over, metric=series.metric, unit=series.unit)

    @property
    def verdict(self) -> Verdict:
        """The verdict of the judgement."""
        return self.judgement.verdict


@dataclass(frozen=True)
class CheckResult(Tabular, Value):
    """The result of a check.

    Attributes
    ----------
    rows : tuple of CheckedSeries
    violations : tuple of BrokenRule
        Rules that do not hold.
    possible : tuple of BrokenRule
        Rules that may not hold, or not at some scale that is not known.
    slower : tuple of Slowdown
        What became larger since the baseline.
    notes : tuple of str
        What was not tested and why, a line each.
    compared : int
        Values that were compared with the baseline.
    """

    rows: tuple[CheckedSeries, ...]
    violations: tuple[BrokenRule, ...] = ()
    possible: tuple[BrokenRule, ...] = ()
    slower: tuple[Slowdown, ...] = ()
    notes: tuple[str, ...] = ()
    compared: int = 0

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a row for each series: ``name``, ``metric``, ``over``, ``parameters``, growth and verdict."""
        columns: dict[str, list[Any]] = {}
        for row in self.rows:
            series, judged = row.series, row.judgement
            cells = {
                "name": series.name, "metric": series.metric, "over": series.over, "parameters": dict(series.fixed),
                "expected": judged.expectation.text(series.over),
                "model": judged.ensemble.best.growth.text(series.over),
                "divergence": judged.divergence.text(series.over), "verdict": row.verdict, "advice": judged.advice,
            }  # fmt: skip
            for name, cell in cells.items():
                columns.setdefault(name, []).append(cell)
        return columns

    @property
    def holds(self) -> bool:
        """Whether there is no mismatch, broken rule or slowdown; uncertain verdicts count as none of these."""
        return not (self.violations or self.slower or any(row.verdict == "mismatch" for row in self.rows))

    def count(self, verdict: Verdict) -> int:
        """Return the number of rows with a verdict."""
        return sum(row.verdict == verdict for row in self.rows)


def _all_series(measurements: Measurements, parameters: Iterable[str]) -> dict[Key, Series]:
    """Return all series at scales from 1 on: for those below no class of growth is defined."""
    members = (series for over in parameters for series in series_over(measurements, over))
    all_series = (series.at_scales(lambda scale: scale >= 1) for series in members)
    return {series.key: series for series in all_series if series.scales}


def _closest(series: Series, expectations: Sequence[Expectation]) -> Expectation | None:
    """Return the expectation of a series: of several, the one with the most conditions."""
    of_it = [expectation for expectation in expectations if expectation.applies_to(series)]
    return max(of_it, key=lambda expectation: len(expectation.where), default=None)


def _room(ensemble: Ensemble, memory: MemoryLimit, confidence: float) -> Room:
    limit, processes = memory.limit, memory.processes
    low = largest_scale(lambda scale: ensemble.interval(scale, confidence)[1], limit, processes)
    high = largest_scale(lambda scale: ensemble.interval(scale, confidence)[0], limit, processes)
    scale = largest_scale(ensemble.best, limit, processes)
    return Room(scale, min(low, scale), max(high, scale))


@dataclass(frozen=True)
class _CheckTask:
    """What is held against what: series by their keys, expectations and rules of the metric in question."""

    measured: Mapping[Key, Series]
    earlier: Mapping[Key, Series]
    parameters: tuple[str, ...]
    expectations: Sequence[Expectation]
    guidelines: Sequence[Guideline]
    deviation: Mapping[str, Growth]
    settings: CheckSettings


def _task(
    measurements: Measurements,
    expectations: Expectations,
    baseline: Measurements | None,
    metric: str | None,
    deviation: Mapping[str, Growth],
    settings: CheckSettings,
) -> _CheckTask:
    """Return what is to be checked; raise where nothing of it was measured."""
    expected = [expectation for expectation in expectations.expectations if metric in {None, expectation.metric}]
    guidelines = [guideline for guideline in expectations.guidelines if metric in {None, guideline.metric}]
    names = [expectation.over for expectation in expected] + [guideline.over for guideline in guidelines]
    parameters = tuple(dict.fromkeys(("p", *names, *growth_parameters(measurements))))
    all_series = _all_series(measurements, parameters)
    measured = {key: series for key, series in all_series.items() if metric in {None, series.metric}}
    if not measured and baseline is None:
        metrics = ", ".join(dict.fromkeys(series.metric for series in all_series.values()))
        of_it = f" of metric {metric!r}, but {metrics}" if metrics else ""
        raise InputError(f"{'nothing' if metrics else 'no function'} was measured{of_it}{_NEEDED}")
    _check_deviation(deviation, parameters)
    earlier = {} if baseline is None else _all_series(baseline, parameters)
    return _CheckTask(measured, earlier, parameters, expected, guidelines, deviation, settings)


@checked
def check(
    measurements: Measurements,
    expectations: Expectations | None = None,
    *,
    baseline: Measurements | None = None,
    at: Scale | None = None,
    memory: MemoryLimit | None = None,
    metric: str | None = None,
    deviation: Mapping[str, Growth] | None = None,
    settings: CheckSettings | None = None,
) -> CheckResult:
    """Check that measurements grow as expected, keep the rules, and are no slower than the baseline.

    Parameters
    ----------
    measurements : Measurements
        At three scales or more.
    expectations : Expectations, optional
        See `commmodel.scaling.load`. Of several expectations of one series, that with the most conditions counts.
    baseline : Measurements, optional
        Earlier ones. Where nothing else is expected of a function, it should grow as it did (`status_quo`), and no
        value should be larger than at the same scale before (`differences`).
    at : float, optional
        Scale to predict for, and up to which rules should hold.
    memory : MemoryLimit, optional
        Up to which scale does it last?
    metric : str, optional
        Only this one.
    deviation : dict, optional
        Parameter -> D, instead of those of the expectations.
    settings : CheckSettings, optional
        Statistic, bootstrap, confidence and least effect.

    Raises
    ------
    InputError
        Where nothing can be tested, or an option is none.

    Examples
    --------
    >>> from commmodel.results import Header, Launch, Library, Record
    >>> from commmodel.results.configurations import Collective
    >>> from commmodel.scaling import load
    >>> header = Header("commmodel-results", 1, "", (), Library("MPI"), (), ())
    >>> records = (Record(Collective("bcast", 8, p), "s", (1e-6 * p, 1.01e-6 * p)) for p in (2, 4, 8, 16, 32))
    >>> checked = check(Measurements((Launch(header, tuple(records)),)), load("mpi"))
    >>> [(row.series.name, row.judgement.divergence.text("p"), row.verdict) for row in checked.rows]
    [('bcast', 'p / log p', 'mismatch')]
    >>> checked.holds
    False
    """
    settings = settings or CheckSettings()
    if at is not None:
        finite("at", at, 1)
    if expectations is None and baseline is None:
        raise InputError("nothing is expected: name a file of expectations, mpi, or a baseline")
    task = _task(measurements, expectations or Expectations(), baseline, metric, deviation or {}, settings)
    rows, notes = _rows(task)
    if crowded := _crowded(measurements) or (baseline and _crowded(baseline)):
        rows = [_doubted(row, crowded) for row in rows]
    broken, untested, tested = _broken(task, rows, at)
    worse: tuple[Slowdown, ...] = ()
    values = 0
    compared: tuple[str, ...] = ()
    if baseline is not None:
        worse, values, compared = slower(baseline, measurements, (*task.parameters, "n"), settings, metric)
    missing = [] if expectations is None else list(_missing(task, rows))
    if baseline is None and not rows and (task.expectations or not tested):
        if missing and not notes:
            functions = dict.fromkeys(series.name for series in task.measured.values())
            raise InputError(f"{missing[0]}; measured: {', '.join(functions)}")
        untestable = (*notes, *untested, f"nothing was measured that is expected{_NEEDED}")
        raise InputError(untestable[0])
    return CheckResult(
        tuple(_with_limits(row, at, memory, settings.confidence) for row in rows),
        tuple(violation for violation in broken if violation.certain),
        tuple(violation for violation in broken if not violation.certain),
        worse,
        (*notes, *missing, *untested, *compared),
        values,
    )


@checked
def check_values(
    scales: ArrayLike,
    values: Sequence[float] | Sequence[Sequence[float]] | Array,
    expectation: str | Growth,
    *,
    metric: str = "time",
    over: str = "p",
    at: Scale | None = None,
    memory: MemoryLimit | None = None,
    settings: CheckSettings | None = None,
) -> CheckedSeries:
    """Check that values grow as expected over some scales.

    Parameters
    ----------
    scales : array_like
        Values of the parameter, three or more, each ≥ 1.
    values : array_like
        At each scale one value, or a row of repetitions.
    expectation : str or Growth
        Such as ``"p log p"``, of the parameter.
    metric : str
        ``time`` in seconds, ``memory`` in bytes, or another one, without a unit.
    over : str
        Name of the parameter.
    at, memory, settings
        As of `check`; memory is that of values in bytes.

    Raises
    ------
    InputError
        Where the scales show no growth, values do not belong to them, or an option is none.

    Examples
    --------
    >>> p = [2, 4, 8, 16, 32, 64]
    >>> checked = check_values(p, [1e6 * n for n in p], "log p", metric="memory", memory=MemoryLimit(2**30))
    >>> checked.verdict, checked.judgement.divergence.text("p"), round(checked.room.scale)
    ('mismatch', 'p / log p', 1074)
    """
    settings = settings or CheckSettings()
    if at is not None:
        finite("target scale", at, 1)
    growth = parse_growth(expectation, over) if isinstance(expectation, str) else expectation
    rows = [np.atleast_1d(numbers("values", row)) for row in (values if np.iterable(values) else [values])]
    points, count = numbers("scales", scales).ravel(), len(rows)
    if points.size != count or count < FEWEST_SCALES:
        raise InputError(
            f"{points.size} scales, {count} values: give as many of both, at {FEWEST_SCALES} scales or more"
        )
    for row in rows:
        finite("values", row.min(initial=0.0), 0)
        finite("values", row.max(initial=0.0))
    order = np.argsort(points, kind="stable")
    unit = "B" if "memory" in metric else "s" if "time" in metric else "1"
    samples = tuple(rows[place][None] for place in order)
    series = Series("values", metric, unit, over, (), tuple(points[order].tolist()), samples)
    expected = Expectation(series.name, growth, metric, over)
    task = _CheckTask({series.key: series}, {}, (over,), [expected], [], {}, settings)
    return _with_limits(_rows(task)[0][0], at, memory, settings.confidence)


def _broken(
    task: _CheckTask, rows: Iterable[CheckedSeries], at: float | None
) -> tuple[list[BrokenRule], list[str], int]:
    """Return the rules that do not hold, lines on those that could not be tested, and how many series were."""
    models = {row.series.key: row.judgement.ensemble for row in rows}

    def model_of(series: Series) -> Ensemble:
        # Of message sizes that a rule chose there is no series, though one may have the same key.
        ensemble = models.get(series.key) if task.measured.get(series.key) is series else None
        return ensemble or model(series, task.settings)

    return broken_guidelines(task.guidelines, list(task.measured.values()), model_of, at, task.settings)


def _is_enough(series: Series) -> bool:
    return len(series.scales) >= FEWEST_SCALES


def _check_deviation(deviation: Mapping[str, Growth], parameters: Iterable[str]) -> None:
    for over, D in deviation.items():
        if over not in parameters:
            raise InputError(f"deviation {D.text(over)}: nothing is over {over}: write it over {', '.join(parameters)}")
        if D < ONE:
            raise InputError(f"deviation {D.text(over)}: it falls, but must be 1 or grow: write its inverse")


def _rows(task: _CheckTask) -> tuple[list[CheckedSeries], list[str]]:
    """Return the verdicts, in order of expectations, then parameters; and the series with too few scales."""
    expected = task.expectations
    rows: list[tuple[int, CheckedSeries]] = []
    all_series = (*task.measured.values(), *task.earlier.values())
    scatter = functools.cache(lambda: scatter_of(all_series, task.settings.statistic))
    few: dict[tuple[str, str], list[Series]] = {}
    with ProgressLine("checking growth") as line:
        for number, (key, series) in enumerate(task.measured.items()):
            line.count(number, len(task.measured), "series")
            expectation = _closest(series, expected)
            before = task.earlier.get(key) if expectation is None else None
            if expectation is None and not (before and _is_enough(before)):
                continue
            if not _is_enough(series):
                few.setdefault((series.name, series.over), []).append(series)
                continue
            D = task.deviation.get(series.over, expectation.deviation if expectation else None)
            judged = functools.partial(_judged, expectation=expectation, deviation=D, settings=task.settings)
            judgement = confirmed(judged(series, before), series, before, judged, scatter)
            place = expected.index(expectation) if expectation else len(expected)
            rows.append((place, CheckedSeries(series, "expected" if expectation else "before", judgement)))
    rows.sort(key=lambda row: (row[0], _order(row[1].series) if row[0] < len(expected) else ()))
    return [row for _, row in rows], _too_few(few)


def _judged(
    series: Series,
    before: Series | None,
    noise: float = 0.0,
    *,
    expectation: Expectation | None,
    deviation: Growth | None,
    settings: CheckSettings,
) -> Judgement:
    """Return the verdict on a series by its expectation, or by how it grew before."""
    if before is not None:
        old, new = (model(side, settings, noise=noise) for side in (before, series))
        return status_quo(old, new, series.over, settings.confidence, deviation)
    assert expectation is not None  # noqa: S101 - one of both is there
    models = model(series, settings, noise=noise, terms=judged_space(expectation.expect))
    return judge_models(models, expectation.expect, deviation, series.over)


def _doubted(row: CheckedSeries, advice: str) -> CheckedSeries:
    """Return a row whose mismatch is uncertain where times of a launch or two make it."""
    launches = min(len(samples) for samples in row.series.samples)
    if row.verdict != "mismatch" or row.series.unit != "s" or launches >= FEWEST_PLAIN:
        return row
    return replace(row, judgement=replace(row.judgement, verdict="uncertain", advice=advice))


def _crowded(measurements: Measurements) -> str:
    """Return what to measure where other programs took the processors; otherwise nothing."""
    crowded = [load for launch in measurements.launches for load in crowded_hosts(launch.header).values()]
    if not crowded:
        return ""
    return (
        f"other programs took the processors ({crowded[0]}): measure when they are idle, or {FEWEST_PLAIN} launches or "
        "more"
    )


def _too_few(few: Mapping[tuple[str, str], Sequence[Series]]) -> list[str]:
    """Return what to say of functions with too few scales, those of whom the same is to be said together."""
    names: dict[str, list[str]] = {}
    for (name, over), several in few.items():
        count = max(len(series.scales) for series in several)
        starts = sorted({str(value) for series in several for key, value in series.fixed if key == "start"})
        mend = f"measure at {FEWEST_SCALES} or more, better 5"
        if len(starts) > 1:
            began = f"repetitions began differently ({', '.join(starts)})"
            mend = f"{began}, so they are apart: give all the same --start"
        names.setdefault(f"no growth over {over} can be seen with {counted(count, 'scale')}: {mend}", []).append(name)
    return [f"{', '.join(functions)}: {words}" for words, functions in names.items()]


def _order(series: Series) -> tuple[tuple[bool, float | str], ...]:
    return tuple((isinstance(value, str), value) for _, value in series.fixed)


def _with_limits(row: CheckedSeries, at: float | None, memory: MemoryLimit | None, confidence: float) -> CheckedSeries:
    ensemble = row.judgement.ensemble
    predicted = None if at is None or not ensemble.fits else predict_at(ensemble, at, confidence)
    room = (
        None if memory is None or row.series.unit != "B" or not ensemble.fits else _room(ensemble, memory, confidence)
    )
    return replace(row, predicted=predicted, room=room)


def _missing(task: _CheckTask, rows: Iterable[CheckedSeries]) -> Iterator[str]:
    """Yield a line about expectations without measurements, and one about measurements without expectations."""
    without: dict[str, dict[str, list[str]]] = {}
    for expectation in task.expectations:
        if not any(expectation.applies_to(series) for series in task.measured.values()):
            where = ", ".join(f"{name} = {value}" for name, value in expectation.where)
            names = without.setdefault(expectation.over, {}).setdefault(expectation.metric, [])
            names.append(f"{expectation.name} ({where})" if where else expectation.name)
    for over, metrics in without.items():
        words = "; ".join(f"{metric} of {', '.join(names)}" for metric, names in metrics.items())
        yield f"expected, but not measured over {over}: {words}"
    # What has a row of another parameter, or too few scales, is not without expectation.
    known_names = {expectation.name for expectation in task.expectations} | {row.series.name for row in rows}
    known_names |= {name for guideline in task.guidelines for name in guideline.rule.functions}
    rest = dict.fromkeys(series.name for series in task.measured.values() if series.name not in known_names)
    if rest:
        yield f"measured, but nothing is expected: {', '.join(rest)}"
