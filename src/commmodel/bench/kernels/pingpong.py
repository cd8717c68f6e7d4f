"""One pair of ranks: ping-pong, the two halves of a ping, and the eager limit. Main entry: `KERNELS`.

The samples of a ping-pong are half round trips of the rank that sends first; those of a ping are the time inside
MPI_Send, and inside MPI_Recv, while the other side is ready.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from commmodel.bench import eager_limit
from commmodel.bench.kernels import random_sizes
from commmodel.bench.kernels.kernel import (
    LOOKS,
    Effort,
    Kernel,
    Room,
    always,
    exchange_seconds,
    message_room,
    pause_ticks,
    round_trip,
    sampled,
)  # fmt: skip
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.results import BenchOptions, Configuration, Record, join_visits, visit_samples
from commmodel.results.configurations import MessagePath, Ping, PingPong, RandomPing, RandomPingPong, Threshold

__all__ = ["KERNELS"]

_JUMP = 1.3  # over the line through the two sizes before: more than noise makes of several visits
_LEAST_REFINED = 64  # bytes
_PARTS = 4  # of the span in which a jump lies


def _plan_pingpong(options: BenchOptions, placement: Placement) -> list[Configuration]:
    if options.random_sizes:
        return [*random_sizes.plan_pingpong(options, placement)]
    batch = options.batch or 1
    return [PingPong(size, path, batch) for path, size in product(placement, options.sizes)]


def _refine_pingpong(options: BenchOptions, records: Sequence[Record]) -> list[Configuration]:
    """Return sizes between neighbours of the plan at which the time jumps, as at a protocol limit."""
    times: dict[str, dict[int, float]] = {}
    for record in join_visits(records):
        match record.configuration:
            case PingPong(message_size=size, path=path) if size in options.sizes:
                medians = [np.median(visit) for visit in visit_samples(record)]
                times.setdefault(path, {})[size] = float(np.quantile(medians, 0.5, method="lower"))  # of half of them
    configurations: list[Configuration] = []
    for path in get_args(MessagePath):
        by_size = times.get(path, {})
        sizes = sorted(by_size)
        for before, below, above in zip(sizes, sizes[1:], sizes[2:], strict=False):
            slope = max(by_size[below] - by_size[before], 0.0) / (below - before)
            jumps = by_size[above] > _JUMP * (by_size[below] + slope * (above - below))
            if jumps and below >= _LEAST_REFINED and above <= 2 * below:
                between = ((below * (_PARTS - part) + above * part) // _PARTS for part in range(1, _PARTS))
                configurations += [PingPong(size, path, options.batch or 1) for size in between]
    return configurations


def _room(configuration: PingPong | Ping | RandomPingPong | RandomPing) -> Room:
    if isinstance(configuration, RandomPingPong | RandomPing):
        return random_sizes.room(configuration)
    return message_room(configuration)


def _measure_pingpong(session: Session, configuration: PingPong | RandomPingPong) -> Record | None:
    if isinstance(configuration, RandomPingPong):
        return random_sizes.measure_pingpong(session, configuration)

    def measure(batch: int, repetitions: int) -> NDArray[np.float64]:
        return _round_trips(session, configuration.message_size, batch, repetitions) * session.first

    return sampled(session, configuration, measure, configuration.batch)


def _round_trips(session: Session, size: int, batch: int, repetitions: int) -> NDArray[np.float64]:
    from commmodel._core.mpi import pingpong

    ticks = pingpong.pingpong(
        session.comm, session.peer, session.first, session.send_buffer, session.receive_buffer,
        size, repetitions, batch, session.clock_number, session.touched,
    )  # fmt: skip
    return exchange_seconds(session, ticks) / (2 * batch)


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
    common = (session.comm, session.peer, session.first, session.send_buffer, size)
    if configuration.operation == "send":

        def measure(batch: int, repetitions: int) -> NDArray[np.float64]:  # noqa: ARG001
            ticks = pingpong.ping_send(*common, repetitions, session.clock_number, session.touched)
            return session.seconds(ticks) * session.first

    else:
        pause = pause_ticks(session, lambda repetitions: 2 * _round_trips(session, size, 1, repetitions))

        def measure(batch: int, repetitions: int) -> NDArray[np.float64]:  # noqa: ARG001
            ticks = pingpong.ping_receive(*common, repetitions, pause, session.clock_number, session.touched)
            return session.seconds(ticks) * (not session.first)

    return sampled(session, configuration, measure)


def _plan_threshold(options: BenchOptions, placement: Placement) -> list[Configuration]:  # noqa: ARG001
    return [Threshold(path) for path in placement]


def _measure_threshold(session: Session, configuration: Threshold) -> Record | None:
    limit, above = eager_limit.search(session, partial(eager_limit.send_blocks, session))
    if not session.is_root:
        return None
    return Record(configuration, "B", (float(limit),), bracket=(limit, above))


def _threshold_effort(configuration: Threshold) -> Effort:  # noqa: ARG001
    return Effort(eager_limit.LARGEST, eager_limit.PROBES_OF_LARGEST, 1, eager_limit.SECONDS, sampled=False)


def _effort(configuration: Ping | PingPong | RandomPing | RandomPingPong) -> Effort:
    if isinstance(configuration, RandomPing | RandomPingPong):
        return random_sizes.effort(configuration)
    if isinstance(configuration, PingPong):
        return round_trip(configuration)
    receives = configuration.operation == "receive"  # each waits for more than a round trip before
    return Effort(configuration.message_size, 2.2 if receives else 1, LOOKS if receives else 0)


def _threshold_room(configuration: Threshold) -> Room:  # noqa: ARG001
    return eager_limit.LARGEST, eager_limit.LARGEST


_OPTIONS = (random_sizes.OPTION,)
KERNELS = (
    Kernel(
        "the eager limit, by a send that blocks",
        (Threshold,),
        _plan_threshold,
        _measure_threshold,
        _threshold_room,
        by_default=always,
        effort=_threshold_effort,
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
