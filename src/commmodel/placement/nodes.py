"""Where ranks may sit, and how far apart that is. Main entry: `Seats`."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from commmodel.errors import InputError
from commmodel.simulate.platform import Platform
from commmodel.units import counted

Hosts = NDArray[np.int32]
_MOST_ROUTED = 1024
"""Nodes between which all routes are computed; of more, only their order says which are near."""


@dataclass(frozen=True)
class Seats:
    """Seats of ranks on nodes of a platform: the host of each, node after node."""

    platform: Platform
    hosts: Hosts
    """Shape (ranks,), those of a node together."""
    nodes: NDArray[np.int64]
    """Nodes in use, in their order."""

    @cached_property
    def node_of_seat(self) -> NDArray[np.int64]:
        """Place of each seat's node among the nodes, shape (ranks,)."""
        place = np.full(int(self.platform.node_of.max()) + 1, -1, np.int64)
        place[self.nodes] = np.arange(self.nodes.size)
        return place[self.platform.node_of[self.hosts]]

    @cached_property
    def distances(self) -> NDArray[np.int64] | None:
        """Links of the route between each two nodes, shape (nodes, nodes); None where there are too many."""
        if self.nodes.size > _MOST_ROUTED:
            return None
        route = self.platform.routing().route
        ends = self.hosts[np.searchsorted(self.node_of_seat, np.arange(self.nodes.size))].tolist()
        table = np.array([[len(route(a, b)) if a != b else 0 for b in ends] for a in ends], np.int64)
        return np.maximum(table, table.T)

    @cached_property
    def levels(self) -> list[NDArray[np.int64]]:
        """Groups of nodes that are nearer to each other than to others, shape (nodes,) each; the largest groups first.

        Nodes are of one group where a chain of near ones connects them. Levels that tell nothing are left out: all
        nodes in one group, each in its own, or the groups of the level before.
        """
        distances = self.distances
        if distances is None:
            return []
        levels: list[NDArray[np.int64]] = []
        for bound in np.unique(distances)[::-1].tolist():
            group = _chains(distances <= bound)
            count = int(group.max()) + 1
            if 1 < count < group.size and not (levels and int(levels[-1].max()) + 1 == count):
                levels.append(group)
        return levels


def _chains(near: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the connected components of a symmetric relation, numbered by their first members."""
    group = np.full(len(near), -1, np.int64)
    number = 0
    for first in range(len(near)):
        if group[first] >= 0:
            continue
        members = np.zeros(len(near), np.bool_)
        fresh = members.copy()
        fresh[first] = True
        while fresh.any():
            members |= fresh
            fresh = near[fresh].any(axis=0) & ~members
        group[members] = number
        number += 1
    return group


def block_seats(platform: Platform, processes: int, nodes: NDArray[np.int64], per_node: int | None) -> Seats:
    """Return the seats that ranks in blocks take: nodes are filled one after the other.

    Raises
    ------
    InputError
        If there are more ranks than the nodes have cores, or take.
    """
    full: list[Hosts] = []
    room, used = 0, 0
    for node in nodes.tolist():
        if room >= processes:
            break
        full.append(platform.seats(node, per_node))
        room += full[-1].size
        used += 1
    if room < processes:
        kind = f"{room} cores" if per_node is None else f"{counted(nodes.size, 'node')} with {per_node} ranks each"
        raise InputError(
            f"{counted(processes, 'rank')} on {kind} of platform {platform.name!r}: take fewer, or more nodes"
        )
    return Seats(platform, np.concatenate(full)[:processes], nodes[:used])


def even_seats(seats: Seats, per_node: int | None) -> Seats:
    """Return seats on the same nodes with as many ranks on each, or one more, where the nodes have room for that."""
    count, processes = seats.nodes.size, seats.hosts.size
    few, more = divmod(processes, count)
    parts = []
    for place, node in enumerate(seats.nodes.tolist()):
        ranks = few + (place < more)
        if ranks > seats.platform.seats(node, per_node).size:
            return seats
        parts.append(seats.platform.seats(node, ranks))
    return Seats(seats.platform, np.concatenate(parts), seats.nodes)
