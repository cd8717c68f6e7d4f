"""The plots of a report as inline SVG: time, bandwidth, rate of several pairs, and residuals, over message size.

Measured points are never joined: between two of them a protocol may change. Lines are the model's, one for each
segment. Messages of 0 bytes have no place on a logarithmic axis; the captions say how many are left out.
Main entry: `draw`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from commmodel.fit.points import Points, collect
from commmodel.machine import Machine, Segment
from commmodel.report import axes as look
from commmodel.report import svg
from commmodel.report.cells import measured_cell
from commmodel.report.curves import Line, limits, lines, prediction
from commmodel.report.parameters import segments_on
from commmodel.results import Measurements, Threshold
from commmodel.statistics import CONFIDENCE
from commmodel.units import format_rate, format_ratio, format_size

__all__ = ["Plot", "draw"]

_MOST_LEGEND_ENTRIES = 8
_BARS = f"bars, where longer than the point: {format_ratio(CONFIDENCE)} intervals of the medians"


@dataclass(frozen=True)
class Plot:
    """A plot for a page.

    Attributes
    ----------
    key : str
        Prefix of the ids inside, distinct in a report.
    colours : dict
        Colour on a light page -> colour on a dark one; `svg` names them as variables.
    """

    key: str
    title: str
    caption: str
    svg: str
    colours: dict[str, str]


@dataclass
class _Canvas:
    """A figure in the making: its axes and what its points say."""

    figure: Figure
    axes: Axes
    points: dict[str, list[str]] = field(default_factory=dict)
    shown: list[float] = field(default_factory=list)
    """Values that the vertical axis must hold."""

    def finish(self, key: str, title: str, caption: str, colours: Mapping[str, str]) -> Plot:
        """Return the plot."""
        image = svg.inline(self.figure, key, title, colours, self.points)
        return Plot(key, title, caption, image, dict(colours))


@dataclass(frozen=True)
class _Path:
    """What is drawn of one path."""

    name: str
    points: Points
    hidden: Points
    """Points without a place on a logarithmic axis."""
    segments: tuple[Segment, ...]
    limits: tuple[int, ...]

    @property
    def fewest(self) -> int:
        """Least number of pairs measured: one, but for odd choices."""
        return int(self.points.pairs.min())

    @property
    def counts(self) -> list[int]:
        return [int(count) for count in np.unique(self.points.pairs)]

    @property
    def span(self) -> tuple[int, int]:
        return int(self.points.message_size.min()), int(self.points.message_size.max())

    def lines(self, pairs: int) -> list[Line]:
        return lines(self.segments, *self.span, pairs)


def _canvas() -> _Canvas:
    return _Canvas(*look.new_axes())


def _tips(points: Points) -> list[str]:
    """Return what each point says when one points at it."""
    columns = (points.message_size, points.pairs, points.seconds, points.low, points.high)
    return [
        f"{format_size(int(size))}, {pairs} pair{'s' * (pairs > 1)}: {measured_cell(seconds, low, high, 's')}, "
        f"{format_rate(pairs * size / seconds)}"
        for size, pairs, seconds, low, high in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _mark(canvas: _Canvas, points: Points, values: np.ndarray, name: str, colour: str, marker: str) -> None:
    """Draw measured points, one marker each."""
    canvas.axes.plot(points.message_size, values, marker, color=colour, gid=name, zorder=3, clip_on=False)
    canvas.points[name] = _tips(points)
    canvas.shown += [float(value) for value in values]


def _bars(canvas: _Canvas, points: Points, per_second: np.ndarray | None, colour: str) -> None:
    """Draw the interval of each median that has one; as rates where `per_second` holds the bytes."""
    known = np.isfinite(points.low) & np.isfinite(points.high) & (points.low > 0)
    ends = (points.low[known], points.high[known])
    if per_second is not None:
        ends = (per_second[known] / ends[1], per_second[known] / ends[0])
    canvas.axes.vlines(points.message_size[known], *ends, color=colour, linewidth=1.2, zorder=2)
    canvas.shown += [float(value) for end in ends for value in end]


def _limit_lines(canvas: _Canvas, paths: Sequence[_Path]) -> None:
    """Draw each protocol limit once, with its size beside it; limits of one path in that path's colour."""
    begin, end = canvas.axes.get_xlim()
    owners: dict[int, set[str]] = {}
    for path in paths:
        for limit in path.limits:
            owners.setdefault(limit, set()).add(path.name)
    inside = [limit for limit in sorted(owners) if begin < limit < end]
    for index, limit in enumerate(inside):
        row = index % 2  # limits one octave apart are common: their labels take turns
        alone = len(owners[limit]) == 1 and len(paths) > 1
        colour = look.path_colour(*owners[limit]) if alone else look.INK
        canvas.axes.axvline(limit, color=colour, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        canvas.axes.annotate(
            format_size(limit), (limit, 1), xycoords=("data", "axes fraction"), xytext=(0, 3 + 11 * row),
            textcoords="offset points", ha="center", va="bottom", fontsize=9.5, color=colour,
        )  # fmt: skip


def _caption(paths: Sequence[_Path], left_out: int, measured: str, model: str) -> str:
    parts = [measured]
    if any(path.segments for path in paths):
        parts.append(model)
    unknown = [path.name for path in paths if not path.segments]
    if unknown:
        parts.append(f"No model is known for {', '.join(unknown)}: only the points are shown.")
    if any(path.limits for path in paths):
        parts.append("Dashed: protocol limits.")
    if left_out:
        parts.append(f"Left out: {left_out} of 0 bytes or too short for the clock.")
    return " ".join(parts)


def _pairs_word(count: int) -> str:
    return "one pair" if count == 1 else f"{count} pairs"


def _over_size(paths: Sequence[_Path], *, key: str, title: str, axis: str, unit: str, what: str) -> Plot:
    """Draw time, or with the unit B/s bandwidth, of the fewest pairs over size, all paths together."""
    canvas = _canvas()
    handles: list[Line2D] = []
    is_rate = unit == "B/s"
    for path, marker in zip(paths, look.MARKERS, strict=False):
        colour = look.path_colour(path.name)
        points = path.points.where(path.points.pairs == path.fewest)
        values = points.message_size / points.seconds if is_rate else points.seconds
        _bars(canvas, points, points.message_size if is_rate else None, colour)
        _mark(canvas, points, values, f"measured-{path.name}", colour, marker)
        drawn = path.lines(path.fewest)
        for line in drawn:
            best = line.message_size / line.seconds if is_rate else line.seconds
            canvas.axes.plot(line.message_size, best, color=colour, zorder=2.5)
            canvas.shown += [float(best.min()), float(best.max())]
            if line.fast is not None and line.slow is not None:
                near, far = (line.message_size / end if is_rate else end for end in (line.fast, line.slow))
                canvas.axes.fill_between(line.message_size, near, far, color=colour, alpha=0.2, linewidth=0, zorder=1.5)
        handles.append(Line2D([], [], color=colour, marker=marker, linestyle="", label=path.name))
        if drawn:
            handles.append(Line2D([], [], color=colour, label=f"{path.name}, model"))
    look.legend(canvas.figure, handles, columns=max(2, len(paths)))
    spans = [path.span for path in paths]
    look.size_axis(canvas.axes, min(span[0] for span in spans), max(span[1] for span in spans))
    look.log_axis(canvas.axes, canvas.shown, unit, axis)
    _limit_lines(canvas, paths)
    counts = " and ".join(dict.fromkeys(_pairs_word(path.fewest) for path in paths))
    left_out = sum(int((path.hidden.pairs == path.fewest).sum()) for path in paths)
    caption = _caption(
        paths,
        left_out,
        f"{what}, {counts}. Points: medians; {_BARS}.",
        "Lines: the model of each protocol segment; shaded: every parameter at an end of its interval.",
    )
    return canvas.finish(key, title, caption, look.FIXED_COLOURS)


def _legend_of_pairs(canvas: _Canvas, styles: Sequence[tuple[int, str, str]]) -> None:
    """Name the numbers of pairs, or where there are many, some of them evenly spread."""
    count = len(styles)
    most = min(count, _MOST_LEGEND_ENTRIES)
    chosen = {round(index * (count - 1) / max(most - 1, 1)) for index in range(most)}
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="", label=f"k = {pairs}")
        for pairs, colour, marker in (styles[index] for index in sorted(chosen))
    ]
    look.legend(canvas.figure, handles, columns=min(4, most))


