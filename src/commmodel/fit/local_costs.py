"""Cost per byte of copying and combining in memory: δ and γ of March 2009 and of Thakur 2005.

The slope of T = a + δ n, no parameter negative, errors relative to the times. Sizes from 64 KiB on decide, where three
or more were measured: below, a copy is bound by the nearest cache, and costs a message little. Main entry: `fit_local`.
"""

from typing import Literal

import numpy as np

from commmodel.fit import bootstrap
from commmodel.fit.loggp import nonnegative
from commmodel.fit.segment import FitSettings
from commmodel.machine import Parameter
from commmodel.results import Measurements
from commmodel.results.configurations import Local

__all__ = ["fit_local"]

_LEAST_SIZES = 3
_LARGE = 64 << 10


def fit_local(
    measurements: Measurements, operation: Literal["copy", "reduction"], settings: FitSettings
) -> Parameter | None:
    """Return seconds per byte of an operation; None with fewer than three sizes."""
    rows = [
        (record.configuration.message_size, record.summary.median)
        for record in measurements.records
        if isinstance(record.configuration, Local) and record.configuration.operation == operation
    ]
    size, seconds = np.array(sorted(rows), dtype=float).reshape(-1, 2).T
    if np.unique(size[size >= _LARGE]).size >= _LEAST_SIZES:
        size, seconds = size[size >= _LARGE], seconds[size >= _LARGE]
    if np.unique(size).size < _LEAST_SIZES or (seconds <= 0).any():
        return None
    design, weights = np.stack([np.ones_like(size), size], axis=1), 1 / seconds**2
    estimate = nonnegative(design, weights, seconds)
    fitted = np.maximum(design @ estimate, 1e-3 * seconds)  # no time is 0
    fit = bootstrap.WeightedFit(design[:, estimate > 0], weights, fitted, seconds)
    resamples = bootstrap.resample(fit, settings.samples, settings.seed)
    slopes = np.array([nonnegative(design, weights, resample)[1] for resample in resamples])
    return bootstrap.parameter(float(estimate[1]), slopes, "s/B", settings.confidence)
