"""Tables of overheads in bursts and of long rows of calls. Main entry: `burst_tables`."""

from collections import defaultdict
from collections.abc import Iterable

from commmodel.report.kit.cells import CALLS, size_rows
from commmodel.report.kit.tables import Cell, Table, left, right
from commmodel.results import Record
from commmodel.results.configurations import Burst, Queue
from commmodel.statistics import summarise
from commmodel.units import format_size, format_time


def burst_tables(records: Iterable[Record]) -> tuple[Table, ...]:
    """Return o(S, b) of each operation, and the times of the first and the later initiations of a long row."""
    bursts: dict[str, dict[int, dict[int, list[Record]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    queues = []
    for record in records:
        match record.configuration:
            case Burst(message_size=size, burst=burst, operation=operation):
                bursts[operation][size][burst].append(record)
            case Queue() as queue:
                summary = summarise(record.samples)
                times = (record.samples[0], summary.median, summary.maximum)
                about = (CALLS[queue.operation], format_size(queue.message_size), str(summary.count))
                cells = tuple(map(Cell, (*about, *map(format_time, times))))
                queues.append(((queue.operation, queue.message_size), cells))
    tables = []
    for name, by_size in bursts.items():
        counts = sorted({burst for row in by_size.values() for burst in row})
        columns = right("size", *(f"b = {count}" for count in counts))
        note = "Mean time of one call among b in a row."
        title = f"overhead of {CALLS[name]}, b in a row"
        rows = tuple(size_rows(by_size, counts))
        tables.append(Table(title, columns, rows, (note,), details="none", alike_from=1))
    if queues:
        columns = (*left("call"), *right("size", "calls in a row", "first", "median", "longest"))
        rows = tuple(row for _, row in sorted(queues))
        tables.append(Table("long rows of calls", columns, rows, ("A full queue makes calls longer.",)))
    return tuple(tables)
