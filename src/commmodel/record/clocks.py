"""One clock for all ranks: ticks of a rank to seconds of rank 0's clock. Main entry: `RankClock`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ClockComparison", "RankClock"]


@dataclass(frozen=True)
class ClockComparison:
    """A rank's clock beside rank 0's.

    Attributes
    ----------
    ticks : int
        Of the rank, since its first tick.
    seconds : float
        Of rank 0 at that tick, since the first tick of rank 0.
    uncertainty : float
        Half of the interval in which that lies, in seconds.
    """

    ticks: int
    seconds: float
    uncertainty: float


class RankClock:
    """Ticks of a rank as seconds since the first tick of rank 0.

    Between two comparisons times are interpolated; before the first and after the last, and with fewer than two, a
    second has the given number of ticks.

    Parameters
    ----------
    ticks_per_second : float
    comparisons : sequence of ClockComparison
    offset : float
        Seconds of rank 0's clock at the first tick, where there is no comparison.

    Examples
    --------
    >>> clock = RankClock(10.0, [ClockComparison(0, 2.0, 0.0), ClockComparison(100, 13.0, 0.0)])
    >>> clock.seconds(np.array([0.0, 50.0, 110.0])).tolist()
    [2.0, 7.5, 14.0]
    """

    def __init__(self, ticks_per_second: float, comparisons: Sequence[ClockComparison], offset: float = 0.0) -> None:
        usable: list[ClockComparison] = []
        for comparison in comparisons:
            later = not usable or (comparison.ticks > usable[-1].ticks and comparison.seconds > usable[-1].seconds)
            if np.isfinite(comparison.seconds) and abs(comparison.seconds) < _LONGEST and later:
                usable.append(comparison)
        self._rate = ticks_per_second
        self._ticks = np.array([comparison.ticks for comparison in usable] or [0], dtype=np.float64)
        self._seconds = np.array([comparison.seconds for comparison in usable] or [offset], dtype=np.float64)
        self.comparisons = tuple(usable)

    def seconds(self, ticks: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return times of rank 0's clock."""
        times = np.interp(ticks, self._ticks, self._seconds)
        beyond = np.minimum(ticks - self._ticks[0], 0.0) + np.maximum(ticks - self._ticks[-1], 0.0)
        result: NDArray[np.float64] = times + beyond / self._rate
        return result


_LONGEST = 1e10
"""Seconds; a larger time is damage."""
