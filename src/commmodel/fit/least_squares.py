"""Weighted least squares for the postal, max-rate and extended models, solved exactly and for many data sets at once.

With b = 1/R_Cb, c = 1/R_N and the share ρ = R_Ci/R_Cb that each further process adds, Eq 4 of Gropp 2016 reads
T = α + n max(b k/(1 + (k − 1) ρ), k c); ρ = 1 is Eq 3. For a given ρ, and once it is known for which k the node limits,
that is linear. So instead of an iterative solver, which may stop at its starting point or in a local minimum, every
split of the pair counts is solved in closed form, and every boundary between two splits; the best of those that
hold is the global minimum of Σ w (T − y)². The candidates also cover the bounds α ≥ 0, b > 0 and
c ≥ 0; ρ ≥ 0 is searched. Main entries: `fit_postal`, `fit_max_rate` and `fit_extended`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MaxRateFit",
    "PostalFit",
    "fit_extended",
    "fit_max_rate",
    "fit_postal",
    "fit_rate",
    "fit_unlimited",
    "merge_cells",
]

Array = NDArray[np.float64]

_SHARES = np.concatenate([np.linspace(0, 0.2, 9), np.linspace(0.25, 1.0, 16), np.linspace(1.25, 2.0, 4)])
"""Values of ρ that are tried: most processes add less than the first, some a little more."""
_GOLDEN_STEPS = 30


class PostalFit(NamedTuple):
    """Parameters of T = α + n β, each of shape (data sets,)."""

    alpha: Array
    beta: Array


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
        limited: NDArray[np.bool_] = pairs * self.c[:, None] > self.b[:, None] * _load(pairs, self.share[:, None])
        return limited

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


def _solve(columns: list[Array], weights: Array, times: Array) -> tuple[Array, Array]:
    """Return the coefficients, shape (data sets, columns), of a weighted linear problem, and its sums of squares.

    Columns are scaled to unit length first: with sizes from bytes to gibibytes the problem is solvable only then.
    """
    root = np.sqrt(weights)
    design, target = np.stack(columns, axis=1) * root[:, None], times * root
    lengths = np.linalg.norm(design, axis=0)
    lengths[lengths == 0] = 1.0
    inverse = np.linalg.pinv(design / lengths)
    scaled = target @ inverse.T
    gram = (design / lengths).T @ (design / lengths)
    squares = np.einsum("ij,ij->i", target, target) - np.einsum("ij,jk,ik->i", scaled, gram, scaled)
    return scaled / lengths, squares


def _solve_with_alpha(slopes: list[Array], weights: Array, times: Array) -> tuple[Array, Array]:
    """Return [α, coefficients of the slopes] with α ≥ 0, and the sums of squares."""
    solution, squares = _solve([np.ones_like(weights), *slopes], weights, times)
    negative = solution[:, 0] < 0
    if negative.any():
        bound, bound_squares = _solve(slopes, weights, times[negative])
        solution[negative] = np.concatenate([np.zeros((len(bound), 1)), bound], axis=1)
        squares[negative] = bound_squares
    return solution, squares


class _Candidate(NamedTuple):
    fit: MaxRateFit
    squares: Array
    """Of the linear problem; those of the model where `holds`."""
    holds: NDArray[np.bool_]


def _best(candidates: list[_Candidate]) -> tuple[MaxRateFit, Array]:
    """Return for each data set the candidate with the smallest weighted sum of squares, and that sum."""
    squares = np.stack(
        [
            np.where(candidate.holds & (candidate.fit.b > 0) & (candidate.fit.c >= 0), candidate.squares, np.inf)
            for candidate in candidates
        ]
    )
    chosen = squares.argmin(axis=0), np.arange(squares.shape[1])
    parameters = zip(*(candidate.fit for candidate in candidates), strict=True)
    return MaxRateFit(*(np.stack(parameter)[chosen] for parameter in parameters)), squares[chosen]


def _unlimited(message_size: Array, pairs: Array, share: float, weights: Array, times: Array) -> list[_Candidate]:
    """Return the candidates without a node limit; the second is a constant, for times that fall."""
    zeros, shares = np.zeros(len(times)), np.full(len(times), share)
    always = np.full(len(times), True)
    line, squares = _solve_with_alpha([message_size * _load(pairs, share)], weights, times)
    constant, constant_squares = _solve([np.ones_like(weights)], weights, times)
    tiny = np.full(len(times), np.finfo(np.float64).tiny)
    return [
        _Candidate(MaxRateFit(line[:, 0], line[:, 1], zeros, shares), squares, always),
        _Candidate(MaxRateFit(constant[:, 0], tiny, zeros, shares), constant_squares, always),
    ]


def _limited(message_size: Array, pairs: Array, share: float, weights: Array, times: Array) -> list[_Candidate]:
    """Return the candidates with a node limit from some number of pairs on."""
    counts, shares = np.unique(pairs), np.full(len(times), share)
    full = 1 + (counts - 1) * share
    """What so many pairs would move if the node did not limit, over what one pair moves."""
    load = _load(pairs, share)
    candidates = []
    for count_full in full:  # boundaries: the node is just full at this count
        solution, squares = _solve_with_alpha([message_size * np.maximum(load * count_full, pairs)], weights, times)
        fit = MaxRateFit(solution[:, 0], count_full * solution[:, 1], solution[:, 1], shares)
        candidates.append(_Candidate(fit, squares, np.full(len(times), True)))
    for count, below, above in zip(counts[:-1], full[:-1], full[1:], strict=True):  # splits: full above this count
        free = pairs <= count
        slopes = [np.where(free, load * message_size, 0.0), np.where(free, 0.0, pairs * message_size)]
        solution, squares = _solve_with_alpha(slopes, weights, times)
        b, c = solution[:, 1], solution[:, 2]
        fit = MaxRateFit(solution[:, 0], b, c, shares)
        candidates.append(_Candidate(fit, squares, (b >= below * c) & (b <= above * c)))
    return candidates


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
    """Fit the max-rate model without a node limit: T = α + n b for every number of pairs."""
    size, pairs, weights, times = merge_cells(message_size, pairs, weights, times)
    return _best(_unlimited(size, pairs, 1.0, weights, times))[0]


def fit_rate(message_size: Array, pairs: Array, weights: Array, times: Array) -> MaxRateFit:  # noqa: ARG001
    """Fit T = n b for every number of pairs, for sizes too large to show a latency."""
    solution, _ = _solve([message_size], weights, times)
    zeros = np.zeros(len(times))
    return MaxRateFit(zeros, np.maximum(solution[:, 0], np.finfo(np.float64).tiny), zeros, zeros + 1)


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
    problem = merge_cells(message_size, pairs, weights, times)
    return _at_share(1.0, *problem)[0]


def _at_share(
    share: float, message_size: Array, pairs: Array, weights: Array, times: Array
) -> tuple[MaxRateFit, Array]:
    candidates = _unlimited(message_size, pairs, share, weights, times)
    return _best(candidates + _limited(message_size, pairs, share, weights, times))


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
    tried = _SHARES if len(times) == 1 else _SHARES[::2]
    grid = [_at_share(share, *problem) for share in tried]
    costs = np.stack([cost for _, cost in grid])
    best = costs.argmin(axis=0)
    fits = np.stack([np.stack(fit) for fit, _ in grid])  # (shares, parameters, data sets)
    if best.size == 1:
        return _between_neighbours(int(best[0]), problem)
    indices = np.arange(best.size)
    coarse = MaxRateFit(*fits[best, :, indices].T)
    middle = np.clip(best, 1, len(tried) - 2)
    share = np.clip(_parabola(tried, costs, middle, indices), 0.0, tried[-1])
    left = np.clip(np.searchsorted(tried, share, side="right") - 1, 0, len(tried) - 2)
    step = (share - tried[left]) / (tried[left + 1] - tried[left])
    between = MaxRateFit(*((1 - step)[:, None] * fits[left, :, indices] + step[:, None] * fits[left + 1, :, indices]).T)
    squares, coarse_squares = ((fit.predict(*problem[:2]) - problem[3]) ** 2 @ problem[2] for fit in (between, coarse))
    return MaxRateFit(*np.where(squares < coarse_squares, np.stack(between), np.stack(coarse)))


def _between_neighbours(best: int, problem: tuple[Array, Array, Array, Array]) -> MaxRateFit:
    """Return the solution of one data set at the best ρ near a grid point, by golden-section search."""
    low, high = float(_SHARES[max(best - 1, 0)]), float(_SHARES[min(best + 1, len(_SHARES) - 1)])
    golden = (np.sqrt(5.0) - 1) / 2
    tried = {share: _at_share(share, *problem) for share in (low, float(_SHARES[best]), high)}
    for _ in range(_GOLDEN_STEPS):
        inner = [high - golden * (high - low), low + golden * (high - low)]
        for share in inner:
            if share not in tried:
                tried[share] = _at_share(share, *problem)
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
    minimum: Array = np.where((curvature > 0) & np.isfinite(lowest), np.clip(lowest, x0, x2), x1)
    return minimum
