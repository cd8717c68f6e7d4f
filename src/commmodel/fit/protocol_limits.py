"""Message sizes at which the protocol changes. Main entry: `find_parts`.

The probe knows: a blocking send either waits or does not. On both sides of its limit the times are searched for
changes, and everywhere where it was not run: a segmentation into lines T = α + n β, by dynamic programming over the
logarithms of the times. Their noise is Student's, so that a disturbed size does not make a limit, nor hide one, and is
the wider for sizes whose own samples scatter; there are as many segments as the Bayesian information criterion allows.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.fit.points import Points
from commmodel.fit.robust import log_slope
from commmodel.machine import Limit
from commmodel.results import Measurements
from commmodel.results.configurations import Threshold

__all__ = ["Part", "change_points", "find_parts", "protocol_names"]

Array = NDArray[np.float64]

_MOST_SIZES = 64
_MOST_SEGMENTS = 3
_LEAST_SIZES = 3  # fewer would not tell a line from chance
_LEAST_LAST = 4  # of the last, as no further size says what it was; fewer would not make a model to trust
_FREE = 3  # of a segment: two of its line, its limit
_CLEAR_DIFFERENCE = 3.5  # of the criterion: 1 of 100 data sets of one law and 10 % noise then has a limit
_VERY_CLEAR_DIFFERENCE = 20.0  # for limits that only noise below `_GOOD_ENOUGH` shows
_SCALES = (0.02, 0.03, 0.05, 0.08, 0.1, 0.12, 0.15, 0.18, 0.25, 0.35, 0.5)
"""Of the noise, relative."""
_GOOD_ENOUGH = 0.073  # scale of one record a size, below which a limit is seldom worth it
_SEVERAL = 3  # records of a size, from which on their median is worth more
_POOR = 0.18  # from which scale on any better description is welcome, however little evidence there is for its limit
_FREEDOM = 6.0  # of Student's distribution
_ROUNDS = 8
_BUFFERS = 2  # of one message: the sender's and the receiver's
_CACHE_BONUS = 4.0  # of the criterion, for a limit at which two buffers just fill a known cache


Part = tuple[str, Limit | None]
"""A segment's protocol and where it ends."""


def protocol_names(segments: int) -> tuple[str, ...]:
    """Return the names of so many protocols, by ascending size.

    >>> protocol_names(2), protocol_names(4)
    (('eager', 'rendezvous'), ('segment-1', 'segment-2', 'segment-3', 'segment-4'))
    """
    names = {1: ("all",), 2: ("eager", "rendezvous"), 3: ("short", "eager", "rendezvous")}
    return names.get(segments) or tuple(f"segment-{number}" for number in range(1, segments + 1))


def find_parts(measurements: Measurements, path: str, points: Points, limits: Sequence[int] | None) -> list[Part]:
    """Return the protocols of a path, ascending: between given limits, else the probed and the fitted ones.

    On both sides of a probed limit the times may show more of them, made by caches and by protocols that no
    blocking send tells apart. Where the probe was run it names the protocols, whatever the limits.
    """
    probed = _probed_limit(measurements, path)
    caches = _cache_limits(measurements)
    ends: list[Limit | None]
    if limits is not None:
        ends = [*(Limit(value, "user") for value in sorted(set(limits))), None]
    elif probed is None or probed.above is None:  # or nothing that was tried waits
        ends = [*_limits_in(points, caches), None]
    else:
        eager = points.message_size <= probed.value
        small, large = _limits_in(points.where(eager), caches), _limits_in(points.where(~eager), caches)
        ends = [*small, probed, *large, None]
    if probed is None:
        return list(zip(protocol_names(len(ends)), ends, strict=True))
    begins = [0, *(end.value for end in ends if end is not None)]
    return [(_protocol(begin, end, probed), end) for begin, end in zip(begins, ends, strict=True)]


def _protocol(begin: int, end: Limit | None, probed: Limit) -> str:
    """Return the protocol of messages of more than `begin` bytes, up to a limit."""
    if probed.above is None or (end is not None and end.value <= probed.value):
        return "eager"
    return "rendezvous" if begin >= probed.value else "eager/rendezvous"


