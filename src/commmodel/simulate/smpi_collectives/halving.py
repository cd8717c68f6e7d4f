"""Rabenseifner's halving of vectors in SMPI, with blocks of any size. Main entries: `Halved`, `halve`."""

from collections.abc import Callable
from dataclasses import dataclass

from commmodel.simulate.smpi_collectives.calls import Member

__all__ = ["Halved", "borders", "halve"]


@dataclass
class Halved:
    """Which blocks a member has: from `first` up to `last`; and where each step began, for the way back."""

    borders: list[int]
    first: int
    last: int

    def size(self, first: int, last: int) -> int:
        """Return the bytes of blocks."""
        return self.borders[last] - self.borders[first]


def borders(count: int, parts: int, element: int) -> list[int]:
    """Return where blocks of equally many elements begin; the last one has the rest."""
    return [part * (count // parts) * element for part in range(parts)] + [count * element]


def halve(me: Member, cuts: list[int], member: int, rank_of: Callable[[int], int]) -> Halved:
    """Exchange halves with members 1, 2, 4 away and so on, the largest first; return what a member has then."""
    power = len(cuts) - 1
    blocks = Halved(cuts, 0, power)
    distance = 1
    while distance < power:
        other, middle = member ^ distance, (blocks.first + blocks.last) // 2
        if member < other:
            me.exchange(rank_of(other), blocks.size(middle, blocks.last), rank_of(other))
            blocks.last = middle
        else:
            me.exchange(rank_of(other), blocks.size(blocks.first, middle), rank_of(other))
            blocks.first = middle
        distance *= 2
    return blocks
