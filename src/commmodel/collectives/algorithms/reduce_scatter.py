"""Reduce_scatter: vectors of P blocks of n bytes, combined element by element; each process gets its block.

The same algorithms serve reduce_scatter_block. Recursive halving, pairwise exchange and the ring need operators that
commute. Sources: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005;
of the butterflies Träff, "An improved algorithm for (non-commutative) reduce-scatter with an application", 2005. Main
entries: `recursive_halving`, `recursive_doubling`, `butterfly`, `pairwise`, `ring`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from commmodel.collectives.algorithms.blocks import block_round, circular, distances
from commmodel.collectives.algorithms.gather import scatter_binomial, scatter_linear
from commmodel.collectives.algorithms.patterns import BlockExchange, Fold, doubling_steps
from commmodel.collectives.algorithms.reduce import binary_in_order, binomial
from commmodel.collectives.algorithms.reduce import linear as reduce_linear
from commmodel.collectives.algorithms.registry import ALGORITHMS, register
from commmodel.collectives.schedule import Access, Integers, Problem, Round


@register("reduce_scatter", "recursive-halving")
def recursive_halving(problem: Problem) -> Iterator[Round]:
    """Halves of the vector go to r XOR 2^i, the farthest first; P - 2^k processes stand aside meanwhile (MPICH)."""
    fold = Fold(problem.processes)
    yield from _fold_in(problem, fold)
    member = np.arange(fold.power)
    for half in reversed(distances(fold.power)):
        partner = member ^ half
        group = partner - partner % half
        yield _halves(problem, fold, member, partner, group, group + half)
    if fold.out.size:
        yield block_round(problem, fold.home, fold.out, fold.out)


def _fold_in(problem: Problem, fold: Fold) -> Iterator[Round]:
    out = fold.out
    if out.size:
        yield block_round(problem, out, fold.home, np.zeros_like(out), problem.processes, combine=True)


def _halves(
    problem: Problem, fold: Fold, member: Integers, partner: Integers, first: Integers, last: Integers
) -> Round:
    """Return a round in which members send the blocks of the processes for which members from first up to last act."""
    low, high = fold.process(first), fold.process(last)
    return block_round(problem, fold.process(member), fold.process(partner), low, high - low, combine=True)


@register("reduce_scatter", "recursive-doubling")
def recursive_doubling(problem: Problem) -> Iterator[Round]:
    """Process r exchanges with r XOR 2^i all but the blocks of those it has combined with, by forwarding (MPICH)."""
    processes = problem.processes
    for step in doubling_steps(processes):
        carried = [_all_but(problem, exchange) for exchange in step]
        if len(carried) == 1:
            yield replace(carried[0], combine=True, reducer=step[0].receiver, reduced=carried[0].size)
            continue
        aside = partial(_aside, processes, carried[0].blocks)
        yield replace(carried[0], into=aside)
        for round_ in carried[1:]:
            yield replace(round_, blocks=partial(_aside, processes, round_.blocks))
        yield Round(
            reducer=np.concatenate([exchange.receiver for exchange in step]),
            reduced=np.concatenate([round_.size for round_ in carried]),
            accesses=partial(_from_aside, processes, step, carried),
        )


def _all_but(problem: Problem, exchange: BlockExchange) -> Round:
    """Return a round whose messages carry all blocks but those of an exchange."""
    count = problem.processes - (exchange.last - exchange.first)
    return block_round(problem, exchange.sender, exchange.receiver, exchange.last % problem.processes, count)


def _aside(processes: int, blocks: Callable[[int], Sequence[int]], message: int) -> list[int]:
    """Return the ids of blocks that lie beside a process's own until they have been forwarded."""
    return [block + processes for block in blocks(message)]


def _from_aside(processes: int, step: Sequence[BlockExchange], carried: Sequence[Round]) -> Iterator[Access]:
    for exchange, round_ in zip(step, carried, strict=True):
        for message, process in enumerate(exchange.receiver.tolist()):
            blocks = list(round_.blocks(message))
            yield Access(process, process, [block + processes for block in blocks], blocks, combine=True)


