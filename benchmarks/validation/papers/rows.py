"""Rows of the page, theirs beside ours, and what cannot be made again. Main entry: `page`."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["Gap", "Paper", "Row", "off", "page"]

_NOTHING, _LARGE = 0.05, 95
"""Percent."""


class Row(NamedTuple):
    """A printed value or statement, what we get, and the difference between the two."""

    place: str
    """The table, figure or section of the paper."""
    quantity: str
    printed: str
    value: str
    difference: str
    source: str
    """The command or function that gives the value."""


class Gap(NamedTuple):
    """A table or figure that cannot be made again, and what takes its place."""

    place: str
    reason: str
    instead: str


class Paper(NamedTuple):
    """All tables and figures of a paper."""

    title: str
    rows: Sequence[Row]
    gaps: Sequence[Gap]


def off(value: float, printed: float) -> str:
    """Return a difference in percent, or as a factor.

    >>> off(1.5, 1.0), off(2.0, 2.0), off(5.0, 2.0)
    ('+50 %', '0 %', '2.5 times')
    """
    percent = 100 * (value / printed - 1)
    if abs(percent) < _NOTHING:
        return "0 %"
    return f"{percent:+.2g} %" if percent < _LARGE else f"{value / printed:.2g} times"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return [*lines, *("| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows)]


def page(papers: Iterable[Paper]) -> str:
    """Return the papers as Markdown, a section each."""
    lines: list[str] = []
    for paper in papers:
        lines += [f"## {paper.title}", ""]
        lines += _table(("where", "what", "printed", "ours", "difference", "by"), paper.rows)
        lines += ["", "Not made again:", ""]
        lines += [*_table(("where", "why", "instead"), paper.gaps), ""]
    return "\n".join(lines)
