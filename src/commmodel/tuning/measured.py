"""Rules for an MPI library that are measured to win. Main entry: `tune`."""

import math
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct

from commmodel.arguments import Count, Positive, refuse
from commmodel.bench.launches import launcher_words
from commmodel.choices import TunedLibrary
from commmodel.collectives.library import selection
from commmodel.collectives.library.rules import SEVERAL, distribution
from commmodel.collectives.operation import OPERATIONS
from commmodel.collectives.schedule import Nodes, Problem
from commmodel.errors import CommModelError, InputError
from commmodel.frames import Tabular
from commmodel.launchers import is_launched
from commmodel.machine import Machine
from commmodel.predict.collective import algorithm_seconds
from commmodel.predict.tuning import LibraryRules
from commmodel.progress import ProgressLine
from commmodel.results import Writer
from commmodel.signatures import checked
from commmodel.structs import InputStruct
from commmodel.tuning.decision import decide
from commmodel.tuning.duel import Gain, duel, winners
from commmodel.tuning.launches import LEAST_PAIRS, RuleLaunches, TuningProgress, measured_before
from commmodel.tuning.rules import algorithm_and_segment, candidates, operations_of, selector_of
from commmodel.tuning.search import DEFAULT_CHOICE, AlgorithmSearch, CellChoice, CollectiveCell, Samples, explore
from commmodel.units import format_time
from commmodel.values import Value

_WIDE = 100
"""End of an interval beyond which it is not told."""
_COLUMNS = ("operation", "message_size", "processes", "algorithm", "gain", "low", "high", "basis")


class TuningLaunches(InputStruct, frozen=True):
    """How long, with which command and into which file `tune` measures."""

    results: str | os.PathLike[str]
    """File that keeps all records, with the algorithms' names."""
    seconds: Positive = 600.0
    """Time for all launches."""
    launcher: str | None = None
    """Command that starts MPI programs; None: mpiexec on two ranks."""
    resume: bool = False
    """Go on with the file of an interrupted run."""
    force: bool = False
    """Replace the file."""


class MeasuredRules(Tabular, Value, Struct, frozen=True):
    """Rules that won against the library's own choices, and what each gains."""

    rules: LibraryRules
    choices: tuple[tuple[str, int, int, str, float, float, float, str], ...]
    """Operation, size, processes, algorithm (empty: the library's own choice), gain, its interval, and basis."""
    ranks: int
    """Of a launch; what is chosen for more processes rests on the model."""
    launches: int
    pairs: int
    """Of launches without and with the rules."""
    dropped: tuple[str, ...]
    """Rules that did not win, a line each."""
    warnings: tuple[str, ...] = ()

    @property
    def has_rules(self) -> bool:
        """Whether any rule won."""
        return bool(self.rules.selector.rules)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns operation, message_size, processes, algorithm, gain, low, high and basis.

        The gain is the library's own time over that of the algorithm, with its interval of 95 %; the basis is
        ``measured``, or ``model`` where this algorithm was not measured in this cell.
        """
        return {name: [row[place] for row in self.choices] for place, name in enumerate(_COLUMNS)}

    @checked
    def dump(self, path: str | os.PathLike[str]) -> None:
        """Write the library's files of rules, in place of those that are there."""
        self.rules.dump(path)

    @checked
    def usage(self, path: str | os.PathLike[str]) -> list[str]:
        """Return the variables with which the library uses the files, a line each.

        Examples
        --------
        >>> from commmodel.collectives.library import SelectionRule, Selector
        >>> rules = LibraryRules("mpich", Selector("mine", (SelectionRule("bcast", "chain"),)), ())
        >>> MeasuredRules(rules, (), ranks=2, launches=15, pairs=5, dropped=()).usage("rules.json")[1:]
        ['export MPIR_CVAR_DEVICE_COLLECTIVES=percoll', 'export MPIR_CVAR_BCAST_DEVICE_COLLECTIVE=0']
        """
        return self.rules.usage(path)


