"""Predicted time of a message while others send, and of a halo exchange. Main entries: `send` and `halo`.

Every prediction says beside it what a ping-pong of one pair would have promised. Sources: Gropp, Olson and Samfass
2016, Sections 2 and 3; of several paths, queue search and link contention, Bienz, Gropp and Olson 2018; of LogGP, LogP
and pLogP, March 2009, Section 3.2.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from commmodel.arguments import finite, whole
from commmodel.errors import InputError, MissingParameterError, choice_of
from commmodel.machine import LogGP, Machine, MeasuredTimes, Parameter, Segment, choose_model
from commmodel.machine.model_choice import Model as SeveralModel
from commmodel.machine.parameters import UNITS
from commmodel.models import loggp, maxrate, nodeaware, postal
from commmodel.predict.costs import MODELS as COST_MODELS
from commmodel.predict.costs import check_machine, check_path, missing, plogp_table
from commmodel.predict.extrapolation import Reach, reach_of
from commmodel.predict.seconds import End, Seconds, at_ends, value_at, with_scatter
from commmodel.units import format_size, format_time
from commmodel.values import Value

Model = SeveralModel | LogGP


class Prediction(Value, Struct, frozen=True):
    """A predicted time, by one model and by the others."""

    time: Seconds
    model: str
    """Name of the model behind `time`; where paths have different ones, their names with `` + `` between them."""
    models: dict[str, Seconds]
    """The same by every model whose parameters the segment has, on each path."""
    postal: Seconds
    """The one-pair ping-pong time of it."""
    aggregate_rate: float
    """Bytes per second that the processes of the node move together."""
    ratio: float
    """`time` over `postal`: how wrong the ping-pong is. NaN for 0 over 0."""
    protocol: str
    path: str
    """Paths of a halo exchange over several, and their protocols, have `` + `` between them."""
    queue_search: Seconds | None = None
    """γ m², what of `time` is the search among received messages; None where the machine has no γ, and for `send`."""
    link_contention: Seconds | None = None
    """δ ℓ, what of `time` is contention on the busiest link; None where ℓ was not given."""
    extrapolates: tuple[str, ...] = ()
    """What lies beyond what was measured, a line each, as far as the machine tells what was."""
    is_bound: bool = False
    """Whether `time` is a bound: for more processes than were measured, where no limit of the node is known, it is the
    time in which the node moves as much as it did with the most that were. Its low end is that of a node without
    limit."""
    remarks: tuple[str, ...] = ()
    """How far the model is from what was measured with so many processes, where that is far; what was disturbed."""
    warnings: tuple[str, ...] = ()
    """What was wrong while the machine was measured."""


class _OnPath(NamedTuple):
    """One message on one path."""

    segment: Segment
    times: dict[str, Seconds]
    """By every model that can answer."""
    chosen: str
    """Name of the model to use."""
    lone: Seconds
    """The one-pair ping-pong time."""
    reach: Reach
    """What of it lies beyond what was measured."""


class _Kind(NamedTuple):
    """A model: where its parameters stand in a segment, and its time at the ends of their intervals."""

    parameters: Callable[[Segment], Model | None]
    seconds: Callable[..., float]
    parameter_names: tuple[str, ...]
    """In the order of the formula's last arguments."""


