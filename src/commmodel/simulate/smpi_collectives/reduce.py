"""Reductions of SMPI to a root. Main entries: `REDUCE`, `two_level`.

arrival_pattern_aware, which asks who has arrived, has no schedule.
"""

from dataclasses import replace

from commmodel.collectives.algorithms.blocks import power_below
from commmodel.collectives.library.smpi_selection import DEFAULT
from commmodel.simulate.smpi_collectives.at_once import AT_ONCE
from commmodel.simulate.smpi_collectives.broadcast import SEGMENT, segments
from commmodel.simulate.smpi_collectives.calls import Algorithm, Member, RankCall
from commmodel.simulate.smpi_collectives.halving import RankFold, borders, halve
from commmodel.simulate.smpi_collectives.trees import (
    TreePlace,
    binary,
    chains,
    in_order_binary,
    in_order_binomial,
    knomial,
    up,
)

_KNOMIAL = 4


def _linear(member: Member, call: RankCall) -> None:
    """The root receives from one rank after the other, the last first."""
    if member.rank != call.root:
        member.send(call.root, call.size)
        return
    for other in reversed(member.other_ranks):
        member.receive(other)


def _default(member: Member, call: RankCall) -> None:
    (_linear if call.is_ordered or call.is_derived else AT_ONCE["reduce"])(member, call)


def _binomial(member: Member, call: RankCall) -> None:
    """Up a tree whose top is the root, or rank 0, which sends to the root, where the operator does not commute."""
    if call.count:
        top = 0 if call.is_ordered else call.root
        place = (member.rank - top) % member.processes
        up(member, call.size, place, member.processes, lambda other: (other + top) % member.processes)
        member.hand_over(call.size, top, call.root)


def _chain(member: Member, call: RankCall) -> None:
    """Along a chain towards the root in segments; the remainder is another reduction, by default."""
    processes = member.processes
    to, source = member.at(-1), member.at(1)
    is_end = member.rank == (call.root - 1) % processes
    number, piece = call.pieces(SEGMENT)
    receives = [] if is_end else [member.ireceive(source) for _ in range(number)]
    sends = []
    for place in range(number):
        member.wait(*receives[place : place + 1])
        if member.rank != call.root:
            sends.append(member.isend(to, piece))
    member.wait(*sends)
    rest = call.size - number * piece
    if rest:
        _default(member, replace(call, size=rest))


def _knomial(member: Member, call: RankCall) -> None:
    if not call.count:
        return
    above, levels = knomial(member, call.root, _KNOMIAL)
    member.wait(*[member.ireceive(child) for below in reversed(levels) for child in reversed(below)])
    if above >= 0:
        member.wait(member.isend(above, call.size))


def _scatter_gather(member: Member, call: RankCall) -> None:
    """Recursive halving of the vector, then gather up a binomial tree; odd ranks stand aside."""
    if not call.count:
        return
    root, fold = call.root, RankFold(member.rank, member.processes)
    cuts = borders(max(call.count, member.processes), fold.power, call.element)
    index = fold.member
    if fold.is_aside:
        member.send(member.rank - 1, cuts[-1])
    elif fold.is_pair:
        member.receive(member.rank + 1)
    blocks = None if fold.is_aside else halve(member, cuts, index, fold.rank_of)
    root_stands_aside = fold.stands_aside(root)
    if root_stands_aside:
        if member.rank == root:
            member.receive(0)
            index = 0
        elif member.rank == 0:
            member.send(root, cuts[1])
            return
    if fold.is_aside and member.rank != root:
        return
    target = 0 if root_stands_aside else fold.member_of(root)
    first = blocks.first if blocks is not None else 0
    width, distance = 1, fold.power // 2
    while distance:
        other = index ^ distance
        rank = root if other == 0 and root_stands_aside else fold.rank_of(other)
        if (other & -distance) == (target & -distance):
            member.send(rank, cuts[first + width] - cuts[first])
            return
        member.receive(rank)
        first = min(first, first ^ width)
        width, distance = 2 * width, distance // 2


def _generic(member: Member, place: TreePlace, pieces: list[int]) -> None:
    """Receive segments from below, one ahead, and send above what has been combined."""
    if member.processes == 1:
        return
    if not place.below:
        for piece in pieces:
            member.send(place.above, piece)
        return
    before: int | None = None
    for number in range(len(pieces) + 1):
        for child in place.below:
            request = member.ireceive(child) if number < len(pieces) else None
            if before is not None:
                member.wait(before)
            before = request
            if child == place.below[0] and number and place.above >= 0:
                member.send(place.above, pieces[number - 1])
            if number == len(pieces):
                break


