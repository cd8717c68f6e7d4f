"""Times of a message by every model that has its parameters, with intervals.

Main entries: `times_by_model` and `lone_time`. With several processes no α is less than what the node's message rate
allows. Sources as of `point_to_point`.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from commmodel.choices import MessageModel
from commmodel.machine import LogGP, Machine, MeasuredTimes, Parameter, Segment, choose_model
from commmodel.machine.model_choice import Model as SeveralModel
from commmodel.machine.parameters import UNITS
from commmodel.machine.rates import message_time
from commmodel.models import loggp, maxrate, postal
from commmodel.predict.costs import MODELS as COST_MODELS
from commmodel.predict.costs import plogp_table
from commmodel.predict.seconds import End, Seconds, at_ends, elementwise, value_at, with_scatter

Model = SeveralModel | LogGP


MODELS: tuple[MessageModel, ...] = get_args(MessageModel)


def are_arrays(value: Any) -> bool:
    """Whether an argument stands for several numbers."""
    return isinstance(value, np.ndarray)


class Sends(NamedTuple):
    """A message and processes that send at once; or arrays of both, for which one model of one segment speaks."""

    message_size: Any
    processes: Any
    example: tuple[int, int]
    """The message and the processes; of arrays one of their pairs."""

    @property
    def are_several(self) -> bool:
        """Whether they are arrays."""
        return are_arrays(self.message_size)

    @classmethod
    def of(cls, message_size: Any, processes: Any) -> "Sends":
        """Return a message and processes, or arrays of both."""
        if not are_arrays(message_size):
            return cls(message_size, processes, (message_size, processes))
        farthest = int(message_size.argmax())
        return cls(message_size, processes, (int(message_size[farthest]), int(processes[farthest])))

    def of_processes(self, processes: int) -> "Sends":
        """Return the same messages with another number of processes."""
        everywhere = np.full(self.message_size.shape, processes) if self.are_several else processes
        return Sends(self.message_size, everywhere, (self.example[0], processes))


_Time = Callable[[Sends], Seconds]
"""The time of messages by a model."""


class _Kind(NamedTuple):
    """A model: where its parameters stand in a segment, and its time at the ends of their intervals."""

    parameters: Callable[[Segment], Model | None]
    seconds: Callable[..., float]
    parameter_names: tuple[str, ...]
    """In the order of the formula's last arguments."""


_KINDS: dict[MessageModel, _Kind] = {
    "extended": _Kind(lambda segment: segment.extended, maxrate.extended_time, ("alpha", "R_N", "R_Cb", "R_Ci")),
    "max-rate": _Kind(lambda segment: segment.max_rate, maxrate.time, ("alpha", "R_N", "R_C")),
    "latency-aware": _Kind(lambda segment: segment.latency_aware, maxrate.latency_aware_time, ("alpha", "R_N", "R_C")),
    "one-way": _Kind(lambda segment: segment.one_way, maxrate.pipeline_time, ("alpha", "R_N", "R_C", "overlap")),
    "postal": _Kind(
        lambda segment: segment.postal, lambda size, _, *fitted: postal.time(size, *fitted), ("alpha", "beta")
    ),
    "loggp": _Kind(
        lambda segment: segment.measured_loggp, lambda size, _, *fitted: loggp.time(size, *fitted), ("L", "o", "G")
    ),
    "logp": _Kind(
        lambda segment: segment.measured_loggp, lambda _size, _, *fitted: loggp.logp_time(*fitted), ("L", "o")
    ),
}
_ENDS: tuple[End, ...] = ("value", "low", "high")
_OF_MEAN = math.sqrt(math.pi / 2)
"""Standard deviation over mean absolute deviation, of normal numbers."""


def _of_parameters(
    kind: _Kind, segment: Segment, parameters: dict[str, Parameter], scatter: float, confidence: float | None
) -> _Time:
    """Return the time and its interval by a model: times fall with rates and grow with α and β.

    With several processes α is no less than what the node's message rate allows.
    """

    def time(points: Sends) -> Seconds:
        rate = segment.message_rate_of(points.example[0]) if "R_N" in kind.parameter_names else None

        def at(end: End) -> Any:
            least = 0.0 if rate is None else _least(segment, points, end)
            return _seconds_at(kind, points, [value_at(parameters[name], end) for name in kind.parameter_names], least)

        if rate is None:
            return with_scatter(at_ends(at, *parameters.values()), scatter, confidence)
        return with_scatter(at_ends(at, rate.M, *parameters.values()), max(scatter, rate.scatter), confidence)

    return time


