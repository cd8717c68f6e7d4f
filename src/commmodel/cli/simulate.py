"""The verb ``simulate``: a program on a platform, how long it takes and why, as tables, timelines and charts."""

import argparse
import os
import sys
from typing import Any

from commmodel.cli.parsers import new_verb, print_json, show, warn_of
from commmodel.cli.simulate_scenario import MODELS, Place, place, simulator
from commmodel.cli.simulate_workload import EXCHANGES, KERNELS, Workload, workload
from commmodel.errors import InputError, MissingPackageError

__all__ = ["add"]

_DEADLOCK = 2


def add(verbs: Any) -> None:
    """Add the verb."""
    simulate = new_verb(
        verbs, "simulate", _run, "a program on a platform: how long it takes, and why",
        "commmodel simulate graphene -p 64 --collective alltoall -n 100KiB -o timeline.html",
    )  # fmt: skip
    simulate.add_argument(
        "platform", metavar="PLATFORM", nargs="?",
        help="platform file (TOML, XML), name of a published one, or a machine (file or name): one switch; none is "
        "needed with --parameters L=...",
    )  # fmt: skip
    simulate.add_argument("-p", "--ranks", metavar="P", help="number of ranks (one for each core of the platform)")
    work = simulate.add_argument_group("what to simulate, one of")
    work.add_argument("--collective", metavar="OPERATION", help="bcast, alltoall, ..., as in commmodel predict")
    work.add_argument("--exchange", metavar="KIND", help=f"{', '.join(EXCHANGES)}, or a .csv: sender,receiver,bytes")
    work.add_argument("--kernel", choices=KERNELS, help="messages as of the NAS kernels LU and CG")
    work.add_argument("--replay", metavar="LIST", help="time-independent traces: the file that lists them")
    work.add_argument("--goal", metavar="FILE", help="GOAL schedule")
    more = simulate.add_argument_group("more about it")
    more.add_argument("-n", "--size", help="of each message, like 64KiB; of a collective, what MPI's count says")
    more.add_argument("--algorithm", metavar="A", help="of the collective (what the selector picks)")
    more.add_argument(
        "--selector", metavar="S", help="library or file of rules that picks algorithms, or smpi (the machine's, mpich)"
    )
    more.add_argument("--root", help="of bcast, reduce, gather or scatter (0)")
    more.add_argument("--segment-size", metavar="SIZE", help="of the pieces of a message (what the rules say)")
    more.add_argument("--copy", metavar="TIME", help="of a byte within memory, like 0.125ns/B (0)")
    more.add_argument("--reduction", metavar="TIME", help="of combining a byte, like 0.25ns/B (0)")
    more.add_argument("--rounds", metavar="N", help="how often the collective or the exchange is done (1)")
    more.add_argument("--dimensions", metavar="D", help="of the halo exchange: 1, 2 or 3 (2)")
    more.add_argument("--class", dest="problem", metavar="C", help="of the kernel: S, W, A, B, C or D (A)")
    more.add_argument("--iterations", metavar="N", help="of the kernel (as many as the class has)")
    more.add_argument("--speed", metavar="FLOPS", help="of a core in flop/s, for computation (the platform's)")
    more.add_argument("--rules", choices=("classic", "newer"), help="of the schedule's messages (classic)")
    model = simulate.add_argument_group("how")
    model.add_argument(
        "--model",
        choices=MODELS,
        help="(hybrid, else loggps, with a machine; smpi with XML; else fluid; loggops with --goal)",
    )
    model.add_argument(
        "--parameters",
        metavar="SET",
        help="smpi, or a machine (file or name), for a platform; or a delay model's one by one, like "
        "L=2500ns,o=1500ns,g=1us,G=6ps,O=0,S=64KiB",
    )
    model.add_argument("--path", help="of the machine whose parameters are taken (between-nodes where it has it)")
    model.add_argument("--hosts", metavar="H", help="of a machine's switch (one for each rank)")
    model.add_argument("--mapping", metavar="M", help="block, round-robin, or a file that names a host on each line "
                       "(block while cores last)")  # fmt: skip
    model.add_argument("--compare", nargs="+", metavar="OTHER", default=[],
                       help="further models, or measured timelines (.csv, .json), to set beside it")  # fmt: skip
    output = simulate.add_argument_group("files to write")
    output.add_argument("-o", "--output", help="HTML page with a Gantt chart of each model (none)")
    output.add_argument(
        "--trace", metavar="FILE", help="timeline: .json for Perfetto, .paje, or .csv, .gz behind (none)"
    )


