"""The collective algorithms of SimGrid's SMPI 3.32 by their SMPI names, message by message, for comparisons.

Which messages they consist of was seen in the traces that it writes of its collectives' inner messages
(``tools/peers/logs.py``); the algorithms are described in Thakur, Rabenseifner and Gropp 2005 and Rabenseifner 2004.
Where ours are the same they are ours. The others differ in these things: a ring allgather goes to each process itself;
processes that stand aside hand their data to the next process, not the one before; Rabenseifner's blocks are of equally
many elements, but for the last, which has the rest; rings leave a rest to a second allreduce; reductions are linear.
Main entry: `program`.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from commmodel.arguments import rank_count, whole
from commmodel.collectives.algorithms import allgather, alltoall, barrier, broadcast, gather, reduce
from commmodel.collectives.algorithms.patterns import Fold, halving
from commmodel.collectives.schedule import Integers, Problem, Round, Scheduler, messages_at_once
from commmodel.errors import InputError
from commmodel.simulate.operations import Program
from commmodel.simulate.work.block_streams import program_of
from commmodel.simulate.work.rounds import blocks_of, collective_tag

__all__ = ["ALGORITHMS", "DEFAULT", "ELEMENT", "program"]

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
    messages_at_once(processes * (processes - 1))
    if processes > 1:
        sender = np.repeat(np.arange(processes), processes - 1)
        receiver = (sender - np.tile(np.arange(1, processes), processes)) % processes
        yield Round(sender, receiver, np.full(sender.size, problem.message_size))


def _scan(problem: Problem) -> Iterator[Round]:
    """Every rank sends its vector to all higher ranks at once."""
    messages_at_once(problem.processes * (problem.processes - 1) // 2)
    sender, receiver = np.triu_indices(problem.processes, 1)
    yield Round(sender, receiver, np.full(sender.size, problem.message_size))


def _alltoall(problem: Problem) -> Iterator[Round]:
    """Bruck below 200 bytes and above 12 processes, else all at once."""
    few = problem.message_size < 200 and problem.processes > 12
    return iter((alltoall.bruck if few else _descending)(problem))


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
