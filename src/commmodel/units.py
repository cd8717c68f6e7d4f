"""Numbers with units as text, to SI base units and back; the only parser and printer of units.

Sizes are bytes (``64KiB`` = 65536, ``64kB`` = 64000), times seconds, rates bytes per second. A bare number is
in base units. Main entries: `parse_size`, `parse_time`, `parse_rate`, `parse_sizes` and the `format_*` functions.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TypeVar

from commmodel.arguments import LARGEST, SMALLEST, is_measurable
from commmodel.errors import InputError
from commmodel.signatures import checked

__all__ = [
    "format_interval", "format_quantity", "format_rate", "format_ratio", "format_size", "format_time",
    "parse_confidence", "parse_counts", "parse_factors", "parse_fraction", "parse_number", "parse_quantity",
    "parse_rate", "parse_scaled", "parse_size", "parse_sizes", "parse_time", "parse_whole",
]  # fmt: skip

_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SIZES = {prefix + "B": factor for prefix, factor in (_DECIMAL | _BINARY).items()}
_TIMES: dict[str, int | Decimal] = {
    "s": 1, "ms": Decimal("1e-3"), "us": Decimal("1e-6"), "µs": Decimal("1e-6"), "μs": Decimal("1e-6"),
    "ns": Decimal("1e-9"), "ps": Decimal("1e-12"), "min": 60, "h": 3600,
}  # fmt: skip
_BYTE_TIMES = _TIMES | {name + "/B": factor for name, factor in _TIMES.items()}
_BIT_RATES = {prefix + unit: Decimal(factor) / 8 for prefix, factor in _DECIMAL.items() for unit in ("bit/s", "bps")}
_RATES: dict[str, int | Decimal] = {name + "/s": factor for name, factor in _SIZES.items()} | _BIT_RATES
# Each character can be read in one way only, or a long line of digits takes the square of its length.
_REAL = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_NUMBER = re.compile(rf"({_REAL})(?:\s*([^0-9\s.]+))?")
_WHOLE = re.compile(r"[0-9]{1,18}")
_FLOP_RATES = {f"{prefix}flop/s": 1000**power for power, prefix in enumerate(("", "k", "M", "G", "T", "P"))}
_MESSAGE_RATES = {f"{prefix}/s": factor for prefix, factor in _DECIMAL.items()} | {"1/s": 1}
_TOO_MANY = 100_000
_LONG = 100_000  # so many of a binary unit are read more easily as a few decimal ones
_Exact = TypeVar("_Exact", int, Decimal)


def _parse(text: str, quantity: str, units: Mapping[str, int | Decimal], examples: str) -> float:
    if not isinstance(text, str):
        raise InputError(f"{text!r} is no text: a {quantity} is read from one, like {examples}")
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise InputError(f"{_shown(text)} is no {quantity}: write it like {examples}")
    unit = match[2] or ""
    if unit and unit not in units:
        like = [name for name in units if _stem(name) == _stem(unit)]
        mend = f"did you mean {' or '.join(like)}?" if like else f"write it like {examples}"
        raise InputError(f"{_shown(text)}: unknown unit {unit[:20]!r} of a {quantity}: {mend}")
    value = _exact(match[1], units[unit] if unit else 1)
    if not math.isfinite(value) or value < 0:
        raise InputError(f"{_shown(text)}: a {quantity} must be finite and not negative")
    if not is_measurable(value):
        raise InputError(f"{_shown(text)}: a {quantity} is 0, or lies between {SMALLEST} and {LARGEST} in base units")
    return value


def _stem(unit: str) -> str:
    """Return what MB, MiB, Mb and m have in common.

    >>> _stem("MiB"), _stem("mb"), _stem("Gbit/s"), _stem("GB/s"), _stem("ms")
    ('m', 'm', 'g', 'g', 'ms')
    """
    stem = unit.lower().removesuffix("/s").removesuffix("bps").removesuffix("bit").removesuffix("b")
    return stem.removesuffix("i")


def _exact(digits: str, factor: int | Decimal) -> float:
    """Return a decimal product, rounded once: 2.5us is exactly 2.5e-6."""
    try:
        return float(Decimal(digits) * factor)
    except ArithmeticError:  # an exponent beyond even those of decimal
        return math.inf


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 80 else f"{text[:80]!r}..."


def parse_scaled(text: str, units: Mapping[str, int | Decimal]) -> float | None:
    """Return a number with an optional unit; None where the text is no number, infinity beyond all doubles.

    For formats that have units of their own; digits are those of ASCII, and nothing stands between them.

    >>> parse_scaled("2.5 us", {"us": Decimal("1e-6")}), parse_scaled("1_0", {}), parse_scaled("1e999", {})
    (2.5e-06, None, inf)
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None or (match[2] and match[2] not in units):
        return None
    return _exact(match[1], units[match[2]] if match[2] else 1)


