"""Closed forms of collective operations along a chain, a tree or from one root. Source: March et al. 2009, Table 4.

Arguments, symbols and the registry that names these formulas: `commmodel.models.collectives`.
"""

# ruff: noqa: ARG001  (all formulas have the same arguments)

import math

from commmodel.models.formula import formula

__all__ = [
    "allreduce_linear",
    "barrier_binomial",
    "barrier_linear",
    "bcast_binary",
    "bcast_binomial",
    "bcast_chain",
    "bcast_scatter_recursive_doubling",
    "bcast_scatter_ring",
    "blocks_binomial",
    "linear",
    "reduce_binomial",
    "reduce_linear",
    "reduce_scatter_gather",
    "scan_linear",
]


@formula
def barrier_linear(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Barrier through rank 0: every process notifies it, then it notifies every process.

    T = 2 (L + 2 o + (P − 2) max(o, g))

    Notes
    -----
    Rank 0 is the bottleneck, twice.

    Examples
    --------
    >>> barrier_linear(8, 0, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    20.0
    """
    if processes < 2.0:
        return 0.0
    return 2.0 * (L + 2.0 * o + (processes - 2.0) * max(o, g))


@formula
def barrier_binomial(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Barrier: up a binomial tree and down again.

    T = 2 k (L + 2 o)

    Notes
    -----
    A reduction and a broadcast of nothing.

    Examples
    --------
    >>> barrier_binomial(8, 0, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    24.0
    """
    rounds = math.ceil(math.log2(processes))
    return 2.0 * rounds * (L + 2.0 * o)


@formula
def linear(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Messages from the root to each process in turn, or from each process to the root.

    T = (P − 2) a(m) + x(m)

    Notes
    -----
    The train of messages of LogGP, with many receivers or many senders.

    Examples
    --------
    >>> linear(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    62.5
    """
    if processes < 2.0:
        return 0.0
    rest = (max(message_size, 1.0) - 1.0) * G
    return (processes - 2.0) * max(o, g + rest) + L + 2.0 * o + rest


@formula
def bcast_binomial(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Broadcast down a binomial tree: each round doubles the number of processes that have the message.

    T = k (L + 2 o + (m − 1) G)

    Notes
    -----
    March 2009, Table 4.

    Examples
    --------
    >>> bcast_binomial(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    34.5
    """
    rest = (max(message_size, 1.0) - 1.0) * G
    rounds = math.ceil(math.log2(processes))
    return rounds * (L + 2.0 * o + rest)


@formula
def bcast_binary(
    processes: float,
    message_size: float,
    L: float,
    o: float,
    g: float,
    G: float,
    memory_copy: float,
    reduction: float,
    segment_size: float,
) -> float:
    """Broadcast down a binary tree, pipelined in segments.

    T = ⌊log₂P⌋ (a(s) + x(s)) + (⌈m/s⌉ − 1) max(2 a(s), 3 o), s = min(m, segment_size)

    Notes
    -----
    A piece is sent twice and received once. The path that goes to the second child everywhere is the longest.

    Examples
    --------
    >>> bcast_binary(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25, 16.0)
    60.0
    """
    if processes < 2.0:
        return 0.0
    pieces = max(1.0, math.ceil(message_size / segment_size))
    rest = (max(min(message_size, segment_size), 1.0) - 1.0) * G
    apart = max(o, g + rest)
    if processes < 3.0:
        return (pieces - 1.0) * apart + L + 2.0 * o + rest
    depth = math.floor(math.log2(processes))
    busy = 3.0 * o if processes > 3.0 else 2.0 * o
    return depth * (apart + L + 2.0 * o + rest) + (pieces - 1.0) * max(2.0 * apart, busy)


@formula
def bcast_chain(
    processes: float,
    message_size: float,
    L: float,
    o: float,
    g: float,
    G: float,
    memory_copy: float,
    reduction: float,
    segment_size: float,
) -> float:
    """Broadcast along a chain of all processes, pipelined in segments.

    T = (P − 1) x(s) + (⌈m/s⌉ − 1) max(2 o, a(s)), s = min(m, segment_size); max(o, a(s)) for P = 2

    Notes
    -----
    A process in the middle receives a piece and sends it on, 2 o of its time.

    Examples
    --------
    >>> bcast_chain(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25, 4.0)
    46.0
    """
    if processes < 2.0:
        return 0.0
    pieces = max(1.0, math.ceil(message_size / segment_size))
    rest = (max(min(message_size, segment_size), 1.0) - 1.0) * G
    busy = 2.0 * o if processes > 2.0 else o
    return (processes - 1.0) * (L + 2.0 * o + rest) + (pieces - 1.0) * max(busy, g + rest)


@formula
def bcast_scatter_ring(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Broadcast by a binomial scatter, then an allgather around a ring (BT/R).

    T = (k + P − 1) (L + 2 o) + 2 (P − 1)/P m G

    Notes
    -----
    March 2009, Table 4, "Scatter + Gather". It leaves out that the first byte of a message costs no G: (k + P − 1)
    G.

    Examples
    --------
    >>> bcast_scatter_ring(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    54.0
    """
    rounds = math.ceil(math.log2(processes))
    return (rounds + processes - 1.0) * (L + 2.0 * o) + 2.0 * (processes - 1.0) / processes * message_size * G


@formula
def bcast_scatter_recursive_doubling(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Broadcast by a binomial scatter, then an allgather by recursive doubling (BT/RD).

    T = 2 k (L + 2 o) + 2 (P − 1)/P m G

    Notes
    -----
    Missing in March 2009, Table 4. It leaves out that the first byte of a message costs no G: 2 k G.

    Examples
    --------
    >>> bcast_scatter_recursive_doubling(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    38.0
    """
    rounds = math.ceil(math.log2(processes))
    return 2.0 * rounds * (L + 2.0 * o) + 2.0 * (processes - 1.0) / processes * message_size * G


@formula
def reduce_linear(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Reduce in the root: every process sends to it, and it combines.

    T = (P − 2) a(m) + x(m) + (P − 1) γ m

    Notes
    -----
    The root combines when it has all.

    Examples
    --------
    >>> reduce_linear(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    90.5
    """
    if processes < 2.0:
        return 0.0
    rest = (max(message_size, 1.0) - 1.0) * G
    return (processes - 2.0) * max(o, g + rest) + L + 2.0 * o + rest + (processes - 1.0) * reduction * message_size


@formula
def reduce_binomial(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Reduce up a binomial tree.

    T = k (x(m) + γ m)

    Notes
    -----
    A broadcast backwards, with a reduction after each message.

    Examples
    --------
    >>> reduce_binomial(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    46.5
    """
    rest = (max(message_size, 1.0) - 1.0) * G
    rounds = math.ceil(math.log2(processes))
    return rounds * (L + 2.0 * o + rest + reduction * message_size)


@formula
def allreduce_linear(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Allreduce in rank 0: every process sends to it, it combines, and sends to every process.

    T = 2 (P − 2) a(m) + 2 x(m) + (P − 1) γ m

    Notes
    -----
    `reduce_linear` and `linear`.

    Examples
    --------
    >>> allreduce_linear(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    153.0
    """
    numbers = (processes, message_size, L, o, g, G, memory_copy, reduction)
    return reduce_linear(*numbers) + linear(*numbers)


@formula
def reduce_scatter_gather(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Reduce by recursive halving (reduce-scatter), then a gather up a binomial tree.

    T = 2 k (L + 2 o) + 2 ((2^k − 1)/2^k m − k) G + (2^k − 1)/2^k m γ, k = ⌊log₂P⌋; and x(m) + γ m where P is no power
    of two

    Notes
    -----
    Both phases send m/2, m/4, ..., m/2^k bytes (Rabenseifner). Processes beyond a power of two hand theirs to a
    partner before.

    Examples
    --------
    >>> reduce_scatter_gather(8, 64, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    91.0
    """
    rounds = math.floor(math.log2(processes))
    power = 2.0**rounds
    volume = (power - 1.0) / power * message_size
    time = 2.0 * rounds * (L + 2.0 * o) + 2.0 * max(volume - rounds, 0.0) * G + volume * reduction
    if power < processes:
        time += L + 2.0 * o + (max(message_size, 1.0) - 1.0) * G + message_size * reduction
    return time


@formula
def blocks_binomial(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Gather up or scatter down a binomial tree, each message with the blocks of a whole subtree.

    T = k (L + 2 o) + ((P − 1) m − k) G

    Notes
    -----
    Messages of m, 2 m, 4 m, ... bytes; so has an allgather by recursive doubling.

    Examples
    --------
    >>> blocks_binomial(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    66.5
    """
    rounds = math.ceil(math.log2(processes))
    return rounds * (L + 2.0 * o) + max((processes - 1.0) * message_size - rounds, 0.0) * G


@formula
def scan_linear(
    processes: float, message_size: float, L: float, o: float, g: float, G: float, memory_copy: float, reduction: float
) -> float:
    """Scan along a chain: each process combines its part and sends the result to the next.

    T = (P − 1) (x(m) + γ m)

    Notes
    -----
    A chain.

    Examples
    --------
    >>> scan_linear(8, 16, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25)
    108.5
    """
    rest = (max(message_size, 1.0) - 1.0) * G
    return (processes - 1.0) * (L + 2.0 * o + rest + reduction * message_size)
