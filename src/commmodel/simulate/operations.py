"""Programs as streams of operations per rank: the common form of all input to the simulator.

A program is made from a collective, an exchange, a trace or a schedule (`commmodel.simulate.work`). A rank carries its
operations out in order. Each takes 24 bytes. Main entry: `Program`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import ANY, COLLECTIVE_TAG, EVERY_NAMED, UNNAMED, Code
from commmodel.errors import InputError
from commmodel.signatures import check_fields
from commmodel.values import Value

__all__ = ["ANY", "COLLECTIVE_TAG", "EVERY_NAMED", "OPERATION", "UNNAMED", "Code", "Operations", "Program"]

OPERATION = np.dtype(
    [("code", np.int32), ("peer", np.int32), ("tag", np.int32), ("request", np.int32), ("value", np.float64)]
)
"""One operation."""
Operations = NDArray[np.void]
"""Operations of type `OPERATION`, shape (operations,)."""


@dataclass(frozen=True, repr=False)
class Program(Value):
    """The operations of all ranks."""

    operations: Operations
    """Of all ranks, one rank after the other; all that there are, or where there is `refill`, the first of them, shape
    (operations,)."""
    offsets: NDArray[np.int64]
    """Where each rank's operations begin and end, shape (processes + 1,)."""
    refill: Callable[[int], Operations] | None = None
    """Rank -> its next operations, none when it has come to its end. Called when a rank has carried out what it had, so
    that a program need not fit into memory."""
    name: str = ""
    """What it is, for people."""

    def __post_init__(self) -> None:
        check_fields(self)
        if not isinstance(self.operations, np.ndarray) or not isinstance(self.offsets, np.ndarray):
            raise InputError("operations and offsets of a program must be arrays")
        if self.operations.dtype != OPERATION:
            raise InputError(f"operations of type {self.operations.dtype}: they must be of type OPERATION")
        ends_right = self.offsets.size >= 2 and self.offsets[0] == 0 and self.offsets[-1] == self.operations.size
        if not ends_right or (np.diff(self.offsets) < 0).any():
            raise InputError("offsets of a program must rise from 0 to the number of its operations")

    @classmethod
    def from_ranks(cls, ranks: Sequence[Operations], name: str = "") -> "Program":
        """Return the program of given ranks' operations.

        >>> there = np.array([(Code.SEND, 1, 0, UNNAMED, 8.0)], dtype=OPERATION)
        >>> here = np.array([(Code.RECV, 0, 0, UNNAMED, 8.0)], dtype=OPERATION)
        >>> Program.from_ranks([there, here]).offsets.tolist()
        [0, 1, 2]
        """
        offsets = np.concatenate([[0], np.cumsum([rank.size for rank in ranks])]).astype(np.int64)
        return cls(np.concatenate([np.empty(0, OPERATION), *ranks]), offsets, name=name)

    @property
    def processes(self) -> int:
        """P."""
        return self.offsets.size - 1

    def pieces(self, rank: int) -> Iterator[Operations]:
        """Yield all operations of a rank, from where its stream stands."""
        operations = self.operations[self.offsets[rank] : self.offsets[rank + 1]]
        if not operations.size and self.refill:
            operations = self.refill(rank)
        while operations.size:
            yield operations
            operations = self.refill(rank) if self.refill else operations[:0]

    def __repr__(self) -> str:
        """Return the name and the numbers of ranks and operations."""
        more = " and more" if self.refill is not None else ""
        return f"Program({self.name!r}, {self.processes} ranks, {self.operations.size} operations{more})"

    @property
    def is_live(self) -> bool:
        """Whether it runs while it is simulated (`commmodel.simulate.online`)."""
        return hasattr(self.refill, "begin")

    def begin(self, hosts: Sequence[tuple[int, str]], simulated: str = "", sockets: Sequence[int] = ()) -> None:
        """Prepare a live program for a run: number and name of each rank's host, and what is simulated, for people.

        `sockets` are those of the ranks within their hosts, where hosts have some.
        """
        begin = getattr(self.refill, "begin", None)
        if begin is not None:
            begin(hosts, simulated, sockets)

    @property
    def place(self) -> Callable[[int, int], tuple[str, str]] | None:
        """Of a live program: rank, operations behind the first of its last -> name of the call, and its site."""
        return getattr(self.refill, "place", None)

    def close(self) -> None:
        """End what a live program has begun."""
        close = getattr(self.refill, "close", None)
        if close is not None:
            close()

    def restarted(self) -> Callable[[int], Operations] | None:
        """Return `refill`, at its beginning where it knows how to begin anew, so that a program runs more than once."""
        restart = getattr(self.refill, "restart", None)
        if restart is not None:
            restart()
        return self.refill
