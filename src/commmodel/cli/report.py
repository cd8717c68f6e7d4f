"""The verb ``report``: tables on the terminal and one HTML file, of measurements or of a recording."""

import argparse
import os
import shlex
from collections.abc import Sequence
from typing import Any

from commmodel.cli.parsers import (
    add_format,
    add_output,
    new_verb,
    note,
    output_path,
    print_json,
    show,
    tell,
    wrote_page,
)
from commmodel.errors import InputError, MissingPackageError
from commmodel.shell import with_next

_MOST_CALLS = 5_000_000
"""Of a recording whose critical path is told: some 250 bytes each."""


def add(verbs: Any) -> None:
    """Add the verb."""
    report = new_verb(
        verbs, "report", _run, "show measurements and a machine: tables on the terminal, plots in one HTML file",
        "commmodel report results.jsonl machine.toml -o report.html",
    )  # fmt: skip
    report.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="results.jsonl ... and at most one machine, by file or published name (default: fitted to them); or the "
        "folder of a recording, or those that its nodes wrote, and at most one machine; or the results of a study",
    )
    add_format(report)
    report.add_argument(
        "--expectations", metavar="FILE",
        help="expected growth: a .toml file, or a name from: commmodel list expectations (default: none)",
    )  # fmt: skip
    report.add_argument(
        "--index", action="store_true",
        help="list the results, machines and recordings in the folder FILE, with links to the pages beside them",
    )  # fmt: skip
    add_output(
        report, "HTML page to write", default="report.html; of a recording recording.html, with --index index.html"
    )
    report.set_defaults(default_output=_default_page)


def _default_page(arguments: argparse.Namespace) -> str:
    if arguments.index:
        return "index.html"
    return "recording.html" if any(map(_is_recording, arguments.files)) else "report.html"


def _is_recording(path: str) -> bool:
    from commmodel import record

    return record.is_recording(path)


def _run(arguments: argparse.Namespace) -> int:
    """Print the tables and write the HTML report."""
    if arguments.index:
        return _run_index(arguments)
    if any(map(_is_study, arguments.files)):
        return _run_study(arguments)
    _refuse_traces(arguments.files)
    if any(map(_is_recording, arguments.files)):
        return _run_recording(arguments)
    from commmodel import formats, machine, report
    from commmodel.fit.consistency import consistency
    from commmodel.report import tables
    from commmodel.report.scaling.growth import overview_blocks
    from commmodel.report.sections import machine_section, predicted_section, sending_section
    from commmodel.results import pool
    from commmodel.results.pooling import TABLED
    from commmodel.scaling import load
    from commmodel.scaling.overview import overview

    machines = [path for path in arguments.files if _is_machine(path)]
    if len(machines) > 1:
        raise InputError(f"one machine file at most, not {', '.join(machines)}")
    read_machine = machine.load(machines[0]) if machines else None
    measurements = formats.load_all(
        [path for path in arguments.files if path not in machines], arguments.format, arguments.placement
    )
    if not measurements.launches:
        raise InputError("no results file: commmodel report results.jsonl machine.toml")
    if read_machine is None:
        read_machine = _fitted(measurements)
    expectations = None if arguments.expectations is None else load(arguments.expectations)
    scaling = overview(measurements, expectations)
    measurements = pool(measurements, kinds=TABLED)
    output = output_path(arguments)
    is_complete = wrote_page(lambda: report.write_html(output, measurements, read_machine, scaling, arguments.words))
    code = 0 if is_complete or arguments.output is None else MissingPackageError.exit_code
    note(measurements, read_machine)
    if arguments.json:
        print_json(_as_json(output if is_complete else None, measurements, read_machine, scaling))
        return code
    about_machine: list[Any] = []
    if read_machine is not None:
        about_machine.append(machine_section(read_machine, consistency(measurements, read_machine)))
        about_machine += [predicted_section(read_machine), *filter(None, [sending_section(read_machine)])]
    header = measurements.launches[-1].header
    measured = tables.measurements_table(measurements, read_machine)
    show(tables.environment_table(header), measured, *overview_blocks(scaling), *about_machine)
    if is_complete:
        files = machines or arguments.files
        ask = f"predict {shlex.quote(files[0])} send -n 64KiB" if len(files) == 1 else f"fit {shlex.join(files)}"
        words = f"written to {output}"
        print(words if read_machine is None else with_next(words, f"commmodel {ask}"))
    return code


def _is_machine(path: str) -> bool:
    from commmodel import machine

    return path.endswith(".toml") or path in machine.published()


def _is_study(path: str) -> bool:
    from commmodel.simulate.study import is_results

    return is_results(path)


def _run_study(arguments: argparse.Namespace) -> int:
    """Print and write the results of a study."""
    from commmodel import report
    from commmodel.report.simulation.study import study_table
    from commmodel.simulate.study import read_results

    if len(arguments.files) > 1 or arguments.expectations is not None:
        raise InputError("the results of a study are reported alone: name the file, and nothing else")
    (path,) = arguments.files
    rows, output = read_results(path), output_path(arguments)
    is_written = wrote_page(lambda: report.write_study(output, os.path.basename(path), rows))
    if arguments.json:
        print_json({"output": output if is_written else None, "runs": rows})
    else:
        show(study_table(rows))
        if is_written:
            print(f"written to {output}")
    return 0 if is_written or arguments.output is None else MissingPackageError.exit_code


