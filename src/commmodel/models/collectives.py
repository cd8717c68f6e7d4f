"""Closed forms of the time of collective operations: LogGP with copies within memory and reductions.

Source: March et al. 2009, Table 4, for its rows, corrected where it is misprinted; the others are derived in the same
spirit from the rules of `commmodel._core.delays.critical_path`, which a schedule of `commmodel.collectives` follows
message by message. `CLOSED_FORMS` has them all, and says of each where it is exact and where a bound:

>>> CLOSED_FORMS["bcast"]["binomial"].formula(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
34.5

All formulas take the same arguments:

processes
    P, ≥ 1; one process alone takes no time.
message_size
    m in bytes, ≥ 0, as `commmodel.collectives.Problem` has it: the whole vector of a broadcast, reduction or scan, the
    block of one process in a gather, scatter, allgather, alltoall or reduce_scatter_block. An empty message counts as
    1 byte.
L, o, g
    LogGP's latency, overhead and gap, seconds.
G
    LogGP's time of a byte, seconds per byte.
memory_copy
    δ, seconds per byte that is copied within a process's memory.
reduction
    γ, seconds per byte that is combined with what came.
segment_size
    Bytes of a piece; in `bcast_binary` and `bcast_chain` alone.

In the docstrings x(m) = L + 2 o + (m − 1) G is the time of a message (`commmodel.models.loggp.time`), a(m) =
max(o, g + (m − 1) G) the time between two messages of a process, and k = ⌈log₂P⌉.
"""

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec, cast

from commmodel.models.compiled import Compiled
from commmodel.models.formula import Formula, Real

__all__ = ["CLOSED_FORMS", "ClosedForm", "barrier_dissemination_printed"]

_Parameters = ParamSpec("_Parameters")
_ARGUMENTS = ("processes", "message_size", "L", "o", "g", "G", "memory_copy", "reduction")
_PIECES = """\
    pieces = max(1.0, math.ceil(message_size / segment_size))
    message_size = min(message_size, segment_size)"""
_TERMS = {
    "rounds": "math.ceil(math.log2(processes))",
    "whole_rounds": "math.floor(math.log2(processes))",
    "power": "2.0**whole_rounds",
    "rest": "(max(message_size, 1.0) - 1.0) * G",
    "apart": "max(o, g + rest)",
    "message": "L + 2.0 * o + rest",
    "train": "(processes - 2.0) * apart + L + 2.0 * o + rest",
}
"""What an equation may name beside the arguments: k, ⌊log₂P⌋, its power of two, (m − 1) G, a(m), x(m), and
(P − 2) a(m) + x(m)."""


def _of_all(
    processes: Real, message_size: Real, L: Real, o: Real, g: Real, G: Real, memory_copy: Real, reduction: Real
) -> float:
    """Say for type checkers what all closed forms take."""
    raise NotImplementedError


def _like(_: Callable[_Parameters, float]) -> Callable[[Callable[..., float]], Formula[_Parameters]]:
    """Return `_closed_form` for formulas that take what a function takes."""
    return cast(Any, _closed_form)  # type: ignore[no-any-return]


def _closed_form(equation: Callable[..., float]) -> Formula[...]:
    """Return the formula of all arguments, from an equation of those and of the terms that it names.

    Where it names ``pieces``, there is the argument `segment_size`, too, and its terms are those of one piece.
    """
    names = equation.__code__.co_varnames[: equation.__code__.co_argcount]
    needed = {*names}
    for term in reversed(_TERMS):
        needed |= {*re.findall(r"\w+", _TERMS[term])} if term in needed else set()
    is_in_pieces = "pieces" in names
    arguments = (*_ARGUMENTS, "segment_size") if is_in_pieces else _ARGUMENTS
    lines = [f"def {equation.__name__}({': float, '.join(arguments)}: float) -> float:"]
    lines += ["    if processes < 2.0:", "        return 0.0", *[_PIECES] * is_in_pieces]
    lines += [f"    {term} = {value}" for term, value in _TERMS.items() if term in needed]
    lines += [f"    return equation({', '.join(names)})"]
    namespace = dict(equation.__globals__, equation=Compiled(equation), math=math)
    exec(compile("\n".join(lines), __file__, "exec"), namespace)  # noqa: S102  (our own lines)
    function = namespace[equation.__name__]
    function.__doc__ = equation.__doc__
    return Formula(function)


