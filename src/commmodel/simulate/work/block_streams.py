"""Programs made in blocks while they run, so that they need not fit into memory.

A block holds some of the operations of every rank. Ranks walk through the blocks, each at its own pace; a block is made
when the first rank needs it and dropped when the last one has had it. Blocks that lie between the first and the last
rank beyond a bound go to a temporary file. Main entries: `program_of`, and `fresh`, which lets a program begin anew.
"""

import os
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.errors import InputError
from commmodel.simulate.operations import OPERATION, Operations, Program

BLOCK = 1 << 20
"""Operations of a block, about: 24 MiB."""
READ_AHEAD = 1 << 28
"""Bytes of blocks in memory, beyond which they go to a temporary file."""
NOTHING: Operations = np.empty(0, dtype=OPERATION)
NOTHING.flags.writeable = False


class Block(NamedTuple):
    """Operations of all ranks, rank after rank."""

    operations: Operations
    offsets: NDArray[np.int64]
    """Shape (processes + 1,)."""


class _Held:
    """A block that some ranks still need, in memory or in a file."""

    def __init__(self, block: Block) -> None:
        self.operations: Operations | None = block.operations
        self.size = block.operations.nbytes
        self.offsets = np.ascontiguousarray(block.offsets, dtype=np.int64).data
        self.left = block.offsets.size - 1
        self.place = 0

    @property
    def bytes_in_memory(self) -> int:
        return 0 if self.operations is None else self.size

    def take(self, rank: int, file: BinaryIO | None) -> Operations:
        """Return the operations of a rank."""
        begin, end = self.offsets[rank], self.offsets[rank + 1]
        if begin == end or file is None:
            return NOTHING
        step = OPERATION.itemsize
        return np.frombuffer(os.pread(file.fileno(), (end - begin) * step, self.place + begin * step), dtype=OPERATION)

    def spill(self, file: BinaryIO) -> None:
        """Move the block to the end of the file."""
        if self.operations is not None and self.size:
            self.place = file.seek(0, os.SEEK_END)
            file.write(self.operations.view(np.uint8).data)
            file.flush()
            self.operations = None


class BlockStream:
    """Supplies each rank's next operations: the `Program.refill` of programs made in blocks.

    When all ranks have come to their end it begins anew, so that a program can be run again. `blocks` returns an
    iterator over all blocks, each time from the first; ranks have the `skipped` first ones already. At most
    `read_ahead` bytes of blocks are kept in memory.
    """

    def __init__(
        self,
        processes: int,
        blocks: Callable[[], Iterator[Block]],
        skipped: int = 0,
        read_ahead: int = READ_AHEAD,
    ) -> None:
        self._processes, self._blocks, self._skipped, self._read_ahead = processes, blocks, skipped, read_ahead
        self._begun = True
        self._file: BinaryIO | None = None
        self.restart()

    def restart(self) -> None:
        """Begin from the first block."""
        if not self._begun:
            return
        self._begun = False
        if self._file is not None:
            self._file.close()
        self._source: Iterator[Block] | None = None
        self._stored: deque[_Held] = deque()
        self._dropped = 0
        self._next = [0] * self._processes
        self._ended = 0
        self._in_memory = 0
        self._file = None

    def fresh(self) -> "BlockStream":
        """Return one like this that stands at the first block."""
        return BlockStream(self._processes, self._blocks, self._skipped, self._read_ahead)

    def blocks(self) -> Iterator[Block]:
        """Yield all blocks after those that ranks have already, apart from where the stream stands."""
        return islice(self._blocks(), self._skipped, None)

    def go_on(self, source: Iterator[Block]) -> None:
        """Take the next blocks, once, from an iterator that has skipped the first ones."""
        self._source = source

    def __call__(self, rank: int) -> Operations:
        """Return the next operations of a rank; none at its end."""
        self._begun = True
        held_ones, next_ = self._stored, self._next
        while True:
            place = next_[rank] - self._dropped
            if place == len(held_ones) and not self._grow():
                return self._end()
            block = held_ones[place]
            next_[rank] += 1
            block.left -= 1
            operations = block.operations  # a million ranks ask: no call of `take` where it is in memory
            if operations is not None:
                offsets = block.offsets
                operations = operations[offsets[rank] : offsets[rank + 1]]
            else:
                operations = block.take(rank, self._file)
            if not block.left:
                self._drop()
            if len(operations):
                return operations

    def next_block(self) -> Block | None:
        """Return the next block for all ranks; None where some have not taken all so far, or at the end."""
        self._begun = True
        if self._stored or not self._grow():
            return None
        block = self._stored.popleft()
        self._in_memory = 0
        self._dropped += 1
        self._next = [self._dropped] * self._processes
        return None if block.operations is None else Block(block.operations, np.asarray(block.offsets))

    def _end(self) -> Operations:
        """Note the end of a rank; after the last rank's, start again."""
        self._ended += 1
        if self._ended >= self._processes:
            self.restart()
        return NOTHING

    def _grow(self) -> bool:
        """Make the next block; return whether there is one."""
        if self._source is None:
            self._source = self._blocks()
            for _ in range(self._skipped):
                next(self._source, None)
        block = next(self._source, None)
        if block is None:
            return False
        self._stored.append(_Held(block))
        self._in_memory += block.operations.nbytes
        if self._in_memory > self._read_ahead and len(self._stored) > 2:
            self._spill()
        return True

    def _drop(self) -> None:
        while self._stored and not self._stored[0].left:
            self._in_memory -= self._stored.popleft().bytes_in_memory
            self._dropped += 1

    def _spill(self) -> None:
        """Move all blocks but the oldest and the newest to an unnamed file."""
        import tempfile

        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="commmodel-")  # noqa: SIM115  (lives as long as the stream)
            weakref.finalize(self, self._file.close)
        for block in list(self._stored)[1:-1]:
            before = block.bytes_in_memory
            try:
                block.spill(self._file)
            except OSError as error:
                problem = "ranks are far apart in their programs, and what lies between them does not fit"
                raise InputError(f"{tempfile.gettempdir()}: {error.strerror}: {problem}: set TMPDIR") from None
            self._in_memory -= before - block.bytes_in_memory


def program_of(processes: int, blocks: Callable[[], Iterator[Block]], name: str = "") -> Program:
    """Return a program made of blocks, of which `blocks` returns an iterator, each time from the first.

    >>> program_of(2, lambda: iter(())).processes
    2
    """
    source = blocks()
    first = next(source, None)
    if first is None:
        return Program(NOTHING, np.zeros(processes + 1, dtype=np.int64), name=name)
    second = next(source, None)
    if second is None:
        return Program(first.operations, first.offsets, name=name)
    refill = BlockStream(processes, blocks, skipped=1)
    refill.go_on(chain([second], source))
    return Program(first.operations, first.offsets, refill, name)


def fresh(program: Program) -> Program:
    """Return the program with its own stream at the beginning.

    `InputError` where it is a stream that can only be read once.
    """
    if program.refill is None:
        return program
    again = getattr(program.refill, "fresh", None)
    if again is None:
        raise InputError(
            f"{program.name or 'this program'} can be read only once: it cannot be repeated or put together"
        )
    return replace(program, refill=again())
