"""What all tables of the terminal are made of. Main entries: `new_table`, `text`, `stacked`.

All text is given to rich as `Text`, never as markup: host names and remarks may hold anything.
"""

from collections.abc import Iterable

from rich import box
from rich.table import Table
from rich.text import Text

from commmodel.report.kit.cells import Cell

__all__ = ["new_table", "stacked", "text"]

_WIDEST_TITLE = 60


def text(words: str, style: str = "") -> Text:
    """Return text that cannot act on the terminal: control characters are shown as a replacement.

    >>> str(text("a" + chr(27) + "[31m"))
    'a�[31m'
    """
    return Text("".join(letter if letter.isprintable() or letter == "\n" else "�" for letter in words), style)


def stacked(cell: Cell) -> Text:
    """Return a cell on two lines, its detail below it."""
    words = text(cell.value, "bold")
    return words.append_text(text(f"\n{cell.detail}", "dim")) if cell.detail else words


def new_table(title: str, columns: Iterable[tuple[str, str]]) -> Table:
    """Return an empty table; columns are (heading, "left" or "right")."""
    table = Table(
        title=text(title, "bold") if title else None,
        title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0),
        min_width=min(len(title), _WIDEST_TITLE),  # or rich would fold it to the width of a narrow table
    )  # fmt: skip
    for heading, side in columns:
        table.add_column(text(heading), justify="right" if side == "right" else "left", overflow="fold")
    return table
