"""Change points of time over message size, by piecewise linear segmentation of raw values. Main entry: `find_limits`.

Lines need not meet. Their number is not given: each limit must lower the Bayesian information criterion, in which every
piece has its own line and its own relative noise, by more than 10 ("very strong" evidence in the scale of Kass and
Raftery 1995). The best pieces of all are found by dynamic programming over the medians of the sizes, after lone
outliers were drawn to their neighbours. How often resampled sizes show a limit again is its confidence. What it is for:
Bédaride 2013, Section IV-A. Main entries: `find_limits`, `robust_lines`.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commmodel.arrays import Array
from commmodel.statistics import TO_DEVIATION

NEAR = 0.1
"""Relative difference up to which two limits are the same."""
_MOST_POINTS = 600  # more sizes are joined by neighbours: the effort grows with the square
_LEAST_SIZES = 8  # of a piece
_FREE = 4  # of a piece: two of its line, its noise, its limit
_EVIDENCE = 10.0  # by which the criterion must fall for a limit
_NOISE_FLOOR = 0.01  # relative; a piece whose points lie nearer to their line is no better
_NEIGHBOURS = 2  # on each side, to which an outlier is compared
_AROUND = 7  # on each side, whose noise says what an outlier is
_OUTLIER = 4.0  # median absolute deviations, scaled to standard deviations
_SMALLEST = 1e-60  # of the largest time; nobody measures times that are further apart
_HUBER = 1.345
_ROUNDS = 12


class FoundLimit(NamedTuple):
    """A change point between two measured sizes."""

    below: int
    """Largest size of the piece that ends."""
    above: int
    """Smallest size of the next one."""
    low: int
    """Ends of the interval in which resampled data have it."""
    high: int
    confidence: float
    """Share of resampled data that have a limit within 10 % of it."""


def medians(sizes: ArrayLike, seconds: ArrayLike) -> tuple[NDArray[np.int64], Array]:
    """Return the distinct sizes, ascending, with their median times: at most 600, without times of 0.

    >>> medians([8, 1, 8, 8], [2.0, 1.0, 3.0, 9.0])
    (array([1, 8]), array([1., 3.]))
    """
    size, time = np.asarray(sizes, dtype=np.int64), np.asarray(seconds, dtype=np.float64)
    size, time = size[time > 0], time[time > 0]
    order = np.lexsort((time, size))
    size, time = size[order], time[order]
    begins = np.flatnonzero(np.r_[True, size[1:] != size[:-1]]) if size.size else np.empty(0, np.intp)
    distinct = size[begins]
    middle = np.array([np.median(part) for part in np.split(time, begins[1:])]) if size.size else np.empty(0)
    if distinct.size > _MOST_POINTS:
        groups = np.array_split(np.arange(distinct.size), _MOST_POINTS)
        distinct = np.array([distinct[group[group.size // 2]] for group in groups])
        middle = np.array([np.median(middle[group]) for group in groups])
    return distinct, middle


def _without_outliers(seconds: Array) -> Array:
    """Return times with outliers drawn to their neighbours, steps kept (Hampel's filter)."""

    def moving_median(values: Array, reach: int) -> Array:
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(values, reach, mode="reflect"), 2 * reach + 1)
        return np.median(windows, axis=1)

    logs = np.log(seconds)
    middle = moving_median(logs, _NEIGHBOURS)
    deviation = TO_DEVIATION * moving_median(np.abs(logs - middle), _AROUND)
    margin = _OUTLIER * np.maximum(deviation, _NOISE_FLOOR)
    return np.asarray(np.exp(np.clip(logs, middle - margin, middle + margin)))