closed_form = _like(_of_all)


@closed_form
def barrier_linear(processes: float, L: float, o: float, g: float) -> float:
    """Barrier through rank 0: every process notifies it, then it notifies every process.

    T = 2 (L + 2 o + (P − 2) max(o, g)). Rank 0 is the bottleneck, twice.
    """
    return 2.0 * (L + 2.0 * o + (processes - 2.0) * max(o, g))


@closed_form
def barrier_dissemination(rounds: float, L: float, o: float, g: float) -> float:
    """Barrier by dissemination: in each of ⌈log₂P⌉ rounds every process notifies one other.

    T = k max(g, L + 2 o), as in LogP. Where g > L + 2 o it counts the gap after the last message too, for which nobody
    waits.
    """
    return rounds * max(g, L + 2.0 * o)


@closed_form
def barrier_dissemination_printed(rounds: float, L: float, o: float, g: float) -> float:
    """Barrier by dissemination, with the formula as printed in the paper.

    T = k (L + o + g). March 2009, Table 4: the gap stands for the overhead of the receiver. The same as
    `barrier_dissemination` for g = o.
    """
    return rounds * (L + o + g)


@closed_form
def barrier_recursive_doubling(
    processes: float, whole_rounds: float, power: float, L: float, o: float, g: float
) -> float:
    """Barrier by recursive doubling: pairs at distance 1, 2, 4, ... notify each other.

    T = (log₂P − 1) max(g, L + 2 o) + L + 2 o; with k = ⌊log₂P⌋ where P is no power of two, k max(g, L + 2 o) + 2 (L + 2
    o). Processes beyond a power of two tell a partner before, and are told after.
    """
    if power < processes:
        return whole_rounds * max(g, L + 2.0 * o) + 2.0 * (L + 2.0 * o)
    return (whole_rounds - 1.0) * max(g, L + 2.0 * o) + L + 2.0 * o


@closed_form
def barrier_binomial(rounds: float, L: float, o: float) -> float:
    """Barrier: up a binomial tree and down again.

    T = 2 k (L + 2 o). A reduction and a broadcast of nothing.
    """
    return 2.0 * rounds * (L + 2.0 * o)


@closed_form
def linear(train: float) -> float:
    """Messages from the root to each process in turn, or from each process to the root.

    T = (P − 2) a(m) + x(m). LogGP's train of messages, with many receivers or many senders.
    """
    return train


@closed_form
def bcast_binomial(rounds: float, message: float) -> float:
    """Broadcast down a binomial tree: each round doubles the number of processes that have the message.

    T = k (L + 2 o + (m − 1) G). March 2009, Table 4.
    """
    return rounds * message


@_closed_form
def bcast_binary(
    processes: float, pieces: float, whole_rounds: float, apart: float, rest: float, L: float, o: float
) -> float:
    """Broadcast down a binary tree, pipelined in segments.

    T = ⌊log₂P⌋ (a(s) + x(s)) + (⌈m/s⌉ − 1) max(2 a(s), 3 o), s = min(m, segment_size). A piece is sent twice and
    received once. The path that goes to the second child everywhere is the longest.
    """
    if processes < 3.0:
        return (pieces - 1.0) * apart + L + 2.0 * o + rest
    busy = 3.0 * o if processes > 3.0 else 2.0 * o
    return whole_rounds * (apart + L + 2.0 * o + rest) + (pieces - 1.0) * max(2.0 * apart, busy)


@_closed_form
def bcast_chain(processes: float, pieces: float, message: float, rest: float, o: float, g: float) -> float:
    """Broadcast along a chain of all processes, pipelined in segments.

    T = (P − 1) x(s) + (⌈m/s⌉ − 1) max(2 o, a(s)), s = min(m, segment_size); max(o, a(s)) for P = 2. A process in the
    middle receives a piece and sends it on, 2 o of its time.
    """
    busy = 2.0 * o if processes > 2.0 else o
    return (processes - 1.0) * message + (pieces - 1.0) * max(busy, g + rest)


