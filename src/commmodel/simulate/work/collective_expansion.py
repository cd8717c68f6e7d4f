"""Collectives as operations of one rank. Main entry: `Expander`.

Where all ranks give the same sizes, the selector picks an algorithm of `commmodel.collectives`. Those with a size for
each rank go the plain way, which MPICH goes for most sizes too: alltoallv, gatherv and scatterv send all messages at
once, allgatherv goes around a ring, reduce_scatter of unequal blocks goes pair by pair. exscan goes the way of scan.
Empty messages of the first three are not sent. With SMPI's selector they are, allgatherv sends all at once, and
reduce_scatter is what `commmodel.simulate.smpi_collectives.reduce_scatter` makes; with its other selectors all but
gatherv and scatterv are what a rank does in its algorithms (`commmodel.simulate.work.smpi_calls`). What a call
computes comes after its messages.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from commmodel.collectives.call import CollectiveCall
from commmodel.collectives.library.smpi_selection import Selection
from commmodel.collectives.operation import ELEMENT_SIZE
from commmodel.collectives.schedule import Problem
from commmodel.collectives.settings import CollectiveSettings
from commmodel.errors import InputError
from commmodel.simulate.operations import ANY, COLLECTIVE_TAG, OPERATION, UNNAMED, Code, Operations, Program
from commmodel.simulate.work.block_streams import NOTHING, fresh
from commmodel.simulate.work.collective import collective
from commmodel.simulate.work.communicators import Communicators, Ranks, translated
from commmodel.simulate.work.smpi_calls import SmpiCalls

_CACHED = 1 << 24
_OF_OBJECTS = 64
_MOST_OPERATIONS = 1 << 27
_MOST_BYTES = 1 << 53
_Schedule = tuple[str, Problem]


class LargeCall(NamedTuple):
    """A rank's part of a collective that is so large that it is made block by block."""

    program: Program
    rank: int
    """In the program."""
    members: Ranks | None
    """Ranks of the whole program where the collective is that of a communicator."""

    def world(self, operations: Operations) -> Operations:
        """Return operations of the program with peers as ranks of the whole program."""
        return operations.copy() if self.members is None else translated(operations, self.members)


