"""SVG as text: shapes and words on a ground that is light or dark, as the reader's system or page is.

Coordinates are pixels, y downwards, written with one digit, so that the same drawing is the same bytes. Colours are
classes: `a` to `d` for what is shown, `ink`, `soft` and `rule` for what explains it. In a page of the documentation the
drawing has no ground of its own and follows the page's theme. Main entries: `Canvas` and `Axes`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

_LIGHT = "--ink:#1f2328;--soft:#57606a;--rule:#d0d7de;--ground:#fff;--box:#f6f8fa;"
_LIGHT += "--a:#0072b2;--b:#c25400;--c:#00805d;--d:#a8488f"
_DARK = "--ink:#e6edf3;--soft:#9ba4ad;--rule:#3d444d;--ground:#15181c;--box:#20252b;"
_DARK += "--a:#56b4e9;--b:#f0883e;--c:#3fbf94;--d:#dd8fc8"
_STYLE = (
    f"svg.drawing{{{_LIGHT};font:13px system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}}"
    f"@media(prefers-color-scheme:dark){{svg.drawing{{{_DARK}}}}}"
    f'body[data-theme="light"] svg.drawing{{{_LIGHT}}}body[data-theme="dark"] svg.drawing{{{_DARK}}}'
    f"@media print{{svg.drawing,body[data-theme] svg.drawing{{{_LIGHT}}}}}"
    ".drawing .ground{fill:var(--ground)}body .drawing .ground{fill:none}"
    ".drawing text{fill:var(--ink)}.drawing text.soft{fill:var(--soft);font-size:12px}"
    ".drawing text.strong{font-weight:600}.drawing text.code{font-family:ui-monospace,'DejaVu Sans Mono',monospace;"
    "font-size:12px}.drawing .box{fill:var(--box);stroke:var(--rule)}"
    ".drawing .line{fill:none;stroke-width:2;stroke-linejoin:round}.drawing .thin{fill:none;stroke-width:1}"
    ".drawing .dashed{stroke-dasharray:5 4}.drawing .faint{opacity:.25}"
    + "".join(
        f".drawing .s-{name}{{stroke:var(--{name})}}.drawing .f-{name}{{fill:var(--{name})}}"
        for name in ("ink", "soft", "rule", "a", "b", "c", "d")
    )
)
_HEAD = 7.0
"""Length of an arrow's head."""


class Point(NamedTuple):
    """A place of the drawing."""

    x: float
    y: float


