"""The parameters of pLogP, with sizes added where a straight line fails.

Source: Kielmann, Bal and Verstoep, "Fast Measurement of LogP Parameters for Message Passing Platforms" (2000). As
there, sizes are added where straight lines between those at hand do not describe the times; other than there, medians
decide, with their intervals, so that neither an outlier nor noise adds any. Main entries: `KERNELS` and `refine`.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Literal, get_args

from commmodel.bench.kernels.kernel import (
    LOOKS,
    MODE,
    Effort,
    Floats,
    Kernel,
    Room,
    modes,
    pause_ticks,
    sampled,
    window,
    window_room,
)
from commmodel.bench.kernels.trains import time_trains
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import MessagePath, PLogPParameter, SendMode
from commmodel.statistics import Summary, summarise

Quantity = Literal["send", "receive", "gap", "round-trip"]
_QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)

_TOLERANCE = 0.1  # relative, of a time against the straight line between its neighbours
_LEAST_GAP = 32  # bytes between two sizes that may be divided
_LEAST_RATIO = 1.1  # of them
_MOST_EXTRA = 16  # sizes of one quantity on one path


def _sizes(options: BenchOptions) -> list[int]:
    return sorted({0, 1, *options.sizes})


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:
    return [
        PLogPParameter(size, quantity, path, mode)
        for size, quantity, path, mode in product(_sizes(options), _QUANTITIES, placement, modes(options))
    ]


def _room(configuration: PLogPParameter) -> Room:
    size = configuration.message_size
    return window_room(size) if configuration.quantity == "gap" else (size, size)


def _measure(session: Session, configuration: PLogPParameter) -> Record | None:
    from commmodel._core.mpi import pingpong

    size, mode, is_blocking = configuration.message_size, configuration.mode, configuration.mode == "blocking"
    common = (*session.pair, session.send_buffer, size)

    def round_trips(repetitions: int, count: int = 1) -> Floats:
        return time_trains(session, size, mode, count=count, answer=0, repetitions=repetitions)

    def sends(repetitions: int) -> Floats:
        loop = pingpong.ping_send if is_blocking else pingpong.ping_isend
        return session.timed(loop, *common, repetitions) * session.first

    def receives(repetitions: int) -> Floats:
        loop = pingpong.ping_receive if is_blocking else pingpong.ping_ireceive
        return session.timed(loop, *common, repetitions, pause) * (not session.first)

    pause = pause_ticks(session, round_trips) if configuration.quantity == "receive" else 0
    measure: dict[Quantity, Callable[[int], Floats]] = {
        "send": sends,
        "receive": receives,
        "gap": lambda repetitions: round_trips(repetitions, window(size)) / window(size),
        "round-trip": round_trips,
    }
    return sampled(session, configuration, measure[configuration.quantity])


def _bend(sizes: tuple[int, int, int], times: tuple[Summary, Summary, Summary]) -> float:
    """Return the relative distance of the middle median from the line between its neighbours; 0 within its interval.

    It may be where its interval and the tolerance around the line, drawn between the neighbours' intervals, overlap.
    A median without an interval decides nothing.
    """
    (a, b, c), (first, middle, last) = sizes, times
    weight = (b - a) / (c - a)

    def between(left: float, right: float) -> float:
        return (1 - weight) * left + weight * right

    least = (1 - _TOLERANCE) * between(first.low, last.low)
    most = (1 + _TOLERANCE) * between(first.high, last.high)
    if middle.low > most or middle.high < least:
        line = between(first.median, last.median)
        return abs(middle.median / line - 1) if line else 1.0
    return 0.0


def _divisions(times: Mapping[int, Summary]) -> list[int]:
    """Return the midpoints of intervals where a line fails, the worst failure first."""
    sizes = sorted(times)
    bends: dict[int, float] = {}
    for a, b, c in zip(sizes, sizes[1:], sizes[2:], strict=False):
        bend = _bend((a, b, c), (times[a], times[b], times[c]))
        for low, high in ((a, b), (b, c)):
            if bend and high - low >= _LEAST_GAP and high > _LEAST_RATIO * low:
                middle = (low + high) // 2
                bends[middle] = max(bend, bends.get(middle, 0.0))
    return sorted(bends, key=lambda size: (-bends[size], size))


def refine(options: BenchOptions, records: Sequence[Record]) -> list[Configuration]:
    """Return the missing sizes between measured ones, given all records.

    Each measured size between two others is compared with the straight line between them. Where its median lies more
    than 10 % off, and the intervals leave no doubt, the middles towards both neighbours are added; not between sizes
    that are less than 32 bytes or 10 % apart, and at most 16 for each path, quantity and mode.
    """
    times: dict[tuple[MessagePath, Quantity, SendMode], dict[int, Summary]] = defaultdict(dict)
    for record in records:
        if isinstance(configuration := record.configuration, PLogPParameter):
            times[configuration.path, configuration.quantity, configuration.mode][configuration.message_size] = (
                summarise(record.samples, options.confidence)
            )
    planned = set(_sizes(options))
    return [
        PLogPParameter(size, quantity, path, mode)
        for (path, quantity, mode), measured in times.items()
        for size in _divisions(measured)[: max(0, _MOST_EXTRA - len(measured.keys() - planned))]
    ]


def _effort(configuration: PLogPParameter) -> Effort:
    size, is_receive = configuration.message_size, configuration.quantity == "receive"
    messages = window(size) if configuration.quantity == "gap" else 2.2 if is_receive else 1
    return Effort(size, messages, LOOKS / 2 if is_receive else 0)


KERNELS = (
    Kernel(
        "send and receive overhead, gap and round trip of many sizes, for pLogP",
        (PLogPParameter,),
        _plan,
        _measure,
        _room,
        options=(MODE,),
        refine=refine,
        effort=_effort,
    ),
)
