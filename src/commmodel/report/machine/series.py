"""The drawn series of a path: measured points, intervals, protocol limits, and caption.

Main entries: `PathSeries` and the functions that draw on a canvas.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from commmodel.fit.points import Points
from commmodel.machine import Segment
from commmodel.report.kit import axes as look
from commmodel.report.kit.canvas import Canvas
from commmodel.report.kit.cells import measured_cell
from commmodel.report.machine.model_curves import RECOMMENDED, Line, lines
from commmodel.units import format_rate, format_size

MEDIANS = "medians, of the undisturbed samples where some were disturbed"
"""What the points are."""


@dataclass(frozen=True)
class PathSeries:
    """A drawn series of a path: its ping-pongs, or its streams."""

    path: str
    points: Points
    hidden: Points
    """Points without a place on a logarithmic axis."""
    segments: tuple[Segment, ...]
    """Those of the path, where one of them at least has the model."""
    limits: tuple[int, ...]
    model: str = RECOMMENDED
    """Name of the model that tells of these points."""

    @property
    def fewest(self) -> int:
        """Smallest measured number of pairs, mostly one."""
        return int(self.points.pairs.min())

    @property
    def counts(self) -> list[int]:
        """Measured numbers of pairs."""
        return [int(count) for count in np.unique(self.points.pairs)]

    @property
    def span(self) -> tuple[int, int]:
        """The smallest and the largest message."""
        return int(self.points.message_size.min()), int(self.points.message_size.max())

    def lines(self, pairs: int) -> list[Line]:
        """Return the model curves for a number of pairs."""
        return lines(self.segments, *self.span, pairs, self.model)


def tips(points: Points) -> list[str]:
    """Return the text of each point."""
    columns = (points.message_size, points.pairs, points.seconds, points.low, points.high)
    return [
        f"{format_size(int(size))}, {pairs} pair{'s' * (pairs > 1)}: {measured_cell(seconds, low, high, 's')}, "
        f"{format_rate(pairs * size / seconds)}"
        for size, pairs, seconds, low, high in zip(*(column.tolist() for column in columns), strict=True)
    ]


def mark(canvas: Canvas, points: Points, values: np.ndarray, name: str, colour: str, marker: str) -> None:
    """Draw measured points, one marker each."""
    canvas.axes.plot(points.message_size, values, marker, color=colour, gid=name, zorder=3, clip_on=False)
    canvas.points[name] = tips(points)
    canvas.shown += [float(value) for value in values]


def bars(canvas: Canvas, points: Points, per_second: np.ndarray | None, colour: str) -> None:
    """Draw the interval of each median; as rates where `per_second` holds the bytes."""
    is_bounded = np.isfinite(points.low) & np.isfinite(points.high) & (points.low > 0)
    ends = (points.low[is_bounded], points.high[is_bounded])
    if per_second is not None:
        ends = (per_second[is_bounded] / ends[1], per_second[is_bounded] / ends[0])
    canvas.axes.vlines(points.message_size[is_bounded], *ends, color=colour, linewidth=1.2, zorder=2)
    canvas.shown += [float(value) for end in ends for value in end]


def limit_lines(canvas: Canvas, drawn: Sequence[PathSeries]) -> None:
    """Draw each protocol limit with its size; the limit of a single path in its colour."""
    begin, end = canvas.axes.get_xlim()
    owners: dict[int, set[str]] = {}
    for series in drawn:
        for limit in series.limits:
            owners.setdefault(limit, set()).add(series.path)
    inside = [limit for limit in sorted(owners) if begin < limit < end]
    for index, limit in enumerate(inside):
        row = index % 2  # limits one octave apart are common: their labels take turns
        alone = len(owners[limit]) == 1 and len(drawn) > 1
        colour = look.path_colour(*owners[limit]) if alone else look.INK
        canvas.axes.axvline(limit, color=colour, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        look.limit_label(canvas.axes, format_size(limit), limit, row, colour)


def caption(drawn: Sequence[PathSeries], left_out: int, measured: str, model: str) -> str:
    """Return the caption: measurements, model curves, and omissions."""
    parts = [measured]
    if any(series.segments for series in drawn):
        parts.append(model)
    unknown = [series.path for series in drawn if not series.segments]
    if unknown:
        parts.append(f"No model is known for {', '.join(unknown)}: only the points are shown.")
    if any(series.limits for series in drawn):
        parts.append("Dashed: protocol limits.")
    if left_out:
        parts.append(f"Left out: {left_out} of 0 bytes or too short for the clock.")
    return " ".join(parts)
