"""What was measured beside what models predict, as tables for the terminal. Main entry: `compared_tables`."""

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.table import Table
from rich.text import Text

from commmodel.predict import Compared, ErrorSummary, Seconds
from commmodel.report.kit.cells import Cell, measured_cell
from commmodel.report.kit.terminal import new_table, text
from commmodel.report.measurements.other_kernels import PartTable
from commmodel.units import format_size, format_time

__all__ = [
    "by_part", "compared_tables", "error_words", "factor_words", "note_lines", "operation_parts", "part_table",
    "summary_part",
]  # fmt: skip

_TITLES = {"send": "send: a message between two processes"}


def error_words(error: float) -> str:
    """Return a relative error as a percentage with its sign.

    >>> error_words(0.0), error_words(-0.5), error_words(11.0), error_words(0.0123)
    ('0 %', '−50 %', '+1100 %', '+1.2 %')
    """
    percent = f"{100 * abs(error):.1f}" if abs(error) < 0.0995 else f"{100 * abs(error):.0f}"
    if float(percent) == 0:
        return "0 %"
    return f"{'+' if error > 0 else '−'}{percent} %"


def factor_words(factor: float) -> str:
    """Return T_model / T as a factor by which the model is too slow or too fast.

    >>> factor_words(2.0), factor_words(0.25), factor_words(1.0)
    ('2.0 x too long', '4.0 x too short', 'right')
    """
    if factor <= 0 or not math.isfinite(factor):
        return "–"
    times = max(factor, 1 / factor)
    if f"{times:.1f}" == "1.0":
        return "right" if f"{times:.2f}" == "1.00" else f"{times:.2f} x too {'long' if factor > 1 else 'short'}"
    return f"{times:.1f} x too {'long' if factor > 1 else 'short'}"


def _time(time: Seconds) -> Cell:
    if time.low is None or time.high is None:
        return Cell(format_time(time.seconds))
    return measured_cell(time.seconds, time.low, time.high, "s")


def _models(rows: Iterable[Compared]) -> list[str]:
    return list(dict.fromkeys(model for row in rows for model in row.predicted))


def operation_parts(rows: Sequence[Compared]) -> list[PartTable]:
    """Return a table for each operation: measured, and by each model the time and its relative error."""
    parts = []
    for operation, group in groupby(rows, key=lambda row: row.operation):
        of_it = list(group)
        models = _models(of_it)
        is_send = operation == "send"
        first = ("path",) if is_send else ("P", "algorithm")
        lines = []
        for row in of_it:
            about = (row.path,) if is_send else (str(row.processes), row.algorithm)
            cells = [Cell(format_size(row.message_size)), *map(Cell, about), _time(row.measured)]
            for model in models:
                known = model in row.predicted
                cells.append(_time(row.predicted[model]) if known else Cell("–"))
                cells.append(Cell(error_words(row.relative_error(model)) if known else ""))
            lines.append(tuple(cells))
        headings = [heading for model in models for heading in (model, "error")]
        columns = ("size", *first, "measured", *headings)
        parts.append(PartTable(_TITLES.get(operation, operation), columns, tuple(lines), ""))
    return parts


def summary_part(summaries: Sequence[ErrorSummary]) -> PartTable:
    """Return the mean errors of each model and operation, and the factor on the most processes."""
    rows = tuple(
        (
            Cell(one.operation),
            Cell(one.model),
            Cell(str(one.points)),
            Cell(error_words(one.mean_relative_error).lstrip("+")),
            Cell(format_time(one.mean_absolute_error)),
            Cell(f"{factor_words(one.factor)}", f"P = {one.largest_processes}, {format_size(one.factor_size)}"),
        )
        for one in summaries
    )
    columns = ("operation", "model", "points", "mean |E|", "mean |T_model − T|", "most processes, worst size")
    return PartTable("How far the models are", columns, rows, "E = T_model / T − 1, T measured")


def by_part(summaries: Sequence[ErrorSummary], which: str) -> PartTable:
    """Return the mean relative errors ``by_size`` or ``by_processes``."""
    tables: list[dict[int, float]] = [getattr(one, which) for one in summaries]
    keys = sorted({key for table in tables for key in table})
    headings = [format_size(key) if which == "by_size" else f"P = {key}" for key in keys]
    rows = tuple(
        (
            Cell(one.operation),
            Cell(one.model),
            *(Cell(error_words(table[key]).lstrip("+") if key in table else "") for key in keys),
        )
        for one, table in zip(summaries, tables, strict=True)
    )
    title = f"Mean |E| by {'size' if which == 'by_size' else 'number of processes'}"
    return PartTable(title, ("operation", "model", *headings), rows, "")


_MOST_COLUMNS = 9
_LEFT = {
    "operation", "model", "path", "pattern", "algorithm", "what", "verdict", "function", "parameters", "expected", "δ",
    "or", "MPI library",
}  # fmt: skip


def _shown(count: int) -> list[int]:
    """Return the columns that fit: the first two, and of the others some evenly spread."""
    rest = count - 2
    if rest <= _MOST_COLUMNS:
        return list(range(count))
    return [0, 1, *(2 + round(index * (rest - 1) / (_MOST_COLUMNS - 1)) for index in range(_MOST_COLUMNS))]


def part_table(part: PartTable, columns: Sequence[int] | None = None) -> Table:
    """Return a table for the terminal, of some of its columns or of all."""
    shown = range(len(part.columns)) if columns is None else columns
    headings = [(part.columns[column], "left" if part.columns[column] in _LEFT else "right") for column in shown]
    table = new_table(part.title, headings)
    for row in part.rows:
        table.add_row(*(text(str(row[column])) for column in shown))
    return table


def compared_tables(rows: Sequence[Compared], summaries: Sequence[ErrorSummary]) -> list[Table]:
    """Return a table for each operation, then the mean errors, by size, by number of processes and over all."""
    tables = [part_table(part) for part in operation_parts(rows)]
    for which in ("by_size", "by_processes"):
        part = by_part(summaries, which)
        if len(part.columns) > 3:
            tables.append(part_table(part, _shown(len(part.columns))))
    return [*tables, part_table(summary_part(summaries))]


def note_lines(notes: Sequence[str]) -> list[Text]:
    """Return what could not be compared."""
    return [text(note, "yellow") for note in notes]
