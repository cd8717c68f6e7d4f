"""Halo exchange: each process sends the same to each of its neighbours. Source: Gropp 2016, Sections 2 and 3.1.

Times are in seconds. Arguments:

neighbours
    E, processes on other nodes to which each process sends one message, ≥ 0.
message_size
    n, in bytes, ≥ 0.
pairs
    k, processes of the node that exchange at once, ≥ 1.
alpha
    α, latency in seconds.
R_N
    Rate of the node, bytes per second; infinite where it does not limit.
R_C
    Rate of one process, bytes per second.
"""

from commmodel.models.formula import Real, formula

__all__ = ["postal_time", "time"]


@formula
def time(neighbours: Real, message_size: Real, pairs: Real, alpha: Real, R_N: Real, R_C: Real) -> Real:
    """Return the time of a halo exchange, T = E (α + k n / min(R_N, k R_C)).

    Gropp 2016, Section 3.1. The messages of a process follow each other; on a node with several independent links the
    paper divides this by the links that are used.

    >>> round(1e3 * time(4, 65536, 16, 2e-5, 5.5e9, 3.6e9), 3)
    0.843
    """
    return neighbours * (alpha + pairs * message_size / min(R_N, pairs * R_C))


@formula
def postal_time(neighbours: Real, message_size: Real, alpha: Real, R_C: Real) -> Real:
    """Return the time of a halo exchange as a ping-pong alone predicts it, T = E (α + n / R_C).

    Gropp 2016, Section 2, with β = 1 / R_C: the estimate that the paper finds off by up to ten times.

    >>> round(1e3 * postal_time(4, 65536, 2e-5, 3.6e9), 3)
    0.153
    """
    return neighbours * (alpha + message_size / R_C)
