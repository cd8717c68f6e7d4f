"""Plots of collective operations: time over message size, a small panel for each operation.

A line joins the median times of one number of processes. What was measured at one size alone, such as a barrier, is
drawn over the number of processes. Main entry: `collective_plots`.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Plot
from commmodel.report.kit.canvas import Canvas, SeriesStyle, cycled_styles, draw_series, legend_of, new_canvas
from commmodel.report.kit.cells import measured_cell
from commmodel.report.measurements.collectives import CollectiveGroup, collective_groups
from commmodel.results import Measurements, Record
from commmodel.results.configurations import Collective
from commmodel.statistics import CONFIDENCE
from commmodel.units import format_ratio, format_size

MOST_PANELS = 24
"""Of operations: the tables have all of them."""
HOW_TO_READ = (
    f"Median time on the slowest of P processes; bars, where longer than the point: {format_ratio(CONFIDENCE)} "
    "intervals. Lines join the measured points."
)


class _PlottedTime(NamedTuple):
    """A measured time at a place of a plot."""

    place: int
    seconds: float
    low: float
    high: float
    words: str


def _points(records: Sequence[Record], place: Callable[[Collective], int]) -> list[_PlottedTime]:
    """Return the points that have a place on logarithmic axes, ascending."""
    points = []
    for record in records:
        collective, summary = record.configuration, record.summary
        if isinstance(collective, Collective) and place(collective) > 0 and summary.median > 0:
            cell = measured_cell(summary.median, summary.low, summary.high, record.unit)
            words = f"{format_size(collective.message_size)}, P = {collective.processes}: {cell}"
            points.append(_PlottedTime(place(collective), summary.median, summary.low, summary.high, words))
    return sorted(points)


def _draw(canvas: Canvas, points: Sequence[_PlottedTime], key: str, style: SeriesStyle) -> None:
    """Draw a series and the intervals of its medians."""
    draw_series(
        canvas, [point.place for point in points], [point.seconds for point in points],
        [point.words for point in points], key, style,
    )  # fmt: skip
    bounded = [point for point in points if point.low > 0 and np.isfinite(point.high)]
    lows, highs = [point.low for point in bounded], [point.high for point in bounded]
    canvas.axes.vlines([point.place for point in bounded], lows, highs, color=style.colour, linewidth=1, zorder=2)
    canvas.shown += [*lows, *highs]


def _panel(group: CollectiveGroup, key: str) -> Plot | None:
    """Return the plot of an operation; None where there is one point only."""
    by_count: dict[int, list[Record]] = defaultdict(list)
    for record in group.records:
        if isinstance(collective := record.configuration, Collective):
            by_count[collective.processes].append(record)
    counts = sorted(by_count)
    over_size = {count: _points(by_count[count], lambda collective: collective.message_size) for count in counts}
    series = {f"P={count}": points for count, points in over_size.items() if points}
    is_over_size = len({point.place for points in series.values() for point in points}) > 1
    if not is_over_size:
        points = _points(group.records, lambda collective: collective.processes)
        series = {"all sizes": points} if len({point.place for point in points}) > 1 else {}
    if not series:
        return None
    canvas = new_canvas(is_small=True)
    styles, colours = cycled_styles(series)
    for index, (points, style) in enumerate(zip(series.values(), styles, strict=True)):
        _draw(canvas, points, f"measured-{index}", style)
    places = [point.place for points in series.values() for point in points]
    if is_over_size:
        legend_of(canvas, styles, columns=4)
        look.size_axis(canvas.axes, min(places), max(places))
    else:
        look.count_axis(canvas.axes, places, "processes P")
    look.log_axis(canvas.axes, canvas.shown, "s", "time")
    left_out = len(group.records) - len(places)
    caption = f"{left_out} of 0 bytes or 0 s have no place here." if left_out else ""
    return canvas.finish(key, group.title, caption, colours)


def collective_plots(measurements: Measurements) -> tuple[list[Plot], int]:
    """Return a plot of each operation, algorithm, mode and synchronisation scheme, and how many are left out."""
    with look.style():
        panels = [_panel(group, f"collective-{number}") for number, group in enumerate(collective_groups(measurements))]
    plots = [plot for plot in panels if plot is not None]
    return plots[:MOST_PANELS], max(0, len(plots) - MOST_PANELS)