_KINDS = {
    "extended": _Kind(lambda segment: segment.extended, maxrate.extended_time, ("alpha", "R_N", "R_Cb", "R_Ci")),
    "max-rate": _Kind(lambda segment: segment.max_rate, maxrate.time, ("alpha", "R_N", "R_C")),
    "latency-aware": _Kind(lambda segment: segment.latency_aware, maxrate.latency_aware_time, ("alpha", "R_N", "R_C")),
    "one-way": _Kind(lambda segment: segment.one_way, maxrate.time, ("alpha", "R_N", "R_C")),
    "postal": _Kind(
        lambda segment: segment.postal, lambda size, _, *fitted: postal.time(size, *fitted), ("alpha", "beta")
    ),
    "loggp": _Kind(lambda segment: segment.loggp, lambda size, _, *fitted: loggp.time(size, *fitted), ("L", "o", "G")),
    "logp": _Kind(lambda segment: segment.loggp, lambda _size, _, *fitted: loggp.logp_time(*fitted), ("L", "o")),
}
_ENDS: tuple[End, ...] = ("value", "low", "high")
MODELS = (*(name for name in _KINDS if name not in COST_MODELS), *COST_MODELS)
"""Names of the models, the richest first; the one-way model is that of streams, the last three are those of trains."""
_FALLS = 1.05
"""Times as long as a larger message: worth a word."""
_KERNELS = {"postal": "pingpong", "plogp": "plogp", "loggp": "loggp", "logp": "loggp"}
"""Model -> kernel that provides its parameters, where it is not that of several pairs."""


def _of_parameters(kind: _Kind, parameters: dict[str, Parameter], message_size: float, processes: int) -> Seconds:
    """Return the time and its interval: times fall with rates and grow with α and β."""

    def at(end: End) -> float:
        numbers = [value_at(parameters[name], end) for name in kind.parameter_names]
        try:
            return kind.seconds(message_size, processes, *numbers)
        except ZeroDivisionError:  # the interval of a rate begins at 0
            return math.inf if message_size else numbers[0]

    return at_ends(at, *parameters.values())


def _parameters(kind: _Kind, model: Model | None) -> dict[str, Parameter] | None:
    """Return a model's parameters by name; None where one is missing."""
    values = {name: getattr(model, name, None) for name in kind.parameter_names}
    parameters = {name: value for name, value in values.items() if isinstance(value, Parameter)}
    return parameters if len(parameters) == len(values) else None


def _with_unit(parameters: dict[str, Parameter]) -> dict[str, Parameter]:
    """Return the parameters with their units."""
    return {
        name: Parameter(parameter.value, UNITS[name], parameter.low, parameter.high)
        for name, parameter in parameters.items()
    }


def _by_table(machine: Machine, path: str, message_size: float) -> Seconds:
    """Return L + g(m) of the path's table, with its interval where the table has one."""
    tables = (plogp_table(machine, path, end) for end in _ENDS)
    value, low, high = (
        float(loggp.plogp_time(table.L.value, float(table.at("g", message_size))))
        for table in tables
        if table is not None
    )
    return Seconds(value) if low == value == high else Seconds(value, low, high)


def _times(machine: Machine, segment: Segment, message_size: float, processes: int) -> dict[str, Seconds]:
    """Return the time by every model that has all its parameters."""
    times = {}
    for name, kind in _KINDS.items():
        fitted = kind.parameters(segment)
        parameters = _parameters(kind, fitted)
        if parameters is not None:
            time = _of_parameters(kind, _with_unit(parameters), message_size, processes)
            times[name] = with_scatter(time, _scatter(fitted), machine.confidence)
    if plogp_table(machine, segment.path) is not None:
        times["plogp"] = _by_table(machine, segment.path, message_size)
    chosen = choose_model(segment, processes, message_size)
    measured = (
        {chosen.name: _as_measured(chosen.model, message_size)} if isinstance(chosen.model, MeasuredTimes) else {}
    )
    return measured | {name: times[name] for name in MODELS if name in times}


def _as_measured(table: MeasuredTimes, message_size: float) -> Seconds:
    if table.low is None or table.high is None:
        return Seconds(table.at(message_size))
    return Seconds(table.at(message_size), table.at(message_size, "low"), table.at(message_size, "high"))


