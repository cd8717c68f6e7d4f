"""Collectives of intercommunicators, as libraries do them. Main entry: `between_groups`.

Each group does its part by itself; the first ranks of both groups exchange what goes between them, or one rank
exchanges messages with all of the other group.
"""

from typing import NamedTuple

from commmodel._core.common.codes import IS_ROOT, NO_PROCESS
from commmodel.collectives.call import CollectiveCall


class GroupExchange(NamedTuple):
    """Messages of one rank with the other group, and what its own group does before and after them."""

    sends: list[tuple[int, int]]
    receives: list[tuple[int, int]]
    """Peers are ranks of the group that messages go to."""
    before: CollectiveCall | None = None
    after: CollectiveCall | None = None
    """Collectives of the rank's own group."""


def between_groups(call: CollectiveCall, local: int, remote: int, rank: int) -> GroupExchange | None:
    """Return a collective between two groups of so many ranks, as one rank makes it; None where there is no such one.

    >>> between_groups(CollectiveCall("allgather", 8, 8), 2, 3, rank=1)[:2]
    ([], [])
    >>> between_groups(CollectiveCall("allgather", 8, 8), 2, 3, rank=0).after.sent
    24
    """
    operation, size, room, root = call.operation, call.sent, call.received, call.root
    first = rank == 0
    if operation in {"bcast", "scatter", "scatterv", "gather", "gatherv", "reduce"} and root == NO_PROCESS:
        return GroupExchange([], [])
    match operation:
        case "barrier":
            return _of_leaders(first, 0, 0, CollectiveCall("barrier"), CollectiveCall("bcast", 1))
        case "allreduce":
            return _of_leaders(first, size, size, CollectiveCall("reduce", size), CollectiveCall("bcast", size))
        case "allgather":
            sent, received = size * local, room * remote
            return _of_leaders(
                first, sent, received, CollectiveCall("gather", size, size), CollectiveCall("bcast", received)
            )
        case "reduce_scatter" | "reduce_scatter_block":
            counts = call.received_counts or (size,) * local
            total = sum(counts)
            scattering = CollectiveCall("scatterv", received=counts[rank], sent_counts=counts)
            return _of_leaders(first, total, total, CollectiveCall("reduce", total), scattering)
        case "bcast" | "scatter" if root == IS_ROOT:
            return GroupExchange([(0, size * (remote if operation == "scatter" else 1))], [])
        case "bcast":
            return GroupExchange([], [(root, size)] * first, after=CollectiveCall("bcast", size))
        case "scatter":
            return GroupExchange([], [(root, room * local)] * first, after=CollectiveCall("scatter", room, room))
        case "gather" | "reduce" if root == IS_ROOT:
            return GroupExchange([], [(0, room * remote if operation == "gather" else size)])
        case "gather":
            return GroupExchange([(root, size * local)] * first, [], before=CollectiveCall("gather", size, size))
        case "reduce":
            return GroupExchange([(root, size)] * first, [], before=CollectiveCall("reduce", size))
        case "scatterv" if root == IS_ROOT:
            return GroupExchange(_to_each(call.sent_counts, remote), [])
        case "scatterv":
            return GroupExchange([], [(root, room)])
        case "gatherv" if root == IS_ROOT:
            return GroupExchange([], _to_each(call.received_counts, remote))
        case "gatherv":
            return GroupExchange([(root, size)], [])
        case "alltoall":
            return GroupExchange(_to_each((size,) * remote, remote), _to_each((room,) * remote, remote))
        case "allgatherv":
            return GroupExchange(_to_each((size,) * remote, remote), _to_each(call.received_counts, remote))
        case "alltoallv" | "alltoallw":
            return GroupExchange(_to_each(call.sent_counts, remote), _to_each(call.received_counts, remote))
    return None


def _of_leaders(first: bool, sent: int, received: int, before: CollectiveCall, after: CollectiveCall) -> GroupExchange:
    return GroupExchange([(0, sent)] * first, [(0, received)] * first, before, after)


def _to_each(counts: tuple[int, ...], processes: int) -> list[tuple[int, int]]:
    return list(zip(range(processes), counts or (0,) * processes, strict=True))
