"""Headlines: latency, bandwidth and protocol limit of each path, and their trust.

A path that the machine knows is summed up by its model, another one by the measurements alone. Main entry:
`headlines`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from commmodel.fit.points import Points, collect, collect_streams
from commmodel.machine import Extended, Limit, LogGP, Machine, Parameter, Postal, Segment, recommended_model
from commmodel.machine.model_choice import MEASURED, Model, choose_model, model_of
from commmodel.machine.parameters import UNITS
from commmodel.machine.rates import bandwidth, duplex_factor, node_rate
from commmodel.report.kit.blocks import Fact
from commmodel.report.kit.cells import factor_cell, measured_cell, parameter_cell
from commmodel.report.kit.tables import Cell
from commmodel.report.machine.parameters import DUPLEX, STREAMS, limit_words, segments_on
from commmodel.results import Measurements
from commmodel.results.configurations import PointToPoint, Threshold
from commmodel.statistics import log_half_width
from commmodel.units import format_rate, format_size

_FOUND_BY = {
    "threshold": "larger messages wait for their receiver: a blocking send showed it",
    "user": "as told to the fit",
    "hand": "written by hand",
    "cache": "seen in the times, where messages outgrow a cache",
    "change-point": "seen in the times",
}
"""How a limit was found, the surest way first."""
_BY_MEASUREMENTS = " (predictions take the measured times)"


@dataclass(frozen=True)
class Headline:
    """The headline numbers of one path, and their sources."""

    path: str
    source: str
    facts: tuple[Fact, ...]
    answer: str = ""
    """The same in a sentence."""


def _pair_rate(model: Model) -> tuple[str, Parameter]:
    match model:
        case Postal():
            return "1/β", bandwidth(model.beta)
        case Extended():
            return "R_Cb", model.R_Cb
        case _:
            return "R_C", model.R_C


def _span(limit: Limit | None, below: Limit | None) -> str:
    """Return the message range of a segment as text; empty for all messages."""
    if limit is not None:
        return f" up to {format_size(limit.value)}"
    return f" above {format_size(below.value)}" if below is not None else ""


def _trust(segments: tuple[Segment, ...]) -> Fact:
    doubtful: list[str] = []
    unknown: list[str] = []
    trusted = 0
    below: Limit | None = None
    for segment in segments:
        place = f"{segment.protocol}{_span(segment.limit, below)}"
        below = segment.limit
        before = len(doubtful) + len(unknown)
        models: list[tuple[str, Model | LogGP | None]] = []
        if recommended_model(segment) or segment.one_way is None:
            models.append((place, model_of(segment, recommended_model(segment))))
        if segment.one_way is not None:
            models.append((f"{place} ({STREAMS})", segment.one_way))
        if choose_model(segment).name == MEASURED:
            models = []
            doubtful.append(f"{place}{_BY_MEASUREMENTS}")
        if segment.loggp is not None and segment.loggp.quality is not None:
            models.append((f"{place} (LogGP)", segment.loggp))
        for name, model in models:
            if model is None or model.quality is None:
                unknown.append(name)
            elif not model.quality.trusted:
                doubtful.append(name)
        trusted += len(doubtful) + len(unknown) == before
    share = f"{trusted} of {len(segments)} segment{'s' * (len(segments) > 1)}"
    if doubtful:
        places = ", ".join(dict.fromkeys(doubtful))
        return Fact("Trusted", Cell(share, style="" if trusted else "bad"), f"not {places}: see the remarks")
    if unknown:
        places = ", ".join(dict.fromkeys(unknown))
        return Fact("Trusted", Cell(share if trusted else "not known"), f"no fit is recorded for {places}")
    return Fact("Trusted", Cell(share, style="good"), "every fit passed its checks")


def _limits(segments: tuple[Segment, ...]) -> Fact:
    limits = [segment.limit for segment in segments if segment.limit is not None]
    if not limits:
        return Fact("Protocol limit", Cell("none"), "one protocol for all sizes")
    surest = min((limit.found_by for limit in limits), key=list(_FOUND_BY).index)
    chosen = [limit for limit in limits if limit.found_by == surest]
    changes = [
        words if words.startswith("between") else f"at {words}"
        for words in (limit_words(limit) for limit in limits if limit.found_by != surest)
    ]
    sizes = [format_size(limit.value) for limit in chosen]
    doubts = [limit_words(limit) for limit in chosen if limit_words(limit) != format_size(limit.value)]
    meaning = _FOUND_BY[surest] + (f"; the model also changes {' and '.join(changes)}" if changes else "")
    return Fact("Protocol limit", Cell(", ".join(sizes), ", ".join(doubts)), meaning)


def _shared(segments: Sequence[Segment]) -> Iterable[Fact]:
    """Yield the total rates of a node's pairs, both ways and one way, with the largest messages."""
    last = segments[-1]
    rate_both = node_rate(last)
    if rate_both is not None:
        meaning = f"R_N of {last.protocol}" + ("; both ways at once" if last.one_way else "")
        model = model_of(last, recommended_model(last))
        yield Fact(
            "All pairs of a node",
            parameter_cell(rate_both, UNITS["R_N"]),
            meaning,
            model is None or _is_doubtful(model),
        )
    elif model_of(last, recommended_model(last)) is not None:
        yield Fact("All pairs of a node", Cell("not known"), "one pair alone was measured")
    if last.one_way is not None and last.one_way.R_N is not None:
        rate = parameter_cell(last.one_way.R_N, UNITS["R_N"])
        meaning = f"R_N of {last.protocol}, of streams in one direction"
        yield Fact("All pairs, one way", rate, meaning, _is_doubtful(last.one_way))
    if (smallest := segments[0].message_rate_of(0)) is not None and smallest.M.is_limiting:
        meaning = f"the smallest, while {smallest.pairs} processes of a node send"
        yield Fact("Messages a second", parameter_cell(smallest.M, UNITS["M"]), meaning)
    if (factor := duplex_factor(last)) is not None:
        yield Fact("Duplex factor", factor_cell(factor), DUPLEX)


