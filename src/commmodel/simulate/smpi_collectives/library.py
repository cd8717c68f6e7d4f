"""The table of SMPI's algorithms, and programs made of their calls. Main entries: `program`, `calls`, `ALGORITHMS`."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import enough_memory, rank_count, whole
from commmodel.collectives.library.smpi_selection import DEFAULT, Selection
from commmodel.collectives.schedule import Problem
from commmodel.errors import InputError, choice_of
from commmodel.simulate.operations import Operations, Program
from commmodel.simulate.smpi_collectives import rounds
from commmodel.simulate.smpi_collectives.allgather import ALLGATHER, ALLGATHERV
from commmodel.simulate.smpi_collectives.allreduce import ALLREDUCE
from commmodel.simulate.smpi_collectives.alltoall import ALLTOALL, ALLTOALLV
from commmodel.simulate.smpi_collectives.at_once import scan
from commmodel.simulate.smpi_collectives.barrier import BARRIER
from commmodel.simulate.smpi_collectives.broadcast import BCAST
from commmodel.simulate.smpi_collectives.calls import Algorithm, Member, RankCall
from commmodel.simulate.smpi_collectives.gather import GATHER, SCATTER
from commmodel.simulate.smpi_collectives.reduce import REDUCE
from commmodel.simulate.smpi_collectives.reduce_scatter import REDUCE_SCATTER
from commmodel.simulate.smpi_collectives.rounds import ELEMENT, ROUNDS
from commmodel.simulate.smpi_collectives.selectors import SELECTORS
from commmodel.simulate.work.block_streams import program_of
from commmodel.simulate.work.rounds import blocks_of, collective_tag

_OWN: dict[str, dict[str, Algorithm]] = {
    "barrier": BARRIER,
    "bcast": BCAST,
    "reduce": REDUCE,
    "allreduce": ALLREDUCE,
    "gather": GATHER,
    "scatter": SCATTER,
    "allgather": ALLGATHER,
    "allgatherv": ALLGATHERV,
    "alltoall": ALLTOALL,
    "alltoallv": ALLTOALLV,
    "reduce_scatter": REDUCE_SCATTER,
    "scan": dict.fromkeys((DEFAULT, "mpich", *SELECTORS), scan),
}
ALGORITHMS: dict[str, dict[str, Algorithm]] = {
    operation: algorithms | {selector: table[operation] for selector, table in SELECTORS.items() if operation in table}
    for operation, algorithms in _OWN.items()
}
"""Operation -> name in SMPI -> algorithm."""


def _checked(operation: str) -> None:
    if operation not in ALGORITHMS:
        raise InputError(f"SMPI's {operation!r} is not known: {choice_of(operation, ALGORITHMS)}")


def calls(processes: int, listed: Sequence[tuple[str, Sequence[RankCall]]], selection: Selection) -> list[Program]:
    """Return the programs of successive calls, the arguments of each being those of every rank, or of all.

    >>> [one] = calls(2, [("bcast", [RankCall(8)])], Selection(algorithms={"bcast": "NTSL"}))
    >>> one.offsets.tolist()  # a send, a receive
    [0, 1, 2]
    """
    ranks: list[list[Operations]] = []
    for rank in range(processes):
        member = Member.of_world(processes, rank, selection, ALGORITHMS)
        ranks.append([])
        for operation, arguments in listed:
            _checked(operation)
            member.call(operation, arguments[rank] if len(arguments) > 1 else arguments[0])
            ranks[-1].append(member.drain())
        if rank == 1:  # rank 0 may do much more than the others
            bytes_each = sum(operations.nbytes for operations in ranks[-1])
            enough_memory(
                float(bytes_each) * processes, f"{processes} ranks in {', '.join(name for name, _ in listed)}"
            )
    return [Program.from_ranks(operations) for operations in zip(*ranks, strict=True)]


def program(
    operation: str,
    message_size: int,
    processes: int,
    algorithm: str | None = None,
    root: int = 0,
    number: int = 0,
    selection: Selection | None = None,
    element: int = ELEMENT,
) -> Program:
    """Return the program of a collective operation in SMPI.

    `algorithm` is SMPI's name, else the choice of `selection`, which also has the algorithms of other collectives that
    it calls and the hosts of ranks; `number` says how many collectives there have been before on the communicator,
    `element` how many bytes an element of a reduction has. `InputError` where there is no such operation or algorithm,
    or the algorithm is not for so many processes.

    >>> program("bcast", 1024, 4, "flattree").offsets.tolist()  # three sends, then a wait
    [0, 4, 6, 8, 10]
    """
    rank_count(processes)
    message_size = whole("message_size", message_size, 0)
    _checked(operation)
    selection = selection or Selection()
    name = algorithm or selection.algorithm(operation)
    problem = Problem(processes, message_size, root)
    title = f"{operation} of {message_size} bytes on {processes} processes by SMPI's {name}"
    make = ROUNDS.get(operation, {}).get(name)
    if make is not None and selection.is_default and element == ELEMENT:
        tag = collective_tag(number)
        return program_of(processes, lambda: blocks_of(processes, iter(make(problem)), tag), title)
    sizes = (message_size,) * processes if operation in ("allgatherv", "alltoallv", "reduce_scatter") else ()
    selection = replace(selection, algorithms={**selection.algorithms, operation: name})
    (single,) = calls(processes, [(operation, [RankCall(message_size, element, root, sizes)])], selection)
    single.operations["tag"][single.operations["tag"] <= collective_tag(0)] = collective_tag(number)
    return Program(single.operations, single.offsets, name=title)


def reduce_scatter(sizes: NDArray[np.float64], element: int = ELEMENT) -> Program:
    """Return the program of SMPI's default reduce_scatter, of blocks of these bytes and elements of so many.

    Where all blocks are equal, it is a reduction and a scatter, else recursive doubling up to 524288 elements in all
    (where MPICH counts bytes), and pairwise above.

    >>> reduce_scatter(np.array([8.0, 8.0, 8.0])).offsets.tolist()
    [0, 6, 10, 14]
    """
    is_small = sizes.sum() <= rounds.PAIRWISE_ABOVE * element
    irregular = rounds.reduce_scatter_doubling if is_small else rounds.reduce_scatter_pairwise
    make = rounds.reduce_and_scatter if (sizes == sizes[0]).all() else irregular
    name = f"reduce_scatter of {int(sizes.sum())} bytes on {sizes.size} processes by SMPI"
    return program_of(sizes.size, lambda: blocks_of(sizes.size, make(sizes)), name)
