"""Measured beside predicted as one HTML page: errors, plots and all times.

As in `commmodel.report.machine.page`, everything is inside the file, and everything from results files is escaped. Main
entries: `render` and `write_comparison`.
"""

import os
from collections.abc import Sequence

from commmodel.predict import Comparison, ErrorSummary
from commmodel.report.kit.pages import drawn, render_page, write
from commmodel.report.prediction.comparison import by_part, operation_parts, summary_part
from commmodel.report.prediction.comparison_plots import draw
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
    plots = draw(found.rows)
    means = [by_part(summaries, which) for which in ("by_size", "by_processes")]
    return render_page(
        "compared.html",
        name,
        plots,
        notes=found.notes,
        summary=summary_part(summaries),
        means=[part for part in means if len(part.columns) > 3],
        plots=drawn(plots),
        operations=operation_parts(found.rows),
        median_confidence=format_ratio(CONFIDENCE),
    )


def write_comparison(
    path: str | os.PathLike[str], name: str, found: Comparison, summaries: Sequence[ErrorSummary]
) -> None:
    """Write the page; a file that is there is replaced."""
    page = render(name, found, summaries)
    write(path, page)
