"""Growth of measurements as a section of the report, and as the page of a check.

Main entries: `scaling_section` and `write_check`.
"""

import os
from collections.abc import Sequence

from commmodel.choices import Statistic
from commmodel.files import write_text
from commmodel.report.kit.blocks import Block, Bullets, Figures, Section, Words, folded
from commmodel.report.kit.pages import render_page
from commmodel.report.kit.tables import common_notes
from commmodel.report.scaling.checks import NO_CLASS
from commmodel.report.scaling.growth import model_tables, sentences, surface_tables
from commmodel.report.scaling.plots import draw
from commmodel.results import parameter_words
from commmodel.scaling import CheckResult
from commmodel.scaling.overview import ModelledSeries, Overview, modelled_series
from commmodel.scaling.samples import STATISTIC
from commmodel.signatures import checked
from commmodel.units import counted

_NOTE = "note: "
"""Begins what can be read after the figures."""
_MOST_MISMATCHES = 6
_MOST_ROWS = 30
"""Of all tables together, that are open."""
_MOST_NAMES = 4


def _mismatches(rows: Sequence[ModelledSeries]) -> list[str]:
    """Return sentences on the series that do not grow as expected."""
    sentences = []
    for row in rows:
        series, judged = row.series, row.judgement
        if judged is not None and judged.verdict == "mismatch":
            numbers = parameter_words(parameter for parameter in series.fixed if not isinstance(parameter[1], str))
            growth = row.ensemble.best.growth.text(series.over) if row.ensemble.fits else NO_CLASS
            expected = judged.expectation.text(series.over)
            about = f"{series.metric} of {series.name}{', ' if numbers else ''}{numbers}"
            sentences.append(f"✗ {about}: {growth}, expected {expected}.")
    left_out = len(sentences) - _MOST_MISMATCHES
    return [*sentences[:_MOST_MISMATCHES], *([f"And {left_out} more mismatches."] if left_out > 0 else [])]


def _verdicts(overview: Overview) -> tuple[str, ...]:
    """Return how many series match, then those that do not, then the rest."""
    first = tuple(line for line in sentences(overview) if not line.startswith(_NOTE))
    return (*first[-1:], *_mismatches(overview.rows), *first[:-1])  # the last line counts the matches


def scaling_section(overview: Overview, *, with_verdicts: bool = True) -> Section:
    """Return the section; without blocks where no growth was measured."""
    lines = sentences(overview)
    if not overview.rows and not lines:
        return Section("Scaling", ())
    notes = tuple(line for line in lines if line.startswith(_NOTE))
    plots = tuple(draw(overview.rows))
    left_out = len(overview.rows) - sum(plot.key.startswith("growth") for plot in plots)
    verdicts = _verdicts(overview) if with_verdicts else ()
    blocks: list[Block] = [Bullets(verdicts)] if verdicts else []
    blocks += [Figures(plots)] if plots else []
    blocks += [Words(f"{left_out} further series are in the tables only.", is_hint=True)] if left_out else []
    tables = common_notes((*model_tables(overview.rows), *surface_tables(overview.surfaces)))
    is_open = sum(len(table.rows) for table in tables) <= _MOST_ROWS
    blocks += [table if is_open else folded(table, is_open=False) for table in tables]
    blocks += [Bullets(notes)] if notes else []
    return Section("Scaling", tuple(blocks))


@checked
def write_check(
    path: str | os.PathLike[str], name: str, checked: CheckResult, statistic: Statistic = STATISTIC
) -> None:
    """Write the page of a check, replacing an existing file.

    Parameters
    ----------
    name : str
        What was checked against, such as the name of the expectations.
    checked : CheckResult
        Of `commmodel.scaling.check`.
    statistic : str
        What the repetitions were reduced to, of `commmodel.scaling.STATISTICS`.

    Raises
    ------
    InputError
        Where it cannot be written.
    """
    overview = Overview(modelled_series(checked, statistic=statistic), (("", checked),))
    series = list(dict.fromkeys(row.series.name for row in overview.rows))
    subject = ", ".join(series) if len(series) <= _MOST_NAMES else counted(len(series), "function")
    title = f"Growth of {subject or 'nothing'}, checked against {name}"
    sections = [scaling_section(overview, with_verdicts=False)]
    kind = "Does it grow as expected?"
    write_text(path, render_page(title, title, kind, sections, answer=_verdicts(overview)))