def _costs(sizes: Array, seconds: Array, counts: Array) -> Array:
    """Return −2 log likelihood of a line α, β ≥ 0 with relative noise through points i … j, shape (m, m).

    From running sums, so that every cost takes constant time; infinite for pieces of too few sizes.
    """
    x = sizes / max(sizes[-1], 1.0)
    seconds = seconds / max(float(seconds.max()), 1e-300)  # squares of times have room for what times have
    weights = counts / np.maximum(seconds, _SMALLEST) ** 2
    columns = (weights, weights * x, weights * x * x, weights * seconds, weights * x * seconds, counts)
    sums = [np.concatenate([[0.0], np.cumsum(column)]) for column in columns]
    w, wx, wxx, wy, wxy, count = (column[None, 1:] - column[:-1, None] for column in sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = w * wxx - wx**2
        alpha = (wxx * wy - wx * wxy) / determinant
        beta = (w * wxy - wx * wy) / determinant
        squares = count - alpha * wy - beta * wxy  # each point's own w y² is its count
        constant = count - wy**2 / w
        at_bound = np.minimum(constant, np.nan_to_num(count - wxy**2 / wxx, nan=np.inf))
        squares = np.where(np.isfinite(squares), np.where((alpha < 0) | (beta < 0), at_bound, squares), constant)
        noise = np.maximum(squares, 0.0) / np.maximum(count - 2, 1)  # the line took two of the points
        cost = count * np.log(noise + _NOISE_FLOOR**2)
    distance = np.arange(sizes.size)[None, :] - np.arange(sizes.size)[:, None]
    return np.where(distance + 1 >= _LEAST_SIZES, cost, np.inf)


def _best_begins(sizes: Array, seconds: Array, counts: Array) -> list[int]:
    """Return the first point of each piece after the first, in the segmentation of the lowest criterion."""
    count = sizes.size
    if count < 2 * _LEAST_SIZES:
        return []
    penalty = _FREE * math.log(float(counts.sum())) + _EVIDENCE
    costs = _costs(sizes, seconds, counts) + penalty
    best, begin = np.zeros(count + 1), np.zeros(count + 1, dtype=np.intp)
    for end in range(1, count + 1):
        totals = best[:end] + costs[:end, end - 1]
        begin[end] = totals.argmin()
        best[end] = totals[begin[end]]
    begins = []
    place = int(begin[count])
    while place > 0:
        begins.append(place)
        place = int(begin[place])
    return begins[::-1]


def _middles(sizes: NDArray[np.int64], begins: Sequence[int]) -> Array:
    """Return each limit as the geometric mean of the sizes beside it."""
    below, above = sizes[np.asarray(begins, np.intp) - 1], sizes[np.asarray(begins, np.intp)]
    return np.sqrt(np.maximum(below, 0.5) * above)


def find_limits(
    sizes: ArrayLike, seconds: ArrayLike, *, samples: int = 100, seed: int = 1, confidence: float = 0.95
) -> list[FoundLimit]:
    """Return the change points of times over sizes, ascending.

    Parameters
    ----------
    sizes, seconds : array_like, shape (m,)
        Raw values: bytes and times; a size may be there any number of times.
    samples : int
        Resampled sets of sizes behind confidence and intervals.
    seed : int
    confidence : float
        Of the intervals.

    Notes
    -----
    Of m distinct sizes the time grows with (samples + 1) m². A confidence below one half means that the limit is as
    likely made by a few sizes.

    Examples
    --------
    >>> sizes = np.arange(1, 400, 4)
    >>> times = np.where(sizes <= 200, 1e-6 + 1e-9 * sizes, 2e-6 + 1e-9 * sizes)
    >>> [(one.below, one.above) for one in find_limits(sizes, times)]
    [(197, 201)]
    """
    distinct, middle = medians(sizes, seconds)
    if distinct.size < 2 * _LEAST_SIZES:
        return []
    cleaned = _without_outliers(middle)
    begins = _best_begins(distinct.astype(np.float64), cleaned, np.ones(distinct.size))
    if not begins:
        return []
    random = np.random.default_rng(seed)
    resampled = []
    for _ in range(samples):
        counts = np.bincount(random.integers(0, distinct.size, distinct.size), minlength=distinct.size)
        is_drawn = counts > 0
        starts = _best_begins(
            distinct[is_drawn].astype(np.float64), cleaned[is_drawn], counts[is_drawn].astype(np.float64)
        )
        resampled.append(_middles(distinct[is_drawn], starts))
    limits = []
    for begin, place in zip(begins, _middles(distinct, begins), strict=True):
        near = [places[np.abs(np.log(places / place)) <= NEAR] for places in resampled]
        nearest = [float(places[np.abs(np.log(places / place)).argmin()]) for places in near if places.size]
        below, above = int(distinct[begin - 1]), int(distinct[begin])
        ends = np.quantile(nearest, (0.5 - confidence / 2, 0.5 + confidence / 2)) if nearest else (below, above)
        low, high = min(below, math.floor(ends[0])), max(above, math.ceil(ends[1]))
        limits.append(FoundLimit(below, above, low, high, len(nearest) / samples if samples else 0.0))
    return limits


def split_in_two(values: Array) -> tuple[int, float, float]:
    """Return the index of the largest step of values, and the median on each side of it.

    Least absolute deviations from two medians; at least two values on each side.

    >>> split_in_two(np.array([1.0, 1.0, 9.0, 1.0, 1.0, 5.0, 5.0, 5.0]))
    (5, 1.0, 5.0)
    """

    def deviation(part: Array) -> float:
        return float(np.abs(part - np.median(part)).sum())

    places = range(2, values.size - 1)
    if not places:
        return values.size, float(np.median(values)), float(np.median(values))
    best = min(places, key=lambda place: deviation(values[:place]) + deviation(values[place:]))
    return best, float(np.median(values[:best])), float(np.median(values[best:]))


def weighted_lines(x: Array, y: Array, weights: Array) -> tuple[Array, Array]:
    """Return α, β ≥ 0 by weighted least squares, for each row of y and weights."""
    w, wx, wxx = weights.sum(-1), (weights * x).sum(-1), (weights * x * x).sum(-1)
    wy, wxy, wyy = (weights * y).sum(-1), (weights * x * y).sum(-1), (weights * y * y).sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = w * wxx - wx**2
        alpha, beta = (wxx * wy - wx * wxy) / determinant, (w * wxy - wx * wy) / determinant
        through_origin, constant = np.maximum(wxy / wxx, 0), np.maximum(wy / w, 0)
        origin_is_better = (wyy - wxy**2 / wxx) < (wyy - wy**2 / w)
    inside = np.isfinite(alpha) & (alpha >= 0) & (beta >= 0)
    origin_is_better &= np.isfinite(through_origin)
    return (
        np.where(inside, alpha, np.where(origin_is_better, 0.0, constant)),
        np.where(inside, beta, np.where(origin_is_better, through_origin, 0.0)),
    )


def robust_lines(sizes: ArrayLike, seconds: ArrayLike, counts: ArrayLike, scale: ArrayLike) -> tuple[Array, Array]:
    """Return α, β ≥ 0 of T = α + n β by Huber's estimator on relative residuals, for several sets of weights.

    Parameters
    ----------
    sizes, seconds : array_like, shape (points,)
    counts : array_like, shape (sets, points)
        How often each point is in each set.
    scale : array_like, shape (points,)
        The time that residuals are relative to.

    >>> times = [2.0, 3.0, 4.0, 50.0]
    >>> alpha, beta = robust_lines([1, 2, 3, 4], times, np.ones((1, 4)), times)
    >>> alpha.round(2), beta.round(2)
    (array([1.]), array([1.]))
    """
    x, y, relative = (np.asarray(values, dtype=np.float64) for values in (sizes, seconds, scale))
    largest = max(float(x.max(initial=0.0)), 1.0)
    x = x / largest
    base = np.asarray(counts, dtype=np.float64) / relative**2
    weights = base
    alpha, beta = weighted_lines(x, y, weights)
    is_positive = np.where(base > 0, 1.0, np.nan)
    for _ in range(_ROUNDS):
        residuals = np.abs(y - alpha[:, None] - beta[:, None] * x) / relative
        deviation = TO_DEVIATION * np.nanmedian(residuals * is_positive, axis=-1, keepdims=True)
        bound = _HUBER * np.maximum(deviation, 1e-3 * _NOISE_FLOOR)
        weights = base * np.minimum(1.0, bound / np.maximum(residuals, bound * 1e-3))
        alpha, beta = weighted_lines(x, y, weights)
    return alpha, beta / largest
