"""Predicted time of a message while others send, and of a halo exchange. Main entries: `send` and `halo`.

Every prediction says beside it what a ping-pong of one pair would have promised. Sources: Gropp, Olson and Samfass
2016, Sections 2 and 3; of several paths, queue search and link contention, Bienz, Gropp and Olson 2018; of LogGP, LogP
and pLogP, March 2009, Section 3.2.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple, overload

import numpy as np
from msgspec import Struct

from commmodel.arguments import Numbers, broadcast, finite, several, whole
from commmodel.choices import MessageModel
from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import Machine, Parameter, Segment, choose_model
from commmodel.models import Formula, nodeaware
from commmodel.predict.arrays import ByModel, Predictions, alike, gathered
from commmodel.predict.costs import MODELS as COST_MODELS
from commmodel.predict.costs import check_path, missing
from commmodel.predict.extrapolation import Reach, reach_of
from commmodel.predict.message_times import MODELS, Sends, are_arrays, lone_time, times_by_model
from commmodel.predict.seconds import Seconds, at_ends, elementwise, value_at
from commmodel.signatures import checked
from commmodel.units import format_size, format_time
from commmodel.values import Value


class Prediction(ByModel, Value, Struct, frozen=True):
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
    """By every model that can answer; of arrays by the chosen one."""
    chosen: str
    """Name of the model to use."""
    lone: Seconds
    """The one-pair ping-pong time."""
    reach: Reach
    """What of it lies beyond what was measured."""


_FROM_ZERO = {"message_size", "link_volume"}
_FALLS = 1.05
"""Times as long as a larger message: worth a word."""
_KERNELS = {"postal": "pingpong", "plogp": "plogp", "loggp": "loggp", "logp": "loggp"}
"""Model -> kernel that provides its parameters, where it is not that of several pairs."""


def _chosen(
    machine: Machine, segment: Segment, names: Collection[str], points: Sends, model: MessageModel | None
) -> str:
    """Return the given model, or the recommended one; LogP only where it is given."""
    message_size, processes = points.example
    if model is not None:
        if model not in names:
            problem = f"the {model} model or a parameter of it is missing"
            raise missing(machine, segment, problem, _KERNELS.get(model, "pairs on at least 4 ranks"))
        return model
    able = [name for name in names if name != "logp"]
    speaking = choose_model(segment, processes, message_size).name
    if speaking in able:
        return speaking
    if processes > 1:
        ignoring = able[0] if able else "postal"
        problem = (
            f"R_N is missing, so it says nothing about {processes} processes at once (`model` {ignoring} ignores that)"
        )
        raise missing(machine, segment, problem, "pairs on at least 4 ranks")
    if not able:
        raise missing(machine, segment, "LogGP's G is missing (`model` logp leaves a byte's time out)", "loggp")
    return able[0]


@overload
def send(  # type: ignore[overload-overlap]  # numbers alone: no arrays
    machine: Machine,
    message_size: float,
    *,
    processes: int = 1,
    path: str | None = None,
    model: MessageModel | None = None,
) -> Prediction: ...
@overload
def send(
    machine: Machine,
    message_size: float | Numbers,
    *,
    processes: int | Numbers = 1,
    path: str | None = None,
    model: MessageModel | None = None,
) -> Predictions: ...
@checked
def send(
    machine: Machine,
    message_size: Any,
    *,
    processes: Any = 1,
    path: str | None = None,
    model: MessageModel | None = None,
) -> Prediction | Predictions:
    """Return the time of one message while `processes` processes of the node send one each.

    Gropp, Olson and Samfass 2016, Eq 2 to 5. March 2009, Section 3.2: LogGP's T = L + 2 o + (m − 1) G; LogP's, with
    G = 0, only where it is asked for; pLogP's T = L + g(m).

    Parameters
    ----------
    machine : Machine
        With the parameters of at least one model for the message size.
    message_size : float or array_like
        n, a whole number of bytes, ≥ 0.
    processes : int or array_like
        k, processes of the node that send at once, ≥ 1.
    path : str, optional
        ``between-nodes`` where the machine has it and nothing else is said.
    model : str, optional
        One of `MODELS`. Left out, it is the one that speaks for so many processes (`commmodel.machine.choose_model`).

    Returns
    -------
    Prediction or Predictions
        Times in seconds; of arrays, which broadcast, arrays. `low` and `high` are the times at the fastest and at the
        slowest ends of all parameters' intervals together, and beyond these what measured times scatter around the
        model: a single size lies further from it than the parameters are uncertain.

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

    Many at once:

    >>> send(load("blue-waters"), [1024, 1 << 20], processes=16).time.seconds.round(7)
    array([1.7200e-05, 3.0704e-03])
    """
    return _answer(machine, {"message_size": message_size, "processes": processes}, {"": path or ""}, model)


@overload
def halo(  # type: ignore[overload-overlap]  # numbers alone: no arrays
    machine: Machine,
    message_size: float,
    neighbours: int | Mapping[str, int],
    *,
    processes: int = 1,
    path: str | None = None,
    model: MessageModel | None = None,
    link_volume: float | None = None,
) -> Prediction: ...
@overload
def halo(
    machine: Machine,
    message_size: float | Numbers,
    neighbours: int | Numbers | Mapping[str, int | Numbers],
    *,
    processes: int | Numbers = 1,
    path: str | None = None,
    model: MessageModel | None = None,
    link_volume: float | Numbers | None = None,
) -> Predictions: ...
@checked
def halo(
    machine: Machine,
    message_size: Any,
    neighbours: Any,
    *,
    processes: Any = 1,
    path: str | None = None,
    model: MessageModel | None = None,
    link_volume: Any = None,
) -> Prediction | Predictions:
    """Return the time in which each of `processes` processes of a node sends a message to each of its neighbours.

    Gropp, Olson and Samfass 2016, Sections 2 and 3.1; Bienz, Gropp and Olson 2018 (`commmodel.models.nodeaware`). The
    ping-pong's promise has neither queue search nor link contention in it.

    Parameters
    ----------
    machine, message_size, processes, path, model
        As in `send`; n bytes go to each neighbour, and k processes send on each path.
    neighbours : int, array_like or mapping
        E, processes with which each process exchanges, ≥ 1: all on `path`, or path -> number.
    link_volume : float or array_like, optional
        ℓ, bytes on the busiest link of the network, ≥ 0, for machines with a `link_contention`. Without it, contention
        on links is left out.

    Returns
    -------
    Prediction or Predictions
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
    per_path = neighbours if isinstance(neighbours, Mapping) else None
    if per_path is not None and path is not None:
        raise InputError(f"path {path!r} and per-path neighbours exclude each other: name every path in neighbours")
    if per_path is not None and not per_path:
        raise InputError("a halo exchange with no neighbours: there must be at least one")
    if link_volume is not None and machine.link_contention is None:
        raise MissingParameterError(
            f"machine {machine.name!r} has no link_contention: add it to the machine file, or leave the link volume out"
        )
    paths = {"neighbours": path or ""} if per_path is None else {f"neighbours {name}": name for name in per_path}
    counts = [neighbours] if per_path is None else per_path.values()
    arguments = {"message_size": message_size, "processes": processes, **dict(zip(paths, counts, strict=True))}
    return _answer(machine, arguments | ({} if link_volume is None else {"link_volume": link_volume}), paths, model)


