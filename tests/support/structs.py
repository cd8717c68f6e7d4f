"""Instances of the public structs of all packages, made by the calls that users make."""

import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from support import html_pages, overlap_samples, report_samples, scaling_samples
from support.paths import ROOT

import commmodel
from commmodel import (
    advice,
    collectives,
    fit,
    formats,
    guard,
    machine,
    models,
    optimize,
    placement,
    predict,
    record,
    results,
    scaling,
    statistics,
    sweep,
    tuning,
)
from commmodel.arguments import Bounds
from commmodel.bench import kernels
from commmodel.collectives import Problem, library
from commmodel.machine import LogGP, Parameter
from commmodel.optimize.validation import validate
from commmodel.scaling.overview import overview
from commmodel.simulate import (
    SMPI,
    DelayModel,
    DelayParameters,
    Finding,
    critical_path,
    goal,
    platform,
    smpi_collectives,
    study,
    timeline,
    work,
)
from commmodel.simulate.scenario import Scale, place, prepare, run_jobs, workloads
from commmodel.sites import Site

FROZEN = ROOT / "tests/frozen"
UNIQUE = {
    "Exchange": "holds requests of MPI",
    "ExtrapolatedActions": "makes actions piece by piece",
    "ForeignTrace": "reads a file piece by piece",
    "Formula": "a function",
    "Member": "of a collective while it is expanded",
    "InputStruct": "a base",
    "OneLine": "a base",
    "Outlets": "files that are open",
    "ProgressLine": "a line that is shown",
    "RecordedActions": "reads a recording piece by piece",
    "RecordedComputation": "reads a recording piece by piece",
    "Recording": "reads a recording piece by piece",
    "Round": "holds functions of an algorithm",
    "StepSource": "a protocol",
    "StructureModel": "holds functions",
    "SampledBlock": "part of a running program",
    "Scaling": "a fixture",
    "Scenario": "holds what makes the program",
    "ScenarioRuns": "holds what makes the program",
    "SurfaceAxes": "a tuple of what the caller has",
    "Tabular": "a base",
    "Trace": "reads a file piece by piece",
    "Topology": "a base",
    "Transfer": "holds the buffers of a program",
    "Value": "a base",
    "Workload": "holds what makes the program",
    "Writer": "a file that is open",
}
"""Public classes that are no values, and why."""


def public_classes() -> dict[type, str]:
    """Return the structs that public packages promise, and the package of each."""
    classes: dict[type, str] = {}
    for part in pkgutil.walk_packages(commmodel.__path__, "commmodel."):
        words = part.name.split(".")
        if words[1] in {"_core", "cli", "report", "__main__"} or not (part.ispkg or len(words) == 2):
            continue
        module = import_module(part.name)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            is_struct = inspect.isclass(value) and not issubclass(value, BaseException | Enum)
            if is_struct and value.__module__.startswith("commmodel") and name not in UNIQUE:
                classes[value] = part.name
    return classes


def makers() -> dict[str, Callable[[Path], Any]]:
    """Return functions that make instances, by the package they are of; each takes an empty folder."""
    return {
        "arguments": lambda _: Bounds(ge=1),
        "bench": lambda _: kernels.REGISTRY,
        "collectives": lambda _: [
            *(collectives.OPERATIONS, collectives.ALGORITHMS, collectives.build("bcast", "binomial", Problem(8, 1024))),
            *(Problem(8, nodes=collectives.Nodes(2, {"bcast": "binomial"})), collectives.CollectiveSettings("mpich")),
            *(library.load(FROZEN / "selector-1.toml"), library.load("mpich"), smpi_collectives.Selection("ompi")),
        ],
        "fit": lambda _: [fit.FitSettings(), fit.fit_report(report_samples.measurements(report_samples.records()))],
        "formats": lambda _: [
            formats.REGISTRY,
            formats.Placement(4, 2),
            *formats.Text(Path("r.txt"), ("8 B",)).numbered(),
        ],
        "guard": lambda _: of_guard(),
        "machine": lambda _: of_machine(),
        "models": lambda _: models.collectives.CLOSED_FORMS,
        "optimize": lambda _: of_optimize(),
        "advice": lambda _: of_advice(),
        "placement": lambda _: of_placement(),
        "predict": lambda _: of_predict(),
        "record": lambda _: of_record(),
        "results": lambda _: [results.load(FROZEN / "results-1.jsonl"), report_samples.cluster_measurements()],
        "scaling": lambda _: of_scaling(),
        "simulate": lambda _: of_simulate(),
        "statistics": lambda _: statistics.summarise([1.0, 2.0, 3.0]),
        "sweep": of_sweep,
        "tuning": lambda _: of_tuning(),
    }


