"""Messages of device memory through the host: a copy on each side of the message.

Bienz, Olson, Gropp and Lockhart (arXiv:2010.10378) model a message of a GPU so, each part of it α + n/R: the copies as
`calls`, the message as any of the host. Main entry: `staged_time`. Times are in seconds. Arguments:

message_time
    T₁, time of the message between the hosts, or of its parts that several processes send at once, in seconds.
copy_out, copy_in
    Times of the copies from the device to its host and from the other host to its device, in seconds.
"""

from commmodel.models.formula import Real, formula

__all__ = ["staged_time"]


@formula
def staged_time(message_time: Real, copy_out: Real, copy_in: Real) -> Real:
    """Return the time of a message through the host, T = T_out + T₁ + T_in.

    Bienz 2020.

    >>> round(1e6 * staged_time(3e-6, 12e-6, 13e-6))
    28
    """
    return copy_out + message_time + copy_in
