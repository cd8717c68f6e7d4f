"""Measured times beside predicted ones, as in Section 4 of March 2009. Main entries: `compare` and `summarise`.

Collective operations are predicted with the algorithm that the MPI library would pick, ping-pongs as messages between
two processes. The relative error is T_model / T − 1.
"""

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from commmodel.arguments import Count
from commmodel.choices import CostModel, MessageModel
from commmodel.collectives.library.selection import Selector
from commmodel.collectives.operation import SCHEDULED, ScheduledName
from commmodel.collectives.schedule import Nodes, Problem
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import Machine
from commmodel.predict.collective import collective
from commmodel.predict.costs import MODELS as COST_MODELS
from commmodel.predict.costs import default_model
from commmodel.predict.nodes import within_path
from commmodel.predict.point_to_point import send
from commmodel.predict.seconds import Seconds
from commmodel.results import Header, Measurements, Record
from commmodel.results.conditions import remarks
from commmodel.results.configurations import Collective, PingPong
from commmodel.signatures import checked
from commmodel.values import Value, one_line

SEND = "send"
"""The operation of a ping-pong."""


class ComparedTime(Value, Struct, frozen=True):
    """A measured time beside the models' predictions."""

    operation: str
    message_size: int
    processes: int
    algorithm: str
    """Empty for a message between two processes."""
    path: str
    """That the prediction is for; empty where the machine's only one was taken."""
    measured: Seconds
    """The median, and the interval of the median where there are samples enough for one."""
    predicted: dict[str, Seconds]
    """By name of the model."""

    @checked
    def relative_error(self, model: str) -> float:
        """Return T_model / T − 1."""
        return self.predicted[model].seconds / self.measured.seconds - 1

    @checked
    def absolute_error(self, model: str) -> float:
        """Return T_model − T, seconds."""
        return self.predicted[model].seconds - self.measured.seconds


@with_attributes
class Comparison(NamedTuple):
    """The rows, ordered by operation, number of processes and size, and what could not be compared."""

    rows: tuple[ComparedTime, ...]
    notes: tuple[str, ...]

    @property
    def summaries(self) -> "list[ErrorSummary]":
        """Errors of each model for each operation, as of `summarise`."""
        return summarise(self.rows)

    def __repr__(self) -> str:
        """Return a line."""
        return one_line(self)


class ErrorSummary(Value, Struct, frozen=True):
    """Errors of a model over the measurements of an operation."""

    operation: str
    model: str
    points: int
    mean_relative_error: float
    """Mean size of T_model / T − 1."""
    mean_absolute_error: float
    """Mean size of T_model − T, seconds."""
    largest_processes: int
    factor: float
    """T_model / T on the most processes, at the size at which it is farthest from 1."""
    factor_size: int
    by_size: dict[int, float]
    """Message size -> mean relative error of its points."""
    by_processes: dict[int, float]
    """P -> mean relative error of its points."""


def _path_of(header: Header, processes: int, machine: Machine) -> str | None:
    """Return the path between the first ranks, as far as the machine knows it; None where it does not."""
    ranks = sorted(header.ranks, key=lambda rank: rank.rank)[:processes]
    if not ranks:  # a file of another suite
        return None
    sockets = {rank.socket for rank in ranks}
    paths: tuple[str, ...] = ("same-node", "same-socket")
    if len({rank.host for rank in ranks}) > 1:
        paths = ("between-nodes",)
    elif len(sockets) == 1 and None not in sockets:
        paths = ("same-socket", "same-node")
    return next((path for path in paths if path in machine.paths), None)


def _nodes(header: Header, processes: int, machine: Machine) -> Nodes | None:
    """Return the nodes of the first ranks; None where there is one, or they are not alike, or one path is for all."""
    hosts = [rank.host for rank in sorted(header.ranks, key=lambda rank: rank.rank)[:processes]]
    lengths = [len([*group]) for _, group in groupby(hosts)]
    in_blocks = len(lengths) == len(set(hosts)) > 1 and lengths[0] > 1
    is_alike = in_blocks and lengths[-1] <= lengths[0] and len(set(lengths[:-1])) == 1
    return Nodes(lengths[0]) if is_alike and within_path(machine) is not None else None


