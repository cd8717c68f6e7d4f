"""Options of the benchmark's command line, declared by their kernel, or in `options` for all kernels.

Its default is that of the field of `commmodel.results.BenchOptions` with the same name. Main entry: `Option`.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec

from commmodel.docstrings import with_attributes
from commmodel.errors import InputError, choice_of
from commmodel.results import BenchOptions
from commmodel.signatures import check_fields
from commmodel.units import format_size, parse_confidence, parse_counts, parse_sizes, parse_whole

DEFAULTS: dict[str, Any] = {field.name: field.default for field in msgspec.structs.fields(BenchOptions)}
"""Field of `BenchOptions` -> its default; `msgspec.NODEFAULT` where it has none."""


def _plain(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


@with_attributes
@dataclass(frozen=True)
class Option:
    """An option that sets the field of `BenchOptions` with the same name, or one of its `further` ones.

    Attributes
    ----------
    field : str
        Name of the field; the option is ``--field``, with dashes.
    help : str
        A phrase; the default is put behind it.
    parse : callable or None
        Text -> value; raises `InputError`. None: a flag.
    words : callable
        Default -> how a user would type it.
    unset : str
        What happens without the option, where the field's default is None.
    choices : sequence of str
        The only words it takes, where there are few.
    metavar : str
        Placeholder in the help; empty where `parse` or `choices` determine it.
    default : bool, number, str or tuple of numbers
        Of an option of one's own kernel, which has no field.
    """

    field: str
    help: str
    parse: Callable[[str], Any] | None = str
    words: Callable[[Any], str] = _plain
    unset: str = ""
    choices: Sequence[str] = ()
    metavar: str = ""
    default: Any = False

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def is_further(self) -> bool:
        """Whether it has no field of its own in `BenchOptions`."""
        return self.field not in DEFAULTS

    def add_to(self, parser: argparse._ActionsContainer) -> None:
        """Add the option to a parser that keeps only typed options."""
        if self.parse is None:
            parser.add_argument(flag_of(self.field), action="store_true", help=self.help)
            return
        default = DEFAULTS.get(self.field, self.default)
        words = self.unset if default is None or default is msgspec.NODEFAULT else self.words(default)
        text = f"{self.help} (default: {words})".replace("%", "%%")
        metavar = None if self.choices else self.metavar or _METAVARS.get(self.parse, "VALUE")
        parser.add_argument(flag_of(self.field), choices=self.choices or None, metavar=metavar, help=text)

    def value(self, text: Any) -> Any:
        """Return the value of a typed word; raise `InputError` that names the option."""
        if self.parse is None:
            return text
        try:
            return self.parse(text)
        except InputError as error:
            raise InputError(f"{flag_of(self.field)}: {error}") from None


def flag_of(field: str) -> str:
    """Return the command-line spelling of a field.

    >>> flag_of("node_pairs"), flag_of("procs")
    ('--node-pairs', '--process-counts')
    """
    return "--process-counts" if field == "procs" else f"--{field.replace('_', '-')}"


def positive(text: str) -> int:
    """Parse a whole number of at least 1."""
    return parse_whole(text, least=1)


def more_than_zero(parse: Callable[[str], float]) -> Callable[[str], float]:
    """Return a parser that refuses zero."""

    def checked(text: str) -> float:
        value = parse(text)
        if value <= 0:
            raise InputError(f"{text!r} must be more than 0")
        return value

    return checked


def list_of(names: Sequence[str], title: str) -> Callable[[str], tuple[str, ...]]:
    """Return a parser of lists of names, or of ``all``."""

    def parsed(text: str) -> tuple[str, ...]:
        chosen = tuple(names) if text == "all" else tuple(dict.fromkeys(text.split(",")))
        for name in chosen:
            if name not in names:
                raise InputError(f"unknown {title} {name!r}: {choice_of(name, names)}, or write all")
        return chosen

    return parsed


def with_step(text: str, step: str) -> str:
    """Return a list in which each range has a step.

    >>> with_step("0,1:8,2:6:+2", "*2")
    '0,1:8:*2,2:6:+2'
    """
    return ",".join(f"{part}:{step}" if part.count(":") == 1 else part for part in text.split(","))


def doubling(text: str) -> tuple[int, ...]:
    """Parse a list of counts in which ranges double."""
    return parse_counts(with_step(text, "*2"))


_METAVARS: dict[Callable[[str], Any] | None, str] = {
    positive: "N", parse_whole: "N", parse_counts: "N,...", doubling: "N,...", parse_sizes: "SIZES",
    parse_confidence: "SHARE",
}  # fmt: skip
"""Parser of an option -> its placeholder in the help."""


def number_list(values: Sequence[int], words: Callable[[int], str] = str) -> str:
    """Return numbers as a command-line list: a range where they double, quadruple, or are consecutive.

    >>> number_list((1, 2, 4, 8)), number_list((1, 4, 16)), number_list((1, 2, 3)), number_list((3, 7))
    ('1:8', '1:16:*4', '1:3', '3,7')
    """
    ends = f"{words(values[0])}:{words(values[-1])}"
    if len(values) > 2 and values[0]:
        factor = values[1] // values[0]
        if all(second == factor * first for first, second in pairwise(values)):
            return ends if factor == 2 else f"{ends}:*{factor}"
    if len(values) > 2 and values[-1] - values[0] == len(values) - 1:
        return ends
    return ",".join(map(words, values))


def sizes(values: Sequence[int]) -> str:
    """Return sizes as a command-line list.

    >>> sizes((1, 2, 4, 8, 16)), sizes((65536, 262144, 1048576))
    ('1B:16B', '64KiB:1MiB:*4')
    """
    return number_list(values, lambda size: format_size(size).replace(" ", ""))


def seconds(value: float) -> str:
    """Return a time as command-line text.

    >>> seconds(60.0)
    '60s'
    """
    return f"{value:g}s"


def percent(value: float) -> str:
    """Return a share as command-line text.

    >>> percent(0.02)
    '2%'
    """
    return f"{100 * value:g}%"
