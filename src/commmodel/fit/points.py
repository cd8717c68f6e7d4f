"""From raw measurements to the points that a model is fitted to: one median for each size and number of pairs."""

from dataclasses import dataclass
from types import UnionType

import numpy as np

from commmodel.results import Measurements, Pairs, PingPong, RandomPingPong, Stream
from commmodel.statistics import summarise

__all__ = ["NO_POINTS", "Points", "between", "collect", "collect_streams"]


@dataclass(frozen=True)
class Points:
    """Median times of one path; all arrays have shape (m,), ordered by size, then by pairs.

    Attributes
    ----------
    message_size, pairs : int64
        Bytes, and communicating pairs at once.
    seconds : float64
        Median time of one message.
    low, high : float64
        Interval of that median; infinite where a record has too few samples for one.
    """

    message_size: np.ndarray
    pairs: np.ndarray
    seconds: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def __len__(self) -> int:
        return self.message_size.size

    def where(self, mask: np.ndarray) -> "Points":
        """Return the points for which the mask, of shape (m,), is true."""
        columns = (self.message_size, self.pairs, self.seconds, self.low, self.high)
        return Points(*(column[mask] for column in columns))


NO_POINTS = Points(*(np.empty(0, dtype=kind) for kind in (np.int64, np.int64, float, float, float)))
"""Where nothing was measured."""


def between(points: Points, below: float, upto: float) -> Points:
    """Return the points of messages larger than `below` and no larger than `upto`."""
    return points.where((points.message_size > below) & (points.message_size <= upto))


def collect(measurements: Measurements) -> dict[str, Points]:
    """Return the points of each path, from ping-pong records (one pair) and pairs records.

    Ping-pongs of random sizes are taken where there are no others: a point for each distinct size.

    A configuration measured several times, by several launches, gives one point for each of them. Records of several
    pairs of nodes at once are left out: what they share beyond the node is no part of a node's model.
    """
    points = _collect(measurements, PingPong | Pairs)
    return points | {path: found for path, found in _collect_random(measurements).items() if path not in points}


def collect_streams(measurements: Measurements) -> dict[str, Points]:
    """Return the points of each path from stream records, which measure one direction; otherwise as `collect`."""
    return _collect(measurements, Stream)


def _collect_random(measurements: Measurements) -> dict[str, Points]:
    samples: dict[str, dict[int, list[float]]] = {}
    for record in measurements.records:
        if isinstance(one := record.configuration, RandomPingPong):
            each = len(record.samples) // len(one.message_sizes)
            for place, size in enumerate(one.message_sizes):
                own = record.samples[place * each : (place + 1) * each]
                samples.setdefault(one.path, {}).setdefault(size, []).extend(own)
    points: dict[str, Points] = {}
    for path, by_size in samples.items():
        sizes = np.array(sorted(by_size), dtype=np.int64)
        summaries = [summarise(by_size[int(size)]) for size in sizes]
        times = (np.array([getattr(one, name) for one in summaries]) for name in ("median", "low", "high"))
        found = Points(sizes, np.ones_like(sizes), *times)
        points[path] = found.where(found.seconds > 0)
    return points


def _collect(measurements: Measurements, kinds: type | UnionType) -> dict[str, Points]:
    rows: dict[str, list[tuple[int, int, float, float, float]]] = {}
    for record in measurements.records:
        configuration = record.configuration
        if isinstance(configuration, Pairs | Stream) and configuration.node_pairs > 1:
            continue
        if isinstance(configuration, kinds) and isinstance(configuration, PingPong | Pairs | Stream):
            pairs = 1 if isinstance(configuration, PingPong) else configuration.pairs
            summary = record.summary
            rows.setdefault(configuration.path, []).append(
                (configuration.message_size, pairs, summary.median, summary.low, summary.high)
            )
    points: dict[str, Points] = {}
    for path, measured in rows.items():
        sizes, pair_counts, *times = zip(*sorted(measured), strict=True)
        points[path] = Points(np.array(sizes), np.array(pair_counts), *(np.array(column) for column in times))
    return points
