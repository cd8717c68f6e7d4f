"""Bandwidth of simultaneous transfers: on the link of a node, and between pairs of nodes. Main entry: `KERNELS`.

Source: Bédaride et al. (2013), Section IV-B. Large messages go one way, and both ways at once as MPI_Sendrecv sends
them; the ratio of their rates is by how much a node's link holds more than one direction, 1 to 2. More and more pairs
of nodes do the same at once: where that slows them, what joins them limits. On four nodes, each sends to one and
receives from another, too: there no two wait for one another's answers.
"""

from typing import get_args

from commmodel.bench.kernels.kernel import Effort, Floats, Kernel, sampled
from commmodel.bench.kernels.multi_pair import several_pairs
from commmodel.bench.placement import NodePairs, Placement
from commmodel.bench.session import Session
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Contention, Direction

_LARGE = 4 << 20
"""Bytes; as in the paper: its time is that of its bytes."""


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:
    size = max(1, min(_LARGE, max(options.sizes)))
    return [Contention(size, direction, path) for path in placement for direction in get_args(Direction)]


def _on_nodes(configuration: Contention, nodes: NodePairs) -> list[int]:
    """Return 1, 2, 4, ... and all pairs of nodes; within a node 1. A ring takes two pairs, where there are so many."""
    across = configuration.path == "between-nodes"
    if configuration.direction == "ring":
        return [2] if across and nodes.most > 1 else []
    if not across:
        return [1]
    return sorted({nodes.most, *(1 << step for step in range(nodes.most.bit_length()))})


def _measure(session: Session, configuration: Contention) -> Record | None:
    from commmodel._core.mpi import burst, pingpong

    size = configuration.message_size

    def one_way(repetitions: int) -> Floats:
        buffer = session.send_buffer if session.first else session.receive_buffer
        return session.timed(pingpong.stream, *session.pair, buffer, size, size, 1, repetitions) * session.first

    rank, count = session.comm.rank, session.comm.size
    is_ring = configuration.direction == "ring"
    receiver, sender = ((rank + 1) % count, (rank - 1) % count) if is_ring else (session.peer, session.peer)

    def both_ways(repetitions: int) -> Floats:
        buffers = session.send_buffer, session.receive_buffer
        return session.timed(burst.both_ways, session.comm, receiver, sender, *buffers, size, size, 1, repetitions)

    return sampled(session, configuration, one_way if configuration.direction == "one-way" else both_ways)


KERNELS = (
    Kernel(
        "large transfers one way and both ways at once, of more and more pairs of nodes",
        (Contention,),
        _plan,
        _measure,
        ranks=several_pairs,
        node_pairs=_on_nodes,
        effort=lambda configuration: Effort(configuration.message_size),
        decides=True,
    ),
)
