"""Collective operations as programs, from the schedules of `commmodel.collectives`.

In a round a rank posts its receives, then its sends in the order of the schedule, waits for all of it, and then copies
and combines. Sends never block: an algorithm's order is in its rounds. A rank without messages and work in a round has
nothing to do in it. Large programs are made block by block while they run. Main entry: `collective`.
"""

import os
from collections.abc import Iterator
from dataclasses import replace

from commmodel.arguments import finite, rank_count
from commmodel.collectives import algorithm as find_algorithm
from commmodel.collectives.library.selection import Selector, load, select, with_levels
from commmodel.collectives.operation import OPERATIONS
from commmodel.collectives.schedule import Problem
from commmodel.errors import InputError
from commmodel.simulate.operations import Program
from commmodel.simulate.work.block_streams import Block, program_of
from commmodel.simulate.work.rounds import blocks_of, collective_tag
from commmodel.simulate.work.smpi_selection import Selection, smpi_selection

__all__ = ["chosen", "collective"]


def chosen(
    operation: str,
    message_size: int,
    processes: int,
    algorithm: str | None = None,
    selector: str | os.PathLike[str] | Selector = "mpich",
) -> tuple[str, int | None]:
    """Return the algorithm, given or selected, and its segment size.

    >>> chosen("alltoall", 1 << 20, 64)
    ('pairwise-xor', None)
    """
    if algorithm is not None:
        find_algorithm(operation, algorithm)
        return algorithm, None
    rules = selector if isinstance(selector, Selector) else load(selector)
    rule = select(rules, operation, message_size, processes)
    return rule.algorithm, rule.segment_size


def collective(
    operation: str,
    problem: Problem,
    *,
    algorithm: str | None = None,
    selector: str | os.PathLike[str] | Selector | Selection = "mpich",
    memory_copy: float = 0.0,
    reduction: float = 0.0,
    number: int = 0,
) -> Program:
    """Return the program of a collective operation.

    Parameters
    ----------
    operation : str
        One that has schedules (`commmodel.collectives.operation.SCHEDULED`).
    problem : commmodel.collectives.Problem
        Number of processes, message size, root and segment size, by default as the selector says.
    algorithm : str, optional
        Else the selector's choice.
    selector : str, path, Selector or Selection
        A name or a file that `commmodel.collectives.library.selection.load` knows, or what it returns; ``smpi``,
        ``smpi-ompi``, ``smpi-mpich``, ``smpi-mvapich2``, ``smpi-impi`` or a
        `commmodel.simulate.work.smpi_selection.Selection` for the algorithms of `commmodel.simulate.smpi_collectives`
        and their names, in which copying and combining take no time.
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
    >>> program = collective("bcast", Problem(4, 1024), algorithm="binomial")
    >>> program.offsets.tolist()  # the root sends and waits, twice
    [0, 4, 6, 10, 12]
    """
    processes, message_size = rank_count(problem.processes), problem.message_size
    finite("memory_copy", memory_copy, 0)
    finite("reduction", reduction, 0)
    if message_size and operation in OPERATIONS and not OPERATIONS[operation].has_size:
        raise InputError(f"a barrier of {message_size} bytes: its messages are empty, give 0")
    selector = smpi_selection(selector)
    if isinstance(selector, Selection):
        from commmodel.simulate import smpi_collectives

        root = problem.root
        return smpi_collectives.program(operation, message_size, processes, algorithm, root, number, selector)
    name, pieces = chosen(operation, message_size, processes, algorithm, selector)
    if problem.segment_size is None:
        problem = replace(problem, segment_size=pieces)
    if problem.nodes is not None:
        rules = selector if isinstance(selector, Selector) else load(selector)
        problem = with_levels(rules, operation, name, problem)
    make = find_algorithm(operation, name)
    tag = collective_tag(number)

    def blocks() -> Iterator[Block]:
        return blocks_of(processes, iter(make(problem)), tag, memory_copy, reduction)

    return program_of(processes, blocks, f"{operation} of {message_size} bytes on {processes} processes by {name}")
