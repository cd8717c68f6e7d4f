"""Who meets whom in a tournament of disjoint pairs, and whose time each sample is.

Main entries: `rounds`, `players`, `times` and `times_of_visits`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from commmodel.results.configurations import MessagePath
from commmodel.results.records import Header, Record
from commmodel.results.visits import visit_samples

Pairs = Sequence[tuple[int, int]]


def rounds(count: int) -> NDArray[np.int64]:
    """Return each player's opponent in each round, by the circle method; players are numbered, their number is even.

    >>> rounds(4).tolist()
    [[3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1]]
    """
    last = count - 1
    number, player = np.ogrid[:last, :count]
    table = (number - player) % last
    table[:, last] = np.arange(last) * (count // 2) % last  # who would meet himself
    table[np.arange(last), table[:, last]] = last
    return np.asarray(table)


def players(
    path: MessagePath, placement: Mapping[MessagePath, Pairs], further: Sequence[Pairs]
) -> list[tuple[int, int]]:
    """Return a rank of each node, two by two; within a node all pairs of ranks of the path.

    >>> players("between-nodes", {"between-nodes": ((0, 2), (1, 3))}, (((4, 6), (5, 7)),))
    [(0, 2), (4, 6)]
    """
    if path != "between-nodes":
        return [*placement[path]]
    return [pairs[0] for pairs in (placement[path], *further)]


def names(header: Header, path: MessagePath) -> list[str]:
    """Return the name of each player: its host, within a node its rank."""
    ranks = [rank for pair in players(path, header.placement, header.further_nodes) for rank in pair]
    if path != "between-nodes":
        return [f"rank {rank}" for rank in ranks]
    return [header.hosts[header.ranks[rank].host].name for rank in ranks]


def times_of_visits(record: Record) -> NDArray[np.float64]:
    """Return the seconds between every two players in each visit, of shape (visits, players, players).

    NaN is what was not measured.

    >>> from commmodel.results.configurations import NodeMatrix
    >>> times_of_visits(Record(NodeMatrix(8, "between-nodes"), "s", (1.0, 2.0, 3.0)))[0, 0].tolist()
    [nan, 1.0, 2.0]
    """
    samples = np.asarray(visit_samples(record))
    count = round((1 + (1 + 8 * samples.shape[1]) ** 0.5) / 2)
    matrices = np.full((len(samples), count, count), np.nan)
    first, second = np.triu_indices(count, 1)
    matrices[:, first, second] = matrices[:, second, first] = np.where(samples > 0, samples, np.nan)
    return matrices


def times(record: Record) -> NDArray[np.float64]:
    """Return the seconds between every two players, the least of the visits, as a symmetrical matrix.

    NaN is what was not measured.

    >>> from commmodel.results.configurations import NodeMatrix
    >>> times(Record(NodeMatrix(8, "between-nodes"), "s", (1.0, 2.0, 3.0)))[0].tolist()
    [nan, 1.0, 2.0]
    """
    return np.asarray(np.fmin.reduce(times_of_visits(record)))