@closed_form
def bcast_scatter_ring(processes: float, message_size: float, rounds: float, L: float, o: float, G: float) -> float:
    """Broadcast by a binomial scatter, then an allgather around a ring (BT/R).

    T = (k + P − 1) (L + 2 o) + 2 (P − 1)/P m G. March 2009, Table 4, "Scatter + Gather". It leaves out that the first
    byte of a message costs no G: (k + P − 1) G.
    """
    return (rounds + processes - 1.0) * (L + 2.0 * o) + 2.0 * (processes - 1.0) / processes * message_size * G


@closed_form
def bcast_scatter_recursive_doubling(
    processes: float, message_size: float, rounds: float, L: float, o: float, G: float
) -> float:
    """Broadcast by a binomial scatter, then an allgather by recursive doubling (BT/RD).

    T = 2 k (L + 2 o) + 2 (P − 1)/P m G. Missing in March 2009, Table 4. It leaves out that the first byte of a message
    costs no G: 2 k G.
    """
    return 2.0 * rounds * (L + 2.0 * o) + 2.0 * (processes - 1.0) / processes * message_size * G


@closed_form
def reduce_linear(processes: float, message_size: float, train: float, reduction: float) -> float:
    """Reduce in the root: every process sends to it, and it combines.

    T = (P − 2) a(m) + x(m) + (P − 1) γ m. The root combines when it has all.
    """
    return train + (processes - 1.0) * reduction * message_size


@closed_form
def reduce_binomial(message_size: float, rounds: float, message: float, reduction: float) -> float:
    """Reduce up a binomial tree.

    T = k (x(m) + γ m). A broadcast backwards, with a reduction after each message.
    """
    return rounds * (message + reduction * message_size)


@closed_form
def reduce_scatter_gather(
    processes: float,
    message_size: float,
    whole_rounds: float,
    power: float,
    message: float,
    L: float,
    o: float,
    G: float,
    reduction: float,
) -> float:
    """Reduce by recursive halving (reduce-scatter), then a gather up a binomial tree.

    T = 2 k (L + 2 o) + 2 ((2^k − 1)/2^k m − k) G + (2^k − 1)/2^k m γ, k = ⌊log₂P⌋; and x(m) + γ m where P is no power
    of two. Both phases send m/2, m/4, ..., m/2^k bytes (Rabenseifner). Processes beyond a power of two hand theirs to a
    partner before.
    """
    volume = (power - 1.0) / power * message_size
    time = 2.0 * whole_rounds * (L + 2.0 * o) + 2.0 * max(volume - whole_rounds, 0.0) * G + volume * reduction
    if power < processes:
        time += message + message_size * reduction
    return time


@closed_form
def allreduce_recursive_doubling(
    processes: float, message_size: float, whole_rounds: float, power: float, message: float, reduction: float
) -> float:
    """Allreduce by recursive doubling: pairs at distance 1, 2, 4, ... exchange the vector and combine.

    T = log₂P (x(m) + γ m); with k = ⌊log₂P⌋ where P is no power of two, (k + 1) (x(m) + γ m) + x(m). Processes beyond a
    power of two give theirs to a partner before, and get the result after.
    """
    if power < processes:
        return (whole_rounds + 1.0) * (message + reduction * message_size) + message
    return whole_rounds * (message + reduction * message_size)


@closed_form
def allreduce_reduce_scatter_allgather(
    processes: float,
    message_size: float,
    whole_rounds: float,
    power: float,
    message: float,
    L: float,
    o: float,
    G: float,
    reduction: float,
) -> float:
    """Allreduce by recursive halving (reduce-scatter), then recursive doubling (allgather).

    T = 2 k (L + 2 o) + 2 ((2^k − 1)/2^k m − k) G + (2^k − 1)/2^k m γ, k = ⌊log₂P⌋; and 2 x(m) + γ m where P is no power
    of two. Both phases send m/2, m/4, ..., m/2^k bytes (Rabenseifner). Processes beyond a power of two hand theirs to a
    partner before, and get the result after.
    """
    volume = (power - 1.0) / power * message_size
    time = 2.0 * whole_rounds * (L + 2.0 * o) + 2.0 * max(volume - whole_rounds, 0.0) * G + volume * reduction
    if power < processes:
        time += 2.0 * message + message_size * reduction
    return time