def _lone(machine: Machine, segment: Segment, message_size: float) -> Seconds | None:
    """Return the prediction from one pair: the postal model, else the richest of one process, LogGP last."""
    times = _times(machine, segment, message_size, 1)
    of_ping_pongs = {name: time for name, time in times.items() if name not in COST_MODELS}
    if of_ping_pongs:
        return of_ping_pongs.get("postal") or next(iter(of_ping_pongs.values()))
    model = segment.max_rate  # without R_N: one number of pairs was measured
    if model is None:
        return next(iter(times.values()), None)
    unlimited = _with_unit({"alpha": model.alpha, "R_C": model.R_C, "R_N": Parameter(math.inf)})
    time = _of_parameters(_KINDS["max-rate"], unlimited, message_size, 1)
    return with_scatter(time, _scatter(model), machine.confidence)


def _scatter(model: Model | None) -> float:
    return model.quality.scatter if model is not None and model.quality is not None else 0.0


def _chosen(
    machine: Machine,
    segment: Segment,
    times: dict[str, Seconds],
    message_size: float,
    processes: int,
    model: str | None,
) -> str:
    """Return the given model, or the recommended one; LogP only where it is given."""
    if model is not None:
        if model not in MODELS:
            raise InputError(f"{model!r} is no model: {choice_of(model, MODELS)}")
        if model not in times:
            problem = f"the {model} model or a parameter of it is missing"
            raise missing(machine, segment, problem, _KERNELS.get(model, "pairs on at least 4 ranks"))
        return model
    able = [name for name in times if name != "logp"]
    speaking = choose_model(segment, processes, message_size).name
    if speaking in able:
        return speaking
    if processes > 1:
        ignoring = able[0] if able else "postal"
        problem = (
            f"R_N is missing, so it says nothing about {processes} processes at once (--model {ignoring} ignores that)"
        )
        raise missing(machine, segment, problem, "pairs on at least 4 ranks")
    if not able:
        raise missing(machine, segment, "LogGP's G is missing (--model logp leaves a byte's time out)", "loggp")
    return able[0]


def send(
    machine: Machine, message_size: float, *, processes: int = 1, path: str | None = None, model: str | None = None
) -> Prediction:
    """Return the time of one message while `processes` processes of the node send one each.

    Gropp, Olson and Samfass 2016, Eq 2 to 5. March 2009, Section 3.2: LogGP's T = L + 2 o + (m − 1) G; LogP's, with
    G = 0, only where it is asked for; pLogP's T = L + g(m).

    Parameters
    ----------
    machine : Machine
        With the parameters of at least one model for the message size.
    message_size : float
        n, a whole number of bytes, ≥ 0.
    processes : int
        k, processes of the node that send at once, ≥ 1.
    path : str, optional
        ``between-nodes`` where the machine has it and nothing else is said.
    model : str, optional
        One of `MODELS`. Left out, it is the one that speaks for so many processes (`commmodel.machine.choose_model`).

    Returns
    -------
    Prediction
        Times in seconds. `low` and `high` are the times at the fastest and at the slowest ends of all parameters'
        intervals together, and beyond these what measured times scatter around the model: a single size lies further
        from it than the parameters are uncertain.

    Raises
    ------
    InputError
        Where a number is no whole one, or too small.
    MissingParameterError
        Where no model can answer; it names the kernel of the benchmark that provides what is missing.

    Examples
    --------
    >>> from commmodel.machine import load
    >>> predicted = send(load("blue-waters"), 1 << 20, processes=16)
    >>> predicted.model, round(predicted.time.seconds, 7)
    ('extended', 0.0030704)
    """
    return _predicted(machine, message_size, {path or "": 1}, processes, model)