def _cache_limits(measurements: Measurements) -> tuple[int, ...]:
    """Return the message sizes of which two buffers just fill a data cache of some host."""
    caches = (size for launch in measurements.launches for host in launch.header.hosts for size in host.caches.values())
    return tuple(sorted({size // _BUFFERS for size in caches}))


def _probed_limit(measurements: Measurements, path: str) -> Limit | None:
    """Return the eager limit of the kernel threshold: the median over launches."""
    probed = [
        record
        for record in measurements.records
        if isinstance(record.configuration, Threshold) and record.configuration.path == path
    ]
    if not probed:
        return None
    probed.sort(key=lambda record: record.samples[0])
    middle = probed[len(probed) // 2]
    above = middle.bracket[1] if middle.bracket else None
    return Limit(int(middle.samples[0]), "threshold", None if above is None else int(above))


def _limits_in(points: Points, caches: Sequence[int]) -> list[Limit]:
    return [
        Limit(value, "cache" if any(value <= cache < above for cache in caches) else "change-point", above)
        for value, above in change_points(points, caches)
    ]


def _line_costs(size: Array, seconds: Array, error: Array, part: NDArray[np.bool_], scale: Array) -> Array:
    """Return −2 log likelihood of the best line T = α + n β, α, β ≥ 0, through each range of points.

    Parameters
    ----------
    size, seconds, error : shape (m,)
        Bytes, times, and the relative error of each time that its own samples show.
    part : shape (g, m)
        Which points each line is through.
    scale : shape (g,)
        Relative noise beside `error`.
    """
    variance = scale[:, None] ** 2 + error**2
    weights = part / (seconds**2 * variance)
    log_seconds = np.log(seconds)
    residual = np.zeros(part.shape)
    for _ in range(_ROUNDS):
        w, wx, wxx = weights.sum(axis=1), weights @ size, weights @ size**2
        wy, wxy = weights @ seconds, weights @ (size * seconds)
        with np.errstate(divide="ignore", invalid="ignore"):
            determinant = w * wxx - wx**2
            alpha, beta = (wxx * wy - wx * wxy) / determinant, (w * wxy - wx * wy) / determinant
            no_alpha = ~((determinant > 1e-12 * w * wxx) & (alpha >= 0))
            alpha, beta = np.where(no_alpha, 0.0, alpha), np.where(no_alpha, wxy / wxx, beta)
            no_beta = ~(beta > 0)
            alpha, beta = np.where(no_beta, wy / w, alpha), np.where(no_beta, 0.0, beta)
        line = np.maximum(alpha[:, None] + beta[:, None] * size, np.finfo(float).tiny)
        residual = log_seconds - np.log(line)
        student = (_FREEDOM + 1) / (_FREEDOM + residual**2 / variance)
        weights = part * student * log_slope(line, seconds) / (line * variance)
    cost = (_FREEDOM + 1) * np.log1p(residual**2 / (_FREEDOM * variance)) + np.log(variance)
    return np.asarray((part * cost).sum(axis=1))


class _Segmentation(NamedTuple):
    criterion: float
    scale: float
    begins: list[int]
    """Where each segment but the first begins."""


def _segmentations(costs: Array, scale: float, bonus: Array) -> list[_Segmentation]:
    """Return the best segmentation into 1, 2, ... segments by dynamic programming.

    `costs` has shape (m + 1, m + 1): of the points i ... j − 1 in one line; `bonus` (m + 1,) is that of a limit before
    each point.
    """
    count = len(costs) - 1
    reach, back, segmentations = costs[0], [], []
    for segments in range(1, _MOST_SEGMENTS + 1):
        if segments > 1:
            total = (reach - bonus)[:, None] + costs
            back.append(total.argmin(axis=0))
            reach = total.min(axis=0)
        begins, end = [], count
        for step in reversed(back):
            end = int(step[end])
            begins.append(end)
        penalty = (_FREE * segments - 1) * math.log(count)
        segmentations.append(_Segmentation(float(reach[count]) + penalty, scale, begins[::-1]))
    return segmentations


def _chosen(tried: Sequence[list[_Segmentation]], clear: float) -> _Segmentation:
    """Return the segmentation with the most segments that still lower the criterion clearly."""
    best: list[_Segmentation] = [
        min(of_as_many, key=lambda segmentation: segmentation.criterion) for of_as_many in zip(*tried, strict=True)
    ]
    chosen = best[0]
    for more in best[1:]:
        if more.criterion < chosen.criterion - (clear if chosen.scale < _POOR else 0.0):
            chosen = more
    return chosen


def change_points(points: Points, caches: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Return each change point as (largest size below, smallest size above).

    The times of the fewest pairs measured are used: they are the least disturbed. The criterion of a segmentation into
    S lines of m points is −2 log likelihood + (3 S − 1) log m; more segments must lower it clearly. `caches` are sizes
    of messages from which on a cache does not hold them: limits there need less evidence.
    """
    if not len(points):
        return []
    alone = points.where(points.pairs == points.pairs.min())
    size, inverse, counts = np.unique(alone.message_size, return_inverse=True, return_counts=True)
    seconds = np.array([np.median(alone.seconds[inverse == index]) for index in range(size.size)])
    error = np.array([np.median(alone.error[inverse == index]) for index in range(size.size)]) / np.sqrt(counts)
    if size.size > _MOST_SIZES:  # the effort grows with the cube: neighbours are joined
        groups = np.array_split(np.arange(size.size), _MOST_SIZES)
        size = np.array([size[group[group.size // 2]] for group in groups])
        seconds = np.array([np.median(seconds[group]) for group in groups])
        error = np.array([np.median(error[group]) / math.sqrt(group.size) for group in groups])
    count = size.size
    if count < 2 * _LEAST_SIZES:
        return []
    lengths = np.arange(count + 1) - np.arange(count + 1)[:, None]
    lengths[:, count] -= _LEAST_LAST - _LEAST_SIZES
    begins, ends = np.nonzero(lengths >= _LEAST_SIZES)
    part = (np.arange(count) >= begins[:, None]) & (np.arange(count) < ends[:, None])
    bonus = np.zeros(count + 1)
    for cache in caches:
        bonus[1:count] += _CACHE_BONUS * ((size[:-1] <= cache) & (size[1:] > cache))
    records = float(np.median(counts))
    least = max(_GOOD_ENOUGH / (math.sqrt(records) if records >= _SEVERAL else 1.0), _SCALES[0])
    tried = []
    for scale in _SCALES:
        costs = np.full((count + 1, count + 1), np.inf)
        scaled = size / (size.max() or 1)
        costs[begins, ends] = _line_costs(scaled, seconds, error, part, np.full(begins.size, scale))
        tried.append(_segmentations(costs, scale, bonus))
    chosen = _chosen([candidate for candidate in tried if candidate[0].scale >= least] or tried[-1:], _CLEAR_DIFFERENCE)
    finer = _chosen(tried, _VERY_CLEAR_DIFFERENCE)
    result = finer if len(finer.begins) > len(chosen.begins) else chosen
    return [(int(size[begin - 1]), int(size[begin])) for begin in result.begins]
