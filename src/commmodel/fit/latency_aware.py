"""Weighted least squares for the latency-aware max-rate model, Eq 5 of Gropp 2016: T = max(k n c, α + n b).

Once it is known which points the node limits (the first term), both terms are linear and independent. So points are
assigned and both terms solved in turn until nothing changes; from several first assignments, as each run ends in a
local minimum. Main entry: `fit_latency_aware`.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.arrays import Array
from commmodel.fit.least_squares import fit_max_rate, merge_cells

_MOST_ROUNDS = 50


class LatencyAwareFit(NamedTuple):
    """Parameters of T = max(k n c, α + n b), each of shape (data sets,); c = 0: the node does not limit."""

    alpha: Array
    b: Array
    c: Array

    def predict(self, message_size: Array, pairs: Array) -> Array:
        """Return the model's times, shape (data sets, points)."""
        alone = self.alpha[:, None] + message_size * self.b[:, None]
        return np.maximum(pairs * message_size * self.c[:, None], alone)

    def is_limited(self, message_size: Array, pairs: Array) -> NDArray[np.bool_]:
        """Whether the node limits, shape (data sets, points)."""
        alone = self.alpha[:, None] + message_size * self.b[:, None]
        return pairs * message_size * self.c[:, None] > alone


def _line(size: Array, weights: Array, times: Array) -> tuple[Array, Array]:
    """Return α ≥ 0 and b > 0 of weighted lines; weights have the shape of times, one line a data set."""
    scale = size.max() or 1.0
    x = size / scale
    w, wx, wxx = weights.sum(axis=1), weights @ x, weights @ x**2
    wy, wxy = (weights * times).sum(axis=1), (weights * times) @ x
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = w * wxx - wx**2
        alpha = (wxx * wy - wx * wxy) / determinant
        slope = (w * wxy - wx * wy) / determinant
        usable = (determinant > 1e-12 * w * wxx) & (alpha >= 0)
        alpha = np.where(usable, alpha, 0.0)
        slope = np.where(usable, slope, wxy / wxx)
    return alpha, np.maximum(np.nan_to_num(slope), np.finfo(np.float64).tiny) / scale


def _solve(limited: NDArray[np.bool_], size: Array, pairs: Array, weights: Array, times: Array) -> LatencyAwareFit:
    free = np.where(limited, 0.0, weights)
    none_free = ~(free > 0).any(axis=1)
    free[none_free] = weights  # then nothing shows α and b; the line of all points is the closest that there is
    limited_weights = np.where(limited, weights, 0.0)
    load = pairs * size
    with np.errstate(divide="ignore", invalid="ignore"):
        c = ((limited_weights * times) @ load) / (limited_weights @ load**2)
    return LatencyAwareFit(*_line(size, free, times), np.nan_to_num(c))


def fit_latency_aware(message_size: Array, pairs: Array, weights: Array, times: Array) -> LatencyAwareFit:
    """Minimise Σ w (max(k n c, α + n b) − y)² over α ≥ 0, b > 0, c ≥ 0.

    Arguments as in `least_squares.fit_max_rate`, whose solution is one of the first assignments.

    Examples
    --------
    >>> sizes, pairs = np.repeat([1e3, 1e4, 1e5, 1e6], 4), np.tile([1.0, 2.0, 4.0, 8.0], 4)
    >>> times = np.maximum(pairs * sizes / 6e9, 4e-6 + sizes / 4e9)
    >>> fit = fit_latency_aware(sizes, pairs, 1 / sizes, times[None])
    >>> [float(f"{parameter[0]:.6g}") for parameter in (fit.alpha, 1 / fit.b, 1 / fit.c)]
    [4e-06, 4000000000.0, 6000000000.0]
    """
    size, pairs, weights, times = merge_cells(message_size, pairs, weights, times)
    eq_3 = fit_max_rate(size, pairs, weights, times)
    starts = [np.zeros(times.shape, dtype=bool), eq_3.is_limited(pairs)]
    if len(times) == 1:
        thresholds = product(np.unique(pairs)[1:], np.quantile(size, (0.0, 0.5)))
        starts += [((pairs >= count) & (size >= least))[None] for count, least in thresholds]
    else:  # data sets that resemble each other: begin where their mean ends
        mean = fit_latency_aware(size, pairs, weights, times.mean(axis=0)[None])
        starts.append(np.broadcast_to(mean.is_limited(size, pairs), times.shape))
    limited, times = np.concatenate(starts), np.tile(times, (len(starts), 1))
    best, lowest = LatencyAwareFit(*(np.zeros(len(times)),) * 3), np.full(len(times), np.inf)
    for _ in range(_MOST_ROUNDS):
        fit = _solve(limited, size, pairs, weights, times)
        cost = (fit.predict(size, pairs) - times) ** 2 @ weights
        better = cost < lowest
        best = LatencyAwareFit(*(np.where(better, new, old) for new, old in zip(fit, best, strict=True)))
        lowest = np.where(better, cost, lowest)
        following = fit.is_limited(size, pairs)
        if (following == limited).all():
            break
        limited = following
    sets = len(times) // len(starts)
    chosen = lowest.reshape(len(starts), sets).argmin(axis=0), np.arange(sets)
    return LatencyAwareFit(*(parameter.reshape(len(starts), sets)[chosen] for parameter in best))
