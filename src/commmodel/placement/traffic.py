"""What goes from rank to rank in a program, collectives included. Main entries: `Traffic`, `traffic_of`."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commmodel.arguments import refuse
from commmodel.placement.partition import Graph
from commmodel.signatures import checked
from commmodel.simulate.operations import Code, Program
from commmodel.values import Value

_SENDS = (Code.SEND, Code.ISEND, Code.SSEND, Code.ISSEND)
_MOST_PENDING = 1 << 20
"""Messages that are counted one by one before they are added up."""


@dataclass(frozen=True)
class Traffic(Value):
    """Bytes and messages between ranks; a row for each pair of which one has sent any to the other."""

    processes: int
    source: NDArray[np.int64]
    destination: NDArray[np.int64]
    """Pairs ascend."""
    messages: NDArray[np.int64]
    bytes: NDArray[np.float64]

    @property
    def graph(self) -> Graph:
        """Bytes between ranks, in either direction."""
        return Graph.of_pairs(self.processes, self.source, self.destination, self.bytes)

    @checked
    def between(self, nodes: ArrayLike) -> float:
        """Return the bytes between ranks of different nodes; `nodes` is the node of each rank.

        >>> from commmodel.simulate.work import ring
        >>> traffic_of(ring(1024, 4)).between([0, 0, 1, 1])
        2048.0
        """
        node = np.asarray(nodes)
        if node.shape != (self.processes,):
            raise refuse("nodes", nodes, f"give the node of each of the {self.processes} ranks")
        return float(self.bytes[node[self.source] != node[self.destination]].sum())


@checked
def traffic_of(program: Program) -> Traffic:
    """Return what the ranks of a program send to each other.

    Parameters
    ----------
    program : Program
        One that is known before it runs.

    Examples
    --------
    >>> from commmodel.simulate.work import ring
    >>> ring_of_three = traffic_of(ring(1024, 3))
    >>> ring_of_three.destination.tolist(), ring_of_three.bytes.tolist()
    ([1, 2, 0], [1024.0, 1024.0, 1024.0])
    """
    processes = program.processes
    total = np.zeros((3, 0))
    pending: list[NDArray[np.float64]] = []
    count = 0
    streams = {rank: program.pieces(rank) for rank in range(processes)}
    while streams:
        for rank in [*streams]:  # in turn, as what lies between the first and the last rank is held
            operations = next(streams[rank], None)
            if operations is None:
                del streams[rank]
                continue
            sent = operations[np.isin(operations["code"], _SENDS)]
            keys = rank * processes + sent["peer"].astype(np.int64)
            pending.append(np.stack([keys.astype(np.float64), np.ones(sent.size), sent["value"]]))
            count += sent.size
            if count > _MOST_PENDING:
                total, pending, count = _sums([total, *pending]), [], 0
    keys, messages, carried = _sums([total, *pending])
    pairs = keys.astype(np.int64)
    return Traffic(processes, pairs // processes, pairs % processes, messages.astype(np.int64), carried)


def _sums(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return keys, messages and bytes with each key once."""
    keys, *columns = np.concatenate(parts, axis=1)
    pairs, place = np.unique(keys, return_inverse=True)
    return np.stack([pairs, *(np.bincount(place.ravel(), column, pairs.size) for column in columns)])
