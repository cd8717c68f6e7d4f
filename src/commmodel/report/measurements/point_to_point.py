"""Tables of a path: times of one pair, rates of pairs and streams, eager limits, ends of records.

Medians come with the interval that order statistics give them; nothing is left out.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from commmodel.report.kit.cells import measured_cell, size_table, starred
from commmodel.report.kit.tables import Cell, Column, Table, left, right
from commmodel.report.measurements.bursts import burst_tables
from commmodel.report.measurements.endings import endings
from commmodel.report.measurements.trains import train_tables
from commmodel.results import Measurements, Record
from commmodel.results.configurations import MessagePath, Pairs, Ping, PingPong, PointToPoint, Stream, Threshold
from commmodel.units import format_quantity, format_rate, format_size, format_time

BUFFER_WORDS = {"each": "a buffer of its own each", "one": "one buffer, as OSU's do"}
"""Where messages of a stream's window arrive, in words."""


@dataclass(frozen=True)
class PathTables:
    """All tables of one path."""

    path: str
    thresholds: tuple[str, ...]
    times: Table | None
    """Ping-pongs of one pair, with the times inside a send and a receive where they were measured."""
    pairs: tuple[Table, ...]
    streams: tuple[Table, ...]
    """In one direction, a table for each place where the messages of a window arrive."""
    details: tuple[Table, ...]
    """Trains for LogGP, quantities of pLogP, overhead in bursts and long rows of calls."""
    endings: tuple[str, ...]
    """How often records of each kind ended in each way, and what a star means where there is one."""

    @property
    def has_ping(self) -> bool:
        """Whether times inside a send or a receive were measured."""
        return self.times is not None and Column("in send") in self.times.columns


def _rate(size: int, pairs: int, seconds: float) -> str:
    return format_rate(pairs * size / seconds) if size and seconds else ""


def _threshold(record: Record) -> str:
    _, above = record.bracket or (None, None)
    limit = record.summary.median
    if record.bracket is None:
        return f"eager limit {format_quantity(limit, record.unit)}"
    if above is None:
        return f"eager limit at least {format_quantity(limit, record.unit)}: no larger message was tried"
    if limit == 0:
        return "no message is sent eagerly"
    return (
        f"eager limit {format_quantity(limit, record.unit)} (a message of {format_quantity(above, record.unit)} "
        "waits for its receiver)"
    )


def _ping(record: Record | None) -> str:
    return starred(format_time(record.summary.median), record) if record else ""


def _time_row(size: int, pingpong: Record | None, send: Record | None, receive: Record | None) -> tuple[str, ...]:
    if pingpong is None:
        return format_size(size), "", "", "", "", _ping(send), _ping(receive), "", ""
    summary = pingpong.summary
    median = measured_cell(summary.median, summary.low, summary.high, "s")
    ends = measured_cell(summary.median, summary.p10, summary.p90, "s").detail if summary.count > 1 else ""
    spread = ends.strip("[]").replace(", ", " … ")
    ending = "complete" if pingpong.stop == "found" else pingpong.stop
    return (
        format_size(size), median.value, median.detail, spread, _rate(size, 1, summary.median), _ping(send),
        _ping(receive), str(summary.count), starred(ending, pingpong),
    )  # fmt: skip


def _time_table(path: str, records: Sequence[Record]) -> Table | None:
    """Return the times of one pair, with times inside calls where they were measured."""
    columns: dict[int, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        match record.configuration:
            case PingPong(message_size=size):
                columns[size]["pingpong"].append(record)
            case Ping(message_size=size, operation=operation):
                columns[size][operation].append(record)
    rows = [
        _time_row(size, *row)
        for size, column in sorted(columns.items())
        for row in zip_longest(column["pingpong"], column["send"], column["receive"])
    ]
    headings = (
        *right("size", "median"), *left("interval", "p10 … p90"),
        *right("bandwidth", "in send", "in receive", "samples"), *left("ended by"),
    )  # fmt: skip
    ranges, calls = (2, 3), (5, 6)
    empty = [place for pair in (ranges, calls) if not any(row[n] for row in rows for n in pair) for place in pair]
    shown = [place for place in range(len(headings)) if place not in empty]
    cells = (
        tuple(Cell(row[place], style="uncertain" if place == 8 and row[8].endswith("*") else "") for place in shown)
        for row in rows
    )
    return Table(f"{path}, one pair", tuple(headings[place] for place in shown), tuple(cells)) if rows else None


def _rate_cell(size: int, pairs: int, record: Record) -> Cell:
    seconds = record.summary.median
    return Cell(starred(_rate(size, pairs, seconds) or "–", record), format_time(seconds))


def _stream_tables(path: str, records: Sequence[Record]) -> Iterable[Table]:
    for buffers, words in BUFFER_WORDS.items():
        windows = set()
        streams = []
        for record in records:
            if isinstance(stream := record.configuration, Stream) and stream.buffers == buffers:
                windows.add(stream.window)
                streams.append(record)
        span = f"{min(windows)} to {max(windows)}" if len(windows) > 1 else "".join(map(str, windows))
        title = f"{path}, k streams together, one way, windows of {span} messages, into {words}: rate k n / T"
        yield from _rate_tables(title, streams, Stream)


def _rate_tables(title: str, records: Sequence[Record], kernel: type[Pairs | Stream]) -> list[Table]:
    """Return the total rate and the median time for each number of pairs and each size."""
    cells = (
        (several.message_size, several.pairs, _rate_cell(several.message_size, several.pairs, record))
        for record in records
        if isinstance(several := record.configuration, kernel)
        and several.node_pairs == 1  # `node_pairs` has the others
    )
    return size_table(title, cells, "k = {}".format, "")


def path_tables(measurements: Measurements) -> list[PathTables]:
    """Return the tables of each path, in the order of the file; sizes ascend."""
    by_path: dict[MessagePath, list[Record]] = defaultdict(list)
    for record in measurements.records:
        if isinstance(record.configuration, PointToPoint):
            by_path[record.configuration.path].append(record)
    return [
        PathTables(
            path,
            tuple(_threshold(record) for record in records if isinstance(record.configuration, Threshold)),
            _time_table(path, records),
            tuple(_rate_tables(f"{path}, k pairs together: rate k n / T", records, Pairs)),
            tuple(_stream_tables(path, records)),
            (*train_tables(records), *burst_tables(records)),
            endings(records),
        )
        for path, records in by_path.items()
    ]
