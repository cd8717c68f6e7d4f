"""Collectives inserted into a rank's parsed trace, large ones in blocks. Main entry: `Caller`.

The parser leaves a marker for each collective. Small ones are put in place at once. Of a large one all ranks share one
stream of blocks, from when the first rank comes to it until the last has done with it. Main entry: `Caller`.
"""

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from commmodel._core.program.traces import spliced
from commmodel.errors import InputError
from commmodel.simulate.operations import COLLECTIVE_TAG, Operations, Program
from commmodel.simulate.work.block_streams import NOTHING, fresh
from commmodel.simulate.work.collective_expansion import Expander, LargeCall

__all__ = ["Call", "Caller"]

Call = tuple[int, int, float, str]
"""Line, rank, bytes of the default type, action and arguments."""
_MARKER = -1


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

    Parameters
    ----------
    processes : int
        P.
    expander : Expander
        What turns calls into operations.
    damaged : callable
        (line, rank, problem) -> the exception to raise.
    """

    def __init__(self, processes: int, expander: Expander, damaged: Callable[[int, int, str], Exception]) -> None:
        self._processes, self._expander, self._damaged = processes, expander, damaged
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

    def put(self, rank: int, operations: Operations, calls: Sequence[Call], stream: int | None = None) -> Operations:
        """Take a parsed piece of a rank and return its first operations; `next` returns the others.

        A rank may have several streams; by default it is that of its own number.
        """
        stream = rank if stream is None else stream
        pieces: list[Operations] = []
        large: dict[int, tuple[LargeCall, Operations]] = {}
        for number, (line, _, type_size, text) in enumerate(calls):
            try:
                messages, computing = self._expander.expand(text, type_size, rank)
            except InputError as error:
                raise self._damaged(line, rank, str(error)) from None
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
