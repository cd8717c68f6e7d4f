"""Reduce: the vectors of n bytes of all processes, combined element by element, end up at the root.

Operators are taken to commute, but for those in order. Processes are numbered from the root. Source of the last ones:
Rabenseifner, "Optimization of collective reduction operations", 2004; they halve a vector among 2^k processes, and what
they need is public here since allreduce begins alike. Main entries: `linear`, `binomial`, `reduce_scatter_gather`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from commmodel.collectives.algorithms.blocks import border, piece_sizes, vector_round
from commmodel.collectives.algorithms.patterns import (
    BlockExchange,
    Fold,
    binomial_tree,
    from_root,
    halving,
    other_ranks,
    pipeline,
)
from commmodel.collectives.algorithms.registry import register
from commmodel.collectives.schedule import Problem, Round


@register("reduce", "linear")
def linear(problem: Problem) -> Iterator[Round]:
    """Every process sends its vector to the root, which combines all of them."""
    sender = other_ranks(problem)
    if not sender.size:
        return
    root, size = np.array([problem.root]), problem.message_size
    yield Round(
        sender,
        np.full_like(sender, problem.root),
        np.full_like(sender, size),
        partial(_all_ranks, problem),
        combine=True,
        reducer=root,
        reduced=np.array([sender.size * size]),
    )


def _all_ranks(problem: Problem, _: int) -> range:
    return range(len(piece_sizes(problem)))


@register("reduce", "binomial")
def binomial(problem: Problem) -> Iterator[Round]:
    """Up a binomial tree, the nearest child first, in ⌈log₂P⌉ rounds (MPICH)."""
    for level in binomial_tree(problem.processes):
        child, parent = from_root(problem, level.sender), from_root(problem, level.receiver)
        yield vector_round(problem, child, parent, 0, problem.message_size, combine=True)


@register("reduce", "binary")
def binary(problem: Problem) -> Iterator[Round]:
    """Up a binary tree, filled level by level, segment by segment where a segment size is given (Open MPI)."""
    return _up(problem, 2)


@register("reduce", "chain")
def chain(problem: Problem) -> Iterator[Round]:
    """From each process to the one before, segment by segment where a segment size is given: a pipeline (Open MPI)."""
    return _up(problem, 1)


def _up(problem: Problem, children: int) -> Iterator[Round]:
    """Yield the rounds up a tree, in which a parent combines what its children send: those of a broadcast backwards."""
    for hops in pipeline(problem, children, up=True):
        child, parent = from_root(problem, hops.child), from_root(problem, hops.parent)
        yield _combined(vector_round(problem, child, parent, hops.low, hops.high))


@register("reduce", "binomial-in-order")
def binomial_in_order(problem: Problem) -> Iterator[Round]:
    """Up a binomial tree to process 0, which sends the root the result: operators need not commute (MPICH)."""
    return _at_another(problem, 0, binomial(replace(problem, root=0)))


@register("reduce", "binary-in-order")
def binary_in_order(problem: Problem) -> Iterator[Round]:
    """Up a binary tree to process P - 1, which sends the root the result: operators need not commute (Open MPI)."""
    rounds: dict[int, list[tuple[int, int]]] = {}
    _place_subtree(0, problem.processes - 1, rounds)
    return _at_another(
        problem, problem.processes - 1, (_to_parents(problem, rounds[level]) for level in sorted(rounds))
    )


def _place_subtree(first: int, last: int, rounds: dict[int, list[tuple[int, int]]]) -> int:
    """Enter the children and parents of a range of ranks, whose root is the last; return its height.

    The children are the one before the last and the one before that one's subtree, which has half of the ranks.
    """
    middle = first + (last - first + 1) // 2
    children = [(low, high) for low, high in ((middle, last - 1), (first, middle - 1)) if low <= high < last]
    height = max((_place_subtree(low, high, rounds) + 1 for low, high in children), default=0)
    for _, child in children:
        rounds.setdefault(height, []).append((child, last))
    return height


def _to_parents(problem: Problem, pairs: list[tuple[int, int]]) -> Round:
    """Return a round in which parents combine the vectors of their children."""
    child, parent = np.array(pairs, dtype=np.int64).T
    return _combined(vector_round(problem, child, parent, 0, problem.message_size))


def _combined(messages: Round) -> Round:
    """Return a round whose receivers combine all that they get in it."""
    reducer, place = np.unique(messages.receiver, return_inverse=True)
    reduced = np.zeros_like(reducer)
    np.add.at(reduced, place, messages.size)
    return replace(messages, combine=True, reducer=reducer, reduced=reduced)


def _at_another(problem: Problem, process: int, rounds: Iterable[Round]) -> Iterator[Round]:
    """Yield the rounds of a reduction at a process, and the one in which that sends the root the result."""
    yield from rounds
    if process != problem.root:
        yield vector_round(problem, np.array([process]), np.array([problem.root]), 0, problem.message_size)


@register("reduce", "reduce-scatter-gather")
def reduce_scatter_gather(problem: Problem) -> Iterator[Round]:
    """Reduce-scatter by recursive halving among 2^k processes, then a binomial gather (Rabenseifner 2004)."""
    return _halving(problem, fold_in)


@register("reduce", "reduce-scatter-gather-halves")
def reduce_scatter_gather_halves(problem: Problem) -> Iterator[Round]:
    """Like reduce-scatter-gather; each process that stands aside combines half of its vectors first (Open MPI)."""
    return _halving(problem, fold_in_halves)


def _halving(problem: Problem, fold_in: Callable[[Problem, Fold], Iterator[Round]]) -> Iterator[Round]:
    fold = Fold(problem.processes)
    yield from fold_in(problem, fold)
    halves = list(halving(fold.power))
    for sends, _ in halves:
        yield hypercube_round(problem, fold, sends, combine=True)
    for _, keeps in reversed(halves):
        distance = int(keeps.receiver[0])
        upper = slice(distance, 2 * distance)
        yield hypercube_round(
            problem,
            fold,
            BlockExchange(keeps.sender[upper], keeps.receiver[upper], keeps.first[upper], keeps.last[upper]),
        )


def fold_in(problem: Problem, fold: Fold) -> Iterator[Round]:
    """Yield the round in which processes that take no part hand their vectors in, where there are any."""
    if fold.out.size:
        out, home = from_root(problem, fold.out), from_root(problem, fold.home)
        yield vector_round(problem, out, home, 0, problem.message_size, combine=True)


def fold_in_halves(problem: Problem, fold: Fold) -> Iterator[Round]:
    """Yield the rounds in which pairs exchange halves of their vectors, and one hands its combined half to the other.

    The halves end where the hypercube cuts the vector in two.
    """
    if fold.out.size:
        out, home = from_root(problem, fold.out), from_root(problem, fold.home)
        size = problem.message_size
        middle = int(border(size, fold.power, fold.power // 2))
        low = np.repeat([0, middle], out.size)
        pairs = np.concatenate([out, home]), np.concatenate([home, out])
        yield vector_round(problem, *pairs, low, np.repeat([middle, size], out.size), combine=True)
        yield vector_round(problem, out, home, middle, size)


def hypercube_round(problem: Problem, fold: Fold, exchange: BlockExchange, combine: bool = False) -> Round:
    """Return a round among the 2^k members of a fold, which cut the vector into 2^k blocks."""
    sender = from_root(problem, fold.process(exchange.sender))
    receiver = from_root(problem, fold.process(exchange.receiver))
    low, high = (border(problem.message_size, fold.power, block) for block in (exchange.first, exchange.last))
    return vector_round(problem, sender, receiver, low, high, combine=combine)
