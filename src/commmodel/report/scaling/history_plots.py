"""Plots of measured quantities over the runs of a history. Main entry: `draw_history`."""

from collections import defaultdict
from collections.abc import Sequence

from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Plot
from commmodel.report.kit.canvas import Canvas, SeriesStyle, cycled_styles, draw_series, legend_of, new_canvas
from commmodel.report.kit.cells import measured_cell
from commmodel.results import Configuration, configuration_words
from commmodel.scaling.run_history import ChangePoint, History, HistoryRun, HistorySeries
from commmodel.units import format_size

MOST_PANELS = 24
"""Of quantities: the table has all of them."""
_MOST_LINES = 10
"""Sizes of a panel, evenly spread."""
_MOST_TICKS = 4
_QUANTITIES = {"s": "time", "B": "bytes"}
_LONGEST = 11
"""Letters of a run's name at a tick."""


def _labels(runs: Sequence[HistoryRun]) -> list[str]:
    """Return the labels of ticks: days where they tell the runs apart, else names."""
    days = [run.created.partition("T")[0] for run in runs]
    names = days if all(days) and len({*days}) == len(days) else [run.name for run in runs]
    return [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in names]


def _size(configuration: Configuration) -> int | None:
    size = getattr(configuration, "message_size", None)
    return size if isinstance(size, int) else None


def quantity_name(configuration: Configuration) -> str:
    """Return the words of a configuration without its message size.

    >>> from commmodel.results.configurations import Collective
    >>> quantity_name(Collective("bcast", 8, 4))
    'collective bcast, p = 4'
    """
    size = _size(configuration)
    words = configuration_words(configuration).split(", ")
    return ", ".join(word for word in words if size is None or word != format_size(size))


def _run_axis(canvas: Canvas, runs: Sequence[HistoryRun]) -> None:
    count = len(runs)
    shown = min(count, _MOST_TICKS)
    places = sorted({round(index * (count - 1) / (shown - 1)) for index in range(shown)})
    labels = _labels(runs)
    canvas.axes.set_xticks(places, [labels[place] for place in places])
    canvas.axes.set_xlim(-0.4, count - 0.6)
    canvas.axes.grid(visible=False, axis="x")


def _draw(canvas: Canvas, series: HistorySeries, runs: Sequence[HistoryRun], key: str, style: SeriesStyle) -> None:
    places = [point.run for point in series.points]
    unit = "" if series.unit == "1" else series.unit
    tips = [
        f"{runs[point.run].name}, {configuration_words(series.configuration)}: "
        f"{measured_cell(point.value, point.low, point.high, unit)}"
        for point in series.points
    ]
    draw_series(canvas, places, [point.value for point in series.points], tips, key, style)
    lows, highs = [point.low for point in series.points], [point.high for point in series.points]
    canvas.axes.vlines(places, lows, highs, color=style.colour, linewidth=1, zorder=2)
    canvas.shown += [*lows, *highs]


def _spread(series: Sequence[HistorySeries]) -> list[HistorySeries]:
    if len(series) <= _MOST_LINES:
        return [*series]
    return [series[round(index * (len(series) - 1) / (_MOST_LINES - 1))] for index in range(_MOST_LINES)]


def _panel(name: str, series: Sequence[HistorySeries], history: History, key: str) -> Plot:
    """Return the plot of a quantity, a line for each message size."""
    ordered = sorted(series, key=lambda row: _size(row.configuration) or 0)
    shown = _spread(ordered)
    canvas = new_canvas(is_small=True)
    sizes = [_size(row.configuration) for row in shown]
    styles, colours = cycled_styles(
        name if size is None else format_size(size) for size, name in zip(sizes, ["values"] * len(shown), strict=True)
    )
    for index, (row, style) in enumerate(zip(shown, styles, strict=True)):
        _draw(canvas, row, history.runs, f"values-{index}", style)
    if len(shown) > 1:
        legend_of(canvas, styles, columns=4)
    configurations = {row.configuration for row in series}
    points = [point for point in history.changes if point.configuration in configurations]
    for run in sorted({point.run for point in points}):
        canvas.axes.axvline(run - 0.5, color=look.INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    _run_axis(canvas, history.runs)
    unit = "" if series[0].unit == "1" else series[0].unit
    is_log = series[0].unit == "s" and min(canvas.shown) > 0
    (look.log_axis if is_log else look.linear_axis)(canvas.axes, canvas.shown, unit, _QUANTITIES.get(unit, "value"))
    return canvas.finish(key, name, _caption(points, history.runs), colours)


def _caption(points: Sequence[ChangePoint], runs: Sequence[HistoryRun]) -> str:
    """Return when a quantity changed."""
    since: dict[int, list[str]] = defaultdict(list)
    for point in points:
        since[point.run].append(point.change)
    words = [f"{' and '.join(dict.fromkeys(changes))} since {runs[run].name}" for run, changes in sorted(since.items())]
    return f"Dashed: {'; '.join(words)}." if words else ""


def draw_history(history: History) -> tuple[list[Plot], int]:
    """Return a plot for each quantity, those that changed first, and how many quantities are left out."""
    quantities: dict[tuple[str, str], list[HistorySeries]] = defaultdict(list)
    for series in history.series:
        quantities[quantity_name(series.configuration), series.unit].append(series)
    chosen = [*quantities.items()][:MOST_PANELS]
    with look.style():
        plots = [
            _panel(name, series, history, f"history-{number}") for number, ((name, _), series) in enumerate(chosen)
        ]
    return plots, len(quantities) - len(chosen)
