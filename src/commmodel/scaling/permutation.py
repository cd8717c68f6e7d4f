"""Permutation tests of two sets of launches. Main entries: `unpaired` and `paired`.

Times of launches on a shared machine have heavy tails, several modes and no known distribution. So nothing is assumed
but that launches of an unchanged program could be exchanged: whatever is computed is computed again with the launches
dealt to the two sides in all other ways (in pairs: with the sides of each pair exchanged). All configurations are dealt
together, so that the chance of any false alarm among all of them is limited (Westfall and Young 1993, step-down max T),
whatever they have in common. What all configurations do together is one more test, combined with theirs by Tippett's
method; it finds small shifts that are the same everywhere.

Load drifts: launches of two sides that were measured one side after the other cannot be exchanged. Where sides did not
take turns, a difference must also be larger than a random walk would make it, whose steps are those between successive
launches of one side, and than a steady trend through both sides would.
"""

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.arrays import Array
from commmodel.statistics import TO_DEVIATION

Flags = NDArray[np.bool_]

MOST_DEALS = 5000
"""Ways to deal launches up to which all are tried; of more, so many are drawn."""
FEWEST_PLAIN = 3
"""Launches on each side from which on a change may be plain without any p-value."""
PLAIN = 3.0
"""Times the largest distance of a launch from its side, beyond which a change is plain."""
FEWEST_TOGETHER = 3
"""Configurations from which on there is something that they do together."""
_CLIPPED = 3.0  # such deviations, beyond which a value counts no more than there
_LEAST_SCALE = 0.3  # of the typical scatter of all configurations: few launches may be alike by chance
_FASTER = 0.75  # weight of a pair's shift to faster: four fifths of all chance alarms of pairs may say slower
_TOGETHER = 3.0  # times as much of the chance of a false alarm has what all pairs' times do together
_EQUAL = 1e-9  # what rounding makes of equal statistics
_SUCCESSIVE = 2 / 3  # degrees of freedom of a successive difference: of independent values, each is in two of them


@dataclass(frozen=True)
class Shifts:
    """Shifts of the logarithms of times, and their p-values.

    Attributes
    ----------
    alone : shape (configurations,)
        p-value of each configuration by itself; 1 where it cannot be tested.
    among_all : shape (configurations,)
        The same among all configurations: the chance of any such false alarm.
    together : float
        p-value of what all have in common, among all tests as well; 1 with fewer than three configurations.
    rows : shape (configurations, 3)
        By how much each moved, and the interval of that by itself, unbounded where launches are too few for one.
    common : (float, float, float)
        The same of what all have in common; nan, and unbounded, where there is none.
    drifts : bool
        Whether the two sides did not take turns, so that drift of the machine was allowed for.
    plain : shape (configurations,)
        Which moved by far more than any launch differs from its side in any configuration, where launches are too few
        for p-values.
    """

    alone: Array
    among_all: Array
    together: float
    rows: Array
    common: tuple[float, float, float]
    drifts: bool
    plain: Flags


_NOTHING = math.nan, -math.inf, math.inf


def fewest_launches(confidence: float) -> int:
    """Return the number of launches per side below which no difference can be significant.

    >>> fewest_launches(0.95), fewest_launches(0.99)
    (5, 6)
    """
    return next(count for count in itertools.count(2) if 4 / math.comb(2 * count, count) <= 1 - confidence + _EQUAL)


def fewest_pairs(confidence: float) -> int:
    """Return the number of pairs of launches below which no difference can be significant.

    >>> fewest_pairs(0.95), fewest_pairs(0.99)
    (6, 8)
    """
    return next(count for count in itertools.count(2) if 2 / 2**count <= 1 - confidence + _EQUAL)


def _scale(values: Array, axis: int = 1) -> Array:
    """Return the robust scatter of each row about 0, bounded below by what is typical of all rows."""
    filled = np.where(np.isnan(values).all(axis=axis, keepdims=True), 0.0, values)
    spreads = TO_DEVIATION * np.nanmedian(np.abs(filled), axis=axis)
    scatters = spreads[spreads > 0]
    return np.maximum(spreads, _LEAST_SCALE * float(np.median(scatters))) if scatters.size else np.ones_like(spreads)


def _weighted_medians(values: Array, weights: Array) -> Array:
    """Return the weighted median of each column, nan for one without a value."""
    order = np.argsort(values, axis=0)  # nan last
    heavy = np.take_along_axis(np.where(np.isnan(values), 0.0, weights[:, None]), order, axis=0).cumsum(axis=0)
    middle = np.argmax(heavy >= heavy[-1] / 2, axis=0)
    return np.asarray(np.take_along_axis(np.take_along_axis(values, order, axis=0), middle[None], axis=0)[0])


