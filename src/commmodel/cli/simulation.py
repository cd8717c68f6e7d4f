"""Run what the verb ``simulate`` was asked for: workload and place of its arguments, tables, pages and files."""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, get_args

from commmodel.choices import Application, Exchange
from commmodel.cli import advice, noise, sensitivity, sizes, what_if
from commmodel.cli.critical_path import change_of, path_of
from commmodel.cli.parsers import (
    CALL_OPTIONS,
    check_folder,
    known_machine,
    page_writer,
    print_json,
    show,
    tell,
    tell_findings,
    warn_of,
)
from commmodel.errors import InputError, MissingPackageError, RankEndedError

_DEADLOCK = 2
_WHAT = {
    "processes", "message_size", "algorithm", "root", "segment_size", "rounds", "dimensions", "problem", "iterations",
    *CALL_OPTIONS,
}  # fmt: skip
_HOW = {"mapping", "hosts", "speed", "rules"}
"""Arguments that go to the workload, and to the scenario, under their names."""
_OF_COLLECTIVES = {"selector", "memory_copy", "reduction"}


class _ReadPlaces(dict[str, Any]):
    """Places that a command has read, by what it says of them: each process reads its own."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _ReadPlaces, ()


def _running(arguments: argparse.Namespace, place: Any, options: dict[str, Any], outlets: Any = None) -> Any:
    """Return the workload of a program that runs; what it prints goes to standard error beside JSON."""
    from dataclasses import replace

    from commmodel.simulate import online

    command = _words(arguments)
    if not command:
        raise InputError("no program to run: commmodel simulate graphene run -p 64 -- python app.py")
    command = [word.replace("{processes}", str(place.processes(arguments.processes))) for word in command]
    output: Any = sys.stderr if arguments.json else None
    if arguments.is_one_of_many:  # each run says the same
        output = subprocess.DEVNULL
    if not arguments.faster > 0:
        raise InputError("--faster 0: give a factor above 0")
    if arguments.record is not None and (arguments.orders != 1 or arguments.is_one_of_many or arguments.compare):
        raise InputError("--record is of one run: leave out --orders, --compare, --scale, several WHERE and several -p")
    is_repeated = arguments.orders != 1 or arguments.order is not None
    if arguments.orders != 1 and arguments.order is None:
        from commmodel.simulate.online.decisions import RunRecord

        arguments.order = RunRecord()
    how = arguments.compute or ("measured" if place.computes and not is_repeated else "0")
    if is_repeated and how == "measured":
        raise InputError("--compute measured: no two runs with --orders or --order would be alike: give 0 or a folder")
    compute: Any = 0.0 if how == "0" else 1.0 / arguments.faster
    if how not in ("0", "measured"):
        from commmodel import record

        if not record.is_recording(how):
            raise InputError(f"--compute {how}: say measured, 0, or the folder of a recording")
        compute = replace(record.computation(record.load(how)), factor=compute)
    if outlets is None:
        clocks: Any = arguments.clocks if arguments.record is None else "simulated"
        report = _report if arguments.noise is None or arguments.record is not None else None  # not with each seed
        outlets = online.Outlets(
            output, report, arguments.patience, arguments.check, clocks, record=arguments.order,
            sites=arguments.critical_path,
        )  # fmt: skip
    return online.workload(place, command, computation=compute, outlets=outlets, universe=arguments.universe,
                           **options)  # fmt: skip


def _explored(arguments: argparse.Namespace, place: Any) -> Any:
    """Run a program in other orders of its messages."""
    from commmodel.simulate import online, scenario
    from commmodel.simulate.online.orders import run_orders

    def workload(outlets: Any) -> Any:
        return _running(arguments, place, typed_options(arguments, _WHAT) | settings_of(arguments), outlets)

    def prepared(work: Any) -> Any:
        return scenario.prepare(place, work, **typed_options(arguments, _HOW))

    outlets = online.Outlets(check=arguments.check, clocks=arguments.clocks)
    return run_orders(arguments.order, workload, prepared, arguments.orders, outlets)


def _tell_orders(exploration: Any) -> int:
    """Print what other orders have shown; return the exit code."""
    code = tell_findings(exploration.findings)
    tell("note", [exploration.note])
    return code


def settings_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of collectives as an option of workloads, where there are any."""
    from commmodel.collectives import CollectiveSettings

    settings = typed_options(arguments, _OF_COLLECTIVES)
    return {"settings": CollectiveSettings(**settings)} if settings else {}


def _report(text: str) -> None:
    print(f"commmodel: {text}", file=sys.stderr)


def typed_options(arguments: argparse.Namespace, names: set[str]) -> dict[str, Any]:
    """Return the arguments that this workload has."""
    return {name: value for name, value in vars(arguments).items() if name in names}


