"""A figure under construction: axes, series and legend. Main entries: `Canvas`, `new_canvas`, `draw_series`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Literal, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from commmodel.report.kit import axes as look
from commmodel.report.kit import svg
from commmodel.report.kit.blocks import Plot

_MOST_LEGEND_ENTRIES = 8

Dashes = Literal["-", ""] | tuple[float, Sequence[float]]


class SeriesStyle(NamedTuple):
    """Style and name of a series."""

    colour: str
    marker: str
    label: str
    dashes: Dashes = "-"


@dataclass
class Canvas:
    """A figure under construction: its axes, and texts of its points."""

    figure: Figure
    axes: Axes
    points: dict[str, list[str]] = field(default_factory=dict)
    shown: list[float] = field(default_factory=list)
    """Values that the vertical axis must hold."""

    def finish(self, key: str, title: str, caption: str, colours: Mapping[str, str]) -> Plot:
        """Return the plot."""
        image = svg.inline(self.figure, key, title, colours, self.points)
        return Plot(key, title, caption, image, dict(colours))


def new_canvas(*, is_small: bool = False) -> Canvas:
    """Return an empty canvas; a small one for a panel of many."""
    return Canvas(*look.new_axes(is_small=is_small))


def draw_series(
    canvas: Canvas, places: Sequence[float], values: Sequence[float], tips: Sequence[str], key: str, style: SeriesStyle
) -> None:
    """Draw a series: a line, with points that have a text."""
    canvas.axes.plot(places, values, linestyle=style.dashes, color=style.colour, linewidth=1.1, zorder=2.5)
    canvas.axes.plot(places, values, style.marker, color=style.colour, gid=key, zorder=3, clip_on=False)
    canvas.points[key] = list(tips)
    canvas.shown += values


def cycled_styles(labels: Iterable[str], dashes: Dashes = "-") -> tuple[list[SeriesStyle], dict[str, str]]:
    """Return a style for each series of these names, and all colours of their plot."""
    labels = list(labels)
    colours = look.pair_colours(len(labels))
    styles = [
        SeriesStyle(colour, marker, label, dashes)
        for (colour, _), marker, label in zip(colours, cycle(look.MARKERS), labels, strict=False)
    ]
    return styles, look.FIXED_COLOURS | dict(colours)


def legend_of(canvas: Canvas, styles: Sequence[SeriesStyle], columns: int = 4) -> None:
    """Add the series to the legend; of many series, some that are evenly spread."""
    most = min(len(styles), _MOST_LEGEND_ENTRIES)
    chosen = sorted({round(index * (len(styles) - 1) / max(most - 1, 1)) for index in range(most)})
    handles = [
        Line2D([], [], color=style.colour, marker=style.marker, linestyle=style.dashes, label=style.label)
        for style in (styles[index] for index in chosen)
    ]
    look.legend(canvas.figure, handles, columns=min(columns, len(handles)))
