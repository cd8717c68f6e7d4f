"""Measured beside predicted as one HTML page: errors, plots and all times.

As in `commmodel.report.page`, everything is inside the file, and everything from results files is escaped. Main
entries: `render` and `write_comparison`.
"""

import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from commmodel.errors import InputError
from commmodel.predict import Comparison, ErrorSummary
from commmodel.report.canvas import declarations
from commmodel.report.compared import by_part, operation_parts, summary_part
from commmodel.report.compared_plots import draw
from commmodel.statistics import CONFIDENCE
from commmodel.units import format_ratio

__all__ = ["render", "write_comparison"]


def render(name: str, found: Comparison, summaries: Sequence[ErrorSummary]) -> str:
    """Return the page; it refers to nothing outside itself.

    Parameters
    ----------
    name : str
        The machine's.
    found : Comparison
        Of `commmodel.predict.compare`.
    summaries : sequence of ErrorSummary
        Of `commmodel.predict.summarise`.
    """
    folder = files("commmodel.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    plots = draw(found.rows)
    means = [by_part(summaries, which) for which in ("by_size", "by_processes")]
    return environment.from_string(folder.joinpath("compared.html").read_text(encoding="utf-8")).render(
        name=name,
        css=Markup(folder.joinpath("page.css").read_text(encoding="utf-8")),  # noqa: S704  (our own file)
        light=Markup(declarations(plots, dark=False)),  # noqa: S704  (hex colours)
        dark=Markup(declarations(plots, dark=True)),  # noqa: S704  (hex colours)
        notes=found.notes,
        summary=summary_part(summaries),
        means=[part for part in means if len(part.columns) > 3],
        plots=[(plot, Markup(plot.svg)) for plot in plots],  # noqa: S704  (drawn by us from numbers)
        operations=operation_parts(found.rows),
        median_confidence=format_ratio(CONFIDENCE),
    )


def write_comparison(
    path: str | os.PathLike[str], name: str, found: Comparison, summaries: Sequence[ErrorSummary]
) -> None:
    """Write the page; a file that is there is replaced."""
    page = render(name, found, summaries)
    try:
        Path(path).write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
