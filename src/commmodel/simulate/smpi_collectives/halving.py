"""Halving and doubling of vectors in SMPI, with blocks of any size. Main entries: `RankFold`, `halve`, `double`."""

from collections.abc import Callable
from dataclasses import dataclass

from commmodel.collectives.algorithms.blocks import distances, power_below
from commmodel.simulate.smpi_collectives.calls import Member


class RankFold:
    """A rank where P processes are folded onto 2^k: of the first P − 2^k pairs one rank stands aside.

    That is the odd one, or the even one where `odd_stays`; see `commmodel.collectives.algorithms.patterns.Fold`.
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
    for distance in distances(power):
        other, middle = index ^ distance, (blocks.first + blocks.last) // 2
        if index < other:
            member.swap(rank_of(other), blocks.size(middle, blocks.last))
            blocks.last = middle
        else:
            member.swap(rank_of(other), blocks.size(blocks.first, middle))
            blocks.first = middle
    return blocks


def double(member: Member, size: Callable[[int, int], int]) -> None:
    """Recursive doubling of blocks as in MPICH: where a rank has no partner, others of its group pass on what came.

    `size` returns the bytes of the blocks of the ranks from a first up to a last one.
    """
    processes, rank = member.processes, member.rank
    for width in distances(processes):
        other, group = rank ^ width, rank & -width
        opposite = other & -width
        if other < processes:
            member.swap(other, size(group, min(group + width, processes)))
        if opposite + width > processes:
            done = processes - group - width
            for distance in reversed(distances(width)):
                target, half = rank ^ distance, rank & -(2 * distance)
                if target > rank and rank < half + done <= target:
                    member.send(target, size(opposite, processes))
                elif target < rank and target < half + done <= rank:
                    member.receive(target)
