"""The command ``commmodel VERB``: each verb is a thin function over the module that does the work.

Exit codes: 0 done, 1 a check did not hold, 2 wrong usage or bad input, 3 the MPI environment cannot do it. Main
entry: `main`.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from commmodel.errors import CommModelError, InputError

__all__ = ["main", "run"]


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; return the exit code."""
    try:
        asked = _parser().parse_args(arguments)
        verb: Callable[[argparse.Namespace], int] = asked.verb
        code = verb(asked)
        sys.stdout.flush()  # here, where a closed pipe is expected
        return code
    except CommModelError as error:
        print(f"commmodel: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # the reader of our output, head for one, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def run() -> NoReturn:
    """Run the command and exit."""
    raise SystemExit(main())


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="commmodel",
        description="Models of a machine's MPI communication. To measure: mpiexec -n 2 python -m commmodel.bench",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=_version())
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    fit = _verb(
        verbs, "fit", _fit, "results.jsonl -> machine.toml",
        "commmodel fit results.jsonl -o machine.toml",
    )  # fmt: skip
    fit.add_argument("results", nargs="+", help="results.jsonl of one or several launches, or other suites' output")
    _add_format(fit)
    fit.add_argument("-o", "--output", help="machine file to write (machine.toml, which must not exist)")
    fit.add_argument("--name", help="of the machine (its first host's)")
    fit.add_argument("--limits", help="protocol limits, like 500,8000: found by the probe or in the times if left out")
    fit.add_argument("--confidence", default="95%", help="of the parameters' intervals (95%%)")
    fit.add_argument("--samples", default="1000", help="bootstrap samples behind the intervals (1000)")
    fit.add_argument("--seed", default="1", help="of the bootstrap (1)")

    report = _verb(
        verbs, "report", _report, "tables on the terminal and one HTML file",
        "commmodel report results.jsonl machine.toml -o report.html",
    )  # fmt: skip
    report.add_argument("files", nargs="+", metavar="FILE", help="results.jsonl ..., at most one machine.toml or name")
    _add_format(report)
    report.add_argument("-o", "--output", default="report.html", help="HTML file to write (report.html)")

    _add_predict(verbs)
    _verb(verbs, "machines", _machines, "published machines, usable by name", "commmodel machines")
    return parser


def _add_predict(verbs: Any) -> None:
    predict = _verb(
        verbs, "predict", _predict, "time of a message or a halo exchange",
        "commmodel predict blue-waters halo -n 64KiB -k 16 --neighbours 6",
    )  # fmt: skip
    predict.add_argument("machine", metavar="MACHINE", help="machine file, or a name from: commmodel machines")
    predict.add_argument("operation", choices=("send", "halo"), help="one message, or one to each neighbour")
    predict.add_argument("-n", "--size", required=True, help="of each message, like 64KiB")
    predict.add_argument("-k", "--processes", default="1", help="of the node that send at once (1)")
    predict.add_argument("--neighbours", metavar="E", help="messages of each process, with halo")
    predict.add_argument("--path", help="that messages take (between-nodes where the machine has it)")
    predict.add_argument("--model", help="postal, max-rate, extended or latency-aware (the recommended one)")


