"""Files of expectations: growth of functions, and rules between them. Main entry: `load`.

TOML that people write (``docs/reference/expectations.md``), read strictly. Some come with commmodel (`published`).
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from commmodel import documents
from commmodel.documents import check_format, convert, locate, read_toml
from commmodel.errors import DamagedFileError, InputError
from commmodel.scaling.growth import ONE, Growth, parse_growth, parse_product
from commmodel.scaling.rules import FunctionRule, parse_rule
from commmodel.scaling.series import Series
from commmodel.signatures import check_fields, checked
from commmodel.units import parse_size, parse_time
from commmodel.values import OneLine

FORMAT: Literal["commmodel-expectations"] = "commmodel-expectations"
VERSION = 1
# History of the format: 1, first version.

Where = tuple[tuple[str, float | str], ...]
"""Parameters and the only value of each that counts."""

_Text = Annotated[str, Meta(min_length=1, max_length=200)]


@dataclass(frozen=True)
class Expectation(OneLine):
    """The expected growth of one function.

    Attributes
    ----------
    name : str
        Of the function, as `commmodel.scaling.Series` has it: ``bcast``.
    expect : Growth
        E.
    metric : str
        ``time``, ``memory``, another program's.
    over : str
        The parameter.
    deviation : Growth, optional
        D, by default `commmodel.scaling.search_space.default_deviation`.
    where : tuple of (str, float or str)
        Other parameters, each with the only value that is meant, numbers in SI base units.
    """

    name: str
    expect: Growth
    metric: str = "time"
    over: str = "p"
    deviation: Growth | None = None
    where: Where = ()

    def __post_init__(self) -> None:
        check_fields(self)

    def applies_to(self, series: Series) -> bool:
        """Whether it is of this series."""
        return self.key[:3] == series.key[:3] and all(condition in series.fixed for condition in self.where)

    @property
    def key(self) -> tuple[str, str, str, Where]:
        """What tells it from others."""
        return self.name, self.metric, self.over, self.where


@dataclass(frozen=True)
class Guideline(OneLine):
    """A rule between functions, and the measurements it applies to.

    Attributes
    ----------
    rule : FunctionRule
        On the right and on the left all other parameters are the same, but for `sizes`.
    metric, over, where
        As of `Expectation`.
    sizes : tuple of (str, tuple)
        Function -> its message size as a product of n, the left side's, and other parameters: ``bcast`` -> ``n p``.
    name : str
        What others call it; empty where it has no name.
    """

    rule: FunctionRule
    metric: str = "time"
    over: str = "p"
    where: Where = ()
    sizes: tuple[tuple[str, tuple[tuple[str, Growth], ...]], ...] = ()
    name: str = ""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Expectations(OneLine):
    """The content of a file of expectations."""

    title: str = ""
    expectations: tuple[Expectation, ...] = ()
    guidelines: tuple[Guideline, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)


class _ExpectationTable(Struct, frozen=True, forbid_unknown_fields=True):
    name: _Text
    expect: _Text | int
    metric: _Text = "time"
    over: _Text = "p"
    deviation: _Text | int | None = None
    where: dict[_Text, _Text | float] = {}


class _RuleTable(Struct, frozen=True, forbid_unknown_fields=True):
    rule: _Text
    metric: _Text = "time"
    over: _Text = "p"
    where: dict[_Text, _Text | float] = {}
    sizes: dict[_Text, _Text] = {}
    name: Annotated[str, Meta(max_length=200)] = ""


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    format: Literal["commmodel-expectations"] = FORMAT
    version: Annotated[int, Meta(ge=1)] = VERSION
    title: str = ""
    expectation: tuple[_ExpectationTable, ...] = ()
    rule: tuple[_RuleTable, ...] = ()


def _value(entry: str | float) -> float | str:
    """Return the value of a condition: a number with its unit, or a word such as ``round-time``."""
    if not isinstance(entry, str):
        return float(entry)
    if not entry.strip()[:1].isdigit():
        return entry
    try:
        return float(parse_size(entry))
    except InputError:
        return parse_time(entry)


def _where(path: Path, place: str, table: dict[str, str | float], over: str) -> Where:
    conditions = []
    for name, value in table.items():
        if name == over:
            problem = f"`over` varies {name}, so `where` cannot fix it: remove one"
            raise DamagedFileError(path, f"field {place}.where.{name}", problem)
        try:
            conditions.append((name, _value(value)))
        except InputError as error:
            raise DamagedFileError(path, f"field {place}.where.{name}", str(error)) from None
    return tuple(sorted(conditions))


def _growth(path: Path, place: str, text: str, over: str) -> Growth:
    try:
        return parse_growth(text, over)
    except InputError as error:
        raise DamagedFileError(path, f"field {place}", str(error)) from None


def _expectation(path: Path, place: str, table: _ExpectationTable) -> Expectation:
    deviation = None
    if table.deviation is not None:
        deviation = _growth(path, f"{place}.deviation", str(table.deviation), table.over)
        if deviation < ONE:
            problem = f"{table.deviation} falls, but must be 1 or grow: write its inverse"
            raise DamagedFileError(path, f"field {place}.deviation", problem)
    return Expectation(
        table.name,
        _growth(path, f"{place}.expect", str(table.expect), table.over),
        table.metric,
        table.over,
        deviation,
        _where(path, place, table.where, table.over),
    )


def _guideline(path: Path, place: str, table: _RuleTable) -> Guideline:
    try:
        rule = parse_rule(table.rule)
    except InputError as error:
        raise DamagedFileError(path, f"field {place}.rule", str(error)) from None
    sizes = []
    for name, text in table.sizes.items():
        where = f"field {place}.sizes.{name}"
        if name not in rule.functions[1:]:
            raise DamagedFileError(path, where, f"{name} is not on the right of the rule: name one that is")
        try:
            product = parse_product(text)
        except InputError as error:
            raise DamagedFileError(path, where, str(error)) from None
        if unknown := set(product) - {"n", table.over}:
            problem = f"{sorted(unknown)[0]} is not known: write it with n and {table.over}, such as n {table.over}"
            raise DamagedFileError(path, where, problem)
        sizes.append((name, tuple(product.items())))
    conditions = _where(path, place, table.where, table.over)
    return Guideline(rule, table.metric, table.over, conditions, tuple(sizes), table.name)


def _check_each_once(path: Path, expectations: Sequence[Expectation]) -> None:
    indices: dict[tuple[str, str, str, Where], int] = {}
    for index, expectation in enumerate(expectations):
        first = indices.setdefault(expectation.key, index)
        if first != index:
            problem = (
                f"a second one of {expectation.metric} of {expectation.name} over {expectation.over}, "
                f"after expectation[{first}]: keep one"
            )
            raise DamagedFileError(path, f"field expectation[{index}]", problem)


def published() -> dict[str, Path]:
    """Return the expectations that come with commmodel: name -> file.

    >>> list(published())
    ['guidelines', 'mpi']
    """
    return documents.published(__file__)


@checked
def load(name_or_path: str | os.PathLike[str]) -> Expectations:
    """Read a file of expectations, or the published one of that name.

    Parameters
    ----------
    name_or_path : str or path
        A name of `published`, or a file.

    Raises
    ------
    InputError
        Where there is neither such a name nor such a file.
    DamagedFileError
        Naming file and field, where the file is not what ``docs/reference/expectations.md`` says.

    Notes
    -----
    Those named ``mpi`` are of Shudler and others (2015), Tables 2 and 3; ``guidelines`` are rules between MPI's
    collectives alone, of Hunold and Carpen-Amarie (2018).

    Examples
    --------
    >>> mpi = load("mpi")
    >>> mpi.title, mpi.expectations[1].name, mpi.expectations[1].expect.text("p"), str(mpi.guidelines[0].rule)
    ('MPI', 'bcast', 'log p', 'allreduce <= reduce + bcast')
    """
    path = locate(name_or_path, published(), "a published set of expectations")
    content = {"format": FORMAT} | read_toml(path)  # people write short files by hand
    check_format(path, content, FORMAT, VERSION)
    file: _File = convert(path, content, _File)
    expectations = tuple(_expectation(path, f"expectation[{i}]", table) for i, table in enumerate(file.expectation))
    guidelines = tuple(_guideline(path, f"rule[{i}]", table) for i, table in enumerate(file.rule))
    if not expectations and not guidelines:
        raise DamagedFileError(path, "", "no expectations: write [[expectation]] with name and expect, or [[rule]]")
    _check_each_once(path, expectations)
    return Expectations(file.title, expectations, guidelines)
