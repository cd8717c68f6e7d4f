"""Crossbar: a link for each two hosts."""

from typing import Any

import numpy as np

from commmodel.arguments import integer
from commmodel.errors import InputError
from commmodel.simulate.platform.description import MOST_HOSTS, Assembly, Platform
from commmodel.simulate.platform.topology import Name, Topology, make

__all__ = ["Crossbar", "crossbar"]


class Crossbar(Topology, frozen=True, tag="crossbar"):
    """A link for each two hosts."""

    hosts: int

    def zone(self, assembly: Assembly, name: Name) -> dict[str, Any]:
        """Return a table of routes."""
        hosts = integer("hosts", self.hosts, 1, MOST_HOSTS)
        if hosts > 4096:
            raise InputError(f"a crossbar of {hosts} hosts: at most 4096")
        pairs = hosts * (hosts - 1) // 2
        low, high = np.triu_indices(hosts, 1)
        first = self.add_cables(assembly, pairs, lambda i: f"{name(int(low[i]))} {name(int(high[i]))}")
        links = self.add_host_links(assembly, hosts, name)
        numbers = np.full((hosts, hosts, 3), -1, np.int64)
        numbers[low, high, 1] = first + self.directions * np.arange(pairs)
        numbers[high, low, 1] = numbers[low, high, 1] + self.directions - 1
        if self.limiter is not None:
            numbers[:, :, 0], numbers[:, :, 2] = links["limiter"][:, None], links["limiter"][None, :]
        diagonal = np.arange(hosts)
        numbers[diagonal, diagonal] = -1
        if self.loopback is not None:
            numbers[diagonal, diagonal, 1] = links["loopback"]
        used = (numbers >= 0).reshape(hosts * hosts, 3)
        offsets = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)
        routes = numbers.reshape(hosts * hosts, 3)[used]
        return {"kind": "table", "hosts": hosts, "points": hosts, "offsets": offsets, "links": routes}


def crossbar(hosts: int, bandwidth: float, latency: float, **options: Any) -> Platform:
    """Return a full crossbar: a link for each two hosts.

    >>> crossbar(3, 125e6, 15e-6).route(2, 0)
    ['node-0 node-2 down']
    """
    return make(Crossbar, hosts=hosts, bandwidth=bandwidth, latency=latency, **options)
