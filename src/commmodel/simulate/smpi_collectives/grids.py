"""Grids over which SMPI's allgathers and alltoalls go. Main entries: `over_rectangle`, `over_cube`."""

from math import isqrt

from commmodel.errors import InputError
from commmodel.simulate.smpi_collectives.calls import Member, RankCall


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


def _bytes_of_vector(member: Member, call: RankCall, name: str) -> int:
    return call.size * (member.processes if name.startswith("alltoall") else 1)


def over_rectangle(member: Member, call: RankCall, name: str) -> None:
    """Send a vector to all of a row of a grid, then the blocks of the row to all of a column."""
    vector, block = _bytes_of_vector(member, call, name), call.size
    rows, width = rectangle(member.processes, name)
    row, column = divmod(member.rank, width)
    _send_to_all(member, [row * width + other for other in range(width)], vector)
    _send_to_all(member, [other * width + column for other in range(rows)], width * block)


def over_cube(member: Member, call: RankCall, name: str) -> None:
    """Send vectors to all in rows and columns of each layer, then the blocks of the layer to the other layers."""
    vector, block = _bytes_of_vector(member, call, name), call.size
    width, layers = cube(member.processes, name)
    layer = width * width
    first, column = member.rank - member.rank % layer, member.rank % width
    _send_to_all(member, [member.rank - column + other for other in range(width)], vector)
    _send_to_all(member, [first + other * width + column for other in range(width)], width * vector)
    _send_to_all(
        member, [(member.rank + other * layer) % member.processes for other in range(1, layers)], layer * block
    )


def _send_to_all(member: Member, partners: list[int], size: int) -> None:
    """Post receives from partners, oneself left out, send to one after the other, and wait."""
    partners = [other for other in partners if other != member.rank]
    receives = [member.ireceive(other) for other in partners]
    for other in partners:
        member.send(other, size)
    member.wait(*receives)
