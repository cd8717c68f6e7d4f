"""LogP, LogGP and pLogP: a message between two processes, and a train of messages. Source: March et al. 2009.

L is the latency of the network, o the overhead of a processor for a message, g the gap between two messages of a
process, G the time of a further byte. LogP is LogGP with G = 0; in pLogP (Kielmann, Bal and Verstoep 2000) overheads
and gap are functions of the size. Here the messages of a process begin at least max(o, g + (m − 1) G) apart: LogGP's
own rule, in which the gap counts from the last byte of a message; for m = 1 it is LogP's max(o, g). An empty message
counts as one byte. Times are in seconds. Arguments:

message_size
    m, in bytes, ≥ 0; below 1 it counts as 1.
messages
    k, ≥ 1.
L, plogp_L
    Latency of the network, seconds; that of pLogP, L', holds what g(m) does not.
o
    Overhead of sender and of receiver, seconds.
g
    Gap between two messages, seconds.
G
    Seconds per byte.
gap
    pLogP's g(m) for the size of the message, seconds.
send_overhead, receive_overhead
    pLogP's o_s(1) and o_r(1), seconds.
"""

from commmodel.models.formula import Real, formula

__all__ = [
    "byte_time_from_plogp", "latency_from_plogp", "logp_time", "overhead_from_plogp", "plogp_time", "time",
    "train_time",
]  # fmt: skip


@formula
def time(message_size: Real, L: Real, o: Real, G: Real) -> Real:
    """Return the time of one message, T = L + 2 o + (m − 1) G.

    From the begin of the send to the end of the receive. March 2009, Section 3.2. The print gives less than the time of
    one byte for m = 0.

    >>> round(1e6 * time(1, 1.95e-6, 0.65e-6, 1e-9), 3)
    3.25
    """
    return L + 2.0 * o + (max(message_size, 1.0) - 1.0) * G


@formula
def logp_time(L: Real, o: Real) -> Real:
    """Return the time of one small message, T = L + 2 o.

    March 2009, Section 3.2, with G = 0, which the paper assumes up to 8 bytes.

    >>> round(1e6 * logp_time(1.75e-6, 0.85e-6), 3)
    3.45
    """
    return L + 2.0 * o


@formula
def train_time(message_size: Real, messages: Real, L: Real, o: Real, g: Real, G: Real) -> Real:
    """Return the time of k messages from one process to another, sent one after the other.

    T = o + (k − 1) max(o, g + (m − 1) G) + L + (m − 1) G + o

    March 2009, Section 3.2, prints o + (k − 1) max(g, o) + L + o, which is this for m = 1.

    >>> train_time(1, 5, 3.0, 1.0, 2.0, 0.1)
    13.0
    >>> train_time(11, 5, 3.0, 1.0, 2.0, 0.1)
    18.0
    """
    rest = (max(message_size, 1.0) - 1.0) * G
    return o + (messages - 1.0) * max(o, g + rest) + L + rest + o


@formula
def plogp_time(L: Real, gap: Real) -> Real:
    """Return pLogP's time of one message, T = L + g(m).

    L is pLogP's L'. Kielmann, Bal and Verstoep 2000; March 2009, Figure 2, names the parameters.

    >>> plogp_time(3.0, 2.0)
    5.0
    """
    return L + gap


@formula
def latency_from_plogp(plogp_L: Real, gap: Real, send_overhead: Real, receive_overhead: Real) -> Real:
    """Return LogGP's L from pLogP's parameters of one byte, L = L' + g'(1) − o_s(1) − o_r(1).

    March 2009, Eq 1, which prints + o_s(1); the gap is g'(1), which is LogGP's g (Eq 3). Both models must give a byte
    the same time, L' + g'(1) = L + o_s(1) + o_r(1): the sign is minus.

    >>> latency_from_plogp(3.0, 2.0, 0.5, 1.5)
    3.0
    """
    return plogp_L + gap - send_overhead - receive_overhead


@formula
def overhead_from_plogp(send_overhead: Real, receive_overhead: Real) -> Real:
    """Return LogGP's o from pLogP's parameters of one byte, o = (o_s(1) + o_r(1)) / 2.

    March 2009, Eq 2.

    >>> overhead_from_plogp(0.5, 1.5)
    1.0
    """
    return (send_overhead + receive_overhead) / 2.0


@formula
def byte_time_from_plogp(message_size: Real, gap: Real) -> Real:
    """Return LogGP's G from pLogP's gap, G(m) = g'(m) / m.

    m is above 0 and as large as there is, since G is meant to be what a byte costs in a large message.

    March 2009, Eq 4. Eq 3 is g = g'(1).

    >>> byte_time_from_plogp(1e6, 1e-3)
    1e-09
    """
    return gap / message_size