def _is_doubtful(model: Model) -> bool:
    return model.quality is not None and not model.quality.trusted


def _from_model(path: str, segments: tuple[Segment, ...], points: Points | None) -> Headline:
    facts = []
    modelled = [segment for segment in segments if recommended_model(segment)]
    spoken = [
        (segment.protocol, model) for segment in modelled if (model := model_of(segment, recommended_model(segment)))
    ]
    if spoken:
        (smallest, first), (largest, last) = spoken[0], spoken[-1]
        latency = parameter_cell(first.alpha, UNITS["alpha"])
        facts.append(Fact("Latency", latency, f"α of {smallest}, the smallest messages", _is_doubtful(first)))
        symbol, rate = _pair_rate(last)
        meaning = f"{symbol} of {largest}, the largest messages"
        facts.append(Fact("One pair", parameter_cell(rate, "B/s"), meaning, _is_doubtful(last)))
    if points is not None:
        facts += _fastest(points.where(points.pairs == 1), "pair", "Measured peak, one pair")
    shared = modelled or [segment for segment in segments if segment.one_way is not None]
    facts += _shared(shared) if shared else []
    limit, trust = _limits(segments), _trust(segments)
    changes = [segment.limit.value for segment in segments if segment.limit is not None]
    waits = [
        segment.limit.value
        for segment in segments
        if segment.limit is not None and segment.limit.found_by == "threshold"
    ]
    ends = (
        f"messages above {' and '.join(map(format_size, waits))} wait for their receiver"
        if waits
        else f"the model changes at {' and '.join(map(format_size, changes))}"
        if changes
        else ""
    )
    answer = f"{_sentence(path, facts, ends)} Trusted: {trust.cell.value}{_but(trust)}."
    return Headline(path, "from the model", (*facts, limit, trust), answer)


def _but(trust: Fact) -> str:
    """Return which segments are not trusted, in brackets; empty where all or none are."""
    places = trust.meaning.partition(":")[0].replace(_BY_MEASUREMENTS, "")
    return "" if trust.cell.style or not trust.cell.value[0].isdigit() else f" ({places})"