def _answer(
    machine: Machine, arguments: Mapping[str, Any], paths: Mapping[str, str], model: MessageModel | None
) -> Prediction | Predictions:
    """Return the prediction for the given numbers, or the predictions for arrays of them.

    `paths`: name of the number of messages -> path; the path "" is what `Machine.segment` takes where none is said.
    """
    arguments = {
        name: several(finite if name == "link_volume" else whole, name, number, int(name not in _FROM_ZERO))
        for name, number in arguments.items()
    }
    if not any(map(are_arrays, arguments.values())):
        return _predicted(machine, arguments, paths, model)
    arguments, flat = broadcast(arguments)
    cells = [
        (places, _predicted(machine, {name: column[places] for name, column in flat.items()}, paths, model))
        for places in alike(machine, flat["message_size"], flat["processes"])
    ]
    return gathered(arguments, cells, machine.warnings)


def _beside(machine: Machine, messages: Any, link_volume: Any) -> list[Seconds | None]:
    """Return the time of queue search and link contention; None where parameters are missing or not needed."""

    def term(formula: Formula[...], amount: Any, parameter: Parameter | None) -> Seconds | None:
        if parameter is None or amount is None:
            return None
        return at_ends(lambda end: formula.python(amount, value_at(parameter, end)), parameter)

    return [
        term(nodeaware.queue_search_time, messages, machine.queue_search),
        term(nodeaware.link_contention_time, link_volume, machine.link_contention),
    ]


def _on_path(machine: Machine, points: Sends, path: str, model: MessageModel | None) -> _OnPath:
    check_path(machine, path)
    message_size, processes = points.example
    segment = machine.segment(message_size, path)
    times = times_by_model(machine, segment, points)
    lone = lone_time(machine, segment, points)
    if lone is None:
        of_streams = "it has streams of one pair alone, which do not tell the latency of a message"
        raise missing(machine, segment, "it has no model" if segment.one_way is None else of_streams, "pingpong pairs")
    if times.keys() <= set(COST_MODELS) and segment.max_rate is not None and processes == 1 and model is None:
        times = {"postal": lambda _: lone} | times  # max-rate of one number of pairs is the postal model
    chosen = _chosen(machine, segment, times, points, model)
    time = times[chosen](points)
    reach = reach_of(machine, segment, message_size, processes, chosen, bounds=model is None)
    if reach.most_pairs is not None:  # the node's limit is not known: a bound
        with_most = points.of_processes(reach.most_pairs)
        slow = times_by_model(machine, segment, with_most)[chosen](with_most)
        bound = _times_over(slow, points.processes / reach.most_pairs)
        lowest = elementwise(min, np.minimum, _ends(time)[0], bound.seconds)
        time = Seconds(bound.seconds, lowest, _ends(bound)[1])
    elif processes < reach.fewest_pairs:  # fewer send no more than these do, nor wait longer than these
        low, high = _ends(time)
        with_fewest = points.of_processes(reach.fewest_pairs)
        least = _times_over(times[chosen](with_fewest), points.processes / reach.fewest_pairs).seconds
        time = Seconds(time.seconds, elementwise(min, np.minimum, low, least), high)
    if model is None and not points.are_several:
        falls = _falls(machine, segment.path, message_size, processes, time.seconds)
        reach = reach._replace(remarks=(*reach.remarks, *filter(None, [falls])))
    models = {} if points.are_several else {name: of_model(points) for name, of_model in times.items()}
    return _OnPath(segment, models | {chosen: time}, chosen, lone, reach)


