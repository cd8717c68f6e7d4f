"""A time with its interval. Main entry: `Seconds`."""

from msgspec import Struct

from commmodel.machine import Parameter

__all__ = ["Seconds", "end_of"]


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
