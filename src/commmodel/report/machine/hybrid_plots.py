"""Plots of durations over size, with the modes of the hybrid model.

They are Figure 4 of Bédaride et al. (2013): the time inside MPI_Send, MPI_Isend and MPI_Recv and half a round trip,
medians of raw values, and the lines of the modes. Main entry: `hybrid_plots`.
"""

import math
from collections.abc import Iterator

import numpy as np
from matplotlib.lines import Line2D

from commmodel.fit.calls import Call, collect_series
from commmodel.fit.change_points import medians
from commmodel.machine import Hybrid, Machine
from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Plot
from commmodel.report.kit.canvas import Canvas, new_canvas
from commmodel.results import Measurements
from commmodel.units import format_size, format_time

_CALLS: dict[Call, tuple[str, str, str]] = {
    "send": ("MPI_Send", "#0072b2", "o"),
    "isend": ("MPI_Isend", "#009e73", "^"),
    "receive": ("MPI_Recv", "#d55e00", "s"),
    "round-trip": ("half a round trip", look.INK, "D"),
}


def _lines(model: Hybrid, call: Call, largest: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the sizes and times of each mode's line for a call."""
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
    for line_sizes, times in _lines(model, call, float(sizes[-1])) if model is not None else ():
        canvas.axes.plot(line_sizes, times, color=colour, linewidth=1.6, zorder=4)


def hybrid_plots(measurements: Measurements, machine: Machine | None) -> list[Plot]:
    """Return plots of durations and fitted modes for each path with random message sizes."""
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
