"""Time of a configuration without disturbances: the modes of a record's samples. Main entry: `undisturbed`.

On a shared machine the scheduler takes a core away, and a neighbour slows the memory. Samples then have several modes,
often an order of magnitude apart, and a median is that of whichever holds the majority. So the density of the
logarithms is cut at its valleys, and the fastest mode that holds a fair share of the samples is taken. Two modes that
are close are one: protocols and caches make such, and their median is as good a time as any.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from commmodel.arrays import Array
from commmodel.statistics import median_interval

__all__ = ["APART", "LEAST_SAMPLES", "TimeMode", "Undisturbed", "undisturbed"]

APART = 1.3
"""Modes whose times differ by a smaller factor are one."""
LEAST_SAMPLES = 5
"""Of a mode."""
_BANDWIDTH = 0.04  # of the density, in the logarithm: 4 %
_STEPS = 4  # of the grid in a bandwidth
_WIDEST = math.log(1e4)  # slower samples than so many times the fastest are put together
_VALLEY = 0.7  # of the lower peak's density; a shallower one parts nothing
_LEAST_SHARE = 0.1  # of the samples of a mode
_INDEPENDENT = 25  # at most: samples that follow each other are alike
_DISTURBED = 0.15  # relative error of a time from a record of which nearly all else was disturbed
_TO_DEVIATION = 1 / 1.349  # of the range of the middle half


class TimeMode(NamedTuple):
    """A part of a record's samples."""

    share: float
    median: float


class Undisturbed(NamedTuple):
    """The fastest mode of a record's samples."""

    median: float
    low: float
    """Ends of the interval of its median; infinite where it has too few samples for one."""
    high: float
    error: float
    """Relative standard error of the median, as far as the record itself shows it; 0 where all samples are one."""
    modes: tuple[TimeMode, ...]
    """All of them, ascending."""


def _cuts(logs: Array) -> list[int]:
    """Return the places between modes in ascending logarithms."""
    if logs.size < 2 * LEAST_SAMPLES:
        return []
    step = _BANDWIDTH / _STEPS
    begin = logs[0] - 3 * _BANDWIDTH
    cell = ((np.minimum(logs, logs[0] + _WIDEST) - begin) / step).astype(np.intp)
    reach = np.arange(-4 * _STEPS, 4 * _STEPS + 1) / _STEPS
    counts = np.bincount(cell, minlength=int(cell[-1]) + 4 * _STEPS)
    density = np.convolve(counts, np.exp(-(reach**2) / 2), "same")
    inner = density[1:-1]
    peaks = np.flatnonzero((inner >= density[:-2]) & (inner > density[2:])) + 1
    least = max(_LEAST_SHARE * logs.size, LEAST_SAMPLES)
    cuts: list[int] = []
    highest = peaks[0]
    for peak in peaks[1:]:
        valley = highest + int(density[highest : peak + 1].argmin())
        is_deep = density[valley] < _VALLEY * min(density[highest], density[peak])
        if is_deep and (peak - highest) * step > math.log(APART):
            below = int(np.searchsorted(cell, valley))
            if below - (cuts[-1] if cuts else 0) >= least and logs.size - below >= least:
                cuts.append(below)
                highest = peak
                continue
        if density[peak] > density[highest]:
            highest = peak
    return cuts


def undisturbed(samples: Sequence[float] | Array) -> Undisturbed:
    """Return the fastest mode with at least a tenth of the samples, and at least five.

    Parameters
    ----------
    samples : array_like
        At least one, in any unit; zeros are told from nothing.

    Examples
    --------
    >>> found = undisturbed([1.0, 1.01, 0.99, 1.02, 0.98, 1.0] + [20.0, 21.0, 19.0, 20.5, 19.5, 20.0, 22.0, 18.0])
    >>> found.median, [(round(mode.share, 2), mode.median) for mode in found.modes]
    (1.0, [(0.43, 1.0), (0.57, 20.0)])
    """
    values = np.sort(np.asarray(samples, dtype=np.float64))
    if values[0] <= 0:
        return Undisturbed(
            float(np.median(values)), *median_interval(values), 0.0, (TimeMode(1.0, float(np.median(values))),)
        )
    logs = np.log(values)
    cuts = _cuts(logs)
    parts = np.split(values, cuts)
    modes = tuple(TimeMode(part.size / values.size, float(np.median(part))) for part in parts)
    fastest = parts[0]
    low, high = median_interval(fastest)
    quarter, three_quarters = np.quantile(np.log(fastest), (0.25, 0.75))
    deviation = _TO_DEVIATION * (three_quarters - quarter)
    standard_error = math.sqrt(math.pi / 2 / min(fastest.size, _INDEPENDENT)) * deviation
    error = math.hypot(standard_error, _DISTURBED * (1 - modes[0].share))
    return Undisturbed(modes[0].median, low, high, float(error), modes)
