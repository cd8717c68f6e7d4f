"""Style of all plots: colours of light and dark pages, axes in human units, a legend above the axes.

Colours of paths are Okabe and Ito's, colours of pairs lie on matplotlib's plasma scale, those of errors on viridis;
colour-blind readers tell them apart, and every series has its own marker besides. Main entries: `style`, `new_axes`
and the axes functions.
"""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager

import matplotlib
import matplotlib.style
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from commmodel.units import format_quantity, format_ratio, format_size

INK = "#22262b"
GRID = "#dde1e6"
PAPER = "#ffffff"
_PATHS = {"same-socket": "#009e73", "same-node": "#0072b2", "between-nodes": "#d55e00"}
_OTHER_PATH = "#b3578f"
FIXED_COLOURS = {
    INK: "#e4e7eb", GRID: "#353b43", PAPER: "#15181c", "#009e73": "#35c79c", "#0072b2": "#56b4e9",
    "#d55e00": "#f0904e", _OTHER_PATH: "#e09ac4",
}  # fmt: skip
"""Colour on a light page -> colour of the same thing on a dark one."""
MARKERS = "os^Dv<>p"

_STYLE = {
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.unicode_minus": True,
    "figure.facecolor": "none",
    "font.family": "DejaVu Sans",  # comes with matplotlib: text is measured alike everywhere
    "font.size": 10.5,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",  # text stays text: small, sharp, and found by a search
    "text.color": INK,
    "text.parse_math": False,  # names of functions and files may have dollar signs
    "text.usetex": False,
    "xtick.color": INK,
    "ytick.color": INK,
}
_MOST_TICKS, _FEWEST_TICKS = 7, 3
_FEW_DECADES = 2.2
_MOST_SIZES = 4  # as ticks of a small panel
_SMALL = (4.2, 3.3)  # inches: three of them beside each other
_ROOM, _LEAST_ROOM = 1.35, 1.1  # of a logarithmic axis beyond the data, as a factor
_NEAR = 0.07  # of an axis, between the middles of two labels


def style() -> AbstractContextManager[None]:
    """Return a context with the style of all figures, independent of the user's matplotlibrc."""
    return matplotlib.style.context(["default", _STYLE])


def path_colour(path: str) -> str:
    """Return the colour of a path."""
    return _PATHS.get(path, _OTHER_PATH)


def pair_colours(count: int) -> list[tuple[str, str]]:
    """Return colours for some numbers of pairs, ascending: (light page, dark page)."""
    plasma = matplotlib.colormaps["plasma"]
    shares = np.linspace(0, 1, count) if count > 1 else np.zeros(1)
    return [(to_hex(plasma(0.02 + 0.64 * share)), to_hex(plasma(0.4 + 0.55 * share))) for share in shares]


def error_colours(count: int) -> list[tuple[str, str]]:
    """Return colours for some classes of errors, ascending: (light page, dark page).

    Small errors are near the page's own colour, large ones stand out, on either page. Colour-blind readers see the
    order in the lightness (viridis).
    """
    viridis = matplotlib.colormaps["viridis"]
    shares = np.linspace(0, 1, count) if count > 1 else np.zeros(1)
    return [(to_hex(viridis(0.98 - 0.98 * share)), to_hex(viridis(0.12 + 0.88 * share))) for share in shares]


