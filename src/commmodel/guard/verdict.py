"""The verdict of a guard: counts against a baseline, growth against expectations, times in turns. Main entry: `run`."""

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from commmodel.arguments import Count, Whole
from commmodel.choices import Unit
from commmodel.errors import InputError
from commmodel.guard.comparison import CountChange, CountComparison, compare
from commmodel.guard.counts import Counts, RunCounts, count
from commmodel.guard.file import METRICS, Guard, Metric
from commmodel.guard.times import measure_sides
from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import Function
from commmodel.scaling import CheckResult, Differences, Expectation, Expectations, check, differences
from commmodel.signatures import checked
from commmodel.values import Value

_UNITS: dict[Metric, Unit] = {"bytes": "B", "seconds": "s"}
_CLEAR = 3.0
"""Multiples of what two runs of one program differ by, beyond which a number is another than the baseline's."""


@dataclass(frozen=True)
class GuardResult(Value):
    """What a guard has found.

    Attributes
    ----------
    counts : Counts
        Of the programs as they are now.
    comparison : CountComparison, optional
        With the baseline; None without any.
    growth : CheckResult, optional
        Of what the guard expects; None where it expects nothing.
    times : Differences, optional
        Of both sides, measured in turns; None where that was not asked for.
    """

    counts: Counts
    comparison: CountComparison | None = None
    growth: CheckResult | None = None
    times: Differences | None = None

    @property
    def failures(self) -> tuple[RunCounts, ...]:
        """Runs that have not come to their end."""
        return tuple(run for run in self.counts.runs if run.error)

    @property
    def larger(self) -> tuple[CountChange, ...]:
        """Numbers that have grown beyond the baseline's."""
        return () if self.comparison is None else self.comparison.larger

    @property
    def smaller(self) -> tuple[CountChange, ...]:
        """Numbers that have fallen below the baseline's."""
        return () if self.comparison is None else self.comparison.smaller

    @property
    def mismatches(self) -> tuple[Any, ...]:
        """Series that do not grow as expected, each a `commmodel.scaling.checking.CheckedSeries`."""
        return () if self.growth is None else tuple(row for row in self.growth.rows if row.verdict == "mismatch")

    @property
    def is_slower(self) -> bool:
        """Whether anything that was timed has become slower."""
        return self.times is not None and self.times.is_worse

    @property
    def holds(self) -> bool:
        """Whether all runs end, and nothing has grown, grows otherwise than expected or is slower."""
        return not (self.failures or self.larger or self.mismatches or self.is_slower)


@checked
def run(
    guard: Guard,
    baseline: Counts | str | os.PathLike[str] | None = None,
    *,
    timed: bool = False,
    workers: Count = 1,
    seed: Whole | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> GuardResult:
    """Simulate the programs of a guard in the current folder, and return the verdict.

    Parameters
    ----------
    guard : Guard
    baseline : Counts or path, optional
        Counts, or the folder of another version of the programs, where they are simulated, too.
    timed : bool
        Whether the guard's command of times measures both folders in turns.
    workers : int
        How many simulations go side by side, 1 or more.
    seed : int, optional
        0 or more, of the order in each pair of launches; by default drawn.
    progress : callable, optional
        (runs that are done, runs), called after each simulation.

    Raises
    ------
    InputError
        Where there is no such program, platform or folder, or nothing to time.

    Notes
    -----
    Where a number differs from the baseline's, its program is simulated once more. What differs between these two runs
    is no count: such a number is taken for another one only where it is so by three times as much.

    Examples
    --------
    ``run(load("guard.toml"), load_counts("guard.json")).holds`` is what ``commmodel guard`` says by its exit code.
    """
    folder = None if baseline is None or isinstance(baseline, Counts) else os.fspath(baseline)
    if timed and guard.times is None:
        raise InputError("timed: the guard has no command of times: write [times] with command", "timed")
    if timed and folder is None:
        raise InputError("timed: times of another day tell nothing: give the folder of the other version", "timed")
    before = count(guard, folder, workers=workers, lenient=True) if folder is not None else baseline
    counts = count(guard, workers=workers, progress=progress)
    comparison = None
    if isinstance(before, Counts):
        comparison = compare(before, counts, guard)
        if titles := {change.program for change in (*comparison.larger, *comparison.smaller)}:
            programs = tuple(program for program in guard.program if program.title in titles)
            again = count(msgspec.structs.replace(guard, program=programs), workers=workers, lenient=True)
            comparison = _steady(comparison, compare(counts, again))
    return GuardResult(
        counts,
        comparison,
        growth(guard, counts),
        _times(guard, folder, seed) if timed and folder is not None else None,
    )


def _steady(comparison: CountComparison, repetition: CountComparison) -> CountComparison:
    """Return the comparison without changes of numbers that two runs of the same program do not agree on."""
    seconds = {
        (row.program, row.processes, row.metric): row.after for row in repetition.changes if row.change != "same"
    }
    changes, notes = [], []
    for change in comparison.changes:
        other = seconds.get((change.program, change.processes, change.metric))
        if other is None:
            changes.append(change)
            continue
        notes.append(
            f"{change.metric} of {change.program} on {change.processes} ranks are no counts: {change.after:g}, and "
            f"{other:g} in a second run: seed what is random"
        )
        closest = min(abs(change.after - change.before), abs(other - change.before))
        is_clear = closest > _CLEAR * abs(other - change.after)
        changes.append(change if is_clear else replace(change, change="same"))
    return replace(comparison, changes=tuple(changes), notes=(*comparison.notes, *notes))


def measurements(counts: Counts) -> Measurements:
    """Return counts as measurements of functions over p, which all that takes results takes.

    >>> counts = Counts(runs=(RunCounts("solver", 4, messages=12),))
    >>> measurements(counts).launches[0].records[0].samples
    (12.0,)
    """
    header = Header("commmodel-results", 1, "", (), Library("MPI"), (), ())
    return Measurements((Launch(header, tuple(_records(counts.runs))),))


def _records(runs: Sequence[RunCounts]) -> Iterator[Record]:
    for row in runs:
        for metric in () if row.error else METRICS:
            unit = _UNITS.get(metric, "1")
            yield Record(
                Function(row.program, metric, (("p", float(row.processes)),)), unit, (float(getattr(row, metric)),)
            )


def growth(guard: Guard, counts: Counts) -> CheckResult | None:
    """Return how what the guard expects grows; None where nothing is expected of what could be simulated."""
    failed = {row.program for row in counts.runs if row.error}
    expectations = tuple(
        Expectation(program.title, program.growth(metric), metric)
        for program in guard.program
        for metric in program.expect
        if program.title not in failed
    )
    if not expectations:
        return None
    names = {expectation.name for expectation in expectations}
    chosen = msgspec.structs.replace(counts, runs=tuple(row for row in counts.runs if row.program in names))
    launch = measurements(chosen).launches[0]
    plain = tuple(
        msgspec.structs.replace(record, unit="1") for record in launch.records
    )  # simulated times are exact, too
    result = check(Measurements((Launch(launch.header, plain),)), Expectations(expectations=expectations))
    return replace(result, notes=())  # they are of what is not measured, or not expected


def _times(guard: Guard, folder: str, seed: int | None) -> Differences:
    """Return differences between launches of both folders in turns."""
    assert guard.times is not None  # noqa: S101 - `run` has looked
    before, after = measure_sides(guard.times, folder, secrets.randbelow(2**32) if seed is None else seed)
    return differences(before, after, least=guard.times.tolerance, in_pairs=True)
