"""Confidence intervals of fitted parameters: a parametric bootstrap. Main entries: `resample`, `parameter`.

Times of communication scatter in proportion to themselves, so residuals are compared relative to the fitted time, and
to those of sizes near it, as small messages may scatter more than large ones. What a residual lacks because the fit
followed its point (its leverage) is taken into account. Of normal noise of that size data sets are made that might as
well have been measured; the spread of the parameters fitted to these is the interval. It covers what repeating one
measurement does not show: that sizes lie beside the model's line, with all pairs, and that rounds of visits differ.
"""

import math
from itertools import product
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from commmodel.arrays import Array
from commmodel.fit.trust import rounded
from commmodel.machine import Parameter

__all__ = ["WeightedFit", "distances", "interval", "parameter", "resample", "resample_medians"]

_NEAR = 1.5  # octaves: sizes that scatter alike
_SHARES_ALIKE, _FACTORS = (0.5, 0.8, 1.0), (0.5, 0.7, 0.8, 0.9, 0.95)  # of the variance, and for each octave
_INDEPENDENT = math.exp(2)  # times as likely beforehand: Akaike's weight of two parameters
_MOST_IN_ORDER = 128  # points whose order is looked at
_TINY = 1e-30  # of a variance
_ROUNDING = 1e-9
_WORTH = 2.0  # sizes that the mean of all residuals is worth beside those near a size


class WeightedFit(NamedTuple):
    """A fit and the points that it is of."""

    design: Array
    """Derivative of the model's time in each parameter that is at no bound, shape (points, free parameters)."""
    weights: Array
    """Of the points in the fit, shape (points,) as all below."""
    fitted: Array
    """Times of the fit."""
    times: Array
    """Measured times, of which the fit is the weighted least squares solution."""
    noise: Array | None = None
    """Relative noise of each point up to a common factor; alike if left out."""
    message_size: Array | None = None
    """Bytes, where the noise may change with the size."""
    drift: Array | None = None
    """Relative errors that the points share, as factors of Student's variates, shape (points, k)."""
    freedom: int = 0
    """Degrees of freedom of these variates."""


def resample(fit: WeightedFit, count: int, seed: int) -> Array:
    """Return `count` resampled data sets, shape (count, points).

    Notes
    -----
    How large the noise is, is itself known from the residuals only. So each data set is told its noise by the residuals
    that the same fit would leave in it: where these are small by chance, its noise was larger than they say. For even
    noise that is Student's distribution with `points − parameters` degrees of freedom.
    """
    noise = np.ones(fit.times.size) if fit.noise is None else fit.noise
    residuals = _Residuals(fit, noise)
    residual = (fit.times / fit.fitted - 1) / noise
    level = residuals.level(residual)
    random = np.random.default_rng(seed)
    noises = _Noises(residuals, residual / level, in_order=not fit.freedom)
    drawn = noises.draw(count, random) * level**2 / residuals.level(residuals.of(noises.draw(count, random) * level))
    drawn *= noise
    if fit.drift is not None and fit.freedom:
        drawn += random.standard_t(fit.freedom, (count, fit.drift.shape[1])) @ fit.drift.T
    return np.maximum(fit.fitted * (1 + drawn), fit.fitted * 1e-3)  # a time is positive


