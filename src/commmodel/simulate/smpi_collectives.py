"""The collective algorithms of SimGrid's SMPI 3.32 by their SMPI names, message by message, for comparisons.

Which messages they consist of was seen in the traces that it writes of its collectives' inner messages
(``tools/peers/logs.py``); the algorithms are described in Thakur, Rabenseifner and Gropp 2005 and Rabenseifner 2004.
Where ours are the same they are ours. The others differ in these things: a ring allgather goes to each process itself;
processes that stand aside hand their data to the next process, not the one before; Rabenseifner's blocks are of equally
many elements, but for the last, which has the rest; rings leave a rest to a second allreduce; reductions are linear.
Main entries: `program`, `reduce_scatter`.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import rank_count, whole
from commmodel.collectives.algorithms import allgather, alltoall, barrier, broadcast, gather, reduce
from commmodel.collectives.algorithms.patterns import Fold, halving
from commmodel.collectives.schedule import Integers, Problem, Round, Scheduler
from commmodel.errors import InputError
from commmodel.simulate.operations import Program
from commmodel.simulate.work.block_streams import program_of
from commmodel.simulate.work.rounds import blocks_of, collective_tag

__all__ = ["ALGORITHMS", "DEFAULT", "ELEMENT", "program", "reduce_scatter"]

ELEMENT = 8
"""Bytes of what is reduced: an MPI_DOUBLE."""
DEFAULT = "default"
"""What it does where no algorithm is asked for."""


def _scattering(algorithm: Scheduler, problem: Problem) -> Iterator[Round]:
    """Yield the rounds of an algorithm that scatters first, without empty messages in that part."""
    levels = (problem.processes - 1).bit_length()
    for number, round_ in enumerate(algorithm(problem)):
        full = round_.size > 0
        if number < levels and not full.all():
            yield Round(round_.sender[full], round_.receiver[full], round_.size[full])
        else:
            yield round_


def _reduce_broadcast(problem: Problem) -> Iterator[Round]:
    """Every rank sends to rank 0, which broadcasts down a binomial tree."""
    problem = replace(problem, root=0)
    yield from reduce.linear(problem)
    yield from broadcast.binomial(problem)


def _member(fold: Fold, member: Integers) -> Integers:
    """Return the process of a member: of the first 2 (P - 2^k) processes, the odd ones."""
    out = fold.processes - fold.power
    return np.where(member < out, 2 * member + 1, member + out)


def _folded(problem: Problem, inner: Iterator[Round]) -> Iterator[Round]:
    """Yield rounds of members, between rounds in which even processes pass their data and receive the result."""
    fold = Fold(problem.processes)
    size = np.full(fold.home.size, problem.message_size)
    if fold.home.size:
        yield Round(fold.home, fold.out, size)
    yield from inner
    if fold.home.size:
        yield Round(fold.out, fold.home, size)


def _recursive_doubling(problem: Problem) -> Iterator[Round]:
    """In round i member m exchanges its vector with m XOR 2^i."""
    return _folded(problem, _doubled(problem))


def _doubled(problem: Problem) -> Iterator[Round]:
    fold = Fold(problem.processes)
    member = np.arange(fold.power)
    size = np.full(fold.power, problem.message_size)
    distance = 1
    while distance < fold.power:
        yield Round(_member(fold, member), _member(fold, member ^ distance), size)
        distance *= 2


def _reduce_scatter_allgather(problem: Problem) -> Iterator[Round]:
    """Recursive halving of the vector, then doubling; the last block has the remaining elements."""
    return _folded(problem, _halved(problem))


def _halved(problem: Problem) -> Iterator[Round]:
    fold = Fold(problem.processes)
    share = problem.message_size // ELEMENT // fold.power * ELEMENT
    borders = np.append(np.arange(fold.power) * share, problem.message_size)
    halves = list(halving(fold.power))
    for exchange in [*(sends for sends, _ in halves), *(keeps for _, keeps in reversed(halves))]:
        yield Round(
            _member(fold, exchange.sender),
            _member(fold, exchange.receiver),
            borders[exchange.last] - borders[exchange.first],
        )


def _ring(problem: Problem) -> Iterator[Round]:
    """Equal blocks go around a ring twice; the remainder, or a short vector, uses the default algorithm."""
    processes = problem.processes
    share = problem.message_size // ELEMENT // processes * ELEMENT
    rank = np.arange(processes)
    if share:
        for _ in range(2 * (processes - 1)):
            yield Round(rank, (rank + 1) % processes, np.full(processes, share))
    rest = problem.message_size - share * processes
    if rest or not share:
        yield from _reduce_broadcast(replace(problem, message_size=rest))


def _descending(problem: Problem) -> Iterator[Round]:
    """All sends and receives of an alltoall at once; process r begins with r - 1, r - 2 and so on."""
    processes = problem.processes
    if processes > 1:
        sender = np.repeat(np.arange(processes), processes - 1)
        receiver = (sender - np.tile(np.arange(1, processes), processes)) % processes
        yield Round(sender, receiver, np.full(sender.size, problem.message_size))


def _scan(problem: Problem) -> Iterator[Round]:
    """Every rank sends its vector to all higher ranks at once."""
    sender, receiver = np.triu_indices(problem.processes, 1)
    yield Round(sender, receiver, np.full(sender.size, problem.message_size))


_ALLTOALL = (
    (8, 0, 0, 524288, 1048576), (16, 0, 0, 0, 0), (32, 4, 512, 0, 0), (64, 0, 512, 0, 0),
    (256, 0, 1024, 262144, math.inf), (512, 0, 1024, 32768, math.inf), (1024, 0, 512, 262144, math.inf),
    (2048, 0, 512, 0, 0), (4096, 0, 1024, 0, 0), (math.inf, 0, 2048, 0, 0),
)  # fmt: skip
"""Below so many processes: bytes from and below which it is Bruck's, and from and below which it goes pair by pair."""
_PAIRED_REDUCE_SCATTER = 524288
"""Elements from which an irregular one goes pairwise."""


