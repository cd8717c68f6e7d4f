"""Sentences and tables of a guard's result, for terminal and comment. Main entries: `verdict_words`, `tables`."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from commmodel.guard.comparison import CountChange, SiteChange
from commmodel.guard.counts import Counts, SiteCounts
from commmodel.guard.verdict import GuardResult
from commmodel.report.kit.cells import error_words
from commmodel.report.kit.tables import Cell, Style, Table, left, right
from commmodel.scaling.difference import WANTED
from commmodel.units import counted, format_ratio, format_time

_MOST_SITES = 12
_MARKS: dict[str, tuple[str, Style]] = {
    "larger": ("✗ larger", "bad"), "smaller": ("✓ smaller", "good"), "same": ("same", ""),
}  # fmt: skip
ACCEPT = "commmodel guard --accept"


def value_words(metric: str, value: float) -> str:
    """Return a number of a run in full, a time in three digits.

    >>> value_words("messages", 12000), value_words("bytes", 800), value_words("seconds", 0.00125)
    ('12,000', '800 B', '1.25 ms')
    """
    if metric == "seconds":
        return format_time(value)
    return f"{value:,.0f}{' B' if metric == 'bytes' else ''}"


def change_words(before: float, after: float) -> str:
    """Return by how much a number has changed.

    >>> change_words(4, 8), change_words(0, 3), change_words(3, 0), change_words(10_000_000, 10_000_001)
    ('+100 %', 'from nothing', '−100 %', '+1')
    """
    if not before:
        return "from nothing" if after else "0 %"
    words = error_words(after / before - 1)
    if words != "0 %" or before == after:
        return words
    difference = after - before
    return f"{'+' if difference > 0 else '−'}{abs(difference):,.6g}"


def site_words(site: SiteCounts) -> str:
    """Return file and line of a call site, and its function.

    >>> site_words(SiteCounts("src/solver.py", 81, "step", "MPI_Allreduce", 1, 8))
    'src/solver.py:81 (step)'
    """
    place = f"{site.file}:{site.line}" if site.line else site.file or "unknown site"
    return place if site.function in ("", "<module>") else f"{place} ({site.function})"


def verdict_words(result: GuardResult) -> str:
    """Return the verdict in a line."""
    parts = []
    if result.failures:
        parts.append(f"{counted(len(result.failures), 'run')} of {len(result.counts.runs)} did not come to an end")
    if result.larger:
        programs = ", ".join(dict.fromkeys(change.program for change in result.larger))
        metrics = ", ".join(dict.fromkeys(change.metric for change in result.larger))
        parts.append(f"larger than the baseline: {metrics} of {programs}")
    for row in result.mismatches:
        grows = row.judgement.ensemble.best.growth.text("p") if row.judgement.ensemble.fits else "no class"
        expected = row.judgement.expectation.text("p")
        parts.append(f"{row.series.metric} of {row.series.name} grow as {grows}, expected {expected}")
    if result.is_slower:
        parts.append("slower than the baseline, measured in turns")
    return "; ".join((*(parts or [_holding_words(result)]), *undetectable_words(result)))


def _holding_words(result: GuardResult) -> str:
    """Return the verdict where nothing is larger, slower, or grows otherwise."""
    if result.comparison is None:
        return "nothing to compare with" if result.growth is None else "grows as expected; nothing to compare with"
    if not result.comparison.changes:
        return "no run could be compared with the baseline"
    return "smaller than the baseline, nothing larger" if result.smaller else "as the baseline"


def undetectable_words(result: GuardResult) -> Iterator[str]:
    """Yield what times could only have shown, where launches scatter too much for a tenth."""
    rows = () if result.times is None else [row for row in result.times.rows if row.unit == "s" and not row.is_worse]
    least = max((row.detectable for row in rows), default=0.0)
    if math.isinf(least):
        yield "too few launches for any difference of times"
    elif least > WANTED:
        yield f"launches scatter so that times could only have shown {format_ratio(least)} slower"


def count_words(result: GuardResult) -> str:
    """Return how many numbers were compared, and how many are others."""
    runs = counted(len(result.counts.runs), "simulated run")
    if result.comparison is None:
        return f"{runs}; no baseline: write one with {ACCEPT}"
    numbers = len(result.comparison.changes)
    return (
        f"{runs}; {numbers} numbers compared: {len(result.larger) or 'none'} larger, "
        f"{len(result.smaller) or 'none'} smaller"
    )


def notes(result: GuardResult) -> Iterator[str]:
    """Yield what a reader must know."""
    for run in result.failures:
        yield f"{run.program} on {run.processes} ranks: {run.error}"
    yield from () if result.comparison is None else result.comparison.notes
    if result.smaller and not result.larger:
        yield f"keep what was gained: {ACCEPT}"
    for row in () if result.growth is None else result.growth.rows:
        if row.judgement.advice:
            yield f"{row.series.metric} of {row.series.name}: {row.verdict}: {row.judgement.advice}"


def largest_changes(result: GuardResult) -> list[CountChange]:
    """Return each number that changed once, as it changed on the most ranks."""
    largest: dict[tuple[str, str, str], CountChange] = {}
    for change in (*result.larger, *result.smaller):
        key = (change.program, change.metric, change.change)
        if key not in largest or largest[key].processes < change.processes:
            largest[key] = change
    return [*largest.values()]


def change_table(changes: Sequence[CountChange], title: str = "Numbers that changed") -> Table:
    """Return a row for each number."""
    rows = tuple(
        (
            Cell(change.program),
            Cell(f"{change.processes}"),
            Cell(change.metric),
            Cell(value_words(change.metric, change.before)),
            Cell(value_words(change.metric, change.after)),
            Cell(change_words(change.before, change.after)),
            Cell(_MARKS[change.change][0], style=_MARKS[change.change][1]),
        )
        for change in changes
    )
    columns = (*left("program"), *right("ranks"), *left("what"), *right("before", "now", "change"), *left("verdict"))
    return Table(title, columns, rows)


def site_table(sites: Sequence[SiteChange]) -> Table:
    """Return a row for each call site that changed, on the most ranks on which it did."""
    shown = largest_runs(sites)
    rows = tuple(
        (
            Cell(site.site.call.removeprefix("MPI_")),
            Cell(site_words(site.site)),
            Cell(f"{site.processes}"),
            Cell(_from_to(*site.calls)),
            Cell(change_words(*site.calls)),
            Cell(_from_to(*site.bytes)),
            Cell("new" if site.before is None else "gone" if site.after is None else "changed"),
        )
        for site in shown[:_MOST_SITES]
    )
    more = len(shown) - _MOST_SITES
    remarks = (f"{more} more, with smaller changes.",) if more > 0 else ()
    columns = (
        *left("call", "where"), *right("ranks", "calls of all ranks", "change", "their bytes"), *left("")
    )  # fmt: skip
    return Table("Call sites that changed", columns, rows, remarks)


def largest_runs(sites: Sequence[SiteChange]) -> list[SiteChange]:
    """Return each site once: as it changed on the most ranks, the largest change first."""
    largest: dict[tuple[str, str, str, str, int], SiteChange] = {}
    for site in sites:
        place = site.site
        key = (site.program, place.file, place.function, place.call, place.line)
        if key not in largest or largest[key].processes < site.processes:
            largest[key] = site
    return sorted(largest.values(), key=lambda site: -abs(site.calls[1] - site.calls[0]))


def _from_to(before: int, after: int) -> str:
    return f"{before:,} → {after:,}" if before != after else f"{after:,}"


def run_table(counts: Counts) -> Table:
    """Return a row for each run."""
    names = ("messages", "bytes", "calls", "collectives", "seconds")
    rows = tuple(
        (
            Cell(run.program),
            Cell(f"{run.processes}"),
            *(Cell(value_words(name, getattr(run, name))) for name in names),
        )
        for run in counts.runs
        if not run.error
    )
    return Table("Simulated runs", (*left("program"), *right("ranks", *names)), rows)


def tables(result: GuardResult) -> Iterator[Table]:
    """Yield the tables of counts: what changed, or where there is no baseline all numbers."""
    if result.comparison is None or not result.comparison.changes:
        yield run_table(result.counts)
        return
    if changes := largest_changes(result):
        table = change_table(changes)
        left_out = len(result.larger) + len(result.smaller) - len(changes)
        more = (f"{left_out} more, on fewer ranks: --json has all.",) if left_out else ()
        yield replace(table, notes=more)
    if result.comparison.sites:
        yield site_table(result.comparison.sites)
