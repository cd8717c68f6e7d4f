"""What callers give the simulator, checked before anything is made of it: numbers of ranks, sizes in bytes, times.

A number is refused in one line that names it, be it text, not a number, negative, or a fraction of a byte. Ranks take
memory before the first message is sent, so their number is held against what the machine has left.
Main entries: `check_ranks`, `check_size`, `check_count`, `check_amount`, `check_plausible`.
"""

import math
import numbers
import resource

from commmodel.errors import InputError

__all__ = [
    "MOST_RANKS", "check_amount", "check_count", "check_memory", "check_plausible", "check_ranks", "check_size",
]  # fmt: skip

MOST_RANKS = 2**24
"""More than any machine has cores."""
_RANK = 600
"""Bytes of a rank: its operations, what the engine notes of it, and arrays on the way (an exchange of one message)."""
_ALWAYS = 2**26
"""Bytes for which nobody asks."""
_FEW = 1024
_SPARSE = 8


def check_count(value: object, what: str, least: int = 1, most: int | None = None) -> int:
    """Return a whole number; `what` names the things.

    >>> check_count(4, "rounds")
    4
    >>> check_count(1.5, "rounds")
    Traceback (most recent call last):
    commmodel.errors.InputError: 1.5 rounds: expected a whole number from 1
    """
    whole = not isinstance(value, bool) and isinstance(value, numbers.Integral)
    if not whole or int(value) < least or (most is not None and int(value) > most):  # type: ignore[call-overload]
        to = "" if most is None else f" to {most}"
        raise InputError(f"{_shown(value)} {what}: expected a whole number from {least}{to}")
    return int(value)  # type: ignore[call-overload,no-any-return]


def check_amount(value: object, what: str) -> float:
    """Return a finite number from 0 on; `what` names it.

    >>> check_amount(0.5, "speed")
    0.5
    """
    number = _float(value)
    if not 0 <= number < math.inf:
        raise InputError(f"{what} {_shown(value)}: expected a finite number from 0")
    return number


def check_size(value: object, what: str = "a message") -> float:
    """Return bytes: a whole number from 0, which may be written as a float.

    >>> check_size(1e6)
    1000000.0
    >>> check_size(0.5)
    Traceback (most recent call last):
    commmodel.errors.InputError: a message of 0.5 bytes: a size must be a whole number, finite and not negative
    """
    number = _float(value)
    if not (0 <= number < math.inf and number == math.floor(number)):
        raise InputError(f"{what} of {_shown(value)} bytes: a size must be a whole number, finite and not negative")
    return number


def check_ranks(value: object, least: int = 1, bytes_of_one: int = _RANK) -> int:
    """Return a number of ranks, for which there must be memory.

    >>> check_ranks(2_000_000_000)
    Traceback (most recent call last):
    commmodel.errors.InputError: 2000000000 processes: at most 16777216 can be simulated
    """
    if isinstance(value, numbers.Integral) and int(value) > MOST_RANKS:
        raise InputError(f"{_shown(value)} processes: at most {MOST_RANKS} can be simulated")
    count = check_count(value, "processes", least)
    check_memory(count * bytes_of_one, f"{count} processes")
    return count


def check_memory(needed: float, what: str) -> None:
    """Raise where something would take more memory than the machine has left."""
    if needed <= _ALWAYS:
        return
    left = _memory_left()
    if needed > left:
        raise InputError(f"{what} would take about {needed / 1e9:.3g} GB, and {left / 1e9:.3g} GB are left: take fewer")


def check_plausible(highest: int, named: int, mend: str = "") -> None:
    """Raise where hardly any of the ranks up to the highest occur: then that one is mistyped more often than meant."""
    if highest >= _FEW and (highest + 1) > _SPARSE * named:
        problem = f"ranks up to {highest}, but only {named} of these {highest + 1} ranks occur"
        raise InputError(f"{problem}: correct it{mend or f', or say how many ranks there are (-p {highest + 1})'}")


def _float(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _shown(value: object) -> str:
    if isinstance(value, int) and abs(value) >= 10**60:
        return "of more than 60 digits"
    return f"{value!r}"[:60] if isinstance(value, str) else f"{value}"[:60]


def _memory_left() -> float:
    """Return the bytes that this process may still take, as far as the system says."""
    left = math.inf
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            left = min(int(line.split()[1]) * 1024.0 for line in file if line.startswith("MemAvailable"))
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return left
        with open("/proc/self/statm", encoding="ascii") as file:
            taken = int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return left
    return max(0.0, min(left, limit - taken))
