"""Gathers and scatters of SMPI. Main entries: `GATHER`, `SCATTER`."""

from functools import partial

from commmodel.collectives.library.smpi_selection import DEFAULT
from commmodel.errors import InputError
from commmodel.simulate.smpi_collectives.at_once import AT_ONCE
from commmodel.simulate.smpi_collectives.broadcast import segments
from commmodel.simulate.smpi_collectives.calls import Algorithm, Member, RankCall
from commmodel.simulate.smpi_collectives.trees import in_order_binomial


def _gather_linear(member: Member, call: RankCall) -> None:
    """The root receives from one rank after the other."""
    if member.rank != call.root:
        member.send(call.root, call.size)
        return
    for other in member.other_ranks:
        member.receive(other)


def _scatter_linear(member: Member, call: RankCall) -> None:
    """The root sends to one rank after the other."""
    if member.rank != call.root:
        member.receive(call.root)
        return
    for other in member.other_ranks:
        member.send(other, call.size)


def _blocks(member: Member, call: RankCall, child: int) -> int:
    """Return how many blocks are those of a child and the ranks below it in the binomial tree."""
    place, below = (member.rank - call.root) % member.processes, (child - call.root) % member.processes
    return min(below - place, member.processes - below)


def _gather_binomial(member: Member, call: RankCall) -> None:
    place = in_order_binomial(member, call.root)
    for child in place.below:
        member.receive(child)
    if place.above >= 0:
        blocks = 1 + sum(_blocks(member, call, child) for child in place.below)
        member.send(place.above, blocks * call.size)


def _scatter_binomial(member: Member, call: RankCall) -> None:
    """The nearest child, whose blocks are the fewest, comes first."""
    place = in_order_binomial(member, call.root)
    if place.above >= 0:
        member.receive(place.above)
    for child in place.below:
        member.send(child, _blocks(member, call, child) * call.size)


def _gather_synchronised(member: Member, call: RankCall) -> None:
    """The root asks one rank after the other for a first segment, and lets the rest come meanwhile."""
    first = segments(call, 32768 if call.size > 92160 else 1024)[0] if call.count else 0
    if member.rank != call.root:
        member.receive(call.root)
        member.send(call.root, first)
        member.send(call.root, call.size - first)
        return
    rests = []
    for other in member.other_ranks:
        request = member.ireceive(other)
        member.send(other, 0)
        rests.append(member.ireceive(other))
        member.wait(request)
    member.wait(*rests)


def gather_two_level(member: Member, call: RankCall, node: str = "mpich") -> None:
    """Gather in each node, then from the first ranks."""
    member.prepare()
    if not call.size:
        return
    if not member.is_uniform:
        raise InputError("SMPI's gather mvapich2_two_level ends where nodes have different numbers of ranks")
    local, leaders = member.node, member.leaders
    local.call("gather", RankCall(call.size, call.element), node)
    if leaders is not None:
        blocks = RankCall(local.processes * call.size, call.element, member.place_of_leader(call.root))
        leaders.call("gather", blocks, "ompi_basic_linear")
    member.hand_over(member.processes * call.size, member.leader_of(call.root), call.root)


def scatter_two_level(member: Member, call: RankCall, leaders: str, node: str = "mpich") -> None:
    """Scatter to the first ranks of nodes, then in each node."""
    member.prepare()
    if not call.size:
        return
    local, firsts = member.node, member.leaders
    if local.processes == member.processes:
        _scatter_linear(member, call)
        return
    member.hand_over(member.processes * call.size, call.root, member.leader_of(call.root))
    if firsts is not None:
        place = member.place_of_leader(call.root)
        if member.is_uniform:
            firsts.call("scatter", RankCall(local.processes * call.size, call.element, place), leaders)
        elif firsts.rank != place:
            firsts.receive(place)
        else:
            sizes = [ranks * call.size for ranks in member.node_sizes]
            firsts.wait(*[firsts.isend(other, sizes[other]) for other in range(firsts.processes) if other != place])
    local.call("scatter", RankCall(call.size, call.element), node)


GATHER: dict[str, Algorithm] = {
    DEFAULT: AT_ONCE["gather"],
    "ompi_basic_linear": _gather_linear,
    "ompi_binomial": _gather_binomial,
    "ompi_linear_sync": _gather_synchronised,
    "mpich": _gather_binomial,
    "mvapich2_two_level": gather_two_level,
}
SCATTER: dict[str, Algorithm] = {
    DEFAULT: AT_ONCE["scatter"],
    "ompi_basic_linear": _scatter_linear,
    "ompi_binomial": _scatter_binomial,
    "ompi_linear_nb": AT_ONCE["scatter"],
    "mpich": _scatter_binomial,
    "mvapich2_two_level_binomial": partial(scatter_two_level, leaders="ompi_binomial"),
    "mvapich2_two_level_direct": partial(scatter_two_level, leaders="ompi_basic_linear"),
}
"""SMPI's name -> algorithm."""
