"""Sensitivity: what a faster or slower network or processor would change, of the verb ``simulate``."""

import argparse
from collections.abc import Callable
from functools import cache
from typing import Any

from commmodel.cli.pages import OutputPage
from commmodel.cli.parsers import Parser, parent, tell
from commmodel.cli.what_if import is_several, worker_count, worker_executor
from commmodel.errors import InputError


@cache
def options() -> Parser:
    """Return the option of sensitivity."""
    alone = parent()
    alone.add_argument(
        "--sensitivity", action="store_true",
        help="how much latency, overhead, bandwidth and cores decide: derivatives, how much worse each may get before "
        "the work takes 1, 2 or 5 %% longer, and what is gained where it costs nothing any more",
    )  # fmt: skip
    return alone


def is_wanted(arguments: argparse.Namespace) -> bool:
    """Whether sensitivity is asked for; raise for what does not go with it."""
    if not arguments.sensitivity:
        return False
    refuse_others(arguments, "--sensitivity")
    return True


def refuse_others(arguments: argparse.Namespace, option_name: str) -> None:
    """Raise for options that are of another kind of run than the wanted one."""
    is_ordered = getattr(arguments, "orders", 1) != 1 or getattr(arguments, "order", None) is not None
    is_sized = isinstance(getattr(arguments, "processes", None), tuple)
    excluded = (
        ("--compare", arguments.compare), ("--trace", arguments.trace), ("--orders", is_ordered),
        ("several -p", is_sized), ("--check", getattr(arguments, "check", False)),
        ("--critical-path", arguments.critical_path), ("--record", getattr(arguments, "record", None)),
    )  # fmt: skip
    for option, value in excluded:
        if value:
            raise InputError(f"{option_name} is of one run: leave out {option}")
    if is_several(arguments):
        raise InputError(f"{option_name} is of one platform as it is: leave out --scale, and all but one WHERE")
    if arguments.what == "run" and arguments.compute in (None, "measured"):
        raise InputError(
            f"{option_name}: computation that is measured differs from run to run: give --compute 0 or a recording, or "
            "record the program and use replay"
        )


def run(arguments: argparse.Namespace, question: Callable[[str, Any, Any], Any], machine: Any) -> int:
    """Find the sensitivity, write the page, and print the table or JSON.

    Parameters
    ----------
    arguments : Namespace
    question : callable
        (place, scale, slopes) -> result; of a module, as other processes call it.
    machine : Machine or None
        Whose parameters it is simulated with.
    """
    from commmodel.simulate.sensitivity import sensitivity

    page = OutputPage(arguments, "write_sensitivity", [arguments.where])
    if not hasattr(arguments, "workers"):
        arguments.workers = None
    with worker_executor(arguments) as executor:
        costs = sensitivity(
            question, arguments.where, pieces=page.path is not None or arguments.json, machine=machine,
            executor=executor, workers=worker_count(arguments),
        )  # fmt: skip
    page.write(costs)

    def blocks() -> list[Any]:
        from commmodel.report.kit.tables import text
        from commmodel.report.simulation.sensitivity import cost_table, part_tables, title_of, verdicts

        tables = [cost_table(costs)] if costs.curves else []
        return [text(title_of(costs), "bold"), *tables, *part_tables(costs), *map(text, verdicts(costs))]

    page.answer(costs.as_json, blocks)
    tell("note", costs.notes)
    return page.code
