"""The critical path of a simulated run, for the verb ``simulate``. Main entries: `change_of`, `path_of`."""

import argparse
from typing import Any, NamedTuple

from commmodel.cli import what_if
from commmodel.errors import InputError


class PathOfRun(NamedTuple):
    """A critical path, with what is shown of it beside."""

    path: Any
    links: Any
    gains: Any

    def tables(self) -> Any:
        """Return its tables."""
        from commmodel.report.simulation.critical_path import path_tables

        return path_tables(self.path, self.links, self.gains)

    def as_json(self) -> dict[str, Any]:
        """Return it for ``--json``."""
        from commmodel.report.simulation.critical_path import path_as_json

        return path_as_json(self.path, self.links, self.gains)


def change_of(arguments: argparse.Namespace) -> Any:
    """Return what marks the program's steps, where the critical path is wanted; raise where it cannot be."""
    if not arguments.critical_path:
        return None
    if what_if.is_what_if(arguments) or isinstance(getattr(arguments, "processes", None), tuple):
        raise InputError("--critical-path is of one run: leave out --scale, and name one platform and one -p")
    from commmodel.simulate.critical_path import with_steps

    return with_steps


def path_of(runs: Any) -> PathOfRun:
    """Return the critical path of the first model's run."""
    from commmodel.simulate.critical_path import critical_path, gains

    scenario, result = runs.scenarios[0], runs.results[0]
    path = critical_path(result)
    links = [] if scenario.platform is None else path.by_link(scenario.platform)
    return PathOfRun(path, links, gains(scenario, path))
