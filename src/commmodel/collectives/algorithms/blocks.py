"""Block ids, and rounds of messages that carry them. Main entries: `vector_round` and `block_round`.

A vector (broadcast, reduce, allreduce, scan) is cut at the borders of its blocks, P or as many as there are processes
in a hypercube, and of its segments; the ids are its pieces between two neighbouring cuts. Gather, scatter, allgather,
reduce_scatter_block and barrier name a block by the rank that it comes from or goes to. In an alltoall s P + d is what
s sends to d. An id says what the data are, not where they lie. The ids are worked out when `verify` asks, never while a
schedule is built.
"""

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike

from commmodel.arguments import refuse
from commmodel.collectives.schedule import NONE, Integers, Problem, Round
from commmodel.errors import InputError
from commmodel.signatures import checked

USUAL_SEGMENT = 1 << 16
"""Bytes that an algorithm in two levels sends at once where no segment size is given: Open MPI 5's."""


def power_below(processes: int) -> int:
    """Return the largest power of two that is not above P.

    >>> power_below(13)
    8
    """
    return 1 << (processes.bit_length() - 1)


def distances(processes: int) -> tuple[int, ...]:
    """Return the powers of two below P: distances of partners in a tree or a hypercube, the nearest first.

    >>> distances(13)
    (1, 2, 4, 8)
    """
    return tuple(1 << level for level in range(max(processes - 1, 0).bit_length()))


