"""Calls of collectives in traces by SMPI's algorithms, rank by rank, with a cache. Main entry: `SmpiCalls`.

SMPI 3.32 ends where a replay makes the communicators of nodes. Here ranks of a replay know from the beginning who
shares a node; in programs that run, they find out in the first call of all ranks that looks at nodes, as in SMPI.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from commmodel.collectives.call import CollectiveCall
from commmodel.collectives.library.smpi_selection import Selection
from commmodel.simulate.operations import Operations

if TYPE_CHECKING:
    from commmodel.simulate.smpi_collectives import Member

_CACHED = 1 << 24
"""Operations, 400 MB."""
_NOT_SELECTED = {"gatherv", "scatterv"}
"""For which SMPI has one algorithm."""


class SmpiCalls:
    """What each rank does in the calls of a communicator, by the algorithms of a selection."""

    def __init__(self, processes: int, selection: Selection, is_replayed: bool) -> None:
        self._processes, self._is_replayed = processes, is_replayed
        self.selection = replace(selection, is_prepared=selection.is_prepared or is_replayed)
        self._members: dict[int, Member] = {}
        self._operations: dict[tuple[int, CollectiveCall, bool], tuple[Operations, bool]] = {}
        self._is_settled: dict[int, bool] = {}
        self._weight = 0

    def has(self, operation: str, call: CollectiveCall) -> bool:
        """Whether a call goes by what each rank does, and not by rounds that are made for all ranks at once.

        That is so for all but the default algorithms; for non-blocking calls; and for reductions whose operator does
        not commute or whose datatype is derived, as the default algorithms look at that.
        """
        is_particular = call.operator == "non-commutative" or call.is_derived
        is_selected = operation not in _NOT_SELECTED and (is_particular or not self.selection.is_default)
        return call.is_pending or is_selected

    def is_settled(self, rank: int) -> bool:
        """Whether a rank's last call is the same each time: it knew the nodes, if it looked at them."""
        return self._is_settled.get(rank, True)

    def expand(
        self, rank: int, call: CollectiveCall, arguments: tuple[str, int, int, int, tuple[int, ...]]
    ) -> Operations:
        """Return a rank's operations of a call, which is expanded once for calls that are alike.

        The arguments are its operation, bytes, bytes of an element, root, and bytes of each block.
        """
        from commmodel.simulate.smpi_collectives import ALGORITHMS, AT_ONCE, Member, RankCall

        if rank not in self._members:
            self._members[rank] = Member.of_world(self._processes, rank, self.selection, ALGORITHMS)
        member = self._members[rank]
        key = (rank, call, member.is_prepared)
        if key not in self._operations:
            operation, size, element, root, blocks = arguments
            is_ordered = call.operator == "non-commutative"
            of_rank = RankCall(size, element, root, blocks, self._is_replayed, is_ordered, call.is_derived)
            looks = member.looks
            if call.is_pending:
                AT_ONCE[operation](member, of_rank)
            else:
                member.call(operation, of_rank)
            operations = member.drain()
            if self._weight > _CACHED:
                self._operations.clear()
                self._weight = 0
            self._operations[key] = operations, member.looks == looks
            self._weight += operations.size
        operations, self._is_settled[rank] = self._operations[key]
        return operations
