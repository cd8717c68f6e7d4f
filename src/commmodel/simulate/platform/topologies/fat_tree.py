"""Fat tree: a tree with several parents of each node, and several cables to each parent."""

from collections.abc import Sequence
from typing import Any

from commmodel.errors import InputError
from commmodel.simulate.platform.description import Assembly, Platform
from commmodel.simulate.platform.topology import MOST_LINKS, Name, Topology, check_sizes, make

__all__ = ["FatTree", "fat_tree"]


class FatTree(Topology, frozen=True, tag="fat-tree"):
    """A tree with several parents of each node; from the lowest level up."""

    down: tuple[int, ...]
    """Children of a switch of each level."""
    up: tuple[int, ...]
    """Parents of a node of the level below."""
    parallel: tuple[int, ...]
    """Cables to each parent."""

    def zone(self, assembly: Assembly, name: Name, as_simgrid: bool = False) -> dict[str, Any]:
        """Return a fat tree: a route upwards takes the port that the destination names, one downwards the same cable.

        as_simgrid: cables downwards are those of SimGrid 3.32.
        """
        down, up, parallel = self.down, self.up, self.parallel
        hosts = check_sizes(down, "fat tree, down")
        if not len(down) == len(up) == len(parallel) <= 16:
            raise InputError("a fat tree has as many numbers down, up and parallel: one for each of at most 16 levels")
        check_sizes(up, "fat tree, up")
        check_sizes(parallel, "fat tree, parallel")
        switches, links = [], []
        below = copies = 1
        for children, parents, cables in zip(down, up, parallel, strict=True):
            links.append(hosts // below * copies * parents * cables)
            below, copies = below * children, copies * parents
            switches.append(hosts // below * copies)
            if sum(links) > MOST_LINKS or hosts + sum(switches) > MOST_LINKS:
                raise InputError("a fat tree of more than 2^26 links or nodes")

        def switch_name(place: int) -> str:
            level, number = _level_of(place, switches)
            return f"switch {level + 1}.{number}"

        def link_name(place: int) -> str:
            level, number = _level_of(place, links)
            node, port = divmod(number, up[level] * parallel[level])
            return f"{name(node) if level == 0 else f'switch {level}.{node}'} port {port}"

        first = self.add_cables(assembly, sum(links), link_name)
        host_links = self.add_host_links(assembly, hosts, name, hosts + sum(switches), switch_name)
        more = {"parents": up, "cables": parallel, "as_simgrid": as_simgrid}
        return self.regular_zone("fat-tree", down, first, **more, **host_links)


def _level_of(place: int, counts: Sequence[int]) -> tuple[int, int]:
    """Return the level of a number among all levels', and its number there."""
    for level, count in enumerate(counts):
        if place < count:
            return level, place
        place -= count
    raise IndexError(place)


def fat_tree(
    down: Sequence[int], up: Sequence[int], parallel: Sequence[int], bandwidth: float, latency: float, **options: Any
) -> Platform:
    """Return a fat tree with D-mod-k routes: from the lowest level up, children, parents, and cables to each parent.

    >>> fat_tree([4, 4], [1, 2], [1, 2], 125e6, 15e-6).route(0, 5)
    ['node-0 port 0 up', 'switch 1.0 port 2 up', 'switch 1.1 port 2 down', 'node-5 port 0 down']
    """
    shape = {"down": tuple(down), "up": tuple(up), "parallel": tuple(parallel)}
    return make(FatTree, **shape, bandwidth=bandwidth, latency=latency, **options)
