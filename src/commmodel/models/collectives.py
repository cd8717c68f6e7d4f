"""Closed forms of the time of collective operations: LogGP with copies within memory and reductions.

Source: March et al. 2009, Table 4, for its rows, corrected where it is misprinted; the others are derived in the same
spirit from the rules of `commmodel._core.delays.critical_path`, which a schedule of `commmodel.collectives` follows
message by message. Those with a root stand in `commmodel.models.rooted`. `CLOSED_FORMS` has them all, and says of each
where it is exact and where a bound.

All formulas take the same arguments:

processes
    P, ≥ 1; one process alone takes no time.
message_size
    m in bytes, ≥ 0, as `commmodel.collectives.Problem` has it: the whole vector of a broadcast, reduction or scan, the
    block of one process in a gather, scatter, allgather, alltoall or reduce_scatter_block. An empty message counts as
    1 byte.
L, o, g, G
    LogGP's latency, overhead, gap (seconds) and time of a byte (seconds per byte).
memory_copy
    δ, seconds per byte that is copied within a process's memory.
reduction
    γ, seconds per byte that is combined with what came.
segment_size
    Bytes of a piece; in `rooted.bcast_binary` and `rooted.bcast_chain` alone.

In the docstrings x(m) = L + 2 o + (m − 1) G is the time of a message (`commmodel.models.loggp.time`), a(m) =
max(o, g + (m − 1) G) the time between two messages of a process, and k = ⌈log₂P⌉.
"""

# ruff: noqa: ARG001  (all formulas have the same arguments)

import math
from typing import NamedTuple

from commmodel.models import rooted
from commmodel.models.formula import Formula, formula

__all__ = [
    "CLOSED_FORMS",
    "ClosedForm",
    "allgather_bruck",
    "allgather_neighbor_exchange",
    "allreduce_recursive_doubling",
    "allreduce_reduce_broadcast",
    "allreduce_reduce_scatter_allgather",
    "allreduce_ring",
    "alltoall_bruck",
    "alltoall_linear",
    "alltoall_pairwise",
    "barrier_dissemination",
    "barrier_dissemination_printed",
    "barrier_recursive_doubling",
    "exchanges",
    "exchanges_reducing",
    "reduce_scatter_block_recursive_halving",
    "scan_recursive_doubling",
]


