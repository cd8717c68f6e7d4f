"""Pages of compared files: what differs between two, and what changed over the time of several.

Main entries: `write_differences` and `write_history`.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import replace

from commmodel.arguments import NotNegative
from commmodel.files import write_text
from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Block, Bullets, Figures, NameList, Plot, Section, Words, folded
from commmodel.report.kit.canvas import new_canvas
from commmodel.report.kit.pages import render_page
from commmodel.report.scaling.differences import (
    difference_table,
    few_launches_words,
    only_words,
    summary_words,
    together_words,
)
from commmodel.report.scaling.history import change_table, history_sentences, run_table, value_table
from commmodel.report.scaling.history_plots import draw_history
from commmodel.results import configuration_words
from commmodel.scaling.difference import Difference, Differences
from commmodel.scaling.run_history import History
from commmodel.signatures import checked
from commmodel.units import format_ratio

_MOST_ROWS = 30
"""Of a table that is open, and of a plot."""
_COLOURS = {"slower": "#d55e00", "larger": "#d55e00", "faster": "#009e73", "smaller": "#009e73"}
_OTHER = "#0072b2"
_LONGEST = 34
"""Letters of a configuration beside the plot."""
_HISTORY = (
    "Means over the launches of each run; bars: the least and the most of them. Dashed: a quantity is another since "
    "that run, by more than chance, drift and the least change that counts explain."
)


def _ratio_plot(rows: Sequence[Difference], least: float) -> Plot | None:
    """Return the plot of the ratios with their intervals; None where there is none."""
    shown = [row for row in rows if 0 < row.ratio < math.inf][:_MOST_ROWS]
    if not shown:
        return None
    canvas = new_canvas()
    canvas.figure.set_figheight(1.2 + 0.24 * len(shown))
    values = [row.ratio for row in shown]
    bounded = [row.low > 0 and math.isfinite(row.high) for row in shown]
    ends = [end for row, has_ends in zip(shown, bounded, strict=True) if has_ends for end in (row.low, row.high)]
    for place, row in enumerate(shown):
        colour = _COLOURS.get(row.change, _OTHER)
        if bounded[place]:
            canvas.axes.hlines(place, row.low, row.high, color=colour, linewidth=1.4, zorder=2)
        canvas.axes.plot([row.ratio], [place], "o", color=colour, gid=f"ratio-{place}", zorder=3)
        canvas.points[f"ratio-{place}"] = [f"{configuration_words(row.configuration)}: {row.ratio:.3g}, {row.change}"]
    canvas.axes.axvline(1, color=look.INK, linewidth=1, zorder=1)
    canvas.axes.axvspan(1 / (1 + least), 1 + least, color=look.INK, alpha=0.08, linewidth=0, zorder=0.5)
    names = [configuration_words(row.configuration) for row in shown]
    labels = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in names]
    canvas.axes.set_yticks(range(len(shown)), labels)
    canvas.axes.set_ylim(len(shown) - 0.4, -0.6)
    canvas.axes.grid(visible=False, axis="y")
    look.factor_axis(canvas.axes, [*values, *ends, 1 + least, 1 / (1 + least)], "after / before")
    more = f" The {len(shown)} largest of {len(rows)}." if len(rows) > len(shown) else ""
    words = (
        f"Ratio after / before, and its interval where launches give one; shaded: changes of less than "
        f"{format_ratio(least)}.{more}"
    )
    return canvas.finish("ratios", "After over before", words, look.FIXED_COLOURS)


@checked
def write_differences(
    path: str | os.PathLike[str], name: str, compared: Differences, least: NotNegative = 0.05
) -> None:
    """Write the page of two compared files, replacing an existing file.

    Parameters
    ----------
    name : str
        Its heading, such as the names of both files.
    compared : Differences
        Of `commmodel.scaling.differences`.
    least : float
        Not negative; changes up to this share are none, as when they were compared.

    Raises
    ------
    InputError
        Where it cannot be written.
    """
    first = tuple(
        filter(None, (summary_words(compared, least), together_words(compared), few_launches_words(compared)))
    )
    with look.style():
        plot = _ratio_plot(compared.rows, least)
    table = replace(difference_table(compared.rows, compared.pairs), title="All that both files have")
    numbers = folded(table, is_open=len(compared.rows) <= _MOST_ROWS)
    only = tuple(Words(words) for words in only_words(compared))
    environment = tuple((fact, (f"{old} → {new}",)) for fact, old, new in compared.environment)
    blocks: list[Block] = [Figures((plot,))] if plot is not None else []
    sections = [
        Section(
            "Before you trust these numbers", (Bullets(compared.remarks),) if compared.remarks else (), is_warning=True
        ),
        Section("Ratios", tuple(blocks)),
        Section("In numbers", (*([numbers] if compared.rows else []), *only)),
        Section("What differs between the files", (NameList(environment),) if environment else ()),
    ]
    title = f"What became slower: {name}"
    write_text(path, render_page(title, title, "Comparison of two files", sections, answer=first))


@checked
def write_history(path: str | os.PathLike[str], name: str, history: History) -> None:
    """Write the page of the measurements of one machine over time, replacing an existing file.

    Parameters
    ----------
    name : str
        Its heading, such as the machine's name.
    history : History
        Of `commmodel.scaling.history`.

    Raises
    ------
    InputError
        Where it cannot be written.
    """
    plots, left_out = draw_history(history)
    more = f" {left_out} further quantities are in the table only." if left_out else ""
    values, changes = value_table(history), history.changes
    tables = (
        *([folded(change_table(changes), is_open=len(changes) <= _MOST_ROWS)] if changes else []),
        folded(run_table(history), is_open=len(history.runs) <= _MOST_ROWS),
        folded(values, is_open=len(values.rows) <= _MOST_ROWS),
    )
    sections = [
        Section(
            "Before you trust these numbers", (Bullets(history.remarks),) if history.remarks else (), is_warning=True
        ),
        Section("Over time", (Words(f"{_HISTORY}{more}", is_hint=True), Figures(tuple(plots), is_small=True))),
        Section("In numbers", tables),
    ]
    title, (first, *sentences) = f"History of {name}", history_sentences(history)
    if sentences:
        sections.insert(0, Section("What changed", (Bullets(tuple(sentences)),)))
    write_text(path, render_page(title, title, "Measurements over time", sections, answer=(first,)))
