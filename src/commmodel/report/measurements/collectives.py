"""Tables of collective operations, memory work and clocks. Main entry: `collective_tables`."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import get_args

from commmodel.fit.overlap_share import overlap_share
from commmodel.report.kit.cells import record_cell, size_rows, starred
from commmodel.report.kit.tables import Cell, Table, left, plain_rows, right
from commmodel.results import Measurements, Record
from commmodel.results.configurations import Clocks, Collective, CollectiveMode, Local, Start
from commmodel.units import format_size, format_time

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
_Cells = dict[int, dict[int, list[Record]]]


def _local_tables(measurements: Measurements) -> list[Table]:
    cells: dict[int, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in measurements.records:
        if isinstance(local := record.configuration, Local):
            cells[local.message_size][local.operation].append(record)
    columns = ("copy", "reduction")
    hint = "Time of a copy, and of MPI_Reduce_local, within the memory of one process."
    rows = tuple(size_rows(cells, columns))
    return [Table("within memory", right("size", *columns), rows, (hint,), details="none")] if cells else []


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


def _share_cell(record: Record | None) -> Cell:
    share = None if record is None else overlap_share(record)
    if record is None or share is None:
        return Cell("")
    middle, low, high = (f"{100 * part:.0f} %" for part in share)
    detail = f"[{low}, {high}]" if math.isfinite(record.summary.high) else ""
    return Cell(starred(middle, record), detail)


def _timed_and_shared(cells: _Cells, counts: Sequence[int]) -> Iterable[tuple[Cell, ...]]:
    """Yield the rows of an overlapped operation: for each number of processes its time and its share of overlap."""
    for size, row in sorted(cells.items()):
        for repeated in zip_longest(*(row.get(processes, []) for processes in counts)):
            pairs = ((record_cell(record), _share_cell(record)) for record in repeated)
            yield Cell(format_size(size)), *(cell for pair in pairs for cell in pair)


def _collective_table(operation: str, start: Start, mode: CollectiveMode, cells: _Cells) -> Table:
    counts = sorted({processes for row in cells.values() for processes in row})
    how = [word for word in (mode, start) if word not in {"blocking", "barrier"}]
    title = ", ".join((operation, "p processes", *how))
    hint = f"{_STARTS[start]}, with whatever algorithm the library took."
    if mode == "overlapped":
        columns = right("size", *(words for count in counts for words in (f"p = {count}", f"overlap, p = {count}")))
        rows = tuple(_timed_and_shared(cells, counts))
        # beside the table of the operation alone
        return Table(title, columns, rows, (_OVERLAPPED,), details="none", alike_from=1)
    columns = right("size", *(f"p = {processes}" for processes in counts))
    return Table(title, columns, tuple(size_rows(cells, counts)), (hint,), details="none", alike_from=1)


def collective_tables(measurements: Measurements) -> tuple[Table, ...]:
    """Return the tables of memory work, of clocks, and of each operation, mode and synchronisation scheme.

    Each has a row for a size, a column for a number of processes, of overlapped operations two.
    """
    operations: dict[tuple[str, int, Start], _Cells] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for record in measurements.records:
        if isinstance(collective := record.configuration, Collective):
            key = collective.operation, _MODES.index(collective.mode), collective.start
            operations[key][collective.message_size][collective.processes].append(record)
    return (
        *_local_tables(measurements),
        *_clock_tables(measurements),
        *(
            _collective_table(operation, start, _MODES[mode], cells)
            for (operation, mode, start), cells in sorted(operations.items())
        ),
    )
