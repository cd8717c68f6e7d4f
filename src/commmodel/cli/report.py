"""The verb ``report``: tables on the terminal and one HTML file."""

import argparse
from typing import Any

from commmodel.cli.parsers import add_format, add_output, new_verb, note, output_path, print_json, show, wrote_page
from commmodel.errors import InputError, MissingPackageError

__all__ = ["add"]


def add(verbs: Any) -> None:
    """Add the verb."""
    report = new_verb(
        verbs, "report", _run, "tables on the terminal and one HTML file",
        "commmodel report results.jsonl machine.toml -o report.html",
    )  # fmt: skip
    report.add_argument(
        "files", nargs="+", metavar="FILE", help="results.jsonl ..., and at most one machine, by file or published name"
    )
    add_format(report)
    report.add_argument(
        "--expectations", metavar="FILE",
        help="expected growth: a .toml file, or a name from: commmodel list expectations (default: none)",
    )  # fmt: skip
    add_output(report, "HTML page to write", default="report.html")


def _run(arguments: argparse.Namespace) -> int:
    """Print the tables and write the HTML report."""
    from commmodel import formats, machine, report, scaling
    from commmodel.report.machine import tables
    from commmodel.report.scaling.growth import scaled, scaling_lines
    from commmodel.results import pooled

    names = machine.published()
    machines = [path for path in arguments.files if path.endswith(".toml") or path in names]
    if len(machines) > 1:
        raise InputError(f"one machine file at most, not {', '.join(machines)}")
    read_machine = machine.load(machines[0]) if machines else None
    measurements = pooled(
        formats.load_all([path for path in arguments.files if path not in machines], arguments.format)
    )
    if not measurements.launches:
        raise InputError("no results file: commmodel report results.jsonl machine.toml")
    expectations = None if arguments.expectations is None else scaling.load(arguments.expectations)
    growth = scaled(measurements, expectations)
    output = output_path(arguments)
    written = wrote_page(lambda: report.write_html(output, measurements, read_machine, growth))
    code = 0 if written or arguments.output is None else MissingPackageError.exit_code
    note(measurements, read_machine)
    if arguments.json:
        print_json(_as_json(output if written else None, measurements, read_machine, growth))
        return code
    machine_tables: list[Any] = []
    if read_machine is not None:
        from commmodel.fit.consistency import consistency
        from commmodel.report.machine.hybrid import hybrid_remarks, hybrid_tables
        from commmodel.report.machine.loggp import has_other_models, loggp_remarks, logp_tables

        machine_tables += [tables.machine_table(read_machine)] if has_other_models(read_machine) else []
        machine_tables += logp_tables(read_machine, consistency(measurements, read_machine))
        machine_tables += hybrid_tables(read_machine)
        machine_tables += tables.remark_list([*loggp_remarks(read_machine), *hybrid_remarks(read_machine)])
    header = measurements.launches[-1].header
    measured = tables.measurements_table(measurements, read_machine)
    show(tables.environment_table(header), measured, *scaling_lines(growth), *machine_tables)
    if written:
        print(f"written to {output}")
    return code


def _as_json(output: str | None, measurements: Any, read_machine: Any, scaling: Any) -> dict[str, Any]:
    import msgspec

    from commmodel.report.measurements.oversubscription import beyond
    from commmodel.report.overlap.measurements import overlap_verdicts

    records = [
        {
            "configuration": msgspec.to_builtins(record.configuration),
            "unit": record.unit,
            "stop": record.stop,
            "summary": msgspec.to_builtins(record.summary),
        }
        for record in measurements.records
    ]
    found = beyond(measurements)
    return {
        "output": output,
        "records": records,
        "beyond": found and {"verdict": found.verdict, "shares": [share._asdict() for share in found.shares]},
        "overlap": overlap_verdicts(measurements, read_machine),
        "scaling": [_grown_as_json(row) for row in scaling.rows],
        "machine": msgspec.to_builtins(read_machine),
    }


def _grown_as_json(row: Any) -> dict[str, Any]:
    series, best, judged = row.series, row.found.best, row.judgement
    return {
        "name": series.name,
        "machine": row.machine,
        "metric": series.metric,
        "unit": series.unit,
        "over": series.over,
        "parameters": dict(series.fixed),
        "model": best.growth.text(series.over),
        "fits": row.found.fits,
        "constant": best.constant,
        "coefficient": best.coefficient,
        "adjusted_r2": best.adjusted_r2 if best.coefficient else None,
        "classes": {growth.text(series.over): share for growth, share in row.found.shares.items()},
        "expected": judged and judged.expectation.text(series.over),
        "divergence": judged and judged.divergence.text(series.over),
        "verdict": judged and judged.verdict,
    }