@closed_form
def allreduce_linear(processes: float, message_size: float, train: float, reduction: float) -> float:
    """Allreduce in rank 0: every process sends to it, it combines, and sends to every process.

    T = 2 (P − 2) a(m) + 2 x(m) + (P − 1) γ m: `reduce_linear` and `linear`.
    """
    return train + (processes - 1.0) * reduction * message_size + train


@closed_form
def allreduce_ring(processes: float, message_size: float, L: float, o: float, G: float, reduction: float) -> float:
    """Allreduce around a ring: reduce-scatter, then allgather.

    T = 2 (P − 1) x(m/P) + (P − 1)/P m γ. P − 1 rounds with a reduction, then P − 1 without.
    """
    rest = (max(message_size / processes, 1.0) - 1.0) * G
    return 2.0 * (processes - 1.0) * (L + 2.0 * o + rest) + (processes - 1.0) / processes * message_size * reduction


@closed_form
def allreduce_reduce_broadcast(message_size: float, rounds: float, message: float, reduction: float) -> float:
    """Allreduce up a binomial tree (reduce), then down it (broadcast).

    T = k (2 x(m) + γ m): `reduce_binomial` and `bcast_binomial`.
    """
    return rounds * (2.0 * message + reduction * message_size)


@closed_form
def blocks_binomial(processes: float, message_size: float, rounds: float, L: float, o: float, G: float) -> float:
    """Gather up or scatter down a binomial tree, each message with the blocks of a whole subtree.

    T = k (L + 2 o) + ((P − 1) m − k) G. Messages of m, 2 m, 4 m, ... bytes; so has an allgather by recursive doubling.
    """
    return rounds * (L + 2.0 * o) + max((processes - 1.0) * message_size - rounds, 0.0) * G


@closed_form
def exchanges(processes: float, message: float, rest: float, g: float) -> float:
    """P − 1 rounds, in each of which every process sends one block and receives one.

    T = (P − 2) max(g + (m − 1) G, x(m)) + x(m). An allgather around a ring, or an alltoall between pairs.
    """
    return (processes - 2.0) * max(g + rest, message) + message


@closed_form
def allgather_bruck(
    processes: float, message_size: float, rounds: float, L: float, o: float, G: float, memory_copy: float
) -> float:
    """Allgather by Bruck: blocks from distance 1, 2, 4, ..., then a rotation in memory.

    T = k (L + 2 o) + ((P − 1) m − k) G + δ P m. Any P: the last message has the blocks that are missing. δ P m: blocks
    lie in order from a process's own on, and are copied to their places.
    """
    wire = max((processes - 1.0) * message_size - rounds, 0.0) * G
    return rounds * (L + 2.0 * o) + wire + memory_copy * processes * message_size


@closed_form
def allgather_neighbor_exchange(
    processes: float, message_size: float, message: float, L: float, o: float, G: float
) -> float:
    """Allgather by neighbour exchange: the newest blocks alternately to the left and to the right neighbour.

    T = x(m) + (P/2 − 1) x(2 m). For an even P.
    """
    double = (max(2.0 * message_size, 1.0) - 1.0) * G
    return message + (processes / 2.0 - 1.0) * (L + 2.0 * o + double)


@closed_form
def alltoall_linear(processes: float, train: float, o: float) -> float:
    """Alltoall with all messages at once.

    T = max((P − 2) a(m) + x(m), 2 (P − 1) o). March 2009, Table 4, prints L + 2 o + (m − 1) G + 2 (P − 1) G, which has
    no m where the many messages are. This follows from LogGP's rules. The last of P − 1 messages leaves (P
    − 2) a(m) after the first and takes x(m); and the processor spends o on each of 2 (P − 1) messages. Both are lower
    bounds, and for g + (m − 1) G ≤ o their maximum is what a schedule takes that is evaluated message by message.
    Elsewhere a receive that has begun may hold up a send by as much as o, so that sends are a(m) + o apart instead of
    max(a(m), 2 o), 1.5 times as much at most. One also reads (P − 1) g + 2 o for m = 1 and g ≥ 2 o: right for L = g
    only, as the last message is under way for L, not for g.
    """
    return max(train, 2.0 * (processes - 1.0) * o)


