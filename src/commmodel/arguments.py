"""Checks of the arguments of public functions: words, numbers within bounds, numbers of ranks that fit into memory.

What is wrong is refused where it comes in, in one line that names the argument: a NaN, a text, a fraction of a byte, a
truth value. Main entries: `choice`, `whole`, `integer`, `finite`, `share`, `numbers`, `several` and `rank_count`; for
all arguments of a function and all fields of a struct, by their types, `commmodel.signatures`, which takes bounds from
types such as `Count`, and says them in docstrings.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, get_args

from commmodel.errors import InputError, choice_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "LARGEST", "MOST_RANKS", "SMALLEST", "Bounds", "Count", "Dimensions", "NotNegative", "Numbers", "Positive", "Scale",
    "Whole",
    "broadcast", "choice", "enough_memory", "finite", "integer", "is_measurable", "numbers", "occurring_ranks",
    "rank_count", "refuse", "several", "share", "whole",
]  # fmt: skip


class Bounds(NamedTuple):
    """What a number may be, and how long a list; in ``Annotated``. ``msgspec.Meta`` says the same of files.

    >>> print(Bounds(ge=1), "|", Bounds(gt=0, lt=math.inf), "|", Bounds(1, le=3))
    at least 1 | above 0 | from 1 to 3
    """

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    min_length: int | None = None

    def hold(self, least: Any, most: Any) -> bool:
        """Whether numbers from one to another are within the bounds."""
        return (
            (self.ge is None or least >= self.ge) and (self.gt is None or least > self.gt)
            and (self.le is None or most <= self.le) and (self.lt is None or most < self.lt)
        )  # fmt: skip

    def __str__(self) -> str:
        if self.ge is not None and self.le not in (None, _LARGEST_WHOLE):
            return f"from {self.ge:g} to {self.le:g}"
        words = {"ge": "at least {:g}", "gt": "above {:g}", "le": "at most {:g}", "lt": "below {:g}"}
        unsaid = (None, math.inf, _LARGEST_WHOLE)
        return " and ".join(
            word.format(bound) for name, word in words.items() if (bound := getattr(self, name)) not in unsaid
        )

    def __repr__(self) -> str:
        return f"{self}"

    def refusal(self, name: str, value: object, *, is_whole: bool) -> InputError:
        """Return the error of a number that is not within the bounds.

        >>> print(Bounds(ge=1).refusal("processes", 0, is_whole=True))
        processes is 0: give a whole number from 1 up
        """
        kind = "whole number" if is_whole else "finite number" if self.lt == math.inf else "number"
        is_lowest = self.ge is not None and str(self).startswith("at least")
        return refuse(name, value, f"give a {kind} {f'from {self.ge:g} up' if is_lowest else self}")


class _Array(Protocol):
    def __array__(self, *arguments: Any, **keywords: Any) -> Any: ...


Numbers = Sequence[float] | _Array
"""Many numbers: a list, an array, a Series."""
Count = Annotated[int, Bounds(ge=1)]
"""Of processes, repetitions and other things."""
Whole = Annotated[int, Bounds(ge=0)]
"""A size in bytes, a seed, a rank."""
Dimensions = Annotated[int, Bounds(ge=1, le=3)]
"""Of a grid."""
Positive = Annotated[float, Bounds(gt=0, lt=math.inf)]
"""A rate, a factor."""
NotNegative = Annotated[float, Bounds(ge=0, lt=math.inf)]
"""A time, a size in bytes."""
Scale = Annotated[float, Bounds(ge=1, lt=math.inf)]
"""A number of processes, for extrapolation."""
SMALLEST, LARGEST = 1e-30, 1e30
"""Between them lies all that is measured or assumed, in base units; squares of ratios of what lies beyond overflow."""
MOST_RANKS = 2**24
"""More than any machine has cores."""
_TOO_LARGE = 2**63
_LARGEST_WHOLE = _TOO_LARGE - 1
"""A bound that goes without saying."""
_RANK = 1800
"""Bytes of a rank: its operations, what the engine notes of it and of a message, and arrays on the way (a barrier)."""
_ALWAYS = 2**26
"""Bytes of memory that are always taken to be there."""
_FEW = 1024
_SPARSE = 8


def is_measurable(value: float) -> bool:
    """Whether a value is possible for a measurement: 0, or between `SMALLEST` and `LARGEST`.

    >>> is_measurable(2.5e-6), is_measurable(0.0), is_measurable(1e-320), is_measurable(float("nan"))
    (True, True, False, False)
    """
    return value == 0 or SMALLEST <= value <= LARGEST


def _shown(value: object) -> str:
    """Return a value as text for an error message, shortened where it is long."""
    if isinstance(value, int) and abs(value) >= 10**60:
        return "a number of more than 60 digits"
    text = repr(value) if isinstance(value, str | bytes | bytearray) else " ".join(f"{value}".split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def refuse(name: str, value: object, mend: str) -> InputError:
    """Return the error of an argument.

    >>> print(refuse("mapping", 1.5, "give a list of hosts"))
    mapping is 1.5: give a list of hosts
    """
    return InputError(f"{name} is {_shown(value)}: {mend}", name)


def choice(name: str, value: object, words: Any) -> Any:
    """Return a word that is one of some: of a Literal, or names.

    >>> from typing import Literal
    >>> choice("sharing", "split", Literal["split", "shared"])
    'split'
    >>> choice("sharing", "splt", ["split", "shared"])
    Traceback (most recent call last):
    commmodel.errors.InputError: sharing is 'splt': did you mean split? Choose one of split, shared
    """
    choices = get_args(words) or words
    if isinstance(value, str) and value in choices:
        return value
    raise refuse(name, value, choice_of(f"{value}", [word or repr(word) for word in choices]))


def _span(least: float | None, most: float | None) -> str:
    if most is None:
        return "" if least is None else f" from {least:g} up"
    return f" from {least} to {most}"


def whole(name: str, value: object, least: int | None = None, most: int | None = None) -> int:
    """Return a whole number, such as a size in bytes, as an int; a float with a whole value is accepted.

    >>> whole("message_size", 8.0)
    8
    >>> whole("message_size", "8")
    Traceback (most recent call last):
    commmodel.errors.InputError: message_size is '8': give a whole number
    >>> whole("volume", 0, least=1)
    Traceback (most recent call last):
    commmodel.errors.InputError: volume is 0: give a whole number from 1 up
    """
    number: Any = value
    if getattr(number, "ndim", None) == 0:  # a number of numpy
        number = number.item()
    try:
        integer = operator.index(number) if not isinstance(number, float) else int(number)
    except (TypeError, ValueError, OverflowError):  # ValueError: of a NaN; OverflowError: of what is infinite
        integer = None
    if (
        integer is None
        or integer != number
        or isinstance(value, bool)
        or not (least is None or integer >= least)
        or not (most is None or integer <= most)
    ):
        raise refuse(name, value, f"give a whole number{_span(least, most)}")
    if not -_TOO_LARGE <= integer < _TOO_LARGE and most is None:
        raise refuse(name, integer, "give a number below 2^63")
    return integer


def integer(name: str, value: object, least: int = 1, most: int | None = None) -> int:
    """Return a count as an int; its type must be an integer, too.

    >>> integer("rounds", 4)
    4
    >>> integer("rounds", 1.5)
    Traceback (most recent call last):
    commmodel.errors.InputError: rounds is 1.5: give a whole number from 1 up
    """
    if not isinstance(value, Integral):
        raise refuse(name, value, f"give a whole number{_span(least, most)}")
    return whole(name, value, least, most)


def finite(name: str, value: object, least: float | None = None, *, above: float | None = None) -> float:
    """Return a finite number ≥ `least` and > `above`, as a float.

    >>> finite("memory_copy", 1e-10), finite("each", 0.5, above=0)
    (1e-10, 0.5)
    >>> finite("memory_copy", float("nan"))
    Traceback (most recent call last):
    commmodel.errors.InputError: memory_copy is nan: give a finite number
    >>> finite("scale", 0, 1)
    Traceback (most recent call last):
    commmodel.errors.InputError: scale is 0: give a finite number from 1 up
    """
    scalar: Any = value
    try:
        number = math.nan if isinstance(value, str | bytes | bytearray | bool) else float(scalar)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isfinite(number) and (least is None or number >= least) and (above is None or number > above):
        return number
    span = _span(least, None) if above is None else f" above {above:g}"
    raise refuse(name, value, f"give a finite number{span}")


def share(name: str, value: object, least: float = 0.01, most: float = 0.999999) -> float:
    """Return a number between two bounds, such as a confidence.

    >>> share("confidence", 0.95)
    0.95
    >>> share("confidence", 95)
    Traceback (most recent call last):
    commmodel.errors.InputError: confidence is 95: it must be between 0 and 1, from 0.01 to 0.999999, such as 0.95
    """
    number = finite(name, value)
    if not least <= number <= most:
        raise refuse(name, value, f"it must be between 0 and 1, from {least} to {most}, such as 0.95")
    return number


def numbers(name: str, values: Any) -> "NDArray[np.float64]":
    """Return numbers as an array; infinity and NaN are accepted.

    >>> numbers("values", ["many"])
    Traceback (most recent call last):
    commmodel.errors.InputError: values is ['many']: give numbers, in lists of equal length
    """
    import numpy as np

    try:
        array = np.asarray(values)
        if array.dtype.kind in "biuf" or (array.dtype.kind == "O" and values is not None and array.ndim):
            return array.astype(np.float64)
        if not array.size:
            return np.empty(array.shape)
    except (TypeError, ValueError, OverflowError):
        pass
    raise refuse(name, values, "give numbers, in lists of equal length")


def several(check: Callable[..., Any], name: str, values: Any, least: float | None = None) -> Any:
    """Return a number as `whole` or `finite` do, or where `values` are several, an array of such numbers.

    >>> several(whole, "message_size", 8.0), several(whole, "message_size", [8, 16.0])
    (8, array([ 8, 16]))
    >>> several(whole, "message_size", [8, -1], 0)
    Traceback (most recent call last):
    commmodel.errors.InputError: message_size is -1: give a whole number from 0 up
    """
    if isinstance(values, int | float | str):
        return check(name, values, least)
    import numpy as np

    if np.ndim(values) == 0:
        return check(name, values, least)
    array = numbers(name, values)
    is_right = (np.isfinite(array) if check is finite else array == np.rint(array)) & (np.abs(array) < _TOO_LARGE)
    if least is not None:
        is_right &= array >= least
    if not is_right.all():
        wrong = array[~is_right][0].item()
        check(name, int(wrong) if wrong.is_integer() else wrong, least)
    return array if check is finite else array.astype(np.int64)


def broadcast(
    columns: Mapping[str, Any],
) -> tuple[dict[str, "NDArray[Any]"], dict[str, "NDArray[Any]"]]:
    """Return numbers and arrays as arrays of one shape, and as flat ones.

    >>> import numpy as np
    >>> broadcast({"message_size": np.array([8, 16]), "processes": np.array([1, 2, 3])})
    Traceback (most recent call last):
    commmodel.errors.InputError: message_size of shape (2,), processes of shape (3,): give shapes that broadcast
    """
    import numpy as np

    try:
        arrays = dict(zip(columns, np.broadcast_arrays(*columns.values()), strict=True))
    except ValueError:
        shapes = ", ".join(f"{name} of shape {np.shape(column)}" for name, column in columns.items())
        raise InputError(f"{shapes}: give shapes that broadcast") from None
    return arrays, {name: array.ravel() for name, array in arrays.items()}


def rank_count(processes: object, least: int = 1, bytes_each: int = _RANK, name: str = "processes") -> int:
    """Return a number of ranks to simulate; raise where memory does not suffice for them.

    >>> rank_count(2_000_000_000)
    Traceback (most recent call last):
    commmodel.errors.InputError: 2000000000 processes: at most 16777216 can be simulated
    """
    if isinstance(processes, Integral) and int(processes) > MOST_RANKS:
        raise InputError(f"{_shown(processes)} {name}: at most {MOST_RANKS} can be simulated")
    number = integer(name, processes, least)
    enough_memory(number * bytes_each, f"{number} {name}")
    return number


def enough_memory(needed: float, purpose: str) -> None:
    """Raise where a request exceeds the available memory."""
    if needed <= _ALWAYS:
        return
    left = _memory_left()
    if needed > left:
        raise InputError(
            f"{purpose} would take about {needed / 1e9:.3g} GB, and {left / 1e9:.3g} GB are left: take fewer"
        )


def occurring_ranks(highest: int, occurring: int, mend: str = "") -> None:
    """Raise where few of the ranks below the highest occur: the highest is then probably a typing error."""
    if highest >= _FEW and (highest + 1) > _SPARSE * occurring:
        problem = f"ranks up to {highest}, but only {occurring} of these {highest + 1} ranks occur"
        raise InputError(
            f"{problem}: correct it{mend or f', or say how many ranks there are (`processes` {highest + 1})'}"
        )


def _memory_left() -> float:
    """Return the bytes of memory available to this process, as far as the system tells."""
    import resource

    left = math.inf
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            left = min(int(line.split()[1]) * 1024.0 for line in file if line.startswith("MemAvailable"))
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return left
        with open("/proc/self/statm", encoding="ascii") as file:
            resident = int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return left
    return max(0.0, min(left, limit - resident))
