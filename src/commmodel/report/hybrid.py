"""The hybrid model in a report: a table of its modes, and durations over size with the fitted modes.

The plot is Figure 4 of Bédaride et al. (2013): the time inside MPI_Send, MPI_Isend and MPI_Recv and half a round trip,
medians of raw values, and the lines of the modes. Main entries: `hybrid_parts`, `hybrid_tables`, `hybrid_plots`.
"""

import math
from collections.abc import Iterator

import numpy as np
from matplotlib.lines import Line2D
from rich.console import Group

from commmodel.fit.hybrid import Call, collect_series
from commmodel.fit.modes import medians
from commmodel.machine import Edge, Hybrid, Machine, Mode, Parameter
from commmodel.report import axes as look
from commmodel.report.canvas import Canvas, Plot, new_canvas
from commmodel.report.cells import NOTHING, Cell, factor_cell, parameter_cell
from commmodel.report.parts import PartTable
from commmodel.report.terminal import new_table, stacked, text
from commmodel.results import Measurements
from commmodel.units import format_quantity, format_ratio, format_size, format_time

__all__ = ["hybrid_parts", "hybrid_plots", "hybrid_remarks", "hybrid_tables"]

_HINT = (
    "One way takes L + k / B + o_r + k O_r, MPI_Send o_s + k O_s. Asynchronous: a message leaves before its receive is "
    "posted; detached: when it is, and the sender goes on; synchronous: the sender waits for the transfer. "
    "Below a limit: its interval, and the share of resampled data that has it."
)
_CALLS: dict[Call, tuple[str, str, str]] = {
    "send": ("MPI_Send", "#0072b2", "o"),
    "isend": ("MPI_Isend", "#009e73", "^"),
    "receive": ("MPI_Recv", "#d55e00", "s"),
    "round-trip": ("half a round trip", look.INK, "D"),
}


def _overhead(constant: Parameter | None, per_byte: Parameter | None) -> Cell:
    """Return o in words, and below it what a byte adds."""
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


def hybrid_parts(machine: Machine | None) -> list[PartTable]:
    """Return a table of modes for each path."""
    parts = []
    for model in machine.hybrid if machine is not None else ():
        ends = [None, *(mode.limit.value if mode.limit else None for mode in model.modes)]
        rows = tuple(_row(mode, below) for mode, below in zip(model.modes, ends, strict=False))
        columns = ("mode", "messages", "o_s", "MPI_Isend", "o_r", "L", "B", "error")
        held = ""
        if model.contention is not None:
            held = f" Both ways at once a node's link holds {factor_cell(model.contention)} B."
        if model.send_buffer is not None:
            buffer = format_size(round(model.send_buffer.value))
            held += f" A synchronous send ends when {buffer} are left of it; up to that, eager messages leave in turn."
        parts.append(PartTable(f"hybrid model, {model.path}", columns, rows, f"{_HINT}{held}"))
    return parts


def hybrid_remarks(machine: Machine | None) -> list[str]:
    """Return what there is to know of the fits of the hybrid model."""
    models = machine.hybrid if machine is not None else ()
    return [f"hybrid model ({model.path}): {remark}" for model in models for remark in model.remarks]


def hybrid_tables(machine: Machine) -> list[Group]:
    """Return the tables for the terminal."""
    groups = []
    for part in hybrid_parts(machine):
        left = {"mode", "messages"}
        table = new_table(part.title, ((heading, "left" if heading in left else "right") for heading in part.columns))
        for row in part.rows:
            table.add_row(*map(stacked, row))
        groups.append(Group(table, text(part.hint, "dim")))
    return groups


def _lines(model: Hybrid, call: Call, largest: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield sizes and times of each mode's line of a call."""
    below = 1.0
    for mode in model.modes:
        end = largest if mode.limit is None else min(float(mode.limit.value), largest)
        sizes = np.geomspace(below, max(end, below), 40)
        below = max(end, below)
        constant, per_byte = {
            "send": (mode.o_s, mode.O_s), "isend": (mode.o_is, mode.O_is), "receive": (mode.o_r, mode.O_r),
            "round-trip": (None, None),
        }[call]  # fmt: skip
        if call == "round-trip":
            per_size = 1 / mode.B.value + mode.O_r.value
            yield sizes, mode.L.value + mode.o_r.value + sizes * per_size
        elif constant is not None and per_byte is not None and (constant.value or per_byte.value):
            yield sizes, constant.value + sizes * per_byte.value


def _draw_call(canvas: Canvas, call: Call, sizes: np.ndarray, seconds: np.ndarray, model: Hybrid | None) -> None:
    name, colour, marker = _CALLS[call]
    canvas.axes.plot(
        sizes, seconds, marker, color=colour, gid=f"hybrid-{call}", markersize=3, alpha=0.6, zorder=3, clip_on=False
    )
    canvas.points[f"hybrid-{call}"] = [
        f"{name}, {format_size(int(size))}: {format_time(float(time))}"
        for size, time in zip(sizes, seconds, strict=True)
    ]
    canvas.shown += [float(time) for time in seconds]
    for own, times in _lines(model, call, float(sizes[-1])) if model is not None else ():
        canvas.axes.plot(own, times, color=colour, linewidth=1.6, zorder=4)


def hybrid_plots(measurements: Measurements, machine: Machine | None) -> list[Plot]:
    """Return durations over size of each path with messages of random sizes, with the modes that were fitted."""
    models = {model.path: model for model in machine.hybrid} if machine is not None else {}
    plots = []
    with look.style():
        for path, series in collect_series(measurements).items():
            canvas = new_canvas()
            model = models.get(path)
            drawn, ends = [], [math.inf, 0.0]
            for call in (call for call in _CALLS if call in series):
                sizes, seconds = medians(series[call].sizes, series[call].seconds)
                sizes, seconds = sizes[sizes > 0], seconds[sizes > 0]
                if sizes.size:
                    _draw_call(canvas, call, sizes, seconds, model)
                    drawn.append(call)
                    ends = [min(ends[0], float(sizes[0])), max(ends[1], float(sizes[-1]))]
            if not drawn:
                continue
            look.size_axis(canvas.axes, *ends)
            look.log_axis(canvas.axes, canvas.shown, "s", "duration")
            limits = [mode.limit.value for mode in model.modes if mode.limit is not None] if model is not None else []
            for row, limit in enumerate(limits):
                canvas.axes.axvline(limit, color=look.INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
                look.limit_label(canvas.axes, format_size(limit), limit, row % 2, look.INK)
            handles = [
                Line2D([], [], color=_CALLS[call][1], marker=_CALLS[call][2], label=_CALLS[call][0]) for call in drawn
            ]
            look.legend(canvas.figure, handles, columns=len(handles))
            words = (
                "Time inside a call while the other side is ready, and of one way: medians of each size. Lines: the "
                "modes of the hybrid model, which end at the dashed limits (Bédaride 2013, Figure 4)."
            )
            plots.append(canvas.finish(f"hybrid-{path}", f"Modes of messages, {path}", words, look.FIXED_COLOURS))
    return plots