class _Noises:
    """Noise of variance one at each point, with what the points have in common.

    The points of a size may share a part of it. Where each size is one point, and no rounds of visits say more, sizes
    may have been measured in their order, and the noise of neighbours be alike, by a factor for each octave between:
    the share and the factor are drawn from their likelihood (REML), with Akaike's weight of two parameters less.
    """

    def __init__(self, residuals: "_Residuals", residual: Array, *, in_order: bool) -> None:
        self._residuals, self._share = residuals, residuals.shared_by_size(residual)
        self._likely = np.ones(1)
        self._roots: list[Array] = []
        left, points = residuals.left, residual.size
        if not in_order or residuals.sizes < points or not left.shape[1] + 1 < points <= _MOST_IN_ORDER:
            return
        rest = np.linalg.qr(left, mode="complete")[0][:, left.shape[1] :]
        left_over, freedom = rest.T @ residual, points - left.shape[1]
        distance = np.abs(residuals.octave[:, None] - residuals.octave)[residuals.place][:, residuals.place]
        alike = [(0.0, 0.0), *product(_SHARES_ALIKE, _FACTORS)]
        logs = []
        for share, factor in alike:
            covariance = (1 - share) * np.eye(points) + share * factor**distance
            inner = rest.T @ covariance @ rest
            variance = max(float(left_over @ np.linalg.solve(inner, left_over)) / freedom, _TINY)
            logs.append(-(np.linalg.slogdet(inner)[1] + freedom * math.log(variance)) / 2)
            scale = variance / max(float(left_over @ left_over) / freedom, _TINY)
            self._roots.append(np.linalg.cholesky(scale * covariance))
        self._likely = np.exp(np.array(logs) - max(logs)) * [_INDEPENDENT * (len(alike) - 1), *[1.0] * (len(alike) - 1)]

    def draw(self, count: int, random: np.random.Generator) -> Array:
        """Return noise, shape (count, points)."""
        points = self._residuals.place.size
        single = random.standard_normal((count, points))
        if not self._roots:
            common = random.standard_normal((count, self._residuals.sizes))[:, self._residuals.place]
            return np.asarray(math.sqrt(1 - self._share) * single + math.sqrt(self._share) * common)
        counts = random.multinomial(count, self._likely / self._likely.sum())
        parts = np.split(single, np.cumsum(counts)[:-1])
        return np.concatenate([part @ root.T for part, root in zip(parts, self._roots, strict=True)])


class _Residuals:
    """What a weighted fit leaves of noise in proportion to the fitted times, or to what is given as `noise`.

    The residuals are (I − H) noise, with H the hat matrix, which is never made: it is left rightᵀ.
    """

    def __init__(self, fit: WeightedFit, noise: Array) -> None:
        root = np.sqrt(fit.weights)[:, None]
        scaled = fit.design * root / np.linalg.norm(fit.design * root, axis=0)
        unit = (fit.fitted * noise)[:, None]
        self.left, self._right = scaled / root / unit, np.linalg.pinv(scaled).T * root * unit
        size = np.zeros(noise.size) if fit.message_size is None else fit.message_size
        self.octave, self.place = np.unique(np.log2(1.0 + size), return_inverse=True)
        self.sizes = self.octave.size
        self._order = np.argsort(self.place, kind="stable")
        self._begins = np.searchsorted(self.place[self._order], np.arange(self.sizes))
        self._near = np.exp(-(((self.octave[:, None] - self.octave) / _NEAR) ** 2) / 2)
        diagonal = (self.left * self._right).sum(axis=1)
        squares = np.einsum("ij,jk,ik->i", self.left, self._right.T @ self._right, self.left)
        self._share = np.maximum(1 - 2 * diagonal + squares, 0.0)  # of a point's variance that its residual retains
        self._expected = self._smooth(self._weights * self._share)

    @property
    def _weights(self) -> Array:
        """Those of squared residuals: a point that others overrule shows their noise."""
        return np.asarray(1 / np.maximum(self._share, 1.0))

    def of(self, noise: Array) -> Array:
        """Return the residuals of noise, both of shape (data sets, points)."""
        return np.asarray(noise - (noise @ self._right) @ self.left.T)

    def _by_size(self, values: Array) -> Array:
        """Return the sum of values at each size, shape (..., sizes)."""
        return np.add.reduceat(values[..., self._order], self._begins, axis=-1)

    def _smooth(self, values: Array) -> Array:
        """Return the sum of values near each size, with so much of the mean; shape (..., sizes)."""
        return np.asarray(self._by_size(values) @ self._near + _WORTH / self.sizes * values.sum(axis=-1, keepdims=True))

    def level(self, residual: Array) -> Array:
        """Return the deviation of the noise at each point, from residuals near its size; shapes (..., points)."""
        squares = self._smooth(self._weights * residual**2) / self._expected
        return np.sqrt(np.maximum(squares, _TINY))[..., self.place]

    def shared_by_size(self, residual: Array) -> float:
        """Return the share of the noise's variance that all points of a size have in common, by moments."""
        count = np.bincount(self.place)
        if count.max() == 1 or self.sizes <= self.left.shape[1]:  # each size is one point, or all sizes fit
            return 0.0
        left, right = self._by_size(self.left.T).T, self._by_size(self._right.T).T
        diagonal = count.sum() - 2 * (left * right).sum()
        between = np.diag(count.astype(float)) - left @ right.T
        expected = np.array(
            [
                [self._share.sum(), diagonal + ((self.left.T @ self.left) * (right.T @ right)).sum()],
                [diagonal + ((left.T @ left) * (self._right.T @ self._right)).sum(), (between**2).sum()],
            ]
        )  # of both sums of squares: from noise of each point, and of each size
        squares = np.array([(residual**2).sum(), (self._by_size(residual) ** 2).sum()])
        single, common = np.linalg.solve(expected, squares)
        return float(np.clip(common / max(single + common, _TINY), 0.0, 1.0)) if single > 0 else 1.0


