"""The atom of every table: a number in words, and below it what qualifies that number.

Terminal and page show the same cells, each in its own way, so that they can never disagree. Main entries: `Cell`
and `parameter_cell`.
"""

import math
from typing import NamedTuple

from commmodel.machine import Parameter
from commmodel.units import format_interval, format_quantity

__all__ = ["NOTHING", "Cell", "bandwidth", "factor_cell", "measured_cell", "parameter_cell"]


class Cell(NamedTuple):
    """A value as text, and its interval or another remark on it."""

    value: str
    detail: str = ""

    def __str__(self) -> str:
        """Return both on one line."""
        return f"{self.value} {self.detail}".rstrip()


NOTHING = Cell("–")


def _interval_cell(value: float, low: float | None, high: float | None, unit: str) -> Cell:
    number, bracket, interval = format_interval(value, low, high, unit).partition(" [")
    return Cell(number, f"[{interval}" if bracket else "")


def parameter_cell(parameter: Parameter, unit: str) -> Cell:
    """Return a model's parameter with its interval; `unit` is the base unit of parameters of that name.

    >>> parameter_cell(Parameter(1.5e-6, low=1.4e-6, high=1.6e-6), "s")
    Cell(value='1.50 us', detail='[1.40, 1.60]')
    >>> print(parameter_cell(Parameter(float("inf"), low=12e9), "B/s"))
    not limiting up to 12.0 GB/s
    >>> print(parameter_cell(Parameter(0.0, low=0.0, high=5e-5), "s"))
    not determined up to 50.0 us
    """
    if parameter.value == 0 and unit == "s" and parameter.high is not None and math.isfinite(parameter.high):
        return Cell("not determined", f"up to {format_quantity(parameter.high, unit)}")
    if not parameter.is_limiting:
        bound = parameter.low
        known = bound is not None and math.isfinite(bound) and bound > 0
        return Cell("not limiting", f"up to {format_quantity(bound, unit)}" if known and bound is not None else "")
    return _interval_cell(parameter.value, parameter.low, parameter.high, unit)


def measured_cell(value: float, low: float, high: float, unit: str) -> Cell:
    """Return a median with its interval, or alone where there were too few samples for one.

    >>> print(measured_cell(2e-6, float("-inf"), float("inf"), "s"))
    2.00 us
    """
    if math.isfinite(low) and math.isfinite(high):
        return _interval_cell(value, low, high, unit)
    return _interval_cell(value, None, None, unit)


def factor_cell(parameter: Parameter) -> Cell:
    """Return a number without a unit, and its interval.

    >>> print(factor_cell(Parameter(1.8, low=1.55, high=2.0)))
    1.80 [1.55, 2.00]
    """
    cell = _interval_cell(parameter.value, parameter.low, parameter.high, "")
    return Cell(cell.value.rstrip(), cell.detail)


def _inverse(value: float | None) -> float | None:
    if value is None:
        return None
    return 1 / value if value > 0 else math.inf


def bandwidth(beta: Parameter) -> Parameter:
    """Return 1/β as a rate; the ends of the interval change places.

    >>> bandwidth(Parameter(0.5, "s/B", low=0.25, high=1.0))
    Parameter(value=2.0, unit='B/s', low=1.0, high=4.0)
    """
    return Parameter(_inverse(beta.value) or math.inf, "B/s", low=_inverse(beta.high), high=_inverse(beta.low))
