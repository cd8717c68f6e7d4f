"""Robust loss on logarithms of times, for measurements with occasional disturbances. Main entry: `minimise`.

With squares one disturbed record outvotes ten good ones, and relative errors call a model that is far too fast off by
at most 100 %. Here a residual is z = (log y − log T)/σ, with σ the noise, and its influence is ψ(z) = z (1 − (z/c)²)²,
and nothing beyond c: Tukey's biweight, with c = 4.685, which keeps 95 % of the efficiency of least squares (Beaton and
Tukey 1974; Holland and Welsch 1977). The minimum is found by least squares with weights that are computed anew from the
residuals, so that every solver of squares can be used, beginning with the majority of the points that agrees best.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from commmodel.arrays import Array

__all__ = ["Robust", "local_noise", "log_slope", "minimise"]

Fit = TypeVar("Fit")

WIDTH = 4.685  # c, of the biweight
_NOTHING = 1e-6  # instead of a weight of 0, with which a parameter might not be determined
_LEAST_STEEPNESS = 0.3
_LOW, _NORMAL_LOW = 0.4, 0.5244  # share of absolute residuals that tell the noise, and that quantile of normal ones
_NEAR = 1.5  # octaves: sizes that scatter alike
_ROWS = 1024  # of the weights between sizes, that are there at once
_WORTH = 6.0  # points that the common noise is worth beside those near a point
_LEAST_SHARE = 0.1  # of the common noise that a residual counts as
_MEAN_LOG = -0.635  # of the absolute value of normal numbers
_LEAST_SCALE = 0.01  # relative; two times are hardly ever more alike
_OWN_SHARE = 0.5  # of the scatter that is no record's own, at least
_ROUNDS = 25
_CORE = 0.6  # of the points, which alone are fitted first
_CORE_ROUNDS = 4
_OUTSIDE = 1e-4  # weight of the others meanwhile: enough to keep every parameter determined
_SETTLED = 1e-4
_CLOSE = 1e-9


class Robust(NamedTuple, Generic[Fit]):
    """A robust fit, and the weighted least-squares problem with the same solution: arrays of shape (points,)."""

    fit: Fit
    fitted: Array
    """The model's times."""
    noise: Array
    """σ of each point, relative."""
    pseudo: Array
    """Times of which the fit is the least squares solution with weights 1/(fitted σ)²; none is far off."""


def log_slope(first: Array, second: Array) -> Array:
    """Return (log second − log first)/(second − first): the mean of 1/x between two times.

    >>> log_slope(np.array([1.0, 2.0]), np.array([np.e, 2.0])).round(3).tolist()
    [0.582, 0.5]
    """
    difference = second - first
    close = np.abs(difference) < _CLOSE * first
    return np.where(close, 1 / first, np.log(second / first) / np.where(close, 1.0, difference))


def _influence_share(residual: Array) -> Array:
    """Return ψ(z)/z."""
    return np.maximum(1 - (residual / WIDTH) ** 2, 0.0) ** 2


def _scale(residual: Array, error: Array, parameters: int) -> float:
    """Return the noise in excess of the records' own error, from a quantile of the absolute residuals.

    As many of the smallest as there are parameters are left out: these a fit can make 0.
    """
    telling = np.sort(np.abs(residual))[min(parameters, residual.size - 1) :]
    deviation = float(np.quantile(telling, _LOW)) / _NORMAL_LOW
    rest = deviation**2 - float(np.median(error**2))
    return float(np.sqrt(max(rest, (_OWN_SHARE * deviation) ** 2)))


def _near(values: Array, message_size: Array, *, itself: bool) -> tuple[Array, Array]:
    """Return for each point the weighted sum of all values, those of near sizes weighing more, and the weights' sum.

    Without the points of the size `itself`, which may all be off alike, or with them. Not all weights are there at
    once: they would be the sizes squared.
    """
    octave, place = np.unique(np.log2(np.maximum(message_size, 1)), return_inverse=True)
    of_size = np.stack([np.bincount(place, weights=values), np.bincount(place)], axis=1)
    sums = np.empty_like(of_size)
    for begin in range(0, octave.size, _ROWS):
        rows = slice(begin, begin + _ROWS)
        near = np.exp(-(((octave[rows, None] - octave) / _NEAR) ** 2) / 2)
        if not itself:
            near[np.arange(near.shape[0]), begin + np.arange(near.shape[0])] = 0.0
        sums[rows] = near @ of_size
    return sums[place, 0], sums[place, 1]