class Frame(NamedTuple):
    """A rectangle of the drawing: its corner above and on the left, and its extent."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> Point:
        """The middle of the right edge."""
        return Point(self.x + self.width, self.y + self.height / 2)

    @property
    def left(self) -> Point:
        """The middle of the left edge."""
        return Point(self.x, self.y + self.height / 2)

    @property
    def top(self) -> Point:
        """The middle of the upper edge."""
        return Point(self.x + self.width / 2, self.y)

    @property
    def bottom(self) -> Point:
        """The middle of the lower edge."""
        return Point(self.x + self.width / 2, self.y + self.height)


def number(value: float) -> str:
    """Return a coordinate: one digit behind the point, none where it is whole, and no minus before zero."""
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")


@dataclass
class Canvas:
    """A drawing of so many pixels; its methods add to it from back to front."""

    width: float
    height: float
    _parts: list[str] = field(default_factory=list)

    def text(self, at: tuple[float, float], words: str, look: str = "", anchor: str = "start", turn: float = 0) -> None:
        """Write words; ``_{x}`` lowers x. Looks: `soft`, `strong` and `code`; anchors: `start`, `middle` and `end`."""
        x, y = map(number, at)
        options = f' class="{look}"' if look else ""
        options += f' text-anchor="{anchor}"' if anchor != "start" else ""
        options += f' transform="rotate({number(turn)} {x} {y})"' if turn else ""
        plain, *lowered = escape(words, quote=False).split("_{")
        for part in lowered:
            low, _, rest = part.partition("}")
            plain += f'<tspan dy="3" font-size="75%">{low}</tspan>' + (f'<tspan dy="-3">{rest}</tspan>' if rest else "")
        self._parts.append(f'<text x="{x}" y="{y}"{options}>{plain}</text>')

    def lines(self, at: tuple[float, float], words: Sequence[str], look: str = "", anchor: str = "start") -> None:
        """Write lines of words below each other."""
        for row, line in enumerate(words):
            self.text((at[0], at[1] + 17 * row), line, look, anchor)

    def path(self, points: Iterable[tuple[float, float]], look: str) -> None:
        """Draw a line through points."""
        places = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self._parts.append(f'<polyline class="{look}" points="{places}"/>')

    def area(self, points: Iterable[tuple[float, float]], look: str) -> None:
        """Fill a polygon."""
        places = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self._parts.append(f'<polygon class="{look}" points="{places}"/>')

    def rectangle(self, frame: Frame, look: str, radius: float = 0) -> None:
        """Fill a rectangle."""
        x, y, width, height = map(number, frame)
        corner = f' rx="{number(radius)}"' if radius else ""
        self._parts.append(f'<rect class="{look}" x="{x}" y="{y}" width="{width}" height="{height}"{corner}/>')

    def dot(self, at: tuple[float, float], look: str, radius: float = 3.5) -> None:
        """Fill a circle."""
        x, y = map(number, at)
        self._parts.append(f'<circle class="{look}" cx="{x}" cy="{y}" r="{number(radius)}"/>')

    def box(self, frame: Frame, title: str, words: Sequence[str] = (), look: str = "strong") -> Frame:
        """Draw a box with a title and lines of words in its middle; return its frame."""
        self.rectangle(frame, "box", 5)
        x, top = frame.x + frame.width / 2, frame.y + frame.height / 2 - 17 * len(words) / 2 + 4.5
        self.text((x, top), title, look, "middle")
        self.lines((x, top + 17), words, "soft", "middle")
        return frame

    def arrow(self, *points: tuple[float, float], look: str = "soft", is_double: bool = False) -> None:
        """Draw an arrow through points, with a head at its end, or at both ends."""
        ends = [(points[-2], points[-1]), *([(points[1], points[0])] if is_double else [])]
        self.path(points, f"thin s-{look}")
        for (x0, y0), (x1, y1) in ends:
            length = math.hypot(x1 - x0, y1 - y0)
            along = ((x1 - x0) / length * _HEAD, (y1 - y0) / length * _HEAD)
            wings = [(x1 - along[0] + side * along[1] / 2.2, y1 - along[1] - side * along[0] / 2.2) for side in (1, -1)]
            self.area([(x1, y1), *wings], f"f-{look}")

    def span(self, begin: tuple[float, float], end: tuple[float, float], words: str, above: bool = True) -> None:
        """Draw a measure between two points of the same height, with its name in the middle."""
        self.arrow(begin, end, is_double=True)
        y = begin[1] - 6 if above else begin[1] + 16
        self.text(((begin[0] + end[0]) / 2, y), words, anchor="middle")

    def svg(self) -> str:
        """Return the file."""
        size = f'width="{number(self.width)}" height="{number(self.height)}"'
        view = f'viewBox="0 0 {number(self.width)} {number(self.height)}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" {size} {view}>\n<style>{_STYLE}</style>\n'
        ground = f'<rect class="ground" width="{number(self.width)}" height="{number(self.height)}"/>\n'
        return head + ground + "\n".join(self._parts) + "\n</svg>\n"


@dataclass
class Axes:
    """Logarithmic axes in a frame of a canvas: from values to places."""

    canvas: Canvas
    frame: Frame
    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, x: float, y: float) -> Point:
        """Return the place of a pair of values."""
        return Point(
            self.frame.x + self.frame.width * math.log(x / self.x[0]) / math.log(self.x[1] / self.x[0]),
            self.frame.y + self.frame.height * (1 - math.log(y / self.y[0]) / math.log(self.y[1] / self.y[0])),
        )

    def ticks(self, along_x: dict[float, str], along_y: dict[float, str]) -> None:
        """Draw lines of a grid with their values."""
        for value, words in along_x.items():
            top, bottom = self.at(value, self.y[1]), self.at(value, self.y[0])
            self.canvas.path([top, bottom], "thin s-rule")
            self.canvas.text((bottom.x, bottom.y + 17), words, "soft", "middle")
        for value, words in along_y.items():
            begin, end = self.at(self.x[0], value), self.at(self.x[1], value)
            self.canvas.path([begin, end], "thin s-rule")
            self.canvas.text((begin.x - 7, begin.y + 4), words, "soft", "end")

    def titles(self, along_x: str, along_y: str) -> None:
        """Write what the axes are."""
        frame = self.frame
        self.canvas.text((frame.x + frame.width / 2, frame.y + frame.height + 36), along_x, "soft", "middle")
        self.canvas.text((frame.x, frame.y - 10), along_y, "soft")

    def curve(self, law: Callable[[float], float], begin: float, end: float, look: str, steps: int = 40) -> list[Point]:
        """Draw a function of x, and return its points."""
        values = [begin * (end / begin) ** (step / steps) for step in range(steps + 1)]
        points = [self.at(value, law(value)) for value in values]
        self.canvas.path(points, look)
        return points
