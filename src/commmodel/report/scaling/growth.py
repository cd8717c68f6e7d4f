"""Tables of growth models, with verdicts where there are expectations.

As Table 2 of Shudler and others (2015). Main entries: `overview_blocks`, `model_tables` and `surface_tables`.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import compress

from rich.text import Text

from commmodel.report.kit.tables import Cell, Table, common_notes, left, plain_rows, right, text
from commmodel.report.scaling.checks import NO_CLASS, check_lines, verdict_cell
from commmodel.results import parameter_words
from commmodel.scaling import Model, SurfaceModel
from commmodel.scaling.growth import ONE
from commmodel.scaling.overview import ModelledSeries, Overview, Surface
from commmodel.units import format_quantity, format_ratio

_MOST_OTHERS = 4


def sentences(overview: Overview) -> list[str]:
    """Return sentences on the checks: broken rules, further measurements."""
    return [
        f"{library}: {line.plain}" if library else line.plain
        for library, checked in overview.checks
        for line in check_lines(checked)
    ]


def quantity_words(value: float, unit: str) -> str:
    """Return a value with its unit; predicted sizes need not be whole bytes."""
    return f"{value:.4g}" if unit == "1" else format_quantity(value, unit)


def model_words(model: Model, unit: str, over: str) -> str:
    """Return a model's formula with its numbers in units that people read.

    >>> from commmodel.scaling import Growth
    >>> model_words(Model(2e-6, 3e-9, Growth(power=1)), "s", "p"), model_words(Model(7.0, 0.0, Growth()), "1", "p")
    ('2.00 us + 3.00 ns × p', '7')
    """
    if not model.coefficient:
        return quantity_words(model.constant, unit)
    sign = "+" if model.constant >= 0 else "−"
    grows = f"{quantity_words(model.coefficient, unit)} × {model.term.text(over)}"
    for coefficient, term in model.lower:
        grows += f" {'+' if coefficient >= 0 else '−'} {quantity_words(abs(coefficient), unit)} × {term.text(over)}"
    constant = quantity_words(abs(model.constant), unit)
    return f"{constant} {sign} {grows}" if sign == "+" else f"{grows} − {constant}"


def surface_words(model: SurfaceModel, unit: str, first: str, second: str) -> str:
    """Return a model's formula with its numbers in units that people read.

    >>> from commmodel.scaling import Growth
    >>> surface_words(SurfaceModel(2e-6, ((3e-9, Growth(log=1), Growth(power=1)),)), "s", "p", "n")
    '2.00 us + 3.00 ns × log p × n'
    """
    words = [
        f"−{quantity_words(-model.constant, unit)}" if model.constant < 0 else quantity_words(model.constant, unit)
    ]
    for coefficient, *growths in model.parts:
        terms = zip(growths, (first, second), strict=True)
        words.append(
            " × ".join(
                [quantity_words(coefficient, unit), *(growth.text(over) for growth, over in terms if growth != ONE)]
            )
        )
    return " + ".join(words)


def _model_cells(row: ModelledSeries) -> tuple[Cell, ...]:
    series, best, fits, judged = row.series, row.ensemble.best, row.ensemble.fits, row.judgement
    alternatives = [growth.text(series.over) for growth in row.ensemble.shares if growth != best.growth]
    if len(alternatives) > _MOST_OTHERS:
        alternatives[_MOST_OTHERS:] = [f"{len(alternatives) - _MOST_OTHERS} more"]
    words = [
        series.name,
        parameter_words(series.fixed),
        row.library,
        model_words(best, series.unit, series.over) if fits else NO_CLASS,
        f"{best.adjusted_r2:.3f}" if fits and best.coefficient else "–",
        (", ".join(alternatives) if fits else "") or "–",
        judged.expectation.text(series.over) if judged else "–",
        judged.divergence.text(series.over) if judged and fits else "–",
    ]
    return (*map(Cell, words), verdict_cell(judged.verdict) if judged else Cell("–"))


def model_tables(rows: Sequence[ModelledSeries]) -> list[Table]:
    """Return a table of models for each metric and parameter, with verdicts where something is expected."""
    groups: dict[tuple[str, str], list[ModelledSeries]] = defaultdict(list)
    for row in rows:
        groups[row.series.metric, row.series.over].append(row)
    columns = (
        *left("function", "parameters", "MPI library", "model"), *right("R²"), *left("or", "expected", "δ", "verdict")
    )  # fmt: skip
    tables = []
    for (metric, over), group in groups.items():
        has_verdicts = any(row.judgement for row in group)
        shown = (True, True, any(row.library for row in group), *[True] * 3, *[has_verdicts] * 3)
        note = "R²: adjusted; it has no value for a constant. Or: further classes that the data cannot tell apart. "
        note += f"{NO_CLASS.capitalize()}: the best is beside the values by more than their scatter explains."
        note += " δ: by how much it grows faster than expected." * has_verdicts
        cells = tuple(tuple(compress(_model_cells(row), shown)) for row in group)
        tables.append(Table(f"{metric} over {over}", tuple(compress(columns, shown)), cells, (note,)))
    return tables


def surface_tables(surfaces: Sequence[Surface]) -> list[Table]:
    """Return a table for each metric and pair of parameters."""
    groups: dict[tuple[str, tuple[str, str]], list[Surface]] = defaultdict(list)
    for surface in surfaces:
        groups[surface.metric, surface.parameters].append(surface)
    note = (
        "One model over both parameters. Error: mean of |model / measured − 1|; where a library changes its algorithm "
        "or protocol with the size, no formula of this kind is near everywhere."
    )
    columns = (*left("function", "parameters"), *right("points"), *left("model"), *right("error"))
    tables = []
    for (metric, (first, second)), group in groups.items():
        rows = plain_rows(
            (
                surface.name,
                parameter_words(surface.fixed) or "–",
                str(surface.points),
                surface_words(surface.model, surface.unit, first, second),
                format_ratio(surface.error),
            )
            for surface in group
        )
        tables.append(Table(f"{metric} over {first} and {second}", columns, rows, (note,)))
    return tables


def overview_blocks(overview: Overview) -> list[Table | Text]:
    """Return the tables for the terminal, and sentences on the checks."""
    tables = common_notes((*model_tables(overview.rows), *surface_tables(overview.surfaces)))
    return [*tables, *map(text, sentences(overview))]
