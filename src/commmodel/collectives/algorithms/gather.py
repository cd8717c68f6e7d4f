"""Gather and scatter: blocks of n bytes go from every process to the root, or from the root to every process.

The root's own block stays where it is. A process within a tree that passes blocks on is taken to keep them in one
buffer, in the order in which they arrive, so that nothing is copied. Source of the trees: Thakur, Rabenseifner and
Gropp 2005. Main entries: `gather_linear`, `gather_binomial`, `scatter_linear`, `scatter_binomial`.
"""

from collections.abc import Iterator

import numpy as np

from commmodel.collectives.algorithms.blocks import block_round
from commmodel.collectives.algorithms.patterns import binomial_tree, from_root, other_ranks
from commmodel.collectives.algorithms.registry import register
from commmodel.collectives.schedule import Problem, Round


@register("gather", "linear")
def gather_linear(problem: Problem) -> Iterator[Round]:
    """Every process sends its block to the root."""
    sender = other_ranks(problem)
    if sender.size:
        yield block_round(problem, sender, np.full_like(sender, problem.root), sender)


@register("gather", "binomial")
def gather_binomial(problem: Problem) -> Iterator[Round]:
    """Up a binomial tree, the nearest child first; a message carries the blocks of a subtree (MPICH)."""
    for level in binomial_tree(problem.processes):
        child, parent = from_root(problem, level.sender), from_root(problem, level.receiver)
        yield block_round(problem, child, parent, child, level.last - level.first)


@register("scatter", "linear")
def scatter_linear(problem: Problem) -> Iterator[Round]:
    """The root sends every process its block, in the order of their ranks."""
    receiver = other_ranks(problem)
    if receiver.size:
        yield block_round(problem, np.full_like(receiver, problem.root), receiver, receiver)


@register("scatter", "binomial")
def scatter_binomial(problem: Problem) -> Iterator[Round]:
    """Down a binomial tree, the farthest child first; a message carries the blocks of a subtree (MPICH)."""
    for level in reversed(binomial_tree(problem.processes)):
        parent, child = from_root(problem, level.receiver), from_root(problem, level.sender)
        yield block_round(problem, parent, child, child, level.last - level.first)
