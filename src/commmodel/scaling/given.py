"""Checks of numbers that callers give. Main entries: `number`, `numbers` and `whole`."""

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel.errors import InputError

__all__ = ["number", "numbers", "share", "whole"]

_SHOWN = 40


def _shown(given: object) -> str:
    words = repr(given)
    return words if len(words) <= _SHOWN else f"{words[: _SHOWN - 3]}..."


def numbers(name: str, given: Any) -> NDArray[np.float64]:
    """Return an array of numbers, which may be infinite or nan.

    >>> numbers("values", ["many"])
    Traceback (most recent call last):
    commmodel.errors.InputError: values ['many']: they must be numbers, lists of them equally long
    """
    try:
        array = np.asarray(given)
        if array.dtype.kind in "biuf" or (array.dtype.kind == "O" and given is not None and array.ndim):
            return array.astype(np.float64)
        if not array.size:
            return np.empty(array.shape)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{name} {_shown(given)}: they must be numbers, lists of them equally long")


def number(name: str, given: Any, least: float = -math.inf, *, above: float = -math.inf) -> float:
    """Return a finite number ≥ `least` and > `above`.

    >>> number("scale", 8, 1), number("each", 0.5, above=0)
    (8.0, 0.5)
    >>> number("scale", float("nan"), 1)
    Traceback (most recent call last):
    commmodel.errors.InputError: scale nan: it must be a number of at least 1
    """
    try:
        value = math.nan if isinstance(given, str | bytes) else float(given)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if math.isfinite(value) and value >= least and value > above:
        return value
    wanted = f" of at least {least:g}" if least > -math.inf else f" above {above:g}" if above > -math.inf else ""
    raise InputError(f"{name} {_shown(given)}: it must be a number{wanted}")


def whole(name: str, given: Any, least: int, most: int) -> int:
    """Return an integer within limits.

    >>> whole("draws", 200, 1, 1000)
    200
    >>> whole("draws", 2.5, 1, 1000)
    Traceback (most recent call last):
    commmodel.errors.InputError: draws 2.5: it must be a whole number between 1 and 1000
    """
    try:
        value = operator.index(given)
    except TypeError:
        value = least - 1
    if not least <= value <= most:
        raise InputError(f"{name} {_shown(given)}: it must be a whole number between {least} and {most}")
    return value


def share(name: str, given: Any) -> float:
    """Return a number between 0 and 1, both excluded.

    >>> share("confidence", 95)
    Traceback (most recent call last):
    commmodel.errors.InputError: confidence 95: it must be between 0 and 1, such as 0.95
    """
    try:
        value = number(name, given)
    except InputError:
        value = math.nan
    if not 0 < value < 1:
        raise InputError(f"{name} {_shown(given)}: it must be between 0 and 1, such as 0.95")
    return value