def _pair_styles(counts: Sequence[int]) -> tuple[list[tuple[int, str, str]], dict[str, str]]:
    colours = look.pair_colours(len(counts))
    styles = [(pairs, colours[index][0], look.MARKERS[index % len(look.MARKERS)]) for index, pairs in enumerate(counts)]
    return styles, look.FIXED_COLOURS | dict(colours)


def _node_rate(canvas: _Canvas, path: _Path) -> None:
    """Draw R_N of the largest messages, where it limits."""
    model = path.segments[-1].max_rate if path.segments else None
    if model is None or model.R_N is None or not model.R_N.is_limiting:
        return
    canvas.axes.axhline(model.R_N.value, color=look.INK, linewidth=1, linestyle=(0, (1, 2)), zorder=1)
    canvas.axes.annotate(
        f"R_N {format_rate(model.R_N.value)}", (0.01, model.R_N.value), xycoords=("axes fraction", "data"),
        xytext=(0, -3), textcoords="offset points", va="top", fontsize=9.5,
    )  # fmt: skip
    canvas.shown.append(model.R_N.value)


def _aggregate(path: _Path) -> Plot:
    canvas = _canvas()
    styles, colours = _pair_styles(path.counts)
    for pairs, colour, marker in styles:
        points = path.points.where(path.points.pairs == pairs)
        rates = pairs * points.message_size / points.seconds
        _mark(canvas, points, rates, f"measured-{path.name}-{pairs}", colour, marker)
        for line in path.lines(pairs):
            rate = pairs * line.message_size / line.seconds
            canvas.axes.plot(line.message_size, rate, color=colour, linewidth=1.3)
            canvas.shown.append(float(rate.max()))
    _legend_of_pairs(canvas, styles)
    look.size_axis(canvas.axes, *path.span)
    _node_rate(canvas, path)
    look.linear_axis(canvas.axes, canvas.shown, "B/s", "rate of all pairs, k n / T")
    _limit_lines(canvas, [path])
    caption = _caption(
        [path],
        len(path.hidden),
        "Bytes per second that k pairs move together. Points: medians.",
        "Lines: the model of each protocol segment.",
    )
    if len(path.counts) == 1:
        caption += f" Only {_pairs_word(path.fewest)} was measured: nothing is known of how several share the node."
    elif path.segments and any(not path.lines(pairs) for pairs in path.counts):
        caption += " The model knows one pair alone: it has no lines for more."
    return canvas.finish(f"rate-{path.name}", f"Rate of several pairs, {path.name}", caption, colours)


