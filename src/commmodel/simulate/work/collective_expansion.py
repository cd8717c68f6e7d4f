"""Collectives in traces: arguments of an action, and one rank's operations. Main entry: `Expander`.

Where all ranks give the same sizes, the selector picks an algorithm of `commmodel.collectives`. Those with a size for
each rank go the plain way, which MPICH goes for most sizes too: alltoallv, gatherv and scatterv send all messages at
once, allgatherv goes around a ring, reducescatter of unequal blocks goes pair by pair. exscan goes the way of scan.
Empty messages of the first three are not sent. With SMPI's selector they are, allgatherv sends all at once, and
reducescatter is what `commmodel.simulate.smpi_collectives.reduce_scatter` makes; with its other selectors all but
gatherv and scatterv are what a rank does in its algorithms (`commmodel.simulate.work.smpi_calls`). What an action
computes comes after its messages. Libraries choose by the number of elements, by the operator and by where buffers are,
too: words behind the arguments say so (`CallData`); where none does, bytes are those of doubles. The arguments are
those of time-independent traces (SimGrid: ``smpirun -replay``); communicators are our extension
(`commmodel.simulate.work.communicators`). Main entry: `Expander`.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from commmodel.collectives.library.smpi_selection import Selection
from commmodel.collectives.schedule import ELEMENT_SIZE, OPERATORS, Operator, Problem
from commmodel.collectives.settings import CollectiveSettings
from commmodel.errors import InputError
from commmodel.simulate.operations import ANY, COLLECTIVE_TAG, OPERATION, UNNAMED, Code, Operations, Program
from commmodel.simulate.work.block_streams import NOTHING, fresh
from commmodel.simulate.work.collective import collective
from commmodel.simulate.work.communicators import Communicators, Ranks, translated
from commmodel.simulate.work.smpi_calls import SmpiCalls
from commmodel.units import parse_number

__all__ = ["TYPE_SIZES", "CallData", "Expander", "LargeCall"]

TYPE_SIZES = (8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8)
"""Bytes of the types that traces number: double, int, char, short, long, float, byte, long long and so on."""
_BYTE = 6
_ELEMENT, _IN_PLACE, _BLOCK = "element=", "in-place", "block"
"""Words behind the arguments: bytes of an element, MPI_IN_PLACE, and of a reducescatter MPI_Reduce_scatter_block."""
_CACHED = 1 << 24
_OF_OBJECTS = 64
_MOST_OPERATIONS = 1 << 27
_MOST_BYTES = 1 << 53
_Call = tuple[str, Problem]


class CallData(NamedTuple):
    """What libraries look at in a collective beside its sizes.

    Attributes
    ----------
    element : int
        Bytes of an element of its datatype; 0: not known.
    operator : str
        Of a reduction, as in `commmodel.collectives.Problem`.
    in_place : bool
        Whether the send buffer is MPI_IN_PLACE.
    is_block : bool
        Of a reducescatter: whether it is MPI_Reduce_scatter_block.
    """

    element: int = 0
    operator: Operator = "predefined"
    in_place: bool = False
    is_block: bool = False

    @property
    def words(self) -> str:
        """The words behind the arguments of an action, each with a space before it.

        >>> CallData(4, "non-commutative").words
        ' element=4 non-commutative'
        """
        words = [
            f"{_ELEMENT}{self.element}" if self.element else "",
            self.operator if self.operator != OPERATORS[0] else "",
            _IN_PLACE if self.in_place else "",
            _BLOCK if self.is_block else "",
        ]
        return "".join(f" {word}" for word in words if word)


def _is_of_call(word: str) -> bool:
    return word in {*OPERATORS, _IN_PLACE, _BLOCK} or word.startswith(_ELEMENT)


class _Arguments:
    """The arguments of one action."""

    def __init__(self, text: str, type_size: float) -> None:
        self.action, *self.words = text.split()
        self.type_size = type_size
        end = len(self.words)
        while end and _is_of_call(self.words[end - 1]):
            end -= 1
        self.words, self.of_call = self.words[:end], self.words[end:]

    def _word(self, place: int, name: str) -> str:
        if place >= len(self.words):
            raise InputError(
                f"{self.action!r} has {len(self.words)} arguments: argument {place + 1}, {name}, is missing"
            )
        return self.words[place]

    def amount(self, place: int, name: str) -> float:
        """Return a number ≥ 0."""
        word = self._word(place, name)
        try:
            value = parse_number(word)
        except InputError:
            raise InputError(f"{name} {word[:40]!r}: expected a finite number") from None
        if value < 0:
            raise InputError(f"{name} {word[:40]!r}: expected a finite number that is not negative")
        return value

    def count(self, place: int, name: str, most: int = _MOST_BYTES) -> int:
        """Return an integer ≥ 0."""
        value = self.amount(place, name)
        if value != int(value) or value > most:
            raise InputError(f"{name} {self.words[place][:40]!r}: expected a whole number from 0 to {most}")
        return int(value)

    def counts(self, place: int, name: str, processes: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return a count for each rank."""
        if place + processes > len(self.words):
            have = max(0, len(self.words) - place)
            mend = "; of a communicator of fewer, say which with `communicator` and `within`"
            raise InputError(f"{self.action!r} has {have} {name}: expected one for each of {processes} ranks{mend}")
        return np.array([self.count(place + rank, name) for rank in range(processes)], dtype=np.float64)

    def size_of_type(self, place: int) -> int:
        """Return the bytes of the type named there, or of the default type."""
        if place >= len(self.words):
            return int(self.type_size)
        return TYPE_SIZES[self.count(place, "type", len(TYPE_SIZES) - 1)]

    def element(self, place: int) -> int:
        """Return the bytes of an element: as a word says, else of that type; a double's of a type that counts bytes."""
        size = self.size_of_type(place)
        is_named = place < len(self.words) and self.count(place, "type") != _BYTE
        return self.said_element or (size if size > 1 or is_named else ELEMENT_SIZE)

    @property
    def said_element(self) -> int:
        """Bytes of an element as a word says; 0 where none does."""
        word = next((word for word in self.of_call if word.startswith(_ELEMENT)), f"{_ELEMENT}0")
        if not re.fullmatch(r"\d{1,18}", word.removeprefix(_ELEMENT)):
            raise InputError(f"{word[:40]!r}: expected a whole number of bytes")
        return int(word.removeprefix(_ELEMENT))

    def problem(self, processes: int, size: int, type_at: int, root: int = 0) -> Problem:
        """Return the collective of so many bytes with elements of the type at a place."""
        operator = next((name for name in OPERATORS if name in self.of_call), OPERATORS[0])
        in_place = _IN_PLACE in self.of_call
        return Problem(processes, size, root, element_size=self.element(type_at), operator=operator, in_place=in_place)

    def root(self, place: int, processes: int) -> int:
        """Return the rank named there, or 0."""
        return self.count(place, "root", processes - 1) if place < len(self.words) else 0


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

    Parameters
    ----------
    processes : int
        P.
    speeds : sequence of float
        Flops per second of each rank's processor.
    settings : CollectiveSettings, optional
        As for `commmodel.simulate.work.collective`.
    whole : bool
        Whether even large collectives are made at once, so that each rank's operations are an array.
    """

    def __init__(
        self,
        processes: int,
        speeds: Sequence[float],
        settings: CollectiveSettings | None = None,
        complete: bool = False,
    ) -> None:
        self._processes, self._speeds, self._complete = processes, speeds, complete
        self._settings = settings or CollectiveSettings()
        library = self._settings.library
        self._is_smpi = isinstance(library, Selection)
        self._smpi: SmpiCalls | None = None
        if isinstance(library, Selection) and not library.is_default:
            self._smpi = SmpiCalls(processes, library)
        self._reduce_scatter: tuple[_Sizes, Program] | None = None
        self._programs: OrderedDict[_Call, Program] = OrderedDict()
        self._weight = 0
        self._read: dict[tuple[str, float], tuple[_Call, float]] = {}
        self._communicators = Communicators(processes)
        self._of_communicators: dict[tuple[int, int], Expander] = {}

    def expand(self, text: str, type_size: float, rank: int) -> tuple[LargeCall | Operations, Operations]:
        """Return the messages of a call, and the computation after them.

        The definition of a communicator is a call without either.

        Parameters
        ----------
        text : str
            Action and arguments.
        type_size : float
            Bytes of the trace's default type.
        rank : int
            Whose operations are asked for.

        Returns
        -------
        messages : structured array of `OPERATION`, or LargeCall
        computing : structured array of `OPERATION`

        Raises
        ------
        InputError
            Where an argument is missing or wrong.

        Examples
        --------
        >>> expander = Expander(2, [1e9, 1e9])
        >>> messages, computing = expander.expand("allreduce 1 500 0", 1, 0)
        >>> messages["value"].tolist(), computing["value"].tolist()
        ([8.0, 8.0, 0.0], [5e-07])
        """
        key = (text, type_size)
        cached = self._read.get(key)
        if cached is None:
            arguments = _Arguments(text, type_size)
            if arguments.action == "communicator":
                number = arguments.count(0, "communicator")
                self._communicators.define(number, " ".join(arguments.words[1:]), rank)
                return NOTHING, NOTHING
            if arguments.action == "within":
                return self._within(arguments, rank)
            if self._smpi is not None and arguments.action not in _NOT_SELECTED:
                return self._of_smpi(self._smpi, arguments, rank, key)
            special = _WITH_SIZES.get(arguments.action)
            if special is not None:
                messages, flops = special(self, arguments, rank)
                if isinstance(messages, Program):
                    return LargeCall(messages, rank, None), self._computing(flops, rank)
                return messages, self._computing(flops, rank)
            cached = self._uniform(arguments)
            if len(self._read) > 4096:
                self._read.clear()
            self._read[key] = cached
        call, flops = cached
        program = self._program(*call)
        computing = self._computing(flops, rank)
        if program.refill is not None:
            return LargeCall(program, rank, None), computing
        return program.operations[program.offsets[rank] : program.offsets[rank + 1]], computing

    def _within(self, arguments: _Arguments, rank: int) -> tuple[LargeCall | Operations, Operations]:
        """Expand a collective of a communicator; schedules of one size serve all communicators of that size."""
        communicator = self._communicators[arguments.count(0, "communicator")]
        members, processes = communicator.members, communicator.processes
        action = arguments.words[1] if len(arguments.words) > 1 else ""
        if action not in _ACTIONS:
            raise InputError(f"within communicator {communicator.number}: {action[:40]!r} is no collective")
        settings = self._settings.within(members.tolist())
        key = processes, 0 if settings.nodes is None else settings.nodes.per_node
        if self._smpi is not None:  # which knows what the communicator has done before
            settings = replace(settings, selector=self._smpi.selection.within(members.tolist()))
            key = -1, communicator.number
        expander = self._of_communicators.get(key)
        if expander is None:
            unit = [1.0] * processes
            expander = Expander(processes, unit, settings, self._complete)
            self._of_communicators[key] = expander
        text = " ".join([*arguments.words[1:], *arguments.of_call])
        messages, computing = expander.expand(text, arguments.type_size, communicator.rank(rank))
        if computing.size:
            computing = self._computing(float(computing["value"].sum()), rank)
        if isinstance(messages, LargeCall):
            return messages._replace(members=members), computing
        return translated(messages, members), computing

    def _of_smpi(
        self, calls: SmpiCalls, arguments: _Arguments, rank: int, key: tuple[str, float]
    ) -> tuple[Operations, Operations]:
        """Expand a call by an algorithm of SMPI that says what each rank does."""
        processes, action = self._processes, arguments.action
        blocks: tuple[int, ...] = ()
        size = root = 0
        if action in _BLOCKS_AT:
            place, type_at = _BLOCKS_AT[action][0], _BLOCKS_AT[action][1](processes)
            element = arguments.size_of_type(type_at)
            blocks = tuple(int(count) * element for count in arguments.counts(place, "counts", processes))
            flops = arguments.amount(processes, "flops") if action == "reducescatter" else 0.0
            operation = "reduce_scatter" if action == "reducescatter" else action
        else:
            element = 1 if action == "barrier" else arguments.size_of_type(_TYPE_AT.get(action, 2))
            (operation, problem), flops = self._uniform(arguments)
            size, root = problem.message_size, problem.root
        element = arguments.said_element or element
        messages = calls.expand(rank, key, (operation, size, element, root, blocks))
        return messages, self._computing(flops, rank)

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

    def _uniform(self, arguments: _Arguments) -> tuple[_Call, float]:
        """Return a collective with equal sizes on all ranks, and its flops."""
        processes, action = self._processes, arguments.action
        if action == "barrier":
            return ("barrier", Problem(processes)), 0.0
        if action == "bcast":
            size = arguments.count(0, "count") * arguments.size_of_type(2)
            return ("bcast", arguments.problem(processes, size, 2, arguments.root(1, processes))), 0.0
        if action in ("reduce", "allreduce", "scan", "exscan"):
            type_at, root = (3, arguments.root(2, processes)) if action == "reduce" else (2, 0)
            size = arguments.count(0, "count") * arguments.size_of_type(type_at)
            operation = "scan" if action == "exscan" else action
            return (operation, arguments.problem(processes, size, type_at, root)), arguments.amount(1, "flops")
        rooted = action in ("gather", "scatter")
        sent = arguments.count(0, "send_count") * arguments.size_of_type(2 + rooted)
        received = arguments.count(1, "receive_count") * arguments.size_of_type(3 + rooted)
        # One of them may be 0: of a rank that sends from where it receives, or has nothing to say to the root.
        size = max(sent, received)
        root = arguments.root(2, processes) if rooted else 0
        return (action, arguments.problem(processes, size, 2 + rooted, root)), 0.0

    def _alltoallv(self, arguments: _Arguments, rank: int) -> tuple[Operations, float]:
        processes = self._processes
        sent = arguments.counts(1, "send_counts", processes) * arguments.size_of_type(2 * processes + 2)
        received = arguments.counts(processes + 2, "receive_counts", processes) * arguments.size_of_type(
            2 * processes + 3
        )
        partners = (rank + np.arange(1, processes)) % processes
        return _at_once(partners[::-1], received, partners, sent, self._is_smpi), 0.0

    def _gatherv(self, arguments: _Arguments, rank: int) -> tuple[Operations, float]:
        processes = self._processes
        root = arguments.root(processes + 1, processes)
        received = arguments.counts(1, "receive_counts", processes) * arguments.size_of_type(processes + 3)
        sent = np.full(processes, arguments.count(0, "send_count") * arguments.size_of_type(processes + 2), dtype=float)
        sources = _without(processes, root) if rank == root else _NOBODY
        return _at_once(sources, received, _NOBODY if rank == root else np.array([root]), sent, self._is_smpi), 0.0

    def _scatterv(self, arguments: _Arguments, rank: int) -> tuple[Operations, float]:
        processes = self._processes
        root = arguments.root(processes + 1, processes)
        sent = arguments.counts(0, "send_counts", processes) * arguments.size_of_type(processes + 2)
        size = arguments.count(processes, "receive_count") * arguments.size_of_type(processes + 3)
        received = np.full(processes, size, dtype=float)
        targets = _without(processes, root) if rank == root else _NOBODY
        return _at_once(_NOBODY if rank == root else np.array([root]), received, targets, sent, self._is_smpi), 0.0

    def _allgatherv(self, arguments: _Arguments, rank: int) -> tuple[Operations, float]:
        processes = self._processes
        size = arguments.counts(1, "receive_counts", processes) * arguments.size_of_type(processes + 2)
        arguments.count(0, "send_count")
        if self._is_smpi:
            partners = _without(processes, rank)
            return _at_once(partners, size, partners, np.full(processes, size[rank]), True), 0.0
        step = np.arange(processes - 1)
        before, after = (rank - 1) % processes, (rank + 1) % processes
        sent, received = size[(rank - step) % processes], size[(rank - step - 1) % processes]
        return _one_by_one(np.full(step.size, before), received, np.full(step.size, after), sent), 0.0

    def _reducescatter(self, arguments: _Arguments, rank: int) -> tuple[Operations | Program, float]:
        processes = self._processes
        size = arguments.counts(0, "receive_counts", processes) * arguments.size_of_type(processes + 1)
        flops = arguments.amount(processes, "flops")
        program = None
        if self._is_smpi:
            program = self._smpi_reduce_scatter(size, arguments.size_of_type(processes + 1))
        elif (size == size[0]).all():
            operation = "reduce_scatter_block" if _BLOCK in arguments.of_call else "reduce_scatter"
            program = self._program(operation, arguments.problem(processes, int(size[0]), processes + 1))
        if program is not None:
            if program.refill is not None:
                return program, flops
            return program.operations[program.offsets[rank] : program.offsets[rank + 1]], flops
        step = np.arange(1, processes)
        to = (rank + step) % processes
        return _one_by_one((rank - step) % processes, np.full(step.size, size[rank]), to, size[to]), flops

    def _smpi_reduce_scatter(self, sizes: "_Sizes", element: int) -> Program:
        """Return SMPI's reduce_scatter; all ranks call it with the same sizes, one after the other."""
        if self._reduce_scatter is None or not np.array_equal(self._reduce_scatter[0], [*sizes, element]):
            from commmodel.simulate import smpi_collectives

            program = smpi_collectives.reduce_scatter(sizes, element)
            self._reduce_scatter = np.append(sizes, element), _in_memory(program) if self._complete else program
        return self._reduce_scatter[1]


