"""Predicted time of a collective operation on a machine, from its schedule of messages.

The algorithm is the one that is given, the one that the MPI library would pick, or the fastest. Its schedule
(`commmodel.collectives`) is carried out message by message under the rules of LogGP
(`commmodel._core.delays.critical_path`): the time is that of the process that finishes last. Beside it stands the
closed form of the same algorithm, where there is one. Schedules too large to carry out are answered by the closed form
alone. Sources: March 2009, Sections 3.2 and 4.2, and those of each algorithm. Main entries: `collective` and
`algorithms`.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, overload

import numpy as np
from msgspec import structs

from commmodel._core.delays.critical_path import finish_times
from commmodel.arguments import LARGEST, Count, Numbers, Whole, broadcast, finite, refuse, several, whole
from commmodel.choices import CostModel
from commmodel.collectives.algorithms.registry import ALGORITHMS
from commmodel.collectives.algorithms.registry import algorithm as algorithm_of
from commmodel.collectives.library import selection
from commmodel.collectives.library.selection import Selector
from commmodel.collectives.operation import OPERATIONS
from commmodel.collectives.operation import operation as operation_of
from commmodel.collectives.schedule import Problem, Round, Schedule, flatten
from commmodel.errors import CommModelError, InputError, MissingParameterError
from commmodel.machine import LogGP, Machine, Parameter
from commmodel.models.collectives import CLOSED_FORMS
from commmodel.predict.arrays import CollectivePredictions, collected
from commmodel.predict.certainty import bounded_scatter, widened
from commmodel.predict.collective_prediction import CollectivePrediction
from commmodel.predict.costs import MODELS, Costs, check_path, default_model, loggp_at
from commmodel.predict.extrapolation import collective_reach
from commmodel.predict.measured_collectives import check_measured, from_measured
from commmodel.predict.nodes import exchange_remark, node_gaps, node_remarks, path_remark, schedule_costs
from commmodel.predict.seconds import End, Seconds, value_at
from commmodel.signatures import checked

BEST = "best"
"""Instead of an algorithm: the fastest."""
_MOST_MESSAGES = 20_000_000  # some ten seconds, and three GB
_MOST_ROUNDS = 1_000_000
_MOST_FOR_ALL_MODELS = 2_000_000


class _Work(NamedTuple):
    """Seconds per byte copied and combined, at the value or an end of their intervals."""

    memory_copy: float
    reduction: float


class _Task(NamedTuple):
    """An algorithm to predict."""

    machine: Machine
    operation: str
    algorithm: str
    problem: Problem
    path: str | None
    memory_copy: Parameter
    reduction: Parameter
    is_empty: bool = False
    """Whether nothing is sent: a library's collective on no bytes."""

    def work(self, end: End) -> _Work:
        return _Work(value_at(self.memory_copy, end), value_at(self.reduction, end))

    @property
    def per_node(self) -> int | None:
        return None if self.problem.nodes is None else self.problem.nodes.per_node

    def costs(self, schedule: Schedule, model: CostModel, end: End = "value") -> Costs:
        return schedule_costs(self.machine, model, schedule, self.per_node, self.path, end)

    def every_size(self, schedule: Schedule) -> Schedule:
        """Return a schedule with each size of message once, where a message's size alone says what it costs."""
        if self.per_node is not None:
            return schedule
        sizes = np.unique(schedule.size)
        zeros = np.zeros_like(sizes)
        return replace(schedule, round=zeros, sender=zeros, receiver=zeros, size=sizes)


def _schedule(task: _Task) -> Schedule | None:
    """Return the schedule; None where it has too many messages."""
    processes = task.problem.processes
    if task.is_empty:
        return flatten(processes, [])
    algorithm = algorithm_of(task.operation, task.algorithm)
    if (processes * (processes - 1) if algorithm.all_pairs_at_once else processes) > _MOST_MESSAGES:
        return None
    rounds: list[Round] = []
    messages = 0
    for round_ in algorithm(task.problem):
        messages += round_.size.size
        rounds.append(round_)
        if messages > _MOST_MESSAGES or len(rounds) > _MOST_ROUNDS:
            return None
    return flatten(processes, rounds)


