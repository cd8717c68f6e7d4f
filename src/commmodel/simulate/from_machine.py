"""Network and platform of a measured machine: the hybrid model of `commmodel fit` (Bédaride 2013, Section IV).

A mode's L and B become factors of a reference, those of the links of the platform. A round trip less o_r + k O_r at its
two ends holds no o_s, so a message leaves at the begin of its send's overhead. A machine alone is a platform, too:
hosts on one switch, each with a link of the reference up and down, and a limiter for both together. Where R_N is known,
that is the link's, and a message alone gets the reference. Main entries: `network`, `platform`.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

from commmodel.arguments import Count, Positive
from commmodel.errors import MissingParameterError
from commmodel.machine import Hybrid, Machine, Mode, Parameter
from commmodel.machine.hybrid import answers_wait
from commmodel.machine.rates import duplex_factor, node_rate
from commmodel.signatures import checked
from commmodel.simulate.network import Factor, Network, Overhead

if TYPE_CHECKING:
    from commmodel.simulate.platform import Platform

__all__ = ["Reference", "network", "platform", "reference"]

_NO_LIMIT = 1e15
"""B/s between ranks of one host, where that was not measured."""
_MOST_OF_IT = 0.5
"""Share of a message from which on it is taken for one that leaves before its receive is posted."""
_UNEVENNESS = 0.1
"""By how much shares of TCP's flows on a link differ: ranks of emulated hosts that exchanged the same with their
neighbours were done up to a tenth of that time apart (docs/theory/validation-emulated.md). Two hosts do not show it."""
_NO_LATENCY = 1e-9
"""Factor of a mode without latency: the engine takes factors above 0 only, and this is less than 1e-12 s."""


class Reference(NamedTuple):
    """Latency and bandwidth between two hosts, in seconds and bytes per second."""

    latency: float
    bandwidth: float


def reference(model: Hybrid) -> Reference:
    """Return the reference values of the factors of a model's modes.

    What the model itself says; else the bandwidth of the largest messages and the latency of the smallest, or of the
    next mode that has one.

    >>> from commmodel.machine import Edge
    >>> first = Mode("asynchronous", Parameter(2e-5), Parameter(5e7), Edge(1420))
    >>> reference(Hybrid((first, Mode("synchronous", Parameter(1e-4), Parameter(1e8)))))
    Reference(latency=2e-05, bandwidth=100000000.0)
    """
    latencies = [mode.L.value for mode in model.modes if mode.L.value > 0]
    latency = latencies[0] if latencies else 0.0
    bandwidth = model.modes[-1].B.value
    return Reference(
        model.link_latency.value if model.link_latency is not None else latency,
        model.link_bandwidth.value if model.link_bandwidth is not None else bandwidth,
    )


def _end(mode: Mode) -> float:
    return math.inf if mode.limit is None else float(mode.limit.value)


def _last(model: Hybrid, *kinds: str) -> float:
    """Return the largest message of some kinds of modes; 0 without any."""
    return max((_end(mode) for mode in model.modes if mode.kind in kinds), default=-1.0)


def _values(constant: Parameter | None, per_byte: Parameter | None, other: Overhead, limit: float) -> Overhead:
    if constant is None:
        return other
    return Overhead(limit, constant.value, 0.0 if per_byte is None else per_byte.value)


@checked
def network(machine: Machine, path: str | None = None) -> Network:
    """Return the network model of a machine's path.

    Parameters
    ----------
    machine : Machine
        With a hybrid model of the path.
    path : str, optional
        May be left out where there is only one, or one between nodes.

    Raises
    ------
    MissingParameterError
        Naming the kernels to run, where there is none.

    Examples
    --------
    >>> from commmodel import machine
    >>> graphene = network(machine.load("graphene"))
    >>> graphene.eager_limit < 65536 < graphene.detached_limit
    True
    """
    model = machine.hybrid_model(path)
    latency, bandwidth = reference(model)
    sends, isends, receives = [], [], []
    for mode in model.modes:
        end = _end(mode)
        sends.append(Overhead(end, mode.o_s.value, mode.O_s.value))
        isends.append(_values(mode.o_is, mode.O_is, sends[-1], end))
        receives.append(Overhead(end, mode.o_r.value, mode.O_r.value))
    eager = _last(model, "asynchronous")
    in_order = answers_wait(model.answer_delay)
    return Network(
        name=f"hybrid, {machine.name}",
        eager_limit=eager,
        detached_limit=max(eager, _last(model, "detached")),
        send=tuple(sends),
        isend=tuple(isends),
        receive=tuple(receives),
        leaves_after_overhead=False,
        leaves_unexpected=model.unexpected is not None and model.unexpected.value > _MOST_OF_IT,
        answers_in_order=in_order,
        answer_latency=model.answer_latency.value if in_order and model.answer_latency is not None else 0.0,
        variation=(model.modes[-1].relative_error or 0.0) if in_order else 0.0,
        unevenness=_UNEVENNESS if in_order else 0.0,
        send_buffer=0.0 if model.send_buffer is None else model.send_buffer.value,
        latency_factors=tuple(Factor(_end(mode), max(mode.L.value / latency, _NO_LATENCY)) for mode in model.modes)
        if latency
        else (),
        bandwidth_factors=tuple(Factor(_end(mode), mode.B.value / bandwidth) for mode in model.modes),
        message_gaps=_gaps(machine, model.path),
    )


def _gaps(machine: Machine, path: str) -> tuple[Overhead, ...]:
    """Return 1/M of a path by size, with as many processes as M is of; none where no message rate is known."""
    gaps = []
    for segment in machine.segments:
        end = math.inf if segment.limit is None else float(segment.limit.value)
        if segment.path in (path, "any") and segment.message_rate:
            gaps += [
                Overhead(end if rate.upto is None else float(rate.upto), 1 / rate.M.value)
                for rate in segment.message_rate
            ]
            if gaps[-1].limit < end:
                gaps.append(Overhead(end, 0.0))
        elif segment.path in (path, "any"):
            gaps.append(Overhead(end, 0.0))
    return tuple(gaps) if any(gap.constant for gap in gaps) else ()


@checked
def platform(
    machine: Machine, hosts: Count, path: str | None = None, *, cores: Count = 1, speed: Positive = 1e9
) -> "Platform":
    """Return a platform of the measured hosts on one switch that limits nothing.

    A host's link carries R_N of the largest messages, that of streams where the machine has it, else that of
    ping-pongs, or where none was seen, as much as all pairs together had. What both directions have together is in the
    ratio of both R_N, else the contention. Without any R_N a message alone fills the link.

    Ranks of one host talk over links as of the machine's path within a node, where it has one, else at no cost.

    Parameters
    ----------
    machine : Machine
        With a hybrid model of the path, and its contention.
    hosts : int
    path : str, optional
        As of `network`.
    cores : int
        Of a host: so many ranks it has room for.
    speed : float
        Flop/s of a core.

    Raises
    ------
    MissingParameterError
        Naming the kernel to run, where the model or its contention is missing.

    Examples
    --------
    >>> from commmodel import machine
    >>> platform(machine.load("graphene"), 4).route(0, 2)
    ['node-0 limiter', 'node-0 up', 'node-2 down', 'node-2 limiter']
    """
    from commmodel.simulate.platform import flat
    from commmodel.simulate.platform.topology import Backbone

    model = machine.hybrid_model(path)
    if model.contention is None:
        raise MissingParameterError(
            f"machine {machine.name!r}, hybrid model of path {model.path}: contention is missing: measure it with "
            "python -m commmodel.bench contention, then fit, or name a platform"
        )
    latency, bandwidth = reference(model)
    link, together = _link(machine, model, bandwidth)
    within = [reference(model) for model in machine.hybrid if model.path in ("same-socket", "same-node")]
    return flat(
        hosts, link, latency / 2, limiter=(together or model.contention.value) * link, cores=cores, speed=speed,
        loopback=(within[0].bandwidth, within[0].latency) if within else (_NO_LIMIT, 0.0), name=machine.name,
        backbone=Backbone(bandwidth, 0.0, "fatpipe") if link > bandwidth else None,
    )  # fmt: skip


def _link(machine: Machine, model: Hybrid, bandwidth: float) -> tuple[float, float]:
    """Return B/s of a host's link, and what both directions have together over that; 0 where only contention tells."""
    largest = next((segment for segment in reversed(machine.segments) if segment.path in (model.path, "any")), None)
    rate = None if largest is None else largest.one_way.R_N if largest.one_way is not None else node_rate(largest)
    if largest is None or rate is None:
        return bandwidth, 0.0
    least = rate.value if rate.is_limiting else rate.low or 0.0
    link = least * bandwidth / model.modes[-1].B.value
    if link <= bandwidth:
        return bandwidth, 0.0
    duplex = duplex_factor(largest)
    return link, 0.0 if duplex is None else min(max(duplex.value, 1.0), 2.0)