def of_guard() -> Any:
    """Return guards, counts and their comparison."""
    site = guard.SiteCounts("app.py", 3, "step", "MPI_Send", 4, 32)
    before, after = (
        guard.Counts(runs=(guard.RunCounts("app", 4, messages=messages, sites=(site,) * messages),))
        for messages in (1, 2)
    )
    rules = guard.Guard((guard.GuardedProgram("app", (4,)),), times=guard.GuardTimes("run {side} {output}"))
    return rules, guard.GuardResult(after, guard.compare(before, after, rules))


def of_machine() -> list[Any]:
    hybrid, plain = (machine.load(FROZEN / f"machine-1{kind}.toml") for kind in ("-hybrid", ""))
    second = Parameter(1e-6, "s")
    plogp = machine.PLogP(second, (1, 1024), (1e-6, 2e-6), (1e-6, 2e-6), (1e-6, 2e-6))
    table = machine.ParameterTable((1024.0, 65536.0), (1.0, 8.0), ((1.0, 1.0), (1.0, 1.0)))
    profile = machine.BandwidthProfile("cross", "one-way", table)
    rate = machine.MessageRate(Parameter(1e8, "1/s"), 32)
    times = machine.CollectiveTimes("bcast", (4, 8), (8, 1024), (1e-6, 2e-6), "binomial", "binomial", 2)
    return [
        hybrid,
        plain,
        plogp,
        loggp(),
        rate,
        one_sided_put(),
        times,
        profile,
        machine.choose_model(plain.segments[0]),
        *overlapping().overlap,
        *sending().sending,
    ]


def one_sided_put() -> machine.CallCost:
    return machine.CallCost("one-sided", "put", Parameter(1e-6, "s"), sizes=(8, 8))


def sending() -> machine.Machine:
    measured = machine.MeasuredTimes((1024, 1 << 20), (1e-6, 1e-4))
    costs = machine.PieceCosts("vector", "numpy", (1024,), (8,), ((1e-9,),))
    times = machine.ObjectTimes("dict", "pickle", measured)
    row = machine.Sending("any", measured, (costs,), (times,))
    return machine.Machine("m", (machine.Segment("all"),), sending=(row,))


def direct_message() -> machine.CallCost:
    return machine.CallCost("device", "direct", Parameter(6e-6, "s"), "between-nodes", sizes=(8, 8))


def overlapping() -> machine.Machine:
    return overlap_samples.machine(overlap=(overlap_samples.PROFILE,))


def loggp() -> LogGP:
    return LogGP(*(Parameter(1e-6, "s") for _ in range(3)), Parameter(1e-9, "s/B"))


