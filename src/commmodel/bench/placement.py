"""Placement: the pairs of ranks on each path.

Main entries: `place`, and `place_further` for the pairs of hosts beyond the first.

Rank 0 is the first rank of the first pair everywhere, so it takes part in every measurement and can decide. The
pairs of a path use the same hardware, one pair more at a time: the one socket, the two sockets, or the two nodes.
Ranks of two nodes are added socket by socket, as in Gropp, Olson and Samfass (2016). Further pairs of nodes have
pairs of their own, added in the same way, and load what all nodes share: a switch, or the links beyond it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from commmodel.errors import MPIEnvironmentError
from commmodel.results import BenchOptions
from commmodel.results.configurations import MessagePath

__all__ = ["FurtherNodes", "NodePairs", "Placement", "members", "node_pairs", "place", "place_further"]

Placement = dict[MessagePath, tuple[tuple[int, int], ...]]
FurtherNodes = tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True)
class NodePairs:
    """The pairs of nodes of a launch.

    Attributes
    ----------
    most : int
        How many there are.
    room : dict of int to int
        Number of pairs of nodes asked for -> pairs of ranks that each of them has.
    """

    most: int
    room: dict[int, int]


def place(hosts: Sequence[int], sockets: Sequence[int | None]) -> Placement:
    """Return the pairs (first, second) of each path, in the order in which they take part.

    Within a socket, neighbours on rank 0's socket are paired. Within a node, the ranks of rank 0's socket are paired
    one to one with those of the next socket; where the sockets of rank 0's node are not known, neighbours are.
    Between nodes, the ranks of rank 0's node are paired one to one with those of the next node, each socket by
    socket. A path without a pair is left out.

    Parameters
    ----------
    hosts : sequence of int
        Each rank's host.
    sockets : sequence of int or None
        Each rank's socket within its host; None where it is not known.

    >>> place([0, 0, 0, 0], [0, 1, 0, 1])
    {'same-socket': ((0, 2),), 'same-node': ((0, 1), (2, 3))}
    >>> place([0, 0, 1, 1], [None] * 4)
    {'same-node': ((0, 1),), 'between-nodes': ((0, 2), (1, 3))}
    """
    on_host = _grouped(range(len(hosts)), hosts)
    home = _grouped(on_host[0], sockets)
    placement: Placement = {}
    if any(sockets[rank] is None for rank in on_host[0]):
        placement["same-node"] = _neighbours(on_host[0])
    else:
        placement["same-socket"] = _neighbours(home[0])
        if len(home) > 1:
            placement["same-node"] = tuple(zip(home[0], home[1], strict=False))
    if len(on_host) > 1:
        placement["between-nodes"] = _across(on_host[0], on_host[1], sockets)
    return {path: pairs for path, pairs in placement.items() if pairs}


def place_further(hosts: Sequence[int], sockets: Sequence[int | None]) -> FurtherNodes:
    """Return the pairs between the third host and the fourth, between the fifth and the sixth, and so on.

    Hosts come in the order of their lowest ranks, and the pairs as in `place`. A last host without a partner has none.

    Parameters
    ----------
    hosts, sockets
        As in `place`.

    >>> place_further([0, 0, 1, 1, 2, 2, 3, 3, 4, 4], [0] * 10)
    (((4, 6), (5, 7)),)
    """
    on_host = _grouped(range(len(hosts)), hosts)
    return tuple(_across(*hosts, sockets) for hosts in zip(on_host[2::2], on_host[3::2], strict=False))


def node_pairs(options: BenchOptions, placement: Placement, further: FurtherNodes) -> NodePairs:
    """Return the pairs of nodes; raise `MPIEnvironmentError` where the launch has fewer than requested."""
    most, largest = len(further) + ("between-nodes" in placement), max(options.node_pairs)
    if largest > max(most, 1):
        raise MPIEnvironmentError(
            f"--node-pairs asks for {largest} pairs of hosts, but there are {most}: "
            f"start ranks on {2 * largest} hosts, or ask for at most {max(most, 1)}"
        )
    across = (placement.get("between-nodes", ()), *further)
    room = {count: min(map(len, across[:count])) for count in options.node_pairs}
    if largest > 1 and room[largest] < min(options.pairs or (1,)):
        raise MPIEnvironmentError(
            f"--node-pairs: one of {largest} pairs of hosts has only {room[largest]} of the "
            f"{min(options.pairs or (1,))} "
            "pairs that --pairs asks for: start as many ranks on every host"
        )
    return NodePairs(most, room)


def _across(near: Sequence[int], far: Sequence[int], sockets: Sequence[int | None]) -> tuple[tuple[int, int], ...]:
    """Return the pairs between the ranks of two hosts, socket by socket."""
    return tuple(zip(chain(*_grouped(near, sockets)), chain(*_grouped(far, sockets)), strict=False))


def _grouped(ranks: Iterable[int], key: Sequence[int | None]) -> list[list[int]]:
    """Return the ranks grouped by a key, in order of first appearance."""
    groups: dict[int | None, list[int]] = {}
    for rank in ranks:
        groups.setdefault(key[rank], []).append(rank)
    return list(groups.values())


def _neighbours(ranks: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple(zip(ranks[0::2], ranks[1::2], strict=False))


def members(pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the ranks of some pairs, all first ranks before all second ones.

    >>> members([(0, 2), (1, 3)])
    [0, 1, 2, 3]
    """
    return [first for first, _ in pairs] + [second for _, second in pairs]
