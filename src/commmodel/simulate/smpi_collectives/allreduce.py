"""Allreduces of SMPI. Main entries: `ALLREDUCE`, `two_level`."""

from functools import partial

from commmodel.collectives.algorithms.blocks import power_below
from commmodel.collectives.library.smpi_selection import DEFAULT
from commmodel.simulate.smpi_collectives import rounds
from commmodel.simulate.smpi_collectives.calls import Algorithm, Member, RankCall, by_rounds, power_of_two_only
from commmodel.simulate.smpi_collectives.halving import RankFold
from commmodel.simulate.smpi_collectives.reduce import reduce_all_or_to_root
from commmodel.simulate.smpi_collectives.trees import down, up

_PHASE = 4096
_RING_SEGMENT = 1 << 20

_default = by_rounds(rounds.reduce_broadcast)
_doubling = by_rounds(rounds.recursive_doubling)


def _halving(me: Member, call: RankCall) -> None:
    """Halve the vector and double it again, blocks being of whole elements."""
    by_rounds(rounds.reduce_scatter_allgather(call.element))(me, call)


def _reduce_broadcast(me: Member, call: RankCall) -> None:
    me.call("reduce", RankCall(call.size, call.element))
    me.call("bcast", RankCall(call.size, call.element))


def _ring(me: Member, call: RankCall) -> None:
    """Equal blocks go around a ring twice; the remainder is another allreduce, a short vector is reduced and sent."""
    processes = me.processes
    share = call.count // processes
    if not share:
        return _reduce_broadcast(me, call)
    for _ in range(2 * (processes - 1)):
        me.exchange((me.rank + 1) % processes, share * call.element, (me.rank - 1) % processes)
    if call.count % processes:
        me.call("allreduce", call.elements(call.count % processes))
    return None


def _segmented_ring(me: Member, call: RankCall) -> None:
    """A ring whose first round goes in phases, where blocks are larger than a mebibyte."""
    processes, count, element = me.processes, call.count, call.element
    segment = _RING_SEGMENT // element if element <= _RING_SEGMENT < call.size else count
    if processes == 1:
        return None
    if count < processes * segment:
        return _ring(me, call)
    phases, rest = divmod(count, processes * segment)
    phases += rest >= processes and rest > processes * segment // 2
    before, after = (me.rank - 1) % processes, (me.rank + 1) % processes

    def share(number: int, parts: int, part: int) -> int:
        return number // parts + (part < number % parts)

    for phase in range(phases):
        request = me.ireceive(before)
        for step in range(1, processes):
            block = (me.rank - step + 1) % processes
            if step > 1:
                posted, request = request, me.ireceive(before)
                me.wait(posted)
            me.send(after, share(share(count, processes, block), phases, phase) * element)
        me.wait(request)
    for step in range(processes - 1):
        me.exchange(after, share(count, processes, (me.rank + 1 - step) % processes) * element, before)
    return None