def _by_schedule(task: _Task, schedule: Schedule, model: CostModel, end: End) -> float:
    """Return the time at which the last process finishes."""
    costs = task.costs(schedule, model, end)
    copying, combining = task.work(end)
    if max(copying, combining) * float(schedule.size.sum()) > LARGEST:
        raise InputError(f"a copy takes {copying:g} s a byte, combining {combining:g} s: give smaller times")
    work = schedule.copied * copying + schedule.reduced * combining
    on_nodes = task.per_node is not None and task.path is None
    nodes = node_gaps(task.machine, model, schedule, task.per_node or 1, end) if on_nodes else ()
    finished = finish_times(
        schedule.processes,
        schedule.round,
        schedule.sender,
        schedule.receiver,
        costs.send_overhead,
        costs.receive_overhead,
        costs.gap,
        costs.transit,
        schedule.work_round,
        schedule.worker,
        work,
        *nodes,
    )
    return float(finished.max())


def _by_formula(task: _Task, model: CostModel, largest: int, end: End) -> float | None:
    """Return the closed form's time, with the parameters for the largest message; None without a closed form."""
    form = CLOSED_FORMS.get(task.operation, {}).get(task.algorithm)
    if form is None or task.is_empty or model == "plogp" or (task.per_node is not None and task.path is None):
        return None
    loggp = loggp_at(task.machine, largest, task.path, needs_G=model == "loggp")

    L, o, g = (value_at(parameter, end) for parameter in (loggp.L, loggp.o, loggp.g))
    G = value_at(loggp.G, end) if loggp.G is not None and model == "loggp" else 0.0
    problem = task.problem
    pieces = (float(problem.segment_size or max(problem.message_size, 1)),) if form.takes_segment_size else ()
    return float(
        form.formula(float(problem.processes), float(problem.message_size), L, o, g, G, *task.work(end), *pieces)
    )


def _with_ends(value: float, low: float, high: float) -> Seconds:
    """Return a time with an interval that contains it: a schedule may be slightly slower with faster messages."""
    return Seconds(value) if low == value == high else Seconds(value, min(low, value), max(high, value))


def _timed(task: _Task, schedule: Schedule, model: CostModel) -> Seconds:
    value, low, high = (_by_schedule(task, schedule, model, end) for end in ("value", "low", "high"))
    return _with_ends(value, low, high)


def _has_intervals(task: _Task, model: CostModel, schedule: Schedule) -> bool:
    value, low, high = (task.costs(schedule, model, end) for end in ("value", "low", "high"))
    alike = all(np.array_equal(costs, other) for ends in (low, high) for costs, other in zip(value, ends, strict=True))
    return not alike or len({task.work(end) for end in ("value", "low", "high")}) > 1


def _models(task: _Task, schedule: Schedule, model: CostModel) -> dict[str, Seconds]:
    """Return the time by the given model and, unless the schedule is large, by the others."""
    sizes = task.every_size(schedule)
    times: dict[str, Seconds] = {}
    for name in MODELS:
        if name != model and schedule.messages > _MOST_FOR_ALL_MODELS:
            continue
        try:
            task.costs(sizes, name)
        except MissingParameterError:
            if name == model:
                raise
            continue
        if _has_intervals(task, name, sizes):
            times[name] = _timed(task, schedule, name)
        else:
            times[name] = Seconds(_by_schedule(task, schedule, name, "value"))
    return times


