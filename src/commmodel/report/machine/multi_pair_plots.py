"""Plots of several pairs: their total rate (Gropp 2016, Figure 1), and the error of the model.

Main entries: `aggregate` and `residuals`.
"""

import numpy as np

from commmodel.machine.model_choice import ONE_WAY
from commmodel.machine.rates import node_rate
from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Plot
from commmodel.report.kit.canvas import Canvas, SeriesStyle, cycled_styles, legend_of, new_canvas
from commmodel.report.machine.model_curves import prediction
from commmodel.report.machine.series import (
    MEDIANS,
    PathSeries,
    caption,
    limit_lines,
    mark,
)
from commmodel.units import counted, format_rate, format_ratio


def _node_rate(canvas: Canvas, series: PathSeries) -> None:
    """Draw R_N of the largest messages, where it is limiting."""
    last = series.segments[-1] if series.segments else None
    if last is None:
        return
    one_way = series.model == ONE_WAY
    rate = (last.one_way.R_N if last.one_way else None) if one_way else node_rate(last)
    if rate is None or not rate.is_limiting:
        return
    canvas.axes.axhline(rate.value, color=look.INK, linewidth=1, linestyle=(0, (1, 2)), zorder=1)
    canvas.axes.annotate(
        f"R_N {'one way ' * one_way}{format_rate(rate.value)}", (0.01, rate.value), xycoords=("axes fraction", "data"),
        xytext=(0, -3), textcoords="offset points", va="top", fontsize=9.5,
    )  # fmt: skip
    canvas.shown.append(rate.value)


def _styles(series: PathSeries) -> tuple[dict[int, SeriesStyle], dict[str, str]]:
    """Return the style of each number of pairs, and all colours of their plot."""
    styles, colours = cycled_styles((f"k = {pairs}" for pairs in series.counts), "")
    return dict(zip(series.counts, styles, strict=True)), colours


def aggregate(series: PathSeries) -> Plot:
    """Return the plot of the total rate over size: points per number of pairs, and the model's curves."""
    canvas = new_canvas()
    styles, colours = _styles(series)
    for pairs, style in styles.items():
        points = series.points.where(series.points.pairs == pairs)
        rates = pairs * points.message_size / points.seconds
        mark(canvas, points, rates, f"measured-{series.path}-{pairs}", style.colour, style.marker)
        for line in series.lines(pairs):
            rate = pairs * line.message_size / line.seconds
            canvas.axes.plot(line.message_size, rate, color=style.colour, linewidth=1.3)
            canvas.shown.append(float(rate.max()))
    legend_of(canvas, list(styles.values()), 5)
    look.size_axis(canvas.axes, *series.span)
    _node_rate(canvas, series)
    look.linear_axis(canvas.axes, canvas.shown, "B/s", "rate of all pairs, k n / T")
    limit_lines(canvas, [series])
    is_stream = series.model == ONE_WAY
    advised = any(segment.recommended for segment in series.segments)
    model_name = "the one-way model" if is_stream else "the recommended model" if advised else "the model"
    words = caption(
        [series],
        len(series.hidden),
        f"Bytes per second that k streams move together, all in one direction. Points: {MEDIANS}."
        if is_stream
        else f"Bytes per second that k pairs move together. Points: {MEDIANS}.",
        f"Lines: {model_name} of each protocol segment.",
    )
    if len(series.counts) == 1:
        words += f" Only {counted(series.fewest, 'pair')} was measured: nothing is known of how several share the node."
    elif series.segments and any(not series.lines(pairs) for pairs in series.counts):
        words += " The model knows one pair alone: it has no lines for more."
    key, title = ("streams", "Rate of streams") if is_stream else ("rate", "Rate of several pairs")
    return canvas.finish(f"{key}-{series.path}", f"{title}, {series.path}", words, colours)


def residuals(series: PathSeries) -> Plot | None:
    """Return the plot of the model's signed relative error over size; None without predictions."""
    canvas = new_canvas()
    styles, colours = _styles(series)
    modelled = []
    measured = 0
    for pairs, style in styles.items():
        points = series.points.where(series.points.pairs == pairs)
        sizes = points.message_size.astype(np.float64)
        expected = prediction(series.segments, sizes, pairs, series.model, tables=False)
        with_tables = prediction(series.segments, sizes, pairs, series.model)
        measured += int((np.isfinite(with_tables) & ~np.isfinite(expected)).sum())
        is_finite = np.isfinite(expected)
        if is_finite.any():
            modelled.append(style)
            error = expected[is_finite] / points.seconds[is_finite] - 1
            mark(canvas, points.where(is_finite), error, f"measured-{series.path}-{pairs}", style.colour, style.marker)
    if not modelled:
        return None
    legend_of(canvas, modelled, 5)
    canvas.axes.axhline(0, color=look.INK, linewidth=1, zorder=1)
    look.size_axis(canvas.axes, *series.span)
    look.ratio_axis(canvas.axes, canvas.shown, "(T_model − T) / T")
    limit_lines(canvas, [series])
    worst = max(abs(value) for value in canvas.shown)
    least, most = 1 + min(canvas.shown), 1 + max(canvas.shown)
    factor = format_ratio(max(most, 1 / least if least > 0 else most) - 1)
    in_table = "" if factor == format_ratio(worst) else f" (as the factor less 1, as in the table: {factor})"
    words = caption(
        [series],
        len(series.hidden),
        f"Relative error of the model, at most {format_ratio(worst)}{in_table}. Above 0 the model is too slow.",
        "Points on one side of 0 over many sizes tell of a model that is wrong there.",
    )
    missing = len(series.points) - len(canvas.shown) - measured
    if measured:
        words += f" {measured} points are left out: no model describes them, so predictions use the measured times."
    if missing:
        words += f" The model says nothing of {missing} of the {len(series.points)} points."
    return canvas.finish(f"residuals-{series.path}", f"Residuals, {series.path}", words, colours)
