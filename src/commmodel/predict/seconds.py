"""A time with its interval, and many of them. Main entries: `Seconds` and `Times`."""

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from commmodel.docstrings import with_attributes
from commmodel.machine import Parameter
from commmodel.machine.parameters import RATES
from commmodel.models.formula import Formula, Real, formula

End = Literal["low", "value", "high"]
"""Which ends of all parameters' intervals: those that make times short, the values, those that make them long."""
_FEW = 10_000
"""Points that plain Python evaluates before numba is loaded."""


@with_attributes
class Seconds(Struct, frozen=True):
    """A time with its interval; the ends are None where no parameter has an interval.

    >>> float(Seconds(2e-6, 1e-6, 3e-6))
    2e-06
    """

    seconds: float
    low: float | None = None
    high: float | None = None

    def __float__(self) -> float:
        """Return the time alone."""
        return self.seconds


def end_of(parameter: Parameter, slow: bool) -> float:
    """Return the end of a parameter's interval for which times are longest or shortest; its value without one.

    >>> end_of(Parameter(2e-6, "s", 1e-6, 3e-6), slow=True), end_of(Parameter(2e9, "B/s", 1e9, 3e9), slow=True)
    (3e-06, 1000000000.0)
    """
    is_rate = parameter.unit in RATES
    end = parameter.low if slow == is_rate else parameter.high
    return parameter.value if end is None else max(end, 0.0)


def value_at(parameter: Parameter, end: End) -> float:
    """Return a parameter's value, or an end of its interval as `end_of`.

    >>> value_at(Parameter(2e-6, "s", 1e-6, 3e-6), "high")
    3e-06
    """
    return parameter.value if end == "value" else end_of(parameter, slow=end == "high")


def at_ends(time: Callable[[End], float], *parameters: Parameter) -> Seconds:
    """Return a time with its interval, at the ends of the parameters' intervals; without one where none has one."""
    if all(parameter.low is None and parameter.high is None for parameter in parameters):
        return Seconds(time("value"))
    return Seconds(time("value"), time("low"), time("high"))


def elementwise(scalar: Callable[..., float], vector: Callable[..., Any], *columns: Any) -> Any:
    """Return `scalar` of numbers, or of each row of columns; of many rows `vector` of the columns, which is compiled.

    >>> elementwise(max, np.maximum, 1.0, 2.0), elementwise(max, np.maximum, np.array([1.0, 5.0]), np.array([2.0, 2.0]))
    (2.0, array([2., 5.]))
    """
    if not isinstance(columns[0], np.ndarray):
        return scalar(*columns)
    if columns[0].size < _FEW:
        return np.array([scalar(*row) for row in zip(*(column.tolist() for column in columns), strict=True)])
    return vector(*columns)


@formula
def _hypotenuse(x: Real, y: Real) -> Real:
    """Return sqrt(x² + y²) with the bits of math.hypot, which compiled code lacks: by products split as Dekker's."""
    if y > x:
        x, y = y, x
    if not y > 0.0 or x == math.inf:
        return x
    split = x * 134217729.0
    x_high = split - (split - x)
    x_low = x - x_high
    split = y * 134217729.0
    y_high = split - (split - y)
    y_low = y - y_high
    x_square, y_square = x * x, y * y
    total = x_square + y_square
    low = y_square - (total - x_square)
    low += (x_high * x_high - x_square) + 2.0 * x_high * x_low + x_low * x_low
    low += (y_high * y_high - y_square) + 2.0 * y_high * y_low + y_low * y_low
    root = math.sqrt(total + low)
    split = root * 134217729.0
    root_high = split - (split - root)
    root_low = root - root_high
    square = root * root
    square_low = (root_high * root_high - square) + 2.0 * root_high * root_low + root_low * root_low
    return root + ((total - square) + (low - square_low)) / (2.0 * root)


@formula
def _scattered_low(seconds: Real, low: Real, half: Real) -> Real:
    if not seconds > 0.0:
        return low
    return seconds * math.exp(-_hypotenuse(math.log(seconds / low), half)) if low > 0.0 else 0.0


@formula
def _scattered_high(seconds: Real, high: Real, half: Real) -> Real:
    if not seconds > 0.0 or high == math.inf:
        return high
    return seconds * math.exp(_hypotenuse(math.log(high / seconds), half))


def with_scatter(time: Seconds, scatter: float, confidence: float | None) -> Seconds:
    """Return a time whose interval also has how far measured times lie from the model, relative standard deviation.

    Both are independent, so their logarithms add in squares.

    >>> with_scatter(Seconds(1.0, 0.9, 1.1), 0.0, 0.95), round(with_scatter(Seconds(1.0, 1.0, 1.0), 0.1, 0.95).high, 3)
    (Seconds(seconds=1.0, low=0.9, high=1.1), 1.217)
    """
    if time.low is None or time.high is None or confidence is None or not scatter > 0:
        return time
    from statistics import NormalDist

    half = NormalDist().inv_cdf(0.5 + confidence / 2) * scatter

    def end(scattered: Formula[...], end: float) -> Any:
        scalar = scattered.python
        return elementwise(lambda *row: scalar(*row, half), lambda *row: scattered(*row, half), time.seconds, end)

    return Seconds(time.seconds, end(_scattered_low, time.low), end(_scattered_high, time.high))
