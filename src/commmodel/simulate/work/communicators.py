"""Communicators in traces: which ranks they have, and collectives carried out by these ranks alone.

A trace of the peer has no word for them, so ours has two actions more: ``communicator ID RANKS`` says which ranks a
communicator has, in their order in it, and ``within ID ACTION`` is a collective of these. Ranks are written as numbers
and runs of them: ``0 4-10:2 3``. Schedules are made for as many ranks as the communicator has, and peers are translated
into ranks of the whole program. Main entry: `Communicators`.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.collectives.call import parse_definition
from commmodel.errors import InputError
from commmodel.simulate.operations import Code, Operations

Ranks = NDArray[np.int64]
_RUN = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?")
_WITH_PEER = np.isin(list(Code), (Code.SEND, Code.ISEND, Code.RECV, Code.IRECV))
"""Code -> whether it has a peer."""


class Definition(NamedTuple):
    """The definition of a communicator: its number, and its ranks in their order."""

    number: int
    members: Sequence[int] | NDArray[np.integer]


class CommunicatorRanks:
    """The ranks of a communicator, in their order in it; `number` is its name in the trace."""

    def __init__(self, number: int, members: Ranks) -> None:
        self.number: int = number
        self.members: Ranks = members
        self._rank = {rank: place for place, rank in enumerate(members.tolist())}

    @property
    def processes(self) -> int:
        """Number of ranks."""
        return self.members.size

    def rank(self, rank: int) -> int:
        """Return the rank in the communicator of a rank of the program; `InputError` where it is no member."""
        if rank not in self._rank:
            raise InputError(f"rank {rank} is not in communicator {self.number}")
        return self._rank[rank]


class Communicators:
    """The communicators that a trace has defined so far.

    >>> communicators = Communicators(8)
    >>> communicators.define(1, parse_ranks("0-6:2", 8), rank=2)
    >>> communicators[1].rank(4), communicators.size(1), communicators.size(0)
    (2, 4, 8)
    """

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._communicators: dict[int, CommunicatorRanks] = {}

    def define(self, number: int, members: Ranks, rank: int) -> None:
        """Take a definition of a rank; all members give the same.

        `InputError` where it is another than a member gave before, or the rank is no member.
        """
        communicator = self._communicators.get(number)
        if communicator is None:
            communicator = self._communicators[number] = CommunicatorRanks(number, members)
        elif not np.array_equal(communicator.members, members):
            raise InputError(f"communicator {number} has other ranks than before: each needs a number of its own")
        communicator.rank(rank)

    def define_by(self, text: str, rank: int) -> None:
        """Take a definition as an action of a trace."""
        number, ranks = parse_definition(text)
        self.define(number, parse_ranks(ranks, self._processes), rank)

    def size(self, number: int) -> int:
        """Return how many ranks a communicator has; 0 is that of all ranks."""
        return self[number].processes if number else self._processes

    def __getitem__(self, number: int) -> CommunicatorRanks:
        """Return a communicator; `InputError` where it has not been defined."""
        if number not in self._communicators:
            raise InputError(f"communicator {number} has not been defined: a line `communicator {number} RANKS` must")
        return self._communicators[number]


def parse_ranks(text: str, processes: int) -> Ranks:
    """Return the ranks that numbers and runs name.

    `InputError` where something else stands there, or a rank stands twice or is too high.

    >>> parse_ranks("5 0-6:3", 8).tolist()
    [5, 0, 3, 6]
    """
    runs = []
    for word in text.split():
        run = _RUN.fullmatch(word)
        if run is None:
            raise InputError(f"ranks {word[:40]!r}: expected FIRST, FIRST-LAST or FIRST-LAST:STEP")
        first, last, step = int(run[1]), int(run[2] or run[1]), int(run[3] or 1)
        if last < first or step < 1 or last >= processes:
            raise InputError(f"ranks {word[:40]!r}: expected rising ranks from 0 to {processes - 1}")
        runs.append(np.arange(first, last + 1, step))
    if not runs:
        raise InputError("a communicator without ranks: expected at least one")
    ranks = np.concatenate(runs)
    if np.unique(ranks).size < ranks.size:
        raise InputError("a rank stands twice in a communicator")
    return ranks


def ranks_text(ranks: Sequence[int] | NDArray[np.integer]) -> str:
    """Return ranks as numbers and runs, as `parse_ranks` reads them.

    >>> ranks_text([5, 0, 3, 6])
    '5 0-6:3'
    """
    listed = np.asarray(ranks, dtype=np.int64)
    words, begin = [], 0
    while begin < listed.size:
        step = int(listed[begin + 1] - listed[begin]) if begin + 1 < listed.size else 0
        end = begin + 1
        while step > 0 and end < listed.size and listed[end] - listed[end - 1] == step:
            end += 1
        if end - begin < 3:  # a run of two may break one that begins at the second
            words.append(str(listed[begin]))
            begin += 1
            continue
        words.append(f"{listed[begin]}-{listed[end - 1]}" + (f":{step}" if step > 1 else ""))
        begin = end
    return " ".join(words)


def translated(operations: Operations, members: Ranks) -> Operations:
    """Return operations of a rank of a communicator with peers as ranks of the whole program."""
    result: Operations = operations.copy()
    messages = _WITH_PEER[result["code"]] & (result["peer"] >= 0)
    result["peer"][messages] = members[result["peer"][messages]]
    return result
