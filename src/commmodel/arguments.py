"""What public functions are given: whole numbers and finite ones, by name. Main entries: `whole`, `finite`, `share`.

A NaN, a text, a fraction of a byte or a truth value is refused where it comes in, in words that name it.
"""

import math
import operator
from contextlib import suppress
from typing import Any

from commmodel.errors import InputError

__all__ = ["LARGEST", "SMALLEST", "finite", "is_measurable", "share", "whole"]

SMALLEST, LARGEST = 1e-30, 1e30
"""Between them lies all that is measured or assumed, in base units; squares of ratios of what lies beyond overflow."""
_TOO_LARGE = 2**63


def is_measurable(value: float) -> bool:
    """Return whether a value may have been measured.

    >>> is_measurable(2.5e-6), is_measurable(0.0), is_measurable(1e-320), is_measurable(float("nan"))
    (True, True, False, False)
    """
    return value == 0 or SMALLEST <= value <= LARGEST


def whole(name: str, value: object) -> int:
    """Return a whole number as an int; a float that is one will do.

    Raises
    ------
    InputError
        For a fraction, NaN, infinity, a text, a truth value.

    Examples
    --------
    >>> whole("message_size", 8.0)
    8
    >>> whole("message_size", "8")
    Traceback (most recent call last):
    commmodel.errors.InputError: message_size is '8': give a whole number, not a text
    """
    if isinstance(value, str | bytes | bytearray):
        raise InputError(f"{name} is {value!r}: give a whole number, not a text")
    number: Any = value
    try:
        found = operator.index(number) if not isinstance(number, float) else int(number)
    except (TypeError, ValueError, OverflowError):  # ValueError: of a NaN; OverflowError: of what is infinite
        found = None
    if found is None or found != number or isinstance(value, bool):
        raise InputError(f"{name} is {repr(value)[:60]}: give a whole number")
    if abs(found) >= _TOO_LARGE:
        raise InputError(f"{name} is {found:.3g}: give a number below 2^63")
    return found


def finite(name: str, value: object) -> float:
    """Return a finite number as a float.

    Raises
    ------
    InputError
        For NaN, infinity, a text, a truth value.

    Examples
    --------
    >>> finite("memory_copy", 1e-10)
    1e-10
    >>> finite("memory_copy", float("nan"))
    Traceback (most recent call last):
    commmodel.errors.InputError: memory_copy is nan: it must be finite, give a number
    """
    if isinstance(value, str | bytes | bytearray):
        raise InputError(f"{name} is {value!r}: give a number, not a text")
    given: Any = value
    with suppress(TypeError, ValueError, OverflowError):
        if not isinstance(value, bool) and math.isfinite(number := float(given)):
            return number
    raise InputError(f"{name} is {repr(value)[:60]}: it must be finite, give a number")


def share(name: str, value: object, least: float = 0.01, most: float = 0.999999) -> float:
    """Return a number between two others, such as a confidence.

    >>> share("confidence", 0.95)
    0.95
    >>> share("confidence", 95)
    Traceback (most recent call last):
    commmodel.errors.InputError: confidence 95: it must be between 0 and 1, from 0.01 to 0.999999, such as 0.95
    """
    number = finite(name, value)
    if not least <= number <= most:
        raise InputError(f"{name} {number:g}: it must be between 0 and 1, from {least} to {most}, such as 0.95")
    return number