def halo(
    machine: Machine,
    message_size: float,
    neighbours: int | Mapping[str, int],
    *,
    processes: int = 1,
    path: str | None = None,
    model: str | None = None,
    link_volume: float | None = None,
) -> Prediction:
    """Return the time in which each of `processes` processes of a node sends a message to each of its neighbours.

    Gropp, Olson and Samfass 2016, Sections 2 and 3.1; Bienz, Gropp and Olson 2018 (`commmodel.models.nodeaware`). The
    ping-pong's promise has neither queue search nor link contention in it.

    Parameters
    ----------
    machine, message_size, processes, path, model
        As in `send`; n bytes go to each neighbour, and k processes send on each path.
    neighbours : int or mapping
        E, processes with which each process exchanges, ≥ 1: all on `path`, or path -> number.
    link_volume : float, optional
        ℓ, bytes on the busiest link of the network, ≥ 0, for machines with a `link_contention`. Without it, contention
        on links is left out.

    Returns
    -------
    Prediction
        Times in seconds: Σ E T + γ m² + δ ℓ, with T of `send` on each path, and the m = Σ E messages that a process
        receives; γ m² where the machine has a `queue_search`. `aggregate_rate` counts what the processes of the node
        send.

    Raises
    ------
    MissingParameterError
        As in `send`; also where `link_volume` is given and the machine has no `link_contention`.

    Examples
    --------
    >>> from commmodel.machine import load
    >>> exchange = halo(load("blue-waters"), 16384, neighbours=6, processes=16)
    >>> round(exchange.ratio, 1)
    2.8
    >>> known = load("blue-waters-node-aware")
    >>> mixed = halo(known, 16384, {"between-nodes": 4, "same-node": 2}, processes=16, link_volume=1 << 20)
    >>> [round(1e6 * part.seconds, 1) for part in (mixed.time, mixed.queue_search, mixed.link_contention)]
    [296.3, 0.3, 103.8]
    """
    check_machine(machine)
    counts = neighbours if isinstance(neighbours, Mapping) else {path or "": neighbours}
    if isinstance(neighbours, Mapping) and path is not None:
        raise InputError(f"path {path!r} and per-path neighbours exclude each other: name every path in neighbours")
    if not counts:
        raise InputError("a halo exchange with no neighbours: there must be at least one")
    counts = {name: whole("neighbours", count) for name, count in counts.items()}
    for name, count in counts.items():
        if count < 1:
            where = f" on path {name!r}" if name else ""
            raise InputError(f"a halo exchange with {count} neighbours{where}: there must be at least one")
    beside = _beside(machine, sum(counts.values()), link_volume)
    return _predicted(machine, message_size, counts, processes, model, *beside)


def _beside(machine: Machine, messages: int, link_volume: float | None) -> tuple[Seconds | None, Seconds | None]:
    """Return the time of queue search and link contention; None where parameters are missing or not needed."""
    gamma, delta = machine.queue_search, machine.link_contention
    if link_volume is None:
        delta = None
    elif finite("link_volume", link_volume) < 0:
        raise InputError(f"{link_volume} bytes on the busiest link: a volume must be finite and not negative")
    elif delta is None:
        raise MissingParameterError(
            f"machine {machine.name!r} has no link_contention: add it to the machine file, or leave the link volume out"
        )

    def term(formula: Callable[[float, float], float], amount: float, parameter: Parameter) -> Seconds:
        return at_ends(lambda end: formula(amount, value_at(parameter, end)), parameter)

    return (
        term(nodeaware.queue_search_time, messages, gamma) if gamma is not None else None,
        term(nodeaware.link_contention_time, link_volume or 0, delta) if delta is not None else None,
    )


def _on_path(machine: Machine, message_size: float, processes: int, path: str, model: str | None) -> _OnPath:
    check_path(machine, path)
    segment = machine.segment(message_size, path)
    times = _times(machine, segment, message_size, processes)
    lone = _lone(machine, segment, message_size)
    if lone is None:
        raise missing(machine, segment, "it has no model", "pingpong pairs")
    if times.keys() <= set(COST_MODELS) and segment.max_rate is not None and processes == 1 and model is None:
        times = {"postal": lone} | times  # max-rate of one number of pairs is the postal model
    chosen = _chosen(machine, segment, times, message_size, processes, model)
    reach = reach_of(machine, segment, message_size, processes, chosen, bounds=model is None)
    if reach.most_pairs is not None:  # the node's limit is not known: a bound
        slow = _times(machine, segment, message_size, reach.most_pairs)[chosen]
        bound = _times_over(slow, processes / reach.most_pairs)
        time = times[chosen]
        fast = time.seconds if time.low is None else time.low
        high = bound.seconds if bound.high is None else bound.high
        times[chosen] = Seconds(bound.seconds, min(fast, bound.seconds), high)
    if model is None and (falls := _falls(machine, segment.path, message_size, processes, times[chosen].seconds)):
        reach = reach._replace(remarks=(*reach.remarks, falls))
    return _OnPath(segment, times, chosen, lone, reach)


