"""Tables of overheads in bursts and of long rows of calls. Main entry: `burst_tables`."""

from collections import defaultdict
from collections.abc import Iterable

from commmodel.report.kit.cells import CALLS, record_cell, size_table
from commmodel.report.kit.tables import Cell, Table, left, right
from commmodel.results import Record
from commmodel.results.configurations import Burst, Queue
from commmodel.statistics import summarise
from commmodel.units import format_size, format_time


def burst_tables(records: Iterable[Record]) -> tuple[Table, ...]:
    """Return o(S, b) of each operation, and the times of the first and the later initiations of a long row."""
    bursts: dict[str, list[tuple[int, int, Cell]]] = defaultdict(list)
    queues = []
    for record in records:
        match record.configuration:
            case Burst(message_size=size, burst=burst, operation=operation):
                bursts[operation].append((size, burst, record_cell(record)))
            case Queue() as queue:
                summary = summarise(record.samples)
                times = (record.samples[0], summary.median, summary.maximum)
                about = (CALLS[queue.operation], format_size(queue.message_size), str(summary.count))
                words = (*about, *map(format_time, times))
                queues.append(((queue.operation, queue.message_size), tuple(map(Cell, words))))
    tables: list[Table] = []
    for name, cells in bursts.items():
        title, note = f"overhead of {CALLS[name]}, b in a row", "Mean time of one call among b in a row."
        tables += size_table(title, cells, "b = {}".format, note)
    if queues:
        columns = (*left("call"), *right("size", "calls in a row", "first", "median", "longest"))
        rows = tuple(row for _, row in sorted(queues))
        tables.append(Table("long rows of calls", columns, rows, ("A full queue makes calls longer.",)))
    return tuple(tables)
