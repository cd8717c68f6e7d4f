"""Tables for the terminal, made for 100 columns. Nothing is printed here: each function returns what rich prints.

All text is given to rich as `Text`, never as markup: host names and remarks may hold anything. Main entries:
`machine_table`, `measurements_table` and `environment_table`.
"""

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from commmodel.machine import Machine
from commmodel.report.kit.cells import Cell
from commmodel.report.kit.terminal import new_table, stacked, text
from commmodel.report.machine.parameters import (
    ModelRow,
    SegmentRow,
    are_compared,
    explanations,
    have_criteria,
    remarks,
    segment_rows,
)
from commmodel.report.measurements.environment import command_line, environment_rows
from commmodel.report.measurements.memory import memory_parts
from commmodel.report.measurements.other_kernels import PartTable, collective_tables
from commmodel.report.measurements.oversubscription import Share, beyond, share_rows
from commmodel.report.measurements.point_to_point import (
    PathRows,
    TogetherRows,
    collective_endings,
    overlap_endings,
    path_rows,
)
from commmodel.report.overlap.measurements import overlap_parts, overlap_verdicts
from commmodel.results import Header, Measurements
from commmodel.units import format_ratio

__all__ = ["environment_table", "interval_words", "machine_table", "measurements_table", "remark_list"]

_MOST_PAIR_COLUMNS = 8
_TRUST = {"yes": ("trusted", "green"), "no": ("not trusted", "bold red")}


def _list(title: str, lines: Sequence[str]) -> Iterable[RenderableType]:
    if lines:
        yield text(title, "bold")
        yield from (Padding(text(line), (0, 0, 0, 2)) for line in lines)


def remark_list(remarks: Sequence[str]) -> list[RenderableType]:
    """Return remarks as a list below a heading; nothing where there are none."""
    return list(_list("Remarks", remarks))


def _lines(cells: Iterable[Cell]) -> Text:
    """Return cells below each other, each with its detail below it."""
    return Text("\n").join(stacked(cell) if cell.value else text(cell.detail, "dim") for cell in cells)


def _model_name(row: ModelRow) -> Text:
    words, style = _TRUST.get(row.trusted, ("not known", "dim"))
    name = text(row.model.replace(", ", "\n"), "bold" if row.is_recommended else "")
    name.append_text(text("\nrecommended", "green") if row.is_recommended else Text())
    return name.append_text(text(f"\n{words}", style))


def _numbers(row: ModelRow) -> tuple[Text, ...]:
    """Return a model's numbers, grey where it is not trusted."""
    cells = tuple(map(_lines, ((row.latency,), row.pair_rate, row.node_rate, (row.error,))))
    if row.trusted == "no":
        for cell in cells:
            cell.stylize("bright_black")
    return cells


def _remarks(machine: Machine) -> Iterable[RenderableType]:
    """Yield the remarks of a machine's fits; those on models that nobody is told to use are only counted."""
    yield from _list("Remarks", remarks(machine))
    if further := len(remarks(machine, further=True)):
        yield text(
            f"{further} more, on streams and on models that are not recommended: in the page of commmodel report", "dim"
        )


_PARAMETERS = (
    ("latency\nα", "right"), ("one pair\nR_C or 1/β", "right"), ("node\nR_N", "right"), ("error\nmean", "right")
)  # fmt: skip


def _one_model_each(title: str, segments: Iterable[SegmentRow]) -> Table:
    table = new_table(title, [("segment", "left"), ("messages", "left"), ("model", "left"), *_PARAMETERS])
    for segment in segments:
        for row in segment.models:
            first = (stacked(Cell(segment.protocol, segment.path)), stacked(segment.messages))
            table.add_row(*first, _model_name(row), *_numbers(row))
        table.add_section()
    return table


