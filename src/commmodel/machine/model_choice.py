"""Choice of the model that applies to a protocol and a number of processes.

Main entries: `choose_model`, `recommended_model`.
Predictions, plots and choices all ask here, so that they never speak by different models.
"""

import math
from typing import NamedTuple

from commmodel.docstrings import with_attributes
from commmodel.errors import MissingParameterError
from commmodel.machine.description import Machine, Segment
from commmodel.machine.measured_times import MeasuredTimes
from commmodel.machine.parameters import Extended, LatencyAware, MaxRate, Postal

Model = Postal | MaxRate | Extended | LatencyAware

ONE_WAY = "one-way"
"""Name of the model of streams."""
MEASURED = "measured"
"""Name of what was measured, `MeasuredPairs.times`, where it speaks for itself."""
DESCRIBES = math.log(1.15)
"""Mean abs(ln(T_model / T)) up to which a model describes what was measured: the one rule, of trust and of choice."""
_AS_GOOD = 1.25  # mean errors whose ratio is at most this are alike
_RICHEST_FIRST = ("extended", "max-rate", "latency-aware", "postal")


@with_attributes
class ModelChoice(NamedTuple):
    """The model that applies to a segment and a number of processes."""

    name: str
    """Empty where the segment has none."""
    model: Model | MeasuredTimes | None = None
    measured_pairs: int | None = None
    """The measured number of pairs by which it was chosen; None where the machine does not tell what was measured."""
    error: float | None = None
    """Its mean abs(ln(T_model / T)) there."""


def two_way(segment: Segment) -> dict[str, Model]:
    """Return the ping-pong models of a segment by name, the simplest first."""
    models: dict[str, Model | None] = {
        "postal": segment.postal,
        "max-rate": segment.max_rate,
        "extended": segment.extended,
        "latency-aware": segment.latency_aware,
    }
    return {name: model for name, model in models.items() if model is not None}


def recommended_model(segment: Segment) -> str:
    """Return the name of the segment's recommended model; empty where it has none.

    The one that the fit recommends; where it recommends none, as in a file written by hand, the richest.

    >>> from commmodel.machine import Parameter
    >>> recommended_model(Segment("all", postal=Postal(Parameter(1e-6), Parameter(1e-9)), recommended="extended"))
    'postal'
    """
    models = two_way(segment)
    return next((name for name in (segment.recommended, *_RICHEST_FIRST) if name in models), "")


def model_of(segment: Segment, name: str) -> Model | None:
    """Return a model of a segment; None where it has no such model."""
    return segment.one_way if name == ONE_WAY else two_way(segment).get(name)


def knows_several(segment: Segment) -> bool:
    """Whether the segment's models were fitted to more than one number of pairs."""
    return any(getattr(model, "R_N", None) is not None for model in two_way(segment).values())


def seconds(model: Model | MeasuredTimes, message_size: float, processes: int, least: float = 0.0) -> float:
    """Return the time of a message by a model while `processes` of the node send one each.

    `least`: the least α that the node's message rate allows (`commmodel.machine.rates.message_time`).

    >>> from commmodel.machine import Parameter
    >>> seconds(MaxRate(Parameter(1e-6), Parameter(1e9), Parameter(2e9)), 1000, 4)
    3e-06
    """
    if isinstance(model, MeasuredTimes):
        return model.at(message_size)
    from commmodel.models import maxrate, postal

    alpha, formula = max(model.alpha.value, least), maxrate.time
    R_N = getattr(model, "R_N", None)
    node = math.inf if R_N is None else R_N.value
    match model:
        case Postal():
            return float(postal.time(message_size, model.alpha.value, model.beta.value))
        case Extended():
            rates = (model.R_Cb.value, model.R_Ci.value)
            return float(maxrate.extended_time(message_size, processes, alpha, node, *rates))
        case LatencyAware():
            formula = maxrate.latency_aware_time
        case MaxRate(overlap=overlap) if overlap.value:
            rates = node, model.R_C.value
            return float(maxrate.pipeline_time(message_size, processes, alpha, *rates, overlap.value))
    return float(formula(message_size, processes, alpha, node, model.R_C.value))


