"""Maps: a cell per pair of coordinates, a colour per class of errors. Main entries: `STEPS` and `draw_cells`.

All maps of all reports have one scale, in steps of about a factor of two, so that one colour always means one error.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from commmodel.report.kit import axes as look
from commmodel.report.kit.canvas import Canvas
from commmodel.units import format_ratio

STEPS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Upper ends of the classes of errors; above the last one is one more."""
_OCTAVE = 2.0

Corners = list[tuple[float, float]]


def step_of(error: float) -> int:
    """Return the class of an error."""
    return bisect_left(STEPS, error)


def step_names(used: Sequence[int]) -> list[str]:
    """Return the names of classes of errors: below each end of `STEPS`, then above the last."""
    ends = [format_ratio(step).replace(".0", "") for step in STEPS]
    names = [f"≤ {end}" for end in ends] + [f"> {ends[-1]}"]
    return [names[index] for index in used]


def borders(sizes: Sequence[int]) -> list[float]:
    """Return the borders between neighbouring sizes, half-way on a logarithmic axis, and the two outer ones."""
    if len(sizes) == 1:
        return [sizes[0] / _OCTAVE**0.5, sizes[0] * _OCTAVE**0.5]
    inner = np.sqrt(np.array(sizes[1:], dtype=np.float64) * np.array(sizes[:-1], dtype=np.float64))
    return [sizes[0] ** 2 / float(inner[0]), *inner.tolist(), sizes[-1] ** 2 / float(inner[-1])]


def box(west: float, east: float, south: float, north: float) -> Corners:
    """Return the corners of a cell."""
    return [(west, south), (east, south), (east, north), (west, north)]


def patches(colours: Iterable[str], names: Iterable[str]) -> list[Patch]:
    """Return the legend of classes of cells."""
    return [Patch(facecolor=colour, edgecolor="none", label=name) for colour, name in zip(colours, names, strict=True)]


def draw_cells(
    canvas: Canvas, classes: Mapping[int, Sequence[tuple[Corners, str]]], colours: Sequence[tuple[str, str]]
) -> None:
    """Draw the cells of each class in its colour; a cell is its corners and its text."""
    for number, members in sorted(classes.items()):
        name = f"cells-{number}"
        corners = [corners for corners, _ in members]
        canvas.axes.add_collection(
            PolyCollection(corners, facecolors=colours[number][0], edgecolors=look.PAPER, linewidths=0.8, gid=name)
        )
        canvas.points[name] = [words for _, words in members]
    canvas.axes.grid(visible=False)
    canvas.axes.spines[:].set_visible(False)