def _verb(verbs: Any, name: str, function: Callable[[argparse.Namespace], int], what: str, example: str) -> Any:
    parser = verbs.add_parser(name, help=what, description=what, epilog=f"example: {example}", allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.set_defaults(verb=function)
    return parser


def _add_format(parser: Any) -> None:
    parser.add_argument(
        "--format", default="auto", help="of the measurements: auto, commmodel, osu, imb, nodecomm or csv (auto)"
    )


def _version() -> str:
    from commmodel import __version__

    return f"commmodel {__version__}"


def _whole_number(option: str, text: str, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise InputError(f"{option}: {text!r} is no whole number from {least} up")
    return int(text)


def _settings(asked: argparse.Namespace) -> Any:
    from commmodel.fit import Settings
    from commmodel.units import parse_fraction

    confidence = parse_fraction(asked.confidence)
    if not 0 < confidence < 1:
        raise InputError(f"--confidence: {asked.confidence!r} does not lie between 0 and 100%")
    return Settings(confidence, _whole_number("--samples", asked.samples, 20), _whole_number("--seed", asked.seed, 0))


def _fit(asked: argparse.Namespace) -> int:
    """Fit measurements, write the machine, show it."""
    from commmodel import formats, machine
    from commmodel.fit import fit_machine
    from commmodel.fit.variants import error_sums
    from commmodel.units import parse_sizes

    settings = _settings(asked)
    limits = parse_sizes(asked.limits) if asked.limits else None
    output = Path(asked.output or "machine.toml")
    if asked.output is None and output.exists():
        raise InputError(f"{output} exists: replace it with -o {output}, or name another file with -o")
    measurements = formats.read_all(asked.results, asked.format)
    fitted = fit_machine(
        measurements,
        name=asked.name,
        limits=limits,
        settings=settings,
        results=[Path(path).name for path in asked.results],
    )
    machine.write(fitted, output)
    sums = error_sums(measurements, fitted)
    _note(measurements)
    if asked.json:
        _print_json(_fit_as_json(fitted, sums))
    else:
        from commmodel.report.comparison import error_sums_table
        from commmodel.report.tables import machine_table

        _show(machine_table(fitted), *([error_sums_table(sums)] if sums else []))
        print(f"written to {output}; next: commmodel report {' '.join(asked.results)} {output}")
    return 0


def _fit_as_json(machine: Any, sums: Any) -> dict[str, Any]:
    """Return segments (where each protocol ends), models (their parameters in each segment) and error sums."""
    import msgspec

    from commmodel.machine import MODELS

    plain = msgspec.to_builtins(machine)
    models: dict[str, list[Any]] = {name: [] for name in MODELS}
    for segment in plain["segments"]:
        for name, parameters in models.items():
            parameters.append(segment.pop(name, None))
    return {
        "name": machine.name,
        "confidence": machine.confidence,
        "segments": plain["segments"],
        "models": models,
        "error_sums": [row._asdict() for row in sums],
    }


def _report(asked: argparse.Namespace) -> int:
    """Print the tables and write the HTML report."""
    from commmodel import formats, machine
    from commmodel.report import page, tables

    names = machine.published()
    machines = [path for path in asked.files if path.endswith(".toml") or path in names]
    if len(machines) > 1:
        raise InputError(f"one machine file at most, not {', '.join(machines)}")
    read_machine = machine.load(machines[0]) if machines else None
    measurements = formats.read_all([path for path in asked.files if path not in machines], asked.format)
    if not measurements.launches:
        raise InputError("no results file: commmodel report results.jsonl machine.toml")
    page.write_html(asked.output, measurements, read_machine)
    _note(measurements)
    if asked.json:
        _print_json(_report_as_json(asked.output, measurements, read_machine))
        return 0
    machine_tables = [tables.machine_table(read_machine)] if read_machine is not None else []
    header = measurements.launches[-1].header
    _show(tables.environment_table(header), tables.measurements_table(measurements), *machine_tables)
    print(f"written to {asked.output}")
    return 0


def _report_as_json(output: str, measurements: Any, read_machine: Any) -> dict[str, Any]:
    import msgspec

    records = [
        {
            "configuration": msgspec.to_builtins(record.configuration),
            "unit": record.unit,
            "stop": record.stop,
            "summary": msgspec.to_builtins(record.summary),
        }
        for record in measurements.records
    ]
    return {"output": output, "records": records, "machine": msgspec.to_builtins(read_machine)}


def _predict(asked: argparse.Namespace) -> int:
    """Predict an operation's time, beside what a ping-pong promises."""
    from commmodel import machine, optimize, predict
    from commmodel.errors import MissingParameterError
    from commmodel.units import parse_size

    known = machine.load(asked.machine)
    size, processes = parse_size(asked.size), _whole_number("--processes", asked.processes, 1)
    rest = (processes, asked.path, asked.model)
    if (asked.neighbours is not None) != (asked.operation == "halo"):
        raise InputError("--neighbours goes with halo, and halo needs it: like halo -n 64KiB --neighbours 6")
    if asked.operation == "halo":
        predicted = predict.halo(known, size, _whole_number("--neighbours", asked.neighbours, 1), *rest)
    else:
        predicted = predict.send(known, size, *rest)
    try:
        filling = optimize.communicating_processes(known, size, asked.path)
    except MissingParameterError:  # nothing limits, or R_N was not measured
        filling = None
    if asked.json:
        _print_json(_predict_as_json(asked, predicted, filling))
    else:
        from commmodel.report.prediction import prediction_table, prediction_words

        _show(prediction_table(predicted), prediction_words(predicted, processes, filling))
    return 0


def _predict_as_json(asked: argparse.Namespace, predicted: Any, filling: int | None) -> dict[str, Any]:
    import msgspec

    plain = msgspec.to_builtins(predicted)
    return {
        **plain.pop("time"),
        "model": plain.pop("model"),
        "algorithm": asked.operation,
        **plain,
        "filling_processes": filling,
    }


def _machines(asked: argparse.Namespace) -> int:
    """List the published machines."""
    from commmodel import machine

    known = {name: machine.read(path) for name, path in machine.published().items()}
    sources = {name: one.origin.source if one.origin else "" for name, one in known.items()}
    if asked.json:
        listed = [
            {"name": name, "title": one.name, "paths": one.paths, "source": sources[name]}
            for name, one in known.items()
        ]
        _print_json({"machines": listed})
    else:
        for name, source in sources.items():
            print(f"{name}\n    {source}")
    return 0


def _note(measurements: Any) -> None:
    for note in measurements.notes:
        print(f"note: {note}", file=sys.stderr)


def _print_json(value: dict[str, Any]) -> None:
    import msgspec

    print(msgspec.json.encode(value).decode())


def _show(*tables: Any) -> None:
    """Print tables. Captured first: written directly, rich would answer a closed pipe with exit code 1."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 120)
    with console.capture() as captured:
        console.print(*tables, sep="\n")
    print(captured.get(), end="")
