"""One pair of ranks: ping-pong, the two halves of a ping, and the eager limit. Main entries: `PINGPONG`, `PING`.

The samples of a ping-pong are half round trips of the rank that sends first; those of a ping are the time inside
MPI_Send, and inside MPI_Recv, while the other side is ready.
"""

from functools import partial
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from commmodel.bench import threshold
from commmodel.bench.kernels import random_sizes
from commmodel.bench.kernels.common import Kernel, Room, message_room, pause_ticks, sampled
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.results import Configuration, Options, Ping, PingPong, RandomPing, RandomPingPong, Record, Threshold

__all__ = ["PING", "PINGPONG", "THRESHOLD"]


def _plan_pingpong(options: Options, placement: Placement) -> list[Configuration]:
    if options.random_sizes:
        return [*random_sizes.plan_pingpong(options, placement)]
    batch = options.batch or 1
    return [PingPong(size, path, batch) for path, size in product(placement, options.sizes)]


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
    from commmodel._core import pingpong

    ticks = pingpong.pingpong(
        session.comm, session.peer, session.first, session.send_buffer, session.receive_buffer,
        size, repetitions, batch, session.clock_number,
    )  # fmt: skip
    return session.seconds(ticks) / (2 * batch)


_OPERATIONS: tuple[Literal["send", "receive"], ...] = ("send", "receive")


def _plan_ping(options: Options, placement: Placement) -> list[Configuration]:
    if options.random_sizes:
        return [*random_sizes.plan_ping(options, placement)]
    return [Ping(size, operation, path) for path, size, operation in product(placement, options.sizes, _OPERATIONS)]


def _measure_ping(session: Session, configuration: Ping | RandomPing) -> Record | None:
    if isinstance(configuration, RandomPing):
        return random_sizes.measure_ping(session, configuration)
    from commmodel._core import pingpong

    size = configuration.message_size
    common = (session.comm, session.peer, session.first, session.send_buffer, size)
    if configuration.operation == "send":

        def measure(batch: int, repetitions: int) -> NDArray[np.float64]:  # noqa: ARG001
            ticks = pingpong.ping_send(*common, repetitions, session.clock_number)
            return session.seconds(ticks) * session.first

    else:
        pause = pause_ticks(session, lambda repetitions: 2 * _round_trips(session, size, 1, repetitions))

        def measure(batch: int, repetitions: int) -> NDArray[np.float64]:  # noqa: ARG001
            ticks = pingpong.ping_receive(*common, repetitions, pause, session.clock_number)
            return session.seconds(ticks) * (not session.first)

    return sampled(session, configuration, measure)


def _plan_threshold(options: Options, placement: Placement) -> list[Configuration]:  # noqa: ARG001
    return [Threshold(path) for path in placement]


def _measure_threshold(session: Session, configuration: Threshold) -> Record | None:
    limit, above = threshold.search(session, partial(threshold.send_blocks, session))
    if not session.is_root:
        return None
    return Record(configuration, "B", (float(limit),), bracket=(limit, above))


def _threshold_room(configuration: Threshold) -> Room:  # noqa: ARG001
    return threshold.LARGEST, threshold.LARGEST


THRESHOLD = Kernel("the eager limit, by a send that blocks", _plan_threshold, _measure_threshold, _threshold_room)
PINGPONG = Kernel("blocking ping-pong of one pair", _plan_pingpong, _measure_pingpong, _room)
PING = Kernel("time inside MPI_Send and inside MPI_Recv", _plan_ping, _measure_ping, _room)
