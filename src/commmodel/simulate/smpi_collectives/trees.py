"""Trees over the ranks of a communicator, as SMPI's algorithms walk them. Main entries: `down`, `up`, `knomial`."""

from collections.abc import Callable
from dataclasses import dataclass

from commmodel.collectives.algorithms.blocks import distances
from commmodel.simulate.smpi_collectives.calls import Member


def down(member: Member, size: int, place: int, number: int, rank_at: Callable[[int], int]) -> None:
    """Receive from above and send below in a binomial tree of so many places, the farthest first."""
    distance = 1
    while distance < number and not place & distance:
        distance *= 2
    if distance < number:
        member.receive(rank_at(place - distance))
    for smaller in reversed(distances(distance)):
        if place + smaller < number:
            member.send(rank_at(place + smaller), size)


def up(member: Member, size: int, place: int, number: int, rank_at: Callable[[int], int]) -> None:
    """Receive from below, the nearest first, and send above in a binomial tree of so many places."""
    for distance in distances(number):
        if place & distance:
            member.send(rank_at(place - distance), size)
            return
        if place + distance < number:
            member.receive(rank_at(place + distance))


@dataclass(frozen=True)
class TreePlace:
    """A rank's place in a tree: the rank above it, −1 for the root, and those below."""

    above: int
    below: tuple[int, ...]


def knomial(member: Member, root: int, degree: int) -> tuple[int, list[tuple[int, ...]]]:
    """Return the rank above in a k-nomial tree, −1 for the root, and those below, level by level from the top."""
    processes, place = member.processes, member.at(-root)
    width = 1
    while width < processes and place % (degree * width) == 0:
        width *= degree
    above = -1
    if width < processes:
        above = (place // (degree * width) * degree * width + root) % processes
    levels = []
    width //= degree
    while width:
        below = (place + width * child for child in range(1, degree))
        levels.append(tuple((other + root) % processes for other in below if other < processes))
        width //= degree
    return above, levels


def binary(member: Member, root: int) -> TreePlace:
    """Return the place in Open MPI's binary tree: children are a power of two and twice the power farther on."""
    place = member.at(-root)
    delta = 1
    while place + 1 >= 2 * delta:
        delta *= 2
    above = -1 if not place else _parent(place, delta)
    below = (place + delta * child for child in (1, 2))
    ranks = tuple((other + root) % member.processes for other in below if other < member.processes)
    return TreePlace(above if above < 0 else (above + root) % member.processes, ranks)


def _parent(place: int, delta: int) -> int:
    if place < 2:
        return 0
    while place >= delta - 1:
        place -= delta // 2
    return place


def in_order_binary(member: Member) -> TreePlace:
    """Return the place in the binary tree that keeps the order of ranks; its root is the last one."""
    size, rank, offset, above = member.processes, member.rank, 0, -1
    while True:
        parent, right = size - 1, size // 2 - 1
        left = parent - 1 if parent > 0 else -1
        if left <= 0:
            right = -1
        if rank == parent:
            return TreePlace(above, tuple(child + offset for child in (left, right) if child >= 0))
        if rank > right:
            if rank == left:
                above = parent + offset
            half = size // 2
            size, offset, rank = size - half - 1, offset + half, rank - half
        else:
            if rank == right:
                above = parent + offset
            size //= 2


def in_order_binomial(member: Member, root: int) -> TreePlace:
    """Return the place in a binomial tree whose nearest child comes first."""
    below: list[int] = []
    place = member.at(-root)
    for distance in distances(member.processes):
        if place & distance:
            return TreePlace((place - distance + root) % member.processes, tuple(below))
        if place + distance < member.processes:
            below.append((place + distance + root) % member.processes)
    return TreePlace(-1, tuple(below))


def chains(member: Member, root: int, number: int) -> TreePlace:
    """Return the place in so many chains that begin at the root; the first ones are longer by one if need be."""
    processes, place = member.processes, member.at(-root)
    number = max(1, min(number, processes - 1))
    length, longer = divmod(processes - 1, number)
    heads, head = [], 1
    for chain in range(number):
        heads.append(head)
        head += length + (chain < longer)
    if not place:
        return TreePlace(-1, tuple((head + root) % processes for head in heads if head < processes))
    above = 0 if place in heads else place - 1
    is_last = place + 1 in heads or place + 1 >= processes
    return TreePlace((above + root) % processes, () if is_last else ((place + 1 + root) % processes,))
