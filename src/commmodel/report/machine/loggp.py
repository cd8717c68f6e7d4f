"""LogGP and pLogP in tables: parameters with intervals, and whether two ways to them agree.

Terminal and page show the same rows. Main entries: `loggp_table`, `plogp_table` and `agreement_table` for the terminal,
`logp_parts` for the page.
"""

from collections.abc import Iterable, Sequence

from rich.console import Group

from commmodel.fit.consistency import Agreement
from commmodel.machine import LogGP, Machine, Parameter, PLogP
from commmodel.report.kit.cells import NOTHING, Cell, measured_cell, parameter_cell
from commmodel.report.kit.terminal import new_table, stacked, text
from commmodel.report.measurements.other_kernels import PartTable
from commmodel.units import format_interval, format_rate, format_ratio, format_size

__all__ = [
    "agreement_part", "agreement_table", "has_other_models", "loggp_part", "loggp_remarks", "loggp_table", "logp_parts",
    "logp_tables", "plogp_part", "plogp_table",
]  # fmt: skip

_NAMES = ("L", "o", "g", "G")
_LEFT = {"segment", "messages", "from", "trusted"}
_FROM_TRAINS, _FROM_TABLE = "trains", "pLogP"


def has_other_models(machine: Machine) -> bool:
    """Return whether a segment has a model of ping-pongs or of streams."""
    names = ("postal", "max_rate", "extended", "latency_aware", "one_way")
    return any(getattr(segment, name) is not None for segment in machine.segments for name in names)


def _byte_time(parameter: Parameter) -> Cell:
    """Return a time per byte in nanoseconds."""
    ends = (None if end is None else 1e9 * end for end in (parameter.low, parameter.high))
    low, high = ends
    words, bracket, interval = format_interval(1e9 * parameter.value, low, high, "ns/B").partition(" [")
    return Cell(words, f"[{interval}" if bracket else "")


def _cells(model: LogGP | None) -> list[Cell]:
    if model is None:
        return [NOTHING] * len(_NAMES)
    times = [parameter_cell(getattr(model, name), "s") for name in _NAMES[:-1]]
    return [*times, NOTHING if model.G is None else _byte_time(model.G)]


def loggp_part(machine: Machine) -> PartTable | None:
    """Return L, o, g and G of each segment, how far the model is from its trains, and whether to trust it.

    None where no segment has LogGP parameters.
    """
    rows = []
    below: dict[str, int] = {}
    tables = {table.path for table in machine.plogp}
    for segment in machine.segments:
        start = below.get(segment.path)
        if segment.limit is not None:
            below[segment.path] = segment.limit.value
            messages = f"up to {format_size(segment.limit.value)}"
        else:
            messages = "all sizes" if start is None else f"above {format_size(start)}"
        if segment.loggp is None:
            continue
        quality = segment.loggp.quality
        error, trusted, origin = NOTHING, NOTHING, _FROM_TABLE if segment.path in tables else "file"
        if quality is not None:
            largest = f"max {format_ratio(quality.relative_error_max)}"
            error, origin = Cell(format_ratio(quality.relative_error_mean), largest), _FROM_TRAINS
            trusted = Cell("yes" if quality.trusted else "no")
        about = (Cell(segment.protocol, segment.path), Cell(messages), Cell(origin))
        rows.append((*about, *_cells(segment.loggp), error, trusted))
    columns = ("segment", "messages", "from", *_NAMES, "error, mean", "trusted")
    hint = "T = L + 2 o + (m − 1) G; messages of one process begin at least max(o, g + (m − 1) G) apart."
    return PartTable("LogGP", columns, tuple(rows), hint) if rows else None


def loggp_remarks(machine: Machine) -> list[str]:
    """Return what there is to know of the fits of LogGP, each remark once, with the segments that it is about."""
    about: dict[str, list[str]] = {}
    for segment in machine.segments:
        quality = None if segment.loggp is None else segment.loggp.quality
        for remark in quality.remarks if quality is not None else ():
            about.setdefault(remark, []).append(f"{segment.protocol} ({segment.path})")
    return [f"LogGP, {', '.join(places)}: {remark}" for remark, places in about.items()]


