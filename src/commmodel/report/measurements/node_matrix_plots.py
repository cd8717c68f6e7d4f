"""Heat maps of times between every two nodes. Main entry: `matrix_plots`."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from commmodel.arrays import Array
from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Plot
from commmodel.report.kit.canvas import new_canvas
from commmodel.report.kit.maps import STEPS, Corners, box, draw_cells, patches, step_names, step_of
from commmodel.results import Header, Measurements, Record, tournament
from commmodel.results.configurations import NodeMatrix
from commmodel.units import format_ratio, format_size, format_time

_MOST_CELLS = 64
"""Of a side; of more nodes, neighbours are drawn together, by the slowest of their pairs."""
_MOST_TICKS = 8
_USUAL = 0.25
"""Quantile of the times that others are compared with: where most pairs are far apart, it shows who is near."""


def _matrices(measurements: Measurements) -> Iterator[tuple[Header, Record, NodeMatrix]]:
    for launch in measurements.launches:
        for record in launch.records:
            if isinstance(record.configuration, NodeMatrix):
                yield launch.header, record, record.configuration


def matrix_plots(measurements: Measurements) -> list[Plot]:
    """Return a heat map of each record of the kernel matrix: by how much longer each pair takes than fast ones."""
    with look.style():
        return [
            _map(number, header, record, about)
            for number, (header, record, about) in enumerate(_matrices(measurements), 1)
        ]


def _map(number: int, header: Header, record: Record, about: NodeMatrix) -> Plot:
    canvas, colours = new_canvas(), look.error_colours(len(STEPS) + 1)
    times = tournament.times(record)
    names = tournament.names(header, about.path)[: len(times)]
    usual = float(np.nanquantile(times, _USUAL))
    width = -(-len(times) // _MOST_CELLS)
    classes: dict[int, list[tuple[Corners, str]]] = defaultdict(list)
    for row, column, slowest in _cells(times, width):
        first, second = slowest
        seconds = float(times[first, second])
        longer = max(seconds / usual - 1, 0.0)
        corners = box(column - 0.5, column + 0.5, row - 0.5, row + 0.5)
        words = f"{names[first]} to {names[second]}: {format_time(seconds)}, {format_ratio(longer)} longer"
        classes[step_of(longer)].append((corners, words))
    draw_cells(canvas, classes, colours)
    used = sorted(classes)
    look.legend(canvas.figure, patches([colours[step][0] for step in used], step_names(used)), columns=4)
    side = -(-len(times) // width)
    places = range(0, side, max(1, -(-side // _MOST_TICKS)))
    labels = [names[place * width] for place in places]
    canvas.axes.set_xlim(-0.5, side - 0.5)
    canvas.axes.set_ylim(side - 0.5, -0.5)
    canvas.axes.set_xticks(places, labels, rotation=45, ha="right")
    canvas.axes.set_yticks(places, labels)
    canvas.axes.set_aspect("equal")
    size = format_size(about.message_size)
    caption = f"By how much longer than {format_time(usual)}, which a quarter of the pairs keeps. Empty: not measured."
    if width > 1:
        caption += f" A cell is the slowest pair of {width} by {width} neighbours."
    title = f"Messages of {size} between every two nodes, {about.path}"
    return canvas.finish(f"node-matrix-{number}", title, caption, look.FIXED_COLOURS | dict(colours))


def _cells(times: Array, width: int) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Yield the row and column of each cell, and the slowest pair of nodes in it; none where there is no time."""
    for row in range(0, len(times), width):
        for column in range(0, len(times), width):
            part = times[row : row + width, column : column + width]
            if not np.isnan(part).all():
                first, second = np.unravel_index(int(np.nanargmax(part)), part.shape)
                yield row // width, column // width, (row + int(first), column + int(second))
