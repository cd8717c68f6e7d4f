"""Tables of all reports; rendered for the terminal here and as HTML in `pages`.

Both draw the same object, so they cannot disagree. All text goes to rich as `Text`, never as markup: host names and
remarks may hold anything. Main entries: `Table`, `Column`, `Cell`, `text`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from commmodel.report.kit.terminal_width import least_width, parts, shared

Style = Literal["", "strong", "good", "bad", "uncertain", "quiet", "sentence"]
"""What a cell stands for: the fastest choice, a verdict, a number that is not trusted, words that may break."""
_RICH_STYLES: dict[Style, str] = {
    "": "", "strong": "bold", "good": "green", "bad": "bold red", "uncertain": "yellow", "quiet": "bright_black",
    "sentence": "",
}  # fmt: skip
_MOST_ALIKE = 8
"""Columns of one kind that a terminal of 100 columns has room for."""
_EDGES = 2
"""Columns of the terminal at the left and right of a table."""
_MOST_APART = 7
"""Columns of a grouped table that have room for two spaces between them."""


class Cell(NamedTuple):
    """A value as text, with an interval or a remark."""

    value: str
    detail: str = ""
    style: Style = ""
    below: "tuple[Cell, ...]" = ()
    """Further values of the same cell."""
    link: str = ""
    """Address that a page leads to."""

    def __str__(self) -> str:
        """Return value and detail on one line."""
        return f"{self.value} {self.detail}".rstrip()


NOTHING = Cell("–")


class Column(NamedTuple):
    """A column: its heading, and the alignment of its cells."""

    heading: str
    align: Literal["left", "right"] = "right"
    detail: str = ""
    """Small, below the heading."""


def left(*headings: str) -> tuple[Column, ...]:
    """Return left-aligned columns, for words."""
    return tuple(Column(heading, "left") for heading in headings)


def right(*headings: str) -> tuple[Column, ...]:
    """Return right-aligned columns, for numbers."""
    return tuple(Column(heading) for heading in headings)


def stack(cells: Iterable[Cell], style: Style = "") -> Cell:
    """Return several cells as one, below each other."""
    first, *below = (cell._replace(style=style) if style else cell for cell in cells)
    return first._replace(below=tuple(below))


def plain_rows(rows: Iterable[Iterable[str]]) -> tuple[tuple[Cell, ...], ...]:
    """Return rows of cells without details."""
    return tuple(tuple(map(Cell, row)) for row in rows)


def common_notes(tables: "Iterable[Table]") -> "tuple[Table, ...]":
    """Return the tables with each common note only below the last table that has it."""
    tables = tuple(tables)
    later: set[str] = set()
    shown = []
    for table in reversed(tables):
        shown.append(replace(table, notes=tuple(note for note in table.notes if note not in later)))
        later |= set(table.notes)
    return tuple(reversed(shown))


def text(words: str, style: str = "") -> Text:
    """Return text with control characters replaced, safe for a terminal.

    >>> str(text("a" + chr(27) + "[31m"))
    'a�[31m'
    """
    return Text("".join(letter if letter.isprintable() or letter == "\n" else "�" for letter in words), style)


@dataclass(frozen=True)
class Table:
    """A table of text; the first cell of each row names the row.

    Attributes
    ----------
    title : str
    columns : tuple of Column
    rows : tuple of tuples of Cell
    notes : tuple of str
        How to read it, below the table.
    details : {"below", "beside", "none"}
        Where a terminal shows the details of cells; a page shows them below their values.
    alike_from : int, optional
        First of the columns of one kind, such as a column for each number of processes: of many, a terminal shows
        some, evenly spread.
    grouped : bool
        A row with an empty first cell belongs to the row above it; leading cells that are empty, too, are one with
        those above them.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    details: Literal["below", "beside", "none"] = "below"
    alike_from: int | None = None
    grouped: bool = False

    kind: ClassVar[str] = "table"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table for the terminal; one that is too wide goes on below, with the names of its rows."""
        shown = self._shown()
        alike = len(self.columns) - (self.alike_from or 0)
        left_out = len(self.columns) - len(shown)
        of = f" ({alike - left_out} of {alike} columns)" if left_out else ""
        if self.title:
            yield text(f"{self.title}{of}", "bold")
        beside = (0 if self.grouped and len(shown) > _MOST_APART else 1) + 1
        widths = [self._widths(index) for index in shown]
        keys = min(self.alike_from or 1, len(shown))
        divided = parts([least + beside for least, _ in widths], options.max_width - _EDGES + beside, keys)
        for part in divided:
            room = options.max_width - _EDGES - beside * (len(part) - 1)
            least, natural = zip(*(widths[place] for place in part), strict=True)
            yield self._part([shown[place] for place in part], shared(least, natural, room), beside - 1)
        yield from (text(note, "dim") for note in self.notes)

    def _part(self, shown: Sequence[int], widths: Sequence[int], padding: int) -> RichTable:
        """Return some columns as a table of rich."""
        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, padding, 0, 0))
        for index, width in zip(shown, widths, strict=True):
            column = self.columns[index]
            heading = "\n".join(filter(None, (column.heading, column.detail)))
            table.add_column(text(heading), justify=column.align, overflow="fold", width=width)
        for number, row in enumerate(self.rows):
            if self.grouped and number and row[0].value:
                table.add_section()
            table.add_row(*(_words(row[index], self.details) for index in shown))
        return table

    def _widths(self, index: int) -> tuple[int, int]:
        """Return the least and the natural width of a column."""
        column = self.columns[index]
        heading = f"{column.heading}\n{column.detail}"
        lines = [_words(row[index], self.details).plain for row in self.rows]
        natural = max(cell_len(line) for words in (heading, *lines) for line in words.splitlines() or ("",))
        return least_width(heading, lines, is_number=column.align == "right"), max(natural, 1)

    def _shown(self) -> list[int]:
        """Return the columns that fit the terminal's width, including the first and the last of each kind."""
        fixed, count = self.alike_from, len(self.columns)
        if fixed is None or count - fixed <= _MOST_ALIKE:
            return list(range(count))
        step = (count - fixed - 1) / (_MOST_ALIKE - 1)
        return [*range(fixed), *(fixed + round(index * step) for index in range(_MOST_ALIKE))]

    def groups(self) -> list[list[tuple[tuple[Cell, int], ...]]]:
        """Return the rows of each group, each cell with its row span; spanned cells are omitted."""
        groups: list[list[tuple[Cell, ...]]] = []
        for row in self.rows:
            if self.grouped and groups and not row[0].value:
                groups[-1].append(row)
            elif self.grouped or not groups:
                groups.append([row])
            else:
                groups[-1].append(row)
        return [
            _spans(group) if self.grouped else [tuple((cell, 1) for cell in row) for row in group] for group in groups
        ]

    def untitled(self) -> "Table":
        """Return the table without its title, for use below a heading."""
        return replace(self, title="")


def _spans(group: Sequence[tuple[Cell, ...]]) -> list[tuple[tuple[Cell, int], ...]]:
    """Return the cells of a group; a leading cell spans the empty cells below it."""
    leading = 0
    while leading < len(group[0]) and not any(row[leading].value or row[leading].detail for row in group[1:]):
        leading += 1
    first = tuple((cell, len(group) if place < leading else 1) for place, cell in enumerate(group[0]))
    return [first, *(tuple((cell, 1) for cell in row[leading:]) for row in group[1:])]


def _words(cell: Cell, details: Literal["below", "beside", "none"]) -> Text:
    """Return a cell as text for the terminal."""
    style = _RICH_STYLES[cell.style]
    words = Text()
    if details == "beside":
        words.append_text(text(str(cell), style))
    elif details == "none" or not cell.detail:
        words.append_text(text(cell.value, style))
    else:
        words.append_text(text(cell.value, style or "bold"))
        words.append_text(text(f"\n{cell.detail}" if cell.value else cell.detail, "dim"))
    for further in cell.below:
        words.append_text(Text("\n")).append_text(_words(further, details))
    return words
