"""How long an operation takes on a machine: a message while others send, a halo exchange.

Every prediction says beside it what a ping-pong of one pair would have promised. Source: Gropp, Olson and Samfass
2016, Sections 2 and 3. Main entries: `send` and `halo`.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from msgspec import Struct

from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import Extended, LatencyAware, Machine, MaxRate, Parameter, Postal, Segment
from commmodel.models import maxrate
from commmodel.models import postal as postal_model

__all__ = ["MODELS", "Prediction", "Seconds", "halo", "send"]

Model = Postal | MaxRate | Extended | LatencyAware


class Seconds(Struct, frozen=True):
    """A time with the interval in which it lies; the ends are None where no parameter has an interval."""

    seconds: float
    low: float | None = None
    high: float | None = None


class Prediction(Struct, frozen=True):
    """How long an operation takes, by one model and by the others."""

    time: Seconds
    model: str
    """Name of the model behind `time`."""
    models: dict[str, Seconds]
    """The same by every model whose parameters the segment has."""
    postal: Seconds
    """What a ping-pong of one pair promises for it."""
    aggregate_rate: float
    """Bytes per second that the processes of the node move together."""
    ratio: float
    """`time` over `postal`: how wrong the ping-pong is. NaN for 0 over 0."""
    protocol: str
    path: str


class _Kind(NamedTuple):
    """A model: where its parameters stand in a segment, and its time from one end of their intervals."""

    parameters: Callable[[Segment], Model | None]
    seconds: Callable[..., float]
    parameter_names: tuple[str, ...]
    """In the order of the formula's last arguments."""


def _postal_seconds(message_size: float, _processes: int, alpha: float, beta: float) -> float:
    seconds: float = postal_model.time(message_size, alpha, beta)
    return seconds


_KINDS = {
    "extended": _Kind(lambda segment: segment.extended, maxrate.extended_time, ("alpha", "R_N", "R_Cb", "R_Ci")),
    "max-rate": _Kind(lambda segment: segment.max_rate, maxrate.time, ("alpha", "R_N", "R_C")),
    "latency-aware": _Kind(lambda segment: segment.latency_aware, maxrate.latency_aware_time, ("alpha", "R_N", "R_C")),
    "one-way": _Kind(lambda segment: segment.one_way, maxrate.time, ("alpha", "R_N", "R_C")),
    "postal": _Kind(lambda segment: segment.postal, _postal_seconds, ("alpha", "beta")),
}
MODELS = tuple(_KINDS)
"""Names of the models, the richest first; the one-way model is that of streams."""


def _end(parameter: Parameter, slow: bool) -> float:
    """Return the end of a parameter's interval at which times are longest or shortest; its value without one."""
    is_rate = parameter.unit == "B/s"
    end = parameter.low if slow == is_rate else parameter.high
    return parameter.value if end is None else max(end, 0.0)


def _of_parameters(kind: _Kind, parameters: dict[str, Parameter], message_size: float, processes: int) -> Seconds:
    """Return the time, and its ends: times fall with every rate and grow with α and β, so the ends are at theirs."""

    def at(choose: Callable[[Parameter], float]) -> float:
        numbers = [choose(parameters[name]) for name in kind.parameter_names]
        try:
            return kind.seconds(message_size, processes, *numbers)
        except ZeroDivisionError:  # the interval of a rate begins at 0
            return math.inf if message_size else numbers[0]

    value = at(lambda parameter: parameter.value)
    if all(parameter.low is None and parameter.high is None for parameter in parameters.values()):
        return Seconds(value)
    return Seconds(value, at(partial(_end, slow=False)), at(partial(_end, slow=True)))


def _parameters(kind: _Kind, model: Model | None) -> dict[str, Parameter] | None:
    """Return a model's parameters by name; None where one is missing."""
    found = {name: getattr(model, name, None) for name in kind.parameter_names}
    known = {name: value for name, value in found.items() if isinstance(value, Parameter)}
    return known if len(known) == len(found) else None


def _with_unit(parameters: dict[str, Parameter]) -> dict[str, Parameter]:
    """Return parameters that know their unit, also where they were made without one."""
    units = {"alpha": "s", "beta": "s/B"}
    return {
        name: Parameter(parameter.value, units.get(name, "B/s"), parameter.low, parameter.high)
        for name, parameter in parameters.items()
    }


def _times(segment: Segment, message_size: float, processes: int) -> dict[str, Seconds]:
    """Return the time by every model that has all its parameters."""
    times = {}
    for name, kind in _KINDS.items():
        parameters = _parameters(kind, kind.parameters(segment))
        if parameters is not None:
            times[name] = _of_parameters(kind, _with_unit(parameters), message_size, processes)
    return times


def _lone(segment: Segment, message_size: float) -> Seconds | None:
    """Return what a ping-pong of one pair says: the postal model, or the richest there is, of one process."""
    times = _times(segment, message_size, 1)
    if times:
        return times.get("postal") or next(iter(times.values()))
    model = segment.max_rate  # without R_N: one number of pairs was measured
    if model is None:
        return None
    unlimited = _with_unit({"alpha": model.alpha, "R_C": model.R_C, "R_N": Parameter(math.inf)})
    return _of_parameters(_KINDS["max-rate"], unlimited, message_size, 1)


