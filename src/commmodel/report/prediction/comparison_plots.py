"""Plots of measured and predicted times over message size and over the number of processes. Main entry: `draw`.

Measured medians are points with their intervals; a model's line joins its times at the measured places.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.lines import Line2D

from commmodel.predict import ComparedTime
from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Plot
from commmodel.report.kit.canvas import Dashes, new_canvas
from commmodel.report.kit.cells import error_words, measured_cell
from commmodel.statistics import CONFIDENCE
from commmodel.units import format_ratio, format_size

_MOST_PLOTS = 4  # of an operation over size, and as many over the number of processes
_LINES: dict[str, tuple[str, Dashes]] = {
    "plogp": ("#009e73", "-"),
    "loggp": ("#0072b2", "-"),
    "logp": ("#d55e00", (0, (4, 2))),
    "postal": ("#b3578f", (0, (1, 1.5))),
}
_OTHER_LINE: tuple[str, Dashes] = (look.INK, (0, (6, 2, 1, 2)))


def _tip(row: ComparedTime) -> str:
    measured = row.measured
    low, high = (math.nan if end is None else end for end in (measured.low, measured.high))
    errors = ", ".join(f"{model} {error_words(row.relative_error(model))}" for model in row.predicted)
    point = f"{format_size(row.message_size)}, {row.processes} processes"
    by = f"; {row.algorithm}" if row.algorithm else ""
    return f"{point}: {measured_cell(measured.seconds, low, high, 's')}{by}; {errors}"


def _plot(
    rows: Sequence[ComparedTime], place: Callable[[ComparedTime], int], key: str, title: str, axis: str, about: str
) -> Plot:
    canvas = new_canvas()
    rows = sorted(rows, key=place)
    models = list(dict.fromkeys(model for row in rows for model in row.predicted))
    handles = [Line2D([], [], color=look.INK, marker="o", linestyle="", label="measured")]
    for model in models:
        predicted = [row for row in rows if model in row.predicted and row.predicted[model].seconds > 0]
        if not predicted:
            continue
        colour, dashes = _LINES.get(model, _OTHER_LINE)
        times = [row.predicted[model].seconds for row in predicted]
        canvas.axes.plot([place(row) for row in predicted], times, color=colour, linestyle=dashes, zorder=2.5)
        canvas.shown += times
        handles.append(Line2D([], [], color=colour, linestyle=dashes, label=model))
    bars = [row for row in rows if row.measured.low is not None and row.measured.low > 0]
    lows, highs = [row.measured.low or 0.0 for row in bars], [row.measured.high or 0.0 for row in bars]
    canvas.axes.vlines([place(row) for row in bars], lows, highs, color=look.INK, linewidth=1.2, zorder=2)
    canvas.shown += [*lows, *highs]
    medians = np.array([row.measured.seconds for row in rows])
    canvas.axes.plot([place(row) for row in rows], medians, "o", color=look.INK, gid="measured", zorder=3)
    canvas.points["measured"] = [_tip(row) for row in rows]
    canvas.shown += [float(value) for value in medians]
    look.legend(canvas.figure, handles, columns=min(len(handles), 4))
    places = [place(row) for row in rows]
    if axis == "size":
        look.size_axis(canvas.axes, min(places), max(places))
    else:
        look.count_axis(canvas.axes, places, "processes p")
    look.log_axis(canvas.axes, canvas.shown, "s", "time T")
    words = (
        f"{about} Points: medians; bars, where longer than the point: {format_ratio(CONFIDENCE)} intervals. Lines: the "
        "models, joined between the measured places."
    )
    return canvas.finish(key, title, words, look.FIXED_COLOURS)


def _spread(values: Sequence[int]) -> list[int]:
    """Return evenly spread values, including the first and the last."""
    count = len(values)
    if count <= _MOST_PLOTS:
        return list(values)
    return [values[round(index * (count - 1) / (_MOST_PLOTS - 1))] for index in range(_MOST_PLOTS)]


def _used(rows: Sequence[ComparedTime]) -> str:
    names = list(dict.fromkeys(row.algorithm for row in rows if row.algorithm))
    return f"Algorithm{'s' * (len(names) > 1)}: {', '.join(names)}." if names else ""


def _of_operation(operation: str, rows: Sequence[ComparedTime]) -> list[Plot]:
    plots = []
    counts = sorted({row.processes for row in rows})
    over_size = {count: [row for row in rows if row.processes == count and row.message_size > 0] for count in counts}
    over_size = {count: group for count, group in over_size.items() if len({row.message_size for row in group}) > 1}
    for count in _spread(list(over_size)):
        group = over_size[count]
        title = f"{operation} on {count} processes"
        plots.append(
            _plot(group, lambda row: row.message_size, f"{operation}-size-{count}", title, "size", _used(group))
        )
    over_count = {size: [row for row in rows if row.message_size == size] for size in _sizes(rows)}
    over_count = {size: group for size, group in over_count.items() if len({row.processes for row in group}) > 1}
    for size in _spread(list(over_count)):
        group = over_count[size]
        title = f"{operation}{f' of {format_size(size)}' * (operation != 'barrier')} over processes"
        plots.append(_plot(group, lambda row: row.processes, f"{operation}-count-{size}", title, "count", _used(group)))
    return plots


def _sizes(rows: Sequence[ComparedTime]) -> list[int]:
    return sorted({row.message_size for row in rows})


def draw(rows: Sequence[ComparedTime]) -> list[Plot]:
    """Return the plots of each operation: over size for some numbers of processes, and the reverse.

    Messages between two processes have one plot for each path.
    """
    plots = []
    with look.style():
        for operation in dict.fromkeys(row.operation for row in rows):
            group = [row for row in rows if row.operation == operation]
            if operation != "send":
                plots += _of_operation(operation, group)
                continue
            for path in dict.fromkeys(row.path for row in group):
                on_path = [row for row in group if row.path == path and row.message_size > 0]
                if len({row.message_size for row in on_path}) > 1:
                    title = f"send, {path}"
                    plots.append(_plot(on_path, lambda row: row.message_size, f"send-{path}", title, "size", ""))
    return plots
