"""Confidence intervals of fitted parameters: a bootstrap over the residuals. Main entries: `resample`, `parameter`.

Times of communication scatter in proportion to themselves, so residuals are compared relative to the fitted time,
each scaled up by what the fit took out of it (its leverage), and to those of sizes near it, as small messages may
scatter more than large ones. Made anew in random order and with random signs, they
give data sets that might as well have been measured; the spread of the parameters fitted to these is the interval.
This covers what repeating one measurement does not show: that sizes lie beside the model's line.
"""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.fit.trust import rounded
from commmodel.machine import Parameter

__all__ = ["WeightedFit", "interval", "parameter", "resample", "resample_medians"]

Array = NDArray[np.float64]

# A point that determines a parameter alone keeps almost no residual; one that others overrule shows their noise.
_TELLING_SHARES = 0.2, 2.0
_NEAR = 1.5  # octaves: sizes that scatter alike
_KNOWN_NOISE = 0.5  # of the degrees of freedom are left where the noise of each point was estimated, too
_WIDER = (
    1.08  # for weights that are of the same residuals: with it the coverage published in docs/theory/fit.md is reached
)
_WORTH = 2.0  # points that the mean of all residuals is worth beside those near a point


def _residual_shares(design: Array, weights: Array, fitted: Array) -> Array:
    """Return the share of relative noise variance that each point's residual retains, shape (points,).

    For noise in proportion to the fitted times, or to what is given as them, the residuals' variance is that of
    (I − H) noise, with H the hat matrix of the weighted fit.
    """
    root = np.sqrt(weights)[:, None]
    scaled = design * root / np.linalg.norm(design * root, axis=0)
    left, right = scaled / root, np.linalg.pinv(scaled).T * root  # H = left rightᵀ, which is never made
    diagonal = (left * right).sum(axis=1)
    neighbours = np.einsum("ij,jk,ik->i", left, (right * fitted[:, None] ** 2).T @ right, left)  # Σ hᵢⱼ² fⱼ²
    share: Array = 1 - 2 * diagonal + neighbours / fitted**2
    return share


def _local(residual: Array, message_size: Array) -> Array:
    """Return the scatter near each point over the scatter of all points, shape (points,)."""
    octave, place = np.unique(np.log2(np.maximum(message_size, 1)), return_inverse=True)
    near = np.exp(-(((octave[:, None] - octave) / _NEAR) ** 2) / 2)
    mean = (residual**2).mean() or 1.0
    squares = near @ np.bincount(place, residual**2) / mean
    share: Array = np.sqrt((squares + _WORTH) / (near @ np.bincount(place) + _WORTH))
    return share[place]


class WeightedFit(NamedTuple):
    """A fit and the points that it is of."""

    design: Array
    """Derivative of the model's time in each parameter that is at no bound, shape (points, free parameters)."""
    weights: Array
    """Of the points in the fit, shape (points,) as all below."""
    fitted: Array
    """Times of the fit."""
    times: Array
    """Measured times."""
    noise: Array | None = None
    """Relative noise of each point up to a common factor; alike if left out."""
    message_size: Array | None = None
    """Bytes, where the noise may change with the size."""


def resample(fit: WeightedFit, count: int, confidence: float, seed: int) -> Array:
    """Return `count` resampled data sets, shape (count, points).

    Notes
    -----
    With few points the percentiles of such data sets are too close: they are those of a normal distribution, while
    the noise was estimated from `points − parameters` residuals. The residuals are widened by the ratio of
    Student's quantile to the normal one, which needs more points than parameters.
    """
    from scipy.special import stdtrit

    design, weights, fitted, times, noise, message_size = fit
    points, parameters = design.shape
    even = noise is None
    noise = np.ones(points) if noise is None else noise
    share = _residual_shares(design, weights, fitted * noise)
    telling = (share > _TELLING_SHARES[0]) & (share < _TELLING_SHARES[1])
    if telling.sum() <= parameters:
        telling[:] = True
    residual = (times - fitted) / fitted / noise / np.sqrt(np.maximum(share, _TELLING_SHARES[0]))
    if message_size is not None:
        noise = noise * _local(np.where(telling, residual, 0.0), message_size)
        residual = (times - fitted) / fitted / noise / np.sqrt(np.maximum(share, _TELLING_SHARES[0]))
    upper = 0.5 + confidence / 2
    freedom = (points - parameters) * (1.0 if even else _KNOWN_NOISE)
    wider = stdtrit(max(freedom, 1), upper) / NormalDist().inv_cdf(upper) * (1.0 if even else _WIDER)
    pool = residual[telling] * wider
    random = np.random.default_rng(seed)
    drawn = random.choice(pool, size=(count, points)) * random.choice([-1.0, 1.0], size=(count, points))
    drawn_times: Array = np.maximum(fitted * (1 + noise * drawn), fitted * 1e-3)  # a time is positive
    return drawn_times


def interval(estimates: Array, confidence: float) -> tuple[float, float]:
    """Return the percentile interval of a parameter's bootstrap estimates; its ends may be infinite.

    >>> interval(np.array([1.0, 2.0, 3.0, np.inf, np.inf]), 0.5)
    (2.0, inf)
    """
    low, high = (0.5 - confidence / 2, 0.5 + confidence / 2)
    return tuple(float(np.quantile(estimates, share, method="nearest")) for share in (low, high))  # type: ignore[return-value]


def parameter(value: float, estimates: Array | None, unit: str, confidence: float) -> Parameter:
    """Return a parameter with the interval of its estimates, widened to hold the value; without one for None.

    Bounds, and points that a robust fit leaves out, may move all estimates to one side of the value.

    >>> parameter(1.0, np.array([2.0, 3.0, 4.0]), "s", 0.5)
    Parameter(value=1.0, unit='s', low=1.0, high=4.0)
    """
    if estimates is None:
        return Parameter(rounded(value), unit)
    low, high = interval(estimates, confidence)
    return Parameter(rounded(value), unit, rounded(min(low, value)), rounded(max(high, value)))


def resample_medians(fitted: Array, half_widths: Array, count: int, confidence: float, seed: int) -> Array | None:
    """Return data sets resampled within the intervals of the measured medians; None where those are unbounded.

    For fits that leave no residuals, with as many points as parameters.
    """
    if not np.isfinite(half_widths).all():
        return None
    deviation = half_widths / NormalDist().inv_cdf(0.5 + confidence / 2)
    noise = np.random.default_rng(seed).standard_normal((count, len(fitted)))
    drawn_times: Array = np.maximum(fitted + deviation * noise, fitted * 1e-3)
    return drawn_times