def with_byte_times(machine: Machine, memory_copy: float | None = None, reduction: float | None = None) -> Machine:
    """Return the machine with other times of copying and combining a byte within memory, in seconds.

    What is None stays as the machine has it.

    >>> from commmodel.machine import Segment
    >>> with_byte_times(Machine("m", (Segment("all"),)), memory_copy=1e-10).memory_copy.value
    1e-10
    """
    times = {"memory_copy": memory_copy, "reduction": reduction}
    for name, seconds in times.items():
        if seconds is not None and finite(name, seconds) < 0:
            raise InputError(f"{name} is {seconds}: a time must not be negative")
    changed = {name: Parameter(seconds) for name, seconds in times.items() if seconds is not None}
    return structs.replace(machine, **changed)


def _task(machine: Machine, operation: str, algorithm: str, problem: Problem, path: str | None) -> _Task:
    copying = machine.memory_copy or Parameter(0.0)
    return _Task(machine, operation, algorithm, problem, path, copying, machine.reduction or copying)


def _level_remarks(task: _Task) -> Iterator[str]:
    """Yield what an algorithm in two levels uses on each."""
    nodes = task.problem.nodes
    if nodes is None or not algorithm_of(task.operation, task.algorithm).stages:
        return
    for place, names in (("within a node", nodes.within), ("between nodes", nodes.between)):
        listed = ", ".join(f"{operation} by {algorithm}" for operation, algorithm in names.items())
        if listed:
            yield f"{task.algorithm}: {place} {listed}"


def _remarks(task: _Task, copied: bool, reduced: bool) -> tuple[str, ...]:
    remarks = list(_level_remarks(task))
    if task.is_empty:
        remarks.append("MPI libraries send nothing where there are no bytes; `algorithm` sends empty messages")
    guessed = reduced and task.machine.reduction is None
    if (copied or guessed) and task.machine.memory_copy is None:
        also = " and reductions" if guessed else ""
        remarks.append(
            f"the machine has no memory_copy: copies{also} within memory are taken to cost nothing (`memory_copy`)"
        )
    elif guessed:
        remarks.append("a byte is combined in the time of its copy (`reduction`)")
    if task.path is None and (remark := path_remark(task.machine, task.problem.processes, task.per_node)):
        remarks.append(remark)
    if task.per_node is not None and task.path is None:
        remarks += node_remarks(task.machine)
    return tuple(remarks)


def _loggp_in_use(task: _Task) -> list[LogGP]:
    paths = {task.path} if task.path is not None else {*task.machine.paths}
    return [segment.loggp for segment in task.machine.segments if segment.path in paths and segment.loggp is not None]


def _doubts(task: _Task, model: CostModel) -> tuple[str, ...]:
    """Return remarks where the LogGP parameters in use are not trusted, or bounds."""
    if model == "plogp":
        return ()
    used = _loggp_in_use(task)
    remarks = []
    if not all(loggp.quality is None or loggp.quality.trusted for loggp in used):
        remarks.append("some of the LogGP parameters are not trusted: commmodel report says which, and why")
    if any(loggp.bounded for loggp in used):
        remarks.append("o and g are bounds, from latency and bandwidth alone: measure the kernel loggp for both")
    return tuple(remarks)


