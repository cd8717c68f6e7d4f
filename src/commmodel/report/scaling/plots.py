"""Plots of growth: values, models, expected limits, and divergence.

After Shudler and others (2015), Figure 2 and Section 2.4. Main entry: `draw`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from commmodel.arrays import Array
from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Plot
from commmodel.report.kit.canvas import Canvas, cycled_styles, new_canvas
from commmodel.report.scaling.checks import NO_CLASS
from commmodel.report.scaling.growth import model_words, quantity_words
from commmodel.results import parameter_words
from commmodel.scaling import Growth
from commmodel.scaling.overview import ModelledSeries
from commmodel.units import listed

MOST_PLOTS = 12
"""Of series: the tables have all of them."""
_REACH = 4.0  # times the largest scale
_REACH_EXPONENTIAL = 1.1  # the same where something grows exponentially
_BELOW = 0.3  # of the smallest value: what lies lower is not worth the room
_STEPS = 60  # of a curve
_MOST_REPETITIONS = 25  # drawn at each scale
_COLOUR, _LIMITS = "#0072b2", "#d55e00"
_DASHED = (0, (4, 3))
_URGENT = ("mismatch", "uncertain", "approximate", "match", "")
_MOST_NAMES = 3


def _label(over: str) -> str:
    return "processes p" if over == "p" else over


def _line(canvas: Canvas, at: Array, values: Array, last: float, colour: str) -> None:
    """Draw a curve, dashed beyond the largest measured scale."""
    finite = np.isfinite(values)
    for part, dashes in ((at <= last, "-"), (at >= last, _DASHED)):
        canvas.axes.plot(at[part & finite], values[part & finite], color=colour, linestyle=dashes, zorder=2.5)


def _places(scales: Sequence[float], first: float, growths: Iterable[Growth]) -> Array:
    """Return the x values of curves: from the first scale to beyond the last, including the last."""
    last = scales[-1]
    reach = _REACH_EXPONENTIAL if any(growth.exponential for growth in growths) else _REACH
    return np.union1d(np.geomspace(first, reach * last, _STEPS), [last])


def _show(canvas: Canvas, values: Array, least: float) -> None:
    """Extend the axis for a curve, as far as it is finite and not far below the measurements."""
    canvas.shown += [float(value) for value in values if np.isfinite(value) and value >= least]


def _repetitions(canvas: Canvas, row: ModelledSeries) -> int:
    """Draw repetitions, of many those at evenly spaced quantiles; return the largest number per scale."""
    most = 0
    at, values = [], []
    for scale, samples in zip(row.series.scales, row.series.samples, strict=True):
        ordered = np.sort(samples.ravel())
        most = max(most, ordered.size)
        if ordered.size > _MOST_REPETITIONS:
            ordered = np.quantile(ordered, (np.arange(_MOST_REPETITIONS) + 0.5) / _MOST_REPETITIONS)
        at += [scale] * ordered.size
        values += ordered.tolist()
    canvas.axes.plot(at, values, "o", color=_COLOUR, alpha=0.25, markersize=3, markeredgewidth=0, zorder=1.8)
    canvas.shown += values
    return most


def _limits(canvas: Canvas, row: ModelledSeries, at: Array, least: float) -> list[str]:
    """Draw and label the slowest and fastest growth that the expectation permits, from the first value on."""
    names = []
    for growth, model in row.limits():
        values = model(at)
        is_shown = np.isfinite(values) & (values >= least)
        canvas.axes.plot(
            at[is_shown], values[is_shown], color=_LIMITS, linewidth=1.1, linestyle=(0, (1, 1.5)), zorder=2.2
        )
        _show(canvas, values, least)
        names.append(growth.text(row.series.over))
    return names


def growth_plot(row: ModelledSeries, key: str) -> Plot:
    """Return the plot of the values, the model with its band, and the expected limits.

    Parameters
    ----------
    row : ModelledSeries
        One series.
    key : str
        Distinct on a page.
    """
    canvas = new_canvas()
    series, ensemble = row.series, row.ensemble
    growths = [*ensemble.shares, *([row.judgement.expectation] if row.judgement else [])]
    at = _places(series.scales, series.scales[0], growths)
    most = _repetitions(canvas, row)
    band = np.array([ensemble.interval(float(place)) for place in at])
    model = ensemble.best(at)
    least = _BELOW * min(canvas.shown)
    names = _limits(canvas, row, at, least)
    is_finite = np.isfinite(band).all(axis=1)
    low = np.maximum(band[:, 0], least)
    high = np.maximum(band[:, 1], low)
    canvas.axes.fill_between(
        at[is_finite], low[is_finite], high[is_finite], color=_COLOUR, alpha=0.15, linewidth=0, zorder=1.5
    )
    _line(canvas, at, np.where(model >= least, model, np.nan), series.scales[-1], _COLOUR)
    canvas.axes.plot(series.scales, ensemble.values, "o", color=_COLOUR, gid="values", zorder=3, clip_on=False)
    canvas.points["values"] = [
        f"{series.over} = {scale:g}: {quantity_words(value, series.unit)}"
        for scale, value in zip(series.scales, ensemble.values.tolist(), strict=True)
    ]
    _show(canvas, model, least)
    canvas.shown += ensemble.values.tolist()
    text = model_words(ensemble.best, series.unit, series.over)
    text = text if ensemble.fits else f"{NO_CLASS}, the best: {text}"
    handles: list[Line2D | Patch] = [
        Line2D([], [], color=_COLOUR, marker="o", linestyle="", label=row.statistic),
        Line2D([], [], color=_COLOUR, marker="o", alpha=0.25, markersize=3, linestyle="", label="repetitions"),
        Line2D([], [], color=_COLOUR, label=text),
    ]
    if names:
        limits = Line2D(
            [], [], color=_LIMITS, linestyle=(0, (1, 1.5)), label=f"limit{'s' * (len(names) > 1)} {' and '.join(names)}"
        )
        handles.append(limits)
    look.legend(canvas.figure, handles, columns=2)
    look.count_axis(canvas.axes, [*series.scales, float(at[-1])], _label(series.over))
    unit = "" if series.unit == "1" else series.unit
    positive = min(canvas.shown) > 0
    (look.log_axis if positive else look.linear_axis)(canvas.axes, canvas.shown, unit, series.metric)
    passing = ""
    if (passed := row.passed(float(at[-1]))) is not None:
        growth, scale = passed
        passing = f", it passes the limit {growth.text(series.over)} at {series.over} = {float(f'{scale:.2g}'):g}"
    expected = row.judgement and (
        f" Expected: {row.judgement.expectation.text(series.over)}: {row.judgement.verdict}{passing}. Dotted: "
        "the limits of what is expected, from the first value on; none that falls."
    )
    thinned = f", {_MOST_REPETITIONS} of up to {most} drawn" if most > _MOST_REPETITIONS else ""
    words = (
        f"{text}; dashed beyond what was measured. Shaded: the models of 95 % of the data drawn anew. Light: "
        f"repetitions{thinned}.{expected or ''}"
    )
    parameters = parameter_words(series.fixed)
    title = f"{row.name}{f', {parameters}' if parameters else ''}: {series.metric} over {series.over}"
    return canvas.finish(key, title, words, look.FIXED_COLOURS)


def _names(rows: Sequence[ModelledSeries]) -> str:
    return listed(list(dict.fromkeys(row.name for row in rows)), _MOST_NAMES)


def divergence_plot(rows: Sequence[ModelledSeries], key: str) -> Plot:
    """Return the plot of δ = G / E over the parameter, relative to the first scale.

    Parameters
    ----------
    rows : sequence of ModelledSeries
        Of one metric and parameter, each with its judgement.
    key : str
        Distinct on a page.
    """
    canvas = new_canvas()
    over, metric = rows[0].series.over, rows[0].series.metric
    scales = sorted({scale for row in rows for scale in row.series.scales})
    first = max(scales[0], 2.0)  # the logarithm of 1 is 0
    growths = [row.judgement.divergence for row in rows if row.judgement]
    at = _places(scales, first, growths)
    classes: dict[Growth, list[ModelledSeries]] = defaultdict(list)
    for row in rows:
        if row.judgement is not None:
            classes[row.judgement.divergence].append(row)
    deviations = {row.judgement.deviation for row in rows if row.judgement is not None}
    handles: list[Line2D | Patch] = []
    if len(deviations) == 1:
        (D,) = deviations
        reach = D(at) / D(first)
        reach = np.where(np.isfinite(reach), reach, np.nan)
        canvas.axes.fill_between(at, 1 / reach, reach, color=look.INK, alpha=0.08, linewidth=0, zorder=1)
    ascending = sorted(classes.items())
    styles, colours = cycled_styles(f"{growth.text(over)}: {_names(class_rows)}" for growth, class_rows in ascending)
    for index, ((growth, class_rows), (colour, marker, label, _)) in enumerate(zip(ascending, styles, strict=True)):
        values = growth(at) / growth(first)
        measured = sorted({scale for row in class_rows for scale in row.series.scales if scale >= first})
        _line(canvas, at, values, measured[-1] if measured else first, colour)
        points = growth(measured) / growth(first)
        name = f"delta-{index}"
        canvas.axes.plot(measured, points, marker, color=colour, gid=name, zorder=3, clip_on=False)
        canvas.points[name] = [
            f"{over} = {scale:g}: {value:.3g} times ({_names(class_rows)})"
            for scale, value in zip(measured, points.tolist(), strict=True)
        ]
        canvas.shown += [float(value) for value in values if np.isfinite(value)]
        handles.append(Line2D([], [], color=colour, marker=marker, label=label))
    look.legend(canvas.figure, handles, columns=1)
    look.count_axis(canvas.axes, [first, *(scale for scale in scales if scale > first), float(at[-1])], _label(over))
    look.log_axis(canvas.axes, [0.5, 2.0, *canvas.shown], "", "δ, over its first value")
    shaded = " Shaded: within the deviation D." if len(deviations) == 1 else ""
    words = (
        f"By how much each function has moved away from what is expected of it since {over} = {first:g}: 1 is as "
        f"expected, above 1 it grows faster. Dashed: beyond what was measured.{shaded}"
    )
    return canvas.finish(key, f"Divergence of {metric} over {over}", words, colours)


def _chosen(rows: Sequence[ModelledSeries]) -> list[ModelledSeries]:
    """Return the drawn series: at first one of each function, the worst verdicts first."""
    drawn = [row for row in rows if any(samples.any() for samples in row.series.samples)]  # 0 everywhere shows nothing
    ranked = sorted(drawn, key=lambda row: _URGENT.index(row.judgement.verdict if row.judgement else ""))
    counts: dict[tuple[str, str], int] = defaultdict(int)
    turns = []
    for row in ranked:
        turns.append(counts[row.name, row.series.metric])
        counts[row.name, row.series.metric] += 1
    order = sorted(range(len(ranked)), key=lambda index: turns[index])[:MOST_PLOTS]
    return [ranked[index] for index in order]


def draw(rows: Sequence[ModelledSeries]) -> list[Plot]:
    """Return plots of the divergence of each metric and parameter, and of the growth of up to twelve series."""
    groups: dict[tuple[str, str], list[ModelledSeries]] = defaultdict(list)
    for row in rows:
        if row.judgement is not None and row.ensemble.fits:
            groups[row.series.metric, row.series.over].append(row)
    with look.style():
        plots = [divergence_plot(rows, f"divergence-{index}") for index, rows in enumerate(groups.values())]
        plots += [growth_plot(row, f"growth-{index}") for index, row in enumerate(_chosen(rows))]
    return plots
