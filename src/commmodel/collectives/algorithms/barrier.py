"""Barrier: no process leaves before all have entered. Messages are empty.

A block stands for the news that its process has come. Survey: Hoefler et al., "A survey of barrier algorithms for
coarse grained supercomputers", 2004. Main entries: `linear`, `dissemination`, `recursive_doubling`, `binomial`.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from commmodel.collectives.algorithms.blocks import block_round, distances
from commmodel.collectives.algorithms.patterns import Fold, binomial_tree, other_ranks
from commmodel.collectives.algorithms.registry import register
from commmodel.collectives.schedule import Integers, Problem, Round


@register("barrier", "linear")
def linear(problem: Problem) -> Iterator[Round]:
    """Every process notifies rank 0, and rank 0 then notifies every process."""
    processes = problem.processes
    if processes == 1:
        return
    callers = other_ranks(replace(problem, root=0))
    centre = np.zeros_like(callers)
    yield _news(problem, callers, centre, callers, callers + 1)
    yield _news(problem, centre, callers, centre, centre + processes)


@register("barrier", "dissemination")
def dissemination(problem: Problem) -> Iterator[Round]:
    """In round i process r notifies r + 2^i, for ⌈log₂P⌉ rounds (Hensgen, Finkel and Manber 1988)."""
    processes = problem.processes
    ranks = np.arange(processes)
    for distance in distances(processes):
        heard = (ranks + 1 - distance) % processes
        yield _news(problem, ranks, (ranks + distance) % processes, heard, heard + distance)


@register("barrier", "recursive-doubling")
def recursive_doubling(problem: Problem) -> Iterator[Round]:
    """In round i process r exchanges with r XOR 2^i; P - 2^k processes stand aside meanwhile (Thakur et al. 2005)."""
    processes = problem.processes
    fold = Fold(processes)
    if fold.out.size:
        yield _news(problem, fold.out, fold.home, fold.out, fold.out + 1)
    member = np.arange(fold.power)
    for distance in distances(fold.power):
        group = member - member % distance
        first, last = fold.process(group), fold.process(group + distance)
        yield _news(problem, fold.process(member), fold.process(member ^ distance), first, last)
    if fold.out.size:
        everybody = np.zeros_like(fold.out)
        yield _news(problem, fold.home, fold.out, everybody, everybody + processes)


@register("barrier", "binomial")
def binomial(problem: Problem) -> Iterator[Round]:
    """Notifications go up a binomial tree to rank 0, and down again ("tree")."""
    tree = binomial_tree(problem.processes)
    for level in tree:
        yield _news(problem, level.sender, level.receiver, level.first, level.last)
    for level in reversed(tree):
        everybody = np.zeros_like(level.sender)
        yield _news(problem, level.receiver, level.sender, everybody, everybody + problem.processes)


def _news(problem: Problem, sender: Integers, receiver: Integers, first: Integers, last: Integers) -> Round:
    """Return a round of empty messages: the ranks from `first` up to `last` have arrived."""
    return block_round(replace(problem, message_size=0), sender, receiver, first, last - first)