def _falls(machine: Machine, path: str, message_size: float, processes: int, time: float) -> str:
    """Return a line where a larger message that was measured is predicted to take less; empty where none is."""
    sizes = {size for segment in machine.segments if segment.path == path for entry in segment.measured
             for size in (*entry.sizes, *(entry.times.sizes if entry.times is not None else ()))
             if size > message_size}  # fmt: skip
    for size in sorted(sizes):
        segment = machine.segment(size, path)
        larger = _times(machine, segment, size, processes).get(choose_model(segment, processes, size).name)
        if larger is not None and time > _FALLS * larger.seconds:
            return f"{format_size(size)} is predicted to take less, {format_time(larger.seconds)}: measure both again"
    return ""


def _predicted(
    machine: Machine,
    message_size: float,
    messages: Mapping[str, int],
    processes: int,
    model: str | None,
    queue_search: Seconds | None = None,
    link_contention: Seconds | None = None,
) -> Prediction:
    """Return the prediction of the messages on each path, plus what is added to all models.

    The path of name "" is the one that `Machine.segment` takes where none is said.
    """
    check_machine(machine)
    message_size, processes = whole("message_size", message_size), whole("processes", processes)
    if processes < 1:
        raise InputError(f"{processes} processes: there must be at least one")
    parts = [_on_path(machine, message_size, processes, path, model) for path in messages]
    beside = [term for term in (queue_search, link_contention) if term is not None]

    def total(times: Iterable[Seconds]) -> Seconds:
        return _sum(*map(_times_over, times, messages.values()))

    time = _sum(total(part.times[part.chosen] for part in parts), *beside)
    lone = total(part.lone for part in parts)
    common = [name for name in MODELS if all(name in part.times for part in parts)]
    models = {name: _sum(total(part.times[name] for part in parts), *beside) for name in common}
    chosen = _joined(part.chosen for part in parts)
    return Prediction(
        time=time,
        model=chosen,
        models=models | {chosen: time},
        postal=lone,
        aggregate_rate=_quotient(processes * sum(messages.values()) * message_size, time.seconds),
        ratio=_quotient(time.seconds, lone.seconds),
        protocol=_joined(part.segment.protocol for part in parts),
        path=_joined(part.segment.path for part in parts),
        queue_search=queue_search,
        link_contention=link_contention,
        extrapolates=tuple(dict.fromkeys(line for part in parts for line in part.reach.lines)),
        is_bound=any(part.reach.most_pairs is not None for part in parts),
        remarks=tuple(dict.fromkeys(remark for part in parts for remark in part.reach.remarks)),
        warnings=machine.warnings,
    )


def _joined(names: Iterable[str]) -> str:
    return " + ".join(dict.fromkeys(names))


def _times_over(time: Seconds, messages: float) -> Seconds:
    if time.low is None or time.high is None:
        return Seconds(messages * time.seconds)
    return Seconds(messages * time.seconds, messages * time.low, messages * time.high)


def _sum(*times: Seconds) -> Seconds:
    """Return a sum of times, with an interval where one of them has one."""
    value = sum(time.seconds for time in times)
    if all(time.low is None and time.high is None for time in times):
        return Seconds(value)
    low = sum(time.seconds if time.low is None else time.low for time in times)
    high = sum(time.seconds if time.high is None else time.high for time in times)
    return Seconds(value, low, high)


def _quotient(above: float, below: float) -> float:
    if below:
        return above / below
    return math.inf if above else math.nan
