"""Reductions of SMPI whose blocks are scattered. Main entry: `REDUCE_SCATTER`."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from commmodel.collectives.algorithms.blocks import distances
from commmodel.collectives.library.smpi_selection import DEFAULT
from commmodel.collectives.schedule import Problem, Round
from commmodel.errors import InputError
from commmodel.simulate.smpi_collectives import rounds
from commmodel.simulate.smpi_collectives.calls import Algorithm, Member, RankCall, by_rounds
from commmodel.simulate.smpi_collectives.halving import RankFold


@dataclass(frozen=True)
class _OfSizes:
    """The schedule of blocks of given sizes."""

    make: rounds.SizedScheduler
    sizes: tuple[int, ...]

    def __call__(self, _: Problem) -> Iterator[Round]:
        """Return its rounds."""
        return self.make(np.array(self.sizes, dtype=np.float64))


def _pairwise(member: Member, call: RankCall) -> None:
    by_rounds(_OfSizes(rounds.reduce_scatter_pairwise, call.sizes))(member, RankCall())


def _doubling(member: Member, call: RankCall) -> None:
    by_rounds(_OfSizes(rounds.reduce_scatter_doubling, call.sizes))(member, RankCall())


def _halving_in_order(member: Member, call: RankCall) -> None:
    """Halve the vector with the nearest first, blocks of one size having been put into mirrored order."""
    processes, size = member.processes, sum(call.sizes)
    if not _is_even(member, call):
        raise InputError("SMPI's reduce_scatter mpich_noncomm ends unless 2^k ranks have equal blocks")
    for distance in distances(processes):
        size //= 2
        member.swap(member.rank ^ distance, size)


def _is_even(member: Member, call: RankCall) -> bool:
    """Whether 2^k ranks have equal blocks."""
    return not member.processes & (member.processes - 1) and len(set(call.sizes)) <= 1


def _mpich(member: Member, call: RankCall) -> None:
    """Choose by elements, where MPICH counts bytes."""
    if call.is_ordered:
        return (_halving_in_order if _is_even(member, call) else _doubling)(member, call)
    is_large = sum(call.sizes) // call.element > rounds.PAIRWISE_ABOVE
    return (_pairwise if is_large else _doubling)(member, call)


def in_order(member: Member, call: RankCall) -> None:
    """For operators that do not commute, MVAPICH2's: equal blocks of 2^k ranks are reduced twice."""
    if _is_even(member, call):
        _halving_in_order(member, call)
    _doubling(member, call)


def _default(member: Member, call: RankCall) -> None:
    """Reduce equal blocks to rank 0, which scatters them; others as MPICH."""
    if len(set(call.sizes)) > 1:
        return _mpich(member, call)
    member.call("reduce", replace(call, size=sum(call.sizes), sizes=()), DEFAULT)
    return member.call("scatter", RankCall(call.sizes[0], call.element), DEFAULT)


def _folded(member: Member, sizes: tuple[int, ...]) -> tuple[RankFold, list[int]]:
    """Return the fold in which even ranks stand aside, and the bytes of each member's blocks."""
    fold = RankFold(member.rank, member.processes, odd_stays=True)
    ranks = [fold.rank_of(index) for index in range(fold.power)]
    return fold, [sizes[rank] + (sizes[rank - 1] if rank < 2 * fold.aside else 0) for rank in ranks]


def _halving(member: Member, call: RankCall) -> None:
    """Halve the vector with the farthest first; nothing is exchanged where a half is empty."""
    if not sum(call.sizes):
        return
    fold, sizes = _folded(member, call.sizes)
    if fold.is_aside:
        member.send(member.rank + 1, sum(call.sizes))
        if call.sizes[member.rank]:
            member.receive(member.rank + 1)
        return
    if fold.is_pair:
        member.receive(member.rank - 1)
    first = 0
    for distance in reversed(distances(fold.power)):
        is_low = not fold.member & distance
        low = sum(sizes[first : first + distance])
        high = sum(sizes[first + distance : first + 2 * distance])
        other = fold.rank_of(fold.member ^ distance)
        if low and high:
            request = member.ireceive(other)
            member.send(other, high if is_low else low)
            member.wait(request)
        first += 0 if is_low else distance
    if fold.is_pair and call.sizes[member.rank - 1]:
        member.send(member.rank - 1, call.sizes[member.rank - 1])


def _ring(member: Member, call: RankCall) -> None:
    """Blocks go around a ring once, the receive of the next posted before."""
    if member.processes == 1:
        return
    after, before = member.at(1), member.at(-1)
    request = member.ireceive(before)
    member.send(after, call.sizes[before])
    for step in range(2, member.processes):
        posted, request = request, member.ireceive(before)
        member.wait(posted)
        member.send(after, call.sizes[member.at(-step)])
    member.wait(request)


def _butterfly(member: Member, call: RankCall) -> None:
    """Halve the vector with the nearest first; then blocks go to the ranks whose bits are mirrored."""
    if member.processes < 2:
        return
    fold, sizes = _folded(member, call.sizes)
    bits = fold.power.bit_length() - 1

    def mirrored(index: int) -> int:
        return int(f"{index:0{bits}b}"[::-1], 2) if bits else 0

    if fold.is_aside:
        member.send(member.rank + 1, sum(call.sizes))
        member.receive(fold.rank_of(mirrored((member.rank + 1) // 2)))
        return
    if fold.is_pair:
        member.receive(member.rank - 1)
    first = 0
    for distance in distances(fold.power):
        blocks = fold.power // 2 // distance
        is_low = not fold.member & distance
        sent = first + (blocks if is_low else 0)
        member.swap(fold.rank_of(fold.member ^ distance), sum(sizes[sent : sent + blocks]))
        first += 0 if is_low else blocks
    target = mirrored(fold.member)
    rank = fold.rank_of(target)
    if target < fold.aside:
        member.send(rank - 1, call.sizes[rank - 1])
    member.swap(rank, call.sizes[rank])


REDUCE_SCATTER: dict[str, Algorithm] = {
    DEFAULT: _default,
    "ompi_basic_recursivehalving": _halving,
    "ompi_ring": _ring,
    "ompi_butterfly": _butterfly,
    "mpich": _mpich,
    "mpich_pair": _pairwise,
    "mpich_rdb": _doubling,
    "mpich_noncomm": _halving_in_order,
}
"""SMPI's name -> algorithm."""
