"""Measurements in words: times of one pair, rates of pairs and streams, eager limits, and how each record ended.

Medians come with the interval that order statistics give them; nothing is left out. Main entry: `path_rows`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from commmodel.report.kit.cells import Cell, measured_cell
from commmodel.report.measurements.other_kernels import PartTable, path_parts, starred
from commmodel.report.overlap.measurements import burst_parts
from commmodel.results import (
    Bandwidth,
    Clocks,
    Function,
    Measurements,
    Memory,
    MessagePath,
    Overlap,
    Pairs,
    Ping,
    PingPong,
    PointToPoint,
    Record,
    Stream,
    Threshold,
)
from commmodel.units import format_quantity, format_rate, format_size, format_time

__all__ = ["PathRows", "TimeRow", "TogetherRows", "collective_endings", "overlap_endings", "path_rows"]

_ENDINGS = {
    "interval": "interval narrow enough",
    "time": "time spent",
    "repetitions": "most repetitions",
    "found": "complete",
}


@dataclass(frozen=True)
class TimeRow:
    """One ping-pong record of one pair, with the times inside a send and a receive where they were measured."""

    size: str
    median: Cell
    spread: str
    """10th … 90th percentile, in the unit of the median."""
    bandwidth: str
    send: str
    receive: str
    samples: str
    ended: str


@dataclass(frozen=True)
class TogetherRows:
    """Rate of all pairs together, and median time, for each number of pairs and each size. Empty where not measured."""

    pair_counts: tuple[int, ...]
    sizes: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True)
class PathRows:
    """All that was measured on one path."""

    path: str
    thresholds: tuple[str, ...]
    times: tuple[TimeRow, ...]
    pairs: TogetherRows
    streams: tuple[tuple[str, TogetherRows], ...]
    """In one direction: where the messages of a window arrive, and their rates."""
    parts: tuple[PartTable, ...]
    """Trains for LogGP, quantities of pLogP, overhead in bursts and long rows of calls."""
    endings: tuple[str, ...]
    """How often records of each kind ended in each way, and what a star means where there is one."""

    @property
    def has_ping(self) -> bool:
        """Whether times inside a send or a receive were measured."""
        return any(row.send or row.receive for row in self.times)


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


def _time_row(size: int, pingpong: Record | None, send: Record | None, receive: Record | None) -> TimeRow:
    if pingpong is None:
        return TimeRow(format_size(size), Cell(""), "", "", _ping(send), _ping(receive), "", "")
    summary = pingpong.summary
    return TimeRow(
        size=format_size(size),
        median=measured_cell(summary.median, summary.low, summary.high, "s"),
        spread=measured_cell(summary.median, summary.p10, summary.p90, "s").detail.strip("[]").replace(", ", " … "),
        bandwidth=_rate(size, 1, summary.median),
        send=_ping(send),
        receive=_ping(receive),
        samples=str(summary.count),
        ended=starred(pingpong.stop, pingpong),
    )


def _time_rows(records: Sequence[Record]) -> Iterable[TimeRow]:
    columns: dict[int, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        match record.configuration:
            case PingPong(message_size=size):
                columns[size]["pingpong"].append(record)
            case Ping(message_size=size, operation=operation):
                columns[size][operation].append(record)
    for size, column in sorted(columns.items()):
        for row in zip_longest(column["pingpong"], column["send"], column["receive"]):
            yield _time_row(size, *row)


def _together_cell(size: int, pairs: int, record: Record) -> Cell:
    seconds = record.summary.median
    return Cell(starred(_rate(size, pairs, seconds) or "–", record), format_time(seconds))


BUFFER_WORDS = {"each": "a buffer of its own each", "one": "one buffer, as OSU's do"}
"""Where messages of a stream's window arrive, in words."""


def _streams(records: Sequence[Record]) -> Iterable[tuple[str, TogetherRows]]:
    for buffers, words in BUFFER_WORDS.items():
        found = [
            one for one in records if isinstance(one.configuration, Stream) and one.configuration.buffers == buffers
        ]
        rows = _together(found, Stream)
        if rows.sizes:
            windows = {one.configuration.window for one in found if isinstance(one.configuration, Stream)}
            span = f"{min(windows)} to {max(windows)}" if len(windows) > 1 else f"{max(windows)}"
            yield f"windows of {span} messages, into {words}", rows


def _together(records: Sequence[Record], kernel: type[Pairs | Stream]) -> TogetherRows:
    cells: dict[int, dict[int, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        configuration = record.configuration
        if isinstance(configuration, kernel) and configuration.node_pairs == 1:  # `beyond` has the others
            size, pairs = configuration.message_size, configuration.pairs
            cells[size][pairs].append(_together_cell(size, pairs, record))
    counts = tuple(sorted({pairs for row in cells.values() for pairs in row}))
    rows = [
        (format_size(size), tuple(cell or Cell("") for cell in repeated))
        for size, row in sorted(cells.items())
        for repeated in zip_longest(*(row.get(pairs, []) for pairs in counts))
    ]
    return TogetherRows(counts, tuple(rows))


def _endings(records: Sequence[Record]) -> tuple[str, ...]:
    counted: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for record in records:
        kernel = str(type(record.configuration).__struct_config__.tag)
        counted[kernel][_ENDINGS[record.stop]] += 1
    lines = [
        f"{kernel}: " + ", ".join(f"{count} × {ending}" for ending, count in sorted(endings.items()))
        for kernel, endings in sorted(counted.items())
    ]
    if any(starred("", record) for record in records):
        lines.append("* ended before the interval was as narrow as asked")
    return tuple(lines)


def path_rows(measurements: Measurements) -> list[PathRows]:
    """Return what was measured on each path, in the order of the file; sizes ascend."""
    by_path: dict[MessagePath, list[Record]] = defaultdict(list)
    for record in measurements.records:
        if isinstance(record.configuration, PointToPoint):
            by_path[record.configuration.path].append(record)
    rows = []
    for path, records in by_path.items():
        thresholds = tuple(_threshold(record) for record in records if isinstance(record.configuration, Threshold))
        pairs, streams = _together(records, Pairs), tuple(_streams(records))
        times, parts = tuple(_time_rows(records)), (*path_parts(records), *burst_parts(records))
        rows.append(PathRows(path, thresholds, times, pairs, streams, parts, _endings(records)))
    return rows


def collective_endings(measurements: Measurements) -> tuple[str, ...]:
    """Return how often records ended in each way, but those on paths, of overlap and of memory; empty without any."""
    others = PointToPoint | Bandwidth | Overlap | Memory | Clocks | Function
    return _endings([record for record in measurements.records if not isinstance(record.configuration, others)])


def overlap_endings(measurements: Measurements) -> tuple[str, ...]:
    """Return how often records of bandwidth and overlap ended in each way; empty where there are none."""
    return _endings(
        [record for record in measurements.records if isinstance(record.configuration, Bandwidth | Overlap)]
    )