def _column(table: PLogP, name: str) -> Iterable[Cell]:
    values: tuple[float, ...] = getattr(table, name)
    nothing = (float("nan"),) * len(values)
    lows, highs = table.low.get(name, nothing), table.high.get(name, nothing)
    for value, low, high in zip(values, lows, highs, strict=True):
        yield measured_cell(value, low, high, "s")


def plogp_part(table: PLogP) -> PartTable:
    """Return o_s, o_r and g at each size, and the rate m / g of a train."""
    pairs = zip(table.sizes, table.g, strict=True)
    rates = (Cell(format_rate(size / gap)) if size and gap else Cell("") for size, gap in pairs)
    sizes = (Cell(format_size(size)) for size in table.sizes)
    columns = (_column(table, name) for name in ("o_s", "o_r", "g"))
    rows = tuple(zip(sizes, *columns, rates, strict=True))
    L = parameter_cell(table.L, "s")
    hint = f"T = L + g(m), L = {L}. o_s, o_r: time of a send and of a receive; g: least time between two messages."
    return PartTable(f"pLogP, {table.path}, {table.mode}", ("size", "o_s", "o_r", "g", "m / g"), rows, hint)


def _ratios(one: LogGP, other: LogGP) -> list[Cell]:
    cells = []
    for name in _NAMES:
        above, below = getattr(one, name), getattr(other, name)
        known = above is not None and below is not None and below.value > 0
        cells.append(Cell(f"{above.value / below.value:.2f}") if known else NOTHING)
    return cells


def agreement_part(rows: Sequence[Agreement]) -> PartTable | None:
    """Return LogGP found from trains and from pLogP's table, their ratio, and how far each is from the ping-pong.

    None where no segment was found in a way of its own.
    """
    lines = []
    for row in rows:
        found = {_FROM_TRAINS: row.trains, _FROM_TABLE: row.plogp}
        first = Cell(row.protocol, row.path)
        errors = dict(zip(found, ("LogGP of trains", "LogGP of pLogP"), strict=True))
        for origin, model in found.items():
            if model is not None:
                lines.append((first, Cell(origin), *_cells(model), _error(row, errors[origin])))
                first = Cell("")
        if row.trains is not None and row.plogp is not None:
            lines.append((first, Cell("ratio"), *_ratios(row.trains, row.plogp), Cell("")))
            first = Cell("")
        if "pLogP" in row.errors:
            lines.append((first, Cell("L + g(m)"), *[Cell("")] * len(_NAMES), _error(row, "pLogP")))
    columns = ("segment", "from", *_NAMES, "off the ping-pong")
    hint = "Ratio: that of trains over that of pLogP. Off the ping-pong: mean of |T_model − T| / T of what neither saw."
    return PartTable("Two ways to LogGP", columns, tuple(lines), hint) if lines else None


def _error(row: Agreement, name: str) -> Cell:
    return Cell(format_ratio(row.errors[name])) if name in row.errors else NOTHING


def _terminal(part: PartTable, *, details: bool) -> Group:
    sides = ((heading, "left" if heading in _LEFT else "right") for heading in part.columns)
    table = new_table(part.title, sides)
    for row in part.rows:
        table.add_row(*(stacked(cell if details else Cell(cell.value)) for cell in row))
    return Group(table, text(part.hint, "dim"))


def loggp_table(machine: Machine) -> Group | None:
    """Return `loggp_part` for the terminal."""
    part = loggp_part(machine)
    return None if part is None else _terminal(part, details=True)


def plogp_table(table: PLogP) -> Group:
    """Return `plogp_part` for the terminal, without intervals."""
    return _terminal(plogp_part(table), details=False)


def agreement_table(rows: Sequence[Agreement]) -> Group | None:
    """Return `agreement_part` for the terminal."""
    part = agreement_part(rows)
    return None if part is None else _terminal(part, details=True)


def logp_tables(machine: Machine, rows: Sequence[Agreement]) -> list[Group]:
    """Return all of them that the machine has, for the terminal."""
    tables = [loggp_table(machine), *map(plogp_table, machine.plogp), agreement_table(rows)]
    return [table for table in tables if table is not None]


def logp_parts(machine: Machine, rows: Sequence[Agreement]) -> list[PartTable]:
    """Return all of them that the machine has, for the page."""
    parts = [loggp_part(machine), *map(plogp_part, machine.plogp), agreement_part(rows)]
    return [part for part in parts if part is not None]
