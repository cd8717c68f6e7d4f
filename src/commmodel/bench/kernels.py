"""What can be measured: a registry of kernels. Main entry: `REGISTRY`.

A kernel plans its configurations and measures one of them. A new kernel is a loop in `_core`, a configuration in
`results` and an entry here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from commmodel.bench import threshold
from commmodel.bench.placement import Placement
from commmodel.bench.sampling import Measure, sample
from commmodel.bench.session import Session
from commmodel.errors import MPIEnvironmentError
from commmodel.results import (
    Batch,
    Configuration,
    MessagePath,
    Options,
    Pairs,
    Ping,
    PingPong,
    Record,
    Stream,
    Threshold,
)

__all__ = ["REGISTRY", "Kernel", "pair_count", "receive_bytes", "send_bytes", "sensible_kernels"]


@dataclass(frozen=True)
class Kernel:
    """One thing that can be measured.

    Attributes
    ----------
    summary : str
        One line for the help.
    plan : callable
        (options, placement) -> configurations, in any order.
    measure : callable
        (session, configuration) -> record on the root, None elsewhere. Called by all ranks that take part.
    """

    summary: str
    plan: Callable[[Options, Placement], list[Configuration]]
    measure: Callable[[Session, Any], Record | None]


def sensible_kernels(placement: Placement) -> tuple[str, ...]:
    """Return what to measure where no kernel is named.

    Everything, but no pairs where one pair is all there is, and no streams where it is within a node, either.
    """
    several = any(len(pairs) > 1 for pairs in placement.values())
    pointless = set() if several else {"pairs"} if "between-nodes" in placement else {"pairs", "stream"}
    return tuple(name for name in REGISTRY if name not in pointless)


def pair_count(configuration: Configuration) -> int:
    """Return how many pairs of ranks take part."""
    return configuration.pairs if isinstance(configuration, Pairs | Stream) else 1


def send_bytes(options: Options) -> int:
    """Return the size that send buffers need."""
    return max(*options.sizes, threshold.LARGEST if "threshold" in options.kernels else 1)


def receive_bytes(options: Options) -> int:
    """Return the size that receive buffers need: all messages of a window are there at once."""
    windows = (_window(size) * _stride(size) for size in options.sizes if "stream" in options.kernels)
    return max(send_bytes(options), *windows, 1)


def _sampled(session: Session, configuration: Configuration, measure: Measure, batch: Batch = 1) -> Record | None:
    found = sample(session, measure, batch)
    if not session.is_root:
        return None
    return Record(configuration, "s", found.samples, stop=found.stop, batch=found.batch, warmup=found.warmup)


# Ping-pong: the samples are half round trips of the rank that sends first.


def _plan_pingpong(options: Options, placement: Placement) -> list[Configuration]:
    batch = options.batch or 1
    return [PingPong(size, path, batch) for path, size in product(placement, options.sizes)]


def _measure_pingpong(session: Session, configuration: PingPong) -> Record | None:
    def measure(batch: int, repetitions: int) -> NDArray[np.float64]:
        return _round_trips(session, configuration.message_size, batch, repetitions) * session.first

    return _sampled(session, configuration, measure, configuration.batch)


def _round_trips(session: Session, size: int, batch: int, repetitions: int) -> NDArray[np.float64]:
    from commmodel._core import pingpong

    ticks = pingpong.pingpong(
        session.comm, session.peer, session.first, session.send_buffer, session.receive_buffer,
        size, repetitions, batch, session.clock_number,
    )  # fmt: skip
    return session.seconds(ticks) / (2 * batch)


# Pairs: several ping-pongs at once, each repetition begun together and as long as its slowest rank.


def _counted(options: Options, placement: Placement) -> list[tuple[MessagePath, int, int]]:
    """Return path, number of pairs and message size of everything that several pairs do."""
    most = max(map(len, placement.values()))
    counts = options.pairs or range(1, most + 1)
    if max(counts) > most:
        raise MPIEnvironmentError(
            f"--pairs asks for {max(counts)} pairs, but there are {most}: start more ranks, or ask for 1:{most}"
        )
    return [
        (path, count, size)
        for (path, pairs), count, size in product(placement.items(), counts, options.sizes)
        if count <= len(pairs)
    ]


def _plan_pairs(options: Options, placement: Placement) -> list[Configuration]:
    batch = options.batch or "auto"
    return [Pairs(size, count, path, batch) for path, count, size in _counted(options, placement)]


def _measure_pairs(session: Session, configuration: Pairs) -> Record | None:
    from commmodel._core import pingpong

    def measure(batch: int, repetitions: int) -> NDArray[np.float64]:
        ticks = pingpong.pairs(
            session.comm, session.peer, session.first, session.send_buffer, session.receive_buffer,
            configuration.message_size, repetitions, batch, session.clock_number,
        )  # fmt: skip
        return session.seconds(ticks) / (2 * batch)

    return _sampled(session, configuration, measure, configuration.batch)


# Stream: several windows of messages at once, all in one direction; a sample is a window's time over its messages.

_WINDOW = 64  # as OSU's and most other bandwidth tests have it
_WINDOW_BYTES = 16 << 20  # takes about a thousand times as long as the answer after it, at 10 GB/s and 1.5 us
_LINE = 64  # messages of a window arrive in different cache lines


def _window(size: int) -> int:
    """Return how many messages a window has: a function of the size alone, so that --resume finds the same."""
    return max(1, min(_WINDOW, _WINDOW_BYTES // max(size, 1)))


def _stride(size: int) -> int:
    return -(-size // _LINE) * _LINE


def _plan_stream(options: Options, placement: Placement) -> list[Configuration]:
    return [Stream(size, count, path, _window(size)) for path, count, size in _counted(options, placement)]


def _measure_stream(session: Session, configuration: Stream) -> Record | None:
    from commmodel._core import pingpong

    size, window = configuration.message_size, configuration.window
    buffer = session.send_buffer if session.first else session.receive_buffer

    def measure(batch: int, repetitions: int) -> NDArray[np.float64]:  # noqa: ARG001
        ticks = pingpong.stream(
            session.comm, session.peer, session.first, buffer, size, _stride(size), window,
            repetitions, session.clock_number,
        )  # fmt: skip
        return session.seconds(ticks) / window * session.first

    return _sampled(session, configuration, measure)


# Ping: the time inside MPI_Send, and inside MPI_Recv, while the other side is ready.

_PAUSE_SAMPLES = 5
_PAUSE_ROUND_TRIPS = 1.2  # as Kielmann et al. wait for a message to arrive before they time its receive


_OPERATIONS: tuple[Literal["send", "receive"], ...] = ("send", "receive")


def _plan_ping(options: Options, placement: Placement) -> list[Configuration]:
    return [Ping(size, operation, path) for path, size, operation in product(placement, options.sizes, _OPERATIONS)]


def _measure_ping(session: Session, configuration: Ping) -> Record | None:
    from commmodel._core import pingpong

    size = configuration.message_size
    common = (session.comm, session.peer, session.first, session.send_buffer, size)
    if configuration.operation == "send":

        def measure(batch: int, repetitions: int) -> NDArray[np.float64]:  # noqa: ARG001
            ticks = pingpong.ping_send(*common, repetitions, session.clock_number)
            return session.seconds(ticks) * session.first

    else:
        one_way = session.comm.bcast(float(np.median(_round_trips(session, size, 1, _PAUSE_SAMPLES))))
        pause = session.ticks(_PAUSE_ROUND_TRIPS * 2 * one_way)

        def measure(batch: int, repetitions: int) -> NDArray[np.float64]:  # noqa: ARG001
            ticks = pingpong.ping_receive(*common, repetitions, pause, session.clock_number)
            return session.seconds(ticks) * (not session.first)

    return _sampled(session, configuration, measure)


# Threshold: the eager limit.


def _plan_threshold(options: Options, placement: Placement) -> list[Configuration]:  # noqa: ARG001
    return [Threshold(path) for path in placement]


def _measure_threshold(session: Session, configuration: Threshold) -> Record | None:
    limit, above = threshold.search(session, partial(threshold.send_blocks, session))
    if not session.is_root:
        return None
    return Record(configuration, "B", (float(limit),), bracket=(limit, above))


REGISTRY: dict[str, Kernel] = {
    "threshold": Kernel("the eager limit, by a send that blocks", _plan_threshold, _measure_threshold),
    "pingpong": Kernel("blocking ping-pong of one pair", _plan_pingpong, _measure_pingpong),
    "ping": Kernel("time inside MPI_Send and inside MPI_Recv", _plan_ping, _measure_ping),
    "pairs": Kernel("several blocking ping-pongs at once", _plan_pairs, _measure_pairs),
    "stream": Kernel("windows of messages in one direction", _plan_stream, _measure_stream),
}
