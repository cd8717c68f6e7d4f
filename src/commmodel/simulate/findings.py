"""Wrong uses of MPI that a simulated program makes. Main entry: `Finding`."""

from collections.abc import Sequence
from dataclasses import dataclass

from commmodel.docstrings import with_attributes

_MOST_SITES = 3


@with_attributes
@dataclass(frozen=True)
class Finding:
    """A wrong use of MPI, of all ranks and times where the same call made it.

    >>> print(Finding("leak of a communicator", "never freed", (0, 1, 2, 5), ("MPI_Comm_dup, a.py:3",)))
    leak of a communicator: never freed: MPI_Comm_dup, a.py:3 (ranks 0-2, 5)
    """

    kind: str
    """A few words, the same for all findings of the kind."""
    sentence: str
    """What is wrong, in words of the first rank."""
    ranks: tuple[int, ...]
    """That have made it."""
    sites: tuple[str, ...]
    """Name, file and line of each call."""
    times: int = 1
    """How often it was made, by all ranks together."""

    def __str__(self) -> str:
        """Return all of it on a line."""
        sites = "; ".join(self.sites[:_MOST_SITES])
        times = f", {self.times} times" if self.times > len(self.ranks) else ""
        where = f"rank{'s' if len(self.ranks) > 1 else ''} {_list_of(self.ranks)}"
        return f"{self.kind}: {self.sentence}{f': {sites}' if sites else ''} ({where}{times})"


def _list_of(ranks: Sequence[int]) -> str:
    """Return ranks as a list with ranges."""
    ranges: list[list[int]] = []
    for rank in ranks:
        if ranges and rank == ranges[-1][1] + 1:
            ranges[-1][1] = rank
        else:
            ranges.append([rank, rank])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
