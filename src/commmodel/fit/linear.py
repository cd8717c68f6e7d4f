"""Robust fit of times that are linear in parameters ≥ 0, with intervals. Main entry: `fit_linear`."""

from typing import NamedTuple

import numpy as np

from commmodel.arrays import Array
from commmodel.fit import bootstrap
from commmodel.fit.points import Points
from commmodel.fit.robust import minimise
from commmodel.fit.segment import FitSettings
from commmodel.machine import Parameter

_LEAST_SHARE = 1e-3  # of a measured time: no time is 0


class LinearFit(NamedTuple):
    """Parameters, none below zero, and what the data say of their accuracy."""

    estimate: Array
    """Shape (parameters,)."""
    fitted: Array
    """The model's times, shape (points,)."""
    estimates: Array | None
    """Of resampled data sets, shape (samples, parameters); None with fewer than two points more than parameters."""
    spread: Array | None
    """How far the interval of the model's time reaches below and above it, in logarithms, shape (2, points)."""

    def parameter(self, column: int, unit: str, settings: FitSettings) -> Parameter:
        """Return a parameter with its interval."""
        estimates = None if self.estimates is None else self.estimates[:, column]
        return bootstrap.parameter(float(self.estimate[column]), estimates, unit, settings.confidence)


def nonnegative(design: Array, weights: Array, seconds: Array) -> Array:
    """Return the parameters ≥ 0 that minimise Σ w (design · parameters − seconds)², shape (parameters,).

    >>> nonnegative(np.array([[1.0, 0.0], [1.0, 1.0]]), np.ones(2), np.array([2.0, 1.0])).tolist()
    [1.5, 0.0]
    """
    from scipy.optimize import nnls

    root = np.sqrt(weights)[:, None]
    scale = np.linalg.norm(design * root, axis=0)
    scale[scale == 0] = 1.0
    return np.asarray(nnls(design * root / scale, seconds * root[:, 0])[0] / scale)


def fit_linear(design: Array, points: Points, settings: FitSettings, constant: Array | float = 0.0) -> LinearFit:
    """Fit seconds = design · parameters + constant, with the robust loss.

    Parameters
    ----------
    design : shape (points, parameters)
        What each parameter adds to each time.
    points : Points
        Times, with their errors.
    settings : FitSettings
    constant : shape (points,), optional
        Part of each time that is no parameter's.
    """

    def solve(weights: Array, times: Array) -> Array:
        return nonnegative(design, weights, times - constant)

    def predict(parameters: Array) -> Array:
        return np.maximum(design @ parameters + constant, _LEAST_SHARE * points.seconds)

    best = minimise(
        solve, predict, points.message_size.astype(np.float64), points.seconds, points.error, design.shape[1]
    )
    free = design[:, best.fit > 0]
    if len(points) - free.shape[1] < 2:
        return LinearFit(best.fit, best.fitted, None, None)
    weights = 1 / (best.fitted * best.noise) ** 2
    noise = bootstrap.WeightedFit(
        free, weights, best.fitted, best.pseudo, best.noise, points.message_size, points.drift,
        points.freedom,
    )  # fmt: skip
    resampled = bootstrap.resample(noise, settings.samples, settings.seed)
    estimates = np.array([solve(weights, times) for times in resampled])
    spread = bootstrap.distances(estimates @ design.T + constant, best.fitted, settings.confidence)
    return LinearFit(best.fit, best.fitted, estimates, spread)
