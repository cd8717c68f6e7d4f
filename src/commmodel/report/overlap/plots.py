"""Plots of overhead over message size per burst, and of bandwidth of pairs: after Iancu 2007, Figures 1 to 5.

Unlike the other plots of a report, these join measured points: with as many series as here one could not follow them
otherwise. Main entry: `profile_plots`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Plot
from commmodel.report.kit.canvas import Canvas, Dashes, SeriesStyle, cycled_styles, draw_series, legend_of, new_canvas
from commmodel.report.kit.cells import CALLS, measured_cell
from commmodel.results import Measurements, Record
from commmodel.results.configurations import Bandwidth, Burst
from commmodel.statistics import summarise
from commmodel.units import format_rate, format_size

_PAIR_STYLES: dict[tuple[str, str], tuple[str, str, Dashes]] = {
    ("nearest-neighbour", "slowest"): ("#0072b2", "o", "-"),
    ("nearest-neighbour", "fastest"): ("#0072b2", "^", (0, (4, 2))),
    ("cross", "slowest"): ("#d55e00", "s", "-"),
    ("cross", "fastest"): ("#d55e00", "D", (0, (4, 2))),
}
_TWO_STYLES = {"one-way": ("#0072b2", "o"), "both-ways": ("#d55e00", "s")}


def _overhead(operation: str, path: str, bursts: Mapping[int, Mapping[int, Record]]) -> Plot:
    canvas = new_canvas()
    styles, colours = cycled_styles(f"b = {burst}" for burst in sorted(bursts))
    sizes = {size for by_size in bursts.values() for size in by_size}
    for (burst, by_size), style in zip(sorted(bursts.items()), styles, strict=True):
        measured = sorted(by_size)
        summaries = [by_size[size].summary for size in measured]
        tips = [
            f"{format_size(size)}, b = {burst}: {measured_cell(summary.median, summary.low, summary.high, 's')}"
            for size, summary in zip(measured, summaries, strict=True)
        ]
        draw_series(canvas, measured, [summary.median for summary in summaries], tips, f"burst-{burst}", style)
    legend_of(canvas, styles)
    look.size_axis(canvas.axes, min(sizes), max(sizes))
    look.log_axis(canvas.axes, canvas.shown, "s", "overhead o(S, b)")
    call = CALLS[operation]
    words = f"Mean time of one {call} among b in a row: medians, joined (Iancu 2007, Figures 1 and 2)."
    key = f"overhead-{operation}-{path}"
    return canvas.finish(key, f"Overhead of {call}, {path}", words, colours)


def _rates(canvas: Canvas, by_size: Mapping[int, float], key: str, style: SeriesStyle) -> None:
    sizes = sorted(by_size)
    rates = [size / by_size[size] for size in sizes]
    tips = [f"{format_size(size)}: {format_rate(rate)}, {style.label}" for size, rate in zip(sizes, rates, strict=True)]
    draw_series(canvas, sizes, rates, tips, key, style)


def _bandwidth(series: Sequence[tuple[Mapping[int, float], SeriesStyle]], key: str, title: str, words: str) -> Plot:
    canvas = new_canvas()
    for index, (by_size, style) in enumerate(series):
        _rates(canvas, by_size, f"series-{index}", style)
    legend_of(canvas, [style for _, style in series], columns=2)
    sizes = [size for by_size, _ in series for size in by_size]
    look.size_axis(canvas.axes, min(sizes), max(sizes))
    look.log_axis(canvas.axes, canvas.shown, "B/s", "bandwidth S / T")
    return canvas.finish(key, title, words, look.FIXED_COLOURS)


def _medians(records: Mapping[int, Record], pair: str) -> dict[int, float]:
    """Return the time of a message of each size; where the fastest pair was not measured, nothing of it."""
    medians = {}
    for size, record in records.items():
        samples = record.samples if pair == "slowest" else record.fastest
        seconds = summarise(samples).median if samples else 0.0
        if size and seconds > 0:
            medians[size] = seconds
    return medians


def _bandwidths(measurements: Measurements) -> list[Plot]:
    two: dict[str, dict[str, dict[int, Record]]] = defaultdict(lambda: defaultdict(dict))
    more: dict[tuple[int, str], dict[str, dict[int, Record]]] = defaultdict(lambda: defaultdict(dict))
    for record in measurements.records:
        if isinstance(configuration := record.configuration, Bandwidth):
            if configuration.processes == 2:
                two[configuration.path][configuration.direction][configuration.message_size] = record
            else:
                more[configuration.processes, configuration.direction][configuration.pattern][
                    configuration.message_size
                ] = record
    plots = []
    for path, directions in two.items():
        series = [
            (medians, SeriesStyle(*_TWO_STYLES[direction], direction.replace("-", " ")))
            for direction, records in directions.items()
            if (medians := _medians(records, "slowest"))
        ]
        if series:
            words = "Bytes per second in one direction while messages go one way, or both ways at once (Figure 3)."
            plots.append(_bandwidth(series, f"bandwidth-{path}", f"Bandwidth of a pair, {path}", words))
    for (processes, direction), patterns in sorted(more.items()):
        drawn = []
        for (pattern, pair), (colour, marker, dashes) in _PAIR_STYLES.items():
            if medians := _medians(patterns.get(pattern, {}), pair):
                drawn.append(
                    (medians, SeriesStyle(colour, marker, f"{pattern.removesuffix('-neighbour')}, {pair}", dashes))
                )
        if drawn:
            way = direction.replace("-", " ")
            words = (
                f"Bytes per second in one direction of the slowest and of the fastest pair while all {processes} "
                f"processes communicate, {way}: with the nearest neighbour, and across the network (Figures 4 and 5)."
            )
            title = f"Bandwidth of {processes} processes, {way}"
            plots.append(_bandwidth(drawn, f"bandwidth-{processes}-{direction}", title, words))
    return plots


def profile_plots(measurements: Measurements) -> list[Plot]:
    """Return plots of o(S, b) of each path and operation, then of the bandwidth of two and of more processes."""
    overheads: dict[tuple[str, str], dict[int, dict[int, Record]]] = defaultdict(lambda: defaultdict(dict))
    for record in measurements.records:
        if (
            isinstance(configuration := record.configuration, Burst)
            and configuration.message_size > 0
            and record.summary.median > 0
        ):
            overheads[configuration.operation, configuration.path][configuration.burst][configuration.message_size] = (
                record
            )
    with look.style():
        plots = [_overhead(operation, path, bursts) for (operation, path), bursts in overheads.items()]
        return plots + _bandwidths(measurements)
