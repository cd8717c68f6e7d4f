"""Weighted least squares for streams whose bytes move while their processors work on other messages.

A message of a stream then takes T = max(α, β + n max(b, k c)): α while bytes take less, and with β ≤ α what bytes do
not hide. Points are assigned to the first term or to the second, and both are solved in turn until nothing changes,
from several first assignments. Main entry: `fit_pipeline`.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.arrays import Array
from commmodel.fit.least_squares import MaxRateFit, fit_max_rate, fit_unlimited, merge_cells

_MOST_ROUNDS = 20
_FIRST_SHARES = (0.25, 0.5, 0.75)
"""Of the points, those with the fewest bytes, that are assigned to the latency first."""


class PipelineFit(NamedTuple):
    """Parameters of T = max(α, β + n max(b, k c)), each of shape (data sets,); c = 0: the node does not limit."""

    alpha: Array
    rest: Array
    """β."""
    b: Array
    c: Array
    share: Array
    """1, as in the max-rate model."""

    @property
    def of_bytes(self) -> MaxRateFit:
        """The second term."""
        return MaxRateFit(self.rest, self.b, self.c, self.share)

    def is_limited(self, pairs: Array) -> NDArray[np.bool_]:
        """Whether the node limits, shape (data sets, points)."""
        return self.of_bytes.is_limited(pairs)

    def waits(self, message_size: Array, pairs: Array) -> NDArray[np.bool_]:
        """Whether bytes take less than α, shape (data sets, points)."""
        return self.of_bytes.predict(message_size, pairs) < self.alpha[:, None]

    def predict(self, message_size: Array, pairs: Array) -> Array:
        """Return the model's times, shape (data sets, points)."""
        return np.maximum(self.of_bytes.predict(message_size, pairs), self.alpha[:, None])


_Solver = Callable[[Array, Array, Array, Array], MaxRateFit]


def _solve(waits: NDArray[np.bool_], problem: tuple[Array, Array, Array, Array], solve: _Solver) -> PipelineFit:
    """Return both terms for an assignment of the points, shape (points,)."""
    size, pairs, weights, times = problem
    other = solve(size[~waits], pairs[~waits], weights[~waits], times[:, ~waits])
    alpha = times[:, waits] @ weights[waits] / weights[waits].sum()
    return PipelineFit(alpha, np.minimum(other.alpha, alpha), other.b, other.c, other.share)


def fit_pipeline(
    message_size: Array, pairs: Array, weights: Array, times: Array, *, limited: bool = True
) -> PipelineFit:
    """Minimise Σ w (max(α, β + n max(b, k c)) − y)² over α ≥ β ≥ 0, b > 0, c ≥ 0; c is 0 where nothing is `limited`.

    Other arguments as in `least_squares.fit_max_rate`. Many data sets take the assignment of their mean.

    Examples
    --------
    >>> sizes, pairs = np.repeat([1e0, 1e2, 1e4, 1e5, 1e6], 3), np.tile([1.0, 2.0, 4.0], 5)
    >>> times = np.maximum(4e-7, 1e-7 + sizes * np.maximum(1 / 4e9, pairs / 6e9))
    >>> fit = fit_pipeline(sizes, pairs, 1 / times**2, times[None])
    >>> [float(f"{parameter[0]:.6g}") for parameter in (fit.alpha, fit.rest, 1 / fit.b, 1 / fit.c)]
    [4e-07, 1e-07, 4000000000.0, 6000000000.0]
    """
    problem = merge_cells(message_size, pairs, weights, times)
    size, count, weights, times = problem
    solve = fit_max_rate if limited else fit_unlimited
    mean = times.mean(axis=0)[None]
    plain = solve(size, count, weights, mean)
    load = plain.predict(size, count)[0] - plain.alpha[0]
    best, lowest, chosen = _without_overlap(plain), np.inf, np.zeros(size.size, dtype=bool)
    for share in _FIRST_SHARES:
        waits = load <= np.quantile(load, share)
        for _ in range(_MOST_ROUNDS):
            if waits.all() or not waits.any() or np.unique(size[~waits]).size < 2:
                break
            fit = _solve(waits, (size, count, weights, mean), solve)
            cost = float(((fit.predict(size, count) - mean) ** 2 @ weights)[0])
            if cost < lowest:
                best, lowest, chosen = fit, cost, waits
            following = fit.waits(size, count)[0]
            if (following == waits).all():
                break
            waits = following
    if len(times) == 1:
        return best
    if not chosen.any():
        return _without_overlap(solve(size, count, weights, times))
    return _solve(chosen, problem, solve)


def _without_overlap(fit: MaxRateFit) -> PipelineFit:
    return PipelineFit(fit.alpha, *fit)


unlimited_pipeline = partial(fit_pipeline, limited=False)
"""As `fit_pipeline`, where the node does not limit."""
