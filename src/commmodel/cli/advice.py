"""Advice: which of a better machine, another placement and better code to pay for, of the verb ``simulate``."""

import argparse
from functools import cache
from typing import Any

from commmodel.cli.pages import OutputPage
from commmodel.cli.parsers import Parser, parent, tell
from commmodel.cli.sensitivity import refuse_others
from commmodel.cli.what_if import worker_count
from commmodel.errors import InputError


@cache
def options() -> Parser:
    """Return the option of advice."""
    alone = parent()
    alone.add_argument(
        "--advice", action="store_true",
        help="what to pay for: half the latency, twice the bandwidth, faster cores, another placement or a call site, "
        "each simulated alone, with sensitivity and critical path on one page (-o)",
    )  # fmt: skip
    return alone


def is_wanted(arguments: argparse.Namespace) -> bool:
    """Whether advice is asked for; raise for what does not go with it."""
    if not getattr(arguments, "advice", False):
        return False
    if arguments.sensitivity:
        raise InputError("--advice has what --sensitivity has: leave out --sensitivity")
    if arguments.workers is not None and not isinstance(arguments.workers, int):
        raise InputError("--workers mpi: advice runs on one host: give a number")
    refuse_others(arguments, "--advice")
    return True


def run(arguments: argparse.Namespace, place: Any, workload: Any, how: dict[str, Any]) -> int:
    """Find what gains most, write the page, and print the table or JSON.

    Parameters
    ----------
    arguments : Namespace
    place : Place
    workload : Workload
    how : dict
        mapping, hosts and speed of `commmodel.simulate.scenario.prepare`.
    """
    from commmodel.advice import advise

    page = OutputPage(arguments, "write_advice", [arguments.where])
    if page.path is None and not arguments.json:
        how = how | {"percents": ()}  # what costs tolerate is on the page
    advice = advise(workload, on=place, workers=worker_count(arguments), **how)
    page.write(advice)
    from commmodel.report.simulation.advice import advice_as_json, advice_lines, advice_table

    def blocks() -> list[Any]:
        from commmodel.report.kit.tables import text
        from commmodel.report.simulation.sensitivity import title_of

        return [text(title_of(advice.sensitivity), "bold"), advice_table(advice), *map(text, advice_lines(advice))]

    page.answer(lambda: advice_as_json(advice), blocks)
    tell("note", advice.notes)
    return page.code
