"""One pair of ranks: ping-pong, the two halves of a ping, and the eager limit. Main entry: `KERNELS`.

The samples of a ping-pong are half round trips of the rank that sends first; those of a ping are the time inside
MPI_Send, and inside MPI_Recv, while the other side is ready.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise, product
from typing import TYPE_CHECKING, Literal

import numpy as np

from commmodel.bench import eager_limit
from commmodel.bench.kernels import random_sizes
from commmodel.bench.kernels.kernel import (
    LOOKS,
    Effort,
    Floats,
    Kernel,
    Room,
    always,
    message_room,
    pause_ticks,
    round_trip,
    round_trips,
    sampled,
    sampled_in_batches,
)  # fmt: skip
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.results import BenchOptions, Configuration, Record, join_visits
from commmodel.results.configurations import MessagePath, Ping, PingPong, RandomPing, RandomPingPong, Threshold

if TYPE_CHECKING:
    from commmodel.fit.points import Points
    from commmodel.fit.protocol_limits import Evidence
    from commmodel.fit.undisturbed import Undisturbed

_JUMP = 1.3  # over the line through the two sizes before: more than noise makes of several visits
_LEAST_REFINED = 64  # bytes
_PARTS = 4  # of the span in which a jump lies
_NONE, _CLEAR = 0.2, 1.5  # of the evidence that makes a limit: most lines without one reach the first
_AROUND = 4  # times smaller and larger than a possible limit, where more sizes tell whether it is one
_LEAST_RATIO = 1.1  # of neighbours, between which there may be another


def _plan_pingpong(options: BenchOptions, placement: Placement) -> list[Configuration]:
    if options.random_sizes:
        return [*random_sizes.plan_pingpong(options, placement)]
    batch = options.batch or 1
    return [PingPong(size, path, batch) for path, size in product(placement, options.sizes)]


def _refine_pingpong(options: BenchOptions, records: Sequence[Record]) -> list[Configuration]:
    """Return sizes around limits of which the times say neither yes nor no, and between those where the time jumps."""
    from commmodel.fit.points import points_of
    from commmodel.fit.protocol_limits import MOST_SIZES, evidence
    from commmodel.fit.visits import visit_times

    rows: dict[MessagePath, list[tuple[int, int, Sequence[Undisturbed]]]] = {}
    for record in join_visits(records):
        if isinstance(configuration := record.configuration, PingPong):
            rows.setdefault(configuration.path, []).append((configuration.message_size, 1, visit_times(record)))
    configurations: list[Configuration] = []
    for path, times in rows.items():
        points = points_of(times)
        sizes = np.unique(points.message_size).tolist()
        doubtful = [limit for limit in evidence(records, path, points) if _NONE <= limit.fall / limit.needed < _CLEAR]
        further = [size for limit in doubtful for size in _around(limit, sizes)]
        further += _where_it_jumps(points.where(np.isin(points.message_size, options.sizes)))
        added = [size for size in dict.fromkeys(further) if size not in sizes]
        room = max(0, MOST_SIZES - len(sizes))
        configurations += [PingPong(size, path, options.batch or 1) for size in sorted(added[:room])]
    return configurations


def _around(limit: "Evidence", sizes: Sequence[int]) -> list[int]:
    """Return the middles between neighbours around a possible limit, the nearest first."""
    middles = [
        (low + high) // 2
        for low, high in pairwise(sizes)
        if limit.below <= low * _AROUND and high <= limit.above * _AROUND and high > max(low * _LEAST_RATIO, low + 1)
    ]
    return sorted(middles, key=lambda size: max(size, limit.above) / min(size, limit.above))


def _where_it_jumps(points: "Points") -> list[int]:
    """Return sizes between neighbours at which the time jumps, as at a limit or where a cache is full."""
    times = list(zip(points.message_size.tolist(), points.seconds.tolist(), strict=True))
    sizes: list[int] = []
    for (before, first), (below, second), (above, third) in zip(times, times[1:], times[2:], strict=False):
        slope = max(second - first, 0.0) / (below - before)
        if third > _JUMP * (second + slope * (above - below)) and below >= _LEAST_REFINED and above <= 2 * below:
            sizes += [(below * (_PARTS - part) + above * part) // _PARTS for part in range(1, _PARTS)]
    return sizes


def _room(configuration: PingPong | Ping | RandomPingPong | RandomPing) -> Room:
    if isinstance(configuration, RandomPingPong | RandomPing):
        return random_sizes.room(configuration)
    return message_room(configuration)


def _measure_pingpong(session: Session, configuration: PingPong | RandomPingPong) -> Record | None:
    if isinstance(configuration, RandomPingPong):
        return random_sizes.measure_pingpong(session, configuration)

    def measure(batch: int, repetitions: int) -> Floats:
        return round_trips(session, configuration.message_size, repetitions, batch) / 2 * session.first

    return sampled_in_batches(session, configuration, measure, configuration.batch)


_OPERATIONS: tuple[Literal["send", "receive"], ...] = ("send", "receive")


def _plan_ping(options: BenchOptions, placement: Placement) -> list[Configuration]:
    if options.random_sizes:
        return [*random_sizes.plan_ping(options, placement)]
    return [Ping(size, operation, path) for path, size, operation in product(placement, options.sizes, _OPERATIONS)]


def _measure_ping(session: Session, configuration: Ping | RandomPing) -> Record | None:
    if isinstance(configuration, RandomPing):
        return random_sizes.measure_ping(session, configuration)
    from commmodel._core.mpi import pingpong

    size = configuration.message_size
    common = (*session.pair, session.send_buffer, size)
    if configuration.operation == "send":

        def measure(repetitions: int) -> Floats:
            return session.timed(pingpong.ping_send, *common, repetitions) * session.first

    else:
        pause = pause_ticks(session, partial(round_trips, session, size))

        def measure(repetitions: int) -> Floats:
            return session.timed(pingpong.ping_receive, *common, repetitions, pause) * (not session.first)

    return sampled(session, configuration, measure)


def _plan_threshold(options: BenchOptions, placement: Placement) -> list[Configuration]:  # noqa: ARG001
    return [Threshold(path) for path in placement]


def _measure_threshold(session: Session, configuration: Threshold) -> Record | None:
    limit, above = eager_limit.search(session, partial(eager_limit.send_blocks, session))
    if not session.is_root:
        return None
    return Record(configuration, "B", (float(limit),), bracket=(limit, above))


def _effort(configuration: Ping | PingPong | RandomPing | RandomPingPong) -> Effort:
    if isinstance(configuration, RandomPing | RandomPingPong):
        return random_sizes.effort(configuration)
    if isinstance(configuration, PingPong):
        return round_trip(configuration)
    receives = configuration.operation == "receive"  # each waits for more than a round trip before
    return Effort(configuration.message_size, 2.2 if receives else 1, LOOKS if receives else 0)


_THRESHOLD_EFFORT = Effort(eager_limit.LARGEST, eager_limit.PROBES_OF_LARGEST, 1, eager_limit.SECONDS, sampled=False)
_OPTIONS = (random_sizes.OPTION,)
KERNELS = (
    Kernel(
        "the eager limit, by a send that blocks",
        (Threshold,),
        _plan_threshold,
        _measure_threshold,
        lambda _: (eager_limit.LARGEST, eager_limit.LARGEST),
        by_default=always,
        effort=lambda _: _THRESHOLD_EFFORT,
        decides=True,
    ),
    Kernel(
        "blocking ping-pong of one pair",
        (PingPong, RandomPingPong),
        _plan_pingpong,
        _measure_pingpong,
        _room,
        options=_OPTIONS,
        by_default=always,
        refine=_refine_pingpong,
        visited=(PingPong,),
        effort=_effort,
    ),
    Kernel(
        "time inside MPI_Send and inside MPI_Recv",
        (Ping, RandomPing),
        _plan_ping,
        _measure_ping,
        _room,
        options=_OPTIONS,
        by_default=always,
        visited=(Ping,),
        effort=_effort,
    ),
)
