"""Maps of a model's relative error over message size and number of pairs, after Gropp 2016, Figure 2.

An error is the longer of both times over the shorter, less 1: a time too short by a factor is as far off as one too
long by it. The paper scales each of its maps to its own maximum; here all have one scale. Main entry: `error_maps`.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from commmodel.machine import recommended_model
from commmodel.machine.model_choice import ONE_WAY, two_way
from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Plot
from commmodel.report.kit.canvas import Canvas, new_canvas
from commmodel.report.kit.maps import STEPS, Corners, borders, box, draw_cells, patches, step_names, step_of
from commmodel.report.machine.model_curves import RECOMMENDED, prediction
from commmodel.report.machine.series import PathSeries
from commmodel.units import counted, format_ratio, format_size, format_time

_MOST_ROW_LABELS = 12
_MOST_IN_A_ROW = 4  # classes in the legend


@dataclass(frozen=True)
class _ErrorCell:
    """A cell of the map: size, number of pairs, relative error and text."""

    message_size: int
    pairs: int
    error: float
    words: str


def _cells(series: PathSeries, model: str) -> list[_ErrorCell]:
    """Return a cell for each size and number of pairs, with the largest error of repeated measurements."""
    worst: dict[tuple[int, int], _ErrorCell] = {}
    for pairs in series.counts:
        points = series.points.where(series.points.pairs == pairs)
        expected = prediction(series.segments, points.message_size.astype(np.float64), pairs, model)
        for size, measured, modelled in zip(
            points.message_size.tolist(), points.seconds.tolist(), expected.tolist(), strict=True
        ):
            error = float(np.exp(abs(np.log(modelled / measured)))) - 1 if modelled > 0 else np.inf
            previous = worst.get((size, pairs))
            if np.isfinite(error) and (previous is None or error > previous.error):
                words = (
                    f"{format_size(size)}, {pairs} pair{'s' * (pairs > 1)}: {format_ratio(error)} off, "
                    f"measured {format_time(measured)}, model {format_time(modelled)}"
                )
                worst[size, pairs] = _ErrorCell(size, pairs, error, words)
    return list(worst.values())


def _limit_lines(canvas: Canvas, series: PathSeries, sizes: Sequence[int], edges: Sequence[float]) -> None:
    """Draw each protocol limit between its neighbouring sizes."""
    for row, limit in enumerate(limit for limit in series.limits if sizes[0] <= limit < sizes[-1]):
        edge = edges[bisect_left(sizes, limit + 1)]
        canvas.axes.axvline(edge, color=look.PAPER, linewidth=3, zorder=3)
        canvas.axes.axvline(edge, color=look.INK, linewidth=1, linestyle=(0, (4, 3)), zorder=3.1)
        look.limit_label(canvas.axes, format_size(limit), edge, row % 2, look.INK)


def _pair_axis(canvas: Canvas, counts: Sequence[int]) -> None:
    step = -(-len(counts) // _MOST_ROW_LABELS)
    canvas.axes.set_ylim(-0.5, len(counts) - 0.5)
    canvas.axes.set_yticks(range(0, len(counts), step), [str(count) for count in counts[::step]])
    canvas.axes.set_ylabel("pairs at once, k")
    canvas.axes.tick_params(left=False)


def _draw(series: PathSeries, cells: Sequence[_ErrorCell], key: str, title: str, intro: str) -> Plot:
    canvas = new_canvas()
    colours = look.error_colours(len(STEPS) + 1)
    sizes = sorted({int(size) for size in series.points.message_size})
    counts, edges = series.counts, borders(sizes)
    classes: dict[int, list[tuple[Corners, str]]] = defaultdict(list)
    for cell in cells:
        column, row = sizes.index(cell.message_size), counts.index(cell.pairs)
        corners = box(edges[column], edges[column + 1], row - 0.5, row + 0.5)
        classes[step_of(cell.error)].append((corners, cell.words))
    draw_cells(canvas, classes, colours)
    used = list(range(max(classes) + 1))
    handles = patches([colours[index][0] for index in used], step_names(used))
    look.legend(canvas.figure, handles, columns=len(used) if len(used) <= _MOST_IN_A_ROW else -(-len(used) // 2))
    look.size_axis(canvas.axes, *series.span)
    canvas.axes.set_xlim(edges[0], edges[-1])
    _pair_axis(canvas, counts)
    _limit_lines(canvas, series, sizes, edges)
    worst = max(cells, key=lambda cell: cell.error)
    where = f"at {format_size(worst.message_size)} with {counted(worst.pairs, 'pair')}"
    parts = [f"{intro} The largest is {format_ratio(worst.error)}, {where}."]
    if len(cells) < len(set(zip(series.points.message_size.tolist(), series.points.pairs.tolist(), strict=True))):
        parts.append("Empty: not measured, or the model says nothing.")
    if len(series.hidden):
        parts.append(f"Left out: {len(series.hidden)} of 0 bytes or too short for the clock.")
    if series.limits:
        parts.append("Dashed: protocol limits.")
    return canvas.finish(key, title, " ".join(parts), look.FIXED_COLOURS | dict(colours))


def _chosen(series: PathSeries) -> Mapping[str, str]:
    """Return the models of ping-pongs that get a map, and the titles of the maps."""
    available = {name for segment in series.segments for name in two_way(segment)}
    advice = {
        recommended_model(segment) for segment in series.segments if segment.recommended and recommended_model(segment)
    }
    names = {"postal": "postal, of one pair", "max-rate": "max-rate"}
    chosen = {name: words for name, words in names.items() if name in available}
    if not advice:
        return chosen
    if len(advice) > 1:
        return chosen | {RECOMMENDED: f"recommended, {' and '.join(sorted(advice))}"}
    (only,) = advice
    name = only if only in chosen else RECOMMENDED
    return chosen | {name: f"{names.get(only, only)}, recommended"}


def error_maps(pingpongs: PathSeries | None, streams: PathSeries | None) -> list[Plot]:
    """Return a map for each model, where at least two numbers of pairs were measured."""
    maps = []
    if pingpongs is not None and len(pingpongs.counts) > 1:
        maps += [(pingpongs, model, words) for model, words in _chosen(pingpongs).items()]
    if streams is not None and len(streams.counts) > 1 and streams.segments:
        maps.append((streams, ONE_WAY, "streams, one way"))
    plots = []
    for series, model, words in maps:
        cells = _cells(series, model)
        if cells:
            intro = "Error: the longer of T_model and T over the shorter, less 1, in the same colours in all maps."
            if model == "postal":
                intro = f"{intro} The postal model, which knows one pair alone, taken for any number of pairs."
            plots.append(_draw(series, cells, f"error-{model}-{series.path}", f"Error, {series.path}: {words}", intro))
    return plots