def new_axes(*, is_small: bool = False) -> tuple[Figure, Axes]:
    """Return an empty figure, small enough for legible text on a phone, and its axes; or one of many side by side."""
    figure = Figure(figsize=_SMALL if is_small else (5.5, 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axisbelow(True)
    return figure, axes


def _is_wide(axes: Axes) -> bool:
    return bool(axes.get_figure(root=True).get_figwidth() > _SMALL[0])  # type: ignore[union-attr]


def _plain(text: str) -> str:
    """Shorten a quantity for a tick: '10.0 us' -> '10 us', and '15.0 1' -> '15'."""
    number, _, unit = text.partition(" ")
    return f"{float(number):g} {unit.removesuffix('1')}".strip().replace("-", "−")


def size_axis(axes: Axes, smallest: float, largest: float, *, is_vertical: bool = False) -> None:
    """Make x, or y, a logarithmic axis of message sizes, with powers of two as ticks."""
    axis = axes.yaxis if is_vertical else axes.xaxis
    (axes.set_yscale if is_vertical else axes.set_xscale)("log", base=2)
    (axes.set_ylim if is_vertical else axes.set_xlim)(smallest / _ROOM, largest * _ROOM)
    axis.set_label_text("message size S" if is_vertical else "message size")
    first, last = math.floor(math.log2(smallest)), math.ceil(math.log2(largest))
    step = max(1, math.ceil((last - first) / (_MOST_TICKS if _is_wide(axes) else _MOST_SIZES)))
    powers = [2.0**power for power in range(first, last + 1, step)]
    axis.set_major_locator(FixedLocator([size for size in powers if smallest / _ROOM <= size <= largest * _ROOM]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda size, _: format_size(size)))


def _room(smallest: float, largest: float) -> float:
    """Return the room of a logarithmic axis beyond the data: less where they are near each other."""
    return min(_ROOM, max((largest / smallest) ** 0.25, _LEAST_ROOM)) if largest > smallest else _ROOM


def _thinned(ticks: Sequence[float], begin: float, end: float) -> list[float]:
    """Return ascending ticks of a logarithmic axis without those whose labels would touch the one before."""
    shown: list[float] = []
    for tick in ticks:
        if not shown or math.log(tick / shown[-1]) >= _NEAR * math.log(end / begin):
            shown.append(tick)
    return shown


def count_axis(axes: Axes, counts: Sequence[float], label: str) -> None:
    """Make x a logarithmic axis of counts, with ticks at the drawn counts, or at powers of two where there are many."""
    smallest, largest = min(counts), max(counts)
    room = _room(smallest, largest)
    ticks = sorted({float(count) for count in counts})
    if len(ticks) > _MOST_TICKS:
        step = max(1, math.ceil(math.log2(largest / smallest) / _MOST_TICKS))
        powers = range(math.ceil(math.log2(smallest)), math.floor(math.log2(largest)) + 1, step)
        at_powers = [2.0**power for power in powers]
        ticks = at_powers if len(at_powers) >= _FEWEST_TICKS else ticks
    axes.set_xscale("log", base=2)
    axes.set_xlim(smallest / room, largest * room)
    axes.xaxis.set_major_locator(FixedLocator(_thinned(ticks, smallest / room, largest * room)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:g}"))
    axes.set_xlabel(label)


def _decade_ticks(begin: float, end: float) -> list[float]:
    """Return ticks at round numbers of each decade, or between them where fewer than three of those are within."""
    decades = math.log10(end / begin)
    step = max(1, math.ceil(decades / _MOST_TICKS))
    powers = range(math.floor(math.log10(begin)), math.ceil(math.log10(end)) + 1, step)
    for mantissas in ((1,), (1, 2, 5)) if decades >= _FEW_DECADES else ((1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        ticks = [tick for power in powers for tick in (mantissa * 10.0**power for mantissa in mantissas)]
        ticks = [tick for tick in ticks if begin <= tick <= end]
        if len(ticks) >= _FEWEST_TICKS:
            return ticks
    return [float(tick) for tick in MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(begin, end) if begin <= tick <= end]


def log_axis(axes: Axes, values: Sequence[float], unit: str, label: str) -> None:
    """Make y a logarithmic axis that holds all values, which are above 0, in a base unit."""
    room = _room(min(values), max(values))
    begin, end = min(values) / room, max(values) * room
    axes.set_yscale("log")
    axes.set_ylim(begin, end)
    axes.yaxis.set_major_locator(FixedLocator(_decade_ticks(begin, end)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _plain(format_quantity(value, unit))))
    axes.set_ylabel(label)


def factor_axis(axes: Axes, factors: Sequence[float], label: str) -> None:
    """Make x a logarithmic axis of factors around 1 that holds all of them."""
    begin, end = min(factors), max(factors)
    room = _room(begin, end)
    axes.set_xscale("log")
    axes.set_xlim(begin / room, end * room)
    axes.xaxis.set_major_locator(FixedLocator(_thinned(_decade_ticks(begin / room, end * room), begin, end)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda factor, _: f"{factor:g}"))
    axes.set_xlabel(label)


def linear_axis(axes: Axes, values: Sequence[float], unit: str, label: str, *, is_vertical: bool = True) -> None:
    """Make y, or x, an axis from 0 that holds all values, in a base unit."""
    axis = axes.yaxis if is_vertical else axes.xaxis
    (axes.set_ylim if is_vertical else axes.set_xlim)(0, (max(values) or 1) * 1.08)
    axis.set_major_locator(MaxNLocator(6 if is_vertical else 4, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _plain(format_quantity(value, unit)) if value else "0"))
    axis.set_label_text(label)


def span_axis(axes: Axes, values: Sequence[float], unit: str, label: str) -> None:
    """Make x an axis from the smallest of the values to the largest, which need not begin at 0, in a base unit."""
    least, most = min(values), max(values)
    room = 0.04 * (most - least) or 0.04 * abs(most) or 1.0
    axes.set_xlim(least - room, most + room)
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _plain(format_quantity(value, unit))))
    axes.set_xlabel(label)


def ratio_axis(axes: Axes, values: Sequence[float], label: str) -> None:
    """Make y an axis of percentages around 0 that holds all values."""
    reach = max(max(abs(value) for value in values) * 1.15, 0.01)
    axes.set_ylim(-reach, reach)
    axes.yaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _plain(format_ratio(value)) if value else "0 %"))
    axes.set_ylabel(label)


def limit_label(axes: Axes, text: str, place: float, row: int, colour: str) -> None:
    """Write a protocol limit above the axes, in one of two rows."""
    axes.annotate(
        text, (place, 1), xycoords=("data", "axes fraction"), xytext=(0, 3 + 11 * row),
        textcoords="offset points", ha="center", va="bottom", fontsize=9.5, color=colour,
    )  # fmt: skip


def legend(figure: Figure, handles: Sequence[Artist], columns: int) -> None:
    """Put a legend above the axes, filled row by row."""
    by_column = [handle for column in range(columns) for handle in handles[column::columns]]  # matplotlib's order
    length = 2.0 if figure.get_figwidth() > _SMALL[0] else 1.4
    figure.legend(
        handles=by_column, loc="outside upper left", ncols=columns, handletextpad=0.5, columnspacing=0.65 * length,
        handlelength=length, borderaxespad=0.2,
    )  # fmt: skip
