"""Order of the messages of the kernel overlap: partners, sequence and bursts. Main entry: `order`.

Source: Iancu and Strohmaier, "Optimizing Communication Overlap for High-Speed Networks" (2007), Sections 2.2 and 3.2 to
3.4. What the paper leaves open is chosen so that a message is sent in the same burst, counted from 0, in which it is
received: then no rank ever waits for one that waits for it.

Each process has a region of its send buffer and of its receive buffer for each peer, and the same piece lies at the
same offset on both sides. So a one-sided operation needs no more than what the one who begins it knows.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.bench.kernels.kernel import stride
from commmodel.results.configurations import Overlap

Integers = NDArray[np.int64]
_FLOAT_BYTES = 8


class Order(NamedTuple):
    """Order of a rank: its steps and the bounds of its bursts, for the loops of `_core`.

    Attributes
    ----------
    receives : int64 array, (n, 3)
        Rank, offset and length in bytes of each message that arrives; with one-sided operations, of each that this rank
        gets or puts.
    receive_bounds : int64 array, (bursts + 1)
        The messages of burst j are receive_bounds[j] to receive_bounds[j + 1].
    sends, send_bounds : int64 arrays
        The same of what it sends in return, in as many bursts; without meaning for one-sided operations.
    """

    receives: Integers
    receive_bounds: Integers
    sends: Integers
    send_bounds: Integers


def _shares(problem: Overlap) -> Integers:
    """Return the size of each region in bytes."""
    peers = problem.processes - 1
    if not problem.pattern.startswith("all-to-all"):
        return np.full(peers, problem.volume)
    return problem.volume // peers + (np.arange(peers) < problem.volume % peers)


def largest_share(problem: Overlap) -> int:
    """Return the largest share of a peer: the largest sensible message size.

    >>> largest_share(Overlap(1000, 8, 1, "tight", 1, 4, "any", "all-to-all-contiguous"))
    334
    """
    return int(_shares(problem)[0])


def longest_burst(problem: Overlap) -> int:
    """Return the number of messages beyond which a longer burst changes nothing."""
    counts = -(-_shares(problem) // problem.message_size)
    one_peer = problem.pattern in {"end-point-congestion", "all-to-all-same-order"}
    return int(counts.max() if one_peer else counts.sum())


def _spacing(problem: Overlap) -> int:
    """Return the distance between the messages of a region; computed data begin at a multiple of a float64."""
    return -(-problem.message_size // _FLOAT_BYTES) * _FLOAT_BYTES


def _region_bytes(problem: Overlap) -> int:
    return stride(-(-largest_share(problem) // problem.message_size) * _spacing(problem))


def room(problem: Overlap) -> int:
    """Return the bytes of all regions of a buffer."""
    return (problem.processes - 1) * _region_bytes(problem)


def _steps(problem: Overlap, ranks: Integers, regions: Integers, messages: Integers) -> Integers:
    offsets = regions * _region_bytes(problem) + messages * _spacing(problem)
    lengths = np.minimum(problem.message_size, _shares(problem)[regions] - messages * problem.message_size)
    return np.ascontiguousarray(np.stack([ranks, offsets, lengths], axis=1), dtype=np.int64)


def _one_after_the_other(problem: Overlap) -> tuple[Integers, Integers]:
    """Return region and number of every message, each region finished before the next."""
    counts = -(-_shares(problem) // problem.message_size)
    regions = np.repeat(np.arange(counts.size), counts)
    return regions, np.arange(regions.size) - np.repeat(np.cumsum(counts) - counts, counts)


def _in_turns(problem: Overlap) -> tuple[Integers, Integers]:
    """Return region and number of every message, one of each region in turn."""
    regions, messages = _one_after_the_other(problem)
    turns = np.lexsort((regions, messages))
    return regions[turns], messages[turns]


def _bounds(count: int, burst: int) -> Integers:
    return np.append(np.arange(0, count, burst), count)


def _staggered(problem: Overlap, rank: int) -> Order:
    """Every process receives from i + 1, i + 2, ... and sends at the same time to i - 1, i - 2, ..."""
    regions, messages = _in_turns(problem) if "interleaved" in problem.pattern else _one_after_the_other(problem)
    sources, targets = (rank + 1 + regions) % problem.processes, (rank - 1 - regions) % problem.processes
    bounds = _bounds(regions.size, problem.burst)
    return Order(
        _steps(problem, sources, regions, messages), bounds, _steps(problem, targets, regions, messages), bounds
    )


def _congested(problem: Overlap, rank: int) -> Order:
    """Process 0 serves all others in turns: as many bursts as each of them has, each for all of them."""
    regions, messages = _in_turns(problem)
    bounds = _bounds(longest_burst(problem), problem.burst)
    empty, no_bounds = np.empty((0, 3), dtype=np.int64), np.zeros_like(bounds)
    if rank == 0:
        return Order(
            empty, no_bounds, _steps(problem, regions + 1, regions, messages), bounds * (problem.processes - 1)
        )
    is_origin = regions == rank - 1
    return Order(
        _steps(problem, np.zeros(is_origin.sum(), dtype=np.int64), regions[is_origin], messages[is_origin]),
        bounds,
        empty,
        no_bounds,
    )


def _same_order(problem: Overlap, rank: int) -> Order:
    """All receive from 0, then from 1, ...: who is the source of a round serves all others in turns meanwhile."""
    everyone = np.arange(problem.processes)
    regions, messages = _one_after_the_other(problem)
    sources = (rank + 1 + regions) % problem.processes
    visits = np.lexsort((messages, sources))
    receives = sources[visits], regions[visits], messages[visits]
    targets = (rank - 1 - regions) % problem.processes
    turns = np.lexsort((targets, messages))
    sends = targets[turns], regions[turns], messages[turns]
    # Message k of a round belongs to the round's burst k // b; the bounds are where each burst of all rounds ends.
    bursts = -(-longest_burst(problem) // problem.burst)
    ends = np.arange(1, everyone.size * bursts + 1)
    received = receives[0] * bursts + receives[2] // problem.burst
    sent = rank * bursts + sends[2] // problem.burst
    return Order(
        _steps(problem, *receives), np.append(0, np.searchsorted(received, ends)),
        _steps(problem, *sends), np.append(0, np.searchsorted(sent, ends)),
    )  # fmt: skip


def order(problem: Overlap, rank: int) -> Order:
    """Return the order of messages of a rank of the problem's communicator.

    Every process i of P receives V bytes from each of its peers, in messages of S of which the last may be shorter, and
    computes on what it received. In an all-to-all pattern it receives V bytes altogether, V // (P - 1) from each peer
    and one byte more from the first V mod (P - 1) of i + 1, i + 2, ...

    - point-to-point: of ranks 0 and 1 each receives from the other.
    - contiguous: all from i + 1, then all from i + 2, ...; interleaved: a message from each of them in turn. Meanwhile
      it sends to i - 1, i - 2, ...
    - end-point-congestion: each receives from process 0, which does nothing but send, to all others in turns.
    - all-to-all-same-order: each receives all from 0, then all from 1, ... The source sends to all others in turns.

    The bursts are of b messages; who sends to several in turns sends b to each. With one-sided operations the rows of
    receives are what a process gets, or what it puts, so that in end-point-congestion all others write to process 0.

    >>> receives, bounds, *_ = order(Overlap(1000, 256, 2, "tight", 1, 3, "any", "all-to-all-interleaved"), 1)
    >>> receives.tolist(), bounds.tolist()
    ([[2, 0, 256], [0, 512, 256], [2, 256, 244], [0, 768, 244]], [0, 2, 4])
    """
    if problem.pattern == "end-point-congestion":
        return _congested(problem, rank)
    if problem.pattern == "all-to-all-same-order":
        return _same_order(problem, rank)
    return _staggered(problem, rank)
