"""Grids over which SMPI's allgathers and alltoalls go. Main entries: `rectangle`, `cube`, `send_to_all`."""

from math import isqrt

from commmodel.errors import InputError
from commmodel.simulate.smpi_collectives.calls import Member

__all__ = ["cube", "rectangle", "send_to_all"]


def rectangle(processes: int, name: str) -> tuple[int, int]:
    """Return the number of rows and their length, which is not smaller.

    >>> rectangle(24, "alltoall 2dmesh")
    (4, 6)
    """
    for side in range(max(isqrt(processes), 1), processes // 2 + 1):
        if processes % side == 0:
            return min(side, processes // side), max(side, processes // side)
    raise InputError(f"SMPI's {name} ends on {processes} processes: they make no rectangle")


def cube(processes: int, name: str) -> tuple[int, int]:
    """Return the sides of square layers, and their number.

    >>> cube(64, "alltoall 3dmesh")
    (4, 4)
    """
    for side in range(max(int(processes ** (1 / 3) + 1e-9), 1), processes // 3 + 1):
        if processes % (side * side) == 0:
            return side, processes // (side * side)
    raise InputError(f"SMPI's {name} ends on {processes} processes: they make no box of square layers")


def send_to_all(me: Member, partners: list[int], size: int) -> None:
    """Post receives from partners, oneself left out, send to one after the other, and wait."""
    partners = [other for other in partners if other != me.rank]
    receives = [me.ireceive(other) for other in partners]
    for other in partners:
        me.send(other, size)
    me.wait(*receives)
