"""Allgather: every process gets the block of n bytes of every other.

Sources: Thakur, Rabenseifner and Gropp 2005; Bruck et al., "Efficient algorithms for all-to-all communications in
multiport message-passing systems", 1997; Chen et al., "Performance evaluation of allgather algorithms on terascale
Linux cluster with fast Ethernet", 2005. Main entries: `ring`, `recursive_doubling`, `bruck`, `neighbor_exchange`.
"""

from collections.abc import Iterator

import numpy as np

from commmodel.collectives.algorithms.blocks import block_round, distances
from commmodel.collectives.algorithms.patterns import doubling
from commmodel.collectives.algorithms.registry import register
from commmodel.collectives.schedule import Problem, Round
from commmodel.errors import InputError


@register("allgather", "ring")
def ring(problem: Problem) -> Iterator[Round]:
    """Each process passes the block that it got last on to the next, in P - 1 rounds (Thakur et al. 2005)."""
    processes = problem.processes
    rank = np.arange(processes)
    for step in range(processes - 1):
        yield block_round(problem, rank, (rank + 1) % processes, (rank - step) % processes)


@register("allgather", "recursive-doubling", needs={"power_of_two": True})
def recursive_doubling(problem: Problem) -> Iterator[Round]:
    """In round i process r exchanges all that it has with r XOR 2^i; any P, by forwarding as in MPICH."""
    for exchange in doubling(problem.processes):
        yield block_round(problem, exchange.sender, exchange.receiver, exchange.first, exchange.last - exchange.first)


@register("allgather", "bruck")
def bruck(problem: Problem) -> Iterator[Round]:
    """In round i process r sends all that it has to r - 2^i; at the end blocks are rotated (Bruck et al. 1997)."""
    processes = problem.processes
    rank = np.arange(processes)
    for distance in distances(processes):
        yield block_round(problem, rank, (rank - distance) % processes, rank, min(distance, processes - distance))
    if processes > 1:
        yield Round(copier=rank, copied=np.full(processes, processes * problem.message_size))


@register("allgather", "neighbor-exchange", needs={"even": True})
def neighbor_exchange(problem: Problem) -> Iterator[Round]:
    """Neighbours exchange the two blocks they got last, left and right by turns, in P/2 rounds; P even (Chen 2005)."""
    processes = problem.processes
    if processes > 1 and processes % 2:
        raise InputError(
            f"allgather by neighbor-exchange needs an even number of processes, not {processes}: "
            "take 'ring', which has the same neighbours"
        )
    rank = np.arange(processes)
    direction = 1 - 2 * (rank % 2)  # an even rank begins with its neighbour on the right
    pair = rank - rank % 2
    for step in range(processes // 2):
        receiver = (rank + (direction if step % 2 == 0 else -direction)) % processes
        if step == 0:
            yield block_round(problem, rank, receiver, rank)
        else:
            # Pairs of blocks come in from the two sides by turns, each time from one pair farther away.
            away = direction * (step // 2) * (1 if step % 2 else -1)
            yield block_round(problem, rank, receiver, (pair + 2 * away) % processes, 2)