class Expander:
    """Turns collectives of traces into operations, with a cache of up to 400 MB.

    `speeds` are the flops per second of each rank's processor. With `complete` even large collectives are made at once,
    so that each rank's operations are an array. `is_replayed`: calls are of a trace, not of a program that runs.
    """

    def __init__(
        self,
        processes: int,
        speeds: Sequence[float],
        settings: CollectiveSettings | None = None,
        complete: bool = False,
        is_replayed: bool = True,
    ) -> None:
        self._processes, self._speeds, self._complete, self._is_replayed = processes, speeds, complete, is_replayed
        self._settings = settings or CollectiveSettings()
        library = self._settings.library
        self._smpi = SmpiCalls(processes, library, is_replayed) if isinstance(library, Selection) else None
        self._reduce_scatter: tuple[_Sizes, Program] | None = None
        self._programs: OrderedDict[_Schedule, Program] = OrderedDict()
        self._weight = 0
        self._uniform_calls: dict[CollectiveCall, _Schedule] = {}
        self.communicators = Communicators(processes)
        self._of_communicators: dict[tuple[int, int], Expander] = {}

    def expand(self, call: CollectiveCall, rank: int) -> tuple[LargeCall | Operations, Operations]:
        """Return the messages of a call as a rank makes it, and the computation after them.

        `InputError` where the communicator has not been defined, or the root is no rank of it.

        >>> expander = Expander(2, [1e9, 1e9])
        >>> messages, computing = expander.expand(CollectiveCall("allreduce", 8, flops=500), 0)
        >>> messages["value"].tolist(), computing["value"].tolist()
        ([8.0, 8.0, 0.0], [5e-07])
        """
        if call.communicator:
            return self._within(call, rank)
        operation = _SAME.get(call.operation, call.operation)
        computing = self._computing(call.flops, rank)
        if self._smpi is not None and self._smpi.has(operation, call):
            return self._of_smpi(self._smpi, call, rank), computing
        with_counts = _WITH_COUNTS.get(operation)
        messages = self._program(*self._uniform(call)) if with_counts is None else with_counts(self, call, rank)
        if not isinstance(messages, Program):
            return messages, computing
        if messages.refill is not None:
            return LargeCall(messages, rank, None), computing
        return messages.operations[messages.offsets[rank] : messages.offsets[rank + 1]], computing

    def again(self) -> "Expander":
        """Return one for another run, in which no communicator has been defined, with what is the same in all runs."""
        other = Expander(self._processes, self._speeds, self._settings, self._complete, self._is_replayed)
        if self._smpi is None:
            other._programs, other._weight, other._uniform_calls = self._programs, self._weight, self._uniform_calls
            other._of_communicators = self._of_communicators
        return other

    def is_settled(self, communicator: int, rank: int) -> bool:
        """Whether the last call of a rank in a communicator is expanded as all later ones with its fields."""
        return self._smpi is None or communicator != 0 or self._smpi.is_settled(rank)

    def _within(self, call: CollectiveCall, rank: int) -> tuple[LargeCall | Operations, Operations]:
        """Expand a collective of a communicator; schedules of one size serve all communicators of that size."""
        communicator = self.communicators[call.communicator]
        members, processes = communicator.members, communicator.processes
        settings = self._settings.within(members.tolist())
        key = processes, 0 if settings.nodes is None else settings.nodes.per_node
        if (
            self._smpi is not None and not self._smpi.selection.is_default
        ):  # which knows what the communicator has done before
            selection = self._smpi.selection.within(members.tolist())
            settings = replace(settings, selector=replace(selection, is_prepared=True))
            key = -1, communicator.number
        expander = self._of_communicators.get(key)
        if expander is None:
            unit = [1.0] * processes
            expander = Expander(processes, unit, settings, self._complete, self._is_replayed)
            self._of_communicators[key] = expander
        messages, computing = expander.expand(call._replace(communicator=0), communicator.rank(rank))
        if computing.size:
            computing = self._computing(float(computing["value"].sum()), rank)
        if isinstance(messages, LargeCall):
            return messages._replace(members=members), computing
        return translated(messages, members), computing

    def _of_smpi(self, calls: SmpiCalls, call: CollectiveCall, rank: int) -> Operations:
        """Expand a call by an algorithm of SMPI that says what each rank does."""
        operation, element = _SAME.get(call.operation, call.operation), call.element or 1
        if operation == "reduce_scatter_block":
            arguments = "reduce_scatter", 0, element, 0, (call.sent,) * self._processes
        elif operation in _BLOCKS:
            counts = getattr(call, _BLOCKS[operation]) or (0,) * self._processes
            arguments = operation, 0, element, 0, counts
        elif operation in ("gatherv", "scatterv"):
            arguments = operation, call.sent, element, call.root, call.sent_counts
        else:
            arguments = operation, max(call.sent, call.received), element, call.root, ()
        return calls.expand(rank, call, arguments)

    def _computing(self, flops: float, rank: int) -> Operations:
        if not flops:
            return NOTHING
        return np.array([(Code.COMPUTE, ANY, ANY, UNNAMED, flops / self._speeds[rank])], dtype=OPERATION)

    def _program(self, operation: str, problem: Problem) -> Program:
        key = (operation, problem)
        if key in self._programs:
            self._programs.move_to_end(key)
            return self._programs[key]
        program = collective(operation, problem, settings=self._settings)
        if self._complete:
            program = _in_memory(program)
        self._programs[key] = program
        self._weight += self._weight_of(program)
        while self._weight > _CACHED and len(self._programs) > 1:
            self._weight -= self._weight_of(self._programs.popitem(last=False)[1])
        return program

    def _weight_of(self, program: Program) -> int:
        """Return a program's memory in operations: its own, a place per rank, and Python's objects."""
        return program.operations.size + self._processes // 3 + _OF_OBJECTS

    def _uniform(self, call: CollectiveCall) -> _Schedule:
        """Return a collective with equal sizes on all ranks."""
        schedule = self._uniform_calls.get(call)
        if schedule is None:
            # One of them may be 0: of a rank that sends from where it receives, or has nothing to say to the root.
            problem = self._problem(call, max(call.sent, call.received))
            schedule = _SAME.get(call.operation, call.operation), problem
            if len(self._uniform_calls) > 4096:
                self._uniform_calls.clear()
            self._uniform_calls[call] = schedule
        return schedule

    def _problem(self, call: CollectiveCall, size: int) -> Problem:
        return Problem(
            self._processes,
            size,
            call.root,
            element_size=call.element or ELEMENT_SIZE,
            operator=call.operator,
            in_place=call.in_place,
        )

    def _sizes(self, counts: Sequence[int]) -> "_Sizes":
        return np.array(counts or [0] * self._processes, dtype=np.float64)

    def _alltoallv(self, call: CollectiveCall, rank: int) -> Operations:
        partners = (rank + np.arange(1, self._processes)) % self._processes
        sent, received = self._sizes(call.sent_counts), self._sizes(call.received_counts)
        return _at_once(partners[::-1], received, partners, sent, self._smpi is not None)

    def _gatherv(self, call: CollectiveCall, rank: int) -> Operations:
        processes, root = self._processes, call.root
        received, sent = self._sizes(call.received_counts), np.full(processes, call.sent, dtype=float)
        sources = _without(processes, root) if rank == root else _NOBODY
        return _at_once(sources, received, _NOBODY if rank == root else np.array([root]), sent, self._smpi is not None)

    def _scatterv(self, call: CollectiveCall, rank: int) -> Operations:
        processes, root = self._processes, call.root
        sent, received = self._sizes(call.sent_counts), np.full(processes, call.received, dtype=float)
        targets = _without(processes, root) if rank == root else _NOBODY
        return _at_once(_NOBODY if rank == root else np.array([root]), received, targets, sent, self._smpi is not None)

    def _allgatherv(self, call: CollectiveCall, rank: int) -> Operations:
        processes, size = self._processes, self._sizes(call.received_counts)
        if self._smpi is not None:
            partners = _without(processes, rank)
            return _at_once(partners, size, partners, np.full(processes, size[rank]), True)
        step = np.arange(processes - 1)
        before, after = (rank - 1) % processes, (rank + 1) % processes
        sent, received = size[(rank - step) % processes], size[(rank - step - 1) % processes]
        return _one_by_one(np.full(step.size, before), received, np.full(step.size, after), sent)

    def _reduce_blocks(self, call: CollectiveCall, rank: int) -> Operations | Program:
        processes = self._processes
        is_block = call.operation == "reduce_scatter_block"
        size = self._sizes((call.sent,) * processes if is_block else call.received_counts)
        if self._smpi is not None:
            return self._smpi_reduce_scatter(size, call.unit)
        if (size == size[0]).all():
            return self._program(call.operation, self._problem(call, int(size[0])))
        step = np.arange(1, processes)
        to = (rank + step) % processes
        return _one_by_one((rank - step) % processes, np.full(step.size, size[rank]), to, size[to])

    def _smpi_reduce_scatter(self, sizes: "_Sizes", element: int) -> Program:
        """Return SMPI's reduce_scatter; all ranks call it with the same sizes, one after the other."""
        if self._reduce_scatter is None or not np.array_equal(self._reduce_scatter[0], [*sizes, element]):
            from commmodel.simulate import smpi_collectives

            program = smpi_collectives.reduce_scatter(sizes, element)
            self._reduce_scatter = np.append(sizes, element), _in_memory(program) if self._complete else program
        return self._reduce_scatter[1]


