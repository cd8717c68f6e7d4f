"""Collective operations as programs, from the schedules of `commmodel.collectives`.

In a round a rank posts its receives, then its sends in the order of the schedule, waits for all of it, and then copies
and combines. Sends never block: an algorithm's order is in its rounds. A rank without messages and work in a round has
nothing to do in it. Large programs are made block by block while they run. Main entry: `collective`.
"""

from collections.abc import Iterator
from dataclasses import replace

from commmodel.arguments import Whole, rank_count
from commmodel.collectives import algorithm as find_algorithm
from commmodel.collectives.library.selection import select_for, with_levels
from commmodel.collectives.library.smpi_selection import Selection
from commmodel.collectives.operation import OPERATIONS
from commmodel.collectives.schedule import Problem
from commmodel.collectives.settings import CollectiveSettings
from commmodel.errors import InputError
from commmodel.signatures import checked
from commmodel.simulate.operations import Program
from commmodel.simulate.work.block_streams import Block, program_of
from commmodel.simulate.work.rounds import blocks_of, collective_tag


def chosen(
    operation: str, problem: Problem, algorithm: str | None, settings: CollectiveSettings
) -> tuple[str, Problem]:
    """Return the algorithm, given or selected, and the problem with its segment size and nodes.

    >>> name, problem = chosen("alltoall", Problem(64, 1 << 20), None, CollectiveSettings("mpich"))
    >>> name, problem.segment_size
    ('pairwise-xor', None)
    """
    selector = settings.library
    if isinstance(selector, Selection):
        return algorithm or selector.algorithm(operation), problem
    nodes = problem.nodes or settings.nodes
    if algorithm is None:
        rule = select_for(selector, operation, replace(problem, nodes=nodes))
        name = rule.algorithm
        if problem.segment_size is None:
            problem = replace(problem, segment_size=rule.segment_size)
    else:
        name = algorithm
    if not find_algorithm(operation, name).stages:
        return name, problem
    if nodes is None and settings.hosts:
        raise InputError(
            f"two levels need as many ranks on each host, one after the other: {len(settings.hosts)} "
            f"ranks on {len(set(settings.hosts))} hosts lie otherwise: let `mapping` block fill hosts"
        )
    return name, with_levels(selector, operation, name, replace(problem, nodes=nodes))


@checked
def collective(
    operation: str,
    problem: Problem,
    *,
    algorithm: str | None = None,
    settings: CollectiveSettings | None = None,
    number: Whole = 0,
) -> Program:
    """Return the program of a collective operation.

    Parameters
    ----------
    operation : str
        One that has schedules (`commmodel.collectives.operation.SCHEDULED`).
    problem : commmodel.collectives.Problem
        Number of processes, message size, root and segment size, by default as the selector says.
    algorithm : str, optional
        Else the selector's choice, which sends nothing where there are no bytes.
    settings : CollectiveSettings, optional
        Its selector, and the time of copying and combining a byte.
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
    settings = settings or CollectiveSettings()
    if message_size and operation in OPERATIONS and not OPERATIONS[operation].has_size:
        raise InputError(f"a barrier of {message_size} bytes: its messages are empty, give 0")
    selector = settings.library
    if isinstance(selector, Selection):
        from commmodel.simulate import smpi_collectives

        root = problem.root
        call = operation, message_size, processes, algorithm, root, number, selector
        return smpi_collectives.program(*call, element=problem.element_size)
    name, problem = chosen(operation, problem, algorithm, settings)
    make = find_algorithm(operation, name)
    tag = collective_tag(number)
    is_empty = algorithm is None and not message_size and OPERATIONS[operation].has_size  # libraries return at once

    def blocks() -> Iterator[Block]:
        return blocks_of(processes, iter(() if is_empty else make(problem)), tag, settings.byte_times)

    return program_of(processes, blocks, f"{operation} of {message_size} bytes on {processes} processes by {name}")
