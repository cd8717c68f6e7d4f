"""Weighted least squares for the postal, max-rate and extended models, solved exactly and for many data sets at once.

With b = 1/R_Cb, c = 1/R_N and the share ρ = R_Ci/R_Cb that each further process adds, Eq 4 of Gropp 2016 reads
T = α + n max(b k/(1 + (k − 1) ρ), k c); ρ = 1 is Eq 3. For a given ρ, and once it is known for which k the node limits,
that is linear. So instead of an iterative solver, which may stop at its starting point or in a local minimum, every
split of the pair counts is solved in closed form, and every boundary between two splits; the best of those that
hold is the global minimum of Σ w (T − y)². The candidates also cover the bounds α ≥ 0, b > 0 and
c ≥ 0; ρ ≥ 0 is searched. Main entries: `fit_max_rate` and `fit_extended`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.arrays import Array

__all__ = [
    "MaxRateFit", "fit_extended", "fit_max_rate", "fit_rate", "fit_unlimited", "merge_cells",
]  # fmt: skip

_SHARES = np.concatenate([np.linspace(0, 0.2, 9), np.linspace(0.25, 1.0, 16), np.linspace(1.25, 2.0, 4)])
"""Values of ρ that are tried: most processes add less than the first, some a little more."""
_GOLDEN_STEPS = 30
_SINGULAR = 1e-12
"""Of the weight: with less left for it, α is not determined, and taken as 0."""
_TINY = float(np.finfo(np.float64).tiny)
"""b where times do not grow with the size."""


class MaxRateFit(NamedTuple):
    """Parameters of T = α + n max(b k/(1 + (k − 1) ρ), k c), each of shape (data sets,).

    c = 0 where the node does not limit; ρ = 1 in the max-rate model.
    """

    alpha: Array
    b: Array
    c: Array
    share: Array

    def is_limited(self, pairs: Array) -> NDArray[np.bool_]:
        """Whether the node limits, shape (data sets, points)."""
        return pairs * self.c[:, None] > self.b[:, None] * _load(pairs, self.share[:, None])

    def predict(self, message_size: Array, pairs: Array) -> Array:
        """Return the model's times, shape (data sets, points)."""
        slope = np.maximum(self.b[:, None] * _load(pairs, self.share[:, None]), pairs * self.c[:, None])
        return self.alpha[:, None] + message_size * slope


def _load(pairs: Array, share: Array | float) -> Array:
    """Return k/(1 + (k − 1) ρ): the slowdown of each of k processes without the node's limit."""
    return pairs / (1 + (pairs - 1) * share)


def merge_cells(message_size: Array, pairs: Array, weights: Array, times: Array) -> tuple[Array, Array, Array, Array]:
    """Return the same problem with one point per size and number of pairs: the mean, with the summed weight.

    The sum of squares changes by a constant only; repeated tables get as cheap as one.
    """
    cells, index = np.unique(np.stack([message_size, pairs]), axis=1, return_inverse=True)
    if cells.shape[1] == message_size.size:
        return message_size, pairs, weights, times
    summed = np.zeros((message_size.size, cells.shape[1]))
    summed[np.arange(message_size.size), index.ravel()] = weights
    total = summed.sum(axis=0)
    return cells[0], cells[1], total, times @ summed / total


class _Moments(NamedTuple):
    """Weighted sums over the points of each number of pairs: all that the squares of a linear model depend on.

    Sizes are relative to the largest, `scale`; k is the number of counts of pairs, d that of data sets.
    """

    pairs: Array
    """Ascending, shape (k,)."""
    scale: float
    of_weight: Array
    of_size: Array
    of_size_squared: Array
    of_time: Array
    """Shape (k, d)."""
    of_size_and_time: Array
    """Shape (k, d)."""
    of_time_squared: Array
    """Over all points, shape (d,)."""


def _moments(message_size: Array, pairs: Array, weights: Array, times: Array) -> _Moments:
    counts = np.unique(pairs)
    scale = float(message_size.max()) or 1.0
    size, weight = message_size / scale, np.where(pairs == counts[:, None], weights, 0.0)
    return _Moments(
        pairs=counts,
        scale=scale,
        of_weight=weight.sum(axis=1),
        of_size=weight @ size,
        of_size_squared=weight @ size**2,
        of_time=weight @ times.T,
        of_size_and_time=(weight * size) @ times.T,
        of_time_squared=times**2 @ weights,
    )


class _LinearFits(NamedTuple):
    """Solutions of several linear models, each of shape (models, data sets)."""

    alpha: Array
    first: Array
    """A coefficient, as the next one; of candidates that are to be chosen from, b and c."""
    second: Array
    squares: Array
    """Σ w (T − y)²; infinite where the solution is none of the model's."""