_SAID = {
    "Latency": "a small message takes {}",
    "Measured peak, one pair": "one pair moved up to {}",
    "One pair": "one pair moves {}",
    "All pairs of a node": "all pairs of a node {}",
    "Messages a second": "a node sends {} messages",
}
"""Label of a fact -> what a sentence says of it."""


def _sentence(path: str, facts: Iterable[Fact], ends: str = "") -> str:
    """Return a path's headline numbers as one sentence; doubtful ones are "about"."""
    values = {fact.label: fact for fact in facts if any(letter.isdigit() for letter in fact.cell.value)}
    if "One pair" in values:
        values.pop("Measured peak, one pair", None)
    parts = [
        words.format(f"{'about ' * values[label].is_doubtful}{values[label].cell.value}")
        for label, words in _SAID.items()
        if label in values
    ]
    words = "; ".join((*parts, *((ends,) if ends else ())))
    return f"{'' if path == 'any' else f'{path}: '}{words}." if words else ""


def _fastest(points: Points, kind: str, label: str = "") -> list[Fact]:
    """Return the highest measured rate; None without any."""
    timed = points.where((points.seconds > 0) & (points.message_size > 0))
    if not len(timed):
        return []
    rates = timed.pairs * timed.message_size / timed.seconds
    best = int(np.argmax(rates))
    pairs, size = int(timed.pairs[best]), format_size(int(timed.message_size[best]))
    label = label or (f"One {kind}" if pairs == 1 else f"{pairs} {kind}s together")
    return [Fact(label, Cell(format_rate(float(rates[best]))), f"fastest, with messages of {size}")]


def _from_points(points: Points) -> list[Fact]:
    smallest = int(np.argmin(points.message_size * (1 + points.pairs.max()) + points.pairs))
    size, pairs = int(points.message_size[smallest]), int(points.pairs[smallest])
    launches = points.where((points.message_size == size) & (points.pairs == pairs) & (points.seconds > 0))
    if len(launches) > 1:
        median, factor = float(np.exp(np.log(launches.seconds).mean())), np.exp(log_half_width(launches.seconds))
        latency = measured_cell(median, float(median / factor), float(median * factor), "s")
        meaning = f"median with messages of {format_size(size)}, mean and interval over {len(launches)} launches"
    else:
        latency = measured_cell(
            float(points.seconds[smallest]), float(points.low[smallest]), float(points.high[smallest]), "s"
        )
        meaning = f"median with messages of {format_size(size)}"
    facts = [Fact("Latency", latency, meaning)]
    for several in (False, True):
        facts += _fastest(points.where((points.pairs > 1) == several), "pair")
    return facts


def _from_measurements(
    path: str, points: Points | None, streams: Points | None, measurements: Measurements
) -> Headline:
    facts = _from_points(points) if points is not None else []
    facts += _fastest(streams, "stream") if streams is not None else []
    limits = [
        record.summary.median
        for record in measurements.records
        if isinstance(record.configuration, Threshold) and record.configuration.path == path
    ]
    sizes = ", ".join(dict.fromkeys(format_size(limit) for limit in limits))
    if sizes:
        facts.append(Fact("Eager limit", Cell(sizes), "larger messages wait for their receiver"))
    ends = f"messages above {sizes} wait for their receiver" if sizes else ""
    return Headline(path, "as measured", tuple(facts), _sentence(path, facts, ends))


def headlines(measurements: Measurements, machine: Machine | None) -> list[Headline]:
    """Return a headline for each path that is measured or in the machine."""
    points, streams = collect(measurements), collect_streams(measurements)
    configurations = (record.configuration for record in measurements.records)
    measured = dict.fromkeys(
        configuration.path for configuration in configurations if isinstance(configuration, PointToPoint)
    )
    modelled = [path for path in machine.paths if path != "any" or not measured] if machine else []
    lines = []
    for path in dict.fromkeys((*measured, *modelled)):
        segments = segments_on(machine, path)
        lines.append(
            _from_model(path, segments, points.get(path))
            if segments
            else _from_measurements(path, points.get(path), streams.get(path), measurements)
        )
    return lines