def _p_values(statistics: Array) -> Array:
    """Return the p-value of each permutation; the first is the observed one."""
    ordered = np.sort(statistics)
    return np.asarray(1 - np.searchsorted(ordered, statistics - _EQUAL * (1 + np.abs(statistics))) / len(ordered))


def _tested(rows: Array, together: Array, weight: float = 1.0) -> tuple[Array, Array, float]:
    """Return `alone`, `among_all` and `together` of statistics, shape (deals, configurations) and (deals,).

    What is together has `weight` times as much of the chance of a false alarm as all configurations.
    """
    alone = np.mean(rows >= rows[0] - _EQUAL * (1 + rows[0]), axis=0)
    common = _p_values(together)
    among = np.ones(rows.shape[1])
    order = np.argsort(rows[0])  # the least extreme first, so that the maxima of what remains grow
    largest = np.zeros(len(rows))
    for index in order:
        largest = np.maximum(largest, rows[:, index])
        as_large = largest >= rows[0, index] - _EQUAL * (1 + rows[0, index])
        among[index] = float(np.mean(as_large | (common <= weight * float(np.mean(as_large)) + _EQUAL)))
    for before, index in itertools.pairwise(order[::-1]):
        among[index] = max(among[index], among[before])
    all_rows = weight * _p_values(largest)
    return alone, among, float(np.mean(np.minimum(common, all_rows) <= common[0] + _EQUAL))


@lru_cache(maxsize=8)
def _deals(sides: tuple[bool, ...], seed: int) -> Array:
    """Return the launches assigned to the second side, a row per permutation; the first is the observed one."""
    count, after, happened = len(sides), sum(sides), np.array(sides)
    if math.comb(count, after) > MOST_DEALS:
        order = np.random.default_rng(seed).permuted(np.tile(np.arange(count), (MOST_DEALS, 1)), axis=1)
        return np.vstack([happened, order < after]).astype(np.float64)
    chosen = np.array(list(itertools.combinations(range(count), after)))
    dealt = np.zeros((len(chosen), count))
    np.put_along_axis(dealt, chosen, 1.0, axis=1)
    return np.vstack([happened, dealt[(dealt != happened).any(axis=1)]])


def _differences(dealt: Array, values: Array) -> Array:
    """Return the difference of means over its standard error, for each permutation and configuration."""
    is_measured = ~np.isnan(values)
    count = is_measured.sum(axis=1)
    centred = np.where(is_measured, values - np.nanmean(values, axis=1, keepdims=True), 0.0)
    deviation = np.sqrt((centred**2).sum(axis=1) / np.maximum(count - 1, 1))
    after = dealt @ is_measured.T
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = np.abs(dealt @ centred.T) * np.sqrt(count / (after * (count - after))) / deviation
    return np.asarray(np.nan_to_num(statistics, nan=0.0, posinf=0.0))


class _Walk(NamedTuple):
    """The difference of two sides, its standard error under drift, and its degrees of freedom."""

    difference: float
    error: float
    freedom: float


def _walk(values: Array, is_after: Flags) -> _Walk | None:
    """Return how far drift alone may move two sides apart; values in order of time.

    Under a random walk of steps of variance v the difference has the variance v Σ C², C the cumulated weights of the
    launches so far. None where the sides take turns, or nothing says how large the steps are.
    """
    is_measured = ~np.isnan(values)
    measured, after = values[is_measured], is_after[is_measured]
    if not after.any() or after.all():
        return None
    weights = np.where(after, 1 / after.sum(), -1 / (~after).sum())
    spread = float((np.cumsum(weights)[:-1] ** 2).sum())
    if spread <= float((weights**2).sum()):
        return None
    steps = np.concatenate([np.diff(measured[after]), np.diff(measured[~after])])
    if not steps.size:
        return _Walk(float(weights @ measured), math.inf, 1.0)
    error = math.sqrt(spread * float(np.mean(steps**2)))
    return _Walk(float(weights @ measured), error, max(1.0, _SUCCESSIVE * steps.size))


def _drift_p_value(walk: _Walk | None) -> float:
    from scipy.special import stdtr

    if walk is None:
        return 0.0
    if walk.error == 0:
        return 0.0 if walk.difference else 1.0
    return float(2 * stdtr(walk.freedom, -abs(walk.difference) / walk.error))


