"""Several pairs of ranks at once: ping-pongs and one-way streams. Main entry: `KERNELS`.

Each repetition of `PAIRS` is begun together and as long as its slowest rank. In a stream windows of messages go in one
direction; a sample is a window's time over its messages.
"""

from collections.abc import Sequence
from itertools import product
from typing import get_args

from commmodel.bench.kernels.kernel import (
    WINDOW,
    Effort,
    Floats,
    Kernel,
    Room,
    exchange_seconds,
    message_room,
    sampled,
    sampled_in_batches,
    stride,
    window,
    window_room,
)
from commmodel.bench.option import Option, number_list
from commmodel.bench.placement import FurtherNodes, NodePairs, Placement, members
from commmodel.bench.session import Session
from commmodel.errors import MPIEnvironmentError
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Contention, MessagePath, Pairs, Stream, StreamBuffers
from commmodel.units import parse_counts


def several_pairs(configuration: Pairs | Stream | Contention, placement: Placement, further: FurtherNodes) -> list[int]:
    """Return the ranks of the first pairs, the same number in each pair of nodes."""
    count = 1 if isinstance(configuration, Contention) else configuration.pairs
    nodes = (placement[configuration.path], *further)[: configuration.node_pairs]
    return members([pair for pairs in nodes for pair in pairs[:count]])


def _on_nodes(configuration: Pairs | Stream, nodes: NodePairs) -> list[int]:
    """Return the requested numbers of pairs of nodes that have enough pairs of ranks; 1 within a node."""
    across = configuration.path == "between-nodes"
    return [count for count, room in nodes.room.items() if count == 1 or (across and configuration.pairs <= room)]


def _counted(options: BenchOptions, placement: Placement) -> list[tuple[MessagePath, int, int]]:
    """Return the path, number of pairs and message size of all multi-pair configurations."""
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


def _plan_pairs(options: BenchOptions, placement: Placement) -> list[Configuration]:
    batch = options.batch or "auto"
    return [Pairs(size, count, path, batch) for path, count, size in _counted(options, placement)]


def _measure_pairs(session: Session, configuration: Pairs) -> Record | None:
    from commmodel._core.mpi import pingpong

    def measure(batch: int, repetitions: int) -> Floats:
        ticks = pingpong.pairs(
            *session.pair, session.send_buffer, session.receive_buffer, configuration.message_size, repetitions, batch,
            session.clock_number, session.touched,
        )  # fmt: skip
        return exchange_seconds(session, ticks) / (2 * batch)

    return sampled_in_batches(session, configuration, measure, configuration.batch)


def _plan_stream(options: BenchOptions, placement: Placement) -> list[Configuration]:
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
    common = *session.pair, buffer, size, apart, count

    def measure(repetitions: int) -> Floats:
        return session.timed(pingpong.stream, *common, repetitions) / count * session.first

    return sampled(session, configuration, measure)


def _stream_room(configuration: Stream) -> Room:
    if configuration.buffers == "one":
        return message_room(configuration)
    return window_room(configuration.message_size)


def _effort(configuration: Pairs | Stream) -> Effort:
    messages = 2 if isinstance(configuration, Pairs) else configuration.window
    sharing = configuration.pairs if configuration.path == "between-nodes" else 1
    return Effort(configuration.message_size * sharing, messages)


def _several(placement: Placement, node_pairs: Sequence[int]) -> bool:
    return max(node_pairs) > 1 or any(len(pairs) > 1 for pairs in placement.values())


def _streams(placement: Placement, node_pairs: Sequence[int]) -> bool:
    return "between-nodes" in placement or _several(placement, node_pairs)


PAIRS = Option("pairs", "numbers of pairs: 1:8, or 1:16:*2", parse_counts, unset="one to all, of device one")
_OPTIONS = (
    PAIRS,
    Option("node_pairs", "numbers of pairs of nodes at once: 1:4 needs 8 nodes", parse_counts, number_list),
)
_BUFFERS = Option(
    "stream_buffers",
    "receive buffers of a window: a buffer for each message, or one for all messages as in OSU's benchmarks",
    choices=(*get_args(StreamBuffers), "both"),
)
KERNELS = (
    Kernel(
        "several blocking ping-pongs at once",
        (Pairs,),
        _plan_pairs,
        _measure_pairs,
        ranks=several_pairs,
        options=_OPTIONS,
        by_default=_several,
        node_pairs=_on_nodes,
        visited=(Pairs,),
        effort=_effort,
    ),
    Kernel(
        "windows of messages in one direction",
        (Stream,),
        _plan_stream,
        _measure_stream,
        _stream_room,
        several_pairs,
        (*_OPTIONS, _BUFFERS),
        by_default=_streams,
        node_pairs=_on_nodes,
        visited=(Stream,),
        effort=_effort,
    ),
)
