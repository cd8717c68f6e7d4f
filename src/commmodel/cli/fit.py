"""The verb ``fit``: results.jsonl -> machine.toml."""

import argparse
import os
from pathlib import Path
from typing import Any

from commmodel.cli.parsers import (
    add_format,
    new_verb,
    note,
    parsed,
    print_json,
    refuse_functions,
    show,
    warn_of,
    whole_number,
)
from commmodel.errors import InputError

__all__ = ["add"]


def add(verbs: Any) -> None:
    """Add the verb."""
    fit = new_verb(
        verbs, "fit", _run, "results.jsonl -> machine.toml",
        "commmodel fit results.jsonl -o machine.toml",
    )  # fmt: skip
    fit.add_argument("results", nargs="+", help="results.jsonl of one or several launches, or other suites' output")
    add_format(fit)
    fit.add_argument("-o", "--output", help="machine file to write (machine.toml, which must not exist)")
    fit.add_argument("--name", help="of the machine (its first host's)")
    fit.add_argument("--limits", help="protocol limits, like 500,8000: found by the probe or in the times if left out")
    fit.add_argument(
        "--mode", choices=("blocking", "non-blocking"), default="blocking",
        help="of the messages that LogGP and pLogP are fitted to (blocking)",
    )  # fmt: skip
    fit.add_argument(
        "--loss", choices=("robust", "paper"), default="robust",
        help="what is minimised: a loss that bears disturbed records, or the squares of Gropp 2016 (robust)",
    )  # fmt: skip
    fit.add_argument("--confidence", default="95%", help="of the parameters' intervals (95%%)")
    fit.add_argument("--samples", default="1000", help="bootstrap samples behind the intervals (1000)")
    fit.add_argument("--seed", default="1", help="of the bootstrap (1)")


def _settings(asked: argparse.Namespace) -> Any:
    from commmodel.fit import Settings
    from commmodel.units import parse_confidence

    confidence = parsed("--confidence", asked.confidence, parse_confidence)
    samples, seed = whole_number("--samples", asked.samples, 20), whole_number("--seed", asked.seed, 0)
    return Settings(confidence, samples, seed, asked.loss)


def _run(asked: argparse.Namespace) -> int:
    """Fit measurements, write the machine, show it."""
    from commmodel import formats, machine
    from commmodel.fit import fit_machine
    from commmodel.fit.consistency import consistency
    from commmodel.fit.model_errors import error_sums
    from commmodel.results import pooled
    from commmodel.units import parse_sizes

    settings = _settings(asked)
    limits = parse_sizes(asked.limits) if asked.limits else None
    output = Path(asked.output or "machine.toml")
    if asked.output is None and os.path.exists(output):
        raise InputError(f"{output} exists: replace it with -o {output}, or name another file with -o")
    measurements = pooled(formats.read_all(asked.results, asked.format))
    refuse_functions(measurements)
    fitted = fit_machine(
        measurements,
        name=asked.name,
        limits=limits,
        settings=settings,
        results=[Path(path).name for path in asked.results],
        mode=asked.mode,
    )
    machine.write(fitted, output)
    sums, agreement = error_sums(measurements, fitted, settings), consistency(measurements, fitted)
    note(measurements)
    warn_of(fitted)
    if asked.json:
        print_json(_as_json(fitted, sums, agreement))
    else:
        from commmodel.report.overlap.measurements import overlap_verdicts
        from commmodel.report.tables import machine_blocks

        show(*machine_blocks(fitted, agreement, sums))
        for sentence in overlap_verdicts(measurements, fitted):
            print(sentence)
        print(f"written to {output}; next: commmodel report {' '.join(asked.results)} {output}")
    return 0


def _as_json(machine: Any, sums: Any, agreement: Any) -> dict[str, Any]:
    """Return segments (where each protocol ends), models (their parameters in each segment), tables and agreement."""
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
        "warnings": [] if machine.origin is None else machine.origin.warnings,
        "segments": plain["segments"],
        "models": models,
        "error_sums": [row._asdict() for row in sums],
        "plogp": plain.get("plogp", []),
        "overlap": plain.get("overlap", []),
        "bandwidth": plain.get("bandwidth", []),
        "hybrid": plain.get("hybrid", []),
        "consistency": [msgspec.to_builtins(row._asdict()) for row in agreement],
    }
