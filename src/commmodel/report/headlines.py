"""What matters most, path by path: latency, bandwidth, protocol limit, and whether to trust them.

A path that the machine knows is summed up by its model, another one by the measurements alone. Main entry:
`headlines`.
"""

from dataclasses import dataclass

import numpy as np

from commmodel.fit.points import Points, collect
from commmodel.machine import UNITS, Machine, MaxRate, Parameter, Postal, Segment
from commmodel.report.cells import Cell, bandwidth, measured_cell, parameter_cell
from commmodel.report.parameters import limit_words, segments_on
from commmodel.results import Measurements, Threshold
from commmodel.units import format_rate, format_size

__all__ = ["Fact", "Headline", "headlines"]

_FOUND_BY = {
    "threshold": "larger messages wait for their receiver: a blocking send showed it",
    "user": "as told to the fit",
    "hand": "written by hand",
    "change-point": "seen in the times",
}
"""How a limit was found, the surest way first."""


@dataclass(frozen=True)
class Fact:
    """A number, what it is, and what it means."""

    label: str
    cell: Cell
    meaning: str = ""


@dataclass(frozen=True)
class Headline:
    """The facts of one path, and where they come from."""

    path: str
    source: str
    facts: tuple[Fact, ...]


def _model(segment: Segment) -> MaxRate | Postal | None:
    return segment.max_rate or segment.postal


def _pair_rate(model: MaxRate | Postal) -> Parameter:
    return model.R_C if isinstance(model, MaxRate) else bandwidth(model.beta)


def _trust(segments: tuple[Segment, ...]) -> Fact:
    doubtful, unknown = [], []
    for segment in segments:
        model = _model(segment)
        if model is None or model.quality is None:
            unknown.append(segment.protocol)
        elif not model.quality.trusted:
            doubtful.append(segment.protocol)
    if doubtful:
        return Fact("Trust", Cell("no"), f"not the fit of {', '.join(dict.fromkeys(doubtful))}: see the remarks")
    if unknown:
        return Fact("Trust", Cell("not known"), f"no fit is recorded for {', '.join(dict.fromkeys(unknown))}")
    return Fact("Trust", Cell("yes"), "every fit passed its checks")


def _limits(segments: tuple[Segment, ...]) -> Fact:
    limits = [segment.limit for segment in segments if segment.limit is not None]
    if not limits:
        return Fact("Protocol limit", Cell("none"), "one protocol for all sizes")
    surest = min((limit.found_by for limit in limits), key=list(_FOUND_BY).index)
    chosen = [limit for limit in limits if limit.found_by == surest]
    others = [
        words if words.startswith("between") else f"at {words}"
        for words in (limit_words(limit) for limit in limits if limit.found_by != surest)
    ]
    sizes = [format_size(limit.value) for limit in chosen]
    doubts = [limit_words(limit) for limit in chosen if limit_words(limit) != format_size(limit.value)]
    meaning = _FOUND_BY[surest] + (f"; the model also changes {' and '.join(others)}" if others else "")
    return Fact("Protocol limit", Cell(", ".join(sizes), ", ".join(doubts)), meaning)


def _from_model(path: str, segments: tuple[Segment, ...]) -> Headline:
    facts = []
    modelled = [(segment.protocol, model) for segment in segments if (model := _model(segment)) is not None]
    if modelled:
        (smallest, first), (largest, last) = modelled[0], modelled[-1]
        latency = parameter_cell(first.alpha, UNITS["alpha"])
        facts.append(Fact("Latency", latency, f"α of {smallest}, the smallest messages"))
        symbol = "R_C" if isinstance(last, MaxRate) else "1/β"
        rate = parameter_cell(_pair_rate(last), "B/s")
        facts.append(Fact("One pair", rate, f"{symbol} of {largest}, the largest messages"))
        if isinstance(last, MaxRate) and last.R_N is not None:
            shared = parameter_cell(last.R_N, UNITS["R_N"])
            facts.append(Fact("All pairs of a node", shared, f"R_N of {largest}"))
        else:
            facts.append(Fact("All pairs of a node", Cell("not known"), "one pair alone was measured"))
    return Headline(path, "from the model", (*facts, _limits(segments), _trust(segments)))


def _fastest(points: Points) -> Fact:
    rates = points.pairs * points.message_size / points.seconds
    best = int(np.argmax(rates))
    pairs, size = int(points.pairs[best]), format_size(int(points.message_size[best]))
    label = "One pair" if pairs == 1 else f"{pairs} pairs together"
    return Fact(label, Cell(format_rate(float(rates[best]))), f"fastest, with messages of {size}")


def _from_points(points: Points) -> list[Fact]:
    smallest = int(np.argmin(points.message_size * (1 + points.pairs.max()) + points.pairs))
    latency = measured_cell(
        float(points.seconds[smallest]), float(points.low[smallest]), float(points.high[smallest]), "s"
    )
    facts = [Fact("Latency", latency, f"median with messages of {format_size(int(points.message_size[smallest]))}")]
    timed = points.where((points.seconds > 0) & (points.message_size > 0))
    for several in (False, True):
        some = timed.where((timed.pairs > 1) == several)
        facts += [_fastest(some)] if len(some) else []
    return facts


def _from_measurements(path: str, points: Points | None, measurements: Measurements) -> Headline:
    facts = _from_points(points) if points is not None else []
    limits = [
        record.summary.median
        for record in measurements.records
        if isinstance(record.configuration, Threshold) and record.configuration.path == path
    ]
    found = ", ".join(dict.fromkeys(format_size(limit) for limit in limits))
    if found:
        facts.append(Fact("Eager limit", Cell(found), "larger messages wait for their receiver"))
    return Headline(path, "as measured", tuple(facts))


def headlines(measurements: Measurements, machine: Machine | None) -> list[Headline]:
    """Return one headline for each path that was measured or that the machine knows."""
    points = collect(measurements)
    measured = dict.fromkeys(record.configuration.path for record in measurements.records)
    found = []
    known = [path for path in machine.paths if path != "any" or not measured] if machine else []
    for path in dict.fromkeys((*measured, *known)):
        segments = segments_on(machine, path)
        found.append(
            _from_model(path, segments) if segments else _from_measurements(path, points.get(path), measurements)
        )
    return found
