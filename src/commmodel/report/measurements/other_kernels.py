"""Measurements that no pair of ranks is the whole of: trains for LogGP, quantities of pLogP, collective operations.

Each becomes one table of medians with their intervals. Main entries: `path_parts` and `collective_tables`.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple, TypeVar, get_args

import msgspec

from commmodel.report.kit.cells import Cell, measured_cell
from commmodel.results import (
    Bandwidth,
    Burst,
    Clocks,
    Collective,
    CollectiveMode,
    Function,
    Local,
    Measurements,
    Memory,
    Overlap,
    Pairs,
    Ping,
    PingPong,
    PLogP,
    Queue,
    RandomPing,
    RandomPingPong,
    Record,
    SendMode,
    Start,
    Stream,
    Threshold,
    Train,
    columns,
)
from commmodel.results.parameters import tag_of
from commmodel.units import format_quantity, format_size, format_time

__all__ = [
    "PartTable", "collective_tables", "overlap_share", "path_parts", "record_cell", "size_rows", "starred",
]  # fmt: skip

_EARLY = {"time", "repetitions"}
_QUANTITIES = {"send": "o_s, send", "receive": "o_r, receive", "gap": "g, gap", "round-trip": "RTT"}

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


class PartTable(NamedTuple):
    """A table in words; the first cell of each row names it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    hint: str


_Column = TypeVar("_Column", bound=Hashable)
_Cells = dict[int, dict[_Column, list[Record]]]


def starred(text: str, record: Record) -> str:
    """Return the text, with a star where the record ended before its interval was as narrow as asked."""
    return f"{text}*" if record.stop in _EARLY else text


def record_cell(record: Record | None) -> Cell:
    """Return a record's median and its interval; nothing where there is no record."""
    if record is None:
        return Cell("")
    summary = record.summary
    value, detail = measured_cell(summary.median, summary.low, summary.high, record.unit)
    return Cell(starred(value, record), detail)


def size_rows(
    cells: Mapping[int, Mapping[_Column, Sequence[Record]]], columns: Sequence[_Column]
) -> Iterable[tuple[Cell, ...]]:
    """Yield a row for each size, and further ones where something was measured more than once."""
    for size, row in sorted(cells.items()):
        for repeated in zip_longest(*(row.get(column, []) for column in columns)):
            yield Cell(format_size(size)), *map(record_cell, repeated)


def _train_table(mode: SendMode, records: Sequence[Record]) -> PartTable:
    cells: _Cells[str] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if isinstance(one := record.configuration, Train):
            kind = "delayed" if one.delayed else "lone" if one.messages == 1 else "train"
            cells[one.message_size][kind].append(record)
    rows = []
    for size, row in sorted(cells.items()):
        for measured in zip_longest(row["lone"], row["train"], row["delayed"]):
            lasts = [record for record in measured[1:] if record is not None]
            trains = [record.configuration for record in lasts]
            counts = dict.fromkeys(str(train.messages) for train in trains if isinstance(train, Train))
            delays = [format_quantity(record.delay, "s") for record in lasts if record.delay is not None]
            about = Cell(format_size(size)), Cell(", ".join(counts))
            rows.append((*about, *map(record_cell, measured), Cell(", ".join(delays))))
    return PartTable(
        f"trains of messages, {mode}",
        ("size", "n", "PRTT(1, 0, s)", "PRTT(n, 0, s)", "PRTT(n, d, s)", "d"),
        tuple(rows),
        "From the first send to the answer after the last of n messages; d: busy time between a send and the next.",
    )


def _plogp_table(mode: SendMode, records: Sequence[Record]) -> PartTable:
    cells: _Cells[str] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if isinstance(one := record.configuration, PLogP):
            cells[one.message_size][one.quantity].append(record)
    return PartTable(
        f"quantities of pLogP, {mode}",
        ("size", *_QUANTITIES.values()),
        tuple(size_rows(cells, tuple(_QUANTITIES))),
        "Time of a send, of a receive of a message that is there, of a message in a saturating train, of a round trip "
        "with an empty answer.",
    )


def path_parts(records: Iterable[Record]) -> tuple[PartTable, ...]:
    """Return the tables of the trains and of the pLogP quantities of a path, one for each mode."""
    trains: dict[SendMode, list[Record]] = defaultdict(list)
    quantities: dict[SendMode, list[Record]] = defaultdict(list)
    for record in records:
        match record.configuration:
            case Train(mode=mode):
                trains[mode].append(record)
            case PLogP(mode=mode):
                quantities[mode].append(record)
    return (
        *(_train_table(mode, measured) for mode, measured in trains.items()),
        *(_plogp_table(mode, measured) for mode, measured in quantities.items()),
    )


def _local_tables(measurements: Measurements) -> list[PartTable]:
    cells: _Cells[str] = defaultdict(lambda: defaultdict(list))
    for record in measurements.records:
        if isinstance(one := record.configuration, Local):
            cells[one.message_size][one.operation].append(record)
    columns = ("copy", "reduction")
    hint = "Time of a copy, and of MPI_Reduce_local, within the memory of one process."
    return [PartTable("within memory", ("size", *columns), tuple(size_rows(cells, columns)), hint)] if cells else []


