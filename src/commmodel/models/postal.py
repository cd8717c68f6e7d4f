"""Postal model: latency and bandwidth of one pair. Source: Gropp, Olson and Samfass 2016, Eq 1 and 2.

Times are in seconds. Arguments:

message_size
    n, in bytes, ≥ 0.
alpha
    α, latency in seconds.
beta
    β, seconds per byte.
"""

from commmodel.models.formula import Real, formula

__all__ = ["time"]


@formula
def time(message_size: Real, alpha: Real, beta: Real) -> Real:
    """Return the time of one message, T = α + n β.

    Gropp 2016, Eq 2.

    >>> round(1e6 * time(1_000_000, 1.6e-6, 1.7e-10), 3)
    171.6
    """
    return alpha + message_size * beta
