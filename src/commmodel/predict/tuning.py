"""Rules for an MPI library from the predictions of a machine. Main entry: `tune`."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from commmodel.arguments import Count
from commmodel.choices import CostModel, TunedLibrary
from commmodel.collectives.algorithms.two_level import TWO_LEVEL
from commmodel.collectives.library import han, mpich, openmpi, selection
from commmodel.collectives.library import tuning as choosing
from commmodel.collectives.library.rules import SEVERAL, Selector
from commmodel.collectives.operation import SCHEDULED, ScheduledName
from commmodel.collectives.schedule import Nodes, Problem
from commmodel.errors import InputError, choice_of
from commmodel.frames import Tabular
from commmodel.machine import Machine
from commmodel.predict.collective import algorithm_seconds
from commmodel.predict.extrapolation import collective_reach
from commmodel.predict.nodes import path_remark
from commmodel.progress import ProgressLine
from commmodel.signatures import checked
from commmodel.values import Value

_COLUMNS = ("operation", "message_size", "processes", "algorithm")


class LibraryRules(Tabular, Value, Struct, frozen=True):
    """Rules for an MPI library, and what they choose on the grid from which they were made."""

    library: TunedLibrary
    selector: Selector
    """The rules."""
    choices: tuple[tuple[str, int, int, str], ...]
    """Operation, message size, processes and algorithm at each point of the grid."""
    per_node: int | None = None
    """Processes of a node; None where nodes are not told apart."""
    extrapolates: tuple[str, ...] = ()
    """What of the grid lies beyond what was measured."""
    warnings: tuple[str, ...] = ()
    """What was wrong while the machine was measured, and what it lacks."""

    @property
    def has_levels(self) -> bool:
        """Whether a second file, for Open MPI's component han, says what is done in two levels."""
        return self.library != "mpich" and any(rule.distribution == SEVERAL for rule in self.selector.rules)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns operation, message_size, processes and algorithm."""
        return {name: [row[place] for row in self.choices] for place, name in enumerate(_COLUMNS)}

    @checked
    def files(self, path: str | os.PathLike[str]) -> list[str]:
        """Return the files that `dump` writes: `path`, and where there are two levels one with the suffix ``.han``."""
        name = os.fspath(path)
        return [name, name + han.SUFFIX] if self.has_levels else [name]

    @checked
    def dump(self, path: str | os.PathLike[str]) -> None:
        """Write the library's files of rules, in place of those that are there."""
        first, *rest = self.files(path)
        selection.dump(self.selector, first, "openmpi-json" if self.library == "openmpi-6" else self.library)
        for name in rest:
            selection.dump(self.selector, name, "openmpi-han")

    @checked
    def variables(self, path: str | os.PathLike[str]) -> dict[str, str]:
        """Return the environment variables with which the library uses the files.

        MPICH's device decides before the file, so of operations with rules it is turned off, and of them alone.

        Examples
        --------
        >>> from commmodel.collectives.library import SelectionRule, Selector
        >>> rules = LibraryRules("mpich", Selector("mine", (SelectionRule("bcast", "chain"),)), ())
        >>> [name for name, value in rules.variables("rules.json").items() if value == "0"]
        ['MPIR_CVAR_BCAST_DEVICE_COLLECTIVE']
        """
        first, *rest = (str(Path(name).resolve()) for name in self.files(path))
        if self.library == "mpich":
            operations = dict.fromkeys(rule.operation for rule in self.selector.rules)
            is_two_level = any((rule.operation, rule.algorithm) == ("bcast", TWO_LEVEL) for rule in self.selector.rules)
            return {
                "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": first,
                "MPIR_CVAR_DEVICE_COLLECTIVES": "percoll",
                **{f"MPIR_CVAR_{name.upper()}_DEVICE_COLLECTIVE": "0" for name in operations},
                **({"MPIR_CVAR_BCAST_SHORT_MSG_SIZE": str(2**31 - 1)} if is_two_level else {}),  # or short ones alone
            }
        settings = {"coll_tuned_use_dynamic_rules": "1", "coll_tuned_dynamic_rules_filename": first}
        for name in rest:
            settings |= {"coll_han_use_dynamic_file_rules": "1", "coll_han_dynamic_rules_filename": name}
        return {f"OMPI_MCA_{name}": value for name, value in settings.items()}

    @checked
    def usage(self, path: str | os.PathLike[str]) -> list[str]:
        """Return the commands of a shell that set `variables`, a line each."""
        return [f"export {name}={value}" for name, value in self.variables(path).items()]


