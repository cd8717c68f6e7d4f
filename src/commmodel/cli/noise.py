"""Noise: the spread of a program's run time by measured noise, of the verb ``simulate``."""

import argparse
import os
from collections.abc import Callable
from functools import cache
from typing import Any

from commmodel.cli.parsers import Parser, parent, print_json, show, tell, whole
from commmodel.cli.what_if import worker_count, worker_executor
from commmodel.errors import InputError

_SEEDS = 100


@cache
def options() -> Parser:
    """Return the options of noise."""
    noise = parent()
    group = noise.add_argument_group("noise")
    group.add_argument(
        "--noise", metavar="SOURCE",
        help="measured noise in computation and messages: results.jsonl with raw samples, or a CSV file with durations "
        "of equal work in a column seconds: a table of the spread of run times (default: none)",
    )  # fmt: skip
    group.add_argument(
        "--seeds", metavar="N", type=whole(1, 999), help=f"runs with noise, each of its own seed (default: {_SEEDS})"
    )
    return noise


def is_wanted(arguments: argparse.Namespace) -> bool:
    """Whether noise is wanted; raise for what does not go with it."""
    if getattr(arguments, "noise", None) is None:
        if getattr(arguments, "seeds", None) is not None:
            raise InputError("--seeds: there is no noise to draw: name its source with --noise")
        return False
    values = {
        "--compare": arguments.compare, "--trace": arguments.trace, "-o": arguments.output, "--scale": arguments.scale,
        "--critical-path": arguments.critical_path, "--sensitivity": arguments.sensitivity,
    }  # fmt: skip
    for option, value in values.items():
        if value:
            raise InputError(f"{option} is of runs without noise: leave it out, or --noise")
    for option, value in (("-p", arguments.processes), ("-n", getattr(arguments, "message_size", None))):
        if isinstance(value, tuple):
            raise InputError(f"{option}: noise is of one program: give one number")
    if "," in arguments.where and "=" not in arguments.where and not os.path.exists(arguments.where):
        raise InputError(f"{arguments.where}: noise is of one platform: name one")
    if arguments.what == "run":
        raise InputError("--noise is of programs that are known: record yours first (commmodel record), and replay it")
    return True


def run(arguments: argparse.Namespace, place: Any, workload: Callable[[Any], Any], how: dict[str, Any]) -> int:
    """Run all seeds, and print the table or JSON.

    Parameters
    ----------
    arguments : Namespace
    place : Place
    workload : callable
        Place -> what runs there.
    how : dict
        How it is prepared.
    """
    from commmodel.simulate.noise import noise_spread

    with worker_executor(arguments) as executor:
        study = noise_spread(
            workload, arguments.noise, arguments.seeds or _SEEDS, on=place, workers=worker_count(arguments),
            executor=executor, **how,
        )  # fmt: skip
    if arguments.json:
        print_json(study.as_json())
    else:
        from commmodel.report.kit.tables import text
        from commmodel.report.simulation.noise import noise_lines, noise_table

        show(text(f"{study.title}, {study.where}, {study.model}", "bold"), noise_table(study))
        show(*map(text, noise_lines(study)))
    tell("note", study.notes)
    return 0
