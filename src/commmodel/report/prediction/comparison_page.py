"""Page of measured beside predicted times: errors, plots and tables. Main entry: `write_comparison`."""

import os
from collections.abc import Sequence

from commmodel.files import write_text
from commmodel.predict import Comparison, ErrorSummary
from commmodel.report.kit.blocks import Bullets, Figures, Section, Words, folded
from commmodel.report.kit.pages import render_page
from commmodel.report.prediction.comparison import mean_tables, operation_tables, summary_table, verdicts
from commmodel.report.prediction.comparison_plots import draw
from commmodel.signatures import checked
from commmodel.statistics import CONFIDENCE
from commmodel.units import format_ratio

_FACTOR = "Factor: predicted / measured at the worst size on the most processes."


@checked
def write_comparison(
    path: str | os.PathLike[str], name: str, comparison: Comparison, summaries: Sequence[ErrorSummary]
) -> None:
    """Write the comparison page, replacing an existing file.

    Parameters
    ----------
    name : str
        The machine's.
    comparison : Comparison
        Of `commmodel.predict.compare`.
    summaries : sequence of ErrorSummary
        Of `commmodel.predict.summarise`.
    """
    plots = tuple(draw(comparison.rows))
    intervals = (
        f"Measured: medians, below them their {format_ratio(CONFIDENCE)} intervals. Below a model's time: all its "
        "parameters at the fast, and at the slow ends of their intervals."
    )
    summary = summary_table(summaries)
    times = (folded(table, is_open=False) for table in operation_tables(comparison.rows))
    sections = [
        Section("What is not compared", (Bullets(comparison.notes),) if comparison.notes else (), is_warning=True),
        Section(
            summary.title,
            (
                summary.untitled(),
                Words(_FACTOR, is_hint=True),
                *mean_tables(summaries),
            ),
        ),
        Section("Plots", (Figures(plots),) if plots else ()),
        Section("All times", (*times, Words(intervals, is_hint=True))),
    ]
    operations = ", ".join(dict.fromkeys(summary.operation for summary in summaries))
    title, kind = f"{operations or 'Nothing'} on {name}: measured and predicted", "MPI communication"
    write_text(path, render_page(title, title, kind, sections, answer=verdicts(summaries)))
