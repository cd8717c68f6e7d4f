"""Measurements that no pair of ranks is the whole of: trains for LogGP, quantities of pLogP, collective operations.

Each becomes one table of medians with their intervals. Main entries: `path_parts` and `collective_tables`.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple, TypeVar

from commmodel.report.cells import Cell, measured_cell
from commmodel.results import Collective, Local, Measurements, Mode, PLogP, Record, Train
from commmodel.units import format_quantity, format_size

__all__ = ["PartTable", "collective_tables", "path_parts", "record_cell", "size_rows", "starred"]

_EARLY = {"time", "repetitions"}
_QUANTITIES = {"send": "o_s, send", "receive": "o_r, receive", "gap": "g, gap", "round-trip": "RTT"}


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


def _train_table(mode: Mode, records: Sequence[Record]) -> PartTable:
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


def _plogp_table(mode: Mode, records: Sequence[Record]) -> PartTable:
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
    trains: dict[Mode, list[Record]] = defaultdict(list)
    quantities: dict[Mode, list[Record]] = defaultdict(list)
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


def collective_tables(measurements: Measurements) -> tuple[PartTable, ...]:
    """Return the work within memory, and a table for each operation: a row for each size, a column for each P."""
    operations: dict[str, _Cells[int]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for record in measurements.records:
        if isinstance(one := record.configuration, Collective):
            operations[one.operation][one.message_size][one.processes].append(record)
    tables = _local_tables(measurements)
    for operation, cells in sorted(operations.items()):
        counts = sorted({processes for row in cells.values() for processes in row})
        columns = ("size", *(f"P = {processes}" for processes in counts))
        hint = "Time on the slowest rank after a barrier, with whatever algorithm the library took."
        tables.append(PartTable(f"{operation}, P processes", columns, tuple(size_rows(cells, counts)), hint))
    return tuple(tables)
