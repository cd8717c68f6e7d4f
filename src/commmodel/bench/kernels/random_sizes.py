"""Ping-pongs and single calls with random message sizes, for the hybrid model.

Source: Bédaride et al. (2013), Section IV-A: sizes spread evenly in their logarithm, in random order, so that neither
powers of two nor the order of sizes biases the times; raw values are kept. A record holds some tens of sizes, drawn
from all. Main entries: `measure_ping`, `measure_pingpong`.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, get_args

import numpy as np

from commmodel.bench.kernels.kernel import Effort, Floats, Room, round_trips
from commmodel.bench.option import Option, positive
from commmodel.bench.placement import Placement
from commmodel.bench.sampling import ROUNDING
from commmodel.bench.session import Session
from commmodel.errors import InputError
from commmodel.results import BenchOptions, Record
from commmodel.results.configurations import RandomPing, RandomPingPong

_Measure = Callable[[int, int], Floats]
"""(size, repetitions) -> seconds, 0 where this rank does not time."""
_Operation = Literal["send", "isend", "receive"]

_MOST_SIZES = 100_000
_SIZES_A_RECORD = 25
_FURTHER_PASSES = 2  # over the sizes of a record, so that a disturbance does not hit all samples of one of them
_CHEAP_SECONDS = 0.1  # of further passes, which are made even where there is no time for them
_MOST = 7  # samples of a size in one of them
_MOST_TURNS = 8  # of a small size in one record
_LARGE = 64 << 10  # bytes; two turns of half of it, and so on
_LOOKS = 3  # round trips that a pause is made of, but one where it takes
_LONG_SECONDS = 10e-3  # this
_PAUSE_ROUND_TRIPS = 1.5  # more than 1.2, as these are few


def _number_of_sizes(text: str) -> int:
    count = positive(text)
    if count > _MOST_SIZES:
        raise InputError(f"{text!r}: more than {_MOST_SIZES} sizes")
    return count


OPTION = Option(
    "random_sizes",
    "number of sizes drawn at random between the ends of --sizes, uniformly in their logarithm; for the hybrid model",
    _number_of_sizes,
    unset="those of --sizes",
    metavar="N",
)


def drawn_sizes(options: BenchOptions) -> tuple[int, ...]:
    """Return the sizes in drawn order: uniform in their logarithm, whole bytes from 1 up."""
    low, high = max(1, min(options.sizes)), max(options.sizes)
    if low >= high:
        raise InputError(f"--random-sizes draws between the ends of --sizes, and these are both {high} B")
    draw = random.Random(f"sizes {options.seed}")  # noqa: S311  (sizes, no secret)
    ratio = high / low
    return tuple(min(high, max(low, round(low * ratio ** draw.random()))) for _ in range(options.random_sizes or 0))


def _groups(options: BenchOptions) -> Iterator[tuple[int, ...]]:
    """Yield the sizes of each record, spread over all sizes, so that drift between records shows as no limit.

    Small messages, which cost little and scatter more, are there several times.
    """
    sizes = drawn_sizes(options)
    for begin in range(0, len(sizes), _SIZES_A_RECORD):
        part = sizes[begin : begin + _SIZES_A_RECORD]
        yield tuple(size for turn in range(_MOST_TURNS) for size in part if turn == 0 or size * (turn + 1) <= _LARGE)


def plan_pingpong(options: BenchOptions, placement: Placement) -> list[RandomPingPong]:
    """Return the ping-pongs to measure: the same sizes on each path."""
    return [RandomPingPong(sizes, path) for path in placement for sizes in _groups(options)]


def plan_ping(options: BenchOptions, placement: Placement) -> list[RandomPing]:
    """Return the calls to measure, with the sizes of the ping-pongs."""
    operations: tuple[_Operation, ...] = get_args(_Operation)
    return [
        RandomPing(sizes, operation, path)
        for path in placement
        for operation in operations
        for sizes in _groups(options)
    ]


def room(configuration: RandomPing | RandomPingPong) -> Room:
    """Return the buffer sizes for one message of the largest size each way."""
    largest = max(configuration.message_sizes)
    return largest, largest


def _pause(session: Session, size: int) -> int:
    """Return the ticks until a requested message has arrived, from a few round trips."""

    def looked(count: int) -> float:
        return float(session.comm.bcast(np.median(round_trips(session, size, count))))

    seconds = looked(1)
    return session.ticks(_PAUSE_ROUND_TRIPS * (looked(_LOOKS) if seconds < _LONG_SECONDS else seconds))


def measure_pingpong(session: Session, configuration: RandomPingPong) -> Record | None:
    """Measure half round trips."""

    def measure(size: int, repetitions: int) -> Floats:
        return round_trips(session, size, repetitions) / 2 * session.first

    return _recorded(session, configuration, configuration.message_sizes, measure)


def measure_ping(session: Session, configuration: RandomPing) -> Record | None:
    """Measure the time inside one call."""
    from commmodel._core.mpi import burst, pingpong

    common = (*session.pair, session.send_buffer)
    pauses: dict[int, int] = {}

    def sends(size: int, repetitions: int) -> Floats:
        return session.timed(pingpong.ping_send, *common, size, repetitions) * session.first

    def isends(size: int, repetitions: int) -> Floats:
        ticks = burst.two_sided_burst(*common, size, size, 1, repetitions, session.clock_number)
        return session.seconds(ticks) * session.first

    def pause(size: int) -> None:
        pauses[size] = _pause(session, size)

    def receives(size: int, repetitions: int) -> Floats:
        return session.timed(pingpong.ping_receive, *common, size, repetitions, pauses[size]) * (not session.first)

    measure = {"send": sends, "isend": isends, "receive": receives}[configuration.operation]
    before = pause if configuration.operation == "receive" else None
    return _recorded(session, configuration, configuration.message_sizes, measure, before)


def effort(configuration: RandomPing | RandomPingPong) -> Effort:
    """Return what a smallest visit sends: each size twice, and what a pause before a receive is made of."""
    sizes = configuration.message_sizes
    per_size = {"RandomPingPong": 4.0, "send": 2.0, "isend": 2.0, "receive": 2 + 2.2 * _PAUSE_ROUND_TRIPS}
    name = configuration.operation if isinstance(configuration, RandomPing) else "RandomPingPong"
    return Effort(sum(sizes) / len(sizes), len(sizes) * per_size[name], 1, sampled=False)


def _recorded(
    session: Session,
    configuration: RandomPing | RandomPingPong,
    sizes: Sequence[int],
    measure: _Measure,
    before: Callable[[int], None] | None = None,
) -> Record | None:
    """Measure all sizes equally often, once at least, within the share of time; return the record, on the root.

    Before, the first message of a size sets up what later ones find, unless `before` sends some.
    """
    from mpi4py import MPI

    begun = time.perf_counter()
    for size in dict.fromkeys(sizes):
        if before:
            before(size)
        else:
            measure(size, 1)
    first_pass = time.perf_counter()
    passes = [[measure(size, 1) for size in sizes]]
    one_pass = max(time.perf_counter() - first_pass, 1e-9)
    left = max(session.share - (time.perf_counter() - begun), _CHEAP_SECONDS)
    count = session.comm.bcast(min(_FURTHER_PASSES * _MOST, int(left / one_pass)))
    further = min(_FURTHER_PASSES, count)
    passes += [[measure(size, count // further) for size in sizes] for _ in range(further)]
    local = np.concatenate(passes, axis=1)
    samples = np.empty_like(local)
    session.comm.Reduce(local, samples, op=MPI.MAX)
    if not session.is_root:
        return None
    return Record(configuration, "s", tuple(samples.reshape(-1).round(ROUNDING).tolist()), warmup=len(sizes))
