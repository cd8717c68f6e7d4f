"""Tables for the terminal, made for 100 columns. Nothing is printed here: each function returns what rich prints.

All text is given to rich as `Text`, never as markup: host names and remarks may hold anything. Main entries:
`machine_table`, `measurements_table` and `environment_table`.
"""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from commmodel.machine import Machine
from commmodel.report.cells import Cell
from commmodel.report.measured import PathRows, path_rows
from commmodel.report.parameters import ModelRow, remarks, segment_rows
from commmodel.report.surroundings import command_line, environment_rows
from commmodel.results import Header, Measurements
from commmodel.units import format_ratio

__all__ = ["environment_table", "machine_table", "measurements_table"]

_MOST_PAIR_COLUMNS = 8
_TRUST = {"yes": ("trusted", "green"), "no": ("not trusted", "bold red")}


def _text(text: str, style: str = "") -> Text:
    """Return text that cannot act on the terminal: control characters are shown as a replacement."""
    return Text("".join(letter if letter.isprintable() or letter == "\n" else "�" for letter in text), style)


def _stacked(cell: Cell) -> Text:
    """Return a cell on two lines, its detail below it."""
    text = _text(cell.value, "bold")
    return text.append_text(_text(f"\n{cell.detail}", "dim")) if cell.detail else text


def _table(title: str, columns: Iterable[tuple[str, str]]) -> Table:
    """Return an empty table; columns are (heading, "left" or "right")."""
    table = Table(
        title=_text(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
    )
    for heading, side in columns:
        table.add_column(_text(heading), justify="right" if side == "right" else "left", overflow="fold")
    return table


def _list(title: str, lines: Sequence[str]) -> Iterable[RenderableType]:
    if lines:
        yield _text(title, "bold")
        yield from (Padding(_text(line), (0, 0, 0, 2)) for line in lines)


def _model_cells(row: ModelRow) -> tuple[Text, ...]:
    words, style = _TRUST.get(row.trusted, ("not known", "dim"))
    model = _text(row.model).append_text(_text(f"\n{words}", style))
    return (model, *map(_stacked, (row.latency, row.pair_rate, row.node_rate, row.error)))


def machine_table(machine: Machine) -> Group:
    """Return a machine's parameters, a block for each protocol segment, and the remarks of its fits.

    Latency is α; the rate of one pair is R_C of the max-rate model or 1/β of the postal one; that of a node is R_N.
    """
    table = _table(
        f"Machine {machine.name}",
        [
            ("segment", "left"), ("messages", "left"), ("model", "left"), ("latency\nα", "right"),
            ("one pair\nR_C or 1/β", "right"), ("node\nR_N", "right"), ("error\nmean", "right"),
        ],
    )  # fmt: skip
    for segment in segment_rows(machine):
        first = (_stacked(Cell(segment.protocol, segment.path)), _stacked(segment.messages))
        for row in segment.models:
            table.add_row(*first, *_model_cells(row))
            first = (Text(), Text())
        table.add_section()
    intervals = f"[low, high]: {format_ratio(machine.confidence)} intervals" if machine.confidence else ""
    return Group(table, _text(intervals, "dim"), *_list("Remarks", remarks(machine)))


def _times(rows: PathRows) -> Table:
    ping = [("in send", "right"), ("in receive", "right")] if rows.has_ping else []
    columns = [
        ("size", "right"), ("median", "right"), ("interval", "left"), ("p10 … p90", "left"), ("bandwidth", "right")
    ]  # fmt: skip
    table = _table(f"{rows.path}, one pair", [*columns, *ping, ("samples", "right"), ("ended by", "left")])
    for row in rows.times:
        within = (row.send, row.receive) if rows.has_ping else ()
        table.add_row(
            *map(_text, (row.size, *row.median, row.spread, row.bandwidth, *within, row.samples)),
            _text(row.ended, "yellow" if row.ended.endswith("*") else ""),
        )
    return table


def _shown_columns(count: int) -> list[int]:
    """Return the columns that fit: all, or some evenly spread with the first and the last."""
    if count <= _MOST_PAIR_COLUMNS:
        return list(range(count))
    return [round(index * (count - 1) / (_MOST_PAIR_COLUMNS - 1)) for index in range(_MOST_PAIR_COLUMNS)]


def _pairs(rows: PathRows) -> Table:
    shown = _shown_columns(len(rows.pair_counts))
    left_out = f" ({len(shown)} of {len(rows.pair_counts)} numbers of pairs)" * (len(shown) < len(rows.pair_counts))
    headings = [(f"k = {rows.pair_counts[column]}", "right") for column in shown]
    table = _table(f"{rows.path}, k pairs together: rate k n / T{left_out}", [("size", "right"), *headings])
    for row in rows.pairs:
        table.add_row(_text(row.size), *(_text(row.cells[column].value) for column in shown))
    return table


def _path_tables(rows: PathRows) -> Iterable[RenderableType]:
    if rows.times:
        yield _times(rows)
    if rows.pairs:
        yield _pairs(rows)
    yield from (_text(f"{rows.path}: {threshold}") for threshold in rows.thresholds)
    yield _text(f"How the records ended. {'; '.join(rows.endings)}\n", "dim")


def measurements_table(measurements: Measurements) -> Group:
    """Return, path by path, times of one pair, rates of several pairs, eager limits and how the records ended."""
    tables = [renderable for rows in path_rows(measurements) for renderable in _path_tables(rows)]
    return Group(*(tables or [_text("No measurements.", "dim")]))


def environment_table(header: Header) -> Table:
    """Return what a launch ran on: MPI library, hosts, clock, binding and warnings."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, lines in [*environment_rows(header), ("command", (command_line(header),))]:
        style = "yellow" if name == "warnings" else ""
        table.add_row(_text(name), _text("\n".join(lines), style))
    return table
