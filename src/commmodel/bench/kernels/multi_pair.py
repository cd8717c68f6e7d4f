"""Several pairs of ranks at once: ping-pongs and one-way streams. Main entries: `PAIRS`, `STREAM`, `on_several_nodes`.

Each repetition of `PAIRS` is begun together and as long as its slowest rank. In a stream windows of messages go in one
direction; a sample is a window's time over its messages.
"""

from collections.abc import Iterable
from itertools import product
from typing import get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel.bench.kernels.kernel import WINDOW, Kernel, Room, message_room, sampled, stride, window, window_room
from commmodel.bench.placement import FurtherNodes, Placement
from commmodel.bench.session import Session
from commmodel.errors import MPIEnvironmentError
from commmodel.results import Configuration, Contention, MessagePath, Options, Pairs, Record, Stream, StreamBuffers

__all__ = ["PAIRS", "STREAM", "on_several_nodes"]


def on_several_nodes(
    plan: Iterable[Configuration], options: Options, placement: Placement, further: FurtherNodes
) -> list[Configuration]:
    """Return the plan, with what several pairs of ranks do for each number of pairs of nodes that was asked for.

    Within a node that number is one. A number of pairs that one of the pairs of nodes does not have is left out.
    Contention is measured on 1, 2, 4, ... and all pairs of nodes.
    """
    most, asked = len(further) + ("between-nodes" in placement), max(options.node_pairs)
    if asked > max(most, 1):
        raise MPIEnvironmentError(
            f"--node-pairs asks for {asked} pairs of hosts, but there are {most}: "
            f"start ranks on {2 * asked} hosts, or ask for at most {max(most, 1)}"
        )
    across = (placement.get("between-nodes", ()), *further)
    room = {count: min(map(len, across[:count])) for count in options.node_pairs}
    if asked > 1 and room[asked] < min(options.pairs or (1,)):
        raise MPIEnvironmentError(
            f"--node-pairs: one of {asked} pairs of hosts has only {room[asked]} of the {min(options.pairs or (1,))} "
            "pairs that --pairs asks for: start as many ranks on every host"
        )
    spread: list[Configuration] = []
    for one in plan:
        if isinstance(one, Pairs | Stream):
            spread += [
                msgspec.structs.replace(one, node_pairs=count)
                for count in options.node_pairs
                if count == 1 or (one.path == "between-nodes" and one.pairs <= room[count])
            ]
        elif isinstance(one, Contention) and one.path == "between-nodes":
            spread += [msgspec.structs.replace(one, node_pairs=count) for count in _doubling(most)]
        else:
            spread.append(one)
    return spread


def _doubling(most: int) -> list[int]:
    """Return 1, 2, 4, ... and the most."""
    return sorted({most, *(1 << step for step in range(most.bit_length()))})


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
    from commmodel._core.mpi import pingpong

    def measure(batch: int, repetitions: int) -> NDArray[np.float64]:
        ticks = pingpong.pairs(
            session.comm, session.peer, session.first, session.send_buffer, session.receive_buffer,
            configuration.message_size, repetitions, batch, session.clock_number,
        )  # fmt: skip
        return session.seconds(ticks) / (2 * batch)

    return sampled(session, configuration, measure, configuration.batch)


def _plan_stream(options: Options, placement: Placement) -> list[Configuration]:
    buffers = get_args(StreamBuffers) if options.stream_buffers == "both" else (options.stream_buffers,)
    return [
        Stream(size, count, path, window(size) if where == "each" else WINDOW, buffers=where)
        for (path, count, size), where in product(_counted(options, placement), buffers)
    ]


def _measure_stream(session: Session, configuration: Stream) -> Record | None:
    from commmodel._core.mpi import pingpong

    size, count = configuration.message_size, configuration.window
    buffer = session.send_buffer if session.first else session.receive_buffer
    apart = stride(size) if configuration.buffers == "each" else 0

    def measure(batch: int, repetitions: int) -> NDArray[np.float64]:  # noqa: ARG001
        ticks = pingpong.stream(
            session.comm, session.peer, session.first, buffer, size, apart, count,
            repetitions, session.clock_number,
        )  # fmt: skip
        return session.seconds(ticks) / count * session.first

    return sampled(session, configuration, measure)


def _stream_room(configuration: Stream) -> Room:
    if configuration.buffers == "one":
        return message_room(configuration)
    return configuration.message_size, window_room(configuration.message_size)


PAIRS = Kernel("several blocking ping-pongs at once", _plan_pairs, _measure_pairs, visits=True)
STREAM = Kernel("windows of messages in one direction", _plan_stream, _measure_stream, _stream_room, visits=True)