def parse_number(text: str) -> float:
    """Return a finite number without a unit, which may be negative.

    Python's float also takes ``1_0``, ``nan``, ``inf`` and the digits of other scripts: in files these are mistakes.

    >>> parse_number(" -1.5e3 ")
    -1500.0
    >>> parse_number("1_0")
    Traceback (most recent call last):
    commmodel.errors.InputError: '1_0' is no number: write it like 12, 1.5 or 1e-6
    """
    value = parse_scaled(text, {})
    if value is None or not math.isfinite(value):
        raise InputError(f"{_shown(text)} is no number: write it like 12, 1.5 or 1e-6")
    return value


def parse_whole(text: str, least: int = 0, most: int = 10**18 - 1) -> int:
    """Return a whole number in digits, within two bounds.

    >>> parse_whole("64", least=1)
    64
    >>> parse_whole("٣")
    Traceback (most recent call last):
    commmodel.errors.InputError: '٣' is no whole number from 0 up
    """
    word = text.strip()
    value = int(word) if _WHOLE.fullmatch(word) else -1
    if not least <= value <= most:
        span = f"from {least} up" if most == 10**18 - 1 else f"from {least} to {most}"
        raise InputError(f"{_shown(text)} is no whole number {span}")
    return value


@checked
def parse_size(text: str) -> int:
    """Return a size in bytes.

    Raises
    ------
    InputError
        Naming the text and the units of sizes.

    Examples
    --------
    >>> parse_size("64KiB"), parse_size("64kB"), parse_size("8")
    (65536, 64000, 8)
    >>> parse_size("64K")
    Traceback (most recent call last):
    commmodel.errors.InputError: '64K': unknown unit 'K' of a size: did you mean kB or KiB?
    """
    value = _parse(text, "size", _SIZES, "8, 64KiB (65536 bytes) or 64kB (64000)")
    if value != round(value) or value >= 2**63:
        raise InputError(f"{text!r}: a size must be a whole number of bytes below 8 EiB")
    return round(value)


@checked
def parse_time(text: str) -> float:
    """Return a time in seconds.

    >>> parse_time("3ms"), parse_time("2.5 us"), parse_time("6ps"), parse_time("1min")
    (0.003, 2.5e-06, 6e-12, 60.0)
    """
    return _parse(text, "time", _TIMES, "60s, 3ms or 2.5us")


@checked
def parse_rate(text: str) -> float:
    """Return a rate in bytes per second; one in bits is an eighth of it.

    >>> parse_rate("1.5GB/s"), parse_rate("10Gbit/s"), parse_rate("10Gbps")
    (1500000000.0, 1250000000.0, 1250000000.0)
    """
    return _parse(text, "rate", _RATES, "1.5GB/s or 800MiB/s")


def parse_fraction(text: str) -> float:
    """Return a share as a number: 2% is 0.02.

    >>> parse_fraction("2%"), parse_fraction("0.05")
    (0.02, 0.05)
    """
    value = _share(text)
    if value >= 1 and "%" not in text:
        raise InputError(f"{text!r} is {100 * value:g}% as a share: write {text}%, or {value / 100:g}")
    return value


def _share(text: str) -> float:
    return _parse(text, "share", {"%": Decimal("0.01")}, "2% or 0.02")


def parse_confidence(text: str) -> float:
    """Return a confidence as a number: 95%, 95 and 0.95 are the same.

    >>> parse_confidence("95%"), parse_confidence("95"), parse_confidence("0.95")
    (0.95, 0.95, 0.95)
    """
    value = _share(text)
    if 50 <= value < 100:  # in per cent, as people say it
        value = parse_fraction(f"{text}%")
    if not 0 < value < 1:
        raise InputError(f"{text!r} is {100 * value:g}%, not between 0 and 100%: write it like 95% or 0.95")
    if not 0.01 <= value <= 0.999999:
        raise InputError(f"{text!r} lies too near to 0 or 100%: choose from 1% to 99.9999%")
    return value


