"""The verb ``convert``: measurements, recordings, traces and schedules from one format to another."""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from commmodel.choices import WrittenFormat
from commmodel.cli.parsers import add_format, add_output, new_verb, note, print_json, tell
from commmodel.errors import InputError
from commmodel.shell import command_lines


def add(verbs: Any) -> None:
    """Add the verb."""
    convert = new_verb(
        verbs, "convert", _run, "convert measurements, a recording, a trace or a schedule from one format to another",
        "commmodel convert results.jsonl -o results.txt --to extrap-text --over p",
    )  # fmt: skip
    convert.add_argument(
        "files",
        nargs="+",
        metavar="IN",
        help="results.jsonl, files of other programs, the folder of a recording, a trace, or a GOAL schedule",
    )
    add_format(convert)
    add_output(
        convert,
        "file to write: .goal or .bin for schedules of recordings and traces, a folder for their time-independent "
        "traces; of a recording also .json, .paje, .trace, .csv, .html",
        required=True,
    )  # fmt: skip
    convert.add_argument(
        "--to", choices=get_args(WrittenFormat), help="format to write (default: by the output's suffix .txt or .csv)",
    )  # fmt: skip
    convert.add_argument(
        "--over",
        metavar="PARAMETER,...",
        help="parameters in Extra-P's formats, like p or p,n (default: so that all fits in)",
    )


def _target(output: Path, name: WrittenFormat | None) -> WrittenFormat:
    """Return the format to write."""
    from commmodel import formats

    suffixes: dict[str, WrittenFormat] = {".csv": "csv", ".txt": "extrap-text"}
    if name is None and output.suffix not in suffixes:
        problem = f"{output}: its suffix does not tell the format: choose with --to {', '.join(formats.WRITTEN)}"
        problem += "; traces are not converted but replayed: commmodel simulate WHERE replay"
        raise InputError(problem)
    return name or suffixes[output.suffix]


def _run(arguments: argparse.Namespace) -> int:
    """Convert the files and print notes on omitted content."""
    from commmodel import formats, record
    from commmodel.simulate import conversion

    if any(record.is_recording(path) for path in arguments.files):
        return _convert_recording(arguments)
    if arguments.to is None and conversion.is_convertible(arguments.files[0], arguments.output):
        return _convert_program(arguments)
    output = Path(arguments.output)
    target = _target(output, arguments.to)
    over = None if arguments.over is None else [name.strip() for name in arguments.over.split(",")]
    if over is not None and not all(over):
        raise InputError(f"--over: {arguments.over!r} is no list of parameters like p,n")
    measurements = formats.load_all(arguments.files, arguments.format, arguments.placement)
    left_out = formats.dump(measurements, output, target, over)
    note(measurements)
    tell("note", left_out)
    if arguments.json:
        notes = [*measurements.notes, *left_out]
        print_json(
            {"output": arguments.output, "format": target, "records": len([*measurements.records]), "notes": notes}
        )
    else:
        print(f"written to {output} ({target})")
    return 0


def _convert_program(arguments: argparse.Namespace) -> int:
    """Write a trace or a schedule in another format."""
    from commmodel.simulate import conversion

    if len(arguments.files) > 1 or arguments.over or arguments.format != "auto":
        raise InputError(
            f"-o {arguments.output}: a trace or a schedule is converted alone, to what the suffix tells: leave the "
            "rest out, or name the format of measurements with --to"
        )
    _refuse_traces(arguments)
    notes = conversion.convert(arguments.files[0], arguments.output)
    _say_written(arguments, {}, notes)
    return 0


def _refuse_traces(arguments: argparse.Namespace) -> None:
    """Raise where the output is a folder that holds something."""
    folder = Path(arguments.output)
    if folder.is_dir() and any(folder.iterdir()) and not arguments.force:
        raise InputError(f"{folder} exists: replace its traces with --force, or name another folder with -o")


def _say_written(arguments: argparse.Namespace, facts: dict[str, Any], notes: Sequence[str]) -> None:
    tell("note", notes)
    if arguments.json:
        print_json({"output": arguments.output, **facts, "notes": [*notes]})
    else:
        print(f"written to {arguments.output}")


def _convert_recording(arguments: argparse.Namespace) -> int:
    """Write a recording as traces, as a schedule, as a timeline or as a page with its chart."""
    from commmodel import record

    if len(arguments.files) > 1 or arguments.to or arguments.over or arguments.format != "auto":
        raise InputError("a recording is converted alone, to what the suffix of the output tells: leave the rest out")
    recording = record.load(arguments.files[0])
    notes = list(recording.faults)
    _refuse_traces(arguments)
    if Path(arguments.output).suffix == ".html":
        from commmodel import report

        report.write_gantt(arguments.output, str(recording.folder), [record.timeline(recording)])
    else:
        left_out = record.convert(recording, arguments.output)
        notes += [f"{count} {name}: carried over as the time that they took" for name, count in left_out.most_common()]
    _say_written(arguments, {"processes": recording.processes}, notes)
    if not arguments.json and not Path(arguments.output).suffix:
        listed = shlex.quote(f"{arguments.output}/list.txt")
        print(
            "next:",
            *command_lines(f"commmodel simulate graphene replay {listed} --speed 1Gflop/s", indent="  "),
            sep="\n",
        )
    return 0
