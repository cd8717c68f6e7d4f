"""Repetition of a measurement until the interval of the median is narrow enough or the time is spent.

All ranks of a session call `sample` alike; its root decides after each chunk of repetitions and the others
follow, so nothing is agreed inside the timed part. Main entry: `sample`.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from commmodel.bench import simulation
from commmodel.bench.session import Session
from commmodel.results.configurations import Batch
from commmodel.statistics import summarise

__all__ = ["ROUNDING", "Measure", "Sampled", "repeat", "sample"]

Measure = Callable[[int, int], NDArray[np.float64]]
"""(batch, repetitions) -> seconds of one message in each repetition: 0 where this rank does not time, infinite where
the repetition does not count."""

_LEAST_SAMPLES = 10  # taken even when the time is spent, as long as they cost little
_LEAST_SECONDS = 0.1
_FEWEST_SAMPLES = 3  # taken whatever they cost
_NARROW_SAMPLES = 50
_NARROW_SECONDS = 50e-3  # a burst of quiet shorter than a scheduler's time slice must not end a measurement
_WARMUP_EXCHANGES = 10  # of messages so large that they take more than
_WARMUP_SECONDS = 2e-3  # this, and fewer where they would take more than
_WARMUP_SHARE = 0.1  # this of the time
_WARMUP_MOST = 1000
_PATIENCE_SHARES = 10  # of the time, or
_PATIENCE_SECONDS = 1.0  # this, if longer, for repetitions of which
_PATIENCE_LEFT_OUT = 10  # so many do not count
_BATCH_SECONDS = 50e-6  # the skew with which ranks leave a barrier is then about one percent
_BATCH_MOST = 100
_EXACT_SECONDS = 5e-6  # of a simulated repetition: its clock has nanoseconds
_MOST_EXACT_SAMPLES = 12
_EXACT_SHARE = 1e-3  # of the median, by which simulated repetitions may differ that are as good as equal
ROUNDING = 11  # decimals kept, 10 ps: finer than any clock that is read


@dataclass(frozen=True)
class Sampled:
    """The result of `sample`: samples, on the root only; fewer than three where hardly any repetition was valid."""

    samples: tuple[float, ...]
    batch: int
    warmup: int
    stop: Literal["interval", "time", "repetitions"]
    left_out: int = 0
    """Repetitions that do not count, after the warm-up."""


def _timed(session: Session, measure: Measure, exchanges: int) -> tuple[float, float]:
    """Return, on every rank, the median time of a message and the wall time of an exchange."""
    started = time.perf_counter()
    seconds = session.slowest(measure(1, exchanges))
    one_way = float(np.median(seconds[np.isfinite(seconds)])) if np.isfinite(seconds).any() else 0.0
    return one_way, session.comm.bcast((time.perf_counter() - started) / exchanges)


def _warm_up(session: Session, measure: Measure, setting: Batch) -> tuple[int, int, float]:
    """Return the batch size, the number of exchanges, and the wall time of a repetition."""
    if simulation.is_simulated() and setting != "auto":  # nothing warms up
        return setting, 0, 0.0
    one_way, wall = _timed(session, measure, 1)
    if simulation.is_simulated():
        exact = min(_BATCH_MOST, math.ceil(_EXACT_SECONDS / max(2 * one_way, 1e-9)))
        return exact, 1, wall
    affordable = min(_WARMUP_EXCHANGES, int(_WARMUP_SHARE * session.share / wall))
    more = min(_WARMUP_MOST, max(int(_WARMUP_SECONDS / wall), session.comm.bcast(affordable)))
    if more:
        one_way, wall = _timed(session, measure, more)
    chosen = min(_BATCH_MOST, math.ceil(_BATCH_SECONDS / max(2 * one_way, 1e-9)))
    batch = chosen if setting == "auto" else setting
    return batch, 1 + more, wall * batch


def _verdict(
    session: Session, samples: NDArray[np.float64], left_out: int, wall: float, elapsed: float
) -> Literal["interval", "time", "repetitions"] | None:
    """Return the reason to stop, or None to go on."""
    options = session.options
    if simulation.is_simulated() and samples.size >= _FEWEST_SAMPLES:
        is_exact = float(np.ptp(samples)) <= _EXACT_SHARE * float(np.median(samples))
        return "interval" if is_exact else "repetitions" if samples.size >= _MOST_EXACT_SAMPLES else None
    if samples.size < min(_least(wall), options.repetitions):
        patient = elapsed < max(_PATIENCE_SHARES * session.share, _PATIENCE_SECONDS)
        return None if patient or left_out < _PATIENCE_LEFT_OUT else "time"
    exhausted = samples.size >= options.repetitions
    spent = elapsed >= session.share
    settled = samples.size >= _NARROW_SAMPLES and elapsed >= min(_NARROW_SECONDS, session.share / 2)
    if settled or exhausted or spent:
        if summarise(samples, options.confidence).relative_half_width <= options.ci:
            return "interval"
        return "repetitions" if exhausted else "time" if spent else None
    return None


def _next_chunk(session: Session, count: int, wall: float, elapsed: float) -> int:
    """Return the next number of repetitions: at most as many as there are, within the limits."""
    if simulation.is_simulated():
        return max(1, min(_FEWEST_SAMPLES, session.options.repetitions - count))
    affordable = max(int((session.share - elapsed) / wall), _least(wall) - count)
    return max(1, min(max(count, _LEAST_SAMPLES), affordable, session.options.repetitions - count))


def _least(wall: float) -> int:
    return _LEAST_SAMPLES if _LEAST_SAMPLES * wall <= _LEAST_SECONDS else _FEWEST_SAMPLES


def _finite(session: Session, samples: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(samples.round(ROUNDING).tolist()) if session.is_root else ()


def repeat(session: Session, measure: Measure, repetitions: int) -> Sampled:
    """Warm up, then repeat a given number of times."""
    _, warmup, _ = _warm_up(session, measure, 1)
    times = session.slowest(measure(1, repetitions))
    samples = times[np.isfinite(times)]
    narrow = samples.size and summarise(samples, session.options.confidence).relative_half_width <= session.options.ci
    stop: Literal["interval", "repetitions"] = "interval" if narrow else "repetitions"
    return Sampled(_finite(session, samples), 1, warmup, stop, times.size - samples.size)


def sample(session: Session, measure: Measure, batch: Batch = 1) -> Sampled:
    """Warm up, then repeat until the interval of the median is within ``options.ci`` or the share is spent.

    A batch of ``"auto"`` is chosen so that a repetition lasts about 50 µs.
    """
    started = time.perf_counter()
    exchanges, warmup, wall = _warm_up(session, measure, batch)
    samples = np.empty(0)
    left_out = 0
    begun = int(
        simulation.is_simulated()
    )  # the first repetition of a loop has the skew of the ranks, all else is exact
    while True:
        elapsed = time.perf_counter() - started
        stop = _verdict(session, samples, left_out, wall, elapsed)
        chunk = 0 if stop else _next_chunk(session, samples.size, wall, elapsed)
        chunk, stop = session.comm.bcast((chunk, stop))
        if stop:
            return Sampled(_finite(session, samples), exchanges, warmup, stop, left_out)
        slowest = session.slowest(measure(exchanges, chunk + begun))[begun:]
        counted = slowest[np.isfinite(slowest)]
        left_out += slowest.size - counted.size
        samples = np.concatenate([samples, counted])
