"""Launches of the benchmark under rules that pick an algorithm in each cell. Main entry: `RuleLaunches`.

One launch measures an algorithm in each of many cells: a file of rules, in the library's own format, says which. So
what is measured is used in the same way later. All launches are kept in one file, with the algorithms' names.
"""

import operator
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from commmodel.bench.launches import start_launch
from commmodel.choices import TunedLibrary
from commmodel.collectives.library.rules import Selector
from commmodel.errors import InputError, MPIEnvironmentError
from commmodel.predict.tuning import LibraryRules
from commmodel.progress import ProgressLine
from commmodel.results import Header, Launch, Writer, load
from commmodel.results.configurations import Collective
from commmodel.tuning.rules import selector_of
from commmodel.tuning.search import DEFAULT_CHOICE, CellChoice, CollectiveCell, Samples
from commmodel.units import format_time

EXPLORATIONS = 5
"""Launches that the time is planned for, beside those of the duel."""
PAIRS, LEAST_PAIRS = 5, 3
"""Pairs of launches of the duel that the time is planned for, and fewest, where launches take longer."""
_PATIENCE = 8.0
"""Times its planned time after which a launch hangs, and"""
_LEAST_PATIENCE = 120.0
"""seconds that it gets at least."""
_LEAST_TIME = 0.2
UNDER_RULES = "library-default-under-rules"
"""Name in the file of what the library chose while rules were in use for other cells."""


@dataclass
class RuleLaunches:
    """Launches that measure collectives under rules, within a time.

    Attributes
    ----------
    library : str
        Whose rules are written.
    launcher : sequence of str
        Command that starts MPI programs.
    seconds : float
        Time of all launches.
    writer : Writer
        Of the file that keeps the records.
    per_node : int, optional
        Processes of each node.
    """

    library: TunedLibrary
    launcher: Sequence[str]
    seconds: float
    writer: Writer
    line: ProgressLine
    cells: Sequence[CollectiveCell]
    filler: Callable[[CollectiveCell], str]
    """Algorithm of a cell that is measured although nothing is picked for it."""
    folder: Path
    """For temporary files that all hosts see."""
    per_node: int | None = None
    before: float = 0.0
    """Seconds that earlier runs took, which this one goes on with."""
    startup: float = 0.0
    """Seconds of a launch that measures nothing."""
    warnings: list[str] = field(default_factory=list)
    count: int = 0
    """Of launches."""
    _begin: float = field(default_factory=time.monotonic)
    _printed: set[str] = field(default_factory=set)

    def ranks(self) -> int:
        """Return the number of ranks that the launcher starts."""
        begin = time.monotonic()
        command = [*self.launcher, sys.executable, "-c", "print('rank')"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            raise MPIEnvironmentError(
                f"{command[0]}: {error.strerror}: name what starts MPI programs with --launcher 'mpiexec -n 4'"
            ) from None
        self.startup = time.monotonic() - begin
        count = done.stdout.count("rank")  # lines of ranks may run into one another
        if done.returncode or not count:
            reason = " ".join(done.stderr.split())[-200:] or f"exit code {done.returncode}"
            raise MPIEnvironmentError(f"--launcher: {' '.join(self.launcher)} starts no ranks: {reason}")
        return count

    @property
    def duration(self) -> float:
        """Seconds of the next launch: what the last one took beside its measurements, and these."""
        return self.startup + self._time

    @property
    def seconds_in_all(self) -> float:
        """Seconds until the end of the time."""
        return self.seconds - self.before - (time.monotonic() - self._begin)

    @property
    def seconds_left(self) -> float:
        """Seconds for launches that are not of the duel; 0 where not a single one fits."""
        left = self.seconds_in_all - 2 * LEAST_PAIRS * self.duration
        return left if left >= self.duration else 0.0

    def cost(self, seconds: float) -> float:  # noqa: ARG002  (a launch takes its time whatever it measures)
        """Return the time of one more cell in a launch: none."""
        return 1e-9

    def measure(self, picks: Mapping[CollectiveCell, str], rules: Selector | None = None) -> Samples:
        """Return samples of each cell under rules for what is picked, or the rules given.

        A launch measures all sizes on all numbers of processes of its operations: where nothing is picked, `filler`
        names the algorithm.
        Where a launch fails, that of each operation is tried alone; what fails again is left out, with a warning.
        """
        if rules is None:
            picks = {**self._fillers(picks), **picks}
            rules = selector_of([CellChoice(*pick) for pick in picks.items()], self.library, self.per_node)
        samples = self._launched(picks, rules)
        if samples is not None:
            return samples
        operations = {cell.operation for cell in picks}
        if not rules.rules:
            raise MPIEnvironmentError(f"{' '.join(self.launcher)} could not measure collectives: see above")
        result: dict[tuple[CollectiveCell, str], Sequence[float]] = {}
        for operation in sorted(operations):
            part = {cell: name for cell, name in picks.items() if cell.operation == operation}
            alone = tuple(rule for rule in rules.rules if rule.operation == operation)
            is_other = len(operations) > 1
            again = self._launched(part, msgspec.structs.replace(rules, rules=alone)) if is_other else None
            if again is None:
                names = ", ".join(sorted({name for name in part.values() if name}))
                self.warnings.append(f"{operation} failed with {names}: these are left out")
            result |= again or {}
        return result

    def _fillers(self, picks: Mapping[CollectiveCell, str]) -> dict[CollectiveCell, str]:
        """Return an algorithm for each cell that a launch measures beside what is picked; none without rules."""
        if not any(picks.values()):
            return {}
        operations = {cell.operation for cell in picks}
        sizes, counts = {cell.message_size for cell in picks}, {cell.processes for cell in picks}
        beside = (
            cell for cell in self.cells
            if cell.operation in operations and cell.message_size in sizes and cell.processes in counts
        )  # fmt: skip
        return {cell: self.filler(cell) for cell in beside}

    def _launched(
        self, picks: Mapping[CollectiveCell, str], rules: Selector
    ) -> dict[tuple[CollectiveCell, str], Sequence[float]] | None:
        """Return the samples of a launch; None where it fails."""
        self.line.count(self.count, EXPLORATIONS + 2 * PAIRS, "launches")
        self.line.say(f"launch {self.count + 1}, {format_time(max(self.seconds_in_all, 0.0))} left")
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="commmodel-tune-", dir=self.folder) as folder:
            part = Path(folder) / "launch.jsonl"
            variables: dict[str, str] = {}
            if rules.rules:
                files = LibraryRules(self.library, rules, ())
                path = str(Path(folder).resolve() / "rules")
                files.dump(path)
                variables = files.variables(path)
            command = [*self.launcher, sys.executable, "-m", "commmodel.bench", *self._words(picks), "-o", str(part)]
            seconds = self._time
            timeout = max(_PATIENCE * (self._planned + self.startup), _LEAST_PATIENCE)
            code = start_launch(command, self._printed, variables, timeout)
            self.count += 1
            self.startup = max(time.monotonic() - begin - seconds, 0.0)
            return None if code or not part.exists() else self._samples(picks, load(part).launches[0])

    @property
    def _planned(self) -> float:
        return self.seconds / (EXPLORATIONS + 2 * PAIRS)

    @property
    def _time(self) -> float:
        """Seconds that the benchmark of the next launch is told."""
        return max(self._planned - self.startup, _LEAST_TIME)

    def _words(self, picks: Mapping[CollectiveCell, str]) -> list[str]:
        """Return the arguments of the benchmark."""
        sizes = sorted({cell.message_size for cell in picks if cell.message_size}) or [8]
        return [
            "collective", "--collectives", ",".join(dict.fromkeys(cell.operation for cell in picks)),
            "--sizes", ",".join(map(str, sizes)),
            "--process-counts", ",".join(map(str, sorted({cell.processes for cell in picks}))),
            "--time", f"{self._time:.3f}s", "--json",
        ]  # fmt: skip

    def _samples(
        self, picks: Mapping[CollectiveCell, str], launch: Launch
    ) -> dict[tuple[CollectiveCell, str], Sequence[float]]:
        """Write the records under their algorithms' names, and return the samples of what was picked."""
        self._check_placement(launch.header)
        samples: dict[tuple[CollectiveCell, str], Sequence[float]] = {}
        records = []
        is_under_rules = any(picks.values())
        for record in launch.records:
            call = record.configuration
            if isinstance(call, Collective):
                cell = CollectiveCell(call.operation, call.message_size, call.processes)
                if cell in picks:
                    samples[cell, picks[cell]] = record.samples
                    name = picks[cell] or (UNDER_RULES if is_under_rules else "")
                    labelled = msgspec.structs.replace(call, algorithm=name)
                    records.append(msgspec.structs.replace(record, configuration=labelled))
        self.writer.write(msgspec.structs.replace(launch.header, planned=len(records)))
        for record in records:
            self.writer.write(record)
        return samples

    def _check_placement(self, header: Header) -> None:
        """Refuse other numbers of processes on nodes than those that rules are written for."""
        counts = Counter(rank.host for rank in header.ranks)
        if self.per_node is not None and len(counts) > 1 and max(counts.values()) != self.per_node:
            raise InputError(
                f"per_node: the launcher starts {max(counts.values())} processes on a node, not {self.per_node}: "
                f"give {max(counts.values())}, or change --launcher",
                "per_node",
            )


