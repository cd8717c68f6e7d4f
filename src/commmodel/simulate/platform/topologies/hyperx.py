"""HyperX: a grid of routers, each with hosts and a link to every other router of its row in each dimension.

With two routers in each dimension it is a hypercube, with two dimensions a flattened butterfly. Source: Ahn et al.
2009.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from commmodel.errors import InputError
from commmodel.simulate.platform.description import Assembly, Platform
from commmodel.simulate.platform.topology import MOST_LINKS, Name, Topology, check_sizes, make

__all__ = ["HyperX", "hyperx"]


class HyperX(Topology, frozen=True, tag="hyperx"):
    """A grid of routers, fully connected in each dimension."""

    sizes: tuple[int, ...]
    """Routers in each dimension; the first varies fastest."""
    nodes: int = 1
    """Hosts of a router."""

    def zone(self, assembly: Assembly, name: Name) -> dict[str, Any]:
        """Return a HyperX; the links of a dimension are numbered row by row."""
        sizes = self.nodes, *self.sizes
        hosts = check_sizes(sizes, "hyperx")
        if not 1 <= len(self.sizes) <= 22:
            raise InputError(f"a HyperX of {len(self.sizes)} dimensions: expected from 1 to 22")
        routers = prod(self.sizes)
        counts = [routers // size * (size * (size - 1) // 2) for size in self.sizes]
        if sum(counts) > MOST_LINKS:
            raise InputError("a HyperX of more than 2^26 links")
        first = self.add_cables(assembly, hosts, name)
        for dimension, count in enumerate(counts):
            self.add_cables(assembly, count, f"dimension {dimension} link {{}}".format)
        host_links = self.add_host_links(assembly, hosts, name, hosts + routers, "router {}".format)
        return self.regular_zone("hyperx", sizes, first, **host_links)


def hyperx(sizes: Sequence[int], bandwidth: float, latency: float, **options: Any) -> Platform:
    """Return a HyperX with dimension-ordered routes; ``nodes``: hosts of a router.

    >>> hyperx([4, 4], 125e6, 15e-6, nodes=2).route(0, 15)
    ['node-0 up', 'dimension 0 link 2 up', 'dimension 1 link 18 up', 'node-15 down']
    >>> len(hyperx([2] * 4, 125e6, 15e-6).route(0, 15))  # a hypercube: four bits differ
    6
    """
    return make(HyperX, sizes=tuple(sizes), bandwidth=bandwidth, latency=latency, **options)