@closed_form
def alltoall_pairwise(processes: float, rest: float, L: float, o: float, g: float) -> float:
    """Alltoall by pairwise exchange: in each of P − 1 rounds every process exchanges with one other.

    T = (P − 1) (L + o + (m − 1) G + g). March 2009, Table 4: the gap stands for the overhead of the receiver; without
    that, `exchanges`.
    """
    return (processes - 1.0) * (L + o + rest + g)


@closed_form
def alltoall_bruck(
    processes: float, message_size: float, rounds: float, L: float, o: float, g: float, G: float, memory_copy: float
) -> float:
    """Alltoall by Bruck: in each of ⌈log₂P⌉ rounds half of all blocks go to one process.

    T = k (o + (P m/2 − 1) G + δ P m/2 + max(g, L + o)) + δ P m. March 2009, Table 4; the printed parenthesis multiplies
    o by G. δ P m/2: the blocks to send are packed; δ P m: all blocks are turned.
    """
    half = processes * message_size / 2.0
    return rounds * (o + (max(half, 1.0) - 1.0) * G + memory_copy * half + max(g, L + o)) + 2.0 * memory_copy * half


@closed_form
def reduce_scatter_block_recursive_halving(
    processes: float,
    message_size: float,
    whole_rounds: float,
    power: float,
    L: float,
    o: float,
    G: float,
    reduction: float,
) -> float:
    """Reduce-scatter by recursive halving: pairs at distance P/2, P/4, ... exchange half of the rest and combine.

    T = k (L + 2 o) + ((P − 1) m − k) G + (P − 1) m γ; with k = ⌊log₂P⌋ where P is no power of two, k (L + 2 o) + (2
    (2^k − 1) m − k) G + 2 (2^k − 1) m γ + x(P m) + γ P m + x(m). Messages of P m/2, P m/4, ..., m bytes. Processes
    beyond a power of two hand theirs to a partner before, and get the result after. The halves then have up to twice as
    many blocks.
    """
    volume = (power - 1.0) * message_size
    time = 0.0
    if power < processes:
        volume = 2.0 * volume
        ends = max(processes * message_size, 1.0) - 1.0 + max(message_size, 1.0) - 1.0
        time = 2.0 * (L + 2.0 * o) + ends * G + processes * message_size * reduction
    return time + whole_rounds * (L + 2.0 * o) + max(volume - whole_rounds, 0.0) * G + volume * reduction


@closed_form
def exchanges_reducing(
    processes: float, message_size: float, message: float, rest: float, g: float, reduction: float
) -> float:
    """P − 1 rounds, in each of which every process sends one block, receives one and combines it.

    T = (P − 2) max(g + (m − 1) G, x(m) + γ m) + x(m) + γ m. A reduce_scatter_block, around a ring or between pairs.
    """
    work = message_size * reduction
    return (processes - 2.0) * max(g + rest, message + work) + message + work


@closed_form
def scan_linear(processes: float, message_size: float, message: float, reduction: float) -> float:
    """Scan along a chain: each process combines its part and sends the result to the next.

    T = (P − 1) (x(m) + γ m).
    """
    return (processes - 1.0) * (message + reduction * message_size)


@closed_form
def scan_recursive_doubling(message_size: float, rounds: float, message: float, reduction: float) -> float:
    """Scan by recursive doubling: pairs at distance 1, 2, 4, ... exchange their partial results.

    T = k (x(m) + 2 γ m). What came is added to the sum of all known, and where it is from below to the result, too.
    """
    return rounds * (message + 2.0 * reduction * message_size)


class ClosedForm(NamedTuple):
    """The formula of an algorithm, and where it is exact."""

    formula: Formula[...]
    exactness: str = "exact"
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
_PAIRS = "exact for P a power of two, where a longer gap than L + 2 o makes it a lower bound; an estimate for other P"
_HALVES = "exact for P a power of two that divides m and g ≤ L + 2 o; an estimate for other P"
_PIECE = "exact for one piece, g ≤ L + 2 o and P + 1 a power of two; else an estimate"
_PIECES = "exact for pieces of the same size; an upper bound where the last is smaller"
_SHORT_GAP = "exact for g ≤ L + 2 o; else a lower bound"
_SCATTER = "for g ≤ L + 2 o and P a power of two that divides m an upper bound, too large by {} G; else an estimate"

