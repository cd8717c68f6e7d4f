"""Noise: the spread of a program's run time by measured noise, of the verb ``simulate``."""

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from commmodel.cli.pages import OutputPage
from commmodel.cli.parsers import Parser, parent, tell, whole
from commmodel.cli.what_if import worker_count, worker_executor
from commmodel.errors import InputError

_SEEDS = 100
KEPT = ("computation is that of one run, which was recorded first: every seed has the same, and its own noise",)
"""What is said of runs that do not measure their computation each time."""


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
        "--compare": arguments.compare, "--trace": arguments.trace, "--scale": arguments.scale,
        "--critical-path": arguments.critical_path, "--sensitivity": arguments.sensitivity,
        "--advice": arguments.advice,
    }  # fmt: skip
    for option, value in values.items():
        if value:
            raise InputError(f"{option} is of runs without noise: leave it out, or --noise")
    for option, value in (("-p", arguments.processes), ("-n", getattr(arguments, "message_size", None))):
        if isinstance(value, tuple):
            raise InputError(f"{option}: noise is of one program: give one number")
    if "," in arguments.where and "=" not in arguments.where and not os.path.exists(arguments.where):
        raise InputError(f"{arguments.where}: noise is of one platform: name one")
    is_ordered = getattr(arguments, "orders", 1) != 1 or getattr(arguments, "order", None) is not None
    running = {"--orders": is_ordered, "--check": getattr(arguments, "check", False),
               "--record": getattr(arguments, "record", None)}  # fmt: skip
    for option, value in running.items():
        if value:
            raise InputError(f"{option} is of one run, and noise of many: leave it out, or --noise")
    return True


def measures(arguments: argparse.Namespace, place: Any) -> bool:
    """Whether a program runs whose computation is measured: then every run would differ from the others anyway."""
    if arguments.what != "run":
        return False
    return arguments.compute == "measured" or (arguments.compute is None and place.computes)


@contextmanager
def computation_kept(
    arguments: argparse.Namespace, place: Any, record: Callable[[argparse.Namespace], Any]
) -> Iterator[argparse.Namespace]:
    """Yield arguments by which the program computes as long as in one run that was recorded, in every run alike.

    Parameters
    ----------
    arguments : Namespace
    place : Place
    record : callable
        Arguments -> one run of the program, recorded into their folder.
    """
    if not measures(arguments, place):
        computation = {"compute": arguments.compute or "0"} if arguments.what == "run" else {}
        yield argparse.Namespace(**vars(arguments) | computation)
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="commmodel-") as folder:
        path = os.path.join(folder, "recording")
        record(argparse.Namespace(**vars(arguments) | {"record": path, "is_one_of_many": False}))
        yield argparse.Namespace(**vars(arguments) | {"compute": path, "faster": 1.0})


def run(
    arguments: argparse.Namespace, place: Any, workload: Callable[[Any], Any], how: dict[str, Any],
    notes: Sequence[str] = (),
) -> int:  # fmt: skip
    """Run all seeds, and print the table or JSON.

    Parameters
    ----------
    arguments : Namespace
    place : Place
    workload : callable
        Place -> what runs there.
    how : dict
        How it is prepared.
    notes : sequence of str
        What is to be said besides.
    """
    from commmodel.simulate.noise import noise_spread

    page = OutputPage(arguments, "write_noise", [arguments.where, arguments.noise])
    with worker_executor(arguments) as executor:
        study = noise_spread(
            workload, arguments.noise, arguments.seeds or _SEEDS, on=place, workers=worker_count(arguments),
            executor=executor, **how,
        )  # fmt: skip
    study = replace(study, notes=(*notes, *study.notes))
    page.write(study)

    def blocks() -> list[Any]:
        from commmodel.report.kit.tables import text
        from commmodel.report.simulation.noise import noise_lines, noise_table, noise_title

        return [text(noise_title(study), "bold"), noise_table(study), *map(text, noise_lines(study))]

    page.answer(study.as_json, blocks)
    tell("note", study.notes)
    return page.code
