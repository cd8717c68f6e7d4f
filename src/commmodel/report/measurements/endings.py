"""Reasons for the end of records: interval, time or repetitions. Main entry: `endings`."""

from collections import defaultdict
from collections.abc import Iterable

from commmodel.report.kit.cells import starred
from commmodel.results import Measurements, Record, kernel_name
from commmodel.results.configurations import Bandwidth, Clocks, Function, Memory, Overlap, PointToPoint
from commmodel.results.pooling import stops

_ENDINGS = {
    "interval": "interval narrow enough",
    "time": "time spent",
    "repetitions": "most repetitions",
    "found": "complete",
}


def endings(records: Iterable[Record]) -> tuple[str, ...]:
    """Return the number of records of each kernel by reason of their end, and the meaning of a star."""
    records = tuple(records)
    counted: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for record in records:
        for stop, count in stops(record).items():
            counted[kernel_name(record.configuration)][_ENDINGS[stop]] += count
    lines = [
        f"{kernel}: " + ", ".join(f"{count} × {ending}" for ending, count in sorted(ways.items()))
        for kernel, ways in sorted(counted.items())
    ]
    if any(starred("", record) for record in records):
        lines.append("* ended before the interval was as narrow as asked")
    return tuple(lines)


def collective_endings(measurements: Measurements) -> tuple[str, ...]:
    """Return the number of records by reason of their end, of all other kernels; empty without any."""
    untimed = PointToPoint | Bandwidth | Overlap | Memory | Clocks | Function
    return endings(record for record in measurements.records if not isinstance(record.configuration, untimed))


def overlap_endings(measurements: Measurements) -> tuple[str, ...]:
    """Return the number of records of bandwidth and overlap by reason of their end; empty without any."""
    return endings(record for record in measurements.records if isinstance(record.configuration, Bandwidth | Overlap))
