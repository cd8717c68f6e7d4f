"""Communication patterns that several operations share: trees, hypercubes, and folding onto a hypercube.

Processes are numbered from the root here (`from_root` gives ranks). Descriptions: Thakur, Rabenseifner and Gropp,
"Optimization of collective communication operations in MPICH", 2005. Main entries: `binomial_tree`, `doubling`, `Fold`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from commmodel.collectives.algorithms.blocks import distances, power_below
from commmodel.collectives.schedule import Integers, Problem
from commmodel.errors import InputError

MOST_SEGMENTS = 1 << 18
"""Of a message: each is a round of messages."""


@dataclass(frozen=True)
class BlockExchange:
    """Messages of one round: a process sends the blocks from `first` up to `last`."""

    sender: Integers
    receiver: Integers
    first: Integers
    last: Integers


@dataclass(frozen=True)
class Hops:
    """Messages of one round between neighbours in a tree: the bytes from `low` up to `high` of the vector."""

    parent: Integers
    child: Integers
    low: Integers
    high: Integers


def from_root(problem: Problem, process: Integers) -> Integers:
    """Return the ranks of processes that are numbered from the root, which is 0.

    >>> from_root(Problem(4, root=3), np.array([0, 1, 2, 3])).tolist()
    [3, 0, 1, 2]
    """
    return (process + problem.root) % problem.processes


def other_ranks(problem: Problem) -> Integers:
    """Return all ranks but the root, in their order.

    >>> other_ranks(Problem(4, root=2)).tolist()
    [0, 1, 3]
    """
    return np.delete(np.arange(problem.processes), problem.root)


def binomial_tree(processes: int) -> list[BlockExchange]:
    """Return the levels of a binomial tree, the parent's nearest child first, as messages from child to parent.

    A message carries the blocks of the child's subtree. Level i joins processes 2^i apart.

    >>> for level in binomial_tree(6):
    ...     print(level.receiver, level.sender, level.last)
    [0 2 4] [1 3 5] [2 4 6]
    [0] [2] [4]
    [0] [4] [6]
    """
    levels = []
    for distance in distances(processes):
        parent = np.arange(0, processes - distance, 2 * distance)
        child = parent + distance
        levels.append(BlockExchange(child, parent, child, np.minimum(child + distance, processes)))
    return levels


def doubling(processes: int) -> Iterator[BlockExchange]:
    """Yield the rounds in which P processes with a block each collect all blocks by recursive doubling.

    Process r exchanges with r XOR 2^i all that it has. Where P is no power of two, one group of 2^(i+1) lacks some of
    its upper half: those in the lower half who have no partner then get the upper half's blocks down a binomial tree,
    as in MPICH.

    >>> [one.sender.size for one in doubling(6)]
    [6, 4, 4, 2]
    """
    for step in doubling_steps(processes):
        yield from step


def doubling_steps(processes: int) -> Iterator[list[BlockExchange]]:
    """Yield the rounds of `doubling` step by step: an exchange, and the rounds of forwarding after it.

    >>> [len(step) for step in doubling_steps(7)]
    [1, 2, 2]
    """
    everybody = np.arange(processes)
    for distance in distances(processes):
        partner = everybody ^ distance
        sender = everybody[partner < processes]
        first = sender - sender % distance
        exchange = BlockExchange(sender, partner[sender], first, np.minimum(first + distance, processes))
        base = processes - processes % (2 * distance)
        yield [exchange, *_forwarding(base, distance, base + distance, processes)]


def _forwarding(base: int, width: int, first: int, last: int) -> Iterator[BlockExchange]:
    """Yield the messages by which the first (last - first) of `width` processes pass on the blocks only they have.

    Before each round the first so many of every group of 2 `half` have them, and after it of every group of `half`.
    If there are none, nothing is passed on.
    """
    held_blocks = last - first
    for half in reversed(distances(width)):
        offset = np.arange(max(0, held_blocks - half), min(held_blocks, half))  # who has it, and whose partner has not
        sender = (np.arange(base, base + width, 2 * half)[:, np.newaxis] + offset).ravel()
        if sender.size:
            yield BlockExchange(sender, sender + half, np.full(sender.size, first), np.full(sender.size, last))


def halving(power: int) -> Iterator[tuple[BlockExchange, BlockExchange]]:
    """Yield the exchanges of recursive halving among 2^k processes: what each sends, and what it keeps.

    Vector halving with distance doubling: the longest messages go to the nearest process. Backwards, sending what is
    kept, it collects the vector again.

    >>> for sends, keeps in halving(4):
    ...     print(sends.receiver, sends.first, keeps.first)
    [1 0 3 2] [2 0 2 0] [0 2 0 2]
    [2 3 0 1] [1 3 0 2] [0 2 1 3]
    """
    member = np.arange(power)
    start = np.zeros(power, dtype=np.int64)
    for distance in distances(power):
        half = power // 2 // distance
        upper = (member & distance != 0) * half
        sent, remaining = start + half - upper, start + upper
        partner = member ^ distance
        yield (
            BlockExchange(member, partner, sent, sent + half),
            BlockExchange(member, partner, remaining, remaining + half),
        )
        start = remaining


@dataclass(frozen=True)
class Fold:
    """Folding of P processes onto 2^k: of the first 2 (P - 2^k), each odd one hands its data to the one before it.

    The 2^k members keep their order, so that a range of members stands for a range of processes. With `odd_stays` each
    even one hands its data to the one behind it.

    >>> fold = Fold(6)
    >>> fold.out, fold.home, fold.process(np.arange(4))
    (array([1, 3]), array([0, 2]), array([0, 2, 4, 5]))
    """

    processes: int
    odd_stays: bool = False

    @property
    def power(self) -> int:
        """The number of members, 2^k."""
        return power_below(self.processes)

    @property
    def out(self) -> Integers:
        """Processes that are not members."""
        return self.home - 1 if self.odd_stays else self.home + 1

    @property
    def home(self) -> Integers:
        """The members that act for the processes in `out`."""
        return 2 * np.arange(self.processes - self.power) + self.odd_stays

    def process(self, member: Integers) -> Integers:
        """Return the rank of a member; P for the member 2^k, which does not exist."""
        return member + np.minimum(member + self.odd_stays, self.processes - self.power)


def pipeline(problem: Problem, children: int, *, up: bool = False) -> Iterator[Hops]:
    """Yield the rounds down a tree, segment by segment: one that comes in a round is passed on in the next.

    The tree is filled level by level; with one child it is a chain. Up, the same rounds go backwards.

    >>> for hops in pipeline(Problem(3, 20, segment_size=10), 1):
    ...     print(hops.parent, hops.child, hops.low)
    [0] [1] [0]
    [0 1] [1 2] [10  0]
    [1] [2] [10]
    """
    child = np.arange(1, problem.processes)
    if not child.size:
        return
    size = problem.message_size
    segment_size = problem.segment_size or max(size, 1)
    segments = max(1, -(-size // segment_size))
    if segments > MOST_SEGMENTS:
        raise InputError(f"{size} bytes in segments of {segment_size}: at most {MOST_SEGMENTS} segments, larger ones")
    parent = (child - 1) // children
    depth = _depth(problem.processes, children)[parent]
    steps = range(segments + int(depth[-1]))
    for step in reversed(steps) if up else steps:
        # A parent at depth d sends segment (step - d); depths ascend.
        start, end = np.searchsorted(depth, [step - segments + 1, step + 1])
        low = (step - depth[start:end]) * segment_size
        yield Hops(parent[start:end], child[start:end], low, np.minimum(low + segment_size, size))


def _depth(processes: int, children: int) -> Integers:
    """Return the depth of each process in a tree that is filled level by level."""
    depth = np.empty(processes, dtype=np.int64)
    first, width, level = 0, 1, 0
    while first < processes:
        depth[first : first + width] = level
        first, width, level = first + width, width * children, level + 1
    return depth
