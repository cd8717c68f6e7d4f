"""Postal model: latency and bandwidth of one pair. Source: Gropp, Olson and Samfass 2016, Eq 1 and 2."""

from commmodel.models.formula import formula

__all__ = ["time"]


@formula
def time(message_size: float, alpha: float, beta: float) -> float:
    """Return the time of one message, T = α + n β.

    Parameters
    ----------
    message_size : float
        n, in bytes, ≥ 0.
    alpha : float
        α, latency in seconds.
    beta : float
        β, seconds per byte.

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    Gropp 2016, Eq 2.

    Examples
    --------
    >>> round(1e6 * time(1_000_000, 1.6e-6, 1.7e-10), 3)
    171.6
    """
    return alpha + message_size * beta
