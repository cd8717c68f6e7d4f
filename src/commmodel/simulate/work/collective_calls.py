"""Collectives inserted into a rank's parsed trace, large ones in blocks. Main entry: `Caller`.

The parser leaves a marker for each collective. Small ones are put in place at once. Of a large one all ranks share one
stream of blocks, from when the first rank comes to it until the last has done with it.
"""

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from commmodel._core.program.traces import spliced
from commmodel.collectives.call import CollectiveCall, parse
from commmodel.errors import InputError
from commmodel.simulate.operations import COLLECTIVE_TAG, Operations, Program
from commmodel.simulate.work.block_streams import NOTHING, fresh
from commmodel.simulate.work.collective_expansion import Expander, LargeCall
from commmodel.simulate.work.communicators import Definition

Call = tuple[int, int, float, str]
"""Of a trace: line, rank, bytes of the default type, action and arguments."""
Expansion = tuple[LargeCall | Operations, Operations]
"""The messages of a call and the computation after them."""
_MARKER = -1
_PARSED, _LENGTH = 4096, 256
"""Actions that are kept parsed, and their greatest length."""


class _Large:
    """A large collective that some ranks have entered; `begun` are those that have taken their first block."""

    def __init__(self, program: Program) -> None:
        self.program = fresh(program)
        self.begun: set[int] = set()
        self.left = program.processes

    def more(self, rank: int) -> Operations:
        program = self.program
        if rank not in self.begun:
            self.begun.add(rank)
            first = program.operations[program.offsets[rank] : program.offsets[rank + 1]]
            if first.size:
                return first
        return program.refill(rank) if program.refill else NOTHING


class Caller:
    """Supplies each rank's operations, from parsed pieces with markers for collectives.

    `damaged` returns the exception to raise for a line, a rank and a problem.
    """

    def __init__(self, processes: int, expander: Expander, damaged: Callable[[int, int, str], Exception]) -> None:
        self._processes, self._expander, self._damaged = processes, expander, damaged
        self._parsed: dict[tuple[str, float], CollectiveCall] = {}
        self._waiting: dict[int, deque[Operations | tuple[LargeCall, int]]] = {}
        self._large: dict[tuple[int, str], _Large] = {}

    def next(self, stream: int) -> Operations:
        """Return the rest of the last piece given to `put` for that stream, or nothing."""
        waiting = self._waiting.get(stream)
        while waiting:
            first = waiting[0]
            if isinstance(first, tuple):
                call, tag = first
                key = (tag, call.program.name)
                if key not in self._large:
                    self._large[key] = _Large(call.program)
                operations = self._large[key].more(call.rank)
                if operations.size:
                    renamed = call.world(operations)
                    renamed["tag"][renamed["tag"] <= COLLECTIVE_TAG] = tag
                    return renamed
                self._large[key].left -= 1
                if not self._large[key].left:
                    del self._large[key]
                waiting.popleft()
            else:
                waiting.popleft()
                if first.size:
                    return first
        if waiting is not None:
            del self._waiting[stream]
        return NOTHING

    def has_more(self, stream: int) -> bool:
        """Whether `next` has to be asked for more."""
        return stream in self._waiting

    def put(self, rank: int, operations: Operations, calls: Sequence[Call]) -> Operations:
        """Take a parsed piece of a rank's trace and return its first operations; `next` returns the others."""
        expansions = []
        for line, _, type_size, text in calls:
            try:
                expansions.append(self._expanded(text, type_size, rank))
            except InputError as error:
                raise self._damaged(line, rank, str(error)) from None
        return self.insert(rank, operations, expansions)

    def _expanded(self, text: str, type_size: float, rank: int) -> Expansion:
        """Return a call of a trace as operations; the definition of a communicator is a call without any."""
        communicators = self._expander.communicators
        if text.startswith("communicator"):
            communicators.define_by(text, rank)
            return NOTHING, NOTHING
        key = (text, type_size)
        call = self._parsed.get(key)
        if call is None:
            call = parse(text, type_size, communicators.size)
            if len(text) < _LENGTH:
                if len(self._parsed) > _PARSED:
                    self._parsed.clear()
                self._parsed[key] = call
        return self._expander.expand(call, rank)

    def put_records(
        self, rank: int, operations: Operations, records: Sequence[CollectiveCall | Definition], line: int
    ) -> Operations:
        """Take a piece of a rank's trace whose markers name records, and return its first operations; see `put`."""
        expansions: list[Expansion] = []
        try:
            for record in records:
                if isinstance(record, Definition):
                    members = np.asarray(record.members, dtype=np.int64)
                    self._expander.communicators.define(record.number, members, rank)
                    expansions.append((NOTHING, NOTHING))
                else:
                    expansions.append(self._expander.expand(record, rank))
        except InputError as error:
            raise self._damaged(line, rank, str(error)) from None
        return self.insert(rank, operations, expansions)

    def insert(self, stream: int, operations: Operations, expansions: Sequence[Expansion]) -> Operations:
        """Put expanded calls in the places of their markers and return the first operations; `next` returns the others.

        `stream` is a rank, or a further stream beside it; markers name calls by their positions.
        """
        pieces: list[Operations] = []
        large: dict[int, tuple[LargeCall, Operations]] = {}
        for number, (messages, computing) in enumerate(expansions):
            if isinstance(messages, LargeCall):
                large[number] = messages, computing
                pieces.append(NOTHING)
            else:
                pieces.append(np.concatenate([messages, computing]) if computing.size else messages)
        if not large:
            return spliced(operations, pieces) if pieces else operations
        is_large = (operations["code"] == _MARKER) & np.isin(operations["request"], list(large))
        waiting: deque[Operations | tuple[LargeCall, int]] = deque()
        begin = 0
        for place in np.flatnonzero(is_large).tolist():
            waiting.append(spliced(operations[begin:place], pieces))
            call, computing = large[int(operations["request"][place])]
            waiting.append((call, int(operations["tag"][place])))
            waiting.append(computing)
            begin = place + 1
        waiting.append(spliced(operations[begin:], pieces))
        self._waiting[stream] = waiting
        return self.next(stream)
