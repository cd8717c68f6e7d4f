"""Calls of collectives by SMPI's algorithms, rank by rank, with a cache. Main entry: `SmpiCalls`."""

from typing import TYPE_CHECKING

from commmodel.simulate.operations import Operations
from commmodel.simulate.work.smpi_selection import Selection

if TYPE_CHECKING:
    from commmodel.simulate.smpi_collectives import Member

__all__ = ["SmpiCalls"]

_CACHED = 1 << 24
"""Operations, 400 MB."""


class SmpiCalls:
    """What each rank does in the calls of a communicator.

    Parameters
    ----------
    processes : int
        P.
    selection : Selection
        Which algorithms are taken.
    """

    def __init__(self, processes: int, selection: Selection) -> None:
        self._processes, self.selection = processes, selection
        self._members: dict[int, Member] = {}
        self._operations: dict[tuple[int, int, str, float], Operations] = {}
        self._weight = 0

    def expand(
        self, rank: int, text: tuple[str, float], arguments: tuple[str, int, int, int, tuple[int, ...]]
    ) -> Operations:
        """Return a rank's operations of a call.

        Parameters
        ----------
        rank : int
            Whose operations are asked for.
        text : tuple of str and float
            What has the same operations each time, but for the first time that nodes are looked at.
        arguments : tuple
            Operation, bytes, bytes of an element, root, and bytes of each block.
        """
        from commmodel.simulate.smpi_collectives import Call, member

        if rank not in self._members:
            self._members[rank] = member(self._processes, rank, self.selection)
        me = self._members[rank]
        key = (rank, me.preparations, *text)
        if key not in self._operations:
            operation, size, element, root, blocks = arguments
            me.call(operation, Call(size, element, root, blocks, is_replayed=True))
            operations = me.taken()
            if self._weight > _CACHED:
                self._operations.clear()
                self._weight = 0
            self._operations[key] = operations
            self._weight += operations.size
            return operations
        return self._operations[key]