def _predicted(task: _Task, model: CostModel | None, chosen_by: str) -> CollectivePrediction:
    """Return the prediction of one algorithm: by schedule, or by closed form where the schedule is too large."""
    schedule = _schedule(task)
    problem = task.problem
    name = model or default_model(task.machine, task.path)
    form = CLOSED_FORMS.get(task.operation, {}).get(task.algorithm)
    largest = problem.message_size if schedule is None else int(schedule.size.max(initial=0))
    if schedule is not None:
        models = _models(task, schedule, name)
    else:
        if form is None or model == "plogp" or task.per_node is not None:
            has = "a closed form of LogGP only" if form is not None and task.per_node is None else "no closed form"
            raise InputError(
                f"{task.operation} by {task.algorithm} on {problem.processes} processes has more than "
                f"{_MOST_MESSAGES} messages, and {has}: choose another algorithm or model, or fewer processes"
            )
        name = model or "loggp"
        ends = [_by_formula(task, name, largest, end) or 0.0 for end in ("value", "low", "high")]
        models = {name: _with_ends(*ends)}
    if name != "plogp" and any(loggp.bounded for loggp in _loggp_in_use(task)):
        scatter = bounded_scatter(task.machine, task.per_node)
        models = {key: widened(task.machine, time, scatter) for key, time in models.items()}
    by_formula = _by_formula(task, name, largest, "value")
    remarks = _remarks(
        task,
        schedule is None or bool(schedule.copied.any()),
        OPERATIONS[task.operation].combines if schedule is None else bool(schedule.reduced.any()),
    )
    if schedule is not None and name == "plogp":
        turns = exchange_remark(task.machine, schedule, task.per_node, task.path)
        remarks = (*remarks, turns) if turns else remarks
    return CollectivePrediction(
        time=models[name],
        model=name,
        algorithm=task.algorithm,
        operation=task.operation,
        processes=problem.processes,
        message_size=problem.message_size,
        segment_size=problem.segment_size,
        per_node=task.per_node,
        chosen_by=chosen_by,
        evaluation="closed-form" if schedule is None else "schedule",
        messages=None if schedule is None else schedule.messages,
        models=models,
        closed_form=by_formula,
        exactness=form.exactness if form is not None and by_formula is not None else "",
        remarks=(*remarks, *_doubts(task, name)),
        extrapolates=collective_reach(task.machine, problem.processes, largest, task.path),
        warnings=task.machine.warnings,
    )


def _selector(machine: Machine, selector: str | os.PathLike[str] | Selector | None) -> Selector:
    """Return the given selector, or the machine's: its own rules before those of its library."""
    if isinstance(selector, Selector):
        return selector
    if selector is not None:
        return selection.load(selector)
    return machine.algorithm_selector(machine.selector_name)


def chosen_rule(
    machine: Machine,
    operation: str,
    problem: Problem,
    selector: str | os.PathLike[str] | Selector | None = None,
) -> tuple[str, int | None, str]:
    """Return the algorithm that a library picks, its segment size, and the name of what picks it.

    >>> from commmodel.machine import Segment
    >>> chosen_rule(Machine("m", (Segment("all"),)), "bcast", Problem(16, 1 << 20), "mvapich2-1.0")
    ('scatter-ring', None, 'MVAPICH2 1.0')
    """
    library = _selector(machine, selector)
    rule = selection.select_for(library, operation, problem)
    return rule.algorithm, rule.segment_size, selection.picker(library, operation, problem)


def _problem(machine: Machine, operation: str, message_size: Any, processes: int | None, path: str | None) -> Problem:
    """Return the problem of a message size and a number of processes, or the given one; raise for an impossible one."""
    if isinstance(message_size, Problem):
        if processes is not None:
            raise InputError("processes is of the Problem: leave it out beside it", "processes")
        problem = message_size
    elif processes is None:
        raise refuse("processes", processes, "give a number of processes, or a commmodel.collectives.Problem")
    else:
        problem = Problem(processes, message_size)
    described = operation_of(operation)
    if problem.message_size and not described.has_size:
        raise InputError(f"a barrier of {problem.message_size} bytes: it carries nothing, leave the size out")
    if problem.root and not described.has_root:
        raise InputError(f"{operation} has no root: leave it out")
    check_path(machine, path)
    return problem


