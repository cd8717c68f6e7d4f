"""Workloads: a collective, an exchange, an application kernel, a replayed trace or a GOAL schedule.

Each function returns a `Workload`. Where a number of processes is left out, a platform takes one for each of its cores.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from commmodel.arguments import Count, Dimensions, Positive, Whole, integer
from commmodel.choices import Application, Exchange, NASClass
from commmodel.collectives.algorithms.registry import algorithm as algorithm_of
from commmodel.collectives.library.smpi_selection import Selection
from commmodel.collectives.schedule import Problem
from commmodel.collectives.settings import CollectiveSettings
from commmodel.errors import InputError
from commmodel.signatures import checked
from commmodel.simulate import work
from commmodel.simulate.findings import Finding
from commmodel.simulate.operations import Program
from commmodel.simulate.scenario.places import Place
from commmodel.simulate.work.collective import chosen
from commmodel.units import counted, format_size
from commmodel.values import Value

if TYPE_CHECKING:
    from commmodel.simulate.goal import GoalSchedule

__all__ = [
    "Workload", "application", "collective", "exchange", "messages", "on_hosts", "replay",
    "schedule",
]  # fmt: skip

_ranks = partial(counted, noun="rank")


@dataclass(frozen=True)
class Workload(Value):
    """A workload: the program or schedule, and its description."""

    processes: int
    title: str
    """For people."""
    program: Callable[[Any, float], Program]
    """(flop/s of each rank, factor of the speed of work in seconds) -> a new program, as a streamed one runs once. Not
    called for a schedule."""
    facts: dict[str, Any]
    """What it is, for JSON."""
    schedule: "GoalSchedule | None" = None
    """Of GOAL."""
    notes: Callable[[], Sequence[str]] = tuple
    """Returns what is to be said of the program once it has been simulated."""
    on_hosts: "Callable[[tuple[int, ...]], Workload] | None" = None
    """Host of each rank -> the workload there, where the ranks that share a host make a difference."""
    runs: bool = False
    """Whether it is a program that runs in processes of its own."""
    findings: Callable[[], Sequence[Finding]] = tuple
    """Returns its wrong uses of MPI once it has been simulated."""
    located: Callable[[Any, float], Program] | None = None
    """As `program`, with marks of the call sites, where these are known."""
    sites: Callable[[], Sequence[str]] = tuple
    """Returns the names of call sites, by the numbers of their marks, once it has been simulated."""


def _repeated(program: Program, rounds: int) -> Program:
    return program if integer("rounds", rounds) == 1 else work.repeat(program, rounds)


def _times(rounds: int) -> str:
    return "" if rounds == 1 else f", {rounds} times"


@checked
def collective(
    place: Place,
    operation: str,
    problem: Problem,
    *,
    algorithm: str | None = None,
    settings: CollectiveSettings | None = None,
    rounds: Count = 1,
) -> Workload:
    """Return a collective operation, by an algorithm or as a selector picks it; by default with the place's settings.

    The number of processes may be that of the place: ``place.processes()``. An algorithm in two levels takes
    the hosts of the ranks for its nodes, unless the problem names nodes.

    Parameters
    ----------
    operation, problem, algorithm
        As of `commmodel.simulate.work.collective`.
    rounds : int
        Calls, 1 or more.

    Raises
    ------
    InputError
        Where an algorithm and a selector are given.

    Examples
    --------
    >>> from commmodel.simulate.scenario import place
    >>> switch = place("switch")
    >>> collective(switch, "barrier", Problem(switch.processes()), rounds=3).title
    'Barrier on 64 ranks: dissemination, as mpich picks, 3 times'
    """
    message_size, count = problem.message_size, problem.processes
    chosen_settings = place.settings_or(settings)
    is_smpi = isinstance(chosen_settings.library, Selection)
    is_selected = settings is not None and bool(settings.selector) and not settings.hosts
    if algorithm is not None and is_selected and not is_smpi:
        raise InputError("`algorithm` and `selector` both say how: leave one out")
    name, _ = chosen(operation, problem, algorithm, chosen_settings)

    def program(_speeds: Any, _faster: float) -> Program:
        operation_program = work.collective(operation, problem, algorithm=algorithm, settings=chosen_settings)
        return _repeated(operation_program, rounds)

    chooser = "given" if algorithm is not None else chosen_settings.picker(operation, problem)
    title = f"{operation}{'' if operation == 'barrier' else f' of {format_size(message_size)}'} on {_ranks(count)}: "
    title += name + ("" if chooser == "given" else f", as {chooser} picks") + _times(rounds)
    facts = {"operation": operation, "message_size": message_size, "algorithm": name, "chosen_by": chooser}
    title = title[:1].upper() + title[1:]
    form = None if algorithm is None or is_smpi else algorithm_of(operation, algorithm)
    is_in_levels = form is not None and bool(form.stages) and problem.nodes is None
    again = partial(collective, place, operation, problem, algorithm=algorithm, rounds=rounds)
    return Workload(count, title, program, facts, on_hosts=on_hosts(chosen_settings, again, is_in_levels))


def on_hosts(
    settings: CollectiveSettings, make: Callable[..., Workload], is_in_levels: bool = False
) -> Callable[[tuple[int, ...]], Workload] | None:
    """Return what makes a workload for ranks on hosts by its `settings`, or None where it is the same on any."""
    if settings.hosts or not (is_in_levels or settings.looks_at_hosts):
        return None
    return lambda hosts: make(settings=replace(settings, hosts=hosts))


@checked
def exchange(
    place: Place,
    kind: Exchange,
    message_size: Whole,
    processes: Count | None = None,
    *,
    dimensions: Dimensions = 2,
    rounds: Count = 1,
) -> Workload:
    """Return an exchange of messages.

    Parameters
    ----------
    kind : str
        ``halo``, ``ring``, ``irregular`` or ``pairwise``.
    message_size : int
        Bytes, 0 or more.
    processes : int, optional
        1 or more; by default those of the place.
    dimensions : int
        Of a halo's periodic grid, 1 to 3.
    rounds : int
        Exchanges, 1 or more.

    Examples
    --------
    >>> from commmodel.simulate.scenario import place
    >>> exchange(place("switch"), "halo", 65536).title
    'Halo exchange in 2 dimensions, 64 KiB on 64 ranks'
    """
    count = place.processes(processes)

    def program(_speeds: Any, _faster: float) -> Program:
        if kind == "irregular":
            return work.shifts(message_size, count, rounds)
        if kind == "halo":
            return _repeated(work.halo(message_size, count, dimensions=dimensions), rounds)
        make = work.ring if kind == "ring" else work.pairwise
        return _repeated(make(message_size, count), rounds)

    shape = f" in {dimensions} dimensions" if kind == "halo" else ""
    title = f"{kind} exchange{shape}, {format_size(message_size)} on {_ranks(count)}{_times(rounds)}"
    return Workload(count, title[:1].upper() + title[1:], program, {"exchange": kind, "message_size": message_size})


@checked
def messages(path: str, processes: Count | None = None, *, rounds: Count = 1) -> Workload:
    """Return an exchange of the messages that a CSV file lists.

    Parameters
    ----------
    path : str
        CSV with sender, receiver and bytes.
    processes : int, optional
        By default as many as occur in the file.
    rounds : int
        Exchanges, 1 or more.
    """
    listed = work.read_sparse(path, processes)
    title = f"Exchange of {path} on {_ranks(listed.processes)}{_times(rounds)}"
    return Workload(listed.processes, title, lambda *_: _repeated(listed, rounds), {"exchange": path})


@checked
def application(
    place: Place,
    name: Application,
    problem: NASClass = "A",
    processes: Count | None = None,
    *,
    iterations: Count | None = None,
    settings: CollectiveSettings | None = None,
) -> Workload:
    """Return messages and computation of an application kernel: LU or CG of the NAS benchmarks, of a problem class.

    Parameters
    ----------
    name : {'lu', 'cg'}
    problem : str
        Problem class of the NAS benchmarks.
    processes : int, optional
        1 or more; by default those of the place.
    iterations : int, optional
        By default those of the class.

    Examples
    --------
    >>> from commmodel.simulate.scenario import place
    >>> application(place("switch"), "lu", "S", 16, iterations=1).title
    'LU, class S, on 16 ranks, 1 iteration'
    """
    settings = place.settings_or(settings)
    count = place.processes(processes)
    actions = (work.lu if name == "lu" else work.cg)(problem, count, iterations)
    title = f"{name.upper()}, class {problem}, on {_ranks(count)}"
    title += "" if iterations is None else f", {iterations} iteration{'s' * (iterations > 1)}"

    def program(speeds: Any, _: float) -> Program:
        return actions.program(speeds, settings=settings)

    again = partial(application, place, name, problem, processes, iterations=iterations)
    facts = {"kernel": name, "class": problem}
    return Workload(count, title, program, facts, on_hosts=on_hosts(settings, again))


@checked
def replay(
    place: Place,
    path: str,
    processes: Count | None = None,
    *,
    faster: Positive = 1.0,
    settings: CollectiveSettings | None = None,
) -> Workload:
    """Return a trace, of any format that `commmodel.simulate.traces` reads.

    Parameters
    ----------
    path : str
    processes : int, optional
        Must be those of the trace where it is given.
    faster : float
        How many times faster processors are than those of a trace whose computation is in seconds.
    """
    settings = place.settings_or(settings)
    from commmodel.simulate import traces

    trace, in_seconds = traces.load(path, processes), traces.is_foreign(path)

    def program(speeds: Any, factor: float) -> Program:
        product = faster * factor if in_seconds else faster
        return trace.program(speeds, faster=product, settings=settings)

    title = f"Replay of {path} on {_ranks(trace.processes)}, collectives as {settings.name} picks"
    facts = {"replay": path, "chosen_by": settings.name}
    again = partial(replay, place, path, processes, faster=faster)
    count = trace.processes
    return Workload(count, title, program, facts, notes=trace.notes, on_hosts=on_hosts(settings, again))


@checked
def schedule(path: str) -> Workload:
    """Return a GOAL schedule.

    Raises
    ------
    InputError
        Where the place's model needs a program.
    """
    from commmodel.simulate import goal

    read = goal.load(path)

    def program(_speeds: Any, _faster: float) -> Program:
        raise InputError(f"{path} is a GOAL schedule, and no program")

    return Workload(read.processes, f"Schedule {path} on {_ranks(read.processes)}", program, {"goal": path}, read)