_NOT_SELECTED = {"gatherv", "scatterv"}
"""For which SMPI has one algorithm."""
_TYPE_AT = {"reduce": 3, "gather": 3, "scatter": 3}
"""Action -> place of its type, which is 2 for others."""
_BLOCKS_AT: dict[str, tuple[int, Callable[[int], int]]] = {
    "allgatherv": (1, lambda processes: processes + 2),
    "alltoallv": (1, lambda processes: 2 * processes + 2),
    "reducescatter": (0, lambda processes: processes + 1),
}
"""Action -> place of the first count of a block, and of its type."""
_WITH_SIZES = {
    "alltoallv": Expander._alltoallv,
    "gatherv": Expander._gatherv,
    "scatterv": Expander._scatterv,
    "allgatherv": Expander._allgatherv,
    "reducescatter": Expander._reducescatter,
}

_ACTIONS = {
    "barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "gather", "scatter", "allgather", "alltoall",
    *_WITH_SIZES,
}  # fmt: skip

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

    Raises
    ------
    InputError
        Where it would take more than 3 GB.
    """
    if program.refill is None:
        return program
    program = fresh(program)
    parts: list[Operations] = []
    sizes = np.zeros(program.processes + 1, dtype=np.int64)
    total = 0
    for rank in range(program.processes):
        part = program.operations[program.offsets[rank] : program.offsets[rank + 1]]
        if not part.size and program.refill:
            part = program.refill(rank)
        while part.size:
            parts.append(part)
            sizes[rank + 1] += part.size
            total += part.size
            if total > _MOST_OPERATIONS:
                raise InputError(f"{program.name}: more than {_MOST_OPERATIONS} operations at once")
            part = program.refill(rank) if program.refill else NOTHING
    return Program(np.concatenate([NOTHING, *parts]), np.cumsum(sizes), name=program.name)
