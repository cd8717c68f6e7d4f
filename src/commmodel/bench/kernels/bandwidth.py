"""G(P, S): time per byte while P processes communicate in pairs at the same time. Main entry: `KERNELS`.

Source: Iancu and Strohmaier (2007), Section 2.1 and Figures 3 to 5. Pairs are i and i + 1 (nearest neighbour) or i and
i + P / 2 (cross); two processes are the same in both.
"""

from itertools import product
from typing import Literal, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel.bench.kernels.kernel import Effort, Kernel, Room, pair_or_all, sampled, stride, window, window_room
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.errors import MPIEnvironmentError
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Bandwidth

_Pattern = Literal["nearest-neighbour", "cross"]
_Direction = Literal["one-way", "both-ways"]
_DECIMALS = 11  # of samples, as of all kernels


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:
    counts = [count for count in options.procs if count % 2 == 0]
    if options.procs and not counts:
        raise MPIEnvironmentError(
            "--process-counts has no even number of processes, and bandwidth is measured in pairs: ask for 2 or 2:all"
        )
    directions = get_args(_Direction)
    pairs = [
        Bandwidth(size, 2, "nearest-neighbour", direction, path, window(size))
        for size, direction, path in product(options.sizes, directions, placement)
        if 2 in counts
    ]
    more = [
        Bandwidth(size, count, pattern, direction, "any", window(size))
        for size, count, pattern, direction in product(options.sizes, counts, get_args(_Pattern), directions)
        if count > 2
    ]
    return [configuration for configuration in (*pairs, *more) if configuration.message_size]


def _room(configuration: Bandwidth) -> Room:
    return window_room(configuration.message_size)


def _partner(session: Session, pattern: _Pattern) -> tuple[int, bool]:
    """Return the partner of this rank, and whether this rank sends first."""
    if pattern == "cross":
        return session.peer, session.first
    return session.comm.rank ^ 1, session.comm.rank % 2 == 0


def _fastest(session: Session, peer: int, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, on every rank, the time of the fastest pair in each repetition: that of its slower rank."""
    from mpi4py import MPI

    pair, fastest = np.empty_like(seconds), np.empty_like(seconds)
    session.comm.Sendrecv(seconds, peer, recvbuf=pair, source=peer)
    session.comm.Allreduce(np.maximum(pair, seconds), fastest, op=MPI.MIN)
    return fastest


def _measure(session: Session, configuration: Bandwidth) -> Record | None:
    from commmodel._core.mpi import burst, pingpong

    size, count = configuration.message_size, configuration.window
    messages = size, stride(size), count
    peer, first = _partner(session, configuration.pattern)
    fastest: list[NDArray[np.float64]] = []

    def one_way(repetitions: int) -> NDArray[np.float64]:
        buffer = session.send_buffer if first else session.receive_buffer
        return session.timed(pingpong.stream, session.comm, peer, first, buffer, *messages, repetitions) * first

    def both_ways(repetitions: int) -> NDArray[np.float64]:
        buffers = session.send_buffer, session.receive_buffer
        return session.timed(burst.both_ways, session.comm, peer, peer, *buffers, *messages, repetitions)

    def measure(repetitions: int) -> NDArray[np.float64]:
        seconds = (one_way if configuration.direction == "one-way" else both_ways)(repetitions) / count
        fastest.append(_fastest(session, peer, seconds))
        return seconds

    record = sampled(session, configuration, measure)
    if record is None:
        return None
    # Warm-ups came first.
    of_samples = np.concatenate(fastest)[-len(record.samples) :].round(_DECIMALS)
    return msgspec.structs.replace(record, fastest=tuple(of_samples.tolist()))


KERNELS = (
    Kernel(
        "bandwidth of 2, 4, 8, ... processes in pairs, one way and both ways",
        (Bandwidth,),
        _plan,
        _measure,
        _room,
        pair_or_all,
        effort=lambda configuration: Effort(configuration.message_size, configuration.window, by_all=True),
    ),
)