def _clock_tables(measurements: Measurements) -> list[PartTable]:
    found = [
        (one, record.summary) for record in measurements.records if isinstance(one := record.configuration, Clocks)
    ]
    found.sort(key=lambda pair: (pair[0].method, pair[0].processes, pair[0].wait))
    rows = [
        tuple(map(Cell, (one.method, str(one.processes), *map(format_time, (one.wait, seen.median, seen.maximum)))))
        for one, seen in found
    ]
    hint = "How far the clocks of P processes were from rank 0's, so long after they were synchronised."
    return [PartTable("clocks", ("method", "P", "after", "median", "largest"), tuple(rows), hint)] if rows else []


_WITH_TABLES = (
    PingPong | Pairs | Stream | Ping | Threshold | Train | PLogP | Burst | Queue | RandomPing | RandomPingPong
    | Bandwidth | Overlap | Collective | Local | Clocks | Memory | Function
)  # fmt: skip
"""What has tables, plots or fits of its own; all else is shown by its columns."""


def _column_tables(measurements: Measurements) -> list[PartTable]:
    """Return a table of each kernel that nothing here knows more of than the columns it declares."""
    found: dict[str, list[Record]] = defaultdict(list)
    for record in measurements.records:
        if not isinstance(record.configuration, _WITH_TABLES):
            found[tag_of(type(record.configuration))].append(record)
    tables = []
    for name, records in found.items():
        records.sort(key=lambda record: msgspec.structs.astuple(record.configuration))
        rows = tuple((*map(Cell, columns(record.configuration).values()), record_cell(record)) for record in records)
        tables.append(
            PartTable(
                name,
                (*columns(records[0].configuration), "median"),
                rows,
                f"Median of each record of the kernel {name}.",
            )
        )
    return tables


def overlap_share(record: Record) -> tuple[float, float, float] | None:
    """Return which share of a collective went on beside computation as long as it, and the interval of that.

    max(0, min(1, 2 - T / d)): T is the median time of the overlapped operation, or an end of its interval, and d the
    time of the operation without computation and of the computation alone, `Record.delay`. None without a delay.

    >>> one = Collective("allreduce", 8, 2, mode="overlapped")
    >>> overlap_share(Record(one, "s", (15e-6,) * 9, delay=10e-6))
    (0.5, 0.5, 0.5)
    """
    if not record.delay:
        return None
    summary, delay = record.summary, record.delay
    share, low, high = (max(0.0, min(1.0, 2 - time / delay)) for time in (summary.median, summary.high, summary.low))
    return share, low, high


def _share_cell(record: Record | None) -> Cell:
    share = None if record is None else overlap_share(record)
    if record is None or share is None:
        return Cell("")
    middle, low, high = (f"{100 * one:.0f} %" for one in share)
    detail = f"[{low}, {high}]" if math.isfinite(record.summary.high) else ""
    return Cell(starred(middle, record), detail)


def _timed_and_shared(cells: _Cells[int], counts: Sequence[int]) -> Iterable[tuple[Cell, ...]]:
    """Yield the rows of an overlapped operation: for each number of processes its time and its share of overlap."""
    for size, row in sorted(cells.items()):
        for repeated in zip_longest(*(row.get(processes, []) for processes in counts)):
            pairs = ((record_cell(record), _share_cell(record)) for record in repeated)
            yield Cell(format_size(size)), *(cell for pair in pairs for cell in pair)


def _collective_table(operation: str, start: Start, mode: CollectiveMode, cells: _Cells[int]) -> PartTable:
    counts = sorted({processes for row in cells.values() for processes in row})
    how = [word for word in (mode, start) if word not in {"blocking", "barrier"}]
    title = ", ".join((operation, "P processes", *how))
    hint = f"{_STARTS[start]}, with whatever algorithm the library took."
    if mode == "overlapped":
        columns = ("size", *(words for count in counts for words in (f"P = {count}", f"overlap, P = {count}")))
        rows = tuple(_timed_and_shared(cells, counts))
        return PartTable(title, columns, rows, _OVERLAPPED)  # beside the table of the operation alone
    columns = ("size", *(f"P = {processes}" for processes in counts))
    return PartTable(title, columns, tuple(size_rows(cells, counts)), hint)


def collective_tables(measurements: Measurements) -> tuple[PartTable, ...]:
    """Return the work within memory, the clocks, kernels without tables of their own, and a table for each operation.

    A table of an operation, in a mode and from a start, has a row for a size and a column for a number of processes, of
    overlapped operations two.
    """
    operations: dict[tuple[str, int, Start], _Cells[int]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for record in measurements.records:
        if isinstance(one := record.configuration, Collective):
            key = one.operation, _MODES.index(one.mode), one.start
            operations[key][one.message_size][one.processes].append(record)
    return (
        *_local_tables(measurements),
        *_clock_tables(measurements),
        *_column_tables(measurements),
        *(
            _collective_table(operation, start, _MODES[mode], cells)
            for (operation, mode, start), cells in sorted(operations.items())
        ),
    )
