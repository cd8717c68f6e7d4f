"""One question, one call, like how long a collective takes somewhere.

Each function makes a workload, prepares it on a place and runs it, as ``commmodel simulate WHERE WHAT`` does; the steps
alone are in `commmodel.simulate.scenario`, for those who change something between them.

Main entries: `collective`, `exchange`, `application`, `replay`, `jobs`, `command`, `function`.
"""

import inspect
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypedDict, TypeVar, Unpack, cast, get_args

from commmodel.arguments import Count, Dimensions, Positive, Whole, choice, refuse, whole
from commmodel.choices import (
    Application,
    Exchange,
    JobPlacement,
    NASClass,
    ProblemGrowth,
    ProgramClocks,
    ProgramModel,
    ScheduleModel,
    Slopes,
)
from commmodel.collectives.library.rules import Selector
from commmodel.collectives.library.smpi_selection import Selection
from commmodel.collectives.schedule import Problem
from commmodel.collectives.settings import CollectiveSettings
from commmodel.errors import InputError, RankEndedError, choice_of
from commmodel.signatures import checked
from commmodel.simulate.result import Deadlock, SimulationResult
from commmodel.simulate.scenario import Place, Scale, Scenario, Where, Workload, place, prepare, workloads
from commmodel.simulate.scenario.preparation import Ranks

if TYPE_CHECKING:
    from commmodel.record import Recording
    from commmodel.simulate.online import Outlets, RecordedComputation
    from commmodel.simulate.scenario import JobRuns

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
Orders = int | Literal["all"]
"""How many orders of messages a program runs in at most."""
Selecting = str | os.PathLike[str] | Selector | Selection | CollectiveSettings | None


class How(TypedDict, total=False):
    """How a workload runs on a place, beside what it is."""

    model: ProgramModel | ScheduleModel | None
    mapping: Ranks | None
    hosts: int | None
    speed: float | None
    scale: Scale | None
    record: bool
    deadlock: Deadlock
    slopes: Slopes | None


class ProgramHow(How, total=False):
    """How a program or a function runs, beside what it is."""

    check: bool
    clocks: ProgramClocks
    orders: Orders


class JobsHow(TypedDict, total=False):
    """How several jobs run on a place, beside what they are."""

    model: ProgramModel | None
    placement: JobPlacement | str | os.PathLike[str] | Sequence[int] | Sequence[str]
    per_node: Count | None
    seed: Whole
    speed: float | None
    scale: Scale | None


_SHARED = {
    "on": """on : str, path, Platform, Machine, DelayParameters or Place
    Where: what `commmodel.simulate.scenario.place` takes.""",
    "processes": """processes : int, optional
    1 or more; by default one for each core of the platform.""",
    "ranks": """ranks : int, optional
    1 or more; by default one for each core of the platform.""",
    "outlets": """computation, outlets
    As of `commmodel.simulate.online.workload`.""",
    "selector": """selector : str, path or CollectiveSettings, optional
    What picks algorithms, or all settings of collectives; by default the place's.""",
    "how": """**how
    model, mapping, hosts, speed and scale of `commmodel.simulate.scenario.prepare`, record, deadlock and slopes of
    `commmodel.simulate.run`. For programs and functions also check and clocks of `commmodel.simulate.online.Outlets`,
    in place of those of outlets, and orders, a number or "all": in how many orders of messages they run at most; what
    other orders show are findings of the first one's result, or of its error, which has them as notes.""",
}
"""What docstrings of questions say alike of their parameters."""


