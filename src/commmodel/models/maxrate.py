"""Max-rate model: several pairs of processes share a node's injection bandwidth. Source: Gropp, Olson and Samfass 2016.

An infinite R_N means that the node does not limit: the model is then the postal one with β = 1/R_C. Times are in
seconds. Arguments:

message_size
    n, in bytes, ≥ 0.
pairs
    k, communicating processes of the node, ≥ 1.
alpha
    α, latency in seconds.
R_N
    Rate of the node, bytes per second; infinite where it does not limit.
R_C
    Rate of one process, bytes per second.
overlap
    Part of α in which bytes of other messages move, seconds, from 0 to α.
R_Cb
    Rate of the first process, bytes per second.
R_Ci
    What each further process adds, bytes per second, ≥ 0.
M
    Messages per second that a node sends while `reference` processes send, > 0; infinite where it does not limit.
fall
    φ ≥ 0: with k processes it sends M (reference / k)^φ.
"""

import math

from commmodel.models.formula import Real, formula

__all__ = [
    "aggregate_rate", "best_process_count", "best_process_count_extended", "extended_time", "latency_aware_time",
    "message_time", "pipeline_time", "postal_over_max_rate", "time",
]  # fmt: skip


@formula
def time(message_size: Real, pairs: Real, alpha: Real, R_N: Real, R_C: Real) -> Real:
    """Return the time of one message while `pairs` processes of the node send one each.

    T = α + k n / min(R_N, k R_C)

    Gropp 2016, Eq 3.

    >>> time(1_000_000, 1, 4e-6, 6.61e9, 3.76e9) < time(1_000_000, 2, 4e-6, 6.61e9, 3.76e9)
    True
    """
    return alpha + pairs * message_size / min(R_N, pairs * R_C)


@formula
def pipeline_time(message_size: Real, pairs: Real, alpha: Real, R_N: Real, R_C: Real, overlap: Real) -> Real:
    """Return the time of one message of a stream, where bytes move while processors work on other messages.

    T = α − v + max(v, k n / min(R_N, k R_C)), with the overlap v. With v = 0 it is `time`; with v = α, the larger one
    of α and the time of the bytes.

    >>> pipeline_time(1000, 4, 4e-7, 1e10, 4e9, 4e-7), pipeline_time(2000, 4, 4e-7, 1e10, 4e9, 4e-7)
    (4e-07, 8e-07)
    """
    return alpha - overlap + max(overlap, pairs * message_size / min(R_N, pairs * R_C))


@formula
def extended_time(message_size: Real, pairs: Real, alpha: Real, R_N: Real, R_Cb: Real, R_Ci: Real) -> Real:
    """Return the time of one message where each process after the first adds less bandwidth than the first.

    T = α + k n / min(R_N, R_Cb + (k − 1) R_Ci)

    Gropp 2016, Eq 4. For one process it is the postal model, while the node is faster than that process. The paper's
    fit of short messages has a negative R_Ci, an artifact by its own words: use R_Ci = 0.

    >>> round(extended_time(65536, 16, 2e-5, 5.5e9, 3.6e9, 6.1e8), 7)
    0.0002107
    """
    return alpha + pairs * message_size / min(R_N, R_Cb + (pairs - 1.0) * R_Ci)


@formula
def latency_aware_time(message_size: Real, pairs: Real, alpha: Real, R_N: Real, R_C: Real) -> Real:
    """Return the time of one message where the node sends other messages during a process's latency.

    T = k n / min(R_N, k n / (α + n / R_C)) = max(k n / R_N, α + n / R_C)

    Gropp 2016, Eq 5, in the form that also holds for n = 0. At most α less than `time`, and the same where k R_C ≤ R_N.

    >>> latency_aware_time(1_000_000, 1, 4e-6, 6.61e9, 3.76e9) == time(1_000_000, 1, 4e-6, 6.61e9, 3.76e9)
    True
    """
    return max(pairs * message_size / R_N, alpha + message_size / R_C)


@formula
def message_time(pairs: Real, M: Real, fall: Real, reference: Real) -> Real:
    """Return the time in which a node sends a message of each of `pairs` processes, however small: least α of all.

    k / M_k with M_k = M (reference / k)^φ

    What max-rate leaves out: a network interface passes so many messages a second, and often fewer where more processes
    than it likes share it. With it T of every equation here has max(α, k / M_k) in place of α.

    >>> message_time(56, 70e6, 0.0, 56), round(message_time(28, 70e6, 0.5, 56), 9)
    (8e-07, 2.83e-07)
    """
    return pairs / M * (pairs / reference) ** fall


@formula
def postal_over_max_rate(pairs: Real, R_N: Real, R_C: Real) -> Real:
    """Return the ratio of the postal model's time to the max-rate model's for large messages.

    min(R_N, k R_C) / (k R_C): R_N / (k R_C) where the node limits, else 1.

    Gropp 2016, Eq 6, which is printed for R_N < k R_C alone; otherwise both models are the same.

    >>> postal_over_max_rate(16, 6e9, 3e9), postal_over_max_rate(2, 6e9, 3e9)
    (0.125, 1.0)
    """
    return min(R_N, pairs * R_C) / (pairs * R_C)


@formula
def aggregate_rate(message_size: Real, pairs: Real, alpha: Real, R_N: Real, R_C: Real) -> Real:
    """Return the bandwidth of `pairs` processes together, bytes per second, k n / T.

    Gropp 2016, Section 4.1, with T of Eq 3 and n > 0.

    >>> round(aggregate_rate(1e12, 16, 4e-6, 6.61e9, 3.76e9) / 1e9, 2)
    6.61
    """
    return pairs * message_size / (alpha + pairs * message_size / min(R_N, pairs * R_C))


@formula
def best_process_count(R_N: Real, R_C: Real) -> Real:
    """Return how many processes saturate the node's bandwidth, k = R_N / R_C, at least 1.

    Gropp 2016, Section 5. Not rounded: at k rounded up the node is full, at k rounded down it is nearly so.

    >>> best_process_count(6e9, 4e9)
    1.5
    """
    return max(1.0, R_N / R_C)


@formula
def best_process_count_extended(R_N: Real, R_Cb: Real, R_Ci: Real) -> Real:
    """Return how many processes saturate the node's bandwidth, k = 1 + (R_N − R_Cb) / R_Ci, at least 1.

    Infinite where further processes add nothing (R_Ci = 0) and the first one does not fill it.

    Gropp 2016, Section 5, applied to Eq 4. Not rounded.

    >>> best_process_count_extended(5.5e9, 3.5e9, 5e8)
    5.0
    """
    if R_Cb >= R_N:
        return 1.0
    if R_Ci == 0.0:
        return math.inf
    return 1.0 + (R_N - R_Cb) / R_Ci