_SAME = {"exscan": "scan", "alltoallw": "alltoallv"}
"""Operation -> the one whose way it goes."""
_BLOCKS = {"allgatherv": "received_counts", "alltoallv": "sent_counts", "reduce_scatter": "received_counts"}
"""Operation -> the field with the bytes of each block."""
_WITH_COUNTS = {
    "alltoallv": Expander._alltoallv,
    "gatherv": Expander._gatherv,
    "scatterv": Expander._scatterv,
    "allgatherv": Expander._allgatherv,
    "reduce_scatter": Expander._reduce_blocks,
    "reduce_scatter_block": Expander._reduce_blocks,
}

_Ranks = np.ndarray[tuple[int], np.dtype[np.int64]]
_Sizes = np.ndarray[tuple[int], np.dtype[np.float64]]
_NOBODY = np.empty(0, dtype=np.int64)


def _without(processes: int, rank: int) -> _Ranks:
    return np.delete(np.arange(processes), rank)


def _at_once(sources: _Ranks, received: _Sizes, targets: _Ranks, sent: _Sizes, with_empty: bool) -> Operations:
    """Return receives, sends and a wait; sizes are per rank."""
    if not with_empty:
        sources, targets = sources[received[sources] > 0], targets[sent[targets] > 0]
    count = sources.size + targets.size
    operations = np.empty(count + (count > 0), dtype=OPERATION)
    operations[:] = (Code.WAITALL, ANY, ANY, UNNAMED, 0.0)
    operations["code"][:count] = np.repeat([Code.IRECV, Code.ISEND], [sources.size, targets.size])
    operations["peer"][:count] = np.concatenate([sources, targets])
    operations["tag"][:count] = COLLECTIVE_TAG
    operations["value"][:count] = np.concatenate([received[sources], sent[targets]])
    return operations


def _one_by_one(sources: _Ranks, received: _Sizes, targets: _Ranks, sent: _Sizes) -> Operations:
    """Return rounds of a receive, a send and a wait; sizes are per round."""
    operations = np.empty((sources.size, 3), dtype=OPERATION)
    operations[:] = (Code.WAITALL, ANY, ANY, UNNAMED, 0.0)
    for place, code, peer, size in ((0, Code.IRECV, sources, received), (1, Code.ISEND, targets, sent)):
        operations["code"][:, place] = code
        operations["peer"][:, place] = peer
        operations["tag"][:, place] = COLLECTIVE_TAG
        operations["value"][:, place] = size
    return operations.reshape(-1)


def _in_memory(program: Program) -> Program:
    """Return a program made in blocks as one that is whole in memory.

    `InputError` where it would take more than 3 GB.
    """
    if program.refill is None:
        return program
    program = fresh(program)
    parts: list[Operations] = []
    sizes = np.zeros(program.processes + 1, dtype=np.int64)
    total = 0
    for rank in range(program.processes):
        for part in program.pieces(rank):
            parts.append(part)
            sizes[rank + 1] += part.size
            total += part.size
            if total > _MOST_OPERATIONS:
                raise InputError(f"{program.name}: more than {_MOST_OPERATIONS} operations at once")
    return Program(np.concatenate([NOTHING, *parts]), np.cumsum(sizes), name=program.name)