def _open_mpi_chains(member: Member, call: RankCall) -> None:
    _generic(member, chains(member, call.root, member.processes // 2), segments(call, 64 * 1024))


def _open_mpi_pipeline(member: Member, call: RankCall) -> None:
    segment = 64 * 1024
    if member.processes > 0.0410 / 1024 * call.size + 9.7128:
        segment = 1024
    elif member.processes > 0.0033 / 1024 * call.size + 1.6761:
        segment = 32 * 1024
    _generic(member, chains(member, call.root, 1), segments(call, segment))


def _open_mpi_binary(member: Member, call: RankCall) -> None:
    _generic(member, binary(member, call.root), segments(call, 32 * 1024))


def _open_mpi_binomial(member: Member, call: RankCall) -> None:
    is_small = (member.processes < 8 and call.size < 20480) or call.size < 2048 or call.count <= 1
    is_segmented = not is_small and member.processes > 0.6016 / 1024 * call.size + 1.3496
    pieces = segments(call, 1024 if is_segmented else 0)
    _generic(member, in_order_binomial(member, call.root), pieces)


def _open_mpi_in_order_binary(member: Member, call: RankCall) -> None:
    _generic(member, in_order_binary(member), segments(call, 0))
    member.hand_over(call.size, member.processes - 1, call.root)


def reduce_all_or_to_root(member: Member, call: RankCall, to_all: bool = False) -> None:
    """Rabenseifner's own program: pairs exchange halves, then as `halve`; then back, or up to the root."""
    count, element = call.count, call.element
    if not count or member.processes == 1:
        member.call("allreduce" if to_all else "reduce", call, DEFAULT)
        return
    low, high = count // 2 * element, (count - count // 2) * element
    fold = RankFold(member.rank, member.processes)
    if fold.is_aside:
        member.swap(member.rank - 1, low)
        member.send(member.rank - 1, high)
    elif fold.is_pair:
        member.swap(member.rank + 1, high)
        member.receive(member.rank + 1)
    halves = _halves(count, element, 0 if fold.is_aside else fold.member, fold.power)
    steps = [] if fold.is_aside else [*enumerate(halves)]
    for step, (low, high) in steps:
        rank, is_low = fold.rank_of(fold.member ^ (1 << step)), not fold.member >> step & 1
        member.swap(rank, high if is_low else low)
    if not to_all:
        _back_to_root(member, call.root, fold, halves)
        return
    for step, (low, high) in reversed(steps):
        rank, is_low = fold.rank_of(fold.member ^ (1 << step)), not fold.member >> step & 1
        member.swap(rank, low if is_low else high)
    if fold.is_aside:
        member.receive(member.rank - 1)
    elif fold.is_pair:
        member.send(member.rank + 1, call.size)


def _halves(count: int, element: int, index: int, power: int) -> list[tuple[int, int]]:
    """Return the bytes of both halves in each step of a member, who keeps the lower one where its bit is 0."""
    halves, step = [], 0
    while 1 << step < power:
        low = count // 2
        halves.append((low * element, (count - low) * element))
        count = count - low if index >> step & 1 else low
        step += 1
    return halves


def _back_to_root(member: Member, root: int, fold: RankFold, halves: list[tuple[int, int]]) -> None:
    """Send blocks towards the root, which is sent the first member's if it has stood aside."""
    index = -1 if fold.is_aside else fold.member
    target = 0 if fold.stands_aside(root) else fold.member_of(root)
    if fold.stands_aside(root):
        if member.rank == 0:
            member.send(root, halves[-1][0] if halves else 0)
            return
        if member.rank == root:
            member.receive(0)
            index = 0
    if index < 0:
        return
    for step in reversed(range(len(halves))):
        bit = 1 << step
        other, is_low = index ^ bit, not index & bit
        rank = root if other == target else fold.rank_of(other)
        if index & bit != target & bit:
            member.send(rank, halves[step][0 if is_low else 1])
        else:
            member.receive(rank)


def two_level(member: Member, call: RankCall, leaders: str = "mpich", node: str = "mpich") -> None:
    """Reduce in each node, then among the first ranks; of one node only, linearly or by a k-nomial tree."""
    member.prepare()
    local, firsts = member.node, member.leaders
    if local.processes == member.processes:
        if call.size > 2048 or call.is_ordered:
            return _knomial(member, call)
        _linear(local, call.rooted())
    else:
        if local.processes > 1:
            is_unfit = node == "ompi_basic_linear" and (call.size >= local.processes << 17 or call.is_ordered)
            local.call("reduce", call.rooted(), "mvapich2_knomial" if is_unfit else node)
        if firsts is not None and firsts.processes > 1:
            firsts.call("reduce", call.rooted(member.place_of_leader(call.root)), leaders)
    member.hand_over(call.size, member.leader_of(call.root), call.root)
    return None


def _mpich(member: Member, call: RankCall) -> None:
    if not member.is_of_nodes:
        member.prepare()
        if not call.is_ordered:
            return two_level(member, call)
    is_plain = call.count < power_below(member.processes) or call.size < 2048 or call.is_ordered
    return (_binomial if is_plain else _scatter_gather)(member, call)


REDUCE: dict[str, Algorithm] = {
    DEFAULT: _default,
    "binomial": _binomial,
    "flat_tree": _linear,
    "NTSL": _chain,
    "scatter_gather": _scatter_gather,
    "ompi_chain": _open_mpi_chains,
    "ompi_pipeline": _open_mpi_pipeline,
    "ompi_basic_linear": _linear,
    "ompi_in_order_binary": _open_mpi_in_order_binary,
    "ompi_binary": _open_mpi_binary,
    "ompi_binomial": _open_mpi_binomial,
    "mpich": _mpich,
    "mvapich2_knomial": _knomial,
    "mvapich2_two_level": two_level,
    "rab": reduce_all_or_to_root,
}
"""SMPI's name -> algorithm."""
