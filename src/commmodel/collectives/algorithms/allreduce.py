"""Allreduce: the vectors of n bytes of all processes, combined element by element, end up in every process.

Operators are taken to commute, but for the last one. Sources: Thakur, Rabenseifner and Gropp 2005; Rabenseifner 2004;
the ring is that of Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.
Main entries: `recursive_doubling`, `reduce_scatter_allgather`, `ring`, `reduce_broadcast`.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from commmodel.collectives.algorithms import broadcast, reduce
from commmodel.collectives.algorithms.blocks import border, distances, vector_round
from commmodel.collectives.algorithms.patterns import Fold, halving
from commmodel.collectives.algorithms.registry import register
from commmodel.collectives.schedule import Problem, Round


@register("allreduce", "recursive-doubling")
def recursive_doubling(problem: Problem) -> Iterator[Round]:
    """In round i process r exchanges its vector with r XOR 2^i; P - 2^k processes stand aside meanwhile (MPICH)."""
    problem = replace(problem, root=0)
    fold = Fold(problem.processes)
    yield from reduce.fold_in(problem, fold)
    member = np.arange(fold.power)
    for distance in distances(fold.power):
        sender, receiver = fold.process(member), fold.process(member ^ distance)
        yield vector_round(problem, sender, receiver, 0, problem.message_size, combine=True)
    yield from _unfold(problem, fold)


@register("allreduce", "reduce-scatter-allgather")
def reduce_scatter_allgather(problem: Problem) -> Iterator[Round]:
    """Recursive halving of the vector, then doubling; P - 2^k processes stand aside meanwhile (Rabenseifner 2004)."""
    return _halving_and_doubling(problem, reduce.fold_in)


@register("allreduce", "reduce-scatter-allgather-halves")
def reduce_scatter_allgather_halves(problem: Problem) -> Iterator[Round]:
    """Like reduce-scatter-allgather; each process that stands aside combines half of its vectors first (Open MPI)."""
    return _halving_and_doubling(problem, reduce.fold_in_halves)


def _halving_and_doubling(problem: Problem, fold_in: Callable[[Problem, Fold], Iterator[Round]]) -> Iterator[Round]:
    problem = replace(problem, root=0)
    fold = Fold(problem.processes)
    yield from fold_in(problem, fold)
    halves = list(halving(fold.power))
    for sends, _ in halves:
        yield reduce.hypercube_round(problem, fold, sends, combine=True)
    for _, keeps in reversed(halves):
        yield reduce.hypercube_round(problem, fold, keeps)
    yield from _unfold(problem, fold)


def _unfold(problem: Problem, fold: Fold) -> Iterator[Round]:
    if fold.out.size:
        yield vector_round(problem, fold.home, fold.out, 0, problem.message_size)


@register("allreduce", "ring")
def ring(problem: Problem) -> Iterator[Round]:
    """Blocks are combined around a ring, and go around once more, in 2 (P - 1) rounds (Patarasuk and Yuan 2009)."""
    processes, size = problem.processes, problem.message_size
    rank = np.arange(processes)
    for step in range(2 * (processes - 1)):
        # At step P - 1 rank r has combined block r + 1, the one that it would be the next to send anyway.
        block = (rank - step) % processes
        low, high = border(size, processes, block), border(size, processes, block + 1)
        yield vector_round(problem, rank, (rank + 1) % processes, low, high, combine=step < processes - 1)


@register("allreduce", "linear")
def linear(problem: Problem) -> Iterator[Round]:
    """Every process sends its vector to rank 0, which sends the result to every process (Open MPI)."""
    problem = replace(problem, root=0)
    yield from reduce.linear(problem)
    yield from broadcast.linear(problem)


@register("allreduce", "reduce-broadcast")
def reduce_broadcast(problem: Problem) -> Iterator[Round]:
    """Binomial reduction to rank 0, then binomial broadcast."""
    problem = replace(problem, root=0)
    yield from reduce.binomial(problem)
    yield from broadcast.binomial(problem)


@register("allreduce", "reduce-broadcast-in-order")
def reduce_broadcast_in_order(problem: Problem) -> Iterator[Round]:
    """In-order binary reduction to rank 0, then binomial broadcast: operators need not commute (Open MPI)."""
    problem = replace(problem, root=0)
    yield from reduce.binary_in_order(problem)
    yield from broadcast.binomial(problem)
