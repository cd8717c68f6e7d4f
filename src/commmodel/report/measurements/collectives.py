"""Tables of collective operations, memory work and clocks. Main entry: `collective_tables`."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import get_args

from commmodel.fit.overlap_share import overlap_share
from commmodel.report.kit.cells import record_cell, size_table, starred
from commmodel.report.kit.tables import Cell, Table, left, plain_rows, right
from commmodel.results import Measurements, Record
from commmodel.results.configurations import Clocks, Collective, CollectiveMode, Local, Start
from commmodel.units import format_time

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


def _collective_tables(
    operation: str, algorithm: str, start: Start, mode: CollectiveMode, records: Sequence[Record]
) -> list[Table]:
    """Return the table of an operation: times, and beside those of overlapped ones their shares of overlap."""
    is_overlapped = mode == "overlapped"
    cells: list[tuple[int, tuple[int, str], Cell]] = []
    for record in records:
        if isinstance(collective := record.configuration, Collective):
            size, processes = collective.message_size, collective.processes
            cells.append((size, (processes, ""), record_cell(record)))
            cells += [(size, (processes, "overlap, "), _share_cell(record))] * is_overlapped
    how = [word for word in (mode, start) if word not in {"blocking", "barrier"}]
    chosen = "" if algorithm else ", with whatever algorithm the library took"
    note = _OVERLAPPED if is_overlapped else f"{_STARTS[start]}{chosen}."
    title = ", ".join((operation, *filter(None, [algorithm]), "p processes", *how))
    return size_table(title, cells, lambda column: f"{column[1]}p = {column[0]}", note)


def collective_tables(measurements: Measurements) -> tuple[Table, ...]:
    """Return the tables of memory work, of clocks, and of each operation, algorithm, mode and synchronisation scheme.

    Each has a row for a size, a column for a number of processes, of overlapped operations two.
    """
    operations: dict[tuple[str, str, int, Start], list[Record]] = defaultdict(list)
    for record in measurements.records:
        if isinstance(collective := record.configuration, Collective):
            key = collective.operation, collective.algorithm, _MODES.index(collective.mode), collective.start
            operations[key].append(record)
    return (
        *_local_tables(measurements),
        *_clock_tables(measurements),
        *(
            table
            for (operation, algorithm, mode, start), records in sorted(operations.items(), key=lambda item: item[0])
            for table in _collective_tables(operation, algorithm, start, _MODES[mode], records)
        ),
    )
