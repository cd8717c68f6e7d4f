"""Broadcast: the root's vector of n bytes reaches every process.

Trees send the whole vector, or segments of it one after the other. The two that scatter first send n bytes from the
root in all, and then let everybody collect (van de Geijn's algorithm; Thakur, Rabenseifner and Gropp 2005).
Main entries: `linear`, `binomial`, `binomial_at_once`, `binary`, `chain`, `scatter_recursive_doubling`,
`scatter_ring`.
"""

from collections.abc import Iterator

import numpy as np

from commmodel.collectives.algorithms.blocks import border, vector_round
from commmodel.collectives.algorithms.patterns import (
    BlockExchange,
    binomial_tree,
    doubling,
    from_root,
    other_ranks,
    pipeline,
)
from commmodel.collectives.algorithms.registry import register
from commmodel.collectives.schedule import Problem, Round


@register("bcast", "linear")
def linear(problem: Problem) -> Iterator[Round]:
    """The root sends the vector to every process, in the order of their ranks."""
    receivers = other_ranks(problem)
    if receivers.size:
        yield vector_round(problem, np.full_like(receivers, problem.root), receivers, 0, problem.message_size)


@register("bcast", "binomial")
def binomial(problem: Problem) -> Iterator[Round]:
    """Down a binomial tree, the farthest child first, which has the largest subtree, in ⌈log₂P⌉ rounds (MPICH)."""
    for level in reversed(binomial_tree(problem.processes)):
        parent, child = from_root(problem, level.receiver), from_root(problem, level.sender)
        yield vector_round(problem, parent, child, 0, problem.message_size)


@register("bcast", "binomial-at-once")
def binomial_at_once(problem: Problem) -> Iterator[Round]:
    """Down a binomial tree, to all children at once, the one with the largest subtree first (Open MPI)."""
    child = np.arange(1, problem.processes)
    level = np.frexp(child)[1] - 1  # of the highest bit: a child's number is its parent's with one bit more above
    parent = child - (1 << level)
    depth = np.zeros(1, dtype=np.int64)  # how many bits a number has
    while depth.size < problem.processes:
        depth = np.concatenate([depth, depth + 1])
    for above in range(int(depth[parent].max(initial=-1)) + 1):
        chosen = depth[parent] == above
        senders, receivers = from_root(problem, parent[chosen]), from_root(problem, child[chosen])
        yield vector_round(problem, senders, receivers, 0, problem.message_size)


@register("bcast", "binary")
def binary(problem: Problem) -> Iterator[Round]:
    """Down a binary tree, filled level by level, segment by segment where a segment size is given (Open MPI)."""
    return _down(problem, 2)


@register("bcast", "chain")
def chain(problem: Problem) -> Iterator[Round]:
    """From each process to the next, segment by segment where a segment size is given: a pipeline (Open MPI)."""
    return _down(problem, 1)


def _down(problem: Problem, children: int) -> Iterator[Round]:
    """Yield the rounds down a tree: a segment received in one round is passed on in the next."""
    for hops in pipeline(problem, children):
        above, below = from_root(problem, hops.parent), from_root(problem, hops.child)
        yield vector_round(problem, above, below, hops.low, hops.high)


@register("bcast", "scatter-recursive-doubling")
def scatter_recursive_doubling(problem: Problem) -> Iterator[Round]:
    """Scatter down a binomial tree, then collect by recursive doubling; any P, by forwarding as in MPICH."""
    yield from _scatter(problem)
    for exchange in doubling(problem.processes):
        yield _blocks(problem, exchange)


@register("bcast", "scatter-ring")
def scatter_ring(problem: Problem) -> Iterator[Round]:
    """Scatter down a binomial tree, then collect around a ring in P - 1 rounds (MPICH's choice for long vectors)."""
    yield from _scatter(problem)
    processes = problem.processes
    process = np.arange(processes)
    for step in range(processes - 1):
        block = (process - step) % processes
        yield _blocks(problem, BlockExchange(process, process + 1, block, block + 1))


def _scatter(problem: Problem) -> Iterator[Round]:
    blocks = -(-problem.message_size // max(1, -(-problem.message_size // problem.processes)))  # that have bytes
    for level in reversed(binomial_tree(problem.processes)):
        some = level.first < blocks
        if some.any():
            columns = (level.receiver, level.sender, level.first, level.last)
            yield _blocks(problem, BlockExchange(*(column[some] for column in columns)))


def _blocks(problem: Problem, exchange: BlockExchange) -> Round:
    """Return a round that carries blocks of the vector, numbered from the root's."""
    sender, receiver = from_root(problem, exchange.sender), from_root(problem, exchange.receiver)
    low, high = (border(problem.message_size, problem.processes, block) for block in (exchange.first, exchange.last))
    return vector_round(problem, sender, receiver, low, high)
