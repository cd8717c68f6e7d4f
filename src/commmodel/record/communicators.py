"""Communicators of a recording: each rank numbers its own; here they are made one. Main entry: `unify`."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import CommunicatorKind

Runs = tuple[tuple[int, int, int], ...]
"""Ranks in their order as runs of (first, stride, count)."""
KINDS = tuple(kind.value for kind in CommunicatorKind)
_INTER = KINDS.index(CommunicatorKind.INTER.value)


@dataclass(frozen=True)
class LocalCommunicator:
    """A communicator as one rank has logged it; ranks are those of MPI_COMM_WORLD."""

    number: int
    parent: int
    kind: int
    name: str
    local: Runs
    remote: Runs = ()
    sources: tuple[int, ...] | None = None
    destinations: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Communicator:
    """A communicator of a recording."""

    number: int
    """From 1; 0 stands for none."""
    name: str
    """Its own, or what it is."""
    kind: str
    """One of ``plain``, ``Cartesian``, ``graph``, ``distributed graph``, ``inter``."""
    ranks: NDArray[np.int32]
    """Its members, ranks of MPI_COMM_WORLD; of an intercommunicator those of both groups."""


@dataclass(frozen=True)
class View:
    """A communicator as a rank sees it."""

    local: int
    number: int
    """Its numbers in the rank's log and in the recording."""
    place: int
    """This rank's in its own group."""
    is_inter: bool
    group: int
    own_group: int = 0
    """Lists of ranks: of the peers whom messages go to, and of this rank; different ones of an intercommunicator."""
    sources: tuple[int, ...] | None = None
    destinations: tuple[int, ...] | None = None
    """Neighbours in its topology, ranks in it; -2 stands for nobody. None where it has no topology."""


def expand(runs: Runs, processes: int) -> NDArray[np.int32] | None:
    """Return the ranks of runs; None where they are no group of a program of so many processes.

    >>> expand(((0, 2, 3), (1, 0, 1)), 8).tolist(), expand(((0, 2, 9),), 8)
    ([0, 2, 4, 1], None)
    """
    if sum(count for _, _, count in runs) > 2 * processes or len(runs) > processes:
        return None  # spawned processes, which all have the rank `processes`, may add to those of the world
    parts = []
    for first, stride, count in runs:
        last = first + stride * (count - 1)
        if count and not (0 <= first <= processes and 0 <= last <= processes):
            return None
        parts.append(first + stride * np.arange(count, dtype=np.int64))
    return np.concatenate(parts).astype(np.int32) if parts else np.zeros(0, dtype=np.int32)


class _Groups:
    """Lists of ranks, each once."""

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self.lists: list[NDArray[np.int32]] = []
        self._numbers: dict[bytes, int] = {}
        self._of_runs: dict[Runs, int | None] = {}

    def number(self, runs: Runs) -> int | None:
        if runs not in self._of_runs:
            ranks = expand(runs, self.processes)
            if ranks is None:
                self._of_runs[runs] = None
            else:
                list_number = self._numbers.setdefault(ranks.tobytes(), len(self.lists))
                if list_number == len(self.lists):
                    self.lists.append(ranks)
                self._of_runs[runs] = list_number
        return self._of_runs[runs]


def unify(
    of_ranks: Mapping[int, Iterable[LocalCommunicator]], processes: int
) -> tuple[tuple[Communicator, ...], dict[int, list[View]], list[NDArray[np.int32]], list[str]]:
    """Make communicators one over ranks; return them, each rank's views of them, the groups of these, and faults.

    The k-th communicator that a rank defines with a given kind and given groups in their order is the k-th of every
    other member. `of_ranks` has each rank's communicators in the order in which it has defined them; number 0 of the
    result stands for none.
    """
    groups = _Groups(processes)
    communicators = [Communicator(0, "calls without a communicator", "", np.zeros(0, dtype=np.int32))]
    numbers: dict[tuple[object, ...], int] = {}
    views: dict[int, list[View]] = {}
    faults: list[str] = []
    for rank, listed in of_ranks.items():
        counts: dict[tuple[object, ...], int] = defaultdict(int)
        views[rank] = []
        numbers_of_rank: set[int] = set()
        for local_communicator in listed:
            if local_communicator.number in numbers_of_rank:
                continue  # its name is new, and that is all
            numbers_of_rank.add(local_communicator.number)
            local, remote = groups.number(local_communicator.local), groups.number(local_communicator.remote)
            places = [] if local is None else np.flatnonzero(groups.lists[local] == rank).tolist()
            if local is None or remote is None or not places:
                faults.append(f"rank {rank}: its communicator {local_communicator.number} has no sound group: left out")
                continue
            is_inter = local_communicator.kind == _INTER
            groups_of_key = tuple(sorted((local, remote))) if is_inter else (local,)
            key = (local_communicator.kind, *groups_of_key)
            counts[key] += 1
            number = numbers.setdefault((key, counts[key]), len(communicators))
            if number == len(communicators):
                members = np.unique(np.concatenate([groups.lists[group] for group in groups_of_key]))
                kind = KINDS[local_communicator.kind] if local_communicator.kind < len(KINDS) else "unknown"
                communicators.append(Communicator(number, local_communicator.name, kind, members[members < processes]))
            neighbours = (local_communicator.sources, local_communicator.destinations)
            size = groups.lists[local].size
            if not all(-2 <= neighbour < size for part in neighbours for neighbour in part or ()):
                faults.append(f"rank {rank}: its communicator {local_communicator.number} has no sound neighbours")
                neighbours = (None, None)
            peers = remote if is_inter else local
            views[rank].append(View(local_communicator.number, number, places[0], is_inter, peers, local, *neighbours))
    return tuple(communicators), views, groups.lists, faults


def names(communicators: Sequence[Communicator]) -> list[str]:
    """Return a name for each communicator: its own, or its number and size.

    >>> names([Communicator(3, "", "plain", np.arange(4, dtype=np.int32))])
    ['communicator 3 of 4 ranks']
    """
    return [
        communicator.name
        or f"communicator {communicator.number} of {communicator.ranks.size} rank{'s' * (communicator.ranks.size > 1)}"
        for communicator in communicators
    ]