def _workload(arguments: argparse.Namespace, place: Any) -> Any:
    """Return the workload of WHAT and its options."""
    from commmodel.collectives import Problem
    from commmodel.collectives.operation import SCHEDULED
    from commmodel.simulate.scenario import workloads

    workload, options = arguments.what, typed_options(arguments, _WHAT) | settings_of(arguments)
    if workload in SCHEDULED:
        names = ("message_size", "root", "segment_size", *CALL_OPTIONS)
        size = {name: options.pop(name) for name in names if name in options}
        processes = place.processes(options.pop("processes"))
        return workloads.collective(place, workload, Problem(processes, **size), **options)
    if workload in get_args(Exchange):
        return workloads.exchange(place, workload, **options)
    if workload in get_args(Application):
        return workloads.application(place, workload, **options)
    if workload == "replay":
        from commmodel.simulate.questions import replayed

        return replayed(
            place, arguments.traces, faster=arguments.faster, speed=arguments.speed, scaling=arguments.scaling,
            grid=arguments.grid, **options,
        )  # fmt: skip
    if workload == "run":
        return _running(arguments, place, options)
    return (
        workloads.messages(arguments.file, **options) if workload == "exchange" else workloads.schedule(arguments.file)
    )


def place_of(arguments: argparse.Namespace, where: str) -> Any:
    """Return the place of a command's arguments, which is read once however many runs there are of it."""
    from commmodel.simulate import scenario

    options = typed_options(arguments, {"path", "model", "buffering", "message_rate", "storage"})
    read = vars(arguments).setdefault("places", _ReadPlaces())
    key = repr((where, arguments.parameters, options))
    if key not in read:
        read[key] = scenario.place(where, arguments.parameters, load_machine=known_machine, **options)
    return read[key]


def predicted(arguments: argparse.Namespace, where: str, scale: Any, slopes: Any = None) -> Any:
    """Return the result of the workload on a scaled place; other processes call this."""
    from commmodel.simulate import scenario

    place, how = place_of(arguments, where), typed_options(arguments, _HOW)
    return scenario.prepare(place, _workload(arguments, place), scale=scale, **how).run(
        deadlock="return", slopes=slopes
    )


def _scaled(place: Any, workload: Any, how: dict[str, Any], _: Any, scale: Any, slopes: Any) -> Any:
    """Return the result of a workload on a scaled place; other processes call this."""
    from commmodel.simulate import scenario

    return scenario.prepare(place, workload, scale=scale, **how).run(deadlock="return", slopes=slopes)


def _sized(arguments: argparse.Namespace, processes: int) -> Any:
    """Return the result of the workload on one of several numbers of processes; other processes call this."""
    from commmodel.simulate import scenario

    return predicted(sizes.on_processes(arguments, processes), arguments.where, scenario.Scale())


def run(arguments: argparse.Namespace) -> int:
    """Simulate, write files, and print tables or JSON."""
    from commmodel.simulate import scenario, timeline

    if noise.is_wanted(arguments):
        arguments.is_one_of_many = True
        place = place_of(arguments, arguments.where)
        warn_of(place.machine)
        remarks = noise.KEPT if noise.measures(arguments, place) else ()
        with noise.computation_kept(arguments, place, partial(_record, place)) as words:
            return noise.run(words, place, partial(_workload, words), typed_options(words, _HOW), remarks)
    if advice.is_wanted(arguments):
        arguments.is_one_of_many = True
        place = place_of(arguments, arguments.where)
        warn_of(place.machine)
        return advice.run(arguments, place, _workload(arguments, place), typed_options(arguments, _HOW))
    if sensitivity.is_wanted(arguments):
        arguments.is_one_of_many = True
        place = place_of(arguments, arguments.where)
        warn_of(place.machine)
        from commmodel.simulate.scenario.expansion import expanded_once

        with expanded_once(_workload(arguments, place)) as work:
            question = partial(_scaled, place, work, typed_options(arguments, _HOW))
            return sensitivity.run(arguments, question, place.machine)
    is_what_if, is_sized = what_if.is_what_if(arguments), sizes.is_sized(arguments)
    arguments.is_one_of_many = is_what_if or is_sized
    change = change_of(arguments)
    if is_sized:
        return sizes.run(arguments, partial(_sized, arguments))
    if is_what_if:
        return what_if.run(arguments, partial(predicted, arguments))
    beside = _beside(arguments)
    if arguments.trace is not None:
        _check_trace(arguments.trace, timeline)
    page = None if arguments.output is None else page_writer("write_gantt")
    code = 0 if page is not None or arguments.output is None else MissingPackageError.exit_code
    if page is None:
        arguments.output = None  # is not written
    for path in (arguments.output, arguments.trace):
        check_folder(path)
    place = place_of(arguments, arguments.where)
    warn_of(place.machine)
    workload = _workload(arguments, place)
    compare: list[Any] = [name if name in arguments.models else timeline.load(name) for name in beside]
    is_recorded = arguments.trace is not None or arguments.critical_path
    record: Any = "all" if page is not None else "first" if is_recorded else "none"
    has_orders = workload.runs and arguments.orders != 1
    with _recorded(arguments) if workload.runs else _prompt():  # else processes are to be ended first
        try:
            runs = scenario.side_by_side(
                place, workload, compare=compare, record=record, change=change, **typed_options(arguments, _HOW)
            )
            path = path_of(runs) if arguments.critical_path and not runs.results[0].blocked else None
        except RankEndedError:
            if has_orders:
                _tell_orders(_explored(arguments, place))
            raise
    timelines, notes = runs.timelines, runs.notes
    if page is not None and not runs.blocked and _is_empty(timelines):
        page = arguments.output = None
        notes.append("no page is written: there is nothing to draw, as nothing took any time")
    try:
        if arguments.trace is not None:
            timeline.dump(timelines[0], arguments.trace)
        if page is not None:
            _write_page(page, arguments.output, runs, path)
    except InputError as error:
        if not runs.blocked:  # else that is what people have to know first
            raise
        arguments.output = None
        notes.append(f"not written: {error}")
    if arguments.json:
        further = {} if path is None else {"critical_path": path.as_json()}
        print_json({**runs.as_json(), **further, "output": arguments.output, "trace": arguments.trace, "notes": notes})
    elif not runs.blocked:
        _print(arguments, runs, [] if path is None else path.tables())
    code = tell_findings(runs.findings) or code
    if has_orders:
        code = _tell_orders(_explored(arguments, place)) or code
    if runs.blocked:
        code = tell_deadlock(runs.blocked)
    tell("note", notes)
    return code


