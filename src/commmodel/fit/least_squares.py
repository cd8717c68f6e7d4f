"""Weighted least squares for the postal and the max-rate model, solved exactly and for many data sets at once.

With b = 1/R_C and c = 1/R_N, Eq 3 of Gropp 2016 reads T = α + n max(b, k c). Once it is known for which k the
node limits, that is linear. So instead of an iterative solver, which may stop at its starting point or in a local
minimum, every split of the pair counts is solved in closed form, and every boundary b = k c between two splits;
the best of these candidates, judged by the model itself, is the global minimum of Σ w (T − y)². The candidates
also cover the bounds α ≥ 0, b > 0 and c ≥ 0. Main entries: `fit_postal` and `fit_max_rate`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["MaxRateFit", "PostalFit", "fit_max_rate", "fit_postal"]

Array = NDArray[np.float64]


class PostalFit(NamedTuple):
    """Parameters of T = α + n β, each of shape (data sets,)."""

    alpha: Array
    beta: Array


class MaxRateFit(NamedTuple):
    """Parameters of T = α + n max(b, k c), each of shape (data sets,); c = 0 where the node does not limit."""

    alpha: Array
    b: Array
    c: Array

    def predict(self, message_size: Array, pairs: Array) -> Array:
        """Return the model's times, shape (data sets, points)."""
        slope = np.maximum(self.b[:, None], pairs * self.c[:, None])
        return self.alpha[:, None] + message_size * slope


def _solve(columns: list[Array], weights: Array, times: Array) -> Array:
    """Return the coefficients, shape (data sets, columns), of a weighted linear least-squares problem.

    Columns are scaled to unit length first: with sizes from bytes to gibibytes the problem is solvable only then.
    """
    design = np.stack(columns, axis=1) * np.sqrt(weights)[:, None]
    lengths = np.linalg.norm(design, axis=0)
    lengths[lengths == 0] = 1.0
    inverse = np.linalg.pinv(design / lengths)
    solution: Array = ((times * np.sqrt(weights)) @ inverse.T) / lengths
    return solution


def _solve_with_alpha_bound(slopes: list[Array], weights: Array, times: Array) -> list[Array]:
    """Return the solutions with α free and with α = 0, each of shape (data sets, 1 + slopes)."""
    free = _solve([np.ones_like(weights), *slopes], weights, times)
    bound = _solve(slopes, weights, times)
    return [free, np.concatenate([np.zeros((len(times), 1)), bound], axis=1)]


def _best(candidates: list[MaxRateFit], message_size: Array, pairs: Array, weights: Array, times: Array) -> MaxRateFit:
    """Return, data set by data set, the candidate with the least weighted sum of squares."""
    costs = np.full((len(candidates), len(times)), np.inf)
    for row, candidate in enumerate(candidates):
        allowed = (candidate.alpha >= 0) & (candidate.b > 0) & (candidate.c >= 0)
        costs[row, allowed] = ((candidate.predict(message_size, pairs) - times) ** 2 @ weights)[allowed]
    chosen = costs.argmin(axis=0), np.arange(len(times))
    return MaxRateFit(*(np.stack(parameter)[chosen] for parameter in zip(*candidates, strict=True)))


def _flat(weights: Array, times: Array) -> MaxRateFit:
    """Return the constant model, the last resort for times that fall with the size."""
    alpha = _solve([np.ones_like(weights)], weights, times)[:, 0]
    tiny = np.full_like(alpha, np.finfo(np.float64).tiny)
    return MaxRateFit(alpha, tiny, np.zeros_like(alpha))


def fit_postal(message_size: Array, weights: Array, times: Array) -> PostalFit:
    """Minimise Σ w (α + n β − y)² over α ≥ 0, β ≥ 0.

    Parameters
    ----------
    message_size, weights : shape (points,)
        Bytes, and the weight of each squared residual (1/n in Gropp 2016, Section 4.1).
    times : shape (data sets, points)
        Seconds.

    Examples
    --------
    >>> sizes = np.array([1.0, 1000.0, 2000.0])
    >>> fit = fit_postal(sizes, 1 / sizes, np.array([2e-6 + 1e-9 * sizes]))
    >>> [float(f"{parameter[0]:.6g}") for parameter in fit]
    [2e-06, 1e-09]
    """
    fit = fit_unlimited(message_size, np.ones_like(message_size), weights, times)
    return PostalFit(fit.alpha, fit.b)


def fit_unlimited(message_size: Array, pairs: Array, weights: Array, times: Array) -> MaxRateFit:
    """Fit the max-rate model of a node that does not limit: T = α + n b for every number of pairs."""
    nothing = np.zeros(len(times))
    candidates = [
        MaxRateFit(solution[:, 0], solution[:, 1], nothing)
        for solution in _solve_with_alpha_bound([message_size], weights, times)
    ]
    return _best([*candidates, _flat(weights, times)], message_size, pairs, weights, times)


def fit_max_rate(message_size: Array, pairs: Array, weights: Array, times: Array) -> MaxRateFit:
    """Minimise Σ w (α + n max(b, k c) − y)² over α ≥ 0, b > 0, c ≥ 0.

    Arguments as in `fit_postal`, with `pairs` k of shape (points,). Where one pair already fills the node, b is
    not determined by the data; the largest that fits, k_min c, is returned.

    Examples
    --------
    >>> sizes, pairs = np.repeat([1e4, 1e5, 1e6], 3), np.tile([1.0, 2.0, 4.0], 3)
    >>> times = 4e-6 + sizes * np.maximum(1 / 4e9, pairs / 6e9)
    >>> fit = fit_max_rate(sizes, pairs, 1 / sizes, times[None])
    >>> [float(f"{parameter[0]:.6g}") for parameter in (fit.alpha, 1 / fit.b, 1 / fit.c)]
    [4e-06, 4000000000.0, 6000000000.0]
    """
    counts = np.unique(pairs)
    candidates = [fit_unlimited(message_size, pairs, weights, times)]
    for count in counts:  # boundaries: the node is just full at this count
        for solution in _solve_with_alpha_bound([message_size * np.maximum(pairs, count)], weights, times):
            candidates.append(MaxRateFit(solution[:, 0], count * solution[:, 1], solution[:, 1]))  # noqa: PERF401
    for count in counts[:-1]:  # splits: the node limits above this count
        free = pairs <= count
        slopes = [np.where(free, message_size, 0.0), np.where(free, 0.0, pairs * message_size)]
        for solution in _solve_with_alpha_bound(slopes, weights, times):
            candidates.append(MaxRateFit(*solution.T))  # noqa: PERF401
    return _best(candidates, message_size, pairs, weights, times)
