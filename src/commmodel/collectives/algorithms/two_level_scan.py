"""Scan in two levels: within each node, between the first processes of nodes, and back into each node.

Processes of a node have consecutive ranks, every node as many. Ids: the result, what a scan within a node keeps of a
group and later what comes from the nodes before, and both once more for the scan between nodes. Source: MPICH 5.0,
``scan_intra_smp.c``. Main entry: `scan`.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from commmodel.collectives.algorithms.blocks import piece_sizes
from commmodel.collectives.algorithms.multi_leader import control
from commmodel.collectives.algorithms.registry import Stage, algorithm, register
from commmodel.collectives.algorithms.two_level import (
    TWO_LEVEL,
    USUAL,
    node_layout,
    placed,
    stage_problem,
    vector_pieces,
)
from commmodel.collectives.schedule import Access, Integers, Problem, Round

_WITHIN, _BETWEEN, _BACK = Stage("scan", "within"), Stage("scan", "between"), Stage("bcast", "within")
_FLAG = Stage("bcast", "within", 4)
# Whether anything comes from nodes before; the broadcast takes the same algorithm as that of the vector.


@register("scan", TWO_LEVEL, stages=(_WITHIN, _BETWEEN, _BACK))
def scan(problem: Problem) -> Iterator[Round]:
    """Scan within each node, of the nodes' sums, then each adds what the nodes before its own have (MPICH's smp).

    The last process of a node sends its result to the first; after the scan between the first of all nodes each sends
    to the next, which broadcasts within its node.
    """
    nodes, per_node = node_layout(problem)
    size, pieces = problem.message_size, len(piece_sizes(problem))
    ranks = np.arange(problem.processes).reshape(-1, per_node)
    first, last = ranks[:, 0], ranks[:, -1]
    result, group, node_result, node_group = (range(pieces * place, pieces * (place + 1)) for place in range(4))
    yield from _scan(problem, _WITHIN, nodes.within.get("scan", USUAL["scan"]), ranks, 0)
    node_places = [*node_result, *node_group]
    if per_node > 1:
        sizes = np.full(first.size, size)
        yield Round(last, first, sizes, lambda _: result, into=lambda _: node_places)
    else:
        yield Round(accesses=lambda: [Access(rank, rank, [*result, *result], node_places) for rank in first.tolist()])
    yield from _scan(problem, _BETWEEN, nodes.between.get("scan", USUAL["scan"]), first.reshape(1, -1), 2)
    yield Round(first[:-1], first[1:], np.full(first.size - 1, size), lambda _: node_result, into=lambda _: group)
    yield from control(problem, _FLAG)
    part = stage_problem("scan", _BACK, problem)
    later = ranks[1:]

    def of_group(_: int, ids: Sequence[int]) -> Sequence[int]:
        return [pieces + piece for piece in vector_pieces(problem, part, 0, 0, ids)]

    for round_ in algorithm("bcast", nodes.within.get("bcast", USUAL["bcast"]))(part):
        yield placed(round_, later, of_group)
    reducer = later.ravel()
    yield Round(
        reducer=reducer,
        reduced=np.full(reducer.size, size),
        accesses=lambda: [Access(rank, rank, group, result, combine=True) for rank in reducer.tolist()],
    )


def _scan(problem: Problem, stage: Stage, name: str, ranks: Integers, place: int) -> Iterator[Round]:
    """Yield the rounds of a scan on one level, from two places to the same; each message carries a whole vector."""
    part = stage_problem("scan", stage, problem)
    part_pieces, pieces = len(piece_sizes(part)), len(piece_sizes(problem))

    def moved(_: int, ids: Sequence[int]) -> Sequence[int]:
        places = dict.fromkeys(place + identity // part_pieces for identity in ids)
        return [identity for number in places for identity in range(number * pieces, (number + 1) * pieces)]

    for round_ in algorithm("scan", name)(part):
        yield placed(round_, ranks, moved)