def _record(place: Any, arguments: argparse.Namespace) -> None:
    """Run a program once, recorded into the folder of its arguments."""
    from commmodel.simulate import scenario

    workload = _workload(arguments, place)
    with _recorded(arguments):
        scenario.prepare(place, workload, **typed_options(arguments, _HOW)).run()


def _recorded(arguments: argparse.Namespace) -> Any:
    """Return the context in which ranks are recorded, where that is wanted."""
    if arguments.record is None:
        return nullcontext()
    from commmodel.record import recording_simulated_ranks

    return recording_simulated_ranks(_words(arguments), arguments.record, arguments.where)


def _words(arguments: argparse.Namespace) -> list[str]:
    """Return the program that runs, and its arguments."""
    command: list[str] = arguments.command
    return command[1:] if command[:1] == ["--"] else command


def _prompt() -> Any:
    from commmodel.interruption import prompt_interruption

    return prompt_interruption()


def _is_empty(timelines: Sequence[Any]) -> bool:
    from commmodel.report.simulation.gantt_page import axis_seconds

    return axis_seconds(timelines) <= 0


def _write_page(write: Any, output: str, runs: Any, path: Any) -> None:
    """Write the page of Gantt charts, with the critical path where there is one."""
    from commmodel.report.simulation.gantt_page import axis_seconds

    timelines = runs.timelines
    further = () if path is None else (path.path, path.tables())
    write(output, runs.title, timelines, runs.summaries, runs.loads(axis_seconds(timelines)), *further)


def _beside(arguments: argparse.Namespace) -> list[str]:
    """Return the compared models and timelines; raise for any other word before all work."""
    beside = [word for part in arguments.compare for word in part.split(",") if word]
    for word in beside:
        if word not in arguments.models and not word.lower().removesuffix(".gz").endswith((".csv", ".json")):
            names = ", ".join(arguments.models)
            raise InputError(f"--compare {word}: choose {names}, or a timeline that was measured (.csv, .json)")
    if len(set(beside)) < len(beside):
        raise InputError("--compare names something twice: name it once")
    return beside


def _check_trace(path: str, timeline: Any) -> None:
    if not path.lower().removesuffix(".gz").endswith(tuple(timeline.WRITERS)):
        raise InputError(f"--trace {path}: the name must end in {', '.join(timeline.WRITERS)}, with .gz behind or not")


def _print(arguments: argparse.Namespace, runs: Any, further: Sequence[Any]) -> None:
    from commmodel.report.kit.tables import text
    from commmodel.report.simulation.tables import summary_tables

    summaries = runs.summaries
    show(text(runs.title, "bold"), *summary_tables(summaries), *further)
    for path in (arguments.output, arguments.trace):
        if path is not None:
            print(f"written to {path}")
    for summary in summaries:
        if summary.result is not None and summary.result.unmatched_messages and not runs.findings:
            messages = f"{summary.result.unmatched_messages} messages were never received"
            tell("note", [f"by {summary.name}, {messages}"])


def tell_deadlock(hanging: list[tuple[str, Any]]) -> int:
    """Print the waiting ranks of a deadlock on standard error."""
    for model, result in hanging:
        first, *lines = result.deadlock_lines(model)
        print(f"commmodel: {first}", file=sys.stderr)
        for line in lines:
            print(f"    {line}", file=sys.stderr)
    return _DEADLOCK