def _several_models(title: str, segments: Sequence[SegmentRow]) -> Table:
    """Return a table in which each segment has several lines: room beside them for its name and its messages."""
    criteria = [("\nΔAICc", "right")] if have_criteria(segments) else []
    headings = [("segment", "left"), ("model", "left"), *_PARAMETERS, ("error\nsum", "right"), *criteria]
    table = new_table(title, headings)
    table.padding = 0  # room for eight columns
    for segment in segments:
        about = [stacked(Cell(segment.protocol, segment.path)), stacked(segment.messages)]
        if len(segment.models) == 1:
            about = [Text("\n").join(about)]
        for place, row in zip_longest(about, segment.models, fillvalue=None):
            if row is not None:
                compared = (row.error_sum, row.criterion)[: 1 + len(criteria)]
                table.add_row(place or Text(), _model_name(row), *_numbers(row), *map(text, compared))
        table.add_section()
    return table


def interval_words(machine: Machine) -> str:
    """Return what the intervals of a machine's parameters are of; empty where it has none.

    >>> from commmodel.machine import Origin, Segment
    >>> interval_words(Machine("m", (Segment("all"),), confidence=0.95, origin=Origin(launches=5)))
    '95 % intervals over 5 launches'
    """
    if machine.confidence is None:
        return ""
    words, launches = f"{format_ratio(machine.confidence)} intervals", machine.origin and machine.origin.launches
    if launches == 1:
        return f"{words} of this launch; launches differ by more: measure several, as with --launches 5"
    return f"{words} over {launches} launches" if launches else words


def machine_table(machine: Machine) -> Group:
    """Return a machine's parameters, a block for each protocol segment, and the remarks of its fits.

    Latency is α; the rate of one pair is R_C of the max-rate model, 1/β of the postal one, or R_Cb and R_Ci of the
    extended one; that of a node is R_N. Where a segment has several models, the recommended one is marked.
    """
    rows = segment_rows(machine)
    hints = [f"[low, high]: {interval_words(machine)}"] if machine.confidence else []
    if not are_compared(rows):
        return Group(
            _one_model_each(f"Machine {machine.name}", rows),
            text("".join(hints), "dim"),
            *_remarks(machine),
        )
    hints.append("error sum: Σ |T_model − T| / T")
    if have_criteria(rows):
        hints.append("ΔAICc: above the best model of the same points")
    return Group(
        _several_models(f"Machine {machine.name}", rows),
        text("; ".join(hints), "dim"),
        *(text(words, "dim") for words in explanations(rows)),
        *_remarks(machine),
    )


def _times(rows: PathRows) -> Table:
    ping = [("in send", "right"), ("in receive", "right")] if rows.has_ping else []
    columns = [
        ("size", "right"), ("median", "right"), ("interval", "left"), ("p10 … p90", "left"), ("bandwidth", "right")
    ]  # fmt: skip
    table = new_table(f"{rows.path}, one pair", [*columns, *ping, ("samples", "right"), ("ended by", "left")])
    for row in rows.times:
        within = (row.send, row.receive) if rows.has_ping else ()
        table.add_row(
            *map(text, (row.size, *row.median, row.spread, row.bandwidth, *within, row.samples)),
            text(row.ended, "yellow" if row.ended.endswith("*") else ""),
        )
    return table


def _shown_columns(count: int) -> list[int]:
    """Return the columns that fit: all, or some evenly spread with the first and the last."""
    if count <= _MOST_PAIR_COLUMNS:
        return list(range(count))
    return [round(index * (count - 1) / (_MOST_PAIR_COLUMNS - 1)) for index in range(_MOST_PAIR_COLUMNS)]


def _together(title: str, rows: TogetherRows) -> Table:
    shown = _shown_columns(len(rows.pair_counts))
    left_out = f" ({len(shown)} of {len(rows.pair_counts)} numbers of pairs)" * (len(shown) < len(rows.pair_counts))
    headings = [(f"k = {rows.pair_counts[column]}", "right") for column in shown]
    table = new_table(f"{title}: rate k n / T{left_out}", [("size", "right"), *headings])
    for size, cells in rows.sizes:
        table.add_row(text(size), *(text(cells[column].value) for column in shown))
    return table


