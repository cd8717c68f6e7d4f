"""One clock for all ranks: ticks of a rank to seconds of rank 0's clock. Main entry: `rank_clock`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from commmodel._core.recordings.logs import Clock


@dataclass(frozen=True)
class ClockComparison:
    """A rank's clock beside rank 0's."""

    ticks: int
    """Of the rank, since its first tick."""
    seconds: float
    """Of rank 0 at that tick, since the first tick of rank 0."""
    uncertainty: float
    """Half of the interval in which that lies, in seconds."""


def rank_clock(ticks_per_second: float, comparisons: Sequence[ClockComparison], offset: float = 0.0) -> Clock:
    """Return the clock of a rank: ticks as seconds since the first tick of rank 0.

    Between two comparisons times are interpolated; before the first and after the last, and with fewer than two, a
    second has the given number of ticks. `offset` is the seconds of rank 0's clock at the first tick, where there is no
    comparison.

    >>> clock = rank_clock(10.0, [ClockComparison(0, 2.0, 0.0), ClockComparison(100, 13.0, 0.0)])
    >>> [clock.seconds(ticks) for ticks in (0.0, 50.0, 110.0)]
    [2.0, 7.5, 14.0]
    """
    usable: list[ClockComparison] = []
    for comparison in comparisons:
        later = not usable or (comparison.ticks > usable[-1].ticks and comparison.seconds > usable[-1].seconds)
        if math.isfinite(comparison.seconds) and abs(comparison.seconds) < _LONGEST and later:
            usable.append(comparison)
    usable = usable or [ClockComparison(0, offset, 0.0)]
    ticks, seconds = [float(moment.ticks) for moment in usable], [moment.seconds for moment in usable]
    return Clock(ticks, seconds, ticks_per_second)


_LONGEST = 1e10
"""Seconds; a larger time is damage."""
