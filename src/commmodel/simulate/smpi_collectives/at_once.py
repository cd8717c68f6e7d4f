"""What SMPI begins at once, message by message in its order: all of its non-blocking collectives, whatever is selected.

Most of its default algorithms are such a collective and a wait. Main entries: `AT_ONCE`, `scan`.
"""

from collections.abc import Callable

from commmodel.simulate.operations import ANY
from commmodel.simulate.smpi_collectives.calls import Algorithm, Member, RankCall


def _barrier(member: Member, _: RankCall) -> None:
    """Rank 0 receives from whoever comes first, and sends without waiting for it."""
    if member.rank:
        member.post([(0, 0), (0, None)])
    else:
        member.post([step for other in range(1, member.processes) for step in ((ANY, None), (other, 0))])


def _from_root(member: Member, call: RankCall) -> None:
    if member.rank == call.root:
        member.post([(other, call.block(other)) for other in member.other_ranks])
    else:
        member.post([(call.root, None)])


def _to_root(member: Member, call: RankCall) -> None:
    if member.rank == call.root:
        member.post([(other, None) for other in member.other_ranks])
    else:
        member.post([(call.root, call.block(member.rank))])


def _among_all(size: Callable[[Member, RankCall, int], int]) -> Algorithm:
    """Return sends to all other ranks, of a size for each, and a receive after each."""

    def algorithm(member: Member, call: RankCall) -> None:
        member.post(
            [step for other in member.other_ranks for step in ((other, size(member, call, other)), (other, None))]
        )

    return algorithm


def _alltoall(member: Member, call: RankCall) -> None:
    """Receives from the next rank on, then sends from the one before on."""
    steps = range(1, member.processes)
    member.post([*((member.at(step), None) for step in steps), *((member.at(-step), call.size) for step in steps)])


def _alltoallv(member: Member, call: RankCall) -> None:
    member.exchange_with(member.other_ranks, call.block)


def scan(member: Member, call: RankCall) -> None:
    """Wait as the non-blocking call does, or for the ranks in their order where the operator does not commute."""
    if not call.is_ordered:
        return _scan(member, call)
    receives = [member.ireceive(other) for other in range(member.rank)]
    sends = [member.isend(other, call.size) for other in range(member.rank + 1, member.processes)]
    return member.wait(*receives, *sends)


def _scan(member: Member, call: RankCall) -> None:
    higher = range(member.rank + 1, member.processes)
    member.post([*((other, None) for other in range(member.rank)), *((other, call.size) for other in higher)])


_of_own_block = _among_all(lambda member, call, _: call.block(member.rank))
_of_their_block = _among_all(lambda _, call, other: call.block(other))

AT_ONCE: dict[str, Algorithm] = {
    "barrier": _barrier,
    "bcast": _from_root,
    "gather": _to_root,
    "gatherv": _to_root,
    "scatter": _from_root,
    "scatterv": _from_root,
    "allgather": _of_own_block,
    "allgatherv": _of_own_block,
    "alltoall": _alltoall,
    "alltoallv": _alltoallv,
    "reduce": _to_root,
    "allreduce": _of_own_block,
    "reduce_scatter": _of_their_block,
    "scan": _scan,
}
"""Operation -> algorithm."""