def _alltoall(problem: Problem) -> Iterator[Round]:
    """Bruck, pair by pair, or all at once, as the tables of Open MPI's coll/tuned say.

    Where processes make no pairs, SMPI ends with an exception, and all goes at once here.
    """
    size, processes = problem.message_size, problem.processes
    row = next(row for row in _ALLTOALL if processes < row[0])
    if row[1] <= size < row[2]:
        return iter(alltoall.bruck(problem))
    is_paired = row[3] <= size < row[4] and processes & (processes - 1) == 0
    return iter((alltoall.pairwise_xor if is_paired else _descending)(problem))


def _reduce_scatterv(sizes: NDArray[np.float64]) -> Iterator[Round]:
    """A linear reduction to rank 0, which scatters the blocks."""
    processes = sizes.size
    yield from reduce.linear(Problem(processes, int(sizes.sum())))
    if processes > 1:
        receivers = np.arange(1, processes)
        yield Round(np.zeros_like(receivers), receivers, sizes[1:].astype(np.int64))


def _reduce_scatter_pairwise(sizes: NDArray[np.float64]) -> Iterator[Round]:
    """In round i process r sends its part of the block of r + i to it."""
    rank = np.arange(sizes.size)
    for step in range(1, sizes.size):
        receiver = (rank + step) % sizes.size
        yield Round(rank, receiver, sizes[receiver].astype(np.int64))


def _reduce_scatter_doubling(sizes: NDArray[np.float64]) -> Iterator[Round]:
    """Recursive doubling for operations that do not commute, of blocks of any size, as in MPICH.

    In round i processes r and r XOR 2^i exchange all blocks but those of their groups of 2^i. Where a process has no
    partner, others of its group pass on what they received, to the upper half of the group first.
    """
    processes = sizes.size
    before = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rank = np.arange(processes)
    width = 1

    def beyond(group: Integers) -> Integers:
        """Return the bytes of all blocks but those of groups."""
        remainder: Integers = (
            before[-1] - before[np.minimum(group + width, processes)] + before[np.minimum(group, processes)]
        )
        return remainder

    while width < processes:
        group, partner = rank & -width, rank ^ width
        paired = partner < processes
        yield Round(rank[paired], partner[paired], beyond(group)[paired])
        received = beyond(partner & -width)
        lacks = (partner & -width) + width > processes
        done = processes - group - width
        step = width // 2
        while step:
            target, half = rank ^ step, rank & -(2 * step)
            sends = lacks & (target > rank) & (target < processes) & (rank < half + done) & (target >= half + done)
            if sends.any():
                yield Round(rank[sends], target[sends], received[sends])
            step //= 2
        width *= 2