def _part(title: str, part: PartTable) -> Table:
    shown = [0, *(column + 1 for column in _shown_columns(len(part.columns) - 1))]
    left_out = f" ({len(shown) - 1} of {len(part.columns) - 1} columns)" * (len(shown) < len(part.columns))
    table = new_table(f"{title}{left_out}", [(part.columns[column], "right") for column in shown])
    for row in part.rows:
        table.add_row(*(text(row[column].value) for column in shown))
    return table


def _stacked_part(part: PartTable) -> Table:
    """Return a table without its title, each cell's detail below it."""
    table = new_table("", [(heading, "right") for heading in part.columns])
    for row in part.rows:
        table.add_row(*map(stacked, row))
    return table


def _path_tables(rows: PathRows) -> Iterable[RenderableType]:
    if rows.times:
        yield _times(rows)
    if rows.pairs.sizes:
        yield _together(f"{rows.path}, k pairs together", rows.pairs)
    for about, streams in rows.streams:
        yield _together(f"{rows.path}, k streams together, one way, {about}", streams)
    yield from (_part(f"{rows.path}, {part.title}", part) for part in rows.parts)
    yield from (text(f"{rows.path}: {threshold}") for threshold in rows.thresholds)
    yield text(f"How the records ended. {'; '.join(rows.endings)}\n", "dim")


def _shares(shares: Sequence[Share]) -> Table:
    counts, rows = share_rows(shares)
    headings = [("kernel", "left"), ("size", "right"), ("k", "right"), ("alone", "right")]
    shown = _shown_columns(len(counts))
    table = new_table(
        "Rate of a node while h pairs of nodes communicate, over its rate alone",
        [*headings, *((f"h = {counts[column]}", "right") for column in shown)],
    )
    for row in rows:
        table.add_row(*map(text, row[:4]), *(stacked(row.cells[column]) for column in shown))
    return table


def _overlap_tables(measurements: Measurements, machine: Machine | None) -> Iterable[RenderableType]:
    parts = overlap_parts(measurements, machine)
    for part in parts:
        yield text(part.title, "bold")  # a table's own title is folded to its width
        yield _part("", part) if part.columns[0] == "size" else _stacked_part(part)
    verdicts = overlap_verdicts(measurements, machine)
    yield from map(text, verdicts)
    endings = overlap_endings(measurements)
    if parts and endings:
        yield text(" ".join(dict.fromkeys(part.hint for part in parts)), "dim")
        yield text(f"How the records ended. {'; '.join(endings)}", "dim")
    if parts or verdicts:
        yield text("")


def measurements_table(measurements: Measurements, machine: Machine | None = None) -> Group:
    """Return, path by path, times of one pair, rates of pairs and of streams, eager limits and how records ended.

    Collective operations, which have no path, follow, and what is known of overlap, with the machine's profiles where
    it is given and has them. Where several pairs of nodes were measured, what each node got beside the others comes
    last.
    """
    tables = [renderable for rows in path_rows(measurements) for renderable in _path_tables(rows)]
    collectives = collective_tables(measurements)
    tables += [_part(part.title, part) for part in collectives]
    if collectives:
        tables += [
            text(" ".join(dict.fromkeys(part.hint for part in collectives)), "dim"),
            text(f"How the records ended. {'; '.join(collective_endings(measurements))}\n", "dim"),
        ]
    tables += _overlap_tables(measurements, machine)
    for part in memory_parts(measurements):
        tables += [_part(part.title, part), text(f"{part.hint}\n", "dim")]
    found = beyond(measurements)
    if found is not None:
        tables += [_shares(found.shares)] if found.shares else []
        tables.append(text(f"{found.verdict}\n"))
    return Group(*tables) if any(True for _ in measurements.records) else Group(text("No measurements.", "dim"))


def environment_table(header: Header) -> Table:
    """Return what a launch ran on: MPI library, hosts, clock, binding and warnings."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, lines in [*environment_rows(header), ("command", (command_line(header),))]:
        style = "yellow" if name == "warnings" else ""
        table.add_row(text(name), text("\n".join(lines), style))
    return table
