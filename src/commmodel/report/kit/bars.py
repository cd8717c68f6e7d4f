"""Horizontal bars of a few numbers by name, beside each other. Main entry: `bar_plot`."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import NamedTuple

from matplotlib.patches import Patch

from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Plot
from commmodel.report.kit.canvas import new_canvas

_WIDE = 28
"""Letters of a name on one line."""
_THICK = 0.8
"""Share of a row that its bars fill."""


class BarWords(NamedTuple):
    """What is said of bars."""

    key: str
    """Of the plot on its page."""
    title: str
    caption: str
    label: str
    """Of the horizontal axis."""
    unit: str


def bar_plot(names: Sequence[str], series: Mapping[str, Sequence[float]], words: BarWords) -> Plot:
    """Return the plot of one or more numbers of each name, the first name on top.

    Parameters
    ----------
    names : sequence of str
    series : dict
        What the numbers are, for the legend -> a number of each name, finite and 0 or more.
    words : BarWords
    """
    canvas = new_canvas()
    labels = [fill(name, _WIDE) for name in names]
    lines = max(label.count("\n") for label in labels) + 1
    canvas.figure.set_figheight(max(2.2, 1.3 + (0.14 * len(series) + 0.16 * lines) * len(names)))
    height = _THICK / len(series)
    colours = look.pair_colours(len(series))
    for index, ((colour, _), values) in enumerate(zip(colours, series.values(), strict=True)):
        middle = (index - (len(series) - 1) / 2) * height
        canvas.axes.barh([place + middle for place in range(len(names))], values, height, color=colour)
    if len(series) > 1:
        handles = [Patch(color=colour, label=name) for (colour, _), name in zip(colours, series, strict=True)]
        look.legend(canvas.figure, handles, columns=len(handles))
    canvas.axes.set_yticks(range(len(names)), labels)
    canvas.axes.set_ylim(len(names) - 0.4, -0.6)
    canvas.axes.grid(visible=False, axis="y")
    numbers = [value for values in series.values() for value in values]
    look.linear_axis(canvas.axes, numbers, words.unit, words.label, is_vertical=False)
    return canvas.finish(words.key, words.title, words.caption, look.FIXED_COLOURS | dict(colours))
