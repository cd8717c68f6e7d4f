"""LogP and LogGP as a network of links, for programs that run while they are simulated. Main entry: `ports`.

Each rank is a host of its own, whose link is its port. A message of k bytes leaves when its sender has spent o, and no
earlier than the gap g + (k - 1) G after the one before it left this port; it takes L - G, then k G on the links as a
flow, which is L + (k - 1) G, and o at its receiver. So the messages of one rank are as in LogGP, to the last bit of
rounding; messages of several ranks to one share the link of its port, where LogGP has them come one after the other.
"""

import math
from typing import TYPE_CHECKING

from commmodel.errors import InputError
from commmodel.simulate.delays import DelayModel, DelayParameters
from commmodel.simulate.network import Factor, Network, Overhead

if TYPE_CHECKING:
    from commmodel.simulate.platform import Platform

_NO_LIMIT = 1e18
"""B/s where a byte takes no time."""
_NO_LATENCY = 1e-15
"""Seconds: the engine takes latencies above 0 only."""


def ports(model: DelayModel, processes: int) -> tuple[Network, "Platform"]:
    """Return the network, and its platform of a host for each rank.

    A message of 1001 bytes takes 1 + 4 + 1000 0.5 + 1 seconds, and the next one begins 9 + 1000 0.5 after it:

    >>> from commmodel.simulate import run, Program, OPERATION, Code
    >>> import numpy as np
    >>> network, hosts = ports(DelayModel(DelayParameters(L=4.0, o=1.0, g=9.0, G=0.5), "loggp"), 2)
    >>> there = np.array(2 * [(Code.SEND, 1, 0, -1, 1001)], dtype=OPERATION)
    >>> here = np.array(2 * [(Code.RECV, 0, 0, -1, 1001)], dtype=OPERATION)
    >>> round(run(Program.from_ranks([there, here]), network, hosts).seconds, 6)
    1015.0

    Raises
    ------
    InputError
        If the model is LogGPS, or has other parameters within a host.
    """
    from commmodel.simulate.platform import flat

    if model.name == "loggps":
        raise InputError(
            "a program that runs needs a model of shared links, hybrid, fluid or smpi, or logp or loggp: not loggps"
        )
    if model.within:
        raise InputError(
            f"a program that runs has one set of parameters of {model.name}, not others within a host: name a `path`"
        )
    lines = model.by_size or ((math.inf, model.parameters),)
    per_byte = [0.0 if model.name == "logp" else p.G for _, p in lines]
    latency = max([_NO_LATENCY, *(p.L for _, p in lines)])
    bandwidth = max([1 / G if G else _NO_LIMIT for G in per_byte])
    overheads = tuple(Overhead(upto, p.o) for upto, p in lines)
    rows = [(upto, p, G) for (upto, p), G in zip(lines, per_byte, strict=True)]
    network = Network(
        name=model.name,
        eager_limit=math.inf,
        detached_limit=math.inf,
        send=overheads,
        isend=overheads,
        receive=overheads,
        latency_factors=(
            Factor(0, _factor(lines[0][1].L, latency)),
            *(Factor(upto, _factor(p.L - G, latency)) for upto, p, G in rows),
        ),
        bandwidth_factors=tuple(Factor(upto, 1 / (G * bandwidth) if G else 1.0) for upto, _, G in rows),
        message_gaps=_gaps(rows),
    )
    return network, flat(processes, bandwidth, latency / 2, name=model.name)


def _factor(seconds: float, latency: float) -> float:
    return max(seconds, _NO_LATENCY) / latency


def _gaps(rows: list[tuple[float, DelayParameters, float]]) -> tuple[Overhead, ...]:
    """Return g + (k - 1) G by size; none where messages need no distance."""
    gaps = tuple(Overhead(upto, max(p.g - G, 0.0), G) for upto, p, G in rows)
    return gaps if any(gap.constant or gap.per_byte for gap in gaps) else ()
