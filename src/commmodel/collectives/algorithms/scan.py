"""Scan: process r gets the combination of the vectors of n bytes of processes 0 to r.

Ids: the pieces of the result, and behind them the pieces of what is known of a whole group of processes, which
recursive doubling keeps beside the result. Source: Thakur, Rabenseifner and Gropp 2005. Main entries: `linear`,
`recursive_doubling`.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from commmodel.collectives.algorithms.blocks import distances, piece_sizes, vector_round
from commmodel.collectives.algorithms.registry import register
from commmodel.collectives.schedule import Integers, Problem, Round


@register("scan", "linear")
def linear(problem: Problem) -> Iterator[Round]:
    """Process r waits for the result of r - 1, combines it with its vector, and sends that to r + 1."""
    for rank in range(problem.processes - 1):
        sender = np.array([rank])
        yield vector_round(problem, sender, sender + 1, 0, problem.message_size, combine=True)


@register("scan", "recursive-doubling")
def recursive_doubling(problem: Problem) -> Iterator[Round]:
    """In round i process r exchanges what is known of its 2^i neighbours with r XOR 2^i, if there is one (MPICH).

    What comes from below is combined twice: into what is known of the group, and into the result.
    """
    processes, size = problem.processes, problem.message_size
    rank = np.arange(processes)
    for distance in distances(processes):
        partner = rank ^ distance
        sender = rank[partner < processes]
        receiver = partner[sender]
        yield Round(
            sender,
            receiver,
            np.full(sender.size, size),
            partial(_group, problem),
            into=partial(_group_and_result, problem, sender, receiver),
            combine=True,
            reducer=receiver,
            reduced=np.where(sender < receiver, 2 * size, size),
        )


def _group(problem: Problem, _: int) -> Sequence[int]:
    pieces = len(piece_sizes(problem))
    return range(pieces, 2 * pieces)


def _group_and_result(problem: Problem, sender: Integers, receiver: Integers, message: int) -> Sequence[int]:
    group = _group(problem, message)
    return [*group, *range(len(group))] if sender[message] < receiver[message] else group