class TuningProgress(NamedTuple):
    """What an interrupted run has measured."""

    rows: list[tuple[CollectiveCell, str, Sequence[float]]]
    """(Cell, algorithm, samples)."""
    seconds: float
    """That it took."""
    pairs: list[tuple[Samples, Samples]]
    """Of launches without and with rules."""


def measured_before(path: Path) -> TuningProgress:
    """Return what a file of an interrupted run holds.

    The library's own choice in a cell is measured first, and once; what measures it again begins the pairs.
    """
    rows: list[tuple[CollectiveCell, str, Sequence[float]]] = []
    seconds = 0.0
    measured: set[CollectiveCell] = set()
    series: list[tuple[bool, Samples]] = []
    for launch in load(path).launches:
        seconds += max((record.started + record.duration for record in launch.records), default=0.0)
        samples: dict[tuple[CollectiveCell, str], Sequence[float]] = {}
        for record in launch.records:
            call = record.configuration
            if not isinstance(call, Collective):
                raise InputError(f"{path}: it holds other measurements than those of tune: name another file with -o")
            cell = CollectiveCell(call.operation, call.message_size, call.processes)
            rows.append((cell, call.algorithm or DEFAULT_CHOICE, record.samples))
            samples[cell, DEFAULT_CHOICE if call.algorithm == UNDER_RULES else call.algorithm or ""] = record.samples
        is_default = all(not name for _, name, _ in rows[len(rows) - len(launch.records) :])
        if is_default and any(cell not in measured for cell, _ in samples):
            series.clear()  # a run that was given more cells explores first
        elif series or is_default:
            series.append((is_default, samples))
        measured |= {cell for cell, _ in samples} if is_default else set()
    pairs = []
    for first, second in zip(series[::2], series[1::2], strict=False):
        if first[0] != second[0]:
            default, rules = sorted((first, second), key=operator.itemgetter(0), reverse=True)
            pairs.append((default[1], rules[1]))
    return TuningProgress(rows, seconds, pairs)