def message_seconds(machine: Machine, message_size: int, path: str) -> float:
    """Return the time of a message alone on its node, by the model that applies, else by LogGP; NaN without either.

    >>> from commmodel.machine import Parameter
    >>> segment = Segment("all", postal=Postal(Parameter(1e-6), Parameter(1e-9)))
    >>> round(message_seconds(Machine("m", (segment,)), 1000, "any"), 9)
    2e-06
    """
    from commmodel.models import loggp

    try:
        segment = machine.segment(message_size, path)
    except MissingParameterError:  # it ends at smaller messages
        return math.nan
    model, parameters = choose_model(segment, 1, message_size).model, segment.loggp
    if model is not None:
        return seconds(model, message_size, 1)
    if parameters is None or parameters.G is None:
        return math.nan
    return float(loggp.time(message_size, parameters.L.value, parameters.o.value, parameters.G.value))


def choose_model(segment: Segment, processes: int = 1, message_size: float | None = None) -> ModelChoice:
    """Return the model that applies to so many processes of a node that send at once.

    The recommended one, as long as it describes what was measured with so many pairs: a mean abs(ln(T_model / T)) of
    at most ln 1.15, or one at most a quarter above the best model's. Else the best there; where none describes it, the
    measured times themselves. What was measured with more processes comes before what was measured with fewer.
    The name is empty where the segment says nothing of so many processes.

    Parameters
    ----------
    segment : Segment
    processes : int
        k, ≥ 1.
    message_size : float, optional
        n, bytes, as a few sizes may have a regime of their own, for which their measured times stand; without it, the
        model of the other sizes.

    Examples
    --------
    >>> from commmodel.machine import MeasuredPairs, Parameter
    >>> alone = Postal(Parameter(1e-6), Parameter(1e-9))
    >>> shared = MaxRate(Parameter(1e-6), Parameter(1e9), Parameter(1e9))
    >>> errors = [{"postal": 0.01, "max-rate": 0.02}, {"postal": 0.69, "max-rate": 0.03}]
    >>> measured = [MeasuredPairs(pairs, (1, 4096), error) for pairs, error in zip((1, 2), errors)]
    >>> segment = Segment("all", postal=alone, max_rate=shared, recommended="postal", measured=tuple(measured))
    >>> [choose_model(segment, processes).name for processes in (1, 2, 3)]
    ['postal', 'max-rate', 'max-rate']
    """
    models: dict[str, Model | MeasuredTimes] = {**two_way(segment)}
    if processes > 1:
        if not knows_several(segment):  # ping-pongs of one pair say nothing about several
            models = {}
        if getattr(models.get("max-rate"), "R_N", None) is None:
            models.pop("max-rate", None)
    if not models:
        if segment.one_way is None or (processes > 1 and segment.one_way.R_N is None):
            return ModelChoice("")
        models = {ONE_WAY: segment.one_way}
    chosen = next(name for name in (segment.recommended, *_RICHEST_FIRST, ONE_WAY) if name in models)
    with_errors = {entry.pairs: entry for entry in segment.measured if entry.errors.keys() & models.keys()}
    if not with_errors:
        return ModelChoice(chosen, models[chosen])
    pairs = min((count for count in with_errors if count >= processes), default=max(with_errors))
    measured = with_errors[pairs]
    is_of_others = pairs != processes and bool(segment.message_rate)
    if (times := measured.speaking(message_size)) is not None and not is_of_others:
        return ModelChoice(MEASURED, times, pairs, 0.0)
    errors = {name: measured.errors[name] for name in models if name in measured.errors}
    if not errors:
        return ModelChoice(chosen, models[chosen], pairs)
    best = min(errors, key=lambda name: errors[name])
    if errors.get(chosen, math.inf) > max(DESCRIBES, _AS_GOOD * errors[best]):
        chosen = best
    return ModelChoice(chosen, models[chosen], pairs, errors.get(chosen))
