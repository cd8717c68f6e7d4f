"""Where one protocol ends and the next begins. Main entry: `find_parts`.

The probe knows: a blocking send either waits or does not. Where it was not run, the times are searched for
changes: a segmentation into lines T = α + n β, by dynamic programming over relative residuals, with as many
segments as the Bayesian information criterion allows.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from commmodel.fit.points import Points
from commmodel.machine import Limit
from commmodel.results import Measurements, Threshold

__all__ = ["Part", "change_points", "find_parts", "protocol_names"]

Array = NDArray[np.float64]

_MOST_SEGMENTS = 3
_LEAST_SIZES = 4  # fewer would not make a model that can be trusted
_GOOD_ENOUGH = 0.03  # relative root mean square: the simplest model that comes so near is the one to use
_CLEAR_DIFFERENCE = 6.0  # of the criterion: "strong" in the scale of Kass and Raftery (1995)


Part = tuple[str, Limit | None]
"""A segment's protocol and where it ends."""


def protocol_names(segments: int) -> tuple[str, ...]:
    """Return the names of so many protocol segments, by ascending size.

    >>> protocol_names(2), protocol_names(4)
    (('eager', 'rendezvous'), ('segment-1', 'segment-2', 'segment-3', 'segment-4'))
    """
    names = {1: ("all",), 2: ("eager", "rendezvous"), 3: ("short", "eager", "rendezvous")}
    return names.get(segments) or tuple(f"segment-{number}" for number in range(1, segments + 1))


def find_parts(measurements: Measurements, path: str, points: Points, given: Sequence[int] | None) -> list[Part]:
    """Return the segments of a path, ascending: with the limits given, else the probe's and those of the times.

    On both sides of a probed limit the times may show more of them, made by caches and by protocols that no
    blocking send tells apart.
    """
    if given is not None:
        ends = [*(Limit(value, "user") for value in sorted(set(given))), None]
        return list(zip(protocol_names(len(ends)), ends, strict=True))
    probed = _probed_limit(measurements, path)
    if probed is None:
        ends = [*_limits_in(points), None]
        return list(zip(protocol_names(len(ends)), ends, strict=True))
    if probed.above is None and probed.found_by == "threshold":  # nothing that was tried waits
        return [*(("eager", limit) for limit in _limits_in(points)), ("eager", None)]
    eager, rendezvous = points.message_size <= probed.value, points.message_size > probed.value
    parts: list[Part] = [("eager", limit) for limit in _limits_in(points.where(eager))]
    parts.append(("eager", probed))
    parts += [("rendezvous", limit) for limit in _limits_in(points.where(rendezvous))]
    return [*parts, ("rendezvous", None)]


def _probed_limit(measurements: Measurements, path: str) -> Limit | None:
    """Return the eager limit that the probe found: the middle one of several launches."""
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


def _limits_in(points: Points) -> list[Limit]:
    return [Limit(value, "change-point", above) for value, above in change_points(points)]


def _segment_costs(size: Array, seconds: Array) -> Array:
    """Return the sum of squared relative residuals of one line through points i … j, shape (m, m).

    From running sums, so that every cost takes constant time.
    """
    weights = 1 / seconds**2
    scale = size.max() or 1.0
    x = size / scale
    sums = [
        np.concatenate([[0.0], np.cumsum(column)])
        for column in (weights, weights * x, weights * x * x, weights * seconds, weights * x * seconds)
    ]
    w, wx, wxx, wy, wxy = (column[None, 1:] - column[:-1, None] for column in sums)
    wyy = np.arange(1, size.size + 1)[None, :] - np.arange(size.size)[:, None]  # each point's own: w y² = 1
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = w * wxx - wx**2
        alpha = (wxx * wy - wx * wxy) / determinant
        beta = (w * wxy - wx * wy) / determinant
        line = wyy - alpha * wy - beta * wxy
        without_alpha = wyy - wxy**2 / wxx
        without_beta = wyy - wy**2 / w
    lines_fit = np.isfinite(alpha) & (alpha >= 0) & (beta >= 0)
    costs = np.where(lines_fit, line, np.fmin(without_alpha, without_beta))
    lengths = wyy
    costs = np.where(lengths >= _LEAST_SIZES, np.maximum(costs, 0.0), np.inf)
    return np.asarray(costs, dtype=np.float64)


def change_points(points: Points) -> list[tuple[int, int]]:
    """Return each limit found in the times as (largest size below, smallest size above).

    The times of the fewest pairs measured are used: they are the least disturbed. The cost of a segmentation into
    S lines of m points is m log(Σ relative residual² / m) + (3 S − 1) log m; more segments must lower it clearly.
    """
    if not len(points):
        return []
    alone = points.where(points.pairs == points.pairs.min())
    size, inverse = np.unique(alone.message_size, return_inverse=True)
    seconds = np.array([np.median(alone.seconds[inverse == index]) for index in range(size.size)])
    count = size.size
    if count < 2 * _LEAST_SIZES:
        return []
    costs = _segment_costs(size.astype(np.float64), seconds)
    best_ends: list[list[int]] = [[]]
    reach = [costs[0]]  # cost of the first j + 1 points in one line
    back: list[NDArray[np.intp]] = []
    criteria = []
    for segments in range(1, _MOST_SEGMENTS + 1):
        if segments > 1:
            # Last segment begins at i: the points before it in one segment less.
            total = np.concatenate([[np.inf], reach[-1][:-1]])[:, None] + costs
            back.append(total.argmin(axis=0))
            reach.append(total.min(axis=0))
            ends, j = [], count - 1
            for step in reversed(back):
                begin = int(step[j])
                ends.append(begin)
                j = begin - 1
            best_ends.append(sorted(ends))
        variance = max(float(reach[-1][-1]) / count, _GOOD_ENOUGH**2)
        criteria.append(count * math.log(variance) + (3 * segments - 1) * math.log(count))
    chosen = 0
    for segments in range(1, len(criteria)):
        if criteria[segments] < criteria[chosen] - _CLEAR_DIFFERENCE:
            chosen = segments
    return [(int(size[begin - 1]), int(size[begin])) for begin in best_ends[chosen]]