def interval(estimates: Array, confidence: float) -> tuple[float, float]:
    """Return the percentile interval of a parameter's bootstrap estimates; its ends may be infinite.

    Of n estimates those in place (n + 1) (1 − confidence)/2 from both ends, rounded down: one more that is drawn alike
    lies beyond with no more than that probability.

    >>> interval(np.array([1.0, 2.0, 3.0, 4.0, 5.0, np.inf, np.inf]), 0.5)
    (2.0, inf)
    """
    place = max(int((estimates.size + 1) * (1 - confidence) / 2 + _ROUNDING), 1)
    ascending = np.sort(estimates)
    return float(ascending[place - 1]), float(ascending[-place])


def distances(times: Array, fitted: Array, confidence: float) -> Array:
    """Return how far the ends of the interval of each time lie below and above the fitted one, in logarithms.

    Parameters
    ----------
    times : shape (data sets, points)
        The model's, of resampled data.
    fitted : shape (points,)

    Returns
    -------
    array of shape (2, points)
        None below zero.

    Examples
    --------
    >>> distances(np.array([[1.0], [2.0], [4.0]]), np.array([2.0]), 0.999999).round(2).tolist()
    [[0.69], [0.69]]
    """
    low, high = np.quantile(times, (0.5 - confidence / 2, 0.5 + confidence / 2), axis=0, method="weibull")
    least = np.finfo(np.float64).tiny
    return np.log([fitted / np.clip(low, least, fitted), np.maximum(high, fitted) / fitted])


def parameter(value: float, estimates: Array | None, unit: str, confidence: float) -> Parameter:
    """Return a parameter with the interval of its estimates; without one for None.

    >>> parameter(3.0, np.array([2.0, 3.0, 4.0]), "s", 0.5)
    Parameter(value=3.0, unit='s', low=2.0, high=4.0)
    """
    if estimates is None:
        return Parameter(rounded(value), unit)
    return Parameter(rounded(value), unit, *map(rounded, interval(estimates, confidence)))


def resample_medians(fitted: Array, half_widths: Array, count: int, confidence: float, seed: int) -> Array | None:
    """Return data sets resampled within the intervals of the measured medians; None where those are unbounded.

    For fits that leave no residuals, with as many points as parameters.
    """
    if not np.isfinite(half_widths).all():
        return None
    deviation = half_widths / NormalDist().inv_cdf(0.5 + confidence / 2)
    noise = np.random.default_rng(seed).standard_normal((count, len(fitted)))
    return np.maximum(fitted + deviation * noise, fitted * 1e-3)
