"""Collective operations as programs, from the schedules of `commmodel.collectives`.

In a round a rank posts its receives, then its sends in the order of the schedule, waits for all of it, and then copies
and combines. Sends never block: an algorithm's order is in its rounds. A rank without messages and work in a round has
nothing to do in it. Large programs are made block by block while they run. Main entry: `collective`.
"""

import os
from collections.abc import Iterator, Sequence

import numpy as np

from commmodel._core.program.traces import arranged, exchanged
from commmodel.arguments import finite, integer, rank_count, whole
from commmodel.collectives import algorithm as find_algorithm
from commmodel.collectives import flatten
from commmodel.collectives.library.selection import Selector, load, select
from commmodel.collectives.schedule import Integers, Problem, Round
from commmodel.errors import InputError
from commmodel.simulate.operations import COLLECTIVE_TAG, Program
from commmodel.simulate.work.block_streams import Block, program_of

__all__ = ["COLLECTIVE_TAGS", "SMPI_SELECTOR", "blocks_of", "chosen", "collective", "collective_tag"]

COLLECTIVE_TAGS = 1 << 20
"""Tags that calls of collectives take in turn."""
SMPI_SELECTOR = "smpi"
_BLOCK = 1 << 16
"""Operations of a block, about: 1.5 MiB, so that what was just made is still in the cache."""
_PER_RANK = 24


def collective_tag(number: int) -> int:
    """Return the tag of the messages of a call of a collective, the first being number 0.

    >>> collective_tag(0), collective_tag(1)
    (-2, -3)
    """
    return COLLECTIVE_TAG - number % COLLECTIVE_TAGS


def chosen(
    operation: str,
    message_size: int,
    processes: int,
    algorithm: str | None = None,
    selector: str | os.PathLike[str] | Selector = "mpich",
) -> tuple[str, int | None]:
    """Return the algorithm, given or by the selector, and the segment size that goes with it.

    >>> chosen("alltoall", 1 << 20, 64)
    ('pairwise-xor', None)
    """
    if algorithm is not None:
        find_algorithm(operation, algorithm)
        return algorithm, None
    rules = selector if isinstance(selector, Selector) else load(selector)
    rule = select(rules, operation, message_size, processes)
    return rule.algorithm, rule.segment_size


def blocks_of(
    processes: int,
    rounds: Iterator[Round],
    tag: int = COLLECTIVE_TAG,
    memory_copy: float = 0.0,
    reduction: float = 0.0,
    block: int = _BLOCK,
) -> Iterator[Block]:
    """Yield the operations of rounds, in blocks of at least one round and about `block` operations.

    Blocks are larger where there are many ranks: 24 operations for each, for each rank asks for its own.
    """
    taken: list[Round] = []
    size, most = 0, max(block, _PER_RANK * processes)
    for one in rounds:
        more = 2 * one.size.size + 2 * min(one.size.size, processes) + one.copier.size + one.reducer.size
        if taken and size + more > most:
            yield _block(processes, taken, tag, memory_copy, reduction)
            taken, size = [], 0
        taken.append(one)
        size += more
    if taken:
        yield _block(processes, taken, tag, memory_copy, reduction)


def _block(processes: int, rounds: Sequence[Round], tag: int, memory_copy: float, reduction: float) -> Block:
    rank = rounds[0].sender
    if all(_is_exchange(one, rank) for one in rounds) and np.array_equal(rank, np.arange(processes)):
        # Each sends one message: most rounds of many ranks are so, and need no sorting.
        made = exchanged(processes, [one.receiver for one in rounds], [one.size for one in rounds], tag)
        if made is not None:
            return Block(*made)
    schedule = flatten(processes, rounds)
    seconds = schedule.copied * memory_copy + schedule.reduced * reduction
    return Block(
        *arranged(
            processes,
            schedule.round,
            schedule.sender,
            schedule.receiver,
            schedule.size,
            schedule.work_round,
            schedule.worker,
            seconds,
            tag,
        )
    )


def _is_exchange(one: Round, rank: Integers) -> bool:
    """Whether all that a round does is that each of these ranks sends a message."""
    return one.sender is rank and one.receiver.size == rank.size and not (one.copier.size or one.reducer.size)


def collective(
    operation: str,
    message_size: int,
    processes: int,
    *,
    algorithm: str | None = None,
    selector: str | os.PathLike[str] | Selector = "mpich",
    root: int = 0,
    segment_size: int | None = None,
    memory_copy: float = 0.0,
    reduction: float = 0.0,
    number: int = 0,
) -> Program:
    """Return the program of a collective operation.

    Parameters
    ----------
    operation : str
        One of `commmodel.collectives.ALGORITHMS`.
    message_size : int
        n in bytes, as in `commmodel.collectives.Problem`: the whole vector of a bcast, reduce, allreduce or scan, a
        block of the others, 0 for a barrier.
    processes : int
        P.
    algorithm : str, optional
        Else the selector's choice.
    selector : str, path or Selector
        A name or a file that `commmodel.collectives.library.selection.load` knows, or what it returns; ``smpi`` for the
        algorithms of `commmodel.simulate.smpi_collectives` and their names, in which copying and combining take no
        time.
    root : int
        Of a bcast, reduce, gather or scatter.
    segment_size : int, optional
        Bytes of a piece; else what the selector says, or all at once.
    memory_copy, reduction : float
        Seconds that copying and combining take for each byte.
    number : int
        How many collectives there have been before on the communicator; calls of different numbers have different
        tags, so that a rank that calls another collective than its partners hangs, and is found.

    Raises
    ------
    InputError
        Where there is no such operation or algorithm, or sizes and ranks are wrong.

    Examples
    --------
    >>> program = collective("bcast", 1024, 4, algorithm="binomial")
    >>> program.offsets.tolist()  # the root sends and waits, twice
    [0, 4, 6, 10, 12]
    """
    rank_count(processes)
    message_size = whole("message_size", message_size, 0)
    integer("root", root, 0)
    if segment_size is not None:
        whole("segment_size", segment_size, 0)
    finite("memory_copy", memory_copy, 0)
    finite("reduction", reduction, 0)
    if operation == "barrier" and message_size:
        raise InputError(f"a barrier of {message_size} bytes: its messages are empty, give 0")
    if selector == SMPI_SELECTOR:
        from commmodel.simulate import smpi_collectives  # it is made of what is here

        return smpi_collectives.program(
            operation, message_size, processes, algorithm or smpi_collectives.DEFAULT, root, number
        )
    name, pieces = chosen(operation, message_size, processes, algorithm, selector)
    problem = Problem(processes, message_size, root, pieces if segment_size is None else segment_size)
    make = find_algorithm(operation, name)
    tag = collective_tag(number)

    def blocks() -> Iterator[Block]:
        return blocks_of(processes, iter(make(problem)), tag, memory_copy, reduction)

    return program_of(processes, blocks, f"{operation} of {message_size} bytes on {processes} processes by {name}")
