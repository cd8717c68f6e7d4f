"""Model lines: what a protocol segment predicts, and between which bounds, over the sizes for which it holds.

A segment without R_N, fitted to one pair alone, says nothing of several pairs: it has no line for them. Main
entries: `prediction`, `lines` and `limits`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from commmodel.machine import Parameter, Segment
from commmodel.models import maxrate
from commmodel.report.cells import bandwidth

__all__ = ["Line", "limits", "lines", "prediction"]

Floats = NDArray[np.float64]
_POINTS_PER_OCTAVE = 6
_SLOWEST = 1.0  # bytes per second; an interval that reaches down to no rate at all is drawn to here
_FASTEST = 1e-3  # of the model's time; an interval that reaches down to no time at all is drawn to here
_End = Literal["low", "value", "high"]


@dataclass(frozen=True)
class Line:
    """A segment's times over sizes, in bytes and seconds; without `fast` and `slow` where no interval is known."""

    message_size: Floats
    seconds: Floats
    fast: Floats | None
    slow: Floats | None


def _end(parameter: Parameter, end: _End) -> float:
    found: float | None = getattr(parameter, end)
    return parameter.value if found is None else found


def _rates(segment: Segment) -> tuple[Parameter, Parameter, Parameter | None] | None:
    """Return α, R_C and R_N of the segment's max-rate model, or of its postal one in the same terms."""
    if segment.max_rate is not None:
        return segment.max_rate.alpha, segment.max_rate.R_C, segment.max_rate.R_N
    if segment.postal is not None:
        return segment.postal.alpha, bandwidth(segment.postal.beta), None
    return None


def _times(segment: Segment, sizes: Floats, pairs: int, latency: _End, rate: _End) -> Floats | None:
    rates = _rates(segment)
    if rates is None or (rates[2] is None and pairs > 1):
        return None
    alpha = max(_end(rates[0], latency), 0.0)
    R_C = max(_end(rates[1], rate), _SLOWEST)
    R_N = math.inf if rates[2] is None else max(_end(rates[2], rate), _SLOWEST)
    # one by one: a few hundred plain calls are done long before numba would be loaded
    return np.array([maxrate.time(float(size), pairs, alpha, R_N, R_C) for size in sizes])


def _has_interval(segment: Segment) -> bool:
    rates = [parameter for parameter in _rates(segment) or () if parameter is not None]
    return any(parameter.low is not None or parameter.high is not None for parameter in rates)


def limits(segments: Sequence[Segment]) -> list[int]:
    """Return the largest size of each segment that has one."""
    return [segment.limit.value for segment in segments if segment.limit is not None]


def prediction(segments: Sequence[Segment], sizes: Floats, pairs: int) -> Floats:
    """Return the model's time for each size, nan where the model says nothing."""
    times = np.full(sizes.shape, math.nan)
    left = np.ones(sizes.shape, dtype=bool)
    for segment in segments:
        inside = left & (sizes <= (math.inf if segment.limit is None else segment.limit.value))
        predicted = _times(segment, sizes[inside], pairs, "value", "value")
        if predicted is not None:
            times[inside] = predicted
        left &= ~inside
    return times


def lines(segments: Sequence[Segment], smallest: float, largest: float, pairs: int) -> list[Line]:
    """Return one line for each segment that holds somewhere from `smallest` to `largest`, both above 0.

    The band between `fast` and `slow` has every parameter at an end of its interval.
    """
    found = []
    begin = smallest
    for segment in segments:
        end = largest if segment.limit is None else min(largest, segment.limit.value)
        if end >= begin:
            count = max(2, round(_POINTS_PER_OCTAVE * math.log2(end / begin)) + 1)
            sizes = np.geomspace(begin, end, count)
            seconds = _times(segment, sizes, pairs, "value", "value")
            banded = _has_interval(segment)
            fast = _times(segment, sizes, pairs, "low", "high") if banded else None
            slow = _times(segment, sizes, pairs, "high", "low") if banded else None
            if fast is not None and seconds is not None:
                fast = np.maximum(fast, _FASTEST * seconds)
            if seconds is not None and (seconds > 0).all():  # a model without cost has no place in these plots
                found.append(Line(sizes, seconds, fast, slow))
            begin = end + 1  # sizes are whole bytes: the next protocol begins there
    return found