def _run(asked: argparse.Namespace) -> int:
    """Simulate, write files, and print tables or JSON."""
    from commmodel.simulate import timeline

    others = _others(asked.compare)
    if asked.trace is not None:
        _check_trace(asked.trace, timeline)
    page = None if asked.output is None else _page_writer()
    code = 0 if page is not None or asked.output is None else MissingPackageError.exit_code
    if page is None:
        asked.output = None  # is not written
    for path in (asked.output, asked.trace):
        _check_folder(path)
    found = place(asked)
    warn_of(found.machine)
    work = workload(asked, found.cores, found.selector())
    simulators = [simulator(asked.model, found, work, asked)]
    simulators += [simulator(name, found, work, asked) for name in others if name in MODELS]
    if len({one.model for one in simulators}) < len(simulators):
        raise InputError(f"--compare {simulators[0].model}: it would be set beside itself, name another model")
    measured = [timeline.read(path) for path in others if path not in MODELS]
    for one in measured:
        if one.processes != work.processes:
            problem = f"a timeline of {one.processes} ranks beside a program of {work.processes}"
            raise InputError(f"--compare {one.name}: {problem}: measure and simulate the same number (-p)")
    recorded = page is not None
    outcomes = [one.run(recorded or (index == 0 and asked.trace is not None)) for index, one in enumerate(simulators)]

    timelines = [timeline.Timeline.of(outcome, one.model) for outcome, one in zip(outcomes, simulators, strict=True)]
    results = _results(simulators, outcomes) + [_measured(one) for one in measured]
    hanging = [(one.model, outcome) for one, outcome in zip(simulators, outcomes, strict=True) if outcome.blocked]
    title = f"{work.words}, {found.name}"
    notes = _crowded(found, simulators, work)
    try:
        if asked.trace is not None:
            timeline.write(asked.trace, timelines[0])
        if page is not None:
            _write_page(page, asked.output, title, simulators, results, [*timelines, *measured])
    except InputError as error:
        if not hanging:  # else that is what people have to know first
            raise
        asked.output = None
        notes.append(f"not written: {error}")
    if asked.json:
        print_json({**_as_json(asked, found, work, results, hanging), "notes": notes})
    elif not hanging:
        _print(asked, title, results)
    if hanging:
        code = _deadlocked(hanging)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    return code


def _crowded(found: Place, simulators: list[Any], work: Workload) -> list[str]:
    """Say where ranks are more than the cores of a platform: models know nothing of ranks that take turns."""
    if found.cores is None or work.processes <= found.cores or all(one.platform is None for one in simulators):
        return []
    said = f"{work.processes} ranks on the {found.cores} cores of {found.name}"
    return [f"{said}: several share a core, and the model lets each compute as if it had its own"]


def _page_writer() -> Any:
    """Return what writes the page; nothing where a package is missing, said before a long simulation."""
    from commmodel import report

    try:
        return report.write_gantt
    except MissingPackageError as error:
        print(f"note: {error}; tables only", file=sys.stderr)
        return None


def _write_page(
    write: Any, path: str, title: str, simulators: list[Any], results: list[Any], timelines: list[Any]
) -> None:
    """Write the page of charts; its tables tell waiting from transferring, which only timelines can."""
    from dataclasses import replace

    from commmodel.report.simulation.gantt_page import axis_seconds
    from commmodel.report.simulation.summary import loads_of, rank_parts, result_parts, spent_in_states

    seconds = axis_seconds(timelines)
    told = [replace(one, spent=spent_in_states(each)) for one, each in zip(results, timelines, strict=True)]
    said = [f"model {one.name}" if one.outcome else f"measured: {one.name}" for one in results]
    loads = [
        [] if one.platform is None else loads_of(result, one.hosts, one.platform.routing().route, seconds)
        for one, result in zip(simulators, results, strict=False)
    ]
    write(path, title, timelines, result_parts(told), rank_parts(told), said, loads)