def parse_quantity(text: str, unit: str) -> float:
    """Return a number in the base unit given: ``s``, ``B``, ``B/s``, ``s/B``, ``1/s`` or ``flop/s``.

    >>> parse_quantity("5.5GB/s", "B/s"), parse_quantity("0.125ns/B", "s/B"), parse_quantity("1ns", "s/B")
    (5500000000.0, 1.25e-10, 1e-09)
    """
    parsers: dict[str, Callable[[str], float]] = {"s": parse_time, "B": parse_size, "B/s": parse_rate}
    if unit in parsers:
        return parsers[unit](text)
    if unit == "s/B":
        return _parse(text, "number of s/B", _BYTE_TIMES, "0.125ns/B or 1.25e-10")
    if unit == "flop/s":
        return _parse(text, "number of flop/s", _FLOP_RATES, "1.2Gflop/s or 1.2e9")
    if unit == "1/s":
        return _parse(text, "number of messages a second", _MESSAGE_RATES, "70M/s or 70e6")
    return _parse(text, f"number of {unit}", {unit: 1}, f"1.5e-10 or 1.5e-10 {unit}")


def _expand(text: str, parse: Callable[[str], _Exact], default_step: str) -> Iterator[_Exact]:
    parts = text.split(":")
    if len(parts) == 1:
        yield parse(parts[0])
        return
    if len(parts) > 3:
        raise InputError(f"{text!r}: a range is FIRST:LAST or FIRST:LAST:STEP, STEP like *2 or +8")
    first, last = parse(parts[0]), parse(parts[1])
    step = parts[2] if len(parts) == 3 else default_step
    operator, amount = step[:1], parse(step[1:]) if step[1:] else 0
    if operator not in {"*", "+"} or amount <= (operator == "*"):
        raise InputError(f"{text!r}: the step of a range is *2 (or a larger factor) or +1 (or a larger amount)")
    if first > last:
        raise InputError(f"{text!r}: the range ends before it begins")
    if operator == "*" and first == 0:
        raise InputError(f"{text!r}: a range that multiplies cannot begin at 0: write 0,1:{parts[1]}")
    value = first
    while value <= last:
        yield value
        value = value * amount if operator == "*" else value + amount