def _residuals(path: _Path) -> Plot | None:
    canvas = _canvas()
    styles, colours = _pair_styles(path.counts)
    modelled = []
    for pairs, colour, marker in styles:
        points = path.points.where(path.points.pairs == pairs)
        expected = prediction(path.segments, points.message_size.astype(np.float64), pairs)
        known = np.isfinite(expected)
        if known.any():
            modelled.append((pairs, colour, marker))
            error = expected[known] / points.seconds[known] - 1
            _mark(canvas, points.where(known), error, f"measured-{path.name}-{pairs}", colour, marker)
    if not modelled:
        return None
    _legend_of_pairs(canvas, modelled)
    canvas.axes.axhline(0, color=look.INK, linewidth=1, zorder=1)
    look.size_axis(canvas.axes, *path.span)
    look.ratio_axis(canvas.axes, canvas.shown, "(T_model − T) / T")
    _limit_lines(canvas, [path])
    worst = max(abs(value) for value in canvas.shown)
    caption = _caption(
        [path],
        len(path.hidden),
        f"Relative error of the model, at most {format_ratio(worst)}. Above 0 the model is too slow.",
        "Points on one side of 0 over many sizes tell of a model that is wrong there.",
    )
    missing = len(path.points) - len(canvas.shown)
    if missing:
        caption += f" The model says nothing of {missing} of the {len(path.points)} points."
    return canvas.finish(f"residuals-{path.name}", f"Residuals, {path.name}", caption, colours)


def _paths(measurements: Measurements, machine: Machine | None) -> list[_Path]:
    probed: dict[str, set[int]] = {}
    for record in measurements.records:
        if isinstance(record.configuration, Threshold):
            probed.setdefault(record.configuration.path, set()).add(math.floor(record.summary.median))
    paths = []
    for name, points in collect(measurements).items():
        has_place = (points.message_size > 0) & (points.seconds > 0)
        shown, hidden = points.where(has_place), points.where(~has_place)
        segments = segments_on(machine, name)
        bounds = limits(segments) if segments else sorted(probed.get(name, ()))
        if len(shown):
            paths.append(_Path(name, shown, hidden, segments, tuple(bounds)))
    return paths


def draw(measurements: Measurements, machine: Machine | None) -> list[Plot]:
    """Return the plots that the measurements allow, none where no times were measured.

    Without a machine, or where it does not know a path, only points are drawn.
    """
    paths = _paths(measurements, machine)
    if not paths:
        return []
    with look.style():
        plots = [
            _over_size(
                paths, key="time", title="Time of a message", axis="time T", unit="s", what="Time of one message"
            ),
            _over_size(
                paths, key="bandwidth", title="Bandwidth", axis="bandwidth n / T", unit="B/s", what="Bytes per second"
            ),
        ]
        for path in paths:
            plots.append(_aggregate(path))
            if (residuals := _residuals(path)) is not None:
                plots.append(residuals)
    return plots
