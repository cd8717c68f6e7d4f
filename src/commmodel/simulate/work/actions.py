"""Programs made of the actions of time-independent traces, with a part that repeats.

A kernel of an application does the same in each iteration, so its text and its operations are made once for one
iteration. The same text makes the program and, by `commmodel.simulate.traces.dump`, the trace. Main entry: `Actions`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from commmodel._core.program.traces import Parser, TraceError
from commmodel.arguments import finite
from commmodel.collectives.settings import CollectiveSettings
from commmodel.errors import InputError
from commmodel.simulate.operations import Operations, Program
from commmodel.simulate.work.block_streams import Block, program_of
from commmodel.simulate.work.collective_calls import Caller
from commmodel.simulate.work.collective_expansion import Expander


def each_speed(speeds: float | Sequence[float], processes: int) -> list[float]:
    """Return a speed for each rank.

    >>> each_speed(1e9, 2)
    [1000000000.0, 1000000000.0]
    """
    if isinstance(speeds, int | float):
        listed = [finite("speed", speeds, 0)] * processes
    else:
        listed = [finite("speed", speed, 0) for speed in speeds]
    if len(listed) != processes:
        raise InputError(f"{len(listed)} speeds for {processes} processes: give one for each, or one for all")
    if not all(0 < speed < float("inf") for speed in listed):
        raise InputError("the speed of a processor must be positive: flops per second")
    return listed


@dataclass(frozen=True)
class Actions:
    """The actions of each rank, as text."""

    first: tuple[str, ...]
    repeated: tuple[str, ...]
    last: tuple[str, ...]
    """Lines of `rank action arguments`."""
    times: int
    """How often `repeated` comes."""
    name: str = ""

    @property
    def processes(self) -> int:
        """P."""
        return len(self.first)

    def text(self, rank: int) -> Iterator[str]:
        """Yield the text of a rank, an iteration at a time."""
        yield self.first[rank]
        for _ in range(self.times):
            yield self.repeated[rank]
        yield self.last[rank]

    def program(
        self,
        speeds: float | Sequence[float] = 1e9,
        *,
        settings: CollectiveSettings | None = None,
    ) -> Program:
        """Return the program.

        Parameters
        ----------
        speeds : float or sequence of float
            Flops per second of all ranks' processors, or of each.
        settings : CollectiveSettings, optional
            Of collectives.

        Examples
        --------
        >>> both = Actions(("", ""), ("0 send 1 0 8", "1 recv 0 0 8"), ("", ""), 3)
        >>> both.program().offsets.tolist()
        [0, 1, 2]
        """
        processes = self.processes
        listed = each_speed(speeds, processes)
        expander = Expander(processes, listed, settings)

        def block(texts: tuple[str, ...]) -> Block:
            parser = Parser(processes, listed)
            caller = Caller(processes, expander, lambda line, rank, problem: _wrong(self.name, line, rank, problem))
            parts: list[list[Operations]] = [[] for _ in range(processes)]
            for rank in range(processes):
                try:
                    operations, calls, _ = parser.parse(texts[rank].encode(), rank, 0)
                except TraceError as error:
                    raise _wrong(self.name, error.line, rank, error.problem) from None
                part = caller.put(rank, operations, calls)
                while part.size:
                    parts[rank].append(part)
                    part = caller.next(rank)
            sizes = [sum(part.size for part in listed) for listed in parts]
            merged = [part for listed in parts for part in listed]
            return Block(
                np.concatenate(merged) if merged else operations,
                np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            )

        first, repeated, last = (block(texts) for texts in (self.first, self.repeated, self.last))

        def blocks() -> Iterator[Block]:
            if first.operations.size:
                yield first
            if repeated.operations.size:
                for _ in range(self.times):
                    yield repeated
            if last.operations.size:
                yield last

        return program_of(processes, blocks, self.name)


def _wrong(name: str, line: int, rank: int, problem: str) -> InputError:
    return InputError(f"{name or 'actions'}: rank {rank}, line {line}: {problem}")
