"""Gathers and scatters of SMPI. Main entries: `GATHER`, `SCATTER`."""

from functools import partial

from commmodel.collectives.algorithms import gather
from commmodel.collectives.library.smpi_selection import DEFAULT
from commmodel.errors import InputError
from commmodel.simulate.smpi_collectives.broadcast import segments
from commmodel.simulate.smpi_collectives.calls import Algorithm, Member, RankCall, by_rounds
from commmodel.simulate.smpi_collectives.trees import in_order_binomial

_scatter_at_once = by_rounds(gather.scatter_linear)


def _gather_linear(me: Member, call: RankCall) -> None:
    """The root receives from one rank after the other."""
    if me.rank != call.root:
        me.send(call.root, call.size)
        return
    for other in range(me.processes):
        if other != me.rank:
            me.receive(other)


def _scatter_linear(me: Member, call: RankCall) -> None:
    """The root sends to one rank after the other."""
    if me.rank != call.root:
        me.receive(call.root)
        return
    for other in range(me.processes):
        if other != me.rank:
            me.send(other, call.size)


def _blocks(me: Member, call: RankCall, child: int) -> int:
    """Return how many blocks are those of a child and the ranks below it in the binomial tree."""
    place, below = (me.rank - call.root) % me.processes, (child - call.root) % me.processes
    return min(below - place, me.processes - below)


def _gather_binomial(me: Member, call: RankCall) -> None:
    place = in_order_binomial(me, call.root)
    for child in place.below:
        me.receive(child)
    if place.above >= 0:
        blocks = 1 + sum(_blocks(me, call, child) for child in place.below)
        me.send(place.above, blocks * call.size)


def _scatter_binomial(me: Member, call: RankCall) -> None:
    """The nearest child, whose blocks are the fewest, comes first."""
    place = in_order_binomial(me, call.root)
    if place.above >= 0:
        me.receive(place.above)
    for child in place.below:
        me.send(child, _blocks(me, call, child) * call.size)


def _gather_synchronised(me: Member, call: RankCall) -> None:
    """The root asks one rank after the other for a first segment, and lets the rest come meanwhile."""
    first = segments(call, 32768 if call.size > 92160 else 1024)[0] if call.count else 0
    if me.rank != call.root:
        me.receive(call.root)
        me.send(call.root, first)
        me.send(call.root, call.size - first)
        return
    rests = []
    for other in range(me.processes):
        if other != me.rank:
            request = me.ireceive(other)
            me.send(other, 0)
            rests.append(me.ireceive(other))
            me.wait(request)
    me.wait(*rests)


def gather_two_level(me: Member, call: RankCall, node: str = "mpich") -> None:
    """Gather in each node, then from the first ranks."""
    me.prepare()
    if not call.size:
        return
    if not me.is_uniform:
        raise InputError("SMPI's gather mvapich2_two_level ends where nodes have different numbers of ranks")
    local, leaders = me.node, me.leaders
    local.call("gather", RankCall(call.size, call.element), node)
    if leaders is not None:
        blocks = RankCall(local.processes * call.size, call.element, me.place_of_leader(call.root))
        leaders.call("gather", blocks, "ompi_basic_linear")
    me.hand_over(me.processes * call.size, me.leader_of(call.root), call.root)


def scatter_two_level(me: Member, call: RankCall, leaders: str, node: str = "mpich") -> None:
    """Scatter to the first ranks of nodes, then in each node."""
    me.prepare()
    if not call.size:
        return
    local, firsts = me.node, me.leaders
    if local.processes == me.processes:
        _scatter_linear(me, call)
        return
    me.hand_over(me.processes * call.size, call.root, me.leader_of(call.root))
    if firsts is not None:
        place = me.place_of_leader(call.root)
        if me.is_uniform:
            firsts.call("scatter", RankCall(local.processes * call.size, call.element, place), leaders)
        elif firsts.rank != place:
            firsts.receive(place)
        else:
            sizes = [ranks * call.size for ranks in me.node_sizes]
            firsts.wait(*[firsts.isend(other, sizes[other]) for other in range(firsts.processes) if other != place])
    local.call("scatter", RankCall(call.size, call.element), node)


GATHER: dict[str, Algorithm] = {
    DEFAULT: by_rounds(gather.gather_linear),
    "ompi_basic_linear": _gather_linear,
    "ompi_binomial": _gather_binomial,
    "ompi_linear_sync": _gather_synchronised,
    "mpich": _gather_binomial,
    "mvapich2_two_level": gather_two_level,
}
SCATTER: dict[str, Algorithm] = {
    DEFAULT: _scatter_at_once,
    "ompi_basic_linear": _scatter_linear,
    "ompi_binomial": _scatter_binomial,
    "ompi_linear_nb": _scatter_at_once,
    "mpich": _scatter_binomial,
    "mvapich2_two_level_binomial": partial(scatter_two_level, leaders="ompi_binomial"),
    "mvapich2_two_level_direct": partial(scatter_two_level, leaders="ompi_basic_linear"),
}
"""SMPI's name -> algorithm."""