@checked
def tune(
    machine: Machine,
    processes: Iterable[int],
    sizes: Iterable[int],
    library: TunedLibrary,
    measurement: TuningLaunches,
    *,
    collectives: Sequence[str] | None = None,
    per_node: Count | None = None,
) -> MeasuredRules:
    """Return rules for an MPI library that win over its own choices in measurements.

    The predictions of the machine say what is worth measuring. Sizes between those that are measured, and numbers of
    processes that a launch does not have, get a rule where a model of each algorithm, fitted to all measurements, is
    sure of it.

    Parameters
    ----------
    machine : Machine
        With the parameters of a model of collectives.
    processes, sizes : iterable of int
        P, at least 2, and n in bytes, at least 1.
    library : {"openmpi", "openmpi-6", "mpich"}
        Open MPI up to version 5, from version 6 on, or MPICH.
    measurement : TuningLaunches
        How long, with which command and into which file.
    collectives : sequence of str, optional
        Operations; by default all whose algorithm the library lets one choose by size.
    per_node : int, optional
        Processes of each node.

    Raises
    ------
    InputError
        Where the grid is empty, rules for an operation would make the library hang, or the file is there.
    MPIEnvironmentError
        Where no launch can be started.

    Examples
    --------
    >>> from commmodel.simulate.scenario import machine_of_parameters
    >>> here = machine_of_parameters("L=2us,o=1us,g=1us,G=1ns")
    >>> tune(here, [16], [8, 1024], "openmpi", TuningLaunches("rules.jsonl"), collectives=["scatter"])
    Traceback (most recent call last):
    commmodel.errors.InputError: collectives: scatter: Open MPI takes its size from arguments of the root alone, so a \
rule can make the program hang: leave it out
    """
    columns, counts = sorted(set(sizes)), sorted(set(processes))
    for name, numbers, least in (("sizes", columns, 1), ("processes", counts, 2)):
        if not numbers or numbers[0] < least:
            raise refuse(name, numbers, f"give at least one number, from {least} up")
    if is_launched():
        raise InputError("tune starts the launcher itself: run it without mpiexec, and name it as `launcher`")
    operations = operations_of(collectives, library)
    search = _search(machine, library, per_node)
    path = Path(measurement.results)
    before = measured_before(path) if measurement.resume else TuningProgress([], 0.0, [])
    with (
        ProgressLine("measuring algorithms") as line,
        Writer(path, resume=measurement.resume, force=measurement.force) as writer,
    ):
        launches = RuleLaunches(
            library, launcher_words(measurement.launcher), measurement.seconds, writer, line, [],
            search.fastest_candidate, path.resolve().parent, per_node, before.seconds,
        )  # fmt: skip
        ranks = launches.ranks()
        launches.cells = [*_cells(operations, columns, [count for count in counts if count <= ranks])]
        if not launches.cells:
            raise InputError(
                f"processes: the launcher starts {ranks} ranks, fewer than {counts[0]}: give one of more ranks"
            )
        if per_node is None and counts[-1] > ranks:
            launches.warnings.append(
                f"no rules for more than {ranks} processes: tell the processes of each node (-k), or start more ranks"
            )
        for row in before.rows:
            search.add(*row)
        earlier = _picks_before(before, launches.cells)
        if not earlier:
            explore(search, launches.cells, launches)
        if launches.count == 1 and not launches.seconds_left:
            needed = format_time(launches.duration * (2 * LEAST_PAIRS + 2))
            launches.warnings.append(
                "no time for any algorithm beside the library's own choice: measure longer than "
                f"{needed}, or fewer sizes or operations"
            )
        every_cell = [*_cells(operations, _with_doublings(columns), counts)]
        choices = [
            _as_before(choice, earlier[choice.cell]) if choice.cell in earlier else choice
            for choice in decide(search, every_cell)
        ]
        gains: dict[CollectiveCell, Gain] = {}
        if selector_of(choices, library, per_node).rules:
            gains = _decided(launches, choices, search, before.pairs if earlier else ())
    measured = set(launches.cells)
    later = decide(search, every_cell) if gains else choices
    after = [old if old.cell in measured else new for old, new in zip(choices, later, strict=True)]
    on_levels = any(distribution(count, per_node) == SEVERAL for count in counts)
    final = winners(after, gains, by_operation=library == "mpich" or on_levels)
    return MeasuredRules(
        LibraryRules(library, selector_of(final, library, per_node), (), per_node),
        tuple(map(_row, final)), ranks, launches.count, max((gain.pairs for gain in gains.values()), default=0),
        tuple(_lost(choices, final, gains)), (*machine.warnings, *launches.warnings),
    )  # fmt: skip


