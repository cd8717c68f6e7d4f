"""Intervals that include the variation between launches. Main entry: `over_launches`.

A launch's own repetitions and sizes do not show how much launches differ: the interval of one holds for it alone. Of
several, each is fitted by itself, and Student's interval of these parameters, of their logarithms, is that of the next
launch's mean; the wider of both is kept. Of very many launches some are fitted, and the interval is that of so many.
"""

import math
from collections.abc import Callable, Sequence

import msgspec

from commmodel.errors import CommModelError
from commmodel.fit.trust import rounded
from commmodel.machine import Machine, Parameter, Segment
from commmodel.machine.parameters import MODELS
from commmodel.results import Measurements, launch_count, whole_launches
from commmodel.statistics import log_half_width

MOST_LAUNCHES = 100
"""Launches that are fitted by themselves, of more those with the most records: they tell a deviation to 7 %."""


def over_launches(machine: Machine, measurements: Measurements, fit_one: Callable[..., Sequence[Segment]]) -> Machine:
    """Return a machine whose intervals include the variation between launches, and their number.

    Parameters
    ----------
    machine : Machine
        Fitted to all launches.
    measurements : Measurements
        Those launches.
    fit_one : function
        From measurements of one launch, and limits or None, to its segments.
    """
    count = launch_count(measurements)
    if machine.origin is not None:
        machine = msgspec.structs.replace(machine, origin=msgspec.structs.replace(machine.origin, launches=count))
    if count < 2 or machine.confidence is None:
        return machine
    ends = {path: tuple(segment.limit.value for segment in machine.segments if segment.path == path and segment.limit)
            for path in machine.paths}  # fmt: skip
    limits = next(iter(ends.values())) if len(set(ends.values())) == 1 else None
    launches = whole_launches(measurements)
    if len(launches) > MOST_LAUNCHES:  # pooled records lie in few of them
        launches = tuple(sorted(launches, key=lambda launch: -len(launch.records))[:MOST_LAUNCHES])
    alone = []
    for launch in launches:
        try:
            alone.append(fit_one(Measurements((launch,)), limits))
        except CommModelError:  # it measured too little: what it has is in the fit of all
            continue
    widened = []
    for segment in machine.segments:
        like = [candidate for segments in alone for candidate in segments if _is_alike(candidate, segment)]
        changes = {
            name: _wider(model, [getattr(twin, name) for twin in like], machine.confidence)
            for name in MODELS
            if (model := getattr(segment, name)) is not None
        }
        widened.append(msgspec.structs.replace(segment, **changes))
    return msgspec.structs.replace(machine, segments=tuple(widened))


def _is_alike(segment: msgspec.Struct, other: msgspec.Struct) -> bool:
    """Whether two segments cover the same messages."""
    first, second = ((part.path, part.limit and part.limit.value, part.protocol) for part in (segment, other))  # type: ignore[attr-defined]
    return bool(first == second)


def _wider(model: msgspec.Struct, samples: Sequence[msgspec.Struct | None], confidence: float) -> msgspec.Struct:
    """Return a model with the wider of two intervals for each parameter: within a launch or between launches."""
    changes = {}
    for name in model.__struct_fields__:
        parameter = getattr(model, name)
        if isinstance(parameter, Parameter) and 0 < parameter.value < math.inf:
            values = [
                attribute.value
                for other in samples
                if other is not None and (attribute := getattr(other, name)) is not None
            ]
            if len(values) > 1 and all(0 < value < math.inf for value in values):
                factor = math.exp(min(log_half_width(values, confidence), 700.0))
                low, high = parameter.value / factor, parameter.value * factor
                changes[name] = msgspec.structs.replace(
                    parameter,
                    low=rounded(low if parameter.low is None else min(low, parameter.low)),
                    high=rounded(high if parameter.high is None else max(high, parameter.high)),
                )
    return msgspec.structs.replace(model, **changes)