def _solve(moments: _Moments, first: Array, second: Array) -> _LinearFits:
    """Return α ≥ 0 and the coefficients of T = α + n (first x + second y).

    `first` and `second`, both of shape (models, numbers of pairs), are the factors of the coefficients at each number
    of pairs. At each one of them is 0, so that the coefficients depend on one another by α alone.
    """
    slopes = np.stack([first, second])
    sizes, squares = slopes @ moments.of_size, slopes**2 @ moments.of_size_squared
    products = slopes @ moments.of_size_and_time
    share = np.divide(sizes, squares, out=np.zeros_like(sizes), where=squares > 0)
    weight, time = moments.of_weight.sum(), moments.of_time.sum(axis=0)
    left = weight - (share * sizes).sum(axis=0)  # of the weight, for α
    determined = left > _SINGULAR * weight
    alpha = time - (share[:, :, None] * products).sum(axis=0)
    alpha = np.where(determined[:, None], np.maximum(alpha / np.where(determined, left, 1.0)[:, None], 0.0), 0.0)
    divisors = np.where(squares > 0, squares, np.inf)[:, :, None]
    coefficients = (products - alpha * sizes[:, :, None]) / divisors
    rest = moments.of_time_squared - alpha * time - (coefficients * products).sum(axis=0)
    return _LinearFits(alpha, coefficients[0] / moments.scale, coefficients[1] / moments.scale, rest)


def _best(candidates: _LinearFits, share: float) -> tuple[MaxRateFit, Array]:
    """Return for each data set the candidate with the smallest sum of squares, and that sum."""
    columns = np.arange(candidates.squares.shape[1])
    alpha, b, c, squares = (values[candidates.squares.argmin(axis=0), columns] for values in candidates)
    return MaxRateFit(alpha, b, c, np.full(columns.size, share)), squares


def _with_constant(moments: _Moments, lines: _LinearFits) -> _LinearFits:
    """Return a constant time, for times that fall, and these candidates: none with b ≤ 0 or c < 0."""
    holds = (lines.first > 0) & (lines.second >= 0)
    weight, time = moments.of_weight.sum(), moments.of_time.sum(axis=0)
    constant = _LinearFits(
        time / weight, np.full_like(time, _TINY), np.zeros_like(time), moments.of_time_squared - time**2 / weight
    )
    lines = lines._replace(squares=np.where(holds, lines.squares, np.inf))
    return _LinearFits(*(np.vstack(values) for values in zip(constant, lines, strict=True)))


def _at_share(share: float, moments: _Moments) -> tuple[MaxRateFit, Array]:
    """Return for each data set the best parameters at a share ρ, and their sum of squares."""
    pairs = moments.pairs
    count, load, full = pairs.size, _load(pairs, share), 1 + (pairs - 1) * share
    # Candidates: the node never limits; it is just full at a count; it is full above a count, and not up to it.
    free = np.tri(count - 1, count, dtype=bool)
    first = np.vstack([load, np.maximum(load * full[:, None], pairs), np.where(free, load, 0.0)])
    second = np.vstack([np.zeros((1 + count, count)), np.where(free, 0.0, pairs)])
    lines = _solve(moments, first, second)
    b, c = lines.first, lines.second
    boundaries, splits = slice(1, 1 + count), slice(1 + count, None)
    c[boundaries] = b[boundaries]
    b[boundaries] *= full[:, None]
    holds = (b[splits] >= full[:-1, None] * c[splits]) & (b[splits] <= full[1:, None] * c[splits])
    lines.squares[splits][~holds] = np.inf
    return _best(_with_constant(moments, lines), share)


def fit_unlimited(message_size: Array, pairs: Array, weights: Array, times: Array) -> MaxRateFit:
    """Fit the max-rate model without a node limit: T = α + n b for every number of pairs."""
    moments = _moments(message_size, np.ones_like(pairs), weights, times)
    lines = _solve(moments, np.ones((1, 1)), np.zeros((1, 1)))
    return _best(_with_constant(moments, lines), 1.0)[0]


def fit_rate(message_size: Array, pairs: Array, weights: Array, times: Array) -> MaxRateFit:  # noqa: ARG001
    """Fit T = n b for every number of pairs, for sizes too large to show a latency."""
    rate = (times @ (weights * message_size)) / (weights @ message_size**2)
    zeros = np.zeros(len(times))
    return MaxRateFit(zeros, np.maximum(rate, _TINY), zeros, zeros + 1)


