"""Parameters of messages on the links of a platform: the flow-level models.

A message of n bytes, s = n + header on the wire, first takes latency_factor(s) times the sum of its route's latencies,
without using bandwidth; then it is a flow that shares the links of its route with others, and moves
bandwidth_factor(s) bytes for each byte of its share. What sender and receiver spend, and who waits for whom, depends on
its mode (Bédaride 2013, Section IV): asynchronous up to `eager_limit`, detached up to `detached_limit`, synchronous
above. The hybrid model takes all of it from measurements, the fluid model none, and `SMPI` is the parameter set of
SimGrid's SMPI 3.32. Main entries: `Network`, `SMPI`, `fluid`, `from_machine`.
"""

import math
from typing import Annotated

from commmodel.arguments import Bounds
from commmodel.signatures import checked
from commmodel.structs import InputStruct
from commmodel.values import OneLine

__all__ = ["SMPI", "Factor", "Network", "Overhead", "fluid"]

_Limit = Annotated[float, Bounds(ge=0)]


class Overhead(InputStruct, frozen=True, forbid_unknown_fields=True):
    """Seconds that a processor spends on a message: constant + per_byte n, for n up to the limit."""

    limit: float
    """In bytes of the message; infinite in the last piece."""
    constant: float
    per_byte: float = 0.0


class Factor(InputStruct, frozen=True, forbid_unknown_fields=True):
    """A factor that holds for up to `limit` bytes on the wire."""

    limit: float
    value: float


class Network(OneLine, InputStruct, frozen=True, forbid_unknown_fields=True):
    """A flow-level model."""

    name: str
    header: int = 0
    """Bytes on the wire beside the message's own."""
    eager_limit: float = 0.0
    """Messages of up to so many bytes are asynchronous. They leave whether or not their receive is posted."""
    detached_limit: float = 0.0
    """Messages of up to so many bytes are detached. The sender goes on, the message leaves when its receive is posted.
    Above, the sender waits for the end of the transfer, which begins when both are there."""
    send: tuple[Overhead, ...] = ()
    """o_s + n O_s of a blocking send that is asynchronous or detached."""
    isend: tuple[Overhead, ...] = ()
    """Of a non-blocking send, in every mode."""
    receive: tuple[Overhead, ...] = ()
    """o_r + n O_r of an asynchronous or detached message, at the receiver when it has come."""
    leaves_after_overhead: bool = True
    """Whether a message leaves at the end of the send's overhead, or at its begin."""
    leaves_unexpected: bool = False
    """Whether detached and synchronous messages, too, leave whether or not their receive is posted, as over TCP where
    the receiver's library reads whatever comes while its rank is in MPI. A synchronous send still waits."""
    answers_in_order: bool = False
    """Whether all that goes from one rank to another on another host goes in order, as over one TCP connection. A
    detached or synchronous message asks for its receive; the answer waits behind the data of messages that its receiver
    sends to its sender already."""
    answer_latency: float = 0.0
    """Seconds that such a request or answer takes. With 0 it takes the latency of an empty message."""
    send_buffer: float = 0.0
    """Bytes on the wire that a socket takes at once. A synchronous send ends when no more than that of its message is
    still to be transferred. Asynchronous messages of up to so many bytes leave their host for others one after the
    other; larger ones share its link."""
    latency_factors: tuple[Factor, ...] = ()
    bandwidth_factors: tuple[Factor, ...] = ()
    message_gaps: tuple[Overhead, ...] = ()
    """Seconds after a message in which no other one leaves its host for others, 1 over the messages a second of a host.
    Without any, it sends all of its messages at once."""
    window: float = 0.0
    """Bytes of TCP's window. A flow gets at most window / (2 × latency of its route) B/s; 0 is no bound."""
    capacity_weight: float = 0.0
    """A flow's share is in inverse proportion to its penalty, Σ (latency + capacity_weight / capacity) over its route;
    where all of that is 0, all flows have the same."""
    penalty_without_latency: float = 0.0
    """Seconds, the penalty of flows on a route that has no latency. Where it is 0, theirs is as that of others."""
    cross_traffic: float = 0.0
    """Share of its rate that a flow takes on the way back, for what TCP acknowledges."""
    one_queue: bool = False
    """Whether a host has one queue for all that it sends, so that such requests and answers also wait behind what its
    sockets hold for others: `send_buffer` bytes of each message that it is sending. With fair queues they do not."""
    variation: float = 0.0
    """Share by which the work of flows is less or more at most, by numbers that are the same in each run. So ranks that
    do the same do not come at the very same time, on which the order of answers hangs."""
    unevenness: float = 0.0
    """Share by which penalties of flows are less or more at most, in the same manner, so that they get different shares
    of a link."""


_EDGES = (0, 257, 732, 1426, 3484, 5776, 9376, 15424, 65472)
_LATENCY = (2.01467, 1.95341, 1.9503, 1.61075, 1.88101, 2.18796, 2.59299, 3.48845, 11.6436)
_BANDWIDTH = (0.812084, 0.338112, 0.341987, 0.608902, 0.77493, 1.08739, 0.58729, 0.697866, 0.940694)


def _factors(values: tuple[float, ...]) -> tuple[Factor, ...]:
    """Return factors that hold above each edge, 1 up to the first."""
    limits = (*_EDGES[1:], math.inf)
    return (Factor(0, 1.0), *(Factor(limit, value) for limit, value in zip(limits, values, strict=True)))


SMPI = Network(
    name="smpi",
    header=16,
    eager_limit=-1,
    detached_limit=65535,
    latency_factors=_factors(_LATENCY),
    bandwidth_factors=_factors(_BANDWIDTH),
    window=4194304,
    capacity_weight=8775,
    penalty_without_latency=1.0,
    cross_traffic=0.05,
)
"""What SMPI 3.32 of SimGrid has where nothing else is said. Its authors fitted it to a Gigabit Ethernet cluster."""


@checked
def fluid(detached_limit: _Limit = 65536, eager_limit: _Limit = 0.0) -> Network:
    """Return the pure fluid model: latency and shared bandwidth, no factors, no overheads (Bédaride 2013, Section V).

    Parameters
    ----------
    detached_limit, eager_limit : float
        Bytes up to which a message lets its sender go on, and leaves without its receive, as in `Network`.

    Examples
    --------
    >>> fluid().latency_factors
    ()
    """
    return Network("fluid", eager_limit=eager_limit, detached_limit=detached_limit)