def border(size: int, parts: int, index: ArrayLike) -> Integers:
    """Return the byte offset at which a block begins.

    A vector of n bytes makes blocks of ⌈n / parts⌉ bytes; the last ones are smaller or empty.

    >>> border(10, 4, [0, 1, 2, 3, 4]).tolist()
    [0, 3, 6, 9, 10]
    """
    return np.minimum(np.asarray(index, dtype=np.int64) * -(-size // parts), size)


def segments(problem: Problem) -> list[tuple[int, int]]:
    """Return the bytes from which and to which each segment goes of a vector that moves in two levels.

    >>> segments(Problem(4, 10, segment_size=4))
    [(0, 4), (4, 8), (8, 10)]
    """
    size, step = problem.message_size, problem.segment_size or USUAL_SEGMENT
    return [(low, min(low + step, size)) for low in range(0, max(size, 1), step)]


def cuts(problem: Problem) -> Integers:
    """Return the byte offsets at which the vector is cut, from 0 to n.

    Where processes share nodes, those of each level cut it, too, and each segment of it.

    >>> cuts(Problem(3, 10)).tolist()  # into three blocks, and into two
    [0, 4, 5, 8, 10]
    """
    offsets = _cuts(problem.processes, problem.message_size, problem.segment_size)
    if problem.nodes is None:
        return offsets
    per_node = min(problem.nodes.per_node, problem.processes)
    parts = [(0, problem.message_size), *segments(problem)]
    levels = (per_node, -(-problem.processes // per_node))
    return np.unique(
        np.concatenate([offsets, *(low + _cuts(count, high - low, None) for low, high in parts for count in levels)])
    )


@lru_cache(maxsize=16)
def _cuts(processes: int, size: int, segment_size: int | None) -> Integers:
    hypercube = power_below(processes)
    return np.unique(
        np.concatenate(
            [
                border(size, processes, np.arange(processes + 1)),
                border(size, hypercube, np.arange(hypercube + 1)),
                NONE if segment_size is None else np.arange(0, size, segment_size),
            ]
        )
    )


def piece_sizes(problem: Problem) -> list[int]:
    """Return the bytes of each piece of the vector.

    >>> piece_sizes(Problem(3, 10))
    [4, 1, 3, 2]
    """
    sizes: list[int] = np.diff(cuts(problem)).tolist()
    return sizes


@checked
def vector_round(
    problem: Problem,
    sender: Integers | int,
    receiver: Integers | int,
    low: Integers | int = 0,
    high: Integers | int | None = None,
    *,
    combine: bool = False,
) -> Round:
    """Return a round in which each message carries the bytes from `low` up to `high` of the vector.

    Parameters
    ----------
    problem : Problem
    sender, receiver : array of int64, shape (messages,), or int
        Ranks from 0 to P - 1; one rank may send to many.
    low, high : array of int64 or int
        Bytes at which the vector is cut, from 0 to n: multiples of ⌈n / P⌉ or of the segment size, or n; by default the
        whole vector.
    combine : bool
        Whether a receiver combines them with what it has; it then gets one message at most.

    >>> one = vector_round(Problem(2, 10), np.array([0]), np.array([1]), 5, 10)
    >>> one.size.tolist(), list(one.blocks(0)), vector_round(Problem(3, 10), 0, [1, 2]).sender.tolist()
    ([5], [1], [0, 0])
    """
    sender, receiver = _messages(sender, receiver)
    high = problem.message_size if high is None else high
    first, last = np.zeros_like(sender) + low, np.zeros_like(sender) + high
    return _round(sender, receiver, last - first, partial(_pieces, problem, first, last), combine)


def _pieces(problem: Problem, low: Integers, high: Integers, message: int) -> Sequence[int]:
    place = _places(problem.processes, problem.message_size, problem.segment_size)
    ends = int(low[message]), int(high[message])
    try:
        return range(place[ends[0]], place[ends[1]])
    except KeyError:
        raise InputError(f"message {message}: the vector is not cut at bytes {ends[0]} and {ends[1]}") from None


@lru_cache(maxsize=16)
def _places(processes: int, size: int, segment_size: int | None) -> dict[int, int]:
    """Return the indices of byte offsets among the cuts."""
    return {byte: number for number, byte in enumerate(_cuts(processes, size, segment_size).tolist())}


@checked
def block_round(
    problem: Problem,
    sender: Integers | int,
    receiver: Integers | int,
    first: Integers | int,
    count: Integers | int = 1,
    *,
    combine: bool = False,
) -> Round:
    """Return a round in which each message carries `count` blocks of n bytes, those of rank `first` and following.

    Parameters
    ----------
    problem : Problem
    sender, receiver : array of int64, shape (messages,), or int
        Ranks from 0 to P - 1; one rank may send to many.
    first, count : array of int64 or int
        The blocks of each message, from 0; behind rank P - 1 comes rank 0.
    combine : bool
        Whether a receiver combines them with what it has; it then gets one message at most.

    >>> one = block_round(Problem(4, 10), np.array([0]), np.array([1]), np.array([3]), 2)
    >>> one.size.tolist(), list(one.blocks(0))
    ([20], [3, 0])
    """
    sender, receiver = _messages(sender, receiver)
    counts, firsts = np.zeros_like(sender) + count, np.zeros_like(sender) + first
    carried = partial(circular, problem.processes, firsts, counts)
    return _round(sender, receiver, counts * problem.message_size, carried, combine)


def _messages(sender: Integers | int, receiver: Integers | int) -> tuple[Integers, Integers]:
    """Return the ranks of each message."""
    senders, receivers = _ranks("sender", sender), _ranks("receiver", receiver)
    if senders.shape == receivers.shape:
        return senders, receivers
    if senders.size != 1 and receivers.size != 1:
        problem = f"{senders.size} senders, {receivers.size} receivers"
        raise InputError(f"{problem}: give as many of both, or one of one of them", "receiver")
    senders, receivers = map(np.array, np.broadcast_arrays(senders, receivers))
    return senders, receivers


def _ranks(name: str, ranks: Integers | int) -> Integers:
    array = np.atleast_1d(ranks)
    if array.dtype.kind not in "iu" and array.size:
        raise refuse(name, ranks, "give ranks, which are whole numbers")
    return array if array.size else NONE


def circular(processes: int, first: Integers, count: Integers, message: int) -> Sequence[int]:
    """Return the ranks of a circular range, one range for each message.

    >>> circular(5, np.array([3]), np.array([4]), 0)
    [3, 4, 0, 1]
    """
    start = int(first[message])
    return [rank % processes for rank in range(start, start + int(count[message]))]


def _round(
    sender: Integers,
    receiver: Integers,
    size: Integers,
    blocks: partial[Sequence[int]],
    combine: bool,
) -> Round:
    if combine:
        return Round(sender, receiver, size, blocks, combine=True, reducer=receiver, reduced=size)
    return Round(sender, receiver, size, blocks)