def _halving_allgather(me: Member, call: RankCall) -> None:
    power_of_two_only(me, "allreduce rab1")
    processes = me.processes
    count = -(-call.count // processes)
    distance = processes // 2
    while distance:
        me.exchange(me.rank ^ distance, distance * count * call.element, me.rank ^ distance)
        distance //= 2
    me.call("allgather", call.elements(count if processes > 1 else 0))


def _alltoall_allgather(me: Member, call: RankCall) -> None:
    count, rest = divmod(call.count, me.processes)
    if rest:
        count = me.processes if call.count < me.processes else count + 1
    me.call("alltoall", call.elements(count))
    me.call("allgather", call.elements(count))


def _up_nodes(me: Member, size: int) -> tuple[int, int, int, int]:
    """Reduce up a binomial tree in each node; return ranks of a node, its number, the place, the number of nodes."""
    me.prepare()
    width = me.per_node
    node, place = divmod(me.rank, width)
    up(me, size, place, width, lambda other: node * width + other)
    return width, node, place, -(-me.processes // width)


def _down_nodes(me: Member, size: int, width: int, node: int, place: int) -> None:
    """Broadcast down a binomial tree in each node."""
    down(me, size, place, width, lambda other: node * width + other)


def _binomial_of_nodes(me: Member, call: RankCall) -> None:
    width, node, place, nodes = _up_nodes(me, call.size)
    if not place:
        up(me, call.size, node, nodes, lambda other: other * width)
        down(me, call.size, node, nodes, lambda other: other * width)
    _down_nodes(me, call.size, width, node, place)


def _pipeline_of_nodes(me: Member, call: RankCall) -> None:
    """Four stages of 4096 elements that overlap; what is less than a segment at the end is not sent."""
    me.prepare()
    width = me.per_node
    node, place = divmod(me.rank, width)
    nodes = -(-me.processes // width)
    piece = min(_PHASE, call.count)
    number, size = call.count // piece, piece * call.element

    def on_node(other: int) -> int:
        return node * width + other

    for phase in range(number + 3):
        if phase < number:
            up(me, size, place, width, on_node)
        if 0 < phase < number + 1 and not place:
            up(me, size, node, nodes, lambda other: other * width)
        if 1 < phase < number + 2 and not place:
            down(me, size, node, nodes, lambda other: other * width)
        if phase > 2:
            down(me, size, place, width, on_node)


def _doubling_of_nodes(me: Member, call: RankCall) -> None:
    width, node, place, nodes = _up_nodes(me, call.size)
    if not place:
        fold = RankFold(node, nodes, odd_stays=True)
        if fold.is_aside:
            me.send(me.rank + width, call.size)
            me.receive(me.rank + width)
        else:
            if fold.is_pair:
                me.receive(me.rank - width)
            distance = 1
            while distance < fold.power:
                rank = fold.rank_of(fold.member ^ distance) * width
                me.exchange(rank, call.size, rank)
                distance *= 2
            if fold.is_pair:
                me.send(me.rank - width, call.size)
    _down_nodes(me, call.size, width, node, place)


def _ring_of_nodes(me: Member, call: RankCall, has_rest: bool) -> None:
    """A ring of nodes; the remainder goes with the last block, or nowhere."""
    width, node, place, nodes = _up_nodes(me, call.size)
    share, rest = divmod(call.count, nodes)
    if not place:
        after, before = (node + 1) % nodes * width, (node - 1) % nodes * width
        for begin in (-1, 0):
            for step in range(nodes - 1):
                block = (node + begin - step) % nodes
                count = share + (rest if has_rest and block * share == (nodes - 1) * share else 0)
                me.exchange(after, count * call.element, before)
    _down_nodes(me, call.size, width, node, place)


def _halving_of_nodes(me: Member, call: RankCall) -> None:
    power_of_two_only(me, "allreduce smp_rsag_rab")
    width, node, place, nodes = _up_nodes(me, call.size)
    if not place:
        distance, count = 1, call.count // 2
        while distance < nodes:
            me.exchange((node ^ distance) * width, count * call.element, (node ^ distance) * width)
            distance, count = 2 * distance, count // 2
        distance, count = distance // 2, 2 * count
        while distance:
            me.exchange((node ^ distance) * width, count * call.element, (node ^ distance) * width)
            distance, count = distance // 2, 2 * count
    _down_nodes(me, call.size, width, node, place)


def _doubling_or_halving(me: Member, call: RankCall) -> None:
    if call.count:
        (_doubling if call.count < power_below(me.processes) else _halving)(me, call)


def two_level(me: Member, call: RankCall, leaders: str = "rdb", node: str = "mpich") -> None:
    """Combine in each node, then among the first ranks, who broadcast; `node` may be ``reduce``."""
    me.prepare()
    if not call.count:
        return
    local, firsts = me.node, me.leaders
    if node == "reduce":
        local.call("reduce", RankCall(call.size, call.element))
    else:
        local.call("allreduce", call, node)
    if firsts is not None and local.processes != me.processes:
        firsts.call("allreduce", call, leaders if leaders == "rdb" else "mvapich2_rs")
    local.call("bcast", RankCall(call.size, call.element))


def _mpich(me: Member, call: RankCall) -> None:
    if not me.is_of_nodes:
        return two_level(me, call)
    is_long = call.size > 2048 and call.count >= power_below(me.processes)
    return (_halving if is_long else _doubling)(me, call)


ALLREDUCE: dict[str, Algorithm] = {
    DEFAULT: _default,
    "lr": _ring,
    "rab1": _halving_allgather,
    "rab2": _alltoall_allgather,
    "rab_rdb": _halving,
    "rdb": _doubling,
    "smp_binomial": _binomial_of_nodes,
    "smp_binomial_pipeline": _pipeline_of_nodes,
    "smp_rdb": _doubling_of_nodes,
    "smp_rsag": partial(_ring_of_nodes, has_rest=False),
    "smp_rsag_lr": partial(_ring_of_nodes, has_rest=True),
    "smp_rsag_rab": _halving_of_nodes,
    "redbcast": _reduce_broadcast,
    "ompi_ring_segmented": _segmented_ring,
    "mpich": _mpich,
    "mvapich2_rs": _doubling_or_halving,
    "mvapich2_two_level": two_level,
    "rab": partial(reduce_all_or_to_root, to_all=True),
}
"""SMPI's name -> algorithm."""