@register("reduce_scatter", "butterfly")
def butterfly(problem: Problem) -> Iterator[Round]:
    """Halves go to r XOR 2^i, the nearest first: in mirrored order for P = 2^k, else exchanged after (Träff 2005)."""
    processes = problem.processes
    fold = Fold(processes)
    if fold.power < processes:
        yield from butterfly_exchange(problem)
        return
    mirrored = _mirrored(processes)
    for round_ in _butterfly(problem, fold):
        yield replace(round_, blocks=partial(_permuted, mirrored, round_.blocks))


@register("reduce_scatter", "butterfly-exchange")
def butterfly_exchange(problem: Problem) -> Iterator[Round]:
    """Like butterfly, with the exchange at the end for any P (Open MPI's MPI_Reduce_scatter)."""
    fold = Fold(problem.processes)
    yield from _butterfly(problem, fold)
    member = np.arange(fold.power)
    block = _mirrored(fold.power)  # of the member whose block one has
    process, owner = fold.process(member), fold.process(block)
    aside, moves = block < fold.out.size, block != member
    sender = np.concatenate([process[aside], process[moves]])
    receiver = np.concatenate([owner[aside] + 1, owner[moves]])
    if sender.size:
        yield block_round(problem, sender, receiver, receiver)


def _butterfly(problem: Problem, fold: Fold) -> Iterator[Round]:
    """Yield the rounds after which member m has the blocks of that whose number has its bits in opposite order."""
    yield from _fold_in(problem, fold)
    member = np.arange(fold.power)
    start = np.zeros_like(member)
    for bit in distances(fold.power):
        half = fold.power // 2 // bit
        upper = (member & bit != 0) * half
        sent, start = start + half - upper, start + upper
        yield _halves(problem, fold, member, member ^ bit, sent, sent + half)


def _mirrored(power: int) -> Integers:
    """Return the numbers below 2^k with their bits in opposite order.

    >>> _mirrored(8).tolist()
    [0, 4, 2, 6, 1, 5, 3, 7]
    """
    mirrored = np.zeros(1, dtype=np.int64)
    while mirrored.size < power:
        mirrored = np.concatenate([2 * mirrored, 2 * mirrored + 1])
    return mirrored


def _permuted(mirrored: Integers, blocks: Callable[[int], Sequence[int]], message: int) -> list[int]:
    numbers: list[int] = mirrored[list(blocks(message))].tolist()
    return numbers


@register("reduce_scatter", "pairwise")
def pairwise(problem: Problem) -> Iterator[Round]:
    """In step i process r sends r + i the block that is its, and combines one from r - i, in P - 1 rounds (MPICH)."""
    processes = problem.processes
    rank = np.arange(processes)
    for step in range(1, processes):
        receiver = (rank + step) % processes
        yield block_round(problem, rank, receiver, receiver, combine=True)


@register("reduce_scatter", "ring")
def ring(problem: Problem) -> Iterator[Round]:
    """Each block goes once around a ring and is combined on its way, in P - 1 rounds (Patarasuk and Yuan 2009)."""
    processes = problem.processes
    rank = np.arange(processes)
    for step in range(1, processes):
        yield block_round(problem, rank, (rank + 1) % processes, (rank - step) % processes, combine=True)


def _reduced_then_scattered(
    reduce: Callable[[Problem], Iterable[Round]], scatter: Callable[[Problem], Iterable[Round]], problem: Problem
) -> Iterator[Round]:
    processes = problem.processes
    blocks = partial(circular, processes, np.zeros(processes, dtype=np.int64), np.full(processes, processes))
    for round_ in reduce(replace(problem, message_size=processes * problem.message_size, root=0)):
        yield replace(round_, blocks=blocks)
    yield from scatter(replace(problem, root=0))


def _register_pairs() -> None:
    """Enter the pairs of a reduction at process 0 and a scatter, which Open MPI has."""
    reductions = {"linear": reduce_linear, "binomial": binomial, "binary-in-order": binary_in_order}
    for first, reduce in reductions.items():
        for second, scatter in {"linear": scatter_linear, "binomial": scatter_binomial}.items():
            scheduler = partial(_reduced_then_scattered, reduce, scatter)
            scheduler.__doc__ = f"A {first} reduction at process 0, then a {second} scatter (Open MPI)."
            register("reduce_scatter", f"{first}-then-{second}")(scheduler)


_register_pairs()
ALGORITHMS["reduce_scatter_block"] |= {
    name: replace(form, operation="reduce_scatter_block") for name, form in ALGORITHMS["reduce_scatter"].items()
}
