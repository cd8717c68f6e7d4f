"""What MPI keeps on a rank: one table, a row for each operation, a column for each number of processes.

Main entry: `memory_parts`.
"""

from collections import defaultdict
from itertools import zip_longest
from typing import get_args

from commmodel.report.kit.cells import Cell
from commmodel.report.measurements.other_kernels import PartTable, record_cell
from commmodel.results import Measurements, Memory, MemoryOperation, Record

__all__ = ["memory_parts"]

_OPERATIONS: tuple[str, ...] = get_args(MemoryOperation)
_HINT = (
    "Bytes that the rank with the most of them keeps. Of a call: what the allocator gave, and in a row of its own what "
    "was mapped beside it, where there is any. Of MPI's beginning (init) and use: the process's memory, what it alone "
    "has written (private) or with its share of what it has in common with others (pss)."
)


def _name(one: Memory) -> str:
    return one.operation if one.measure == "allocated" else f"{one.operation}, {one.measure}"


def _is_nothing(record: Record) -> bool:
    one = record.configuration
    return isinstance(one, Memory) and one.measure == "mapped" and not any(record.samples)


def memory_parts(measurements: Measurements) -> tuple[PartTable, ...]:
    """Return the table of what operations keep, or nothing where no memory was measured.

    Examples
    --------
    >>> from commmodel.results import Header, Launch, Library
    >>> header = Header("commmodel-results", 1, "", (), Library("MPI"), (), ())
    >>> records = tuple(Record(Memory("comm_dup", p), "B", (5400.0,) * 8) for p in (2, 4))
    >>> (part,) = memory_parts(Measurements((Launch(header, records),)))
    >>> part.columns, [str(cell) for cell in part.rows[0]]
    (('operation', 'P = 2', 'P = 4'), ['comm_dup', '5.40 kB [5.40, 5.40]', '5.40 kB [5.40, 5.40]'])
    """
    cells: dict[Memory, list[Record]] = defaultdict(list)
    for record in measurements.records:
        if isinstance(one := record.configuration, Memory):
            cells[one].append(record)
    if not cells:
        return ()
    counts = sorted({one.processes for one in cells})
    kinds = sorted({(_OPERATIONS.index(one.operation), one.measure) for one in cells})
    rows: list[tuple[Cell, ...]] = []
    for place, measure in kinds:
        of_kind = {one.processes: one for one in cells if (one.operation, one.measure) == (_OPERATIONS[place], measure)}
        if all(_is_nothing(record) for one in of_kind.values() for record in cells[one]):
            continue
        name = Cell(_name(next(iter(of_kind.values()))))
        by_count = [cells[of_kind[count]] if count in of_kind else [] for count in counts]
        rows += [(name, *map(record_cell, repeated)) for repeated in zip_longest(*by_count)]
    columns = ("operation", *(f"P = {count}" for count in counts))
    return (PartTable("memory that MPI keeps on a rank", columns, tuple(rows), _HINT),)