@overload
def collective(
    machine: Machine,
    operation: str,
    message_size: Problem,
    processes: None = None,
    *,
    algorithm: str | None = None,
    selector: str | os.PathLike[str] | Selector | None = None,
    model: CostModel | None = None,
    path: str | None = None,
) -> CollectivePrediction: ...
@overload
def collective(  # type: ignore[overload-overlap]  # numbers alone: no arrays
    machine: Machine,
    operation: str,
    message_size: int,
    processes: int,
    *,
    algorithm: str | None = None,
    selector: str | os.PathLike[str] | Selector | None = None,
    model: CostModel | None = None,
    path: str | None = None,
) -> CollectivePrediction: ...
@overload
def collective(
    machine: Machine,
    operation: str,
    message_size: int | Numbers,
    processes: int | Numbers,
    *,
    algorithm: str | None = None,
    selector: str | os.PathLike[str] | Selector | None = None,
    model: CostModel | None = None,
    path: str | None = None,
) -> CollectivePredictions: ...
@checked
def collective(
    machine: Machine,
    operation: str,
    message_size: Any,
    processes: Any = None,
    *,
    algorithm: str | None = None,
    selector: str | os.PathLike[str] | Selector | None = None,
    model: CostModel | None = None,
    path: str | None = None,
) -> CollectivePrediction | CollectivePredictions:
    """Return the time of a collective operation: until its last process has finished, all having begun at once.

    Above 20 million messages the closed form answers, with the parameters of a message of n bytes.

    Parameters
    ----------
    machine : Machine
        With measured times of the operation (`commmodel.machine.CollectiveTimes`), which answer where no model or path
        is named, with LogGP parameters or a pLogP table. Copies within memory cost nothing, with a remark, where it
        does not know the time of a byte (`with_byte_times`); combining takes as long as copying where it does not know
        that.
    operation : str
        One that has schedules (`commmodel.collectives.operation.SCHEDULED`).
    message_size : int, array_like or Problem
        Bytes, as of `commmodel.collectives.Problem`. Or such a one, which says all of the call: number of processes,
        message size, root, segment size, by default as the selector says, and nodes that processes share. Without
        nodes each process is on a node or a socket of its own, as `path` says.
    processes : int or array_like, optional
        Numbers of processes, unless a Problem says it; message sizes and they broadcast.
    algorithm : str, optional
        Its name, or ``best`` for the fastest. Left out, it is the one that the selector picks.
    selector : str, path or Selector, optional
        Name of a published selector or a file of rules (`commmodel.collectives.library.selection.load`), instead of the
        machine's. Left out, the machine's `selection` holds, then its `selector`; without one, that of Open MPI for a
        machine measured with it, else MPICH's.
    model : str, optional
        ``plogp``, ``loggp`` or ``logp``. Left out, it is pLogP where the machine has a table, else LogGP.
    path : str, optional
        That all messages take; ``between-nodes`` where the machine has it and nothing else is said. Where processes
        share nodes and it is left out, each message takes its own.

    Returns
    -------
    CollectivePrediction or CollectivePredictions
        Times in seconds; of arrays, arrays. `low` and `high` are with all parameters at the fast and at the slow ends
        of their intervals.

    Raises
    ------
    MissingParameterError
        Where the model's parameters of a message's size are missing; it names the kernel that provides them.
    InputError
        Where there is no such operation or algorithm, or the algorithm cannot do it on so many processes.

    Examples
    --------
    >>> from commmodel.machine import LogGP, Segment
    >>> ranger = LogGP(Parameter(1.95e-6), Parameter(0.65e-6), Parameter(0.65e-6), Parameter(0.0))
    >>> predicted = collective(Machine("Ranger", (Segment("all", loggp=ranger),)), "barrier", Problem(256))
    >>> predicted.algorithm, predicted.model, round(1e6 * predicted.time.seconds, 3), predicted.messages
    ('dissemination', 'loggp', 26.0, 2048)

    Many at once:

    >>> collective(Machine("Ranger", (Segment("all", loggp=ranger),)), "bcast", [8, 1024], [[4], [16]]).to_frame().shape
    (4, 11)
    """
    if processes is not None and not isinstance(message_size, Problem):
        numbers = {
            "message_size": several(whole, "message_size", message_size, 0),
            "processes": several(whole, "processes", processes, 1),
        }
        ask = cache(
            lambda size, count: collective(
                machine, operation, Problem(count, size), algorithm=algorithm, selector=selector, model=model, path=path
            )
        )
        if all(isinstance(number, int) for number in numbers.values()):
            return ask(*numbers.values())
        arguments, flat = broadcast(numbers)
        return collected(
            arguments, [ask(*row) for row in zip(*(column.tolist() for column in flat.values()), strict=True)]
        )
    problem = _problem(machine, operation, message_size, processes, path)
    if algorithm == BEST:
        return algorithms(machine, operation, problem, model=model, path=path)[0]
    if model is None and path is None and machine.collectives:
        library = _selector(machine, selector)
        answer = from_measured(machine, operation, None if selector is not None else algorithm, problem, library)
        if answer is not None:
            return answer.prediction(machine, problem, "given" if algorithm else library.name)
        check_measured(machine, operation, algorithm, problem.processes)
    chosen_by = "given"
    if algorithm is None:
        algorithm, pieces, chosen_by = chosen_rule(machine, operation, problem, selector)
        if problem.segment_size is None:
            problem = replace(problem, segment_size=pieces)
    problem = selection.with_levels(_selector(machine, selector), operation, algorithm, problem)
    task = _task(machine, operation, algorithm, problem, path)
    is_empty = chosen_by != "given" and not problem.message_size and OPERATIONS[operation].has_size
    return _predicted(task._replace(is_empty=is_empty), model, chosen_by)


