"""Derivatives of a simulated time by each link and each host, of a run in which messages share links.

The engine notes what each time comes of, and walks back from the end over it (`commmodel._core.flows.backward_walk`):
one run gives the derivatives by the bandwidth and the latency of every link, and by the computation on every host.
`commmodel.simulate.run` with ``slopes=`` returns them. Main entry: `Gradient`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.values import Value

if TYPE_CHECKING:
    from commmodel.simulate.platform import Platform

__all__ = ["Gradient", "HostSlope", "LinkSlope"]

Floats = NDArray[np.float64]
_ROUNDING = 1e-12


class LinkSlope(NamedTuple):
    """What a link does to a simulated time, in seconds by factors: 1 % more of it changes the time by 1 % of that."""

    name: str
    bandwidth: float
    """By the time of a byte on it, 1 over its bandwidth."""
    latency: float
    """By its latency."""


class HostSlope(NamedTuple):
    """What a host does to a simulated time."""

    name: str
    compute: float
    """Seconds by the factor of the time that computation takes on it."""


@dataclass(frozen=True)
class Gradient(Value):
    """Derivatives of the time at which the last rank ends.

    Where things that decide happen at the very same time, one of them counts. So where all links of a kind, or all
    hosts, are changed alike, and what was at one time stays so, the sum over them is the derivative.

    Examples
    --------
    Two messages of 1 MB share a link of 100 MB/s, which takes 1 ms as well:

    >>> import numpy as np
    >>> from commmodel.simulate import Program, OPERATION, Code, fluid, platform, run
    >>> sends = [[(Code.SEND, 2 + i, 0, -1, 1e6)] for i in range(2)]
    >>> receives = [[(Code.RECV, i, 0, -1, 1e6)] for i in range(2)]
    >>> program = Program.from_ranks([np.array(rank, dtype=OPERATION) for rank in sends + receives])
    >>> two = platform.flat(2, bandwidth=100e6, latency=1e-3, cores=2)
    >>> gradient = run(program, fluid(), two, hosts=[0, 0, 1, 1], slopes="factors").gradient
    >>> gradient.hosts()
    ()
    >>> for link in gradient.links():
    ...     print(f"{link.name}: bandwidth {1e3 * link.bandwidth:.0f} ms, latency {1e3 * link.latency:.0f} ms")
    node-0 up: bandwidth 20 ms, latency 1 ms
    node-1 down: bandwidth 0 ms, latency 1 ms
    """

    by_bandwidth: Floats
    """In seconds by B/s of each link, shape (links,)."""
    by_latency: Floats
    """In seconds by seconds of each link, shape (links,)."""
    by_computation: Floats
    """In seconds by the factor of the time of computation on each host, shape (hosts,)."""
    overhead: float
    """Seconds by the factor of what processors spend on messages."""
    gap: float
    """Seconds by the factor of the least time between two messages of a host."""
    bandwidth: Floats = field(repr=False)
    """B/s of each link, shape (links,)."""
    latency: Floats = field(repr=False)
    """Seconds of each link, shape (links,)."""
    link_names: Sequence[str] = field(compare=False, repr=False)
    host_names: Sequence[str] = field(compare=False, repr=False)

    @property
    def by_cost(self) -> dict[str, float]:
        """Seconds by the factor of each cost, such as that of all latencies, or of the time of a byte on all links."""
        return {
            "latency": float((self.by_latency * self.latency).sum()),
            "overhead": self.overhead,
            "gap": self.gap,
            "bandwidth": 0.0 - float((self.by_bandwidth * self.bandwidth).sum()),
            "compute": float(self.by_computation.sum()),
        }

    def links(self) -> tuple[LinkSlope, ...]:
        """Return the links that decide the time, that with the most seconds first."""
        bandwidth, latency = 0.0 - self.by_bandwidth * self.bandwidth, 0.0 + self.by_latency * self.latency
        weight = np.abs(bandwidth) + np.abs(latency)
        return tuple(
            LinkSlope(self.link_names[number], float(bandwidth[number]), float(latency[number]))
            for number in _largest(weight)
        )

    def hosts(self) -> tuple[HostSlope, ...]:
        """Return the hosts whose computation decides the time, that with the most seconds first."""
        return tuple(
            HostSlope(self.host_names[number], float(self.by_computation[number]))
            for number in _largest(np.abs(self.by_computation))
        )


def _largest(weight: Floats) -> list[int]:
    """Return the numbers of all weights that are more than rounding, the largest first."""
    order = np.argsort(-weight, kind="stable")
    return [int(number) for number in order[: np.count_nonzero(weight > _ROUNDING * weight.sum())]]


def from_slopes(slopes: Floats, platform: "Platform") -> Gradient:
    """Return the derivatives that the engine gives of a run on a platform.

    Parameters
    ----------
    slopes : float array, shape (2 links + hosts + 3,)
        By bandwidths, latencies, computation, overheads, gaps, and what is fixed.
    platform : Platform
    """
    links, hosts = platform.capacity.size, platform.hosts
    by_bandwidth, by_latency, by_computation, rest = np.split(slopes, [links, 2 * links, 2 * links + hosts])
    return Gradient(
        by_bandwidth, by_latency, by_computation, float(rest[0]), float(rest[1]),
        platform.capacity, platform.latency, platform.link_names, platform.host_names,
    )  # fmt: skip
