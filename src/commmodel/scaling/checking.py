"""Check of measurements against expectations, rules and earlier measurements. Main entry: `check`.

Source: Shudler and others (2015), Section 2.4 and Table 2. A rule or a slowdown counts where it is beyond what
measurements scatter; a verdict is that of all models which the data cannot tell apart.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from commmodel.arguments import finite, integer, share
from commmodel.errors import InputError
from commmodel.results import Function, Measurements
from commmodel.scaling.baseline import Slower, modelled, slower, status_quo
from commmodel.scaling.bootstrap import MOST_DRAWS, Ensemble
from commmodel.scaling.expectations import Expectation, Expectations, Guideline
from commmodel.scaling.fitting import FEWEST_SCALES
from commmodel.scaling.growth import ONE, Growth
from commmodel.scaling.guidelines import BrokenRule, CheckSettings, broken_guidelines, usable
from commmodel.scaling.launch_scatter import between_launches
from commmodel.scaling.limits import ScalePrediction, largest_scale, predict
from commmodel.scaling.samples import STATISTICS
from commmodel.scaling.series import Key, Series, series_over
from commmodel.scaling.verdict import Judgement, Verdict, judge

__all__ = ["Checked", "CheckedSeries", "MemoryLimit", "Room", "Slower", "check"]


_NEEDED = ": measure a function at three scales or more, such as collective --procs 2:all"


@dataclass(frozen=True)
class MemoryLimit:
    """Memory in bytes that `each` processes share, such as those of a node."""

    limit: float
    each: float = 1

    def __post_init__(self) -> None:
        if not finite("each", self.each) > 0:
            raise InputError(f"each = {self.each:g}: it must be positive, such as the processes of a node")


@dataclass(frozen=True)
class Room:
    """Scales up to which a limit is kept: by the best model, and by all models that the data allow."""

    scale: float
    low: float
    high: float


@dataclass(frozen=True)
class CheckedSeries:
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

    @property
    def verdict(self) -> Verdict:
        """The verdict of the judgement."""
        return self.judgement.verdict


@dataclass(frozen=True)
class Checked:
    """The result of a check.

    Attributes
    ----------
    rows : tuple of CheckedSeries
    violations : tuple of BrokenRule
        Rules that do not hold.
    possible : tuple of BrokenRule
        Rules that may not hold, or not at some scale that is not known.
    slower : tuple of Slower
        What became larger since the baseline.
    notes : tuple of str
        What was not tested and why, a line each.
    compared : int
        Values that were compared with the baseline.
    """

    rows: tuple[CheckedSeries, ...]
    violations: tuple[BrokenRule, ...] = ()
    possible: tuple[BrokenRule, ...] = ()
    slower: tuple[Slower, ...] = ()
    notes: tuple[str, ...] = ()
    compared: int = 0

    @property
    def holds(self) -> bool:
        """Whether there is no mismatch, broken rule or slowdown; uncertain verdicts count as none of these."""
        return not (self.violations or self.slower or any(row.verdict == "mismatch" for row in self.rows))

    def count(self, verdict: Verdict) -> int:
        """Return the number of rows with a verdict."""
        return sum(row.verdict == verdict for row in self.rows)


def _key(series: Series) -> Key:
    return series.name, series.metric, series.over, series.fixed


def _all_series(measurements: Measurements, parameters: Iterable[str]) -> dict[Key, Series]:
    found = (usable(one) for over in parameters for one in series_over(measurements, over))
    return {_key(one): one for one in found if one.scales}


def _own_parameters(measurements: Measurements) -> Iterator[str]:
    """Yield the parameters of functions that other programs measured."""
    for record in measurements.records:
        if isinstance(record.configuration, Function):
            yield from (name for name, _ in record.configuration.parameters)


def _closest(series: Series, expectations: Sequence[Expectation]) -> Expectation | None:
    """Return the expectation of a series: of several, the one with the most conditions."""
    of_it = [
        one
        for one in expectations
        if (one.name, one.metric, one.over) == (series.name, series.metric, series.over)
        and all(item in series.fixed for item in one.where)
    ]
    return max(of_it, key=lambda one: len(one.where), default=None)


def _room(ensemble: Ensemble, memory: MemoryLimit, confidence: float) -> Room:
    limit, each = memory.limit, memory.each
    low = largest_scale(lambda scale: ensemble.interval(scale, confidence)[1], limit, each)
    high = largest_scale(lambda scale: ensemble.interval(scale, confidence)[0], limit, each)
    scale = largest_scale(ensemble.best, limit, each)
    return Room(scale, min(low, scale), max(high, scale))


def _check_settings(settings: CheckSettings) -> None:
    statistic, confidence, least, draws = settings.statistic, settings.confidence, settings.least, settings.draws
    if statistic not in STATISTICS:
        raise InputError(f"statistic {statistic!r}: there is none of this name: choose among {', '.join(STATISTICS)}")
    share("confidence", confidence)
    if 1 - confidence in {0.0, 1.0}:
        raise InputError(f"confidence {confidence:g}: it must be between 0 and 1, such as 0.95")
    if not 0 <= finite("least effect", least) < math.inf:
        raise InputError(f"least effect {least:g}: it must be a share from 0 up, such as 0.05")
    if integer("draws", draws, 1, MOST_DRAWS) < 20:
        raise InputError(f"{draws} draws: too few to tell models apart: use 20 or more, better 200")


def check(
    measurements: Measurements,
    expectations: Expectations | None = None,
    *,
    baseline: Measurements | None = None,
    at: float | None = None,
    memory: MemoryLimit | None = None,
    metric: str | None = None,
    deviation: Mapping[str, Growth] | None = None,
    settings: CheckSettings | None = None,
) -> Checked:
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
    >>> from commmodel.results import Collective, Header, Launch, Library, Record
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
    _check_settings(settings)
    if at is not None:
        finite("target scale", at, 1)
    if expectations is None and baseline is None:
        raise InputError("nothing is expected: name a file of expectations, mpi, or a baseline")
    expected = [one for one in (expectations.expectations if expectations else ()) if metric in {None, one.metric}]
    guidelines = [one for one in (expectations.guidelines if expectations else ()) if metric in {None, one.metric}]
    named = [one.over for one in expected] + [one.over for one in guidelines]
    parameters = tuple(dict.fromkeys(("p", *named, *_own_parameters(measurements))))
    everything = _all_series(measurements, parameters)
    series = {key: one for key, one in everything.items() if metric in {None, one.metric}}
    if not series:
        known = ", ".join(dict.fromkeys(one.metric for one in everything.values()))
        of_it = f" of metric {metric!r}, but {known}" if known else ""
        raise InputError(f"nothing was measured{of_it}{_NEEDED}")
    _check_deviation(deviation or {}, parameters)
    earlier = {} if baseline is None else _all_series(baseline, parameters)
    before = {key: modelled(one, settings) for key, one in earlier.items() if key in series and _is_enough(one)}
    rows, notes = _rows(series, before, expected, settings, deviation or {})
    models = {_key(row.series): row.judgement.ensemble for row in rows}

    def models_of(series_of_rule: Series) -> Ensemble:
        # Of message sizes that a rule chose there is no series, though one may have the same key.
        known = models.get(_key(series_of_rule)) if series.get(_key(series_of_rule)) is series_of_rule else None
        return known or modelled(series_of_rule, settings)

    broken, untested = broken_guidelines(
        guidelines, list(series.values()), models_of, between_launches(models), at, settings
    )
    worse: tuple[Slower, ...] = ()
    values = 0
    compared: tuple[str, ...] = ()
    if baseline is not None:
        worse, values, compared = slower(baseline, measurements, parameters, settings, metric)
    missing = (
        [] if expectations is None else list(_missing(expected, guidelines, series, {_key(row.series) for row in rows}))
    )
    if baseline is None and not rows and (expected or len(untested) == len(guidelines)):
        raise InputError(
            (*notes, *missing)[0] if notes or missing else f"nothing was measured that is expected{_NEEDED}"
        )
    return Checked(
        tuple(_with_limits(row, at, memory, settings.confidence) for row in rows),
        tuple(one for one in broken if one.certain),
        tuple(one for one in broken if not one.certain),
        worse,
        (*notes, *missing, *untested, *compared),
        values,
    )


def _is_enough(series: Series) -> bool:
    return len(series.scales) >= FEWEST_SCALES


def _check_deviation(deviation: Mapping[str, Growth], parameters: Iterable[str]) -> None:
    for over, D in deviation.items():
        if over not in parameters:
            raise InputError(f"deviation {D.text(over)}: nothing is over {over}: write it over {', '.join(parameters)}")
        if D < ONE:
            raise InputError(f"deviation {D.text(over)}: it falls, but must be 1 or grow: write its inverse")


def _rows(
    series: Mapping[Key, Series],
    before: Mapping[Key, Ensemble],
    expected: Sequence[Expectation],
    settings: CheckSettings,
    deviation: Mapping[str, Growth],
) -> tuple[list[CheckedSeries], list[str]]:
    """Return the verdicts, in order of expectations, then parameters; and the series with too few scales."""
    rows: list[tuple[int, CheckedSeries]] = []
    few: dict[tuple[str, str], list[int]] = {}
    for key, one in series.items():
        expectation = _closest(one, expected)
        if expectation is None and key not in before:
            continue
        if not _is_enough(one):
            few.setdefault((one.name, one.over), []).append(len(one.scales))
            continue
        D = deviation.get(one.over, expectation.deviation if expectation else None)
        if expectation is None:
            judgement = status_quo(before[key], modelled(one, settings), one.over, settings.confidence, D)
            rows.append((len(expected), CheckedSeries(one, "before", judgement)))
            continue
        judgement = judge(
            one.scales,
            one.samples,
            expectation.expect,
            D,
            over=one.over,
            statistic=settings.statistic,
            draws=settings.draws,
            seed=settings.seed,
        )
        rows.append((expected.index(expectation), CheckedSeries(one, "expected", judgement)))
    rows.sort(key=lambda row: (row[0], _order(row[1].series) if row[0] < len(expected) else ()))
    notes = [
        f"{name}: no growth over {over} can be seen with {_scales(max(counts))}: measure at {FEWEST_SCALES} or more, "
        "better 5"
        for (name, over), counts in few.items()
    ]
    return [row for _, row in rows], notes


def _scales(count: int) -> str:
    return "one scale" if count == 1 else f"{count} scales"


def _order(series: Series) -> tuple[tuple[bool, float | str], ...]:
    return tuple((isinstance(value, str), value) for _, value in series.fixed)


def _with_limits(row: CheckedSeries, at: float | None, memory: MemoryLimit | None, confidence: float) -> CheckedSeries:
    found = row.judgement.ensemble
    predicted = None if at is None or not found.fits else predict(found, at, confidence)
    room = None if memory is None or row.series.unit != "B" or not found.fits else _room(found, memory, confidence)
    return CheckedSeries(row.series, row.source, row.judgement, predicted, room)


def _missing(
    expected: Sequence[Expectation],
    guidelines: Sequence[Guideline],
    series: Mapping[Key, Series],
    judged: set[Key],
) -> Iterator[str]:
    """Yield a line about expectations without measurements, and one about measurements without expectations."""
    without: dict[str, dict[str, list[str]]] = {}
    for one in expected:
        of_it = (
            (each.name, each.metric, each.over) == (one.name, one.metric, one.over)
            and all(item in each.fixed for item in one.where)
            for each in series.values()
        )
        if not any(of_it):
            where = ", ".join(f"{name} = {value}" for name, value in one.where)
            names = without.setdefault(one.over, {}).setdefault(one.metric, [])
            names.append(f"{one.name} ({where})" if where else one.name)
    for over, metrics in without.items():
        words = "; ".join(f"{metric} of {', '.join(names)}" for metric, names in metrics.items())
        yield f"expected, but not measured over {over}: {words}"
    # What has a row of another parameter, or too few scales, is not without expectation.
    known = {one.name for one in expected} | {name for name, *_ in judged}
    known |= {name for one in guidelines for name in one.rule.functions}
    others = dict.fromkeys(one.name for one in series.values() if one.name not in known)
    if others:
        yield f"measured, but nothing is expected: {', '.join(others)}"
