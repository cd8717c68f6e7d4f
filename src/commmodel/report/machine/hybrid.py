"""The hybrid model: a table of its modes for each path. Main entry: `hybrid_tables`."""

from commmodel.machine import Edge, Machine, Mode, Parameter
from commmodel.report.kit.cells import factor_cell, parameter_cell
from commmodel.report.kit.tables import NOTHING, Cell, Table, left, right
from commmodel.units import format_quantity, format_ratio, format_size

_NOTE = (
    "One way takes L + k / B + o_r + k O_r, MPI_Send o_s + k O_s. Asynchronous: a message leaves before its receive is "
    "posted; detached: when it is, and the sender goes on; synchronous: the sender waits for the transfer. "
    "Below a limit: its interval, and the share of resampled data that has it."
)


def _overhead(constant: Parameter | None, per_byte: Parameter | None) -> Cell:
    """Return o as text, and below it the time per byte."""
    if constant is None or (not constant.value and not (per_byte and per_byte.value)):
        return NOTHING
    slope = f"+ {format_quantity(per_byte.value * 1024, 's')}/KiB" if per_byte is not None and per_byte.value else ""
    return Cell(format_quantity(constant.value, "s"), slope)


def _limit(edge: Edge | None, below: int | None) -> Cell:
    if edge is None:
        return Cell("all sizes" if below is None else f"above {format_size(below)}")
    sure = "" if edge.confidence is None else f"in {format_ratio(edge.confidence)}"
    ends = "" if edge.low is None or edge.high is None else f"[{edge.low}, {edge.high}] "
    return Cell(f"up to {format_size(edge.value)}", f"{ends}{sure}")


def _row(mode: Mode, below: int | None) -> tuple[Cell, ...]:
    return (
        Cell(mode.kind), _limit(mode.limit, below), _overhead(mode.o_s, mode.O_s), _overhead(mode.o_is, mode.O_is),
        _overhead(mode.o_r, mode.O_r), parameter_cell(mode.L, "s"), parameter_cell(mode.B, "B/s"),
        NOTHING if mode.relative_error is None else Cell(format_ratio(mode.relative_error)),
    )  # fmt: skip


def hybrid_tables(machine: Machine) -> list[Table]:
    """Return a table of modes for each path."""
    tables = []
    for model in machine.hybrid:
        ends = [None, *(mode.limit.value if mode.limit else None for mode in model.modes)]
        rows = tuple(_row(mode, below) for mode, below in zip(model.modes, ends, strict=False))
        columns = (*left("mode", "messages"), *right("o_s", "MPI_Isend", "o_r", "L", "B", "error"))
        note = ""
        if model.contention is not None:
            note = f" Both ways at once a node's link holds {factor_cell(model.contention)} B."
        if model.send_buffer is not None:
            buffer = format_size(round(model.send_buffer.value))
            note += f" A synchronous send ends when {buffer} are left of it; up to that, eager messages leave in turn."
        if model.unexpected is not None:
            share = format_ratio(model.unexpected.value)
            note += f" To a receiver in MPI, {share} of a large message come before its receive is posted."
        if model.answer_delay is not None:
            share = format_ratio(model.answer_delay.value)
            note += f" MPI_Send beside a larger message the other way takes {share} of its time."
        tables.append(Table(f"hybrid model, {model.path}", columns, rows, (f"{_NOTE}{note}",)))
    return tables


def hybrid_remarks(machine: Machine) -> list[str]:
    """Return the remarks on the fits of the hybrid model."""
    return [f"hybrid model ({model.path}): {remark}" for model in machine.hybrid for remark in model.remarks]
