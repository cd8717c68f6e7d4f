"""Numbers as cells of a table: parameters, medians, factors, records, each with its interval.

Main entries: `parameter_cell`, `measured_cell`, `record_cell`, `error_words` and `size_table`.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

from commmodel.machine import Parameter
from commmodel.report.kit.tables import Cell, Table, right
from commmodel.units import format_interval, format_quantity, format_size

if TYPE_CHECKING:
    from commmodel.results import Record

CALLS = {"isend": "MPI_Isend", "irecv": "MPI_Irecv", "put": "MPI_Put", "get": "MPI_Get"}
"""Operation of the kernels burst and queue -> the call that begins a message."""
_EARLY = {"time", "repetitions"}

_Column = TypeVar("_Column", bound=Any)


def _interval_cell(value: float, low: float | None, high: float | None, unit: str) -> Cell:
    number, bracket, interval = format_interval(value, low, high, unit).partition(" [")
    return Cell(number, f"[{interval}" if bracket else "")


def parameter_cell(parameter: Parameter, unit: str) -> Cell:
    """Return a model's parameter with its interval; `unit` is the base unit of parameters of that name.

    >>> print(parameter_cell(Parameter(1.5e-6, low=1.4e-6, high=1.6e-6), "s"))
    1.50 us [1.40, 1.60]
    >>> print(parameter_cell(Parameter(float("inf"), low=12e9), "B/s"))
    not limiting up to 12.0 GB/s
    >>> print(parameter_cell(Parameter(0.0, low=0.0, high=5e-5), "s"))
    not determined up to 50.0 us
    """
    if parameter.value == 0 and unit == "s" and parameter.high is not None and math.isfinite(parameter.high):
        return Cell("not determined", f"up to {format_quantity(parameter.high, unit)}")
    if not parameter.is_limiting:
        bound = parameter.low
        is_bounded = bound is not None and math.isfinite(bound) and bound > 0
        return Cell("not limiting", f"up to {format_quantity(bound, unit)}" if is_bounded and bound is not None else "")
    return _interval_cell(parameter.value, parameter.low, parameter.high, unit)


def measured_cell(value: float, low: float, high: float, unit: str) -> Cell:
    """Return a median with its interval; alone where there are too few samples.

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


def error_words(error: float) -> str:
    """Return a relative error as a percentage with its sign.

    >>> error_words(0.0), error_words(-0.5), error_words(11.0), error_words(0.0123)
    ('0 %', '−50 %', '+1100 %', '+1.2 %')
    """
    percent = f"{100 * abs(error):.1f}" if abs(error) < 0.0995 else f"{100 * abs(error):.0f}"
    if float(percent) == 0:
        return "0 %"
    return f"{'+' if error > 0 else '−'}{percent} %"


def starred(text: str, record: "Record") -> str:
    """Return the text, with a star where the record ended before its interval was narrow enough."""
    return f"{text}*" if record.stop in _EARLY else text


def record_cell(record: "Record | None") -> Cell:
    """Return the median of a record and its interval; an empty cell without a record."""
    if record is None:
        return Cell("")
    summary = record.summary
    cell = measured_cell(summary.median, summary.low, summary.high, record.unit)
    return cell._replace(value=starred(cell.value, record))


def size_table(
    title: str,
    cells: Iterable[tuple[int, _Column, Cell]],
    heading: Callable[[_Column], str],
    note: str,
    columns: Sequence[_Column] = (),
) -> list[Table]:
    """Return a table with a row for each size, and further rows for repeated cells; none without cells.

    The columns ascend, or are as given.
    """
    rows: dict[int, dict[_Column, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for size, column, cell in cells:
        rows[size][column].append(cell)
    shown = columns or sorted({column for row in rows.values() for column in row})
    body = tuple(
        (Cell(format_size(size)), *(cell or Cell("") for cell in repeated))
        for size, row in sorted(rows.items())
        for repeated in zip_longest(*(row.get(column, ()) for column in shown))
    )
    notes = (note,) if note else ()
    headings = right("size", *map(heading, shown))
    return [Table(title, headings, body, notes, details="none", alike_from=1)] if rows else []
