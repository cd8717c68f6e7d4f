"""Node-aware model: messages of several localities, search of the receive queue, contention on links.

Each path (same socket, same node, between nodes) has its own α and rates. A process that receives many messages
pays γ m² for finding each among the others, and the busiest link of the network δ for each of its bytes. Source:
Bienz, Gropp and Olson, "Improving Performance Models for Irregular Point-to-Point Communication", EuroMPI 2018.
Main entry: `time`; what a path contributes is `path_time`. Times are in seconds. Arguments:

messages
    m, messages of a process, ≥ 0: those it sends on a path, or those it receives, which it searches for.
volume
    v, bytes of the messages on the path together, ≥ 0.
pairs
    k, processes of the node that send on this path at once, ≥ 1.
alpha
    α of the path, in seconds.
R_N
    Rate of the node on this path, bytes per second; infinite where it does not limit, as within a node.
R_C
    Rate of one process on this path, bytes per second.
paths_time
    Sum of `path_time` over the paths, in seconds.
link_volume
    ℓ, bytes on the busiest link, ≥ 0.
queue_search
    γ, in seconds.
link_contention
    δ, seconds per byte.
"""

from commmodel.models.formula import Real, formula

__all__ = ["link_contention_time", "path_time", "queue_search_time", "time"]


@formula
def path_time(messages: Real, volume: Real, pairs: Real, alpha: Real, R_N: Real, R_C: Real) -> Real:
    """Return the time of the messages that a process sends on one path, m α + k v / min(R_N, k R_C).

    Gropp 2016, Eq 3, for each message, with the parameters of the path; all messages must be of one protocol.

    >>> round(1e6 * path_time(10, 81920, 1, 6.2e-6, 6.67e9, 3.09e9), 1)
    88.5
    """
    return messages * alpha + pairs * volume / min(R_N, pairs * R_C)


@formula
def queue_search_time(messages: Real, queue_search: Real) -> Real:
    """Return the time of searching the receive queue for m messages, γ m².

    Bienz 2018: the worst order, in which every message is found last.

    >>> round(1e6 * queue_search_time(100, 8.4e-9), 3)
    84.0
    """
    return queue_search * messages * messages


@formula
def link_contention_time(link_volume: Real, link_contention: Real) -> Real:
    """Return the time added by contention on the busiest link, δ ℓ.

    Bienz 2018.

    >>> round(1e6 * link_contention_time(1_000_000, 9.9e-11), 3)
    99.0
    """
    return link_contention * link_volume


@formula
def time(paths_time: Real, messages: Real, link_volume: Real, queue_search: Real, link_contention: Real) -> Real:
    """Return the time of a set of messages, Σ T_path + γ m² + δ ℓ.

    Bienz 2018.

    >>> round(1e6 * time(88.5e-6, 10, 81920, 8.4e-9, 9.9e-11), 2)
    97.45
    """
    return paths_time + queue_search * messages * messages + link_contention * link_volume