@checked
def tune(
    machine: Machine,
    processes: Iterable[int],
    sizes: Iterable[int],
    library: TunedLibrary,
    *,
    collectives: Sequence[str] | None = None,
    per_node: Count | None = None,
    model: CostModel | None = None,
    path: str | None = None,
) -> LibraryRules:
    """Return rules for an MPI library: at each point of a grid the algorithm that is predicted to be the fastest.

    Parameters
    ----------
    machine : Machine
        With the parameters of a model of collectives.
    processes, sizes : iterable of int
        P, at least 1, and n in bytes, at least 0: the grid. What is fastest at a point holds up to the next.
    library : {"openmpi", "openmpi-6", "mpich"}
        Open MPI up to version 5, from version 6 on, or MPICH.
    collectives : sequence of str, optional
        Operations; by default all of which the library lets one choose the algorithm.
    per_node : int, optional
        Processes of each node, at least 1: then there are rules for two levels, too.
    model, path : str, optional
        As of `commmodel.predict.collective`; no path beside `per_node`.

    Raises
    ------
    InputError
        Where the grid is empty, the library has no choice for an operation, or nothing can be predicted.

    Examples
    --------
    >>> from commmodel.simulate.scenario import machine_of_parameters
    >>> here = machine_of_parameters("L=2us,o=1us,g=1us,G=1ns")
    >>> rules = tune(here, [8], [8, 1 << 20], "mpich", collectives=["bcast"])
    >>> rules.to_dict()["algorithm"]
    ['binomial', 'scatter-recursive-doubling']
    >>> rules.files("rules.json")
    ['rules.json']
    >>> rules.usage("rules.json")[1]
    'export MPIR_CVAR_DEVICE_COLLECTIVES=percoll'
    """
    if per_node is not None and path is not None:
        raise InputError("`per_node`, `path`: give one of them: on nodes each message takes its own path")
    columns, counts = [*sizes], [*processes]
    operations = _operations(collectives, library)
    warnings = [*machine.warnings]
    if path is None and counts and (remark := path_remark(machine, max(counts), per_node)):
        warnings.append(remark)
    if any(segment.loggp is not None and segment.loggp.bounded for segment in machine.segments):
        warnings.append("o and g are bounds, from latency and bandwidth alone: measure the kernel loggp for both")

    places = {name: place for place, name in enumerate(operations)}

    def seconds(operation: str, algorithm: str, message_size: int, count: int, nodes: Nodes | None = None) -> float:
        line.count(places.get(operation, 0), len(places), "operations")  # type: ignore[call-overload]
        problem = Problem(count, message_size, nodes=nodes)
        return algorithm_seconds(machine, operation, algorithm, problem, model=model, path=path)

    with ProgressLine("choosing algorithms") as line:
        selector = choosing.tune(seconds, operations, columns, counts, library, per_node)
    choices = tuple(
        (operation, size, count, selection.select(selector, operation, size, count, per_node=per_node).algorithm)
        for operation in operations
        for count in counts
        for size in ((0,) if operation == "barrier" else columns)
    )
    reach = collective_reach(machine, max(counts), max(columns), path)
    return LibraryRules(library, selector, choices, per_node, reach, tuple(warnings))


def _operations(names: Sequence[str] | None, library: TunedLibrary) -> list[ScheduledName]:
    """Return the requested operations; by default those whose algorithm the library lets a user choose."""
    offers = mpich.OFFERS if library == "mpich" else openmpi.OFFERS
    if names is None:
        return [name for name in SCHEDULED if offers.get(name)]
    for name in names:
        if name not in SCHEDULED:
            raise InputError(f"collectives: there is no {name!r}: {choice_of(name, SCHEDULED)}", "collectives")
        if not offers.get(name):
            raise InputError(f"collectives: {library} has no choice of algorithms of {name}", "collectives")
    return cast(list[ScheduledName], list(dict.fromkeys(names)))
