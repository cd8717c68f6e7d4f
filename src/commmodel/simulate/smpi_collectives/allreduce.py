"""Allreduces of SMPI. Main entries: `ALLREDUCE`, `two_level`."""

from functools import partial

from commmodel.collectives.algorithms.blocks import distances, power_below
from commmodel.collectives.library.smpi_selection import DEFAULT
from commmodel.errors import InputError
from commmodel.simulate.smpi_collectives import rounds
from commmodel.simulate.smpi_collectives.calls import Algorithm, Member, RankCall, by_rounds, power_of_two_only
from commmodel.simulate.smpi_collectives.halving import RankFold
from commmodel.simulate.smpi_collectives.reduce import reduce_all_or_to_root
from commmodel.simulate.smpi_collectives.trees import down, up

_PHASE = 4096
_RING_SEGMENT = 1 << 20

_doubling = by_rounds(rounds.recursive_doubling)


def _halving(member: Member, call: RankCall) -> None:
    """Halve the vector and double it again, blocks being of whole elements."""
    by_rounds(rounds.reduce_scatter_allgather(call.element))(member, call)


def _reduce_broadcast(member: Member, call: RankCall, algorithm: str | None = None) -> None:
    member.call("reduce", call.rooted(), algorithm)
    member.call("bcast", call.rooted(), algorithm)


def _default(member: Member, call: RankCall) -> None:
    if call.is_derived:
        member.call("allreduce", call, "ompi")
    else:
        _reduce_broadcast(member, call, DEFAULT)


def _ring(member: Member, call: RankCall) -> None:
    """Equal blocks go around a ring twice; the remainder is another allreduce, a short vector is reduced and sent."""
    processes = member.processes
    share = call.count // processes
    if not share:
        return _reduce_broadcast(member, call)
    for _ in range(2 * (processes - 1)):
        member.exchange(member.at(1), share * call.element, member.at(-1))
    if call.count % processes:
        member.call("allreduce", call.elements(call.count % processes))
    return None


def _segmented_ring(member: Member, call: RankCall) -> None:
    """A ring whose first round goes in phases, where blocks are larger than a mebibyte."""
    processes, count, element = member.processes, call.count, call.element
    segment = _RING_SEGMENT // element if element <= _RING_SEGMENT < call.size else count
    if processes == 1:
        return None
    if not count:
        raise InputError("SMPI's allreduce ompi_ring_segmented ends for 0 elements, as it divides by their number")
    if count < processes * segment:
        return _ring(member, call)
    phases, rest = divmod(count, processes * segment)
    phases += rest >= processes and rest > processes * segment // 2
    before, after = member.at(-1), member.at(1)

    def share(number: int, parts: int, part: int) -> int:
        return number // parts + (part < number % parts)

    for phase in range(phases):
        request = member.ireceive(before)
        for step in range(1, processes):
            block = (member.rank - step + 1) % processes
            if step > 1:
                posted, request = request, member.ireceive(before)
                member.wait(posted)
            member.send(after, share(share(count, processes, block), phases, phase) * element)
        member.wait(request)
    for step in range(processes - 1):
        member.exchange(after, share(count, processes, (member.rank + 1 - step) % processes) * element, before)
    return None


