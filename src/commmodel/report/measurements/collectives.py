"""Tables of collective operations, memory work and clocks.

Main entries: `collective_tables`, `collective_groups`, `collective_answer`.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import get_args

from commmodel.fit.overlap_share import overlap_share
from commmodel.report.kit.cells import record_cell, size_table, starred
from commmodel.report.kit.tables import Cell, Table, left, plain_rows, right
from commmodel.results import Measurements, Record
from commmodel.results.configurations import Clocks, Collective, CollectiveMode, Local, Start
from commmodel.units import format_size, format_time

_MOST_NAMES = 4
_MODES: tuple[CollectiveMode, ...] = get_args(CollectiveMode)
_OVERLAPPED = (
    "Overlapped, processes compute for d, the time of the operation alone; overlap is 2 - T / d of the time T of both, "
    "from 0 to 100 %."
)
_STARTS: dict[Start, str] = {
    "barrier": "Time on the slowest rank after a barrier",
    "round-time": "Time from a common start, announced for each repetition, to the end on the slowest rank",
    "fixed-window": "Time from a common start, in windows of a fixed length, to the end on the slowest rank",
}


def collective_answer(measurements: Measurements) -> str:
    """Return what the smallest calls take on most processes, as a sentence; empty where none were measured."""
    runs = [
        (collective, record)
        for record in measurements.records
        if isinstance(collective := record.configuration, Collective) and collective.mode == "blocking"
    ]
    if not runs:
        return ""
    processes = max(collective.processes for collective, _ in runs)
    first: dict[str, tuple[int, str]] = {}
    for collective, record in runs:
        size = collective.message_size
        if collective.processes == processes and size <= first.get(collective.operation, (math.inf,))[0]:
            call = f"{collective.operation} of {format_size(size)}" if size else collective.operation
            first[collective.operation] = (size, f"{call} takes {format_time(record.summary.median)}")
    words = [text for _, text in first.values()][:_MOST_NAMES]
    more = f"; {len(first) - len(words)} more operations below" if len(first) > len(words) else ""
    return f"On {processes} processes {', '.join(words)}{more}."


def _local_tables(measurements: Measurements) -> list[Table]:
    cells = (
        (local.message_size, local.operation, record_cell(record))
        for record in measurements.records
        if isinstance(local := record.configuration, Local)
    )
    note = "Time of a copy, and of MPI_Reduce_local, within the memory of one process."
    return size_table("within memory", cells, str, note, ("copy", "reduction"))


def _clock_tables(measurements: Measurements) -> list[Table]:
    measured = [
        (clocks, record.summary)
        for record in measurements.records
        if isinstance(clocks := record.configuration, Clocks)
    ]
    measured.sort(key=lambda pair: (pair[0].method, pair[0].processes, pair[0].wait))
    rows = plain_rows(
        (clocks.method, str(clocks.processes), *map(format_time, (clocks.wait, summary.median, summary.maximum)))
        for clocks, summary in measured
    )
    hint = "How far the clocks of p processes were from rank 0's, so long after they were synchronised."
    columns = (*left("method"), *right("p", "after", "median", "largest"))
    return [Table("clocks", columns, rows, (hint,))] if rows else []


def _share_cell(record: Record) -> Cell:
    share = overlap_share(record)
    if share is None:
        return Cell("")
    middle, low, high = (f"{100 * part:.0f} %" for part in share)
    detail = f"[{low}, {high}]" if math.isfinite(record.summary.high) else ""
    return Cell(starred(middle, record), detail)


@dataclass(frozen=True)
class CollectiveGroup:
    """The records of an operation, with one algorithm, mode and synchronisation scheme."""

    operation: str
    algorithm: str
    mode: CollectiveMode
    start: Start
    records: tuple[Record, ...]

    @property
    def title(self) -> str:
        """The operation, and what is not as usual."""
        how = [word for word in (self.mode, self.start) if word not in {"blocking", "barrier"}]
        return ", ".join((self.operation, *filter(None, [self.algorithm]), *how))


def collective_groups(measurements: Measurements) -> list[CollectiveGroup]:
    """Return the collective operations of a file, by name, algorithm, mode and synchronisation scheme."""
    operations: dict[tuple[str, str, int, Start], list[Record]] = defaultdict(list)
    for record in measurements.records:
        if isinstance(collective := record.configuration, Collective):
            key = collective.operation, collective.algorithm, _MODES.index(collective.mode), collective.start
            operations[key].append(record)
    return [
        CollectiveGroup(operation, algorithm, _MODES[mode], start, tuple(records))
        for (operation, algorithm, mode, start), records in sorted(operations.items(), key=lambda item: item[0])
    ]


def _collective_tables(group: CollectiveGroup) -> list[Table]:
    """Return the table of an operation: times, and beside those of overlapped ones their shares of overlap."""
    is_overlapped = group.mode == "overlapped"
    cells: list[tuple[int, tuple[int, str], Cell]] = []
    for record in group.records:
        if isinstance(collective := record.configuration, Collective):
            size, processes = collective.message_size, collective.processes
            cells.append((size, (processes, ""), record_cell(record)))
            cells += [(size, (processes, "overlap, "), _share_cell(record))] * is_overlapped
    how = [word for word in (group.mode, group.start) if word not in {"blocking", "barrier"}]
    chosen = "" if group.algorithm else ", with whatever algorithm the library took"
    note = _OVERLAPPED if is_overlapped else f"{_STARTS[group.start]}{chosen}."
    title = ", ".join((group.operation, *filter(None, [group.algorithm]), "p processes", *how))
    return size_table(title, cells, lambda column: f"{column[1]}p = {column[0]}", note)


def collective_tables(measurements: Measurements) -> tuple[Table, ...]:
    """Return the tables of memory work, of clocks, and of each operation, algorithm, mode and synchronisation scheme.

    Each has a row for a size, a column for a number of processes, of overlapped operations two.
    """
    return (
        *_local_tables(measurements),
        *_clock_tables(measurements),
        *(table for group in collective_groups(measurements) for table in _collective_tables(group)),
    )
