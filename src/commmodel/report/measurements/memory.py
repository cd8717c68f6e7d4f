"""Table of the memory that MPI keeps on a rank: a row per operation, a column per number of processes.

Main entry: `memory_tables`.
"""

from collections import defaultdict
from itertools import zip_longest
from typing import get_args

from commmodel.report.kit.cells import record_cell
from commmodel.report.kit.tables import Cell, Table, left, right
from commmodel.results import Measurements, Record
from commmodel.results.configurations import Memory, MemoryOperation

_OPERATIONS: tuple[str, ...] = get_args(MemoryOperation)
_HINT = (
    "Bytes that the rank with the most of them keeps. Of a call: what the allocator gave, and in a row of its own what "
    "was mapped beside it, where there is any. Of MPI's beginning (init) and use: the process's memory, what it alone "
    "has written (private) or with its share of what it has in common with others (pss)."
)


def _name(memory: Memory) -> str:
    return memory.operation if memory.measure == "allocated" else f"{memory.operation}, {memory.measure}"


def _is_nothing(record: Record) -> bool:
    memory = record.configuration
    return isinstance(memory, Memory) and memory.measure == "mapped" and not any(record.samples)


def memory_tables(measurements: Measurements) -> tuple[Table, ...]:
    """Return the table of memory kept by operations; empty without measurements.

    Examples
    --------
    >>> from commmodel.results import Header, Launch, Library
    >>> header = Header("commmodel-results", 1, "", (), Library("MPI"), (), ())
    >>> records = tuple(Record(Memory("comm_dup", p), "B", (5400.0,) * 8) for p in (2, 4))
    >>> (table,) = memory_tables(Measurements((Launch(header, records),)))
    >>> [column.heading for column in table.columns], [str(cell) for cell in table.rows[0]]
    (['operation', 'p = 2', 'p = 4'], ['comm_dup', '5.40 kB [5.40, 5.40]', '5.40 kB [5.40, 5.40]'])
    """
    cells: dict[Memory, list[Record]] = defaultdict(list)
    for record in measurements.records:
        if isinstance(memory := record.configuration, Memory):
            cells[memory].append(record)
    if not cells:
        return ()
    counts = sorted({memory.processes for memory in cells})
    kinds = sorted({(_OPERATIONS.index(memory.operation), memory.measure) for memory in cells})
    rows: list[tuple[Cell, ...]] = []
    for place, measure in kinds:
        of_kind = {
            memory.processes: memory
            for memory in cells
            if (memory.operation, memory.measure) == (_OPERATIONS[place], measure)
        }
        if all(_is_nothing(record) for memory in of_kind.values() for record in cells[memory]):
            continue
        name = Cell(_name(next(iter(of_kind.values()))))
        by_count = [cells[of_kind[count]] if count in of_kind else [] for count in counts]
        rows += [(name, *map(record_cell, repeated)) for repeated in zip_longest(*by_count)]
    columns = (*left("operation"), *right(*(f"p = {count}" for count in counts)))
    return (Table("memory that MPI keeps on a rank", columns, tuple(rows), (_HINT,), details="none", alike_from=1),)