def _falls(machine: Machine, path: str, message_size: float, processes: int, time: float) -> str:
    """Return a line where a larger message that was measured is predicted to take less; empty where none is."""
    sizes = {size for segment in machine.segments if segment.path == path for entry in segment.measured
             for size in (*entry.sizes, *(entry.times.sizes if entry.times is not None else ()))
             if size > message_size}  # fmt: skip
    for size in sorted(sizes):
        segment = machine.segment(size, path)
        points = Sends.of(size, processes)
        larger = times_by_model(machine, segment, points).get(choose_model(segment, processes, size).name)
        if larger is not None and time > _FALLS * (seconds := larger(points).seconds):
            return f"{format_size(size)} is predicted to take less, {format_time(seconds)}: measure both again"
    return ""


def _predicted(
    machine: Machine, arguments: Mapping[str, Any], paths: Mapping[str, str], model: MessageModel | None
) -> Prediction:
    """Return the prediction of the messages on each path, plus what is added to all models.

    Of arrays, in which one model speaks, it has arrays, and the times by the other models are left out.
    """
    points = Sends.of(arguments["message_size"], arguments["processes"])
    parts = [_on_path(machine, points, path, model) for path in paths.values()]
    messages = [arguments.get(name, 1) for name in paths]
    beside = [None, None] if "" in paths else _beside(machine, sum(messages), arguments.get("link_volume"))
    terms = [term for term in beside if term is not None]

    def total(times: Iterable[Seconds]) -> Seconds:
        return _sum(*map(_times_over, times, messages))

    time = _sum(total(part.times[part.chosen] for part in parts), *terms)
    lone = total(part.lone for part in parts)
    common = [name for name in MODELS if all(name in part.times for part in parts)]
    models = {name: _sum(total(part.times[name] for part in parts), *terms) for name in common}
    chosen = _joined(part.chosen for part in parts)
    return Prediction(
        time=time,
        model=chosen,
        models=models | {chosen: time},
        postal=lone,
        aggregate_rate=_quotient(points.processes * sum(messages) * points.message_size, time.seconds),
        ratio=_quotient(time.seconds, lone.seconds),
        protocol=_joined(part.segment.protocol for part in parts),
        path=_joined(part.segment.path for part in parts),
        queue_search=beside[0],
        link_contention=beside[1],
        extrapolates=tuple(dict.fromkeys(line for part in parts for line in part.reach.lines)),
        is_bound=any(part.reach.most_pairs is not None for part in parts),
        remarks=tuple(dict.fromkeys(remark for part in parts for remark in part.reach.remarks)),
        warnings=machine.warnings,
    )


def _joined(names: Iterable[str]) -> str:
    return " + ".join(dict.fromkeys(names))


def _times_over(time: Seconds, messages: Any) -> Seconds:
    if time.low is None or time.high is None:
        return Seconds(messages * time.seconds)
    return Seconds(messages * time.seconds, messages * time.low, messages * time.high)


def _ends(time: Seconds) -> tuple[Any, Any]:
    """Return the low and high ends of a time; the time itself where there is no interval."""
    ends: list[Any] = [time.seconds if end is None else end for end in (time.low, time.high)]
    if are_arrays(time.seconds):
        ends = [np.where(np.isnan(end), time.seconds, end) for end in ends]
    return ends[0], ends[1]


def _sum(*times: Seconds) -> Seconds:
    """Return a sum of times, with an interval where one of them has one."""
    value = sum(time.seconds for time in times)
    if all(time.low is None and time.high is None for time in times):
        return Seconds(value)
    low, high = (sum(ends) for ends in zip(*map(_ends, times), strict=True))
    if are_arrays(value):
        has_none = np.logical_and.reduce([np.isnan(time.low) for time in times if time.low is not None])
        low, high = np.where(has_none, math.nan, (low, high))
    return Seconds(value, low, high)


def _quotient(above: Any, below: Any) -> Any:
    if are_arrays(below):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.divide(above, below)
    if below:
        return above / below
    return math.inf if above else math.nan
