"""Halving and doubling of vectors in SMPI, with blocks of any size. Main entries: `RankFold`, `halve`, `double`."""

from collections.abc import Callable
from dataclasses import dataclass

from commmodel.collectives.algorithms.blocks import power_below
from commmodel.simulate.smpi_collectives.calls import Member


class RankFold:
    """A rank where P processes are folded onto 2^k: of the first P − 2^k pairs one rank stands aside.

    It is `commmodel.collectives.algorithms.patterns.Fold` as a single rank sees it.

    Parameters
    ----------
    rank, processes : int
    odd_stays : bool
        Whether the odd rank of a pair takes part, and the even one stands aside.
    """

    def __init__(self, rank: int, processes: int, *, odd_stays: bool = False) -> None:
        self.power = power_below(processes)
        self.aside = processes - self.power
        self.odd_stays = odd_stays
        self.is_pair = rank < 2 * self.aside
        self.is_aside = self.stands_aside(rank)
        self.member = self.member_of(rank)

    def stands_aside(self, rank: int) -> bool:
        """Whether a rank takes no part."""
        return rank < 2 * self.aside and rank % 2 != self.odd_stays

    def member_of(self, rank: int) -> int:
        """Return the number of a rank among those that take part, or of the one that acts for it."""
        return rank // 2 if rank < 2 * self.aside else rank - self.aside

    def rank_of(self, member: int) -> int:
        """Return the rank of a member."""
        return 2 * member + self.odd_stays if member < self.aside else member + self.aside


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


def halve(member: Member, cuts: list[int], index: int, rank_of: Callable[[int], int]) -> Halved:
    """Exchange halves with members 1, 2, 4 away and so on, the largest first; return what a member has then."""
    power = len(cuts) - 1
    blocks = Halved(cuts, 0, power)
    distance = 1
    while distance < power:
        other, middle = index ^ distance, (blocks.first + blocks.last) // 2
        if index < other:
            member.exchange(rank_of(other), blocks.size(middle, blocks.last), rank_of(other))
            blocks.last = middle
        else:
            member.exchange(rank_of(other), blocks.size(blocks.first, middle), rank_of(other))
            blocks.first = middle
        distance *= 2
    return blocks


def double(member: Member, size: Callable[[int, int], int]) -> None:
    """Recursive doubling of blocks as in MPICH: where a rank has no partner, others of its group pass on what came.

    `size` returns the bytes of the blocks of the ranks from a first up to a last one.
    """
    processes, rank = member.processes, member.rank
    width = 1
    while width < processes:
        other, group = rank ^ width, rank & -width
        opposite = other & -width
        if other < processes:
            member.exchange(other, size(group, min(group + width, processes)), other)
        if opposite + width > processes:
            done = processes - group - width
            distance = width // 2
            while distance:
                target, half = rank ^ distance, rank & -(2 * distance)
                if target > rank and rank < half + done <= target:
                    member.send(target, size(opposite, processes))
                elif target < rank and target < half + done <= rank:
                    member.receive(target)
                distance //= 2
        width *= 2
