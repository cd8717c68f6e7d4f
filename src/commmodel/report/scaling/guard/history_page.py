"""The page of a guard's history: one file that holds the numbers it shows, to which each run adds its own.

Main entry: `write_guard_history`.
"""

import os
import re
from collections.abc import Sequence

import msgspec
from markupsafe import Markup

from commmodel.documents import decode_json, read_text
from commmodel.errors import DamagedFileError
from commmodel.files import write_text
from commmodel.guard.points import MOST_POINTS, GuardPoint, as_history, point
from commmodel.guard.verdict import GuardResult
from commmodel.report.kit.blocks import Block, Figures, Section, Words, folded
from commmodel.report.kit.pages import render_page
from commmodel.report.scaling.guard.words import count_words, verdict_words
from commmodel.report.scaling.history import change_table, history_sentences, value_table
from commmodel.report.scaling.history_plots import MOST_PANELS, draw_history
from commmodel.scaling import History
from commmodel.signatures import checked

_DATA = re.compile(r'<script type="application/json" id="commmodel-guard">(.*?)</script>', re.DOTALL)
_DECODER = msgspec.json.Decoder(tuple[GuardPoint, ...])
_FEWEST = 2
"""Points of a plot."""
_MOST_CHANGES = 30
"""Rows of a table that is open."""


def _points(path: str | os.PathLike[str]) -> tuple[GuardPoint, ...]:
    """Return the points of a page; none where there is no such file."""
    if not os.path.exists(path):
        return ()
    if not (data := _DATA.search(read_text(path))):
        raise DamagedFileError(path, "", "no history that commmodel guard has written: name another file")
    return decode_json(path, data[1].encode(), _DECODER)


def _blocks(history: History) -> list[Block]:
    blocks: list[Block] = []
    if len(history.runs) >= _FEWEST:
        plots, left_out = draw_history(history)
        blocks.append(Figures(tuple(plots), is_small=True))
        if left_out:
            blocks.append(Words(f"The first {MOST_PANELS} numbers; {left_out} more are in the table.", is_hint=True))
    if history.changes:
        table = change_table(history.changes)
        blocks.append(folded(table, is_open=len(table.rows) <= _MOST_CHANGES))
    blocks.append(folded(value_table(history), is_open=False))
    return blocks


@checked
def write_guard_history(path: str | os.PathLike[str], result: GuardResult, label: str, created: str) -> None:
    """Add a result to the page of a guard's history; write the page where there is none.

    Parameters
    ----------
    path : path
        A file that this function has written, or a new one.
    result : GuardResult
    label : str
        Of the commit. The point of an earlier run of the same commit is replaced.
    created : str
        When it was counted, in ISO format.

    Raises
    ------
    InputError
        Where the file is another one, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from commmodel.guard import Counts, RunCounts
    >>> result = GuardResult(Counts(runs=(RunCounts("solver", 4),)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_guard_history(os.path.join(folder, "history.html"), result, "1a2b3c", "2026-11-29")
    """
    older = [entry for entry in _points(path) if entry.label != label]
    points = [*older, point(label, created, result.counts)][-MOST_POINTS:]
    history = as_history(points)
    answer = [f"{label}: {verdict_words(result)}.", *(history_sentences(history)[1:] if history.changes else ())]
    title = "What the programs send, over time"
    sections = [Section("Numbers", tuple(_blocks(history)))]
    page = render_page(
        title, title, "commmodel guard", sections, [count_words(result), f"{len(points)} commits"],
        template="guard.html", answer=answer, data=_embedded(points),
    )  # fmt: skip
    write_text(path, page)


def _embedded(points: Sequence[GuardPoint]) -> Markup:
    """Return points as JSON that ends no element of HTML."""
    return Markup(msgspec.json.encode(points).decode().replace("<", "\\u003c"))  # noqa: S704  (no HTML is left)
