"""Times of single MPI calls and ping-pongs over random message sizes. Main entry: `collect_series`."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from commmodel.arrays import Array
from commmodel.results import Measurements, Record
from commmodel.results.configurations import MessagePath, RandomPing, RandomPingPong

Call = Literal["send", "isend", "receive", "round-trip"]


@dataclass
class CallTimes:
    """Raw times of one call on one path, in order of measurement: bytes and seconds."""

    sizes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, sizes: Sequence[int], record: Record) -> None:
        """Add the samples of a record."""
        share = len(record.samples) // len(sizes)
        self.sizes += [size for size in sizes for _ in range(share)]
        self.seconds += record.samples[: share * len(sizes)]


@dataclass(frozen=True)
class Curve:
    """Medians of a series over ascending sizes."""

    sizes: Array
    seconds: Array

    def at(self, sizes: Array) -> Array:
        """Return the times at other sizes, interpolated in logarithms."""
        logs = np.interp(np.log(np.maximum(sizes, 0.5)), np.log(np.maximum(self.sizes, 0.5)), np.log(self.seconds))
        return np.asarray(np.exp(logs), dtype=np.float64)

    def between(self, below: float, upto: float) -> "Curve":
        """Return the part above `below` and up to `upto`."""
        inside = (self.sizes > below) & (self.sizes <= upto)
        return Curve(self.sizes[inside], self.seconds[inside])


def collect_series(measurements: Measurements) -> dict[MessagePath, dict[Call, CallTimes]]:
    """Return the raw times by path and call; those of ``round-trip`` are half round trips."""
    series: dict[MessagePath, dict[Call, CallTimes]] = defaultdict(lambda: defaultdict(CallTimes))
    for record in measurements.records:
        match record.configuration:
            case RandomPing(message_sizes=sizes, operation=operation, path=path):
                series[path][operation].add(sizes, record)
            case RandomPingPong(message_sizes=sizes, path=path):
                series[path]["round-trip"].add(sizes, record)
    return {path: dict(calls) for path, calls in series.items()}
