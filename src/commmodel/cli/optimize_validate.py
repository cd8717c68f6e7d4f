"""The option ``--validate`` of the verb ``optimize``: the model's choices beside measured times."""

import argparse
from typing import Any

from commmodel.cli.parsers import known_machine, note, print_json, show, wrote_page
from commmodel.errors import MissingPackageError

__all__ = ["validate"]


def validate(asked: argparse.Namespace) -> int:
    """Judge the choices, print the tables or the JSON, and write the page where one is asked for."""
    from commmodel import formats
    from commmodel.optimize import validation

    measurements = formats.load_all([asked.validate])
    note(measurements)
    validation.required_sweeps(measurements)  # before a fit could complain of something else
    if asked.machine is None:
        from commmodel.fit import fit_machine

        machine = fit_machine(measurements)
    else:
        machine = known_machine(asked.machine)
    found = validation.validate(measurements, machine, asked.model or "bounded")
    output = asked.output
    if output is not None:
        from commmodel import report

        if not wrote_page(lambda: report.write_validation(output, machine.name, found)):
            output = None
    code = 0 if output == asked.output else MissingPackageError.exit_code
    if asked.json:
        print_json(_as_json(found, output))
        return code
    from commmodel.report.overlap.validation import validation_tables

    show(*validation_tables(found))
    if output is not None:
        print(f"written to {output}")
    return code


def _as_json(found: Any, output: str | None) -> dict[str, Any]:
    import msgspec

    derived = ("within_noise", "hidden_share", "best_hidden_share", "share_of_best")
    of_sweep = ("best", "ratio", "nothing_to_hide")
    cases = []
    for case in found.cases:
        plain = msgspec.to_builtins(case)
        sweep = plain.pop("sweep") | {name: msgspec.to_builtins(getattr(case.sweep, name)) for name in of_sweep}
        cases.append(sweep | plain | {name: getattr(case, name) for name in derived})
    return {
        "cases": cases,
        "summaries": msgspec.to_builtins(found.summaries),
        "left_out": found.left_out,
        "progress": found.progress,
        "output": output,
    }