def of_optimize() -> list[Any]:
    costs = optimize.MessageCosts(overhead=2e-6, latency=10e-6, byte_time=1 / 900e6)
    problem = optimize.TransferProblem(volume=1 << 20, computation=500e-6)
    chosen = optimize.choose(costs, problem, optimize.Candidates())
    many = optimize.TransferProblems(volume=np.array([1 << 20]), computation=500e-6)
    axes = optimize.SurfaceAxes(np.array([1 << 20]), np.array([1024]), np.array([4]), np.array([1e-3]))
    return [
        *(
            many,
            optimize.choose(costs, many),
            costs,
            problem,
            optimize.PeerTransfer(1 << 20, 5e-4),
            optimize.Candidates(),
            chosen,
            optimize.sensitivity(costs, problem),
            axes,
        ),
        optimize.how_to_send(optimize.PieceLayout(128, 8), sending()),
        optimize.PieceLayout(128, 8),
        optimize.PickledObject(1024),
        optimize.PartitionedGain(4, predict.Seconds(2e-6), predict.Seconds(1e-6)),
        *(optimize.RejectedCandidate(1024, 4, 1e-3), validate(html_pages._overlap(), overlapping())),
    ]


def of_advice() -> list[Any]:
    switch = place("switch")
    return [advice.advise(workloads.exchange(switch, "ring", 1024, 4), on=switch)]


def of_placement() -> list[Any]:
    candidate = placement.CandidateMapping("block", np.array([0, 1], np.int32), 1e-3, 1024.0)
    mapping = placement.RankMapping("ring", platform.load("switch"), "fluid", (candidate,), 1024.0)
    return [mapping, placement.traffic_of(work.ring(1024, 4))]


def of_predict() -> list[Any]:
    with_loggp = machine.Machine("m", (machine.Segment("all", loggp=loggp()),))
    comparison = predict.compare(report_samples.cluster(), report_samples.cluster_measurements())
    return [
        *(predict.send(report_samples.cluster(), 1024, processes=4), comparison, predict.summarise(comparison.rows)),
        predict.collective(with_loggp, "bcast", Problem(8, 1024)),
        predict.side_by_side({"cluster": report_samples.cluster()}, [64, 1024], processes=4),
        predict.collective(with_loggp, "bcast", [8, 1024], 8),
        predict.calls(overlap_samples.machine(calls=(one_sided_put(),)), "one-sided"),
        predict.device_ways(overlap_samples.machine(calls=(direct_message(),)), 8)[0],
        predict.tune(with_loggp, [8], [8, 1024], "openmpi", collectives=["bcast"]),
    ]


def of_record() -> list[Any]:
    recording = record.load(FROZEN / "recording-1")
    summaries = record.profile, record.matrix, record.efficiency, record.timeline, record.critical_path
    exchange = record.costliest_exchange(recording, record.profile(recording))
    (content, *_) = record.site_contents(record.load(FROZEN / "recording-1-layouts"))
    summaries = [summary(recording) for summary in summaries]
    return [record.CALLS, *summaries, exchange, content, Site("solver.py", 81, "step")]


def of_scaling() -> list[Any]:
    p, values, terms = [2, 4, 8, 16, 32], [[1.0, 2.0]] * 5, [scaling.parse_growth("log p"), scaling.parse_growth("p")]
    growing = scaling_samples.measured({"bcast": "p", "barrier": "log p"}, launches=2)
    rule = scaling.parse_rule("bcast <= 2 * barrier")
    judgement = scaling.judge(p, values, terms[0])
    slow = scaling.SlowNode("node", ("node3",), 1 << 20, 0.1, 1e-6)
    doubt = scaling.PhysicsDoubt("efa.txt", "latency", "pingpong", 4.9e-7, "pingpong takes 490 ns")
    grid = [axis.ravel() for axis in np.meshgrid([2.0, 4, 8, 16, 32], [1.0, 2, 4, 8, 16])]
    return [
        doubt,
        slow,
        *(judgement, scaling.predict_at(judgement.ensemble, 64), scaling.fit(p, [[1.0, 2, 3, 4, 5]], terms)),
        scaling.check(growing, scaling.load("mpi"), baseline=growing),
        *(
            scaling.load(FROZEN / "expectations-1.toml"),
            scaling.differences(growing, growing),
            scaling.collect(growing),
            _history(),
        ),
        *(overview(growing, scaling.load("mpi")), scaling.fit_surface(*grid, grid[0] * grid[1], terms, terms)),
        *(scaling.CheckSettings(), scaling.MemoryLimit(1e9), scaling.Violation(rule, "larger", 8.0, 2.0)),
        scaling.BrokenRule(rule, "time", "p", (), "larger", 8.0, 2.0, True),
    ]


