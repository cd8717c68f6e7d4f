"""Collectives in two levels in which every process takes part between nodes, with data from memory that a node shares.

The processes of a node put their data into shared memory, or map each other's; then each exchanges with those that
have its place on other nodes. Only within a node do they tell each other that data are there. Memory that is read
counts as bytes copied. Processes of a node have consecutive ranks, every node as many. Sources: MPICH 5.0, "multi
leaders based composition" (``ch4_coll_impl.h``), for ``MPIR_CVAR_ALLTOALL_COMPOSITION=1`` and
``MPIR_CVAR_ALLGATHER_COMPOSITION=1`` up to 4 KiB; Open MPI's branch v6.0.x, ``coll_han_alltoall.c``. Main entries:
`alltoall`, `alltoall_in_steps`, `allgather`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from commmodel.collectives.algorithms.registry import Stage, algorithm, register
from commmodel.collectives.algorithms.two_level import (
    TWO_LEVEL,
    USUAL,
    Carried,
    node_layout,
    placed,
    stage_problem,
)
from commmodel.collectives.operation import ScheduledName
from commmodel.collectives.schedule import Access, Integers, Problem, Round

MULTI_LEADER, STEPS = "two-level-multi-leader", "two-level-steps"
_ADDRESSES = 24
# Bytes that processes of a node tell each other in han: an address and two flags, of 8 bytes each.
_BARRIER = Stage("barrier", "within")
_LEADERS = _BARRIER, _BARRIER


@register("alltoall", TWO_LEVEL, stages=(*_LEADERS, Stage("alltoall", "between")))
def alltoall(problem: Problem) -> Iterator[Round]:
    """Copy into memory of the node, then an alltoall between processes of equal place (MPICH's composition alpha).

    A process copies n P bytes, and sends what is for its place on another node in one message of k n.
    """

    def blocks(place: int, ids: Sequence[int]) -> Sequence[int]:
        """Return what a process of each node sends for a place on another."""
        _, per_node = node_layout(problem)
        nodes = problem.processes // per_node
        return [
            (identity // nodes * per_node + member) * problem.processes + identity % nodes * per_node + place
            for identity in ids
            for member in range(per_node)
        ]

    def accesses() -> Iterator[Access]:
        _, per_node = node_layout(problem)
        for rank in range(problem.processes):
            first = rank - rank % per_node
            for owner in range(first, first + per_node):
                ids = range(owner * problem.processes + rank % per_node, (owner + 1) * problem.processes, per_node)
                yield Access(rank, owner, ids, ids)

    return _by_leaders("alltoall", problem, problem.processes * problem.message_size, blocks, accesses)


@register("allgather", MULTI_LEADER, stages=(*_LEADERS, Stage("allgather", "between")))
def allgather(problem: Problem) -> Iterator[Round]:
    """Copy into memory of the node, then an allgather between processes of equal place (MPICH's composition alpha).

    Every process gets the data of every node over the network, which `two-level` sends to one process of each.
    """

    def blocks(_: int, ids: Sequence[int]) -> Sequence[int]:
        per_node = node_layout(problem)[1]
        return [node * per_node + member for node in ids for member in range(per_node)]

    def accesses() -> Iterator[Access]:
        _, per_node = node_layout(problem)
        for rank in range(problem.processes):
            first = rank - rank % per_node
            for owner in range(first, first + per_node):
                yield Access(rank, owner, (owner,), (owner,))

    return _by_leaders("allgather", problem, problem.message_size, blocks, accesses)


def _by_leaders(
    operation: ScheduledName, problem: Problem, copied: int, blocks: Carried, accesses: Callable[[], Iterator[Access]]
) -> Iterator[Round]:
    """Yield the rounds of an operation with all processes as leaders, each of which copies so many bytes before."""
    nodes, per_node = node_layout(problem)
    rank = np.arange(problem.processes)
    yield from control(problem, _BARRIER)
    yield Round(copier=rank, copied=np.full(rank.size, copied))
    yield from control(problem, _BARRIER)
    yield Round(accesses=accesses)
    name = nodes.between.get(operation, USUAL[operation])
    part = stage_problem(operation, Stage(operation, "between"), problem)
    for round_ in algorithm(operation, name)(part):
        yield placed(round_, rank.reshape(-1, per_node).T, blocks)


@register("alltoall", STEPS, stages=(Stage("allgather", "within", _ADDRESSES), _BARRIER))
def alltoall_in_steps(problem: Problem) -> Iterator[Round]:
    """Node by node: read what is for a process there from all neighbours' memory, exchange it (Open MPI 6, han's smsc).

    A step copies k n bytes from the neighbours' memory, and sends them in one message; in the last it goes to the
    process itself, which copies once more. Receive buffers that stay in place, han's default, copy n P bytes at the
    end. Here a process waits in each step for what others send it in that step; in Open MPI it does so at the end.
    """
    _, per_node = node_layout(problem)
    processes, size = problem.processes, per_node * problem.message_size
    nodes = processes // per_node
    rank = np.arange(processes)
    yield from control(problem, Stage("allgather", "within", _ADDRESSES))
    partners = [_partner(rank // per_node, step, nodes) * per_node + rank % per_node for step in range(nodes)]
    for step, partner in enumerate(partners):
        is_last = step == nodes - 1
        yield Round(
            copier=rank,
            copied=np.full(processes, (1 + is_last) * size),
            accesses=partial(_read, processes, per_node, partner),
        )
        if not is_last:
            yield Round(rank, partner, np.full(processes, size), partial(_to_partner, processes, per_node, partner))
    yield from control(problem, _BARRIER)
    yield Round(copier=rank, copied=np.full(processes, processes * problem.message_size))


def _partner(node: Integers, step: int, nodes: int) -> Integers:
    """Return the node with which each exchanges in a step; itself in the last.

    >>> [_partner(np.arange(4), step, 4).tolist() for step in range(4)]
    [[1, 3, 3, 1], [2, 0, 0, 2], [3, 2, 1, 0], [0, 1, 2, 3]]
    """
    if step == nodes - 1:
        return node
    return (step + (step >= 2 * node % nodes) - node) % nodes


def _to_partner(processes: int, per_node: int, partner: Integers, rank: int) -> Sequence[int]:
    """Return the blocks of all of a node's processes for a partner of one of them."""
    first = rank - rank % per_node
    return [owner * processes + int(partner[rank]) for owner in range(first, first + per_node)]


def _read(processes: int, per_node: int, partner: Integers) -> Iterator[Access]:
    for rank in range(processes):
        for block in _to_partner(processes, per_node, partner, rank):
            yield Access(rank, block // processes, (block,), (block,))


def control(problem: Problem, stage: Stage) -> Iterator[Round]:
    """Yield the rounds by which the processes of each node tell each other something that is no data."""
    nodes, per_node = node_layout(problem)
    ranks = np.arange(problem.processes).reshape(-1, per_node)
    name = nodes.within.get(stage.operation, USUAL[stage.operation])
    for round_ in algorithm(stage.operation, name)(stage_problem("alltoall", stage, problem)):
        yield replace(placed(round_, ranks, lambda *_: ()), is_control=True, into=None, combine=False)