def _trend_p_value(values: Array, is_after: Flags, walk: _Walk | None) -> float:
    """Return the p-value of a difference beside a steady trend that goes through both sides; 0 without drift."""
    from scipy.special import stdtr

    is_measured = ~np.isnan(values)
    count = int(is_measured.sum())
    if walk is None or count < 5:  # too few to tell a trend: the walk says enough
        return 0.0
    columns = np.stack([np.ones(count), np.flatnonzero(is_measured), is_after[is_measured]], axis=1)
    inverse = np.linalg.pinv(columns.T @ columns)
    fitted = inverse @ columns.T @ values[is_measured]
    residuals = values[is_measured] - columns @ fitted
    error = math.sqrt(float(inverse[2, 2]) * float(residuals @ residuals) / (count - 3))
    return float(2 * stdtr(count - 3, -abs(float(fitted[2])) / error)) if error > _EQUAL else 0.0


def _holm(p_values: Array) -> Array:
    """Return p-values adjusted for multiple comparisons (Holm 1979)."""
    order = np.argsort(p_values)
    raised = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    adjusted = np.empty_like(raised)
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted


def _interval(values: Array, is_after: Flags, walk: _Walk | None, confidence: float) -> tuple[float, float, float]:
    """Return the difference of two sides with Welch's interval, or that under drift where it is wider.

    A side of one launch is taken to scatter as the other.
    """
    from scipy.special import stdtrit

    sides = [values[mask & ~np.isnan(values)] for mask in (~is_after, is_after)]
    if min(map(len, sides)) == 0:
        return _NOTHING
    difference = float(sides[1].mean() - sides[0].mean())
    variances = [float(side.var(ddof=1)) for side in sides if len(side) > 1]
    if not variances:
        return difference, -math.inf, math.inf
    parts = [(float(side.var(ddof=1)) if len(side) > 1 else variances[0]) / len(side) for side in sides]
    weight = sum(part**2 / (len(side) - 1) for part, side in zip(parts, sides, strict=True) if len(side) > 1)
    freedom = sum(parts) ** 2 / weight if weight else 1.0
    error = math.sqrt(sum(parts))
    if walk is not None and walk.error > error:
        error, freedom = walk.error, walk.freedom
    half = -float(stdtrit(min(freedom, 1e6), (1 - confidence) / 2)) * error
    return difference, difference - half, difference + half


def unpaired(logs: Array, is_after: Flags, *, in_time: bool = False, confidence: float = 0.95, seed: int = 1) -> Shifts:
    """Test whether launches of two sides differ.

    Parameters
    ----------
    logs : shape (configurations, launches)
        Logarithms of times; nan where a launch has not measured a configuration.
    is_after : shape (launches,)
        Of which side a launch is.
    in_time : bool
        Whether the launches are in the order in which they ran.
    confidence : float
        Of the interval of the common shift.
    seed : int
        Of the ways to deal launches, where there are too many to try all.

    Examples
    --------
    >>> logs = np.log([[1.0, 1.01, 1.02, 1.01, 1.0, 1.3, 1.31, 1.32, 1.3, 1.33]])
    >>> found = unpaired(logs, np.arange(10) >= 5)
    >>> round(float(found.among_all[0]), 3)
    0.008
    """
    rows, count = logs.shape
    centred = logs - np.nanmedian(logs, axis=1, keepdims=True)
    scale = _scale(centred)
    have_common = rows >= FEWEST_TOGETHER
    together = _weighted_medians(centred, 1 / scale) if have_common else np.zeros(count)
    stacked = np.vstack([centred / scale[:, None], _standardised(together)])
    dealt = _deals(tuple(is_after.tolist()), seed)
    statistics = _differences(dealt, np.clip(stacked, -_CLIPPED, _CLIPPED))
    alone, among, all_of_them = _tested(statistics[:, :-1], statistics[:, -1])
    walks = [_walk(row, is_after) if in_time else None for row in (*logs, together)]
    drift = np.array([
        max(_drift_p_value(walk), _trend_p_value(row, is_after, walk))
        for row, walk in zip((*logs, together), walks, strict=True)
    ])  # fmt: skip
    by_drift = _holm(drift)
    intervals = [_interval(row, is_after, walk, confidence) for row, walk in zip((*logs, together), walks, strict=True)]
    return Shifts(
        np.maximum(alone, drift[:-1]),
        np.maximum(among, by_drift[:-1]),
        max(all_of_them, float(by_drift[-1])) if have_common else 1.0,
        np.array(intervals[:-1]),
        intervals[-1] if have_common else _NOTHING,
        any(walk is not None for walk in walks),
        _plain(logs, is_after, confidence),
    )


