"""Cost per byte of copying and combining in memory: δ and γ of March 2009 and of Thakur 2005.

The slope of T = a + δ n, no parameter negative, fitted as robustly as ping-pongs. Sizes from 64 KiB on decide, where
three or more were measured: below, a copy is bound by the nearest cache, and costs a message little. Main entry:
`fit_local`.
"""

from typing import Literal

import numpy as np

from commmodel.fit.linear import fit_linear
from commmodel.fit.points import points_of
from commmodel.fit.segment import FitSettings
from commmodel.fit.visits import visit_times
from commmodel.machine import Parameter
from commmodel.results import Measurements
from commmodel.results.configurations import Local

_LEAST_SIZES = 3
_LARGE = 64 << 10


def fit_local(
    measurements: Measurements, operation: Literal["copy", "reduction"], settings: FitSettings
) -> Parameter | None:
    """Return seconds per byte of an operation; None with fewer than three sizes."""
    points = points_of(
        [
            (record.configuration.message_size, 1, visit_times(record))
            for record in measurements.records
            if isinstance(record.configuration, Local) and record.configuration.operation == operation
        ]
    )
    large = points.where(points.message_size >= _LARGE)
    if np.unique(large.message_size).size >= _LEAST_SIZES:
        points = large
    if np.unique(points.message_size).size < _LEAST_SIZES or (points.seconds <= 0).any():
        return None
    design = np.stack([np.ones(len(points)), points.message_size], axis=1)
    return fit_linear(design, points, settings).parameter(1, "s/B", settings)