def _halving_allgather(member: Member, call: RankCall) -> None:
    power_of_two_only(member, "allreduce rab1")
    processes = member.processes
    count = -(-call.count // processes)
    for distance in reversed(distances(processes)):
        member.swap(member.rank ^ distance, distance * count * call.element)
    member.call("allgather", call.elements(count if processes > 1 else 0))


def _alltoall_allgather(member: Member, call: RankCall) -> None:
    count, rest = divmod(call.count, member.processes)
    if rest:
        count = member.processes if call.count < member.processes else count + 1
    member.call("alltoall", call.elements(count))
    member.call("allgather", call.elements(count))


def _up_nodes(member: Member, size: int) -> tuple[int, int, int, int]:
    """Reduce up a binomial tree in each node; return ranks of a node, its number, the place, the number of nodes."""
    member.prepare()
    width = member.per_node
    node, place = divmod(member.rank, width)
    up(member, size, place, width, lambda other: node * width + other)
    return width, node, place, -(-member.processes // width)


def _down_nodes(member: Member, size: int, width: int, node: int, place: int) -> None:
    """Broadcast down a binomial tree in each node."""
    down(member, size, place, width, lambda other: node * width + other)


def _binomial_of_nodes(member: Member, call: RankCall) -> None:
    width, node, place, nodes = _up_nodes(member, call.size)
    if not place:
        up(member, call.size, node, nodes, lambda other: other * width)
        down(member, call.size, node, nodes, lambda other: other * width)
    _down_nodes(member, call.size, width, node, place)


def _pipeline_of_nodes(member: Member, call: RankCall) -> None:
    """Four stages of 4096 elements that overlap; what is less than a segment at the end is not sent."""
    member.prepare()
    width = member.per_node
    node, place = divmod(member.rank, width)
    nodes = -(-member.processes // width)
    piece = min(_PHASE, call.count)
    number, size = call.count // piece, piece * call.element

    def on_node(other: int) -> int:
        return node * width + other

    for phase in range(number + 3):
        if phase < number:
            up(member, size, place, width, on_node)
        if 0 < phase < number + 1 and not place:
            up(member, size, node, nodes, lambda other: other * width)
        if 1 < phase < number + 2 and not place:
            down(member, size, node, nodes, lambda other: other * width)
        if phase > 2:
            down(member, size, place, width, on_node)


def _doubling_of_nodes(member: Member, call: RankCall) -> None:
    width, node, place, nodes = _up_nodes(member, call.size)
    if not place:
        fold = RankFold(node, nodes, odd_stays=True)
        if fold.is_aside:
            member.send(member.rank + width, call.size)
            member.receive(member.rank + width)
        else:
            if fold.is_pair:
                member.receive(member.rank - width)
            for distance in distances(fold.power):
                member.swap(fold.rank_of(fold.member ^ distance) * width, call.size)
            if fold.is_pair:
                member.send(member.rank - width, call.size)
    _down_nodes(member, call.size, width, node, place)


def _ring_of_nodes(member: Member, call: RankCall, has_rest: bool) -> None:
    """A ring of nodes; the remainder goes with the last block, or nowhere."""
    width, node, place, nodes = _up_nodes(member, call.size)
    share, rest = divmod(call.count, nodes)
    if not place:
        after, before = (node + 1) % nodes * width, (node - 1) % nodes * width
        for begin in (-1, 0):
            for step in range(nodes - 1):
                block = (node + begin - step) % nodes
                count = share + (rest if has_rest and block * share == (nodes - 1) * share else 0)
                member.exchange(after, count * call.element, before)
    _down_nodes(member, call.size, width, node, place)


def _halving_of_nodes(member: Member, call: RankCall) -> None:
    power_of_two_only(member, "allreduce smp_rsag_rab")
    width, node, place, nodes = _up_nodes(member, call.size)
    if not place:
        count = call.count
        for distance in distances(nodes):
            count //= 2
            member.swap((node ^ distance) * width, count * call.element)
        count //= 2
        for distance in reversed(distances(nodes)):
            count *= 2
            member.swap((node ^ distance) * width, count * call.element)
    _down_nodes(member, call.size, width, node, place)


def _doubling_or_halving(member: Member, call: RankCall) -> None:
    if call.count:
        (_doubling if call.count < power_below(member.processes) else _halving)(member, call)


def two_level(member: Member, call: RankCall, leaders: str = "rdb", node: str = "mpich") -> None:
    """Combine in each node, then among the first ranks, who broadcast; `node` may be ``reduce``."""
    member.prepare()
    if not call.count:
        return
    local, firsts = member.node, member.leaders
    if node == "reduce":
        local.call("reduce", call.rooted())
    else:
        local.call("allreduce", call, node)
    if firsts is not None and local.processes != member.processes:
        firsts.call("allreduce", call, leaders if leaders == "rdb" else "mvapich2_rs")
    local.call("bcast", RankCall(call.size, call.element))


def _mpich(member: Member, call: RankCall) -> None:
    if not member.is_of_nodes:
        member.prepare()
        if not call.is_ordered:
            return two_level(member, call)
    is_long = call.size > 2048 and call.count >= power_below(member.processes) and not call.is_ordered
    return (_halving if is_long else _doubling)(member, call)


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
