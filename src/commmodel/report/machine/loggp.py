"""Tables of LogGP and pLogP: parameters with intervals, and the agreement of two measurements.

Main entries: `logp_tables` and `loggp_remarks`.
"""

from collections.abc import Iterable, Sequence

from commmodel.fit.consistency import Agreement
from commmodel.machine import LogGP, Machine, Parameter, PLogP
from commmodel.report.kit.cells import measured_cell, parameter_cell
from commmodel.report.kit.tables import NOTHING, Cell, Column, Table, left, right, stack
from commmodel.report.machine.parameters import message_words
from commmodel.units import format_interval, format_rate, format_ratio, format_size

_NAMES = ("L", "o", "g", "G")
_FROM_TRAINS, _FROM_TABLE, _FROM_PING_PONG = "trains", "pLogP", "ping-pong"


def has_other_models(machine: Machine) -> bool:
    """Whether a segment has a model of ping-pongs or of streams."""
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
    of_byte = NOTHING if model.G is None else _byte_time(model.G)
    if model.G_gap is not None:
        in_gap = _byte_time(model.G_gap)
        below = [Cell(f"gap {in_gap.value}", in_gap.detail)]
        if model.overlap.value:
            below.append(Cell(f"v {parameter_cell(model.overlap, 's').value}"))
        of_byte = stack((of_byte, *below))
    return [*times, of_byte]


def loggp_table(machine: Machine) -> Table | None:
    """Return L, o, g and G of each segment, with the error and the trust of the fit.

    None where no segment has LogGP parameters.
    """
    rows = []
    paths = {table.path for table in machine.plogp}
    for segment, messages in zip(machine.segments, message_words(machine), strict=True):
        if segment.loggp is None:
            continue
        quality = segment.loggp.quality
        other = _FROM_PING_PONG if segment.loggp.bounded else "file"
        error, trusted, origin = NOTHING, NOTHING, _FROM_TABLE if segment.path in paths else other
        if quality is not None:
            largest = f"max {format_ratio(quality.relative_error_max)}"
            error, origin = Cell(format_ratio(quality.relative_error_mean), largest), _FROM_TRAINS
            trusted = Cell("yes", style="good") if quality.trusted else Cell("no", style="bad")
        about = (Cell(segment.protocol, segment.path), Cell(messages), Cell(origin))
        rows.append((*about, *_cells(segment.loggp), error, trusted))
    columns = (*left("segment", "messages", "from"), *right(*_NAMES), Column("error", detail="mean"), *left("trusted"))
    notes = ["T = L + 2 o + (m − 1) G; messages of one process begin at least max(o, g + (m − 1) G) apart."]
    models = [segment.loggp for segment in machine.segments if segment.loggp is not None]
    if any(model.G_gap is not None for model in models):
        notes.append("gap: a byte of messages that follow one another, in place of G between them.")
    if any(model.overlap.value for model in models):
        notes.append("v: the part of g in which bytes move; they begin at least g − v + max(v, (m − 1) gap) apart.")
    return Table("LogGP", columns, tuple(rows), tuple(notes)) if rows else None


def loggp_remarks(machine: Machine) -> list[str]:
    """Return the remarks on the fits of LogGP, each once, with its segments."""
    about: dict[str, list[str]] = {}
    for segment in machine.segments:
        quality = None if segment.loggp is None else segment.loggp.quality
        for remark in quality.remarks if quality is not None else ():
            about.setdefault(remark, []).append(f"{segment.protocol} ({segment.path})")
    peaks = [
        f"pLogP ({table.path}, {table.mode}): {', '.join(map(format_size, table.left_out))} left out: they took more "
        "than twice as long as smaller and larger messages, so something disturbed them"
        for table in machine.plogp
        if table.left_out
    ]
    return [*(f"LogGP, {', '.join(places)}: {remark}" for remark, places in about.items()), *peaks]


def _column(table: PLogP, name: str) -> Iterable[Cell]:
    values: tuple[float, ...] = getattr(table, name)
    unknown = (float("nan"),) * len(values)
    lows, highs = table.low.get(name, unknown), table.high.get(name, unknown)
    for value, low, high in zip(values, lows, highs, strict=True):
        yield measured_cell(value, low, high, "s")


def plogp_table(table: PLogP) -> Table:
    """Return o_s, o_r and g at each size, and the rate m / g of a train."""
    pairs = zip(table.sizes, table.g, strict=True)
    rates = (Cell(format_rate(size / gap)) if size and gap else Cell("") for size, gap in pairs)
    sizes = (Cell(format_size(size)) for size in table.sizes)
    columns = (_column(table, name) for name in ("o_s", "o_r", "g"))
    rows = tuple(zip(sizes, *columns, rates, strict=True))
    L = parameter_cell(table.L, "s")
    note = f"T = L + g(m), L = {L}. o_s, o_r: time of a send and of a receive; g: least time between two messages."
    title = f"pLogP, {table.path}, {table.mode}"
    return Table(title, right("size", "o_s", "o_r", "g", "m / g"), rows, (note,), details="none")


def _ratios(trains: LogGP, table: LogGP) -> list[Cell]:
    cells = []
    for name in _NAMES:
        above, below = getattr(trains, name), getattr(table, name)
        is_positive = above is not None and below is not None and below.value > 0
        cells.append(Cell(f"{above.value / below.value:.2f}") if is_positive else NOTHING)
    return cells


def agreement_table(agreements: Sequence[Agreement]) -> Table | None:
    """Return LogGP from trains and from pLogP, their ratio, and the error of each against the ping-pong.

    None where no segment was fitted in either way.
    """
    rows = []
    for agreement in agreements:
        block = []
        for origin, model in ((_FROM_TRAINS, agreement.trains), (_FROM_TABLE, agreement.plogp)):
            if model is not None:
                block.append((Cell(origin), *_cells(model), _error(agreement, f"LogGP of {origin}")))
        if agreement.trains is not None and agreement.plogp is not None:
            block.append((Cell("ratio"), *_ratios(agreement.trains, agreement.plogp), Cell("")))
        if "pLogP" in agreement.errors:
            block.append((Cell("L + g(m)"), *[Cell("")] * len(_NAMES), _error(agreement, "pLogP")))
        firsts = (Cell(agreement.protocol, agreement.path), *[Cell("")] * len(block))
        rows += [(first, *row) for first, row in zip(firsts, block, strict=False)]
    columns = (*left("segment", "from"), *right(*_NAMES, "off the ping-pong"))
    note = "Ratio: that of trains over that of pLogP. Off the ping-pong: mean of |T_model − T| / T of what neither saw."
    return Table("Two ways to LogGP", columns, tuple(rows), (note,), grouped=True) if rows else None


def _error(agreement: Agreement, name: str) -> Cell:
    return Cell(format_ratio(agreement.errors[name])) if name in agreement.errors else NOTHING


def logp_tables(machine: Machine, agreements: Sequence[Agreement]) -> list[Table]:
    """Return all LogGP and pLogP tables of the machine."""
    tables = [loggp_table(machine), *map(plogp_table, machine.plogp), agreement_table(agreements)]
    return [table for table in tables if table is not None]
