"""Ping-pongs between every two nodes: a tournament of disjoint pairs in random order. Main entry: `KERNELS`.

In each round all nodes take part, each with one other, so that 256 nodes need 255 rounds. One rank of a node plays;
within a node, the ranks of the pairs. `commmodel.scaling.slow_nodes` says which node or link is slow.
"""

import numpy as np

from commmodel.bench.kernels.kernel import Effort, Kernel
from commmodel.bench.placement import FurtherNodes, Placement, members
from commmodel.bench.session import Session
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import NodeMatrix
from commmodel.results.tournament import players, rounds

SMALL, LARGE = 8, 1 << 20
"""Bytes whose time is that of the way, and that of the bytes."""
ROUND_SECONDS = 10e-3
"""Of a round, at least."""
FEWEST_REPETITIONS, MOST_REPETITIONS = 5, 50
"""Of a round."""
_LOW = 0.25
"""Quantile of the repetitions: a slow link slows all of them, another program some."""


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:
    path = "between-nodes" if "between-nodes" in placement else next(iter(placement))
    sizes = {max(1, min(size, max(options.sizes))) for size in (SMALL, LARGE)}
    return [NodeMatrix(size, path) for size in sorted(sizes)]


def _ranks(configuration: NodeMatrix, placement: Placement, further: FurtherNodes) -> list[int]:
    return members(players(configuration.path, placement, further))


def _measure(session: Session, configuration: NodeMatrix) -> Record | None:
    from commmodel._core.mpi import pingpong

    comm, count = session.comm, session.comm.size
    half = count // 2
    player = 2 * comm.rank if session.first else 2 * (comm.rank - half) + 1
    times = np.full((count, count), np.nan)

    def seconds(opponent: int, repetitions: int) -> float:
        peer = opponent // 2 + half * (opponent % 2)
        ticks = pingpong.pairs(
            comm, peer, player < opponent, session.send_buffer, session.receive_buffer, configuration.message_size,
            repetitions, 1, session.clock_number, False,
        )  # fmt: skip
        return float(np.quantile(session.seconds(ticks), _LOW)) / 2

    order = np.random.default_rng(session.options.seed).permutation(count - 1)
    tournament = rounds(count)
    for number in order.tolist():
        opponent = int(tournament[number, player])
        longest = max(comm.allgather(seconds(opponent, 1)))
        repetitions = int(np.clip(ROUND_SECONDS / max(longest, 1e-9), FEWEST_REPETITIONS, MOST_REPETITIONS))
        times[player, opponent] = seconds(opponent, repetitions)
    gathered = comm.gather(times[player])
    if not session.is_root or gathered is None:
        return None
    together = np.empty((count, count))
    for rank, row in enumerate(gathered):
        together[2 * rank if rank < half else 2 * (rank - half) + 1] = row
    samples = together[np.triu_indices(count, 1)]
    return Record(configuration, "s", tuple(samples.tolist()), stop="repetitions")


KERNELS = (
    Kernel(
        "ping-pongs between every two nodes, a tournament of disjoint pairs",
        (NodeMatrix,),
        _plan,
        _measure,
        ranks=_ranks,
        visited=(NodeMatrix,),
        effort=lambda configuration: Effort(configuration.message_size, 2, sampled=False),
    ),
)
