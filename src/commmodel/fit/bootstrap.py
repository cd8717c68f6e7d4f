"""How far the parameters may be off: a bootstrap over the residuals of a fit. Main entry: `resample`.

Times of communication scatter in proportion to themselves, so residuals are compared relative to the fitted time,
each scaled up by what the fit took out of it (its leverage). Made anew in random order and with random signs, they
give data sets that might as well have been measured; the spread of the parameters fitted to these is the interval.
This covers what repeating one measurement does not show: that sizes lie beside the model's line.
"""

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

__all__ = ["interval", "resample", "resample_medians"]

Array = NDArray[np.float64]

# A point that determines a parameter alone keeps almost no residual; one that others overrule shows their noise.
_TELLING_SHARES = 0.2, 2.0


def _residual_shares(design: Array, weights: Array, fitted: Array) -> Array:
    """Return for each point which share of relative noise variance is left in its residual, shape (points,).

    For noise in proportion to the fitted times, the residuals' variance is that of (I − H) noise, with H the hat
    matrix of the weighted fit.
    """
    root = np.sqrt(weights)[:, None]
    scaled = design * root / np.linalg.norm(design * root, axis=0)
    hat = (scaled @ np.linalg.pinv(scaled)) / root * root.T
    remaining = np.eye(len(fitted)) - hat
    share: Array = (remaining**2 @ fitted**2) / fitted**2
    return share


def resample(
    design: Array, weights: Array, fitted: Array, times: Array, count: int, confidence: float, seed: int
) -> Array:
    """Return `count` data sets that might have been measured instead, shape (count, points).

    Parameters
    ----------
    design : shape (points, free parameters)
        Derivative of the model's time in each parameter that is at no bound.
    weights, fitted, times : shape (points,)
        Weights of the fit, its times and the measured ones.

    Notes
    -----
    With few points the percentiles of such data sets are too close: they are those of a normal distribution, while
    the noise was estimated from `points − parameters` residuals. The residuals are widened by the ratio of
    Student's quantile to the normal one, which needs more points than parameters.
    """
    from scipy.special import stdtrit

    points, parameters = design.shape
    share = _residual_shares(design, weights, fitted)
    telling = (share > _TELLING_SHARES[0]) & (share < _TELLING_SHARES[1])
    if telling.sum() <= parameters:
        telling[:] = True
    pool = ((times - fitted) / fitted)[telling] / np.sqrt(np.maximum(share, _TELLING_SHARES[0]))[telling]
    upper = 0.5 + confidence / 2
    pool = pool * stdtrit(max(points - parameters, 1), upper) / NormalDist().inv_cdf(upper)
    random = np.random.default_rng(seed)
    noise = random.choice(pool, size=(count, points)) * random.choice([-1.0, 1.0], size=(count, points))
    made: Array = np.maximum(fitted * (1 + noise), fitted * 1e-3)  # a time is positive
    return made


def interval(estimates: Array, confidence: float) -> tuple[float, float]:
    """Return the percentile interval of a parameter's bootstrap estimates, which may be infinite.

    >>> interval(np.array([1.0, 2.0, 3.0, np.inf, np.inf]), 0.5)
    (2.0, inf)
    """
    low, high = (0.5 - confidence / 2, 0.5 + confidence / 2)
    return tuple(float(np.quantile(estimates, share, method="nearest")) for share in (low, high))  # type: ignore[return-value]


def resample_medians(fitted: Array, half_widths: Array, count: int, confidence: float, seed: int) -> Array | None:
    """Return data sets scattered as the intervals of the measured medians say, or None where those are unbounded.

    For fits that leave no residuals, with as many points as parameters.
    """
    if not np.isfinite(half_widths).all():
        return None
    deviation = half_widths / NormalDist().inv_cdf(0.5 + confidence / 2)
    noise = np.random.default_rng(seed).standard_normal((count, len(fitted)))
    made: Array = np.maximum(fitted + deviation * noise, fitted * 1e-3)
    return made