def fit_max_rate(message_size: Array, pairs: Array, weights: Array, times: Array) -> MaxRateFit:
    """Minimise Σ w (α + n max(b, k c) − y)² over α ≥ 0, b > 0, c ≥ 0.

    Where one pair already fills the node, b is not determined by the data; the largest that fits, k_min c, is returned.

    Parameters
    ----------
    message_size, pairs, weights : shape (points,)
        Bytes n, pairs k, and the weight w of each squared residual (1/n in Gropp 2016, Section 4.1).
    times : shape (data sets, points)
        Seconds.

    Examples
    --------
    >>> sizes, pairs = np.repeat([1e4, 1e5, 1e6], 3), np.tile([1.0, 2.0, 4.0], 3)
    >>> times = 4e-6 + sizes * np.maximum(1 / 4e9, pairs / 6e9)
    >>> fit = fit_max_rate(sizes, pairs, 1 / sizes, times[None])
    >>> [float(f"{parameter[0]:.6g}") for parameter in (fit.alpha, 1 / fit.b, 1 / fit.c)]
    [4e-06, 4000000000.0, 6000000000.0]
    """
    return _at_share(1.0, _moments(message_size, pairs, weights, times))[0]


def fit_extended(message_size: Array, pairs: Array, weights: Array, times: Array) -> MaxRateFit:
    """Minimise Σ w (α + n max(b k/(1 + (k − 1) ρ), k c) − y)² over α ≥ 0, b > 0, c ≥ 0, 0 ≤ ρ ≤ 2.

    Arguments as in `fit_max_rate`. ρ is searched on a grid. One data set is then solved at the best ρ between the
    neighbours of the best grid point. For many, ρ is taken from the parabola through these and the other parameters
    are interpolated between the exact solutions beside it, or are those of the grid point where they fit better.

    Examples
    --------
    >>> sizes, pairs = np.repeat([1e4, 1e5, 1e6], 5), np.tile([1.0, 2.0, 4.0, 8.0, 16.0], 3)
    >>> times = 2e-5 + pairs * sizes / np.minimum(5.5e9, 3.6e9 + (pairs - 1) * 6.1e8)
    >>> fit = fit_extended(sizes, pairs, 1 / sizes, times[None])
    >>> [float(f"{parameter[0]:.2g}") for parameter in (fit.alpha, 1 / fit.c, 1 / fit.b, fit.share / fit.b)]
    [2e-05, 5500000000.0, 3600000000.0, 610000000.0]
    """
    problem = merge_cells(message_size, pairs, weights, times)
    moments = _moments(*problem)
    tried = _SHARES if len(times) == 1 else _SHARES[::2]
    grid = [_at_share(share, moments) for share in tried]
    costs = np.stack([cost for _, cost in grid])
    best = costs.argmin(axis=0)
    fits = np.stack([np.stack(fit) for fit, _ in grid])  # (shares, parameters, data sets)
    if best.size == 1:
        return _between_neighbours(int(best[0]), moments)
    indices = np.arange(best.size)
    coarse = MaxRateFit(*fits[best, :, indices].T)
    middle = np.clip(best, 1, len(tried) - 2)
    share = np.clip(_parabola(tried, costs, middle, indices), 0.0, tried[-1])
    left = np.clip(np.searchsorted(tried, share, side="right") - 1, 0, len(tried) - 2)
    step = (share - tried[left]) / (tried[left + 1] - tried[left])
    between = MaxRateFit(*((1 - step)[:, None] * fits[left, :, indices] + step[:, None] * fits[left + 1, :, indices]).T)
    squares, coarse_squares = ((fit.predict(*problem[:2]) - problem[3]) ** 2 @ problem[2] for fit in (between, coarse))
    return MaxRateFit(*np.where(squares < coarse_squares, np.stack(between), np.stack(coarse)))


def _between_neighbours(best: int, moments: _Moments) -> MaxRateFit:
    """Return the solution of one data set at the best ρ near a grid point, by golden-section search."""
    low, high = float(_SHARES[max(best - 1, 0)]), float(_SHARES[min(best + 1, len(_SHARES) - 1)])
    golden = (np.sqrt(5.0) - 1) / 2
    tried = {share: _at_share(share, moments) for share in (low, float(_SHARES[best]), high)}
    for _ in range(_GOLDEN_STEPS):
        inner = [high - golden * (high - low), low + golden * (high - low)]
        for share in inner:
            if share not in tried:
                tried[share] = _at_share(share, moments)
        low, high = (low, inner[1]) if tried[inner[0]][1] <= tried[inner[1]][1] else (inner[0], high)
    return min(tried.values(), key=lambda solution: float(solution[1][0]))[0]


def _parabola(grid: Array, costs: Array, middle: NDArray[np.intp], indices: NDArray[np.intp]) -> Array:
    """Return the minimum of the parabola through three neighbouring costs; the middle one where there is no minimum."""
    x0, x1, x2 = (grid[middle + shift] for shift in (-1, 0, 1))
    y0, y1, y2 = (costs[middle + shift, indices] for shift in (-1, 0, 1))
    slope_left, slope_right = (y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1)
    curvature = (slope_right - slope_left) / (x2 - x0)
    with np.errstate(divide="ignore", invalid="ignore"):
        lowest = (x0 + x1) / 2 - slope_left / (2 * curvature)
    return np.where((curvature > 0) & np.isfinite(lowest), np.clip(lowest, x0, x2), x1)
