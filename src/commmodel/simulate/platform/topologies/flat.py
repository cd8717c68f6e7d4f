"""Flat network: hosts on one switch.

Source of the limiter: Bédaride 2013, Section IV-B.
"""

from typing import Any

import numpy as np

from commmodel.arguments import integer
from commmodel.simulate.platform.description import MOST_HOSTS, Assembly, Platform
from commmodel.simulate.platform.topology import Backbone, Name, Topology, make

__all__ = ["Flat", "flat", "star"]


class Flat(Topology, frozen=True, tag="flat"):
    """Hosts on one switch."""

    hosts: int
    backbone: Backbone | None = None

    def zone(self, assembly: Assembly, name: Name, title: str = "") -> dict[str, Any]:
        """Return one star; title: the switch's name."""
        return star(self, assembly, self.hosts, name, self.backbone, title)


def star(
    topology: Topology, assembly: Assembly, hosts: int, name: Name, backbone: Backbone | None, title: str = ""
) -> dict[str, Any]:
    """Return hosts on one switch: limiter, up, backbone, down, limiter; a backbone is one link for all."""
    integer("hosts", hosts, 1, MOST_HOSTS)
    up = topology.add_cables(assembly, hosts, name) + topology.directions * np.arange(hosts, dtype=np.int64)
    links = topology.add_host_links(assembly, hosts, name)
    absent = np.full(hosts, -1, np.int64)
    number = -1
    if backbone is not None:
        full_title = f"{title} backbone".strip()
        number = assembly.add_links(1, backbone.bandwidth, backbone.latency, lambda _: full_title, backbone.sharing)
    return {
        "kind": "star",
        "hosts": hosts,
        "points": hosts,
        "up": up,
        "down": up + topology.directions - 1,
        "limiter": links["limiter"] if links["limiter"].size else absent,
        "loopback": links["loopback"] if links["loopback"].size else absent,
        "backbone": number,
    }


def flat(hosts: int, bandwidth: float, latency: float, **options: Any) -> Platform:
    """Return hosts on one switch.

    Parameters
    ----------
    hosts : int
    bandwidth, latency : float
        B/s and s of each host's link, in each direction.
    **options
        ``limiter`` (B/s), ``backbone`` and ``loopback`` (pairs of B/s and s), ``sharing``, ``cores``, ``speed``
        (flop/s of a core), ``host_names`` and ``name``, as in `Flat`.

    Examples
    --------
    >>> flat(4, 125e6, 15e-6, limiter=187.5e6).route(0, 2)
    ['node-0 limiter', 'node-0 up', 'node-2 down', 'node-2 limiter']
    """
    return make(Flat, hosts=hosts, bandwidth=bandwidth, latency=latency, **options)
