"""Cabinets: hosts on the switch of their cabinet, and the cabinets on one switch.

Source: Bédaride 2013, Section IV-B and Figure 5.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from commmodel.errors import InputError
from commmodel.simulate.platform.description import Assembly, Platform
from commmodel.simulate.platform.topologies.flat import star
from commmodel.simulate.platform.topology import Backbone, Link, Name, Topology, make

__all__ = ["Cabinets", "Uplink", "cabinets"]


class Uplink(Link, frozen=True):
    """Links of a cabinet: up, down, and a limiter for both."""

    limiter: float | None = None


class Cabinets(Topology, frozen=True, tag="cabinets"):
    """Hosts on a switch of their cabinet, and the cabinets on one switch."""

    hosts: tuple[int, ...]
    """Of each cabinet."""
    uplink: Uplink
    backbone: Backbone | None = None
    """Of each cabinet."""

    def assemble(self, assembly: Assembly, name: Name) -> dict[str, Any]:
        """Add a star for each cabinet, and return the links between cabinets."""
        count, begin = len(self.hosts), 0
        if not 0 < count <= 2**16:
            raise InputError(f"{count} cabinets: expected from 1 to {2**16}")
        for number, hosts in enumerate(self.hosts):
            names = partial(lambda place, begin: name(place + begin), begin=begin)
            zone = star(self, assembly, hosts, names, self.backbone, f"cabinet {number}")
            assembly.add_zone(zone, names, self.speed, self.cores)
            begin += hosts
        uplink, cabinet = self.uplink, "cabinet {}".format
        up = assembly.add_links(count, uplink.bandwidth, uplink.latency, cabinet) + 2 * np.arange(count)
        outward, inward = [up], [up + 1]
        if uplink.limiter is not None:
            limiter = assembly.add_links(count, uplink.limiter, 0.0, "cabinet {} limiter".format, "shared")
            numbers = limiter + np.arange(count)
            outward, inward = [numbers, *outward], [*inward, numbers]
        offsets = np.arange(count + 1) * len(outward)
        return {
            "outward_offsets": offsets,
            "outward": np.stack(outward, axis=1).ravel(),
            "inward_offsets": offsets,
            "inward": np.stack(inward, axis=1).ravel(),
        }


def cabinets(
    hosts: Sequence[int], bandwidth: float, latency: float, uplink: Uplink | tuple[float, ...], **options: Any
) -> Platform:
    """Return cabinets of hosts; uplink of each: B/s, s, and B/s of the limiter of both directions.

    >>> cabinets([2, 2], 125e6, 15e-6, (1.25e9, 0.0, 1.625e9)).route(0, 3)[1:-1]
    ['cabinet 0 limiter', 'cabinet 0 up', 'cabinet 1 down', 'cabinet 1 limiter']
    """
    link = Uplink(*uplink) if isinstance(uplink, tuple) else uplink
    return make(Cabinets, hosts=tuple(hosts), bandwidth=bandwidth, latency=latency, uplink=link, **options)