def _parse_list(text: str, parse: Callable[[str], _Exact], default_step: str) -> tuple[_Exact, ...]:
    values: set[_Exact] = set()
    for part in text.split(","):
        for value in _expand(part.strip(), parse, default_step):
            values.add(value)
            if len(values) > _TOO_MANY:
                raise InputError(f"{text!r} names more than {_TOO_MANY} values")
    return tuple(sorted(values))


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return the sizes of a list of sizes and ranges, in bytes, ascending; a range doubles unless told.

    >>> parse_sizes("0,1:8"), parse_sizes("1KiB:4KiB:+1KiB"), parse_sizes("1:100:*10")
    ((0, 1, 2, 4, 8), (1024, 2048, 3072, 4096), (1, 10, 100))
    """
    return _parse_list(text, parse_size, "*2")


def _parse_count(text: str) -> int:
    try:
        return parse_whole(text)
    except InputError:
        raise InputError(f"{_shown(text)} is no count: write 4, a list like 2,4,8, or a range like 2:64:*2") from None


def parse_counts(text: str) -> tuple[int, ...]:
    """Return the numbers of a list of numbers and ranges, ascending; a range steps by one unless told.

    >>> parse_counts("1:4"), parse_counts("1:16:*2")
    ((1, 2, 3, 4), (1, 2, 4, 8, 16))
    """
    counts = _parse_list(text, _parse_count, "+1")
    if counts[0] < 1:
        raise InputError(f"{text!r}: counts begin at 1")
    return counts


def _parse_factor(text: str) -> Decimal:
    if not 0 < parse_number(text) <= LARGEST:
        raise InputError(f"{_shown(text)} is no factor: give a number above 0")
    return Decimal(text.strip())


def parse_factors(text: str) -> tuple[float, ...]:
    """Return the factors of a list of numbers above 0 and ranges, ascending; a range doubles unless told.

    >>> parse_factors("0.5"), parse_factors("0.25:2"), parse_factors("1:1.3:+0.1,4")
    ((0.5,), (0.25, 0.5, 1.0, 2.0), (1.0, 1.1, 1.2, 1.3, 4.0))
    """
    return tuple(map(float, _parse_list(text, _parse_factor, "*2")))


def _shown_unit(value: float, unit: str) -> tuple[float, str]:
    """Return the factor and the name of the most readable unit of a value."""
    if unit == "s":
        candidates = [(1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s")]
    elif unit in {"B", "B/s", "flop/s", "J", "W"}:
        candidates = [(float(factor), prefix + unit) for prefix, factor in _DECIMAL.items()]
    elif unit == "1/s":
        candidates = [(float(factor), name) for name, factor in _MESSAGE_RATES.items() if name != unit]
    else:
        return 1.0, unit
    fitting = [pair for pair in candidates if abs(value) >= 0.9995 * pair[0]]
    return fitting[-1] if fitting else candidates[0]


def _rounded(value: float) -> float:
    """Round to three digits before the choice of the unit, so that 999.5 us does not become 1e+03 us."""
    return float(f"{value:.2e}")


def _digits(value: float) -> str:
    """Return three significant digits, without an exponent where that is readable."""
    if not math.isfinite(value):
        return str(value)
    if 999.5 <= abs(value) < 1e5:  # an interval's end in the unit of its value
        return f"{value:.0f}"
    return f"{value:#.3g}".rstrip(".") if 1e-3 <= abs(value) < 999.5 else f"{value:.3g}"


def format_quantity(value: float, unit: str) -> str:
    """Return a number of SI base units as text with three significant digits.

    >>> format_quantity(5.5e9, "B/s"), format_quantity(1.5e-10, "s/B"), format_quantity(8116, "B")
    ('5.50 GB/s', '1.5e-10 s/B', '8116 B')
    """
    if unit == "B":
        return format_size(value)
    value = _rounded(value)
    factor, name = _shown_unit(value, unit)
    return f"{_digits(value / factor)} {name}"


def format_size(size: float) -> str:
    """Return a size in the largest binary unit that shows it exactly, or to three digits where none does.

    >>> format_size(65536), format_size(8116), format_size(0)
    ('64 KiB', '8116 B', '0 B')
    >>> format_size(640 * 1024), format_size(2 * 10**9)
    ('640 KiB', '2.00 GB')
    """
    factor, name = _shown_unit(size, "B")
    decimal = _digits(size / factor)
    if math.isfinite(size) and size == round(size):
        for prefix, binary in reversed(_BINARY.items()):
            if size >= binary and size % binary == 0:
                is_long = size // binary >= _LONG and float(decimal) * factor == size
                return f"{decimal} {name}" if is_long else f"{int(size) // binary} {prefix}B"
        if size < 1e6:
            return f"{int(size)} B"
    return f"{decimal} {name}"


def format_time(seconds: float) -> str:
    """Return a time in three significant digits.

    >>> format_time(2.5e-07), format_time(0.00321), format_time(90)
    ('250 ns', '3.21 ms', '90.0 s')
    """
    return format_quantity(seconds, "s")


def format_rate(rate: float) -> str:
    """Return a rate in three significant digits.

    >>> format_rate(6.61e9)
    '6.61 GB/s'
    """
    return format_quantity(rate, "B/s")


_MANY_TIMES = 100


def format_ratio(ratio: float) -> str:
    """Return a share as a percentage, or a very large one as a factor.

    >>> format_ratio(0.0234), format_ratio(1.5), format_ratio(4759.32), format_ratio(-1e-9)
    ('2.3 %', '150 %', '4,759 x', '0.0 %')
    """
    if abs(ratio) >= _MANY_TIMES:
        return f"{ratio:,.0f} x"
    return f"{100 * ratio:z.1f} %" if abs(ratio) < 0.1 else f"{100 * ratio:.0f} %"


def format_interval(value: float, low: float | None, high: float | None, unit: str) -> str:
    """Return a value with its interval, all three in the unit of the value; of the high end, for a value of 0.

    >>> format_interval(2.496e-6, 2.4e-6, 2.65e-6, "s")
    '2.50 us [2.40, 2.65]'
    """
    if low is None or high is None or not math.isfinite(value):
        return format_quantity(value, unit)
    value = _rounded(value)
    factor, name = _shown_unit(value or (high if math.isfinite(high) else 0.0), unit)
    return f"{_digits(value / factor)} {name} [{_digits(low / factor)}, {_digits(high / factor)}]"


def counted(number: int, noun: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "launch"), counted(2, "launch"), counted(3, "pair")
    ('one launch', '2 launches', '3 pairs')
    """
    return f"one {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('ch') else 's'}"


def listed(words: Sequence[str], most: int, mark: str = ", ") -> str:
    """Return the first words of a list, and how many there are more.

    >>> listed(["a", "b"], 2), listed(["a", "b", "c"], 2), listed(["a", "b", "c"], 1, "; ")
    ('a, b', 'a, b and 1 more', 'a; and 2 more')
    """
    more = len(words) - most
    return mark.join(words[:most]) + (f"{mark.rstrip(', ')} and {more} more" if more > 0 else "")