def _run_index(arguments: argparse.Namespace) -> int:
    """List the files of a folder on the terminal and on a page."""
    from dataclasses import asdict

    from commmodel import report

    if len(arguments.files) > 1 or arguments.expectations is not None:
        raise InputError("--index is of one folder: name it, and nothing else")
    (folder,) = arguments.files
    output = output_path(arguments)
    rows = report.folder_index(folder)
    is_written = wrote_page(lambda: report.write_index(output, folder, rows))
    if arguments.json:
        print_json({"output": output if is_written else None, "files": [asdict(row) for row in rows]})
    else:
        from commmodel.report.listing import index_table

        show(index_table(rows))
        if is_written:
            print(f"written to {output}")
    return 0 if is_written or arguments.output is None else MissingPackageError.exit_code


def _fitted(measurements: Any) -> Any:
    """Return the machine of measurements, None where they make none."""
    from commmodel.errors import CommModelError
    from commmodel.fit import fit_machine

    try:
        return fit_machine(measurements)
    except CommModelError as error:
        tell("note", [f"no machine was fitted: {error}"])
        return None


def _refuse_traces(files: Sequence[str]) -> None:
    """Raise where one of the files or folders is a trace, which `simulate` replays."""
    from commmodel import record
    from commmodel.simulate import traces

    for path in files:
        if not record.is_recording(path) and traces.is_trace(path):
            replay = f"commmodel simulate graphene replay {shlex.quote(path)}"
            raise InputError(f"{path}: a trace is not reported but replayed: {replay}")


def _run_recording(arguments: argparse.Namespace) -> int:
    """Print and write where a recorded program's communication time goes."""
    from commmodel import machine, record, report
    from commmodel.report.recording.findings import optimize_command, verdict
    from commmodel.report.recording.sending import sending_findings
    from commmodel.report.recording.tables import recording_blocks
    from commmodel.report.simulation.critical_path import path_as_json

    machines = [path for path in arguments.files if _is_machine(path) and not record.is_recording(path)]
    folders = [path for path in arguments.files if path not in machines]
    if arguments.expectations is not None or not all(map(record.is_recording, folders)) or len(machines) > 1:
        raise InputError(
            "a recording is reported alone, or with one machine: name its folder, or those of its nodes, and nothing "
            "else"
        )
    read_machine = machine.load(machines[0]) if machines else None
    folder, *further = folders
    recording = record.load(folder, *further)
    profile = record.profile(recording)
    notes = list(profile.faults)
    try:
        efficiency = record.efficiency(recording)
    except InputError as error:
        efficiency = None
        notes.append(str(error))
    path = exchange = None
    if sum(map(recording.calls, recording.ranks)) > _MOST_CALLS:
        notes.append(
            f"no critical path of more than {_MOST_CALLS:,} calls: commmodel simulate WHERE replay {folder} has it"
        )
    else:
        path = record.critical_path(recording)
        exchange = record.costliest_exchange(recording, profile)
    sending = sending_findings(record.site_contents(recording), read_machine)
    program, *rest = recording.command or (os.path.abspath(folder),)
    name = shlex.join([os.path.basename(program), *rest])
    hosts = {recording.texts(rank).get("host", "") for rank in recording.ranks} - {""}
    subtitle = (f"{recording.processes} processes", *sorted(hosts)[:3], recording.created)
    output = output_path(arguments)
    is_written = wrote_page(
        lambda: report.write_recording(
            output,
            name,
            profile,
            tuple(filter(None, subtitle)),
            efficiency=efficiency,
            folder=folder,
            further=further,
            critical_path=path,
            exchange=exchange,
            sending=sending,
        )
    )
    tell("note", notes)
    if arguments.json:
        print_json({
            "output": output if is_written else None,
            "verdict": verdict(profile, efficiency),
            "efficiency": efficiency and efficiency.to_dict(),
            "critical_path": path and path_as_json(path),
            "optimize": exchange and optimize_command(exchange),
            "sending": [] if sending is None else sending.as_json(),
            **profile.to_dict(),
        })  # fmt: skip
    else:
        show(
            *recording_blocks(
                profile, efficiency, folder, *further, critical_path=path, exchange=exchange, sending=sending
            )
        )
        if is_written:
            print(f"written to {output}")
    return 0 if is_written or arguments.output is None else MissingPackageError.exit_code


def _as_json(output: str | None, measurements: Any, read_machine: Any, scaling: Any) -> dict[str, Any]:
    import msgspec

    from commmodel.fit.oversubscription import network_oversubscription
    from commmodel.report.overlap.measurements import overlap_verdicts
    from commmodel.report.sections import overlap_profiles

    records = [
        {
            "configuration": msgspec.to_builtins(record.configuration),
            "unit": record.unit,
            "stop": record.stop,
            "summary": msgspec.to_builtins(record.summary),
        }
        for record in measurements.records
    ]
    network = network_oversubscription(measurements)
    return {
        "output": output,
        "records": records,
        "oversubscription": network
        and {"verdict": network.verdict, "shares": [share._asdict() for share in network.shares]},
        "overlap": overlap_verdicts(measurements, overlap_profiles(measurements, read_machine)),
        "scaling": [_grown_as_json(row) for row in scaling.rows],
        "machine": msgspec.to_builtins(read_machine),
    }


def _grown_as_json(row: Any) -> dict[str, Any]:
    series, best, judged = row.series, row.ensemble.best, row.judgement
    return {
        "name": series.name,
        "machine": row.library,
        "metric": series.metric,
        "unit": series.unit,
        "over": series.over,
        "parameters": dict(series.fixed),
        "model": best.growth.text(series.over),
        "fits": row.ensemble.fits,
        "constant": best.constant,
        "coefficient": best.coefficient,
        "adjusted_r2": best.adjusted_r2 if best.coefficient else None,
        "classes": {growth.text(series.over): share for growth, share in row.ensemble.shares.items()},
        "expected": judged and judged.expectation.text(series.over),
        "divergence": judged and judged.divergence.text(series.over),
        "verdict": judged and judged.verdict,
    }
