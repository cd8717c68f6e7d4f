"""Drawings of curves: the time of a message over its size, and growth that leaves what is expected.

Main entries: `models` and `guard`.
"""

import math
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from tools.drawings.canvas import Axes, Canvas, Frame

from commmodel import formats, machine
from commmodel.machine import MaxRate
from commmodel.models import maxrate
from commmodel.scaling import load
from commmodel.scaling.overview import ModelledSeries, overview
from commmodel.units import format_rate, format_size, format_time

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
_PAIRS = 16
"""Processes of a node that send at once, in the drawing of models."""
_LARGEST = 4 << 20
_FARTHEST = 512.0


def models() -> str:
    """Time of a message over its size between two nodes, by the max-rate model: one process, and sixteen of a node."""
    canvas = Canvas(760, 430)
    axes = Axes(canvas, Frame(74, 52, 480, 320), (1, _LARGEST), (4e-7, 2e-2))
    sizes = [1, 32, 1024, 32 << 10, 1 << 20]
    axes.ticks(
        {size: format_size(size) for size in sizes},
        {seconds: format_time(seconds) for seconds in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)},
    )
    axes.titles("message size n", "time T of a message")
    begin, laws, names = 1.0, [], {"eager": "eager limit "}
    for segment in machine.load(EXAMPLES / "blue-waters.toml").segments:
        if segment.max_rate is None:
            continue
        law = segment.max_rate
        laws.append(law)
        end = float(segment.limit.value) if segment.limit else _LARGEST
        for pairs, look in ((1, "line s-a"), (_PAIRS, "line s-b dashed")):
            axes.curve(partial(_seconds, law, pairs=pairs), begin, end, look)
        middle = axes.at((begin * end) ** 0.5, axes.y[1])
        canvas.text((middle.x, middle.y + 18), segment.protocol, "strong", "middle")
        if segment.limit:
            top, bottom = axes.at(end, axes.y[1]), axes.at(end, axes.y[0])
            canvas.path([top, bottom], "thin s-soft dashed")
            canvas.text(
                (top.x, top.y - 8), f"{names.get(segment.protocol, '')}{format_size(int(end))}", "soft", "middle"
            )
        begin = end
    _message_labels(axes, laws[0], laws[-1])
    return canvas.svg()


def _seconds(law: MaxRate, size: float, pairs: int) -> float:
    """Return the max-rate model's time of a message."""
    limit = law.R_N.value if law.R_N else math.inf
    return float(maxrate.time(size, pairs, law.alpha.value, limit, law.R_C.value))


def _message_labels(axes: Axes, short: MaxRate, law: MaxRate) -> None:
    canvas = axes.canvas
    place = axes.at(1, short.alpha.value)
    canvas.arrow((place.x + 30, place.y + 26), (place.x + 14, place.y + 4))
    words = [f"α = {format_time(short.alpha.value)}: latency,", "the time without bytes"]
    canvas.lines((place.x + 34, place.y + 32), words)
    end = {pairs: _seconds(law, _LARGEST, pairs) for pairs in (1, _PAIRS)}
    alone, crowd = (axes.at(_LARGEST, end[pairs]) for pairs in (1, _PAIRS))
    limit = format_rate(law.R_N.value if law.R_N else math.inf)
    x = alone.x + 20
    canvas.lines((x, alone.y + 8), ["one process:", "a byte takes 1/R_{C},", f"R_{{C}} = {format_rate(law.R_C.value)}"])
    canvas.lines(
        (x, crowd.y - 30), [f"{_PAIRS} processes of a node:", f"a byte takes {_PAIRS}/R_{{N}},", f"R_{{N}} = {limit}"]
    )
    canvas.arrow((alone.x + 8, alone.y), (crowd.x + 8, crowd.y), look="ink", is_double=True)
    canvas.text((x, (alone.y + crowd.y) / 2 + 8), f"{end[_PAIRS] / end[1]:.1f} times", "strong")


def guard() -> str:
    """Growth of two collectives over the number of processes: one within its limit, one that passes it."""
    measurements = formats.load(EXAMPLES / "collectives.txt")
    rows = {row.name: row for row in overview(measurements, load("mpi")).rows}
    bad, good = rows["bcast"], rows["reduce"]
    canvas = Canvas(760, 400)
    axes = Axes(canvas, Frame(70, 36, 470, 306), (2, _FARTHEST), (2e-6, 6e-4))
    ticks = (2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4)
    axes.ticks(
        {float(count): str(count) for count in (2, 4, 8, 16, 32, 64, 128, 256, 512)},
        {seconds: format_time(seconds) for seconds in ticks},
    )
    axes.titles("processes p", "time")
    growth, limit = max(bad.limits(), key=lambda pair: pair[0])
    edge = [axes.at(scale, float(limit(scale))) for scale in _scales()]
    canvas.area([*edge, axes.at(_FARTHEST, axes.y[0]), axes.at(2, axes.y[0])], "f-c faint")
    canvas.path(edge, "line s-c")
    for row, look in ((good, "a"), (bad, "b")):
        _growth_curve(axes, row, look)
    passing = bad.passed(_FARTHEST)
    if passing is None:
        raise ValueError("the broadcast of the example passes no limit")
    place = axes.at(passing[1], float(bad.ensemble.best(passing[1])))
    canvas.dot(place, "f-ink", 4.5)
    canvas.arrow((place.x - 44, place.y - 52), (place.x - 4, place.y - 7))
    canvas.text((place.x - 34, place.y - 58), f"mismatch: passes the limit at p = {passing[1]:.0f}", "strong", "end")
    expectation = bad.judgement.expectation.text("p") if bad.judgement else ""
    x = axes.frame.x + axes.frame.width + 12
    for y, words in (
        (float(bad.ensemble.best(_FARTHEST)), ["bcast: grows with p"]),
        (float(limit(_FARTHEST)), [f"limit: {growth.text('p')}", f"expected: {expectation}"]),
        (float(good.ensemble.best(_FARTHEST)), ["reduce: grows with log p,", "a match"]),
    ):
        canvas.lines((x, axes.at(_FARTHEST, y).y + 4), words)
    canvas.text(
        (axes.at(64, axes.y[0]).x + 6, axes.frame.y + axes.frame.height - 10), "beyond what was measured", "soft"
    )
    canvas.path([axes.at(64, axes.y[0]), axes.at(64, axes.y[1])], "thin s-soft dashed")
    return canvas.svg()


def _scales() -> Iterable[float]:
    return (2 * (_FARTHEST / 2) ** (step / 40) for step in range(41))


def _growth_curve(axes: Axes, row: ModelledSeries, look: str) -> None:
    """Draw the model of a series, dashed beyond its largest scale, and its values."""
    largest = float(row.series.scales[-1])
    axes.curve(lambda scale: float(row.ensemble.best(scale)), 2, largest, f"line s-{look}")
    axes.curve(lambda scale: float(row.ensemble.best(scale)), largest, _FARTHEST, f"line s-{look} dashed")
    for scale, value in zip(row.series.scales, row.ensemble.values.tolist(), strict=True):
        axes.canvas.dot(axes.at(scale, value), f"f-{look}")