ALGORITHMS: dict[str, dict[str, Scheduler]] = {
    "barrier": {DEFAULT: barrier.linear},
    "bcast": {
        DEFAULT: broadcast.binomial,
        "binomial_tree": broadcast.binomial,
        "flattree": broadcast.linear,
        "scatter_rdb_allgather": partial(_scattering, broadcast.scatter_recursive_doubling),
        "scatter_LR_allgather": partial(_scattering, broadcast.scatter_ring),
    },
    "reduce": {DEFAULT: reduce.linear},
    "allreduce": {
        DEFAULT: _reduce_broadcast,
        "redbcast": _reduce_broadcast,
        "rdb": _recursive_doubling,
        "rab_rdb": _reduce_scatter_allgather,
        "lr": _ring,
    },
    "gather": {DEFAULT: gather.gather_linear},
    "scatter": {DEFAULT: gather.scatter_linear},
    "allgather": {
        DEFAULT: alltoall.linear,
        "ring": alltoall.pairwise,
        "rdb": allgather.recursive_doubling,
        "bruck": allgather.bruck,
    },
    "alltoall": {
        DEFAULT: _alltoall,
        "pair": alltoall.pairwise_xor,
        "ring": alltoall.pairwise,
        "bruck": alltoall.bruck,
        "basic_linear": _descending,
    },
    "scan": {DEFAULT: _scan},
}
"""Operation -> name in SMPI -> function that makes its rounds."""


def reduce_scatter(sizes: NDArray[np.float64], element: int = ELEMENT) -> Program:
    """Return the program of a reduce_scatter in SMPI.

    Parameters
    ----------
    sizes : float64 array, shape (processes,)
        Bytes of each rank's block. Where all are equal, it is a reduction and a scatter, else recursive doubling below
        524288 elements in all (where MPICH counts bytes), and pairwise from there on.
    element : int
        Bytes of an element.

    Examples
    --------
    >>> reduce_scatter(np.array([8.0, 8.0, 8.0])).offsets.tolist()
    [0, 6, 10, 14]
    """
    is_small = sizes.sum() < _PAIRED_REDUCE_SCATTER * element
    irregular = _reduce_scatter_doubling if is_small else _reduce_scatter_pairwise
    make = _reduce_scatterv if (sizes == sizes[0]).all() else irregular
    name = f"reduce_scatter of {int(sizes.sum())} bytes on {sizes.size} processes by SMPI"
    return program_of(sizes.size, lambda: blocks_of(sizes.size, make(sizes)), name)


def program(
    operation: str, message_size: int, processes: int, algorithm: str = DEFAULT, root: int = 0, number: int = 0
) -> Program:
    """Return the program of a collective operation in SMPI.

    Parameters
    ----------
    operation : str
        One of `ALGORITHMS`.
    message_size : int
        n in bytes, as in `commmodel.collectives.Problem`.
    processes : int
        P.
    algorithm : str
        SMPI's name.
    root : int
        Of a bcast, reduce, gather or scatter.
    number : int
        How many collectives there have been before on the communicator.

    Raises
    ------
    InputError
        Where there is no such operation or algorithm, or the algorithm is not for so many processes.

    Examples
    --------
    >>> program("bcast", 1024, 4, "flattree").offsets.tolist()  # three sends, then a wait
    [0, 4, 6, 8, 10]
    """
    rank_count(processes)
    message_size = whole("message_size", message_size, 0)
    if operation not in ALGORITHMS:
        raise InputError(f"SMPI's {operation!r} is not known: choose one of {', '.join(ALGORITHMS)}")
    if algorithm not in ALGORITHMS[operation]:
        names = ", ".join(ALGORITHMS[operation])
        raise InputError(f"SMPI's {operation} by {algorithm!r} is not known: choose one of {names}")
    make, problem = ALGORITHMS[operation][algorithm], Problem(processes, message_size, root)
    return program_of(
        processes,
        lambda: blocks_of(processes, iter(make(problem)), collective_tag(number)),
        f"{operation} of {message_size} bytes on {processes} processes by SMPI's {algorithm}",
    )