def _plain(logs: Array, is_after: Flags, confidence: float) -> Flags:
    """Return which configurations moved by more than three times the largest scatter of any launch.

    What three or more have in common is taken off: load that came between two sides moves all of them.
    """
    sides = logs[:, ~is_after], logs[:, is_after]
    enough = np.min([(~np.isnan(side)).sum(axis=1) for side in sides], axis=0) >= FEWEST_PLAIN
    has_drift = np.zeros(len(logs), dtype=np.bool_)
    if not enough.any() or min(side.shape[1] for side in sides) >= fewest_launches(confidence):
        return has_drift
    centres = [np.nanmedian(side[enough], axis=1) for side in sides]
    farthest = max(
        float(np.nanmax(np.abs(side[enough] - centre[:, None]))) for side, centre in zip(sides, centres, strict=True)
    )
    moved = centres[1] - centres[0]
    if len(moved) >= FEWEST_TOGETHER:
        moved = moved - np.median(moved)
    has_drift[enough] = np.abs(moved) > PLAIN * farthest
    return has_drift


def _standardised(values: Array) -> Array:
    centred = values[None] - np.nanmedian(values)
    return np.asarray(centred / _scale(centred))


def _flips(pairs: int, random: np.random.Generator) -> Array:
    """Return signs, a row per exchange of pairs; the first exchanges none."""
    if 2**pairs <= MOST_DEALS:
        return np.array(list(itertools.product((1.0, -1.0), repeat=pairs)))
    return np.vstack([np.ones(pairs), random.choice([-1.0, 1.0], (MOST_DEALS, pairs))])


def _flipped(signs: Array, ratios: Array) -> Array:
    """Return the sum of clipped ratios for each exchange and configuration.

    Slower counts more than faster: that is what pairs are measured for.
    """
    clipped = np.nan_to_num(np.clip(ratios / _scale(ratios)[:, None], -_CLIPPED, _CLIPPED), nan=0.0)
    size = np.sqrt((clipped**2).sum(axis=1))
    shifts = signs @ clipped.T / np.where(size > 0, size, 1.0)
    return np.asarray(np.where(shifts > 0, shifts, -_FASTER * shifts))


def walsh_interval(values: Array, confidence: float) -> tuple[float, float, float]:
    """Return the Hodges-Lehmann estimate of the centre with its interval (Wilcoxon's signed ranks).

    Unbounded with too few values for the confidence.

    >>> walsh_interval(np.array([1.0, 2.0, 3.0]), 0.95)
    (2.0, -inf, inf)
    """
    from scipy.special import ndtri

    measured = values[~np.isnan(values)]
    count = len(measured)
    if not count:
        return math.nan, -math.inf, math.inf
    first, second = np.triu_indices(count)
    means = np.sort((measured[first] + measured[second]) / 2)
    spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    left_out = math.floor(count * (count + 1) / 4 + float(ndtri((1 - confidence) / 2)) * spread)
    centre = float(np.median(means))
    if 2 / 2**count > 1 - confidence or left_out < 0:
        return centre, -math.inf, math.inf
    left_out = min(left_out, (len(means) - 1) // 2)
    return centre, float(means[left_out]), float(means[-1 - left_out])


def paired(ratios: Array, *, confidence: float = 0.95, seed: int = 1) -> Shifts:
    """Test whether the sides of pairs of launches differ; common effects of a pair cancel.

    Parameters
    ----------
    ratios : shape (configurations, pairs)
        Logarithms of after over before; nan where one of them is missing.
    confidence, seed
        As of `unpaired`.

    Notes
    -----
    Where each pair's order was drawn at random, this holds whatever the load does: then nothing but that draw decides
    about the signs (Fisher's randomisation test). Of the chance of a false alarm, four fifths are for slower.

    Examples
    --------
    >>> found = paired(np.log([[1.05, 1.04, 1.07, 1.05, 1.03, 1.06, 1.05, 1.04]] * 3))
    >>> round(found.together, 3), round(found.common[0], 3)
    (0.004, 0.049)
    """
    rows, count = ratios.shape
    signs = _flips(count, np.random.default_rng(seed))
    statistics = _flipped(signs, ratios)
    have_common = rows >= FEWEST_TOGETHER
    together = _weighted_medians(ratios, 1 / _scale(ratios)) if have_common else np.zeros(count)
    alone, among, all_of_them = _tested(statistics, _flipped(signs, together[None])[:, 0], _TOGETHER)
    intervals = np.array([walsh_interval(row, confidence) for row in ratios])
    common = walsh_interval(together, confidence) if have_common else _NOTHING
    no_rows = np.zeros(rows, dtype=np.bool_)
    return Shifts(alone, among, all_of_them if have_common else 1.0, intervals, common, drifts=False, plain=no_rows)
