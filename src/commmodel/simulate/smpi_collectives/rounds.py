"""Collectives of SMPI as rounds of all ranks, where they consist of rounds: quick for thousands of ranks.

Where ours are the same they are ours. The others differ in these things: a ring allgather goes to each process itself;
processes that stand aside hand their data to the next process, not the one before; Rabenseifner's blocks are of equally
many elements, but for the last, which has the rest; rings leave a rest to a second allreduce; reductions are linear.
Main entry: `ROUNDS`.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from commmodel.collectives.algorithms import allgather, alltoall, barrier, broadcast, gather, reduce
from commmodel.collectives.algorithms.blocks import distances
from commmodel.collectives.algorithms.patterns import Fold, doubling, halving
from commmodel.collectives.library.smpi_selection import DEFAULT
from commmodel.collectives.schedule import Problem, Round, Scheduler, messages_at_once
from commmodel.simulate.smpi_collectives.tables import pick, tables

ELEMENT = 8
"""Bytes of what is reduced: an MPI_DOUBLE."""
PAIRWISE_ABOVE = 524288
"""Elements above which a reduce_scatter of unequal blocks goes pairwise."""
SizedScheduler = Callable[[NDArray[np.float64]], Iterator[Round]]
"""What makes the rounds of an algorithm for blocks of any sizes."""


def scattering(algorithm: Scheduler) -> Scheduler:
    """Return an algorithm that scatters first, without empty messages in that part."""

    def scheduler(problem: Problem) -> Iterator[Round]:
        levels = (problem.processes - 1).bit_length()
        for number, round_ in enumerate(algorithm(problem)):
            full = round_.size > 0
            if number < levels and not full.all():
                yield Round(round_.sender[full], round_.receiver[full], round_.size[full])
            else:
                yield round_

    return scheduler


def reduce_broadcast(problem: Problem) -> Iterator[Round]:
    """Every rank sends to rank 0, which broadcasts down a binomial tree."""
    problem = replace(problem, root=0)
    yield from reduce.linear(problem)
    yield from broadcast.binomial(problem)


def _folded(problem: Problem, inner: Callable[[Problem, Fold], Iterator[Round]]) -> Iterator[Round]:
    """Yield rounds of members, between rounds in which even processes pass their data and receive the result."""
    fold = Fold(problem.processes, odd_stays=True)
    size = np.full(fold.home.size, problem.message_size)
    if size.size:
        yield Round(fold.out, fold.home, size)
    yield from inner(problem, fold)
    if size.size:
        yield Round(fold.home, fold.out, size)


def recursive_doubling(problem: Problem) -> Iterator[Round]:
    """In round i member m exchanges its vector with m XOR 2^i."""
    return _folded(problem, _doubled)


def _doubled(problem: Problem, fold: Fold) -> Iterator[Round]:
    member = np.arange(fold.power)
    size = np.full(fold.power, problem.message_size)
    for distance in distances(fold.power):
        yield Round(fold.process(member), fold.process(member ^ distance), size)


@cache
def reduce_scatter_allgather(element: int) -> Scheduler:
    """Return recursive halving of the vector, then doubling; the last block has the remaining elements."""
    return lambda problem: _folded(problem, partial(_halved, element))


def _halved(element: int, problem: Problem, fold: Fold) -> Iterator[Round]:
    share = problem.message_size // element // fold.power * element
    borders = np.append(np.arange(fold.power) * share, problem.message_size)
    halves = list(halving(fold.power))
    for exchange in [*(sends for sends, _ in halves), *(keeps for _, keeps in reversed(halves))]:
        yield Round(
            fold.process(exchange.sender),
            fold.process(exchange.receiver),
            borders[exchange.last] - borders[exchange.first],
        )


def _ring(problem: Problem) -> Iterator[Round]:
    """Equal blocks go around a ring twice; the remainder, or a short vector, uses the default algorithm."""
    processes = problem.processes
    share = problem.message_size // ELEMENT // processes * ELEMENT
    rank = np.arange(processes)
    if share:
        for _ in range(2 * (processes - 1)):
            yield Round(rank, (rank + 1) % processes, np.full(processes, share))
    rest = problem.message_size - share * processes
    if rest or not share:
        yield from reduce_broadcast(replace(problem, message_size=rest))


def descending(problem: Problem) -> Iterator[Round]:
    """All sends and receives of an alltoall at once; process r begins with r - 1, r - 2 and so on."""
    return alltoall.at_once(problem, -1)


def _scan(problem: Problem) -> Iterator[Round]:
    """Every rank sends its vector to all higher ranks at once."""
    messages_at_once(problem.processes * (problem.processes - 1) // 2)
    sender, receiver = np.triu_indices(problem.processes, 1)
    yield Round(sender, receiver, np.full(sender.size, problem.message_size))


def alltoall_by_tables(problem: Problem) -> Iterator[Round]:
    """Bruck, pair by pair, or all at once, as the tables of Open MPI's coll/tuned say.

    Where processes make no pairs, SMPI ends with an exception, and all goes at once here.
    """
    processes = problem.processes
    name = pick(tables()["ompi"]["alltoall"], processes, problem.message_size)
    if name == "pair" and processes & (processes - 1):
        name = "basic_linear"
    return iter(ROUNDS["alltoall"][name](problem))


def reduce_and_scatter(sizes: NDArray[np.float64]) -> Iterator[Round]:
    """A linear reduction to rank 0, which scatters the blocks."""
    processes = sizes.size
    yield from reduce.linear(Problem(processes, int(sizes.sum())))
    if processes > 1:
        receivers = np.arange(1, processes)
        yield Round(np.zeros_like(receivers), receivers, sizes[1:].astype(np.int64))


def reduce_scatter_pairwise(sizes: NDArray[np.float64]) -> Iterator[Round]:
    """In round i process r sends its part of the block of r + i to it."""
    rank = np.arange(sizes.size)
    for step in range(1, sizes.size):
        receiver = (rank + step) % sizes.size
        yield Round(rank, receiver, sizes[receiver].astype(np.int64))


def reduce_scatter_doubling(sizes: NDArray[np.float64]) -> Iterator[Round]:
    """Recursive doubling for operations that do not commute, of blocks of any size, as in MPICH.

    In round i processes r and r XOR 2^i exchange all blocks but those of their groups of 2^i.
    """
    before = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    for exchange in doubling(sizes.size):
        size = before[-1] - before[exchange.last] + before[exchange.first]
        yield Round(exchange.sender, exchange.receiver, size)


ROUNDS: dict[str, dict[str, Scheduler]] = {
    "barrier": {DEFAULT: barrier.linear},
    "bcast": {
        DEFAULT: broadcast.binomial,
        "binomial_tree": broadcast.binomial,
        "flattree": broadcast.linear,
        "scatter_rdb_allgather": scattering(broadcast.scatter_recursive_doubling),
        "scatter_LR_allgather": scattering(broadcast.scatter_ring),
    },
    "reduce": {DEFAULT: reduce.linear},
    "allreduce": {
        DEFAULT: reduce_broadcast,
        "redbcast": reduce_broadcast,
        "rdb": recursive_doubling,
        "rab_rdb": reduce_scatter_allgather(ELEMENT),
        "lr": _ring,
    },
    "gather": {DEFAULT: gather.gather_linear},
    "scatter": {DEFAULT: gather.scatter_linear},
    "allgather": {
        DEFAULT: alltoall.linear,
        "ring": alltoall.pairwise,
        "rdb": allgather.recursive_doubling,
        "bruck": allgather.bruck,
    },
    "alltoall": {
        DEFAULT: alltoall_by_tables,
        "pair": alltoall.pairwise_xor,
        "ring": alltoall.pairwise,
        "bruck": alltoall.bruck,
        "basic_linear": descending,
    },
    "scan": {DEFAULT: _scan},
}
"""Operation -> name in SMPI -> function that makes its rounds, of all ranks at once."""
