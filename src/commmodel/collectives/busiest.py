"""The messages of the busiest process of each round of an algorithm, counted by size.

Main entries: `busiest`, and `load_of`, which also knows what a library picks.
"""

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.collectives.algorithms.registry import algorithm as algorithm_of
from commmodel.collectives.library import selection
from commmodel.collectives.schedule import Integers, Nodes, Problem, Round
from commmodel.errors import InputError

MOST_MESSAGES = 200_000_000
"""That are looked at; of more, nothing is said."""


class Load(NamedTuple):
    """Messages by size: arrays of shape (sizes,)."""

    sizes: Integers
    """Bytes, ascending, each once."""
    counts: Integers
    within: Integers
    """Of these, the messages that stay on a node."""


def busiest(operation: str, algorithm: str, problem: Problem) -> Load | None:
    """Return the messages that the busiest process of each round sends or receives, over all rounds.

    It is the one with the most bytes, of several with the most messages, and with those between nodes. None where there
    are too many messages.

    >>> ring, tree = (busiest("allreduce", name, Problem(4, 4096)) for name in ("ring", "recursive-doubling"))
    >>> [(load.sizes.tolist(), load.counts.tolist()) for load in (ring, tree)]
    [([1024], [6]), ([4096], [2])]
    """
    described = algorithm_of(operation, algorithm)
    processes = problem.processes
    per_node = 1 if problem.nodes is None else problem.nodes.per_node
    if described.all_pairs_at_once:
        near = min(per_node, processes) - 1
        return Load(np.array([problem.message_size]), np.array([processes - 1]), np.array([near]))
    totals: dict[int, list[int]] = {}
    messages = 0
    for number, round_ in enumerate(described(problem), 1):
        messages += round_.size.size
        if max(messages, number * processes) > MOST_MESSAGES:
            return None
        for size, is_within in zip(*_of_busiest(round_, processes, per_node), strict=True):
            counts = totals.setdefault(int(size), [0, 0])
            counts[0] += 1
            counts[1] += int(is_within)
    columns = np.array([(size, *counts) for size, counts in sorted(totals.items())], dtype=np.int64).reshape(-1, 3)
    return Load(*columns.T)


@cache
def load_of(
    operation: str, schedule: str, processes: int, message_size: int, per_node: int | None, selector: selection.Selector
) -> Load | None:
    """Return the load of an algorithm, or of the one that a library picks where `schedule` is empty.

    None where there are too many messages, or the algorithm cannot do it on so many processes.

    >>> load_of("bcast", "", 8, 1 << 20, None, selection.load("mpich")).sizes.tolist()
    [131072, 262144, 524288]
    """
    problem = Problem(processes, message_size, nodes=None if per_node is None else Nodes(per_node))
    try:
        algorithm = schedule
        if not algorithm:
            rule = selection.select_for(selector, operation, problem)
            algorithm, problem = rule.algorithm, replace(problem, segment_size=rule.segment_size)
        return busiest(operation, algorithm, selection.with_levels(selector, operation, algorithm, problem))
    except InputError:
        return None


def _of_busiest(round_: Round, processes: int, per_node: int) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the sizes of what the busiest process sends, or receives if more, and whether it stays on a node."""
    is_within = round_.sender // per_node == round_.receiver // per_node
    if not round_.size.size:
        return round_.size, is_within
    weights = round_.size + np.where(is_within, 1.0, 1.5) / (2 + 2 * round_.size.size)  # decides between equal bytes
    sides = [(ranks, np.bincount(ranks, weights, processes)) for ranks in (round_.sender, round_.receiver)]
    ranks, total = max(sides, key=lambda side: float(side[1].max()))
    chosen = ranks == int(total.argmax())
    return round_.size[chosen], is_within[chosen]
