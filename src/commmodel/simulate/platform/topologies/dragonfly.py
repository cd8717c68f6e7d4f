"""Dragonfly: groups of chassis of blades, each with a router and its hosts."""

from typing import Any

from commmodel.errors import InputError
from commmodel.simulate.platform.description import Assembly, Platform
from commmodel.simulate.platform.topology import MOST_LINKS, Name, Topology, check_sizes, make

__all__ = ["Dragonfly", "dragonfly"]


class Dragonfly(Topology, frozen=True, tag="dragonfly"):
    """Groups of chassis of blades of nodes."""

    groups: int
    chassis: int
    blades: int
    nodes: int
    parallel: tuple[int, int, int] = (1, 1, 1)
    """Cables of a link between groups (blue), between chassis (black), between blades (green)."""

    def zone(self, assembly: Assembly, name: Name, as_simgrid: bool = False) -> dict[str, Any]:
        """Return a dragonfly; as_simgrid: routes within the last group are those of SimGrid 3.32."""
        sizes = self.groups, self.chassis, self.blades, self.nodes
        if len(tuple(self.parallel)) != 3:
            raise InputError("a dragonfly has cables for groups, chassis and blades: three numbers")
        hosts = check_sizes(sizes, "dragonfly")
        check_sizes(self.parallel, "dragonfly, parallel cables")
        groups, chassis, blades, _ = sizes
        if groups > chassis * blades:
            problem = (
                f"dragonfly: {groups} groups, but a group of {chassis * blades} routers has links to as many others"
            )
            raise InputError(f"{problem}: take fewer groups, or more blades")
        colours = {
            "green": groups * chassis * (blades * (blades - 1) // 2),
            "black": groups * (chassis * (chassis - 1) // 2) * blades,
            "blue": groups * (groups - 1) // 2,
        }
        if sum(colours.values()) > MOST_LINKS:
            raise InputError("a dragonfly of more than 2^26 links")
        first = self.add_cables(assembly, hosts, name)
        for (colour, count), times in zip(colours.items(), reversed(self.parallel), strict=True):
            if count:
                self.add_cables(assembly, count, (colour + " link {}").format, times)
        nodes = hosts + groups * chassis * blades
        host_links = self.add_host_links(assembly, hosts, name, nodes, "router {}".format)
        return self.regular_zone("dragonfly", sizes, first, as_simgrid=as_simgrid, **host_links)


def dragonfly(
    groups: int, chassis: int, blades: int, nodes: int, bandwidth: float, latency: float, **options: Any
) -> Platform:
    """Return a dragonfly with minimal routes; ``parallel``: cables of a link between groups, chassis, blades.

    >>> dragonfly(2, 2, 2, 2, 125e6, 15e-6).route(0, 8)
    ['node-0 up', 'green link 0 up', 'blue link 0 up', 'node-8 down']
    """
    counts = {"groups": groups, "chassis": chassis, "blades": blades, "nodes": nodes}
    return make(Dragonfly, **counts, bandwidth=bandwidth, latency=latency, **options)