def _history() -> scaling.History:
    """Return what became slower in the third of four weeks."""

    def week(number: int, seconds: float) -> results.Measurements:
        library, call = results.Library("MPI"), results.configurations.Collective("bcast", 8, 4)
        return results.Measurements(
            tuple(
                results.Launch(
                    results.Header(
                        "commmodel-results", 1, f"2026-01-{number:02}T0{launch}:00:00+00:00", (), library, (), ()
                    ),
                    (results.Record(call, "s", (seconds * (1 + launch / 100),) * 20),),
                )
                for launch in range(5)
            )
        )

    return scaling.history({f"week{number}": week(number, 1e-6 * (1 + 2 * (number > 2))) for number in range(1, 5)})


def of_simulate() -> list[Any]:
    graphene = place("graphene")
    scenario = prepare(graphene, workloads.collective(graphene, "bcast", Problem(8, 1024)))
    result = scenario.run(record=True)
    parameters = DelayParameters(L=4.0, o=1.0, G=0.5)
    ring = workloads.exchange(graphene, "ring", 1024, 4)
    return [
        run_jobs(graphene, [ring, ring]),
        critical_path.critical_path(result).by_kind(),
        critical_path.SiteGain("solver.py:81, MPI_Send", 1.0, 0.5, 0.2),
        study.load(FROZEN / "study-1.toml"),
        study.StudyRun("switch", "ring -n 8"),
        *(result, timeline.Timeline.of(result, "bcast"), work.collective("bcast", Problem(8, 1024)), SMPI),
        *(graphene, place("L=4us,o=1us,g=2us,G=6ns"), Scale(bandwidth=2.0), DelayModel(parameters)),
        *(platform.load("graphene"), platform.fat_tree([4, 4], [1, 2], [1, 2], 125e6, 15e-6, cores=2)),
        *(goal.from_collective(collectives.build("bcast", "binomial", Problem(8, 1024))), smpi_collectives.RankCall(8)),
        replace(platform.load("graphene"), description=None),
        Finding("leak of a group", "never freed", (0, 2), ("MPI_Comm_group, app.py:3",), 2),
    ]


def of_tuning() -> list[Any]:
    rules = library.tuning.tune(lambda *_: 1.0, ["bcast"], [8], [8], "mpich")
    row = ("bcast", 8, 8, "binomial", 1.2, 1.1, 1.3, "measured")
    answer = tuning.MeasuredRules(predict.LibraryRules("mpich", rules, ()), (row,), 8, 15, 5, ())
    return [answer, tuning.TuningLaunches("rules.jsonl")]


def of_sweep(folder: Path) -> list[Any]:
    words = ("commmodel-sweep", 1, (2, 4), 2, ("collective",), "mpiexec -n {processes}", "python3", 1, "")
    plan = sweep.Plan(*words, sweep.Slurm(("--exclusive",), 2))
    states = sweep.states(folder, plan)
    return [plan, states, sweep.GatherResult(states, states[:1]), sweep.Failure(states[0].job, "no launcher")]


def within(value: Any, instances: dict[type, Any] | None = None) -> dict[type, Any]:
    """Return the structs of commmodel in a value, one of each class."""
    instances = {} if instances is None else instances
    kind = type(value)
    if isinstance(value, msgspec.Struct):
        parts = [getattr(value, name) for name in value.__struct_fields__]
    elif is_dataclass(value) and not inspect.isclass(value):
        parts = [getattr(value, field.name) for field in fields(value)]
    elif isinstance(value, Mapping):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, tuple | list):
        parts = [*value]
    else:
        return instances
    if kind.__module__.startswith("commmodel"):
        instances.setdefault(kind, value)
    for part in parts[:2000]:
        within(part, instances)
    return instances
