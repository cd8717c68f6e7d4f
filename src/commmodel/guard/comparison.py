"""Counts of a program against those of its baseline, number by number and by call site. Main entry: `compare`.

Lines move when a file is edited, so a call site is known by its file, function and call, and by its place among those:
two sites more in a function are two new sites, whatever their lines are.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from os.path import basename
from typing import Literal

from commmodel.guard.counts import Counts, RunCounts, SiteCounts
from commmodel.guard.file import METRICS, Guard, Metric
from commmodel.signatures import checked
from commmodel.values import OneLine

_ROUNDING = 1e-9
"""Share by which simulated seconds of two processors may differ."""
_SiteKey = tuple[str, str, str]


@dataclass(frozen=True)
class CountChange(OneLine):
    """A number of a run, before and after."""

    program: str
    processes: int
    metric: Metric
    before: float
    after: float
    change: Literal["larger", "smaller", "same"]
    """Larger where it is so by more than the program's ``least``; smaller where it is so at all."""

    @property
    def ratio(self) -> float:
        """`after` / `before`; infinite from nothing."""
        return self.after / self.before if self.before else float("inf") if self.after else 1.0


@dataclass(frozen=True)
class SiteChange(OneLine):
    """A call site whose calls or bytes are others; one that is new, or gone, has None on one side."""

    program: str
    processes: int
    before: SiteCounts | None
    after: SiteCounts | None

    @property
    def site(self) -> SiteCounts:
        """Where it stands now, or stood."""
        site = self.after or self.before
        assert site is not None  # noqa: S101 - one of both is there
        return site

    @property
    def calls(self) -> tuple[int, int]:
        """Before and after."""
        return (self.before.calls if self.before else 0, self.after.calls if self.after else 0)

    @property
    def bytes(self) -> tuple[int, int]:
        """Before and after."""
        return (self.before.bytes if self.before else 0, self.after.bytes if self.after else 0)


@dataclass(frozen=True)
class CountComparison(OneLine):
    """All runs that both sides have.

    Attributes
    ----------
    changes : tuple of CountChange
        All numbers, in the order of the programs.
    sites : tuple of SiteChange
        Call sites that differ, those with the largest difference of calls first.
    notes : tuple of str
        What a reader must know: runs without a counterpart, other packages.
    """

    changes: tuple[CountChange, ...] = ()
    sites: tuple[SiteChange, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def larger(self) -> tuple[CountChange, ...]:
        """Numbers that have grown."""
        return tuple(change for change in self.changes if change.change == "larger")

    @property
    def smaller(self) -> tuple[CountChange, ...]:
        """Numbers that have fallen."""
        return tuple(change for change in self.changes if change.change == "smaller")


@checked
def compare(before: Counts, after: Counts, guard: Guard | None = None) -> CountComparison:
    """Compare runs of the same programs.

    Parameters
    ----------
    before, after : Counts
    guard : Guard, optional
        Says by which share numbers may grow; by default by none.

    Examples
    --------
    >>> before = Counts(runs=(RunCounts("solver", 4, messages=12),))
    >>> after = Counts(runs=(RunCounts("solver", 4, messages=16),))
    >>> [(change.metric, change.before, change.after) for change in compare(before, after).larger]
    [('messages', 12, 16)]
    """
    tolerances = {program.title: program.tolerance for program in (() if guard is None else guard.program)}
    earlier = {run.key: run for run in before.runs}
    changes: list[CountChange] = []
    sites: list[SiteChange] = []
    notes = [*_packages(before, after)]
    without: dict[str, list[str]] = defaultdict(list)
    for run in after.runs:
        old = earlier.get(run.key)
        problem = _obstacle(old, run)
        if old is not None and not problem:
            changes += _changes(old, run, tolerances.get(run.program, 0.0))
            sites += _site_changes(old, run)
        elif problem:
            without[f"{run.program}: not compared: {problem}"].append(str(run.processes))
    notes += [f"{words} (p = {', '.join(counts)})" for words, counts in without.items()]
    sites.sort(key=lambda site: -abs(site.calls[1] - site.calls[0]))
    return CountComparison(tuple(changes), tuple(sites), tuple(notes))


def _packages(before: Counts, after: Counts) -> Iterator[str]:
    for name, version in after.packages.items():
        old = before.packages.get(name, version)
        if old != version:
            yield f"the baseline was made with {name} {old}, this is {version}: they may send otherwise"


def _obstacle(before: RunCounts | None, after: RunCounts) -> str:
    """Return why a run cannot be compared; nothing where it can."""
    if after.error:
        return "it does not come to its end"
    if before is None:
        return "new, the baseline has no such run"
    if before.error:
        return f"the baseline does not come to its end: {before.error}"
    for name in ("on", "compute"):
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            return f"{name} is {new!r} here, {old!r} in the baseline"
    return ""


def _changes(before: RunCounts, after: RunCounts, tolerance: float) -> Iterator[CountChange]:
    for metric in METRICS:
        old, new = getattr(before, metric), getattr(after, metric)
        rounding = _ROUNDING if metric == "seconds" else 0.0
        is_larger = new > old * (1 + max(tolerance, rounding))
        is_smaller = new < old * (1 - rounding)
        change: Literal["larger", "smaller", "same"] = "larger" if is_larger else "smaller" if is_smaller else "same"
        yield CountChange(after.program, after.processes, metric, old, new, change)


def _site_changes(before: RunCounts, after: RunCounts) -> Iterator[SiteChange]:
    sides = [_by_key(run.sites) for run in (before, after)]
    for key in dict.fromkeys((*sides[0], *sides[1])):
        for old, new in _pairs(sides[0].get(key, []), sides[1].get(key, [])):
            if old is None or new is None or (old.calls, old.bytes) != (new.calls, new.bytes):
                yield SiteChange(after.program, after.processes, old, new)


def _by_key(sites: Sequence[SiteCounts]) -> dict[_SiteKey, list[SiteCounts]]:
    """Return sites by file, function and call, those of a key in the order of their lines."""
    keys: dict[_SiteKey, list[SiteCounts]] = defaultdict(list)
    for site in sites:
        keys[basename(site.file), site.function, site.call].append(site)
    return keys


def _pairs(
    before: Sequence[SiteCounts], after: Sequence[SiteCounts]
) -> Iterator[tuple[SiteCounts | None, SiteCounts | None]]:
    """Pair the sites of a key, those with the same counts first, the others between these in their order."""
    words = [[(site.calls, site.bytes) for site in side] for side in (before, after)]
    matcher = SequenceMatcher(None, words[0], words[1], autojunk=False)
    for kind, first, first_end, second, second_end in matcher.get_opcodes():
        if kind == "equal" or first_end - first == second_end - second:
            yield from zip(before[first:first_end], after[second:second_end], strict=True)
        else:
            yield from zip_longest(before[first:first_end], after[second:second_end])
