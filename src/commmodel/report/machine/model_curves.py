"""Model curves: predictions of a protocol segment with bounds, over its sizes.

A segment fitted to one pair alone says nothing of several pairs: it has no line for them. Only where the postal
model is asked for by its name is it taken for any number of pairs, to show what that costs (Gropp 2016, Figure 2).
Main entries: `prediction`, `lines` and `limits`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from commmodel.machine import Extended, LatencyAware, MaxRate, MeasuredTimes, Parameter, Postal, Segment, choose_model
from commmodel.machine.model_choice import ONE_WAY, Model, model_of
from commmodel.machine.rates import bandwidth, message_time
from commmodel.models import Formula, maxrate

RECOMMENDED = "recommended"
"""Stands for the model that each segment recommends."""

Floats = NDArray[np.float64]
_POINTS_PER_OCTAVE = 6
_SLOWEST = 1.0  # bytes per second; an interval that reaches down to no rate at all is drawn to here
_FASTEST = 1e-3  # of the model's time; an interval that reaches down to no time at all is drawn to here
_End = Literal["low", "value", "high"]


@dataclass(frozen=True)
class Line:
    """The times of a segment over sizes, in bytes and seconds; `fast` and `slow` are absent without intervals."""

    message_size: Floats
    seconds: Floats
    fast: Floats | None
    slow: Floats | None


def _model(segment: Segment, name: str, pairs: int, size: float) -> Model | MeasuredTimes | None:
    """Return the model for a number of pairs and a size."""
    if name == RECOMMENDED:
        chosen = choose_model(segment, pairs, size)
        return None if chosen.name == ONE_WAY else chosen.model
    model = model_of(segment, name)
    return None if isinstance(model, MaxRate) and model.R_N is None and pairs > 1 else model


def _pieces(
    segment: Segment, name: str, pairs: int, sizes: Floats
) -> Iterator[tuple[Model | MeasuredTimes | None, Floats]]:
    """Yield each model that applies to neighbouring sizes, with these."""
    models = [_model(segment, name, pairs, float(size)) for size in sizes]
    for _, places in groupby(range(sizes.size), lambda place: id(models[place])):
        chosen = list(places)
        yield models[chosen[0]], sizes[chosen]


def _end(parameter: Parameter, end: _End, least: float) -> float:
    value: float | None = getattr(parameter, end)
    return max(parameter.value if value is None else value, least)


def _times(
    segment: Segment, model: Model | MeasuredTimes, sizes: Floats, pairs: int, latency: _End, rate: _End
) -> Floats:
    """Return the times of a model of a segment with its parameters at the given ends of their intervals."""
    if isinstance(model, MeasuredTimes):
        end: Literal["seconds", "low", "high"] = "seconds" if latency == "value" else latency
        return np.array([model.at(float(size), end) for size in sizes])
    alpha = _end(model.alpha, latency, 0.0)
    node = getattr(model, "R_N", None)
    R_N = math.inf if node is None else _end(node, rate, _SLOWEST)
    formula: Formula[...] = maxrate.time
    match model:
        case Postal():
            rates = [_end(bandwidth(model.beta), rate, _SLOWEST)]
        case Extended():
            formula = maxrate.extended_time
            rates = [_end(model.R_Cb, rate, _SLOWEST), _end(model.R_Ci, rate, 0.0) if pairs > 1 else 0.0]
        case LatencyAware():
            formula = maxrate.latency_aware_time
            rates = [_end(model.R_C, rate, _SLOWEST)]
        case MaxRate():
            formula = maxrate.pipeline_time
            rates = [_end(model.R_C, rate, _SLOWEST), min(model.overlap.value, alpha)]
    # one by one: a few hundred plain calls are done long before numba would be loaded
    least = [0.0 if isinstance(model, Postal) else message_time(segment, size, pairs, latency) for size in sizes]
    return np.array(
        [
            formula(float(size), pairs, max(alpha, no_less), R_N, *rates)
            for size, no_less in zip(sizes, least, strict=True)
        ]
    )


def _has_interval(model: Model | MeasuredTimes) -> bool:
    if isinstance(model, MeasuredTimes):
        return model.low is not None
    parameters = (getattr(model, name) for name in model.__struct_fields__)
    return any(
        isinstance(parameter, Parameter) and (parameter.low is not None or parameter.high is not None)
        for parameter in parameters
    )


def limits(segments: Sequence[Segment]) -> list[int]:
    """Return the largest size of each segment that has one."""
    return [segment.limit.value for segment in segments if segment.limit is not None]


def prediction(
    segments: Sequence[Segment], sizes: Floats, pairs: int, model: str = RECOMMENDED, *, tables: bool = True
) -> Floats:
    """Return the time of a model for each size; nan where it does not apply, or, without tables, is measured times."""
    times = np.full(sizes.shape, math.nan)
    left = np.ones(sizes.shape, dtype=bool)
    for segment in segments:
        inside = left & (sizes <= (math.inf if segment.limit is None else segment.limit.value))
        for place in np.flatnonzero(inside):
            chosen = _model(segment, model, pairs, float(sizes[place]))
            if chosen is not None and (tables or not isinstance(chosen, MeasuredTimes)):
                times[place] = _times(segment, chosen, sizes[[place]], pairs, "value", "value")[0]
        left &= ~inside
    return times


def _line(segment: Segment, model: Model | MeasuredTimes, sizes: Floats, pairs: int) -> Line:
    seconds = _times(segment, model, sizes, pairs, "value", "value")
    if not _has_interval(model):
        return Line(sizes, seconds, None, None)
    fast = np.maximum(_times(segment, model, sizes, pairs, "low", "high"), _FASTEST * seconds)
    return Line(sizes, seconds, fast, _times(segment, model, sizes, pairs, "high", "low"))


def lines(
    segments: Sequence[Segment], smallest: float, largest: float, pairs: int, model: str = RECOMMENDED
) -> list[Line]:
    """Return a curve for each segment between `smallest` and `largest`, both above 0.

    The band between `fast` and `slow` has every parameter at an end of its interval.
    """
    drawn = []
    begin = smallest
    for segment in segments:
        end = largest if segment.limit is None else min(largest, segment.limit.value)
        if end >= begin:
            count = max(2, round(_POINTS_PER_OCTAVE * math.log2(end / begin)) + 1)
            pieces = _pieces(segment, model, pairs, np.geomspace(begin, end, count))
            curves = [_line(segment, chosen, part, pairs) for chosen, part in pieces if chosen is not None]
            drawn += [line for line in curves if (line.seconds > 0).all()]  # one without cost has no place in plots
            begin = end + 1  # sizes are whole bytes: the next protocol begins there
    return drawn
