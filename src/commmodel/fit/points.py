"""Points of a fit from raw measurements: one time per record.

It is the median of the samples that nothing disturbed, with what the record says about how well it is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import Literal

import numpy as np

from commmodel.fit.undisturbed import TimeMode, Undisturbed, undisturbed
from commmodel.fit.visits import drift, time_of, visit_scatter, visit_times
from commmodel.results import Measurements
from commmodel.results.configurations import Pairs, PingPong, RandomPingPong, Stream, StreamBuffers

__all__ = ["NO_POINTS", "Points", "between", "collect", "collect_streams", "points_of", "stream_buffers"]

_MOST = 0.5
"""Share of the samples of a record."""


@dataclass(frozen=True, repr=False)
class Points:
    """Times of one path; all arrays have shape (m,), ordered by size, then by pairs.

    Attributes
    ----------
    message_size, pairs : int64
        Bytes, and communicating pairs at once.
    seconds : float64
        Median time of one message, of the samples that nothing disturbed.
    low, high : float64
        Interval of that median; infinite where a record has too few samples for one.
    error : float64
        Relative standard error of that median, as far as its own samples show it; 0 if left out.
    modes : tuple of tuple of TimeMode
        Of each record whose samples have more than one, all of them; empty of the others, and if left out.
    drift, freedom : shape (m, k), and int
        Relative errors that the points share, as factors of Student's variates, and their degrees of freedom: see
        `commmodel.fit.visits.drift`; none if left out.
    """

    message_size: np.ndarray
    pairs: np.ndarray
    seconds: np.ndarray
    low: np.ndarray
    high: np.ndarray
    error: np.ndarray = field(default_factory=lambda: np.empty(0))
    modes: tuple[tuple[TimeMode, ...], ...] = ()
    drift: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    freedom: int = 0

    def __post_init__(self) -> None:
        """Set the defaults."""
        if self.error.size != self.message_size.size:
            object.__setattr__(self, "error", np.zeros(self.message_size.size))
        if len(self.modes) != self.message_size.size:
            object.__setattr__(self, "modes", ((),) * self.message_size.size)
        if len(self.drift) != self.message_size.size:
            object.__setattr__(self, "drift", np.zeros((self.message_size.size, 0)))

    @property
    def disturbed(self) -> np.ndarray:
        """Which records were disturbed, as their own samples show, whose fastest mode is not most of them."""
        return np.array([len(modes) > 1 and modes[0].share < _MOST for modes in self.modes], dtype=bool)

    def __repr__(self) -> str:
        """Return the number of points."""
        return f"Points({len(self)} of {np.unique(self.message_size).size} sizes)"

    def __len__(self) -> int:
        return self.message_size.size

    def where(self, mask: np.ndarray) -> "Points":
        """Return the points for which the mask, of shape (m,), is true."""
        chosen = np.arange(len(self))[mask]
        return Points(
            self.message_size[mask],
            self.pairs[mask],
            self.seconds[mask],
            self.low[mask],
            self.high[mask],
            self.error[mask],
            tuple(self.modes[index] for index in chosen),
            self.drift[mask],
            self.freedom,
        )


NO_POINTS = Points(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0), np.empty(0), np.empty(0))
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
    return points | {path: collected for path, collected in _collect_random(measurements).items() if path not in points}


def collect_streams(measurements: Measurements) -> dict[str, Points]:
    """Return the points of each path from stream records (one direction); otherwise as `collect`.

    Those whose messages arrive in a buffer each and those whose messages arrive in one are never taken together: see
    `stream_buffers`.
    """
    return _collect(measurements, Stream, stream_buffers(measurements))


def stream_buffers(measurements: Measurements) -> StreamBuffers | Literal[""]:
    """Return the kind of receive buffers of the stream records to fit; empty where there are none.

    Those with a buffer for each message, as programs have them, where there are such; else those with one for all.
    """
    buffers = {
        record.configuration.buffers for record in measurements.records if isinstance(record.configuration, Stream)
    }
    return "each" if "each" in buffers else "one" if buffers else ""


def _collect_random(measurements: Measurements) -> dict[str, Points]:
    samples: dict[str, dict[int, list[float]]] = {}
    for record in measurements.records:
        if isinstance(configuration := record.configuration, RandomPingPong):
            count = len(record.samples) // len(configuration.message_sizes)
            for place, size in enumerate(configuration.message_sizes):
                part = record.samples[place * count : (place + 1) * count]
                samples.setdefault(configuration.path, {}).setdefault(size, []).extend(part)
    points: dict[str, Points] = {}
    for path, by_size in samples.items():
        sizes = np.array(sorted(by_size), dtype=np.int64)
        collected = points_of([(int(size), 1, [undisturbed(by_size[int(size)])]) for size in sizes])
        points[path] = collected.where(collected.seconds > 0)
    return points


def _collect(measurements: Measurements, kinds: type | UnionType, buffers: str = "") -> dict[str, Points]:
    rows: dict[str, list[tuple[int, int, list[Undisturbed]]]] = {}
    for record in measurements.records:
        configuration = record.configuration
        if isinstance(configuration, Pairs | Stream) and configuration.node_pairs > 1:
            continue
        if isinstance(configuration, Stream) and configuration.buffers != buffers:
            continue
        if isinstance(configuration, kinds) and isinstance(configuration, PingPong | Pairs | Stream):
            pairs = 1 if isinstance(configuration, PingPong) else configuration.pairs
            rows.setdefault(configuration.path, []).append((configuration.message_size, pairs, visit_times(record)))
    return {path: points_of(measured) for path, measured in rows.items()}


def points_of(rows: Sequence[tuple[int, int, Sequence[Undisturbed]]]) -> Points:
    """Return the points of (message size, pairs, time of each visit), given in the order of the first visits."""
    if not rows:
        return NO_POINTS
    order = np.array(sorted(range(len(rows)), key=lambda place: rows[place][:2]))
    rows = [rows[place] for place in order]
    sizes, pairs = np.array([row[:2] for row in rows]).T
    visits = [row[2] for row in rows]
    scatters = visit_scatter(sizes, visits).tolist()
    times = [time_of(*observed) for observed in zip(visits, scatters, strict=True)]
    median, low, high, error = (
        np.array([getattr(time, name) for time in times]) for name in ("median", "low", "high", "error")
    )
    modes = tuple(time.modes if len(time.modes) > 1 else () for time in times)
    return Points(sizes, pairs, median, low, high, error, modes, *drift(sizes, visits, order))
