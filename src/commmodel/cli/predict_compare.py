"""The option ``--compare`` of the verb ``predict``: measured times beside the models'."""

import argparse
from typing import Any

from commmodel.cli.parsers import known_machine, note, print_json, show, wrote_page
from commmodel.errors import InputError, MissingPackageError

__all__ = ["run"]


def run(asked: argparse.Namespace) -> int:
    """Compare, print the tables or the JSON, and write the page where one is asked for."""
    from commmodel import formats, predict
    from commmodel.cli.predict import byte_time
    from commmodel.units import parse_size

    if asked.operation == "halo":
        raise InputError("halo exchanges are not measured: compare send, or a collective operation")
    if asked.algorithm == "all":
        raise InputError("--algorithm all: a measured time is compared with one algorithm, or with the best")
    if asked.algorithm is not None and asked.selector is not None:
        raise InputError("--algorithm and --selector both say how: leave one out")
    machine = known_machine(asked.machine)
    measurements = formats.load_all([asked.compare])
    if asked.compare != asked.machine:
        note(measurements)
    found = predict.compare(
        machine,
        measurements,
        operation=asked.operation,
        models=asked.model.split(",") if asked.model else None,
        algorithm=asked.algorithm,
        selector=asked.selector,
        segment_size=None if asked.segment_size is None else parse_size(asked.segment_size),
        path=asked.path,
        memory_copy=byte_time("--copy", asked.copy),
        reduction=byte_time("--reduction", asked.reduction),
    )
    summaries = predict.summarise(found.rows)
    output = asked.output
    if output is not None:
        from commmodel import report

        if not wrote_page(lambda: report.write_comparison(output, machine.name, found, summaries)):
            output = None
    code = 0 if output == asked.output else MissingPackageError.exit_code
    if asked.json:
        print_json(_as_json(found, summaries, output))
        return code
    from commmodel.report.prediction.comparison import compared_tables, note_lines

    show(*compared_tables(found.rows, summaries), *note_lines(found.notes))
    if output is not None:
        print(f"written to {output}")
    return code


def _as_json(found: Any, summaries: Any, output: str | None) -> dict[str, Any]:
    import msgspec

    rows = [
        msgspec.to_builtins(row)
        | {
            "relative_error": {model: row.relative_error(model) for model in row.predicted},
            "absolute_error": {model: row.absolute_error(model) for model in row.predicted},
        }
        for row in found.rows
    ]
    plain = msgspec.to_builtins(summaries, str_keys=True)
    return {"rows": rows, "summary": plain, "notes": found.notes, "output": output}
