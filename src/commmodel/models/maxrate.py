"""Max-rate model: pairs of processes that share a node's way out. Source: Gropp, Olson and Samfass 2016.

An infinite R_N means that the node does not limit: the model is then the postal one with β = 1/R_C.
"""

from commmodel.models.formula import formula

__all__ = ["aggregate_rate", "best_process_count", "time"]


@formula
def time(message_size: float, pairs: float, alpha: float, R_N: float, R_C: float) -> float:
    """Return the time of one message while `pairs` processes of the node send one each.

    T = α + k n / min(R_N, k R_C)

    Parameters
    ----------
    message_size : float
        n, in bytes, ≥ 0.
    pairs : float
        k, communicating processes of the node, ≥ 1.
    alpha : float
        α, latency in seconds.
    R_N : float
        Rate of the node, bytes per second; infinite where it does not limit.
    R_C : float
        Rate of one process, bytes per second.

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    Gropp 2016, Eq 3.

    Examples
    --------
    >>> time(1_000_000, 1, 4e-6, 6.61e9, 3.76e9) < time(1_000_000, 2, 4e-6, 6.61e9, 3.76e9)
    True
    """
    return alpha + pairs * message_size / min(R_N, pairs * R_C)


@formula
def aggregate_rate(message_size: float, pairs: float, alpha: float, R_N: float, R_C: float) -> float:
    """Return the bytes per second that `pairs` processes move together, k n / T.

    Arguments as in `time`, with n > 0.

    Notes
    -----
    Gropp 2016, Section 4.1, with T of Eq 3.

    Examples
    --------
    >>> round(aggregate_rate(1e12, 16, 4e-6, 6.61e9, 3.76e9) / 1e9, 2)
    6.61
    """
    return pairs * message_size / (alpha + pairs * message_size / min(R_N, pairs * R_C))


@formula
def best_process_count(R_N: float, R_C: float) -> float:
    """Return how many processes of a node fill its way out, k = R_N / R_C, at least 1.

    Parameters
    ----------
    R_N, R_C : float
        Rates of the node and of one process, bytes per second.

    Notes
    -----
    Gropp 2016, Section 5. Not rounded: at k rounded up the node is full, at k rounded down it is nearly so.

    Examples
    --------
    >>> best_process_count(6e9, 4e9)
    1.5
    """
    return max(1.0, R_N / R_C)