def _measured(record: Record) -> Seconds:
    summary = record.summary
    if math.isfinite(summary.low) and math.isfinite(summary.high):
        return Seconds(summary.median, summary.low, summary.high)
    return Seconds(summary.median)


def _first_that_speaks(predict: Callable[[Any], ComparedTime], models: Sequence[str] | None) -> ComparedTime:
    """Return a prediction by the first applicable model; it holds the others as well."""
    missing: MissingParameterError | None = None
    for model in models or (None, "logp"):
        try:
            return predict(model)
        except MissingParameterError as error:
            missing = missing or error
    raise missing or InputError("no model to compare with: name one")


def _only(times: dict[str, Seconds], models: Sequence[str] | None, default: Sequence[str]) -> dict[str, Seconds]:
    return {name: times[name] for name in models or default if name in times}


def _unmodelled(configuration: Collective) -> str:
    """Return why no model applies to a measured collective; empty where one does."""
    if configuration.operation not in SCHEDULED:
        return f"no model is of {configuration.operation}"
    return "" if configuration.mode == "blocking" else f"no model is of {configuration.mode} collectives"


@checked
def compare(
    machine: Machine,
    measurements: Measurements,
    *,
    operation: Literal["send", ScheduledName] | None = None,
    models: Sequence[MessageModel] | None = None,
    algorithm: str | None = None,
    selector: str | os.PathLike[str] | Selector | None = None,
    segment_size: Count | None = None,
    path: str | None = None,
) -> Comparison:
    """Return each measured collective operation and ping-pong beside its predictions.

    March 2009, Section 4.

    Parameters
    ----------
    machine : Machine
        With the parameters of at least one of the models.
    measurements : Measurements
        With records of the kernels collective or pingpong; all others are passed over.
    operation : str, optional
        This one alone: a collective operation, or ``send`` for the ping-pongs.
    models : sequence of str, optional
        Names of models. Left out, pLogP, LogGP and LogP, of ping-pongs the postal model as well, those that there are.
    algorithm, selector, segment_size
        As in `commmodel.predict.collective`.
    path : str, optional
        For collectives. Left out, that of each message where ranks fill one node after the other and the machine knows
        both paths, else the one on which the processes were apart, if the machine knows it.

    Returns
    -------
    Comparison
        A row for each record, in seconds; records for which no model has parameters are in the notes.

    Raises
    ------
    InputError
        Where there is nothing to compare.

    Examples
    --------
    >>> from commmodel.machine import LogGP, Parameter, Segment
    >>> from commmodel.results import Launch, Library
    >>> ranger = LogGP(Parameter(1.95e-6), Parameter(0.65e-6), Parameter(0.65e-6), Parameter(1e-9))
    >>> record = Record(Collective("barrier", 0, 256), "s", (6.5e-6,))
    >>> header = Header("commmodel-results", 1, "2009-03-01", (), Library("MVAPICH2"), (), ())
    >>> found = compare(Machine("m", (Segment("all", loggp=ranger),)), Measurements((Launch(header, (record,)),)))
    >>> round(found.rows[0].relative_error("loggp"), 2)
    3.0
    """
    of_collectives = None if models is None else [name for name in models if name in COST_MODELS]
    rows: list[ComparedTime] = []
    left_out: Counter[str] = Counter()

    def collective_row(header: Header, call: Collective, measured: Seconds) -> ComparedTime:
        where = path or _path_of(header, call.processes, machine)
        nodes = _nodes(header, call.processes, machine) if path is None and where == "between-nodes" else None
        problem = Problem(call.processes, call.message_size, segment_size=segment_size, nodes=nodes)
        of_messages = where if nodes is None else None  # each message by its own

        def by(model: CostModel | None) -> ComparedTime:
            model = model or default_model(machine, where)  # what was measured is what it is compared with
            predicted = collective(
                machine, call.operation, problem, algorithm=algorithm, selector=selector, model=model, path=of_messages
            )
            times = _only(predicted.models, of_collectives, COST_MODELS)
            about = call.operation, call.message_size, call.processes, predicted.algorithm, where or ""
            return ComparedTime(*about, measured, times)

        return _first_that_speaks(by, of_collectives)

    def message_row(message: PingPong, measured: Seconds) -> ComparedTime:
        def by(model: MessageModel | None) -> ComparedTime:
            times = send(machine, message.message_size, path=message.path, model=model).models
            shown = _only(times, models, (*COST_MODELS, "postal"))
            return ComparedTime(SEND, message.message_size, 2, "", message.path, measured, shown)

        return _first_that_speaks(by, models)

    for launch in measurements.launches:
        for record in launch.records:
            configuration = record.configuration
            name = configuration.operation if isinstance(configuration, Collective) else SEND
            if not isinstance(configuration, Collective | PingPong) or operation not in {None, name}:
                continue
            if isinstance(configuration, Collective):
                if of_collectives == []:
                    continue
                if why := _unmodelled(configuration):
                    left_out[why] += 1
                    continue
            measured = _measured(record)
            if measured.seconds <= 0:
                left_out["a median time is 0: the clock was too coarse"] += 1
                continue
            try:
                if isinstance(configuration, Collective):
                    rows.append(collective_row(launch.header, configuration, measured))
                else:
                    rows.append(message_row(configuration, measured))
            except MissingParameterError as error:
                left_out[str(error)] += 1
    origin = machine.origin
    notes = remarks(measurements.launches, *((origin.thread_level, origin.buffers) if origin else ()))
    notes += tuple(f"{count} record{'s' * (count > 1)} left out: {why}" for why, count in left_out.items())
    if not rows:
        reason = notes[-1] if left_out else "no records of the kernels collective or pingpong"
        raise InputError(f"nothing to compare{f' of {operation}' if operation else ''}: {reason}")
    return Comparison(tuple(sorted(rows, key=_place)), notes)


