"""A time with its interval. Main entry: `Seconds`."""

import math
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from commmodel.machine import Parameter

End = Literal["low", "value", "high"]
"""Which ends of all parameters' intervals: those that make times short, the values, those that make them long."""


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
    is_rate = parameter.unit == "B/s"
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


def with_scatter(time: Seconds, scatter: float, confidence: float | None) -> Seconds:
    """Return a time whose interval also has how far measured times lie from the model, relative standard deviation.

    Both are independent, so their logarithms add in squares.

    >>> with_scatter(Seconds(1.0, 0.9, 1.1), 0.0, 0.95), round(with_scatter(Seconds(1.0, 1.0, 1.0), 0.1, 0.95).high, 3)
    (Seconds(seconds=1.0, low=0.9, high=1.1), 1.217)
    """
    if time.low is None or time.high is None or confidence is None or not scatter > 0 or not time.seconds > 0:
        return time
    from statistics import NormalDist

    half = NormalDist().inv_cdf(0.5 + confidence / 2) * scatter
    low = time.seconds * math.exp(-math.hypot(math.log(time.seconds / time.low), half)) if time.low > 0 else 0.0
    high = (
        time.seconds * math.exp(math.hypot(math.log(time.high / time.seconds), half))
        if time.high < math.inf
        else math.inf
    )
    return Seconds(time.seconds, low, high)
