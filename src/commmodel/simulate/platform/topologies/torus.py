"""Torus: hosts in a grid that is closed to a ring in each dimension."""

from collections.abc import Sequence
from typing import Any

from commmodel.errors import InputError
from commmodel.simulate.platform.description import Assembly, Platform
from commmodel.simulate.platform.topology import Name, Topology, check_sizes, make

__all__ = ["Torus", "torus"]


class Torus(Topology, frozen=True, tag="torus"):
    """Hosts in a grid of any number of dimensions, each the neighbour of two others in each."""

    sizes: tuple[int, ...]
    """The first is that of neighbouring numbers."""

    def zone(self, assembly: Assembly, name: Name) -> dict[str, Any]:
        """Return a torus; each host has one link upwards in each dimension."""
        hosts, dimensions = check_sizes(self.sizes, "torus"), len(self.sizes)
        if dimensions > 16:
            raise InputError(f"a torus of {dimensions} dimensions: at most 16")

        def link_name(place: int) -> str:
            host, axis = divmod(place, dimensions)
            return f"{name(host)} +{'xyzuvw'[axis] if dimensions <= 6 else axis}"

        first = self.add_cables(assembly, hosts * dimensions, link_name)
        return self.regular_zone("torus", self.sizes, first, **self.add_host_links(assembly, hosts, name))


def torus(sizes: Sequence[int], bandwidth: float, latency: float, **options: Any) -> Platform:
    """Return a torus with dimension-ordered routes: the first dimension first, in each the shorter way round.

    >>> torus([4, 3], 125e6, 15e-6).route(0, 7)
    ['node-3 +x down', 'node-3 +y up']
    """
    return make(Torus, sizes=tuple(sizes), bandwidth=bandwidth, latency=latency, **options)