def _place(row: ComparedTime) -> tuple[int, str, int, int]:
    names = (SEND, *SCHEDULED)
    return names.index(row.operation), row.path if row.operation == SEND else "", row.processes, row.message_size


def _means(errors: Iterable[tuple[int, float]]) -> dict[int, float]:
    by_key = groupby(sorted(errors), key=lambda pair: pair[0])
    return {key: fmean(error for _, error in group) for key, group in by_key}


@checked
def summarise(rows: Iterable[ComparedTime]) -> list[ErrorSummary]:
    """Return the errors of each model for each operation, in the order of the rows.

    March 2009, Table 5(c), and the factors of Section 4.2.
    """
    of_models: dict[str, dict[str, list[ComparedTime]]] = {}
    for row in rows:
        for model in row.predicted:
            of_models.setdefault(row.operation, {}).setdefault(model, []).append(row)
    return [
        _summary(operation, model, predicted_rows)
        for operation, by_model in of_models.items()
        for model, predicted_rows in by_model.items()
    ]


def _summary(operation: str, model: str, rows: Sequence[ComparedTime]) -> ErrorSummary:
    most = max(row.processes for row in rows)
    factors = [(1 + row.relative_error(model), row.message_size) for row in rows if row.processes == most]
    factor, size = max(factors, key=lambda pair: abs(math.log(pair[0])) if pair[0] > 0 else math.inf)
    errors = [(row, abs(row.relative_error(model))) for row in rows]
    mean_absolute = fmean(abs(row.absolute_error(model)) for row in rows)
    means = fmean(error for _, error in errors), mean_absolute
    by_size = _means((row.message_size, error) for row, error in errors)
    by_processes = _means((row.processes, error) for row, error in errors)
    return ErrorSummary(operation, model, len(rows), *means, most, factor, size, by_size, by_processes)
