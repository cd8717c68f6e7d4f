"""Statistics of repeated measurements: quantiles and a confidence interval of the median.

Nothing is assumed about the distribution: times of communication are skewed and have several modes. Source:
Hoefler and Belli, "Scientific Benchmarking of Parallel Computing Systems" (2015), Section 3.1.3 (order
statistics after Le Boudec). Main entry: `summarise`.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from commmodel.arguments import Bounds, refuse
from commmodel.docstrings import with_attributes
from commmodel.signatures import checked

__all__ = ["Summary", "log_half_width", "median_interval", "median_ranks", "summarise"]

CONFIDENCE = 0.95
_Share = Annotated[float, Bounds(gt=0, lt=1)]
TO_DEVIATION = 1.4826
"""Standard deviations of normal numbers over their median absolute deviation."""
_FEW = 100
"""Samples up to which sorting them in Python is faster than calling numpy."""


@with_attributes
class Summary(msgspec.Struct, frozen=True):
    """Quantiles of samples and the interval of their median, in the samples' unit."""

    count: int
    minimum: float
    p10: float
    median: float
    p90: float
    p99: float
    maximum: float
    mean: float
    low: float
    high: float

    @property
    def relative_half_width(self) -> float:
        """Half the width of the median's interval over the median; infinite for a median of 0 with a width."""
        half_width = (self.high - self.low) / 2
        return half_width / self.median if self.median else (math.inf if half_width else 0.0)


@lru_cache(maxsize=1024)
def median_ranks(count: int, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """Return the ranks (from 1) of the order statistics that bound the median.

    They are ⌊(n − z√n)/2⌋ and ⌈1 + (n + z√n)/2⌉. With few samples, fewer than eight at 95 %, they lie
    outside 1 … n: then no interval of that confidence exists.

    >>> median_ranks(100), median_ranks(3)
    ((40, 61), (-1, 5))
    """
    from statistics import NormalDist  # loads six modules, which most commands do without

    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    spread = z * math.sqrt(count)
    return math.floor((count - spread) / 2), math.ceil(1 + (count + spread) / 2)


def median_interval(samples: ArrayLike, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the interval of the median; with too few samples for one, an unbounded interval.

    >>> median_interval(range(1, 101))
    (40.0, 61.0)
    >>> median_interval([1.0, 2.0, 3.0])
    (-inf, inf)
    """
    ordered = np.sort(np.asarray(samples, dtype=np.float64))
    low, high = median_ranks(ordered.size, confidence)
    if low < 1 or high > ordered.size:
        return -math.inf, math.inf
    return float(ordered[low - 1]), float(ordered[high - 1])


def log_half_width(values: Sequence[float] | np.ndarray, confidence: float = CONFIDENCE) -> float:
    """Return half of the width of Student's interval of the mean of logarithms, for values of launches.

    The interval of their geometric mean is that mean divided and multiplied by e to this; infinite for one value.

    >>> round(log_half_width([1.0, 1.1, 1.05, 1.02, 0.97]), 3)
    0.06
    >>> log_half_width([1.0])
    inf
    """
    from scipy.special import stdtrit

    logs = np.log(np.asarray(values, dtype=np.float64))
    if logs.size < 2:
        return math.inf
    return float(-stdtrit(logs.size - 1, (1 - confidence) / 2) * logs.std(ddof=1) / math.sqrt(logs.size))


def false_discovery_limit(p_values: Sequence[float], share: float) -> float:
    """Return the largest p-value of a finding, so that on average this share of the findings is false.

    Benjamini and Hochberg 1995; below 0 where there is none.

    >>> false_discovery_limit([0.001, 0.8, 0.02, 0.04], 0.05)
    0.02
    """
    ordered = np.sort(np.array(p_values))
    below = ordered[ordered <= share * np.arange(1, len(ordered) + 1) / len(ordered)]
    return float(below[-1]) if len(below) else -1.0


@checked
def summarise(samples: Sequence[float] | np.ndarray, confidence: _Share = CONFIDENCE) -> Summary:
    """Return quantiles, mean and the median's interval of at least one sample.

    Parameters
    ----------
    samples : sequence of float
        In any one unit.
    confidence : float
        Of the median's interval, such as 0.95.

    Examples
    --------
    >>> summarise([3.0, 1.0, 2.0]).median
    2.0
    """
    if getattr(samples, "ndim", 1) != 1 or not len(samples):
        raise refuse("samples", samples, "give a list of at least one")
    if len(samples) <= _FEW:
        return _summarise_few(samples, confidence)
    values = np.asarray(samples, dtype=np.float64)
    p10, median, p90, p99 = (float(value) for value in np.quantile(values, (0.1, 0.5, 0.9, 0.99)))
    low, high = median_interval(values, confidence)
    return Summary(
        count=values.size,
        minimum=float(values.min()),
        p10=p10,
        median=median,
        p90=p90,
        p99=p99,
        maximum=float(values.max()),
        mean=float(values.mean()),
        low=low,
        high=high,
    )


def _summarise_few(samples: Sequence[float] | np.ndarray, confidence: float) -> Summary:
    """Return the same as `summarise`, without numpy: files may hold a million short records."""
    ordered = sorted(map(float, samples))
    count = len(ordered)
    if math.isnan(sum(ordered)):
        ordered = [math.nan] * count  # as numpy has it
    low, high = median_ranks(count, confidence)
    is_known = low >= 1 and high <= count
    return Summary(
        count=count,
        minimum=ordered[0],
        p10=_quantile(ordered, 0.1),
        median=_quantile(ordered, 0.5),
        p90=_quantile(ordered, 0.9),
        p99=_quantile(ordered, 0.99),
        maximum=ordered[-1],
        mean=math.fsum(ordered) / count,
        low=ordered[low - 1] if is_known else -math.inf,
        high=ordered[high - 1] if is_known else math.inf,
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return a quantile, linear between neighbours, equal to numpy's to the last bit."""
    place = (len(ordered) - 1) * share
    below = math.floor(place)
    first, second, part = ordered[below], ordered[min(below + 1, len(ordered) - 1)], place - below
    return second - (second - first) * (1 - part) if part >= 0.5 else first + (second - first) * part