def _missing(machine: Machine, segment: Segment, what: str, kernel: str) -> MissingParameterError:
    return MissingParameterError(
        f"machine {machine.name!r}, segment {segment.protocol} ({segment.path}): {what}: "
        f"measure it with python -m commmodel.bench {kernel}, then fit"
    )


def _chosen(machine: Machine, segment: Segment, times: dict[str, Seconds], processes: int, model: str | None) -> str:
    """Return the model asked for, the recommended one, or the richest that can answer."""
    if model is not None:
        if model not in _KINDS:
            raise InputError(f"{model!r} is no model: choose one of {', '.join(_KINDS)}")
        if model not in times:
            kernel = "pingpong" if model == "postal" else "pairs on at least 4 ranks"
            raise _missing(machine, segment, f"the {model} model or a parameter of it is missing", kernel)
        return model
    knows_several = any(name != "postal" for name in times)
    if processes > 1 and not knows_several:
        what = f"R_N is missing, so it says nothing about {processes} processes at once (--model postal ignores that)"
        raise _missing(machine, segment, what, "pairs on at least 4 ranks")
    both_ways = any(name in times for name in ("extended", "max-rate", "latency-aware"))
    if processes > 1 and not both_ways:  # ping-pongs of one pair say nothing about several
        return "one-way"
    return segment.recommended if segment.recommended in times else next(iter(times))


def send(
    machine: Machine, message_size: float, processes: int = 1, path: str | None = None, model: str | None = None
) -> Prediction:
    """Return the time of one message while `processes` processes of the node send one each.

    Parameters
    ----------
    machine : Machine
        With the parameters of at least one model for the message size.
    message_size : float
        n, in bytes, ≥ 0.
    processes : int
        k, processes of the node that send at once, ≥ 1.
    path : str, optional
        ``between-nodes`` where the machine has it and nothing else is said.
    model : str, optional
        One of `MODELS`. Left out, it is the one that the fit recommends, else the richest with all its parameters.

    Returns
    -------
    Prediction
        Times in seconds. `low` and `high` are the times at the fastest and at the slowest ends of all parameters'
        intervals together: no combination within the intervals gives less or more.

    Raises
    ------
    MissingParameterError
        Where no model can answer; it names the kernel of the benchmark that provides what is missing.

    Notes
    -----
    Gropp, Olson and Samfass 2016, Eq 2 to 5.

    Examples
    --------
    >>> from commmodel.machine import load
    >>> predicted = send(load("blue-waters"), 1 << 20, 16)
    >>> predicted.model, round(predicted.time.seconds, 7)
    ('extended', 0.0030704)
    """
    return _predicted(machine, message_size, processes, path, model, messages=1)


def halo(
    machine: Machine,
    message_size: float,
    neighbours: int,
    processes: int = 1,
    path: str | None = None,
    model: str | None = None,
) -> Prediction:
    """Return the time in which each of `processes` processes of a node sends a message to each of its neighbours.

    Parameters
    ----------
    machine, message_size, processes, path, model
        As in `send`; n bytes go to each neighbour.
    neighbours : int
        E, processes on other nodes with which each process exchanges, ≥ 1.

    Returns
    -------
    Prediction
        Times in seconds: E times that of `send`. `aggregate_rate` counts what the processes of the node send.

    Notes
    -----
    Gropp, Olson and Samfass 2016, Sections 2 and 3.1. Queue search and link contention are not in it.

    Examples
    --------
    >>> from commmodel.machine import load
    >>> exchange = halo(load("blue-waters"), 16384, neighbours=6, processes=16)
    >>> round(exchange.ratio, 1)
    2.8
    """
    if neighbours < 1:
        raise InputError(f"a halo exchange with {neighbours} neighbours: there must be at least one")
    return _predicted(machine, message_size, processes, path, model, messages=neighbours)


def _predicted(
    machine: Machine, message_size: float, processes: int, path: str | None, model: str | None, messages: int
) -> Prediction:
    if processes < 1:
        raise InputError(f"{processes} processes: there must be at least one")
    segment = machine.segment(message_size, path)
    times = _times(segment, message_size, processes)
    lone = _lone(segment, message_size)
    if lone is None:
        raise _missing(machine, segment, "it has no model", "pingpong pairs")
    if not times and processes == 1 and model is None:
        times = {"postal": lone}  # max-rate of one number of pairs is the postal model
    chosen = _chosen(machine, segment, times, processes, model)
    scaled = {name: _times_over(time, messages) for name, time in times.items()}
    time, postal = scaled[chosen], _times_over(lone, messages)
    volume = processes * messages * message_size
    return Prediction(
        time=time,
        model=chosen,
        models=scaled,
        postal=postal,
        aggregate_rate=_quotient(volume, time.seconds),
        ratio=_quotient(time.seconds, postal.seconds),
        protocol=segment.protocol,
        path=segment.path,
    )


def _times_over(time: Seconds, messages: int) -> Seconds:
    if time.low is None or time.high is None:
        return Seconds(messages * time.seconds)
    return Seconds(messages * time.seconds, messages * time.low, messages * time.high)


def _quotient(above: float, below: float) -> float:
    if below:
        return above / below
    return math.inf if above else math.nan