@checked
def algorithms(
    machine: Machine,
    operation: str,
    message_size: Whole | Problem,
    processes: Count | None = None,
    *,
    model: CostModel | None = None,
    path: str | None = None,
) -> list[CollectivePrediction]:
    """Return the predictions of all applicable algorithms, fastest first.

    Parameters
    ----------
    machine, operation, message_size, processes, model, path
        As of `collective`.

    >>> from commmodel.machine import LogGP, Segment
    >>> ranger = LogGP(Parameter(1.95e-6), Parameter(0.65e-6), Parameter(0.65e-6), Parameter(1e-9))
    >>> ranked = algorithms(Machine("Ranger", (Segment("all", loggp=ranger),)), "alltoall", 1, 64)
    >>> ranked[0].algorithm
    'bruck'
    """
    problem = _problem(machine, operation, message_size, processes, path)
    predictions = []
    problems: list[CommModelError] = []
    library = _selector(machine, None)
    measured_ones = [] if model or path else [times for times in machine.collectives if times.operation == operation]
    spelled = [times.algorithm for times in measured_ones if times.algorithm]
    names = dict.fromkeys([*spelled, *ALGORITHMS[operation].loaded()])
    for name in names:
        try:
            answer = from_measured(machine, operation, name, problem, library) if measured_ones else None
            if answer is not None:
                predictions += [answer.prediction(machine, problem, "fastest")] * (answer.times.algorithm == name)
                continue
            levels = selection.with_levels(library, operation, name, problem)
            predictions.append(_predicted(_task(machine, operation, name, levels, path), model, "fastest"))
        except (InputError, MissingParameterError) as error:  # not on so many processes
            problems.append(error)
    if not predictions:
        raise problems[0]
    return sorted(predictions, key=lambda prediction: prediction.time.seconds)


def algorithm_seconds(
    machine: Machine,
    operation: str,
    algorithm: str,
    problem: Problem,
    *,
    model: CostModel | None = None,
    path: str | None = None,
) -> float:
    """Return the time of an algorithm by one model, without interval: fast, for large grids.

    Arguments as in `collective`.
    """
    task = _task(machine, operation, algorithm, problem, path)
    schedule = _schedule(task)
    if schedule is None:
        return _predicted(task, model, "given").time.seconds
    return _by_schedule(task, schedule, model or default_model(machine, path), "value")
