"""Several jobs at once on one platform, of the verb ``simulate``."""

import argparse
from typing import Any

from commmodel.cli.pages import OutputPage
from commmodel.cli.parsers import print_json, tell, warn_of
from commmodel.cli.simulation import place_of, settings_of, tell_deadlock, typed_options
from commmodel.interruption import prompt_interruption

_HOW = {"placement", "per_node", "seed", "faster", "speed"}
"""Arguments that go to the question under their names."""


def run(arguments: argparse.Namespace) -> int:
    """Simulate the jobs beside each other and alone, and print the tables or JSON."""
    from commmodel import simulate

    place = place_of(arguments, arguments.where)
    warn_of(place.machine)
    page = OutputPage(arguments, "write_jobs", [arguments.where, *arguments.traces])
    settings: Any = settings_of(arguments).get("settings")
    with prompt_interruption():
        runs = simulate.jobs(arguments.traces, on=place, selector=settings, **typed_options(arguments, _HOW))
    if runs.result.blocked:
        tell("note", runs.notes)
        if arguments.json:
            print_json(runs.as_json() | {"notes": runs.notes, "output": None})
        return tell_deadlock([(runs.result.model, runs.result)])
    page.write(runs)

    def blocks() -> list[Any]:
        from commmodel.report.kit.tables import text
        from commmodel.report.simulation.jobs import job_lines, job_tables, jobs_title

        return [text(jobs_title(runs), "bold"), *job_tables(runs), *map(text, job_lines(runs))]

    page.answer(lambda: runs.as_json() | {"notes": runs.notes}, blocks)
    tell("note", runs.notes)
    return page.code