def _others(words: list[str]) -> list[str]:
    """Return what is compared; a word that is neither a model nor looks like a file is refused before all work."""
    others = [word for part in words for word in part.split(",") if word]
    for word in others:
        if word not in MODELS and not word.lower().removesuffix(".gz").endswith((".csv", ".json")):
            raise InputError(
                f"--compare {word}: choose {', '.join(MODELS)}, or a timeline that was measured (.csv, .json)"
            )
    if len(set(others)) < len(others):
        raise InputError("--compare names something twice: name it once")
    return others


def _check_trace(path: str, timeline: Any) -> None:
    if not path.lower().removesuffix(".gz").endswith(tuple(timeline.WRITERS)):
        raise InputError(f"--trace {path}: the name must end in {', '.join(timeline.WRITERS)}, with .gz behind or not")


def _check_folder(path: str | None) -> None:
    """Refuse at once what could not be written at the end of a long simulation."""
    folder = os.path.dirname(os.path.abspath(path)) if path is not None else ""
    if path is not None and not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
        raise InputError(f"{path}: cannot be written: {folder} is no folder that one may write to")


def _results(simulators: list[Any], outcomes: list[Any]) -> list[Any]:
    from commmodel.report.simulation.summary import Result

    return [
        Result(one.model, outcome.seconds, outcome.ends, outcome.spent, outcome,
               () if one.platform is None else one.platform.link_names,
               None if one.platform is None else one.platform.capacity)
        for one, outcome in zip(simulators, outcomes, strict=True)
    ]  # fmt: skip


def _measured(timeline: Any) -> Any:
    import numpy as np

    from commmodel.report.simulation.summary import Result
    from commmodel.simulate.timeline import STATE_NAMES

    rows = timeline.intervals
    ends = np.zeros(timeline.processes)
    np.maximum.at(ends, rows["rank"], rows["end"])
    spent = np.zeros((timeline.processes, len(STATE_NAMES)))
    np.add.at(spent, (rows["rank"], rows["state"]), rows["end"] - rows["start"])
    return Result(timeline.name, timeline.seconds, ends, spent)


def _print(asked: argparse.Namespace, title: str, results: list[Any]) -> None:
    from commmodel.report.kit.terminal import text
    from commmodel.report.simulation.summary import result_tables

    show(text(title, "bold"), *result_tables(results))
    for path in (asked.output, asked.trace):
        if path is not None:
            print(f"written to {path}")
    for one in results:
        if one.outcome is not None and one.outcome.unmatched_messages:
            unmatched = one.outcome.unmatched_messages
            print(f"note: by {one.name}, {unmatched} messages were never received", file=sys.stderr)


def _as_json(
    asked: argparse.Namespace, found: Place, work: Workload, results: list[Any], hanging: list[tuple[str, Any]]
) -> dict[str, Any]:
    import msgspec

    from commmodel.report.simulation.summary import result_as_json

    first, *others = (result_as_json(one) for one in results)
    for one in (first, *others):
        if one["model"] in {model for model, _ in hanging}:
            one["seconds"] = None  # it never ends
    blocked = [
        {"model": model, **msgspec.to_builtins(one), "says": str(one)} for model, outcome in hanging
        for one in outcome.blocked
    ]  # fmt: skip
    return {
        **first,
        "platform": found.name,
        "warnings": [] if found.machine is None or found.machine.origin is None else found.machine.origin.warnings,
        "work": {"title": work.words, **work.facts},
        "compared": others,
        "blocked": blocked,
        "output": asked.output,
        "trace": asked.trace,
    }


def _deadlocked(hanging: list[tuple[str, Any]]) -> int:
    """Say who waits for whom, on standard error."""
    from commmodel.report.simulation.summary import deadlock_lines

    for model, outcome in hanging:
        first, *lines = deadlock_lines(outcome, model)
        print(f"commmodel: {first}", file=sys.stderr)
        for line in lines:
            print(f"    {line}", file=sys.stderr)
    return _DEADLOCK