def local_noise(residual: Array, scale: float, message_size: Array, *, itself: bool = False) -> Array:
    """Return the noise at each point, averaged over neighbouring sizes in logarithms and shrunk to the common noise.

    Parameters
    ----------
    residual, message_size : shape (points,)
        Relative residuals, and bytes.
    scale : float
        The common noise.
    itself : bool
        Whether the residuals of the size itself tell of its noise, too.

    Examples
    --------
    >>> local_noise(np.repeat([0.01, 0.04], 50), 0.02, np.repeat([1, 1 << 20], 50), itself=True).round(3).tolist()[::50]
    [0.019, 0.065]
    """
    logs = np.log(np.maximum(np.abs(residual) / scale, _LEAST_SHARE)) - _MEAN_LOG
    near, weight = _near(logs, message_size, itself=itself)
    return scale * np.exp(near / (weight + _WORTH))


def minimise(
    solve: Callable[[Array, Array], Fit],
    predict: Callable[[Fit], Array],
    message_size: Array,
    times: Array,
    error: Array,
    parameters: int,
) -> Robust[Fit]:
    """Return the fit with the smallest loss.

    Parameters
    ----------
    solve : callable
        (weights, times), both of shape (points,), to the fit that minimises the weighted squares.
    predict : callable
        A fit to its times, shape (points,), all positive.
    message_size, times, error : shape (points,)
        Bytes, measured times, and the relative error of each that its own samples show.
    parameters : int
        How many are fitted; with fewer than two points more, the squares of relative residuals are minimised.

    Examples
    --------
    >>> times = np.array([1.0, 1.02, 0.98, 1.01, 0.99, 1.0, 30.0])
    >>> mean, same = lambda weights, times: weights @ times / weights.sum(), lambda mean: np.full(7, mean)
    >>> found = minimise(mean, same, 2.0 ** np.arange(7), times, np.zeros(7), 1)
    >>> round(float(found.fit), 2)
    1.0
    """
    worth = 1 / (_LEAST_SCALE**2 + error**2)
    fit = solve(worth / times**2, times)
    fitted = predict(fit)
    if times.size - parameters < 2:
        return Robust(fit, fitted, np.full(times.size, _LEAST_SCALE), times)
    core = max(int(np.ceil(_CORE * times.size)), parameters + 1)
    distance = np.log(times / fitted)  # the slowest are left out first
    for _ in range(_CORE_ROUNDS):  # then the majority is taken that agrees best (Rousseeuw and Van Driessen 1999)
        nearest = np.argsort(distance, kind="stable")[:core]
        share = np.full(times.size, _OUTSIDE)
        share[nearest] = 1.0
        fit = solve(share * worth / (times * fitted), times)
        before, fitted = fitted, predict(fit)
        distance = np.abs(np.log(times / fitted))
        if np.abs(fitted / before - 1).max() < _SETTLED:
            break
    # The noise is the core's: estimated anew, it would let a line between two camps justify itself.
    scale = _scale(np.log(times / fitted), error, parameters)
    noise = np.hypot(local_noise(np.log(times / fitted), max(scale, _LEAST_SCALE), message_size), error)
    for _ in range(_ROUNDS):
        residual = np.log(times / fitted) / noise
        share = np.maximum(_influence_share(residual), _NOTHING)
        fit = solve(share * log_slope(fitted, times) / (fitted * noise**2), times)
        before, fitted = fitted, predict(fit)
        if np.abs(fitted / before - 1).max() < _SETTLED:
            break
    residual = np.log(times / fitted) / noise
    share = _influence_share(residual)
    inside = np.minimum(np.abs(residual / WIDTH), 1.0) ** 2
    steepness = (1 - inside) * (1 - 5 * inside)  # of ψ, by whose mean Huber's pseudo-values are scaled
    near, weight = _near(steepness, message_size, itself=True)
    local = (near + _WORTH * steepness.mean()) / (weight + _WORTH)
    correction = 1 + parameters / times.size * steepness.var() / max(steepness.mean(), _LEAST_STEEPNESS) ** 2
    influence = residual * share / np.maximum(local, _LEAST_STEEPNESS) * correction  # Huber 1981, Section 7.6
    return Robust(fit, fitted, noise, fitted * np.exp(influence * noise))
