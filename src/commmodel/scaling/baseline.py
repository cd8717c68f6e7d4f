"""Earlier measurements as the expectation. Main entries: `status_quo` (growth) and `slower` (values)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from commmodel.results import Configuration, Launch, Measurements, describe
from commmodel.results.parameters import METRICS
from commmodel.scaling.bootstrap import Ensemble
from commmodel.scaling.difference import Difference, differences
from commmodel.scaling.growth import Growth
from commmodel.scaling.search_space import default_deviation
from commmodel.scaling.series import Fixed
from commmodel.scaling.settings import CheckSettings
from commmodel.scaling.verdict import Judgement, Verdict, divergence
from commmodel.values import Value

TOGETHER = "all times together"
"""What a `Slowdown` is called that is of no value alone."""
_EVEN = 0.5
_CLEAR = 3.0  # standard deviations by which a function's ends must have moved apart to be called a faster growth


@dataclass(frozen=True)
class Slowdown(Value):
    """A value larger than in the baseline at the same scale: `ratio` new over old, with its interval.

    Where all times together are larger, though none alone need be, `name` says so and `scale` is nan.
    """

    name: str
    metric: str
    over: str
    scale: float
    fixed: Fixed
    ratio: float
    low: float
    high: float


def _worse(before: dict[Growth, float], after: dict[Growth, float], deviation: Growth | None) -> float:
    """Return the probability that growth is faster than allowed: the share of pairs of models."""
    pairs = list(product(before.items(), after.items()))
    total = sum(first * second for (_, first), (_, second) in pairs)
    faster = sum(
        first * second
        for (old, first), (new, second) in pairs
        if new > old * (default_deviation(old) if deviation is None else deviation)
    )
    return faster / total if total else 0.0


def _apart(before: Ensemble, after: Ensemble) -> bool:
    """Whether the increase from the smallest to the largest common scale exceeds the baseline's beyond the scatter."""
    old, new = (dict(zip(side.scales.tolist(), side.values.tolist(), strict=True)) for side in (before, after))
    common = sorted(old.keys() & new.keys())
    ends = [values[scale] for values in (old, new) for scale in common]
    if len(common) < 2 or min(ends) <= 0:
        return True
    first, last = common[0], common[-1]
    grown = math.log(new[last] / new[first]) - math.log(old[last] / old[first])
    return grown > _CLEAR * math.sqrt(2) * math.hypot(before.noise, after.noise)


def status_quo(
    before: Ensemble, after: Ensemble, over: str, confidence: float = 0.95, deviation: Growth | None = None
) -> Judgement:
    """Return whether a function grows as it did.

    Parameters
    ----------
    before, after : Ensemble
        Of the same terms.
    over : str
        What the advice calls the parameter.
    confidence : float
        Below 1.
    deviation : Growth, optional
        D, by default that of each class before.

    Returns
    -------
    Judgement
        The expectation is the class of the best model before; for a match, of the best model now if that fitted before.
        A mismatch is a faster growth alone, since nobody minds that something became better: where, of all pairs of a
        class that fits before and one that fits after, those beyond the limit E D have a share of at least
        `confidence`, and from the smallest to the largest scale it grows by more than it did, by three times the
        scatter. A match where a class fits both and the pairs beyond the limit have less than half of the weight;
        approximate where none fits both. Uncertain in between, and where no class fits now.

    Examples
    --------
    >>> from commmodel.scaling.bootstrap import ensemble
    >>> p, terms = [4, 8, 16, 32, 64], [Growth(log=1), Growth(power=1)]
    >>> before, after = (ensemble(p, [[float(5 + term(n))] for n in p], terms) for term in terms)
    >>> status_quo(before, after, "p").verdict, status_quo(after, before, "p").verdict
    ('mismatch', 'approximate')
    """
    worse = _worse(before.shares, after.shares, deviation)
    common = before.shares.keys() & after.shares.keys()
    verdict: Verdict = "uncertain"
    advice = ""
    if not after.fits:
        advice = f"no class fits what is measured now: measure at more {over}, or more often"
    elif worse >= confidence and _apart(before, after):
        verdict = "mismatch"
    elif worse < _EVEN and common:
        verdict = "match"
    elif worse < 1 - confidence:
        verdict = "approximate"
    else:
        old, new = (", ".join(growth.text(over) for growth in ensemble.shares) for ensemble in (before, after))
        advice = f"before {old} fit, now {new}: measure at more {over}, or more often, before and after"
    fitted = verdict == "match" and after.best.growth in before.shares
    expectation = (after if fitted else before).best.growth
    limit = default_deviation(expectation) if deviation is None else deviation
    return Judgement(expectation, limit, verdict, divergence(after.best.growth, expectation), after, advice, worse)


def _only(measurements: Measurements, parameters: set[str], metric: str | None) -> Measurements:
    """Return the records that depend on one of the parameters."""

    def is_selected(configuration: Configuration, unit: str) -> bool:
        _, metric_of, values = describe(configuration)
        return bool(values.keys() & parameters) and metric in {None, metric_of or METRICS[unit]}

    launches = (
        Launch(
            launch.header, tuple(record for record in launch.records if is_selected(record.configuration, record.unit))
        )
        for launch in measurements.launches
    )
    return Measurements(tuple(launch for launch in launches if launch.records))


def _of_series(row: Difference, parameters: Iterable[str]) -> Slowdown:
    name, metric, values = describe(row.configuration)
    over = next(parameter for parameter in parameters if isinstance(values.get(parameter), float))
    scale = values.pop(over)
    metric = metric or METRICS[row.unit]
    return Slowdown(name, metric, over, float(scale), tuple(values.items()), row.ratio, row.low, row.high)


def slower(
    before: Measurements,
    after: Measurements,
    parameters: Iterable[str],
    settings: CheckSettings,
    metric: str | None = None,
) -> tuple[tuple[Slowdown, ...], int, tuple[str, ...]]:
    """Return the values larger than in the baseline, the number of values compared, and remarks.

    Parameters
    ----------
    before, after : Measurements
    parameters : iterable of str
        Only what depends on one of these; the first that a configuration has is its scale.
    settings : CheckSettings
    metric : str, optional
        Only this one.

    Raises
    ------
    InputError
        Where nothing was measured in both.
    """
    names = list(parameters)
    result = differences(
        _only(before, set(names), metric),
        _only(after, set(names), metric),
        statistic=settings.statistic,
        confidence=settings.confidence,
        least=settings.least,
    )
    worse = tuple(_of_series(row, names) for row in result.rows if row.is_worse)
    changed = (f"since the baseline, {name}: {old} became {new}" for name, old, new in result.environment)
    if result.together is not None and result.together.change == "slower":
        together = result.together
        all_of_them = Slowdown(
            TOGETHER, METRICS["s"], names[0], math.nan, (), together.ratio, together.low, together.high
        )
        worse = (all_of_them, *worse)
    return worse, len(result.rows), (*changed, *result.remarks)
