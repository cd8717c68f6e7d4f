"""What a guard has counted over time, as the history of measurements. Main entries: `GuardPoint`, `as_history`."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from commmodel.choices import Unit
from commmodel.guard.counts import Counts, RunCounts
from commmodel.guard.verdict import measurements
from commmodel.results.configurations import Function
from commmodel.scaling import ChangePoint, History, HistoryPoint, HistoryRun, HistorySeries
from commmodel.scaling.difference import Change
from commmodel.structs import InputStruct

MOST_POINTS = 2000
"""Of a history: older ones are left out."""
_ROUNDING = 1e-9


class GuardPoint(InputStruct, frozen=True):
    """What the programs of one commit send, without their call sites."""

    label: Annotated[str, Meta(min_length=1, max_length=200)]
    """Of the commit."""
    created: str
    """When it was counted, in ISO format."""
    runs: tuple[RunCounts, ...]


def point(label: str, created: str, counts: Counts) -> GuardPoint:
    """Return counts as a point of a history.

    >>> point("1a2b3c", "2026-11-29", Counts(runs=(RunCounts("solver", 4),))).runs[0].processes
    4
    """
    runs = tuple(msgspec.structs.replace(run, sites=()) for run in counts.runs if not run.error)
    return GuardPoint(label, created, runs)


def as_history(points: Sequence[GuardPoint]) -> History:
    """Return each number over the points, and where it has changed, programs on the most ranks first.

    >>> points = [point(f"commit {n}", "", Counts(runs=(RunCounts("solver", 4, messages=n),))) for n in (1, 1, 2)]
    >>> [(change.run, change.before, change.after) for change in as_history(points).changes]
    [(2, 1.0, 2.0)]
    """
    runs = tuple(HistoryRun(entry.label, entry.created, "", 1) for entry in points)
    values: dict[tuple[Function, Unit], list[tuple[int, float]]] = {}
    for number, entry in enumerate(points):
        for record in measurements(Counts(runs=entry.runs)).launches[0].records:
            assert isinstance(record.configuration, Function)  # noqa: S101 - `measurements` makes no others
            values.setdefault((record.configuration, record.unit), []).append((number, record.samples[0]))
    series = tuple(
        HistorySeries(name, unit, tuple(HistoryPoint(run, value, value, value) for run, value in row))
        for (name, unit), row in sorted(values.items(), key=lambda item: -item[0][0]["p"])
    )
    changes = [change for row in series for change in _changes(row)]
    changed = {change.configuration for change in changes}
    return History(
        runs,
        tuple(sorted(series, key=lambda row: row.configuration not in changed)),
        tuple(sorted(changes, key=lambda change: change.run)),
        {},
        (),
    )


def _changes(series: HistorySeries) -> Iterator[ChangePoint]:
    for old, new in zip(series.points, series.points[1:], strict=False):
        if abs(new.value - old.value) > _ROUNDING * max(new.value, old.value):
            ratio = new.value / old.value if old.value else float("inf")
            change: Change = "larger" if new.value > old.value else "smaller"
            yield ChangePoint(
                series.configuration, series.unit, new.run, old.value, new.value, ratio, ratio, ratio, change
            )
