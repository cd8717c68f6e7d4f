"""Alltoall: every process has a block of n bytes for every other.

A process keeps its own block. Sources: Thakur, Rabenseifner and Gropp 2005; Bruck et al., "Efficient algorithms for
all-to-all communications in multiport message-passing systems", 1997. Main entries: `linear`, `pairwise`,
`pairwise_xor`, `bruck`.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from commmodel.collectives.algorithms.blocks import distances
from commmodel.collectives.algorithms.registry import register
from commmodel.collectives.schedule import Integers, Problem, Round, messages_at_once
from commmodel.errors import InputError


@register("alltoall", "linear", all_pairs_at_once=True)
def linear(problem: Problem) -> Iterator[Round]:
    """All sends and receives at once; process r begins with r + 1, r + 2 and so on (Thakur et al. 2005)."""
    return at_once(problem, 1)


def at_once(problem: Problem, direction: int) -> Iterator[Round]:
    """Yield the round of `linear`, in which process r begins with r + direction, r + 2 direction and so on."""
    processes = problem.processes
    messages_at_once(processes * (processes - 1))
    if processes > 1:
        sender = np.repeat(np.arange(processes), processes - 1)
        receiver = (sender + direction * np.tile(np.arange(1, processes), processes)) % processes
        yield _direct(problem, sender, receiver, _sizes(problem, sender))


@register("alltoall", "pairwise")
def pairwise(problem: Problem) -> Iterator[Round]:
    """In step i process r sends to r + i and receives from r - i, in P - 1 rounds (Thakur et al. 2005)."""
    rank = np.arange(problem.processes)
    size = _sizes(problem, rank)
    for step in range(1, problem.processes):
        yield _direct(problem, rank, (rank + step) % problem.processes, size)


@register("alltoall", "pairwise-xor", needs={"power_of_two": True})
def pairwise_xor(problem: Problem) -> Iterator[Round]:
    """In step i processes r and r XOR i exchange, in P - 1 rounds; P a power of two (Thakur et al. 2005)."""
    processes = problem.processes
    if processes & (processes - 1):
        raise InputError(
            f"alltoall by pairwise-xor needs a power of two of processes, not {processes}: take 'pairwise'"
        )
    rank = np.arange(processes)
    size = _sizes(problem, rank)
    for step in range(1, processes):
        yield _direct(problem, rank, rank ^ step, size)


@register("alltoall", "pairwise-in-place")
def pairwise_in_place(problem: Problem) -> Iterator[Round]:
    """Process r exchanges with 0, 1 and so on, one after the other, each time in place (MPICH)."""
    processes = problem.processes
    for step in range(1, 2 * processes - 2):
        rank = np.arange(max(0, step - processes + 1), min(step + 1, processes))
        rank = rank[2 * rank != step]
        yield _direct(problem, rank, step - rank, _sizes(problem, rank))


@register("alltoall", "shift-in-place")
def shift_in_place(problem: Problem) -> Iterator[Round]:
    """In step i process r exchanges in place with r + i and r - i: first it sends down, then up (Open MPI)."""
    processes = problem.processes
    rank = np.arange(processes)
    size = _sizes(problem, rank)
    for step in range(1, processes // 2 + 1):
        if 2 * step < processes:
            yield _direct(problem, rank, (rank - step) % processes, size)
        yield _direct(problem, rank, (rank + step) % processes, size)


def _sizes(problem: Problem, sender: Integers) -> Integers:
    return np.full(sender.size, problem.message_size)


def _direct(problem: Problem, sender: Integers, receiver: Integers, size: Integers) -> Round:
    return Round(sender, receiver, size, partial(_for_receiver, problem.processes, sender, receiver))


def _for_receiver(processes: int, sender: Integers, receiver: Integers, message: int) -> list[int]:
    return [int(sender[message]) * processes + int(receiver[message])]


@register("alltoall", "bruck")
def bruck(problem: Problem) -> Iterator[Round]:
    """In round i process r sends r + 2^i every block whose way has that bit, in ⌈log₂P⌉ rounds (Bruck 1997).

    Each round copies as many bytes as it sends, from or to their places, about n P/2, and the end rotates n P bytes.
    The rotation at the beginning comes with the first copies.
    """
    processes = problem.processes
    rank = np.arange(processes)
    way = np.arange(processes)
    for distance in distances(processes):
        moved = way[way & distance != 0]
        size = np.full(processes, moved.size * problem.message_size)
        carried = partial(_on_the_way, processes, distance, moved)
        yield Round(rank, (rank + distance) % processes, size, carried, copier=rank, copied=size)
    if processes > 1:
        yield Round(copier=rank, copied=np.full(processes, processes * problem.message_size))


def _on_the_way(processes: int, distance: int, ways: Integers, rank: int) -> list[int]:
    """Return the blocks at a rank that move by `distance` in this round: the lower bits of their distance are done."""
    source = (rank - ways % distance) % processes
    ids: list[int] = (source * processes + (source + ways) % processes).tolist()
    return ids