def _row(choice: CellChoice) -> tuple[str, int, int, str, float, float, float, str]:
    basis = "measured" if choice.is_measured else "model"
    return (*choice.cell, choice.algorithm, choice.gain, choice.low, choice.high, basis)


def _cells(operations: Sequence[str], sizes: Sequence[int], counts: Sequence[int]) -> Iterable[CollectiveCell]:
    for operation in operations:
        for count in counts:
            for size in sizes if OPERATIONS[operation].has_size else (0,):
                yield CollectiveCell(operation, size, count)


def _with_doublings(sizes: Sequence[int]) -> list[int]:
    """Return sizes and the powers of two between them.

    >>> _with_doublings([6, 40])
    [6, 8, 16, 32, 40]
    """
    powers = (1 << power for power in range(sizes[0].bit_length(), sizes[-1].bit_length()))
    return sorted({*sizes, *(power for power in powers if sizes[0] < power < sizes[-1])})


def _search(machine: Machine, library: TunedLibrary, per_node: int | None) -> AlgorithmSearch:
    selector = selection.load("mpich-5.0" if library == "mpich" else "openmpi")

    def predicted(cell: CollectiveCell, algorithm: str) -> float:
        problem = Problem(cell.processes, cell.message_size, nodes=None if per_node is None else Nodes(per_node))
        with suppress(CommModelError):
            if algorithm:
                name, segment_size = algorithm_and_segment(algorithm)
            else:
                rule = selection.select_for(selector, cell.operation, problem)
                name, segment_size = rule.algorithm, rule.segment_size
            problem = selection.with_levels(selector, cell.operation, name, replace(problem, segment_size=segment_size))
            return algorithm_seconds(machine, cell.operation, name, problem)
        return math.nan

    return AlgorithmSearch(
        lambda cell: candidates(library, cell, per_node),
        predicted,
        lambda _, name: algorithm_and_segment(name)[0],
        per_node,
    )


def _picks_before(before: TuningProgress, cells: Iterable[CollectiveCell]) -> dict[CollectiveCell, str]:
    """Return the algorithms of an interrupted run's pairs; none where it had no pair, or did not measure a cell."""
    measured = {cell for cell, name, _ in before.rows if name == DEFAULT_CHOICE}
    if not before.pairs or not measured.issuperset(cells):
        return {}
    _, rules = before.pairs[0]
    return dict.fromkeys(cells, DEFAULT_CHOICE) | dict(list(rules))


def _as_before(choice: CellChoice, algorithm: str) -> CellChoice:
    return choice if choice.algorithm == algorithm else CellChoice(choice.cell, algorithm, is_measured=bool(algorithm))


def _decided(
    launches: RuleLaunches,
    choices: Sequence[CellChoice],
    search: AlgorithmSearch,
    before: Sequence[tuple[Samples, Samples]],
) -> dict[CollectiveCell, Gain]:
    """Return the gains of rules in the measured cells of their operations."""
    groups = {(choice.cell.operation, choice.cell.processes) for choice in choices if choice.algorithm}
    cells = set(launches.cells)
    picks = {choice.cell: choice.algorithm for choice in choices
             if choice.cell in cells and choice.cell[::2] in groups}  # fmt: skip
    if not picks:
        return {}
    return duel(launches, picks, selector_of(choices, launches.library, launches.per_node), search, before)


def _lost(
    before: Sequence[CellChoice], after: Sequence[CellChoice], gains: dict[CollectiveCell, Gain]
) -> Iterable[str]:
    for old, new in zip(before, after, strict=True):
        if old.algorithm and not new.algorithm and old.cell in gains:
            gain, cell = gains[old.cell], old.cell
            high = f"{gain.high:.2f}" if gain.high < _WIDE else f"over {_WIDE}"
            yield (
                f"{cell.operation} of {cell.message_size} B on {cell.processes} processes: {old.algorithm} does not "
                f"win: {gain.ratio:.2f} [{gain.low:.2f}, {high}]"
            )