CLOSED_FORMS: dict[str, dict[str, ClosedForm]] = {
    "barrier": {
        "linear": ClosedForm(barrier_linear),
        "dissemination": ClosedForm(
            barrier_dissemination, "exact for g ≤ L + 2 o; else an upper bound, too large by g − L − 2 o"
        ),
        "recursive-doubling": ClosedForm(
            barrier_recursive_doubling, "exact for P a power of two; an upper bound for other P"
        ),
        "binomial": ClosedForm(barrier_binomial, _PAIRS),
    },
    "bcast": {
        "linear": ClosedForm(linear),
        "binomial": ClosedForm(bcast_binomial, _TREE),
        "binomial-at-once": ClosedForm(bcast_binomial, _TREE),
        "binary": ClosedForm(bcast_binary, _PIECE, takes_segment_size=True),
        "chain": ClosedForm(bcast_chain, _PIECES, takes_segment_size=True),
        "scatter-ring": ClosedForm(bcast_scatter_ring, _SCATTER.format("(k + P − 1)")),
        "scatter-recursive-doubling": ClosedForm(bcast_scatter_recursive_doubling, _SCATTER.format("2 k")),
    },
    "reduce": {
        "linear": ClosedForm(reduce_linear),
        "binomial": ClosedForm(reduce_binomial, _TREE_UP),
        "reduce-scatter-gather": ClosedForm(reduce_scatter_gather, _HALVES),
        "reduce-scatter-gather-halves": ClosedForm(reduce_scatter_gather, _HALVES),
    },
    "allreduce": {
        "recursive-doubling": ClosedForm(allreduce_recursive_doubling, _PAIRS),
        "reduce-scatter-allgather": ClosedForm(allreduce_reduce_scatter_allgather, _HALVES),
        "reduce-scatter-allgather-halves": ClosedForm(allreduce_reduce_scatter_allgather, _HALVES),
        "linear": ClosedForm(allreduce_linear),
        "ring": ClosedForm(allreduce_ring, "exact for g ≤ L + 2 o where P divides m; else a lower bound"),
        "reduce-broadcast": ClosedForm(allreduce_reduce_broadcast, _PAIRS),
    },
    "gather": {"linear": ClosedForm(linear), "binomial": ClosedForm(blocks_binomial, _TREE_UP)},
    "scatter": {"linear": ClosedForm(linear), "binomial": ClosedForm(blocks_binomial, _TREE)},
    "allgather": {
        "ring": ClosedForm(exchanges),
        "recursive-doubling": ClosedForm(
            blocks_binomial, "exact for P a power of two and g ≤ L + 2 o; else a lower bound"
        ),
        "bruck": ClosedForm(allgather_bruck, _SHORT_GAP),
        "neighbor-exchange": ClosedForm(allgather_neighbor_exchange, f"{_SHORT_GAP}; for an even P"),
    },
    "alltoall": {
        "linear": ClosedForm(
            alltoall_linear, "exact for g + (m − 1) G ≤ o; else a lower bound, at most 1.5 times too small"
        ),
        "pairwise": ClosedForm(alltoall_pairwise, "exact for g = o; an upper bound for g > o; a lower bound for g < o"),
        "pairwise-xor": ClosedForm(exchanges),
        "bruck": ClosedForm(alltoall_bruck, "exact for g ≤ L + o and P a power of two; an upper bound elsewhere"),
    },
    "reduce_scatter_block": {
        "recursive-halving": ClosedForm(reduce_scatter_block_recursive_halving, _PAIRS),
        "pairwise": ClosedForm(exchanges_reducing),
        "ring": ClosedForm(exchanges_reducing),
    },
    "scan": {
        "linear": ClosedForm(scan_linear),
        "recursive-doubling": ClosedForm(scan_recursive_doubling, _PAIRS),
    },
}
"""Operation -> algorithm, under the names of `commmodel.collectives.algorithms.registry.ALGORITHMS` -> formula."""