@formula
def barrier_dissemination(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Barrier by dissemination: in each of ⌈log₂P⌉ rounds every process notifies one other.

    T = k max(g, L + 2 o)

    Notes
    -----
    LogP's own. Where g > L + 2 o it counts the gap after the last message too, for which nobody waits.

    Examples
    --------
    >>> barrier_dissemination(8, 0, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    12.0
    """
    rounds = math.ceil(math.log2(processes))
    return rounds * max(g, L + 2.0 * o)


@formula
def barrier_dissemination_printed(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Barrier by dissemination, with the formula as printed in the paper.

    T = k (L + o + g)

    Notes
    -----
    March 2009, Table 4: the gap stands for the overhead of the receiver. The same as `barrier_dissemination` for g
    = o.

    Examples
    --------
    >>> barrier_dissemination_printed(8, 0, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    12.0
    """
    rounds = math.ceil(math.log2(processes))
    return rounds * (L + o + g)


@formula
def barrier_recursive_doubling(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Barrier by recursive doubling: pairs at distance 1, 2, 4, ... notify each other.

    T = (log₂P − 1) max(g, L + 2 o) + L + 2 o; with k = ⌊log₂P⌋ where P is no power of two, k max(g, L + 2 o) + 2 (L + 2
    o)

    Notes
    -----
    Processes beyond a power of two tell a partner before, and are told after.

    Examples
    --------
    >>> barrier_recursive_doubling(8, 0, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    12.0
    """
    if processes < 2.0:
        return 0.0
    rounds = math.floor(math.log2(processes))
    if 2.0**rounds < processes:
        return rounds * max(g, L + 2.0 * o) + 2.0 * (L + 2.0 * o)
    return (rounds - 1.0) * max(g, L + 2.0 * o) + L + 2.0 * o


@formula
def allreduce_recursive_doubling(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Allreduce by recursive doubling: pairs at distance 1, 2, 4, ... exchange the vector and combine.

    T = log₂P (x(m) + γ m); with k = ⌊log₂P⌋ where P is no power of two, (k + 1) (x(m) + γ m) + x(m)

    Notes
    -----
    Processes beyond a power of two give theirs to a partner before, and get the result after.

    Examples
    --------
    >>> allreduce_recursive_doubling(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    46.5
    """
    rest = (max(message_size, 1.0) - 1.0) * G
    rounds = math.floor(math.log2(processes))
    message = L + 2.0 * o + rest
    if 2.0**rounds < processes:
        return (rounds + 1.0) * (message + reduction * message_size) + message
    return rounds * (message + reduction * message_size)


@formula
def allreduce_reduce_scatter_allgather(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Allreduce by recursive halving (reduce-scatter), then recursive doubling (allgather).

    T = 2 k (L + 2 o) + 2 ((2^k − 1)/2^k m − k) G + (2^k − 1)/2^k m γ, k = ⌊log₂P⌋; and 2 x(m) + γ m where P is no power
    of two

    Notes
    -----
    Both phases send m/2, m/4, ..., m/2^k bytes (Rabenseifner). Processes beyond a power of two hand theirs to a
    partner before, and get the result after.

    Examples
    --------
    >>> allreduce_reduce_scatter_allgather(8, 64, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    91.0
    """
    rounds = math.floor(math.log2(processes))
    power = 2.0**rounds
    volume = (power - 1.0) / power * message_size
    time = 2.0 * rounds * (L + 2.0 * o) + 2.0 * max(volume - rounds, 0.0) * G + volume * reduction
    if power < processes:
        time += 2.0 * (L + 2.0 * o + (max(message_size, 1.0) - 1.0) * G) + message_size * reduction
    return time


@formula
def allreduce_ring(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Allreduce around a ring: reduce-scatter, then allgather.

    T = 2 (P − 1) x(m/P) + (P − 1)/P m γ

    Notes
    -----
    P − 1 rounds with a reduction, then P − 1 without.

    Examples
    --------
    >>> allreduce_ring(8, 64, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    119.0
    """
    if processes < 2.0:
        return 0.0
    rest = (max(message_size / processes, 1.0) - 1.0) * G
    return 2.0 * (processes - 1.0) * (L + 2.0 * o + rest) + (processes - 1.0) / processes * message_size * reduction


@formula
def allreduce_reduce_broadcast(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Allreduce up a binomial tree (reduce), then down it (broadcast).

    T = k (2 x(m) + γ m)

    Notes
    -----
    `reduce_binomial` and `bcast_binomial`.

    Examples
    --------
    >>> allreduce_reduce_broadcast(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    81.0
    """
    rest = (max(message_size, 1.0) - 1.0) * G
    rounds = math.ceil(math.log2(processes))
    return rounds * (2.0 * (L + 2.0 * o + rest) + reduction * message_size)


@formula
def exchanges(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """P − 1 rounds, in each of which every process sends one block and receives one.

    T = (P − 2) max(g + (m − 1) G, x(m)) + x(m)

    Notes
    -----
    An allgather around a ring, or an alltoall between pairs.

    Examples
    --------
    >>> exchanges(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    80.5
    """
    if processes < 2.0:
        return 0.0
    rest = (max(message_size, 1.0) - 1.0) * G
    message = L + 2.0 * o + rest
    return (processes - 2.0) * max(g + rest, message) + message


@formula
def allgather_bruck(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Allgather by Bruck: blocks from distance 1, 2, 4, ..., then a rotation in memory.

    T = k (L + 2 o) + ((P − 1) m − k) G + δ P m

    Notes
    -----
    Any P: the last message has the blocks that are missing. δ P m: blocks lie in order from a process's own on, and
    are copied to their places.

    Examples
    --------
    >>> allgather_bruck(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    82.5
    """
    rounds = math.ceil(math.log2(processes))
    wire = max((processes - 1.0) * message_size - rounds, 0.0) * G
    copied = memory_copy * processes * message_size if processes > 1.0 else 0.0
    return rounds * (L + 2.0 * o) + wire + copied


@formula
def allgather_neighbor_exchange(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Allgather by neighbour exchange: the newest blocks alternately to the left and to the right neighbour.

    T = x(m) + (P/2 − 1) x(2 m)

    Notes
    -----
    For an even P.

    Examples
    --------
    >>> allgather_neighbor_exchange(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    70.0
    """
    if processes < 2.0:
        return 0.0
    rest = (max(message_size, 1.0) - 1.0) * G
    double = (max(2.0 * message_size, 1.0) - 1.0) * G
    return L + 2.0 * o + rest + (processes / 2.0 - 1.0) * (L + 2.0 * o + double)


@formula
def alltoall_linear(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Alltoall with all messages at once.

    T = max((P − 2) a(m) + x(m), 2 (P − 1) o)

    Notes
    -----
    March 2009, Table 4, prints L + 2 o + (m − 1) G + 2 (P − 1) G, which has no m where the many messages are:
    impossible. This follows from LogGP's rules. The last of P − 1 messages leaves (P − 2) a(m) after the first and
    takes x(m); and the processor spends o on each of 2 (P − 1) messages. Both are lower bounds, and for g + (m − 1)
    G ≤ o their maximum is what a schedule takes that is evaluated message by message. Elsewhere a receive that has
    begun may hold up a send by as much as o, so that sends are a(m) + o apart instead of max(a(m), 2 o), 1.5 times
    as much at most. One also reads (P − 1) g + 2 o for m = 1 and g ≥ 2 o: right for L = g only, as the last message
    is under way for L, not for g.

    Examples
    --------
    >>> alltoall_linear(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    62.5
    """
    if processes < 2.0:
        return 0.0
    rest = (max(message_size, 1.0) - 1.0) * G
    return max((processes - 2.0) * max(o, g + rest) + L + 2.0 * o + rest, 2.0 * (processes - 1.0) * o)


@formula
def alltoall_pairwise(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Alltoall by pairwise exchange: in each of P − 1 rounds every process exchanges with one other.

    T = (P − 1) (L + o + (m − 1) G + g)

    Notes
    -----
    March 2009, Table 4: the gap stands for the overhead of the receiver; without that, `exchanges`.

    Examples
    --------
    >>> alltoall_pairwise(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    80.5
    """
    if processes < 2.0:
        return 0.0
    rest = (max(message_size, 1.0) - 1.0) * G
    return (processes - 1.0) * (L + o + rest + g)


@formula
def alltoall_bruck(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Alltoall by Bruck: in each of ⌈log₂P⌉ rounds half of all blocks go to one process.

    T = k (o + (P m/2 − 1) G + δ P m/2 + max(g, L + o)) + δ P m

    Notes
    -----
    March 2009, Table 4; the printed parenthesis multiplies o by G. δ P m/2: the blocks to send are packed; δ P m:
    all blocks are turned.

    Examples
    --------
    >>> alltoall_bruck(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    146.5
    """
    if processes < 2.0:
        return 0.0
    rounds = math.ceil(math.log2(processes))
    half = processes * message_size / 2.0
    return rounds * (o + (max(half, 1.0) - 1.0) * G + memory_copy * half + max(g, L + o)) + 2.0 * memory_copy * half


@formula
def reduce_scatter_block_recursive_halving(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Reduce-scatter by recursive halving: pairs at distance P/2, P/4, ... exchange half of the rest and combine.

    T = k (L + 2 o) + ((P − 1) m − k) G + (P − 1) m γ; with k = ⌊log₂P⌋ where P is no power of two, k (L + 2 o) + (2
    (2^k − 1) m − k) G + 2 (2^k − 1) m γ + x(P m) + γ P m + x(m)

    Notes
    -----
    Messages of P m/2, P m/4, ..., m bytes. Processes beyond a power of two hand theirs to a partner before, and get
    the result after. The halves then have up to twice as many blocks.

    Examples
    --------
    >>> reduce_scatter_block_recursive_halving(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    94.5
    """
    rounds = math.floor(math.log2(processes))
    power = 2.0**rounds
    volume = (power - 1.0) * message_size
    time = 0.0
    if power < processes:
        volume = 2.0 * volume
        ends = max(processes * message_size, 1.0) - 1.0 + max(message_size, 1.0) - 1.0
        time = 2.0 * (L + 2.0 * o) + ends * G + processes * message_size * reduction
    return time + rounds * (L + 2.0 * o) + max(volume - rounds, 0.0) * G + volume * reduction


@formula
def exchanges_reducing(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """P − 1 rounds, in each of which every process sends one block, receives one and combines it.

    T = (P − 2) max(g + (m − 1) G, x(m) + γ m) + x(m) + γ m

    Notes
    -----
    A reduce_scatter_block, around a ring or between pairs.

    Examples
    --------
    >>> exchanges_reducing(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    108.5
    """
    if processes < 2.0:
        return 0.0
    rest = (max(message_size, 1.0) - 1.0) * G
    message = L + 2.0 * o + rest
    work = message_size * reduction
    return (processes - 2.0) * max(g + rest, message + work) + message + work


@formula
def scan_recursive_doubling(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Scan by recursive doubling: pairs at distance 1, 2, 4, ... exchange their partial results.

    T = k (x(m) + 2 γ m)

    Notes
    -----
    What came is added to the sum of all known, and where it is from below to the result, too.

    Examples
    --------
    >>> scan_recursive_doubling(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    58.5
    """
    rest = (max(message_size, 1.0) - 1.0) * G
    rounds = math.ceil(math.log2(processes))
    return rounds * (L + 2.0 * o + rest + 2.0 * reduction * message_size)


class ClosedForm(NamedTuple):
    """The formula of an algorithm, and where it is exact."""

    formula: Formula
    exactness: str
    """Where it is what the rules of LogGP give for the schedule, and where only a bound."""
    takes_segment_size: bool = False


_TREE = (
    "exact for P a power of two, an upper bound for other P; "
    "both for g ≤ L + 2 o, else for P a power of two a lower bound"
)
_TREE_UP = (
    "exact for P a power of two and g ≤ L + 2 o, where a longer gap makes it a lower bound; an estimate for other P, "
    "where two messages may come at once"
)


CLOSED_FORMS: dict[str, dict[str, ClosedForm]] = {
    "barrier": {
        "linear": ClosedForm(rooted.barrier_linear, "exact"),
        "dissemination": ClosedForm(
            barrier_dissemination, "exact for g ≤ L + 2 o; else an upper bound, too large by g − L − 2 o"
        ),
        "recursive-doubling": ClosedForm(
            barrier_recursive_doubling, "exact for P a power of two; an upper bound for other P"
        ),
        "binomial": ClosedForm(
            rooted.barrier_binomial,
            "exact for P a power of two, where a longer gap than L + 2 o makes it a lower bound; an "
            "estimate for other P",
        ),
    },
    "bcast": {
        "linear": ClosedForm(rooted.linear, "exact"),
        "binomial": ClosedForm(rooted.bcast_binomial, _TREE),
        "binomial-at-once": ClosedForm(rooted.bcast_binomial, _TREE),
        "binary": ClosedForm(
            rooted.bcast_binary, "exact for one piece, g ≤ L + 2 o and P + 1 a power of two; else an estimate", True
        ),
        "chain": ClosedForm(
            rooted.bcast_chain, "exact for pieces of the same size; an upper bound where the last is smaller", True
        ),
        "scatter-ring": ClosedForm(
            rooted.bcast_scatter_ring,
            "for g ≤ L + 2 o and P a power of two that divides m an upper bound, too large by (k + P − "
            "1) G; else an estimate",
        ),
        "scatter-recursive-doubling": ClosedForm(
            rooted.bcast_scatter_recursive_doubling,
            "for g ≤ L + 2 o and P a power of two that divides m an upper bound, too large by 2 k G; else an estimate",
        ),
    },
    "reduce": {
        "linear": ClosedForm(rooted.reduce_linear, "exact"),
        "binomial": ClosedForm(rooted.reduce_binomial, _TREE_UP),
        "reduce-scatter-gather": ClosedForm(
            rooted.reduce_scatter_gather,
            "exact for P a power of two that divides m and g ≤ L + 2 o; an estimate for other P",
        ),
        "reduce-scatter-gather-halves": ClosedForm(
            rooted.reduce_scatter_gather,
            "exact for P a power of two that divides m and g ≤ L + 2 o; an estimate for other P",
        ),
    },
    "allreduce": {
        "recursive-doubling": ClosedForm(
            allreduce_recursive_doubling,
            "exact for P a power of two, where a longer gap than L + 2 o makes it a lower bound; an "
            "estimate for other P",
        ),
        "reduce-scatter-allgather": ClosedForm(
            allreduce_reduce_scatter_allgather,
            "exact for P a power of two that divides m and g ≤ L + 2 o; an estimate for other P",
        ),
        "reduce-scatter-allgather-halves": ClosedForm(
            allreduce_reduce_scatter_allgather,
            "exact for P a power of two that divides m and g ≤ L + 2 o; an estimate for other P",
        ),
        "linear": ClosedForm(rooted.allreduce_linear, "exact"),
        "ring": ClosedForm(allreduce_ring, "exact for g ≤ L + 2 o where P divides m; else a lower bound"),
        "reduce-broadcast": ClosedForm(
            allreduce_reduce_broadcast,
            "exact for P a power of two, where a longer gap than L + 2 o makes it a lower bound; an "
            "estimate for other P",
        ),
    },
    "gather": {
        "linear": ClosedForm(rooted.linear, "exact"),
        "binomial": ClosedForm(rooted.blocks_binomial, _TREE_UP),
    },
    "scatter": {
        "linear": ClosedForm(rooted.linear, "exact"),
        "binomial": ClosedForm(rooted.blocks_binomial, _TREE),
    },
    "allgather": {
        "ring": ClosedForm(exchanges, "exact"),
        "recursive-doubling": ClosedForm(
            rooted.blocks_binomial, "exact for P a power of two and g ≤ L + 2 o; else a lower bound"
        ),
        "bruck": ClosedForm(allgather_bruck, "exact for g ≤ L + 2 o; else a lower bound"),
        "neighbor-exchange": ClosedForm(
            allgather_neighbor_exchange, "exact for g ≤ L + 2 o; else a lower bound; for an even P"
        ),
    },
    "alltoall": {
        "linear": ClosedForm(
            alltoall_linear, "exact for g + (m − 1) G ≤ o; else a lower bound, at most 1.5 times too small"
        ),
        "pairwise": ClosedForm(alltoall_pairwise, "exact for g = o; an upper bound for g > o; a lower bound for g < o"),
        "pairwise-xor": ClosedForm(exchanges, "exact"),
        "bruck": ClosedForm(alltoall_bruck, "exact for g ≤ L + o and P a power of two; an upper bound elsewhere"),
    },
    "reduce_scatter_block": {
        "recursive-halving": ClosedForm(
            reduce_scatter_block_recursive_halving,
            "exact for P a power of two, where a longer gap than L + 2 o makes it a lower bound; an "
            "estimate for other P",
        ),
        "pairwise": ClosedForm(exchanges_reducing, "exact"),
        "ring": ClosedForm(exchanges_reducing, "exact"),
    },
    "scan": {
        "linear": ClosedForm(rooted.scan_linear, "exact"),
        "recursive-doubling": ClosedForm(
            scan_recursive_doubling,
            "exact for P a power of two, where a longer gap than L + 2 o makes it a lower bound; an "
            "estimate for other P",
        ),
    },
}
"""Operation -> algorithm, under the names of `commmodel.collectives.algorithms.registry.ALGORITHMS` -> formula."""
