"""Plots of times: time and bandwidth over size, rates of several pairs and of streams, residuals, error maps.

Measured points are not joined: between two of them a protocol may change. Lines are the model's, one for each segment.
Messages of 0 bytes have no place on a logarithmic axis; captions say how many are left out. Main entry: `draw`.
"""

import math
from collections.abc import Mapping, Sequence

from matplotlib.lines import Line2D

from commmodel.fit.points import Points, collect, collect_streams
from commmodel.machine import Machine
from commmodel.machine.model_choice import ONE_WAY
from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Plot
from commmodel.report.kit.canvas import new_canvas
from commmodel.report.machine.error_map import error_maps
from commmodel.report.machine.model_curves import RECOMMENDED, limits
from commmodel.report.machine.multi_pair_plots import aggregate, residuals
from commmodel.report.machine.parameters import segments_on
from commmodel.report.machine.series import MEDIANS, PathSeries, bars, caption, limit_lines, mark
from commmodel.results import Measurements
from commmodel.results.configurations import Threshold
from commmodel.statistics import CONFIDENCE
from commmodel.units import counted, format_ratio

_MOST_WITH_LINES = 2  # paths whose lines have a legend of their own
_BARS = f"bars, where longer than the point: {format_ratio(CONFIDENCE)} intervals of the medians"


def _over_size(drawn: Sequence[PathSeries], *, key: str, title: str, axis: str, unit: str, intro: str) -> Plot:
    """Draw the time, or with the unit B/s the bandwidth, of the fewest pairs over size, for all paths."""
    canvas = new_canvas()
    marked: list[Line2D] = []
    modelled: list[Line2D] = []
    crowded = len(drawn) > _MOST_WITH_LINES
    is_rate = unit == "B/s"
    for series, marker in zip(drawn, look.MARKERS, strict=False):
        colour = look.path_colour(series.path)
        points = series.points.where(series.points.pairs == series.fewest)
        values = points.message_size / points.seconds if is_rate else points.seconds
        bars(canvas, points, points.message_size if is_rate else None, colour)
        mark(canvas, points, values, f"measured-{series.path}", colour, marker)
        model_lines = series.lines(series.fewest)
        for line in model_lines:
            best = line.message_size / line.seconds if is_rate else line.seconds
            canvas.axes.plot(line.message_size, best, color=colour, zorder=2.5)
            canvas.shown += [float(best.min()), float(best.max())]
            if line.fast is not None and line.slow is not None:
                near, far = (line.message_size / end if is_rate else end for end in (line.fast, line.slow))
                canvas.axes.fill_between(line.message_size, near, far, color=colour, alpha=0.2, linewidth=0, zorder=1.5)
        handle = Line2D([], [], color=colour, marker=marker, label=series.path)
        handle.set_linestyle("-" if crowded and model_lines else "")
        marked.append(handle)
        if model_lines and not crowded:
            modelled.append(Line2D([], [], color=colour, label=f"{series.path}, model"))
    look.legend(canvas.figure, marked + modelled, columns=min(max(2, len(drawn)), 3))
    spans = [series.span for series in drawn]
    look.size_axis(canvas.axes, min(span[0] for span in spans), max(span[1] for span in spans))
    look.log_axis(canvas.axes, canvas.shown, unit, axis)
    limit_lines(canvas, drawn)
    counts = " and ".join(dict.fromkeys(counted(series.fewest, "pair") for series in drawn))
    left_out = sum(int((series.hidden.pairs == series.fewest).sum()) for series in drawn)
    words = caption(
        drawn,
        left_out,
        f"{intro}, {counts}. Points: {MEDIANS}; {_BARS}.",
        "Lines: the model of each protocol segment; shaded: every parameter at an end of its interval.",
    )
    return canvas.finish(key, title, words, look.FIXED_COLOURS)


def _series(
    collected: Mapping[str, Points], machine: Machine | None, probed: Mapping[str, set[int]], model: str
) -> list[PathSeries]:
    """Return the series of each path; without segments where the machine has no model of it."""
    drawn = []
    for path, points in collected.items():
        has_place = (points.message_size > 0) & (points.seconds > 0)
        shown, hidden = points.where(has_place), points.where(~has_place)
        segments = segments_on(machine, path)
        bounds = limits(segments) if segments else sorted(probed.get(path, ()))
        if model == ONE_WAY and all(segment.one_way is None for segment in segments):
            segments = ()
        if len(shown):
            drawn.append(PathSeries(path, shown, hidden, segments, tuple(bounds), model))
    return drawn


def draw(measurements: Measurements, machine: Machine | None) -> list[Plot]:
    """Return the plots of the measured times; empty without any.

    Without a machine, or where it does not know a path, only points are drawn.
    """
    probed: dict[str, set[int]] = {}
    for record in measurements.records:
        if isinstance(record.configuration, Threshold):
            probed.setdefault(record.configuration.path, set()).add(math.floor(record.summary.median))
    paths = _series(collect(measurements), machine, probed, RECOMMENDED)
    streams = {series.path: series for series in _series(collect_streams(measurements), machine, probed, ONE_WAY)}
    plots: list[Plot | None] = []
    with look.style():
        if paths:
            plots += [
                _over_size(
                    paths, key="time", title="Time of a message", axis="time T", unit="s", intro="Time of one message"
                ),
                _over_size(
                    paths, key="bandwidth", title="Bandwidth", axis="bandwidth n / T", unit="B/s",
                    intro="Bytes per second",
                ),
            ]  # fmt: skip
        for series in paths:
            together = [streams[series.path]] if series.path in streams else []
            plots += [*map(aggregate, (series, *together)), residuals(series)]
            plots += error_maps(series, streams.get(series.path))
        for path, series in streams.items():
            if all(path != other.path for other in paths):
                plots += [aggregate(series), *error_maps(None, series)]
    return [plot for plot in plots if plot is not None]
