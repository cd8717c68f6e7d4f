"""Reduce_scatter_block: vectors of P blocks of n bytes, combined element by element; each process gets its block.

The operation is taken to be commutative. Source: Thakur, Rabenseifner and Gropp, "Optimization of collective
communication operations in MPICH", 2005. Main entries: `recursive_halving`, `pairwise`, `ring`.
"""

from collections.abc import Iterator

import numpy as np

from commmodel.collectives.algorithms.blocks import block_round
from commmodel.collectives.algorithms.patterns import Fold
from commmodel.collectives.algorithms.registry import register
from commmodel.collectives.schedule import Problem, Round

__all__ = ["pairwise", "recursive_halving", "ring"]


@register("reduce_scatter_block", "recursive-halving")
def recursive_halving(problem: Problem) -> Iterator[Round]:
    """Halves of the vector go to r XOR 2^i, the farthest first; P - 2^k processes stand aside meanwhile (MPICH)."""
    processes = problem.processes
    fold = Fold(processes)
    out, home = fold.out, fold.home
    if out.size:
        yield block_round(problem, out, home, np.zeros_like(out), processes, combine=True)
    member = np.arange(fold.power)
    half = fold.power // 2
    while half:
        partner = member ^ half
        group = partner - partner % half
        first, last = fold.process(group), fold.process(group + half)
        yield block_round(problem, fold.process(member), fold.process(partner), first, last - first, combine=True)
        half //= 2
    if out.size:
        yield block_round(problem, home, out, out)


@register("reduce_scatter_block", "pairwise")
def pairwise(problem: Problem) -> Iterator[Round]:
    """In step i process r sends r + i the block that is its, and combines one from r - i, in P - 1 rounds (MPICH)."""
    processes = problem.processes
    rank = np.arange(processes)
    for step in range(1, processes):
        receiver = (rank + step) % processes
        yield block_round(problem, rank, receiver, receiver, combine=True)


@register("reduce_scatter_block", "ring")
def ring(problem: Problem) -> Iterator[Round]:
    """Each block goes once around a ring and is combined on its way, in P - 1 rounds (Patarasuk and Yuan 2009)."""
    processes = problem.processes
    rank = np.arange(processes)
    for step in range(1, processes):
        yield block_round(problem, rank, (rank + 1) % processes, (rank - step) % processes, combine=True)
