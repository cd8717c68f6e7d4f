"""Data in pieces, such as a column of a matrix: what gathering and scattering add to a message.

Our own: a way to send costs each byte some time more than the same bytes in one piece, which depends on the length of
the pieces, on how far apart they lie and on the size of all, as caches and protocols do. Times are in seconds.
Arguments:

message_time
    T₁(n), time of a message of as many bytes in one piece, in seconds.
message_size
    n, bytes of all pieces together, ≥ 0.
byte_time
    c(n, b), seconds a byte that a way to send pieces of b bytes adds on both sides together.
"""

from commmodel.models.formula import Real, formula

__all__ = ["time"]


@formula
def time(message_time: Real, message_size: Real, byte_time: Real) -> Real:
    """Return the time of a message in pieces, T = T₁ + n c.

    >>> round(1e6 * time(10e-6, 1000, 2e-9), 3)
    12.0
    """
    return message_time + message_size * byte_time