def _least(segment: Segment, points: Sends, end: End) -> Any:
    """Return the least α, of numbers of processes that are arrays an array."""
    size, processes = points.example[0], points.processes
    if not points.are_several:
        return message_time(segment, size, processes, end)
    counts, place = np.unique(processes, return_inverse=True)
    return np.array([message_time(segment, size, count, end) for count in counts.tolist()])[place]


def _seconds_at(kind: _Kind, points: Sends, numbers: list[float], least: Any) -> Any:
    """Return the seconds of a message, or of each of arrays, with the numbers of a model's parameters."""
    alpha, rest = numbers[0], numbers[1:]

    def alone(size: float, count: int, least: float) -> float:
        try:
            return kind.seconds(size, count, max(alpha, least), *rest)
        except ZeroDivisionError:  # the interval of a rate begins at 0
            return math.inf if size else max(alpha, least)

    def together(sizes: Any, counts: Any, least: Any) -> Any:
        if any(
            name in {"R_N", "R_C", "R_Cb"} and not rate
            for name, rate in zip(kind.parameter_names, numbers, strict=True)
        ):
            return np.array(list(map(alone, sizes.tolist(), counts.tolist(), least.tolist())))
        return np.broadcast_to(kind.seconds(sizes, counts, np.maximum(alpha, least), *rest), sizes.shape)

    least = np.broadcast_to(least, points.message_size.shape) if points.are_several else least
    return elementwise(alone, together, points.message_size, points.processes, least)


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


def _by_table(machine: Machine, path: str) -> _Time:
    """Return L + g(m) of the path's table, with its interval where the table has one."""

    def time(points: Sends) -> Seconds:
        value, low, high = (
            loggp.plogp_time.python(table.L.value, table.at("g", points.message_size))
            for end in _ENDS
            if (table := plogp_table(machine, path, end)) is not None
        )
        if points.are_several:
            is_exact = (low == value) & (value == high)
            ends: list[Any] = [np.where(is_exact, math.nan, end) for end in (low, high)]
            return Seconds(value, *ends)
        return Seconds(float(value)) if low == value == high else Seconds(float(value), float(low), float(high))

    return time


def times_by_model(machine: Machine, segment: Segment, points: Sends) -> dict[str, _Time]:
    """Return the time by every model that has all its parameters."""
    by_model: dict[str, _Time] = {}
    message_size, processes = points.example
    chosen = choose_model(segment, processes, message_size)
    for name, kind in _KINDS.items():
        fitted = kind.parameters(segment)
        parameters = _parameters(kind, fitted)
        if parameters is not None:
            of_others = processes > 1 and name == chosen.name == "postal"  # fitted to one pair
            scatter = max(_scatter(fitted), _OF_MEAN * (chosen.error or 0.0) * of_others)
            by_model[name] = _of_parameters(kind, segment, _with_unit(parameters), scatter, machine.confidence)
    if plogp_table(machine, segment.path) is not None:
        by_model["plogp"] = _by_table(machine, segment.path)
    measured = {chosen.name: partial(_as_measured, chosen.model)} if isinstance(chosen.model, MeasuredTimes) else {}
    return measured | {name: by_model[name] for name in MODELS if name in by_model}


def _as_measured(table: MeasuredTimes, points: Sends) -> Seconds:
    ends: tuple[Literal["seconds", "low", "high"], ...] = ("seconds", "low", "high")
    functions = [partial(table.at, end=end) for end in ends[: 1 if table.low is None or table.high is None else 3]]
    return Seconds(*(elementwise(at, np.vectorize(at, otypes=[float]), points.message_size) for at in functions))


def lone_time(machine: Machine, segment: Segment, points: Sends) -> Seconds | None:
    """Return the prediction from one pair: the postal model, else the richest of one process, LogGP last."""
    alone = points.of_processes(1)
    times = times_by_model(machine, segment, alone)
    of_ping_pongs = [name for name in times if name not in COST_MODELS]
    model = segment.max_rate  # without R_N: one number of pairs was measured
    if of_ping_pongs or model is None:
        name = "postal" if "postal" in of_ping_pongs else next(iter(of_ping_pongs or times), None)
        return None if name is None else times[name](alone)
    unlimited = _with_unit({"alpha": model.alpha, "R_C": model.R_C, "R_N": Parameter(math.inf)})
    return _of_parameters(_KINDS["max-rate"], segment, unlimited, _scatter(model), machine.confidence)(alone)


def _scatter(model: Model | None) -> float:
    return model.quality.scatter if model is not None and model.quality is not None else 0.0
