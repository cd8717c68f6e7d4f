"""Tables of measured beside predicted times, and of errors. Main entry: `compared_tables`."""

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.text import Text

from commmodel.predict import ComparedTime, ErrorSummary, Seconds
from commmodel.report.kit.cells import error_words, measured_cell
from commmodel.report.kit.tables import Cell, Table, left, plain_rows, right, text
from commmodel.units import format_size, format_time

_TITLES = {"send": "send: a message between two processes"}


def factor_words(factor: float) -> str:
    """Return T_model / T as text: the factor by which the model is too slow or too fast.

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


def _models(rows: Iterable[ComparedTime]) -> list[str]:
    return list(dict.fromkeys(model for row in rows for model in row.predicted))


def operation_tables(rows: Sequence[ComparedTime]) -> list[Table]:
    """Return a table for each operation: the measured time, and the time and relative error of each model."""
    tables = []
    for operation, group in groupby(rows, key=lambda row: row.operation):
        alike = list(group)
        models = _models(alike)
        is_send = operation == "send"
        cells = []
        for row in alike:
            about = (row.path,) if is_send else (str(row.processes), row.algorithm)
            line = [Cell(format_size(row.message_size)), *map(Cell, about), _time(row.measured)]
            for model in models:
                is_predicted = model in row.predicted
                line.append(_time(row.predicted[model]) if is_predicted else Cell("–"))
                line.append(Cell(error_words(row.relative_error(model)) if is_predicted else ""))
            cells.append(tuple(line))
        columns = (
            *right("size"),
            *(left("path") if is_send else (*right("p"), *left("algorithm"))),
            *right("measured", *(heading for model in models for heading in (model, "error"))),
        )
        tables.append(Table(_TITLES.get(operation, operation), columns, tuple(cells), details="beside"))
    return tables


def summary_table(summaries: Sequence[ErrorSummary]) -> Table:
    """Return the mean errors of each operation and model, and the largest error."""
    rows = tuple(
        (
            *map(Cell, (summary.operation, summary.model, str(summary.points))),
            Cell(error_words(summary.mean_relative_error).lstrip("+")),
            Cell(format_time(summary.mean_absolute_error)),
            Cell(
                factor_words(summary.factor),
                f"p = {summary.largest_processes}, {format_size(summary.factor_size)}",
            ),
        )
        for summary in summaries
    )
    columns = (
        *left("operation", "model"),
        *right("points", "mean |E|", "mean |T_model − T|", "most processes, worst size"),
    )
    return Table("How far the models are", columns, rows, ("E = T_model / T − 1, T measured.",), details="beside")


def verdicts(summaries: Sequence[ErrorSummary]) -> list[str]:
    """Return a sentence for each operation: which model is nearest to what was measured, and how far it is."""
    sentences = []
    for operation, group in groupby(summaries, key=lambda summary: summary.operation):
        nearest = min(group, key=lambda summary: summary.mean_relative_error)
        mean = error_words(nearest.mean_relative_error).lstrip("+")
        where = f"p = {nearest.largest_processes}, {format_size(nearest.factor_size)}"
        sentences.append(
            f"{operation}: {nearest.model} is nearest, {mean} off in the mean; "
            f"at worst, on the most processes, {factor_words(nearest.factor)} ({where})."
        )
    return sentences


def mean_tables(summaries: Sequence[ErrorSummary]) -> list[Table]:
    """Return the mean relative errors by size, and by number of processes, where there are several."""
    by_size: list[dict[int, float]] = [summary.by_size for summary in summaries]
    by_processes: list[dict[int, float]] = [summary.by_processes for summary in summaries]
    tables = []
    for title, errors in (("size", by_size), ("number of processes", by_processes)):
        keys = sorted({key for table in errors for key in table})
        headings = [format_size(key) if title == "size" else f"p = {key}" for key in keys]
        rows = (
            (
                summary.operation,
                summary.model,
                *(error_words(table[key]).lstrip("+") if key in table else "" for key in keys),
            )
            for summary, table in zip(summaries, errors, strict=True)
        )
        columns = (*left("operation", "model"), *right(*headings))
        if len(keys) > 1:
            tables.append(Table(f"Mean |E| by {title}", columns, plain_rows(rows), alike_from=2))
    return tables


def compared_tables(rows: Sequence[ComparedTime], summaries: Sequence[ErrorSummary]) -> list[Table]:
    """Return a table for each operation, then the mean errors, by size, by number of processes and over all."""
    return [*operation_tables(rows), *mean_tables(summaries), summary_table(summaries)]


def note_lines(notes: Sequence[str]) -> list[Text]:
    """Return lines on what was not compared."""
    return [text(note, "yellow") for note in notes]