def _question(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Check the arguments of a question, and say in its docstring what is said of all questions' parameters."""
    head, title, rest = inspect.cleandoc(function.__doc__ or "").partition("Parameters\n----------\n")
    section, gap, behind = rest.partition("\n\n")
    names = [*inspect.signature(function).parameters]
    entries = [*re.split(r"\n(?=\S)", section), *(_SHARED[name] for name in names if name in _SHARED)]
    if title:  # docstrings are there
        entries.sort(key=lambda entry: names.index(re.findall(r"\w+", entry)[0]))
        function.__doc__ = head + title + "\n".join(entries) + gap + behind
    return checked(function)


def _settings(selector: Selecting) -> CollectiveSettings | None:
    if selector is None or isinstance(selector, CollectiveSettings):
        return selector
    return CollectiveSettings(selector)


@_question
def collective(
    operation: str,
    message_size: Whole | Problem | None = None,
    processes: Count | None = None,
    *,
    on: Where | Place,
    algorithm: str | None = None,
    selector: Selecting = None,
    root: Whole = 0,
    rounds: Count = 1,
    **how: Unpack[How],
) -> SimulationResult:
    """Simulate a collective operation.

    Parameters
    ----------
    operation : str
        One that has schedules, like ``bcast``.
    message_size : int or Problem
        Bytes, 0 or more, as of `commmodel.collectives.Problem`; or such a one, which says all of the call. A barrier
        has none.
    algorithm : str, optional
        By default what the selector picks.
    root : int
        Rank, from 0 to `processes` - 1.
    rounds : int
        Calls one after the other, 1 or more.

    Raises
    ------
    InputError
        If there is no such operation, algorithm, place or model, or a number is out of range.

    Examples
    --------
    >>> from commmodel import simulate
    >>> simulate.collective("bcast", 1 << 20, 16, on="graphene")
    SimulationResult(hybrid: 0.0308625 s, 16 ranks, 240 messages)
    >>> tree = simulate.platform.fat_tree(down=[4, 4], up=[1, 2], parallel=[1, 1], bandwidth=12.5e9, latency=1e-6)
    >>> [round(1e6 * simulate.collective("alltoall", size, on=tree).seconds) for size in (1024, 65536)]
    [6, 196]
    """
    where = _place(on, how)
    if isinstance(message_size, Problem):
        if processes is not None or root:
            raise InputError("processes and root are of the Problem: leave them out beside it")
        problem = message_size
    elif message_size is None and operation != "barrier":
        raise refuse("message_size", message_size, "give the bytes, or a Problem")
    else:
        problem = Problem(where.processes(processes), message_size or 0, root)
    workload = workloads.collective(
        where, operation, problem, algorithm=algorithm, settings=_settings(selector), rounds=rounds
    )
    return _run(where, workload, how)


@_question
def exchange(
    kind: str | os.PathLike[str],
    message_size: Whole | None = None,
    processes: Count | None = None,
    *,
    on: Where | Place,
    dimensions: Dimensions = 2,
    rounds: Count = 1,
    **how: Unpack[How],
) -> SimulationResult:
    """Simulate an exchange between neighbours, or of the messages that a file lists.

    Parameters
    ----------
    kind : {"halo", "ring", "irregular", "pairwise"} or path
        What `commmodel.simulate.scenario.workloads.exchange` makes; or a CSV file with sender, receiver and bytes.
    message_size : int, optional
        Bytes of each message, 0 or more; none of a file.
    dimensions : int
        Of a halo's periodic grid, 1 to 3.
    rounds : int
        Exchanges one after the other, 1 or more.

    Raises
    ------
    InputError
        If there is no such exchange, file, place or model, or a number is out of range.

    Examples
    --------
    >>> from commmodel import simulate
    >>> simulate.exchange("halo", 65536, 16, on="switch", dimensions=2)
    SimulationResult(fluid: 0.0028262 s, 16 ranks, 64 messages)
    """
    where = _place(on, how)
    if message_size is None:
        if kind in get_args(Exchange):
            raise InputError(f"message_size: give the bytes of each message of the {kind} exchange")
        workload = workloads.messages(os.fspath(kind), processes, rounds=rounds)
    else:
        workload = workloads.exchange(
            where, cast(Exchange, kind), message_size, processes, dimensions=dimensions, rounds=rounds
        )
    return _run(where, workload, how)


@_question
def application(
    name: Application,
    problem: NASClass = "A",
    processes: Count | None = None,
    *,
    on: Where | Place,
    iterations: Count | None = None,
    selector: Selecting = None,
    **how: Unpack[How],
) -> SimulationResult:
    """Simulate messages and computation of LU or CG of the NAS benchmarks.

    Parameters
    ----------
    name : {"lu", "cg"}
    problem : str
        Problem class, S to D.
    iterations : int, optional
        1 or more; by default those of the class.

    Raises
    ------
    InputError
        If there is no such kernel, class, place or model, or a number is out of range.

    Examples
    --------
    >>> from commmodel import simulate
    >>> simulate.application("cg", "S", 16, on="graphene", iterations=1).messages
    2840
    """
    where = _place(on, how)
    workload = workloads.application(
        where, name, problem, processes, iterations=iterations, settings=_settings(selector)
    )
    return _run(where, workload, how)


@_question
def replay(
    trace: "str | os.PathLike[str] | Recording | Sequence[str | os.PathLike[str] | Recording]",
    processes: Count | None = None,
    *,
    on: Where | Place,
    faster: Positive = 1.0,
    scaling: ProblemGrowth | None = None,
    grid: tuple[int, ...] | None = None,
    selector: Selecting = None,
    **how: Unpack[How],
) -> SimulationResult:
    """Simulate what a program did: a recording, or traces of another program.

    Recordings also tell what the program would do on another number of processes.

    Parameters
    ----------
    trace : path or Recording, or a sequence of them
        Folder of a recording, or several of the same program on other numbers of processes; a trace, a folder of
        traces, or a file that lists the traces of ranks, by names relative to its folder, as
        `commmodel.simulate.traces.load` reads them.
    processes : int, optional
        By default that of the trace.
    scaling, grid
        Of a recording on another number of processes, as of `commmodel.record.workload`.
    faster : float
        How many times faster cores are than those of a recording or of traces in seconds, above 0.

    Raises
    ------
    InputError
        If there is no such trace or place, or a number is out of range.
    DamagedFileError
        If the trace is not what its format says.

    Examples
    --------
    ``simulate.replay("recording", on="graphene").seconds`` is how long the recorded program takes there.
    """
    where = _place(on, how)
    workload = replayed(
        where, trace, processes, faster=faster, speed=how.get("speed"), settings=_settings(selector),
        scaling=scaling, grid=grid,
    )  # fmt: skip
    return _run(where, workload, how)


def replayed(
    where: Place,
    trace: "str | os.PathLike[str] | Recording | Sequence[str | os.PathLike[str] | Recording]",
    processes: int | None = None,
    *,
    faster: float | None = None,
    speed: float | None = None,
    settings: CollectiveSettings | None = None,
    scaling: ProblemGrowth | None = None,
    grid: tuple[int, ...] | None = None,
) -> Workload:
    """Return the workload of a recording, or of traces of other programs; parameters are those of `replay`."""
    from commmodel import record as recordings
    from commmodel.simulate.traces import is_foreign

    items = [trace] if isinstance(trace, str | os.PathLike | recordings.Recording) else [*trace]
    if not items:
        raise InputError("no recording, and no trace")
    first, *rest = items
    path = "" if isinstance(first, recordings.Recording) else os.fspath(first)
    recording = recordings.load(path) if path and recordings.is_recording(path) else first
    if not isinstance(recording, recordings.Recording) and (rest or scaling or grid):
        raise InputError(f"{path} is no recording: only recordings tell what a program does on other numbers of ranks")
    if not isinstance(recording, recordings.Recording) and not is_foreign(path):
        if faster not in (None, 1.0):
            raise InputError(
                "faster is of recordings and traces in seconds: of time-independent ones give `speed`", "faster"
            )
    elif speed is not None:
        raise InputError("speed is of time-independent traces: of others, which are in seconds, give `faster`", "speed")
    factor = 1.0 if faster is None else faster
    if isinstance(recording, recordings.Recording):
        further = [item if isinstance(item, recordings.Recording) else recordings.load(item) for item in rest]
        return recordings.workload(
            where, recording, processes, further=further, faster=factor, settings=settings, scaling=scaling, grid=grid
        )
    return workloads.replay(where, path, processes, faster=factor, settings=settings)


@_question
def jobs(
    traces: "Sequence[str | os.PathLike[str] | Recording]",
    *,
    on: Where | Place,
    faster: Positive | None = None,
    selector: Selecting = None,
    **together: Unpack[JobsHow],
) -> "JobRuns":
    """Simulate several programs at once on one platform, and each of them alone in the same place.

    Parameters
    ----------
    traces : sequence of path or Recording
        2 to 8 recordings, or traces of other programs, as of `replay`; each has its own number of ranks.
    faster : float, optional
        As of `replay`, of all jobs.
    **together
        model, placement, per_node, seed, speed and scale of `commmodel.simulate.scenario.run_jobs`.

    Raises
    ------
    InputError
        If there are too few or too many jobs, no room for them, no such trace or place, or no links.
    DamagedFileError
        If a trace is not what its format says.

    Examples
    --------
    ``simulate.jobs(["fft", "cfd"], on="graphene").to_dict()["slowdown"]`` is how many times slower each is beside the
    other.
    """
    from commmodel.simulate.scenario import run_jobs

    where, settings, speed = place(on), _settings(selector), together.get("speed")
    works = [replayed(where, trace, faster=faster, speed=speed, settings=settings) for trace in traces]
    return run_jobs(where, works, **together)


@_question
def command(
    words: Sequence[str],
    ranks: Count | None = None,
    *,
    on: Where | Place,
    computation: "float | RecordedComputation" = 1.0,
    outlets: "Outlets | None" = None,
    selector: Selecting = None,
    **how: Unpack[ProgramHow],
) -> SimulationResult:
    """Run an MPI program, unchanged, while it is simulated.

    Parameters
    ----------
    words : sequence of str
        The program and its arguments: one of Python, or one that is linked with MPICH's ABI.

    Raises
    ------
    InputError
        If there is no such program or place, or a number is out of range.
    RankEndedError
        If a rank ends before its time.
    MPIEnvironmentError
        If our MPI library is not built, or the program needs another one.

    Examples
    --------
    ``simulate.command(["python", "app.py"], 64, on="graphene").seconds`` is how long it takes there.
    """
    from commmodel.simulate import online

    where = _place(on, how, ProgramHow)
    count = where.processes(ranks, "ranks")
    workload = partial(online.workload, where, words, count, computation=computation, settings=_settings(selector))
    return _run_program(where, workload, outlets, how)


@_question
def function(
    target: Callable[..., Any],
    ranks: Count | None = None,
    *,
    on: Where | Place,
    args: Sequence[Any] = (),
    computation: "float | RecordedComputation" = 1.0,
    outlets: "Outlets | None" = None,
    selector: Selecting = None,
    **how: Unpack[ProgramHow],
) -> SimulationResult:
    """Call a Python function on each rank while its messages are simulated.

    Parameters
    ----------
    target : callable
        Called with the communicator of all ranks, an `mpi4py.MPI.Comm`, and then with `args`. It may be of a notebook,
        a lambda, or within another function: ranks are processes of their own, and get a copy.
    args : sequence
        Further arguments, the same for each rank.

    Returns
    -------
    SimulationResult
        With what each rank returned in `returned`; None of a rank that hangs.

    Raises
    ------
    InputError
        If the function or its arguments cannot be sent to another process, or there is no such place.
    RankEndedError
        If the function raises on a rank: its traceback is a note of the error.
    MPIEnvironmentError
        If our MPI library is not built.

    Examples
    --------
    ``simulate.function(lambda comm: comm.allreduce(comm.rank), 4, on="graphene").returned`` is ``(6, 6, 6, 6)``.
    """
    from commmodel.simulate import online

    where = _place(on, how, ProgramHow)
    count = where.processes(ranks, "ranks")
    with tempfile.TemporaryDirectory(prefix="commmodel-") as folder:
        online.write_call(folder, target, tuple(args), sys.path)
        words = [sys.executable, online.FUNCTION_RANK, folder]
        name = getattr(target, "__name__", type(target).__name__)
        workload = partial(
            online.workload, where, words, count, computation=computation, settings=_settings(selector), name=name
        )
        answers = partial(online.read_returned, folder, count)
        return _run_program(where, workload, outlets, how, answers, partial(online.explained, folder=folder))


def _place(on: Where | Place, how: How, words: type[How] = How) -> Place:
    """Return the place; raise for what is none, and for a name that is none of the words."""
    for name in how:
        if name not in words.__annotations__:
            raise InputError(f"unknown argument {name}: {choice_of(name, words.__annotations__)}")
    return place(on)


def _run_program(
    where: Place,
    workload: "partial[Workload]",
    outlets: "Outlets | None",
    how: ProgramHow,
    returned: Callable[[], tuple[Any, ...]] = tuple,
    explained: Callable[[RankEndedError], RankEndedError] = lambda error: error,
) -> SimulationResult:
    """Run a program, and where that is asked for in other orders of its messages, too.

    Parameters
    ----------
    returned : callable
        Returns what the ranks of the last run returned.
    explained : callable
        Returns the error of the last run with what is known of it.

    Raises
    ------
    DeadlockError, RankEndedError
        Where the first run does not come to its end; what other orders have shown are notes and findings of the error.
    """
    from commmodel.simulate.online import Outlets
    from commmodel.simulate.online.decisions import RunRecord
    from commmodel.simulate.online.orders import Exploration, run_orders

    choice("clocks", how.get("clocks", "machine"), ProgramClocks)
    settings: Any = {name: how[name] for name in ("check", "clocks") if name in how}
    if how.get("record"):
        settings["sites"] = True
    outlets, orders, record = replace(outlets or Outlets(), **settings), how.get("orders", 1), RunRecord()
    most = None if orders == "all" else whole("orders", orders, least=1)
    deadlock, how = how.get("deadlock", "raise"), {**how, "deadlock": "return"}
    computation = workload.keywords["computation"]
    if most != 1 and isinstance(computation, int | float) and computation:
        raise refuse("computation", computation, "give 0, or that of a recording, or no two orders would be alike")

    def explored() -> Exploration:
        def prepared(work: Workload) -> Scenario:
            return prepare(where, work, **_preparing(how))

        return run_orders(record, lambda outlets: workload(outlets=outlets), prepared, most, outlets)

    try:
        result = _run(where, workload(outlets=outlets if most == 1 else replace(outlets, record=record)), how)
    except RankEndedError as first_error:
        error = explained(first_error)
        if most != 1:
            other = explored()
            error.findings = (*error.findings, *other.findings)
            for line in (*(f"finding: {finding}" for finding in other.findings), f"note: {other.note}"):
                error.add_note(line)
        raise error from None
    result = replace(result, returned=returned())
    if most != 1 and record.alternatives(record.decisions()):
        other = explored()
        result = replace(result, findings=(*result.findings, *other.findings), notes=(*result.notes, other.note))
    return result.or_deadlock(deadlock)


def _preparing(how: How) -> dict[str, Any]:
    """Return what of the settings is for the preparation of a scenario."""
    return {name: value for name, value in how.items() if name in inspect.signature(prepare).parameters}


def _run(where: Place, workload: Workload, how: How) -> SimulationResult:
    running: Any = {name: how[name] for name in ("record", "deadlock", "slopes") if name in how}
    return prepare(where, workload, **_preparing(how)).run(**running)
