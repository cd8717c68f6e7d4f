"""Allgathers of SMPI, of blocks of one size and of any. Main entries: `ALLGATHER`, `ALLGATHERV`."""

from functools import partial

from commmodel.collectives.algorithms import allgather, alltoall
from commmodel.collectives.algorithms.blocks import distances
from commmodel.collectives.library.smpi_selection import DEFAULT
from commmodel.errors import InputError
from commmodel.simulate.smpi_collectives.at_once import AT_ONCE
from commmodel.simulate.smpi_collectives.calls import Algorithm, Member, RankCall, by_rounds, power_of_two_only
from commmodel.simulate.smpi_collectives.grids import over_cube, over_rectangle
from commmodel.simulate.smpi_collectives.halving import double

_MOST_OF_RING = 32768 * 8
"""Bytes of a block up to which MPICH's ring of unequal blocks does not cut it."""

_at_once = by_rounds(alltoall.linear)
_ring = by_rounds(alltoall.pairwise)
_doubling = by_rounds(allgather.recursive_doubling)
_bruck = by_rounds(allgather.bruck)


def _gather_broadcast(member: Member, call: RankCall) -> None:
    member.call("gather", RankCall(call.size, call.element))
    member.call("bcast", RankCall(member.processes * call.size, call.element))


def _logical_ring(member: Member, call: RankCall) -> None:
    for _ in range(member.processes - 1):
        member.exchange(member.at(1), call.size, member.at(-1))


def _posted_ring(member: Member, call: RankCall) -> None:
    """A ring whose receives are all posted before."""
    receives = [member.ireceive(member.at(-1)) for _ in range(member.processes - 1)]
    for request in receives:
        member.wait(request, member.isend(member.at(1), call.size))


def _neighbours(member: Member, call: RankCall) -> None:
    """Exchange with both neighbours in turn, of two blocks from the second time on."""
    processes = member.processes
    if processes % 2:
        return (_ring_v if call.sizes else _ring)(member, call)
    is_odd = member.rank % 2
    pairs = (member.at(-1), member.at(1))[:: 1 if is_odd else -1]
    first = pairs[0] if is_odd else member.rank
    places = [first, first]
    member.swap(pairs[0], call.block(member.rank))
    pair = first
    for step in range(1, processes // 2):
        parity = step % 2
        places[parity] = (places[parity] + (2 if parity == is_odd else -2)) % processes
        member.swap(pairs[parity], call.block(pair) + call.block((pair + 1) % processes))
        pair = places[parity]
    return None


def _xor(member: Member, call: RankCall) -> None:
    power_of_two_only(member, "allgatherv pair" if call.sizes else "allgather pair")
    for step in range(1, member.processes):
        member.swap(member.rank ^ step, call.block(member.rank))


def _halving_vector(member: Member, call: RankCall) -> None:
    """To the rank whose bits are mirrored first, then double the vector with the farthest first."""
    power_of_two_only(member, "allgather rhv")
    mirrored = int(f"{member.rank:0{member.processes.bit_length() - 1}b}"[::-1], 2) if member.processes > 1 else 0
    member.swap(mirrored, call.size)
    for size, distance in zip(distances(member.processes), reversed(distances(member.processes)), strict=True):
        member.swap(member.rank ^ distance, size * call.size)


def _around_node(member: Member, call: RankCall, width: int) -> tuple[int, int]:
    """Let the ranks of a node have all its blocks; return its number and the place."""
    node, place = divmod(member.rank, width)
    for step in range(1, width):
        after, before = (place + step) % width, (place - step) % width
        member.exchange(node * width + after, call.size, node * width + before)
    return node, place


def _chain_of_nodes(member: Member, call: RankCall) -> None:
    """A ring of the first ranks of nodes, and a chain in each node along which they pass what comes."""
    member.prepare()
    width, processes = member.per_node, member.processes
    _multiple(member, "allgather SMP_NTS")
    if processes <= width:
        return _at_once(member, call)
    node, place = _around_node(member, call, width)
    nodes, size = processes // width, width * call.size
    if place:
        for _ in range(nodes - 1):
            member.receive(member.rank - 1)
            if place < width - 1:
                member.send(member.rank + 1, size)
        return None
    before, after = (node - 1) % nodes * width, (node + 1) % nodes * width
    receives = [member.ireceive(before) for _ in range(nodes - 1)]
    sends = [member.isend(after, size)]
    for step, request in enumerate(receives):
        member.wait(request)
        if step < nodes - 2:
            sends.append(member.isend(after, size))
        if width > 1:
            member.send(member.rank + 1, size)
    return member.wait(*sends)


def _multiple(member: Member, name: str) -> None:
    if member.processes % member.per_node:
        raise InputError(f"SMPI's {name} ends where the ranks are no multiple of {member.per_node} on a node")


def _loose_ring(member: Member, call: RankCall) -> None:
    """Blocks go around rings of ranks with the same place in their nodes, and to the others of each node meanwhile."""
    member.prepare()
    _multiple(member, "allgather loosely_lr")
    width, processes = member.per_node, member.processes
    node, place = divmod(member.rank, width)
    receives, sends = [], []
    for step in range(processes // width):
        request = None
        for other in range(width):
            if other == place and step < processes // width - 1:
                request = member.ireceive(member.at(-width))
                sends.append(member.isend(member.at(width), call.size))
            if other != place:
                receives.append(member.ireceive(node * width + other))
                sends.append(member.isend(node * width + other, call.size))
        if request is not None:
            member.wait(request)
    member.wait(*receives, *sends)


def _simple_of_nodes(member: Member, call: RankCall) -> None:
    """The first ranks of nodes send all blocks of a node to one another at once, and then on to the others."""
    member.prepare()
    _multiple(member, "allgather smp_simple")
    width, processes = member.per_node, member.processes
    node, place = _around_node(member, call, width)
    if place:
        member.receive(node * width)
        return
    nodes = processes // width
    receives = [member.ireceive((node - step) % nodes * width) for step in range(1, nodes)]
    sends = [member.isend((node + step) % nodes * width, width * call.size) for step in range(1, nodes)]
    member.wait(*receives, *sends)
    for other in range(1, width):
        member.send(member.rank + other, processes * call.size)


def of_nodes(member: Member, call: RankCall) -> None:
    """Gather in each node, allgather among the first ranks, who broadcast."""
    member.prepare()
    if not member.is_uniform or not member.is_blocked:
        raise InputError("SMPI's allgather mvapich2_smp ends where the nodes' ranks are not equally many neighbours")
    node, leaders = member.node, member.leaders
    if call.size:
        node.call("gather", call)
        if leaders is not None and leaders.processes > 1:
            leaders.call("allgather", RankCall(node.processes * call.size, call.element), "mpich")
        node.call("bcast", RankCall(member.processes * call.size, call.element))


def _mpich(member: Member, call: RankCall) -> None:
    total, is_power = call.size * member.processes, member.processes & (member.processes - 1) == 0
    if is_power and total < 524288:
        return _doubling(member, call)
    return (_bruck if total <= 81920 else _ring)(member, call)


ALLGATHER: dict[str, Algorithm] = {
    DEFAULT: AT_ONCE["allgather"],
    "2dmesh": partial(over_rectangle, name="allgather 2dmesh"),
    "3dmesh": partial(over_cube, name="allgather 3dmesh"),
    "bruck": _bruck,
    "GB": _gather_broadcast,
    "loosely_lr": _loose_ring,
    "NTSLR": _logical_ring,
    "NTSLR_NB": _posted_ring,
    "pair": _xor,
    "rdb": _doubling,
    "rhv": _halving_vector,
    "ring": _ring,
    "SMP_NTS": _chain_of_nodes,
    "smp_simple": _simple_of_nodes,
    "spreading_simple": _at_once,
    "ompi_neighborexchange": _neighbours,
    "mvapich2_smp": of_nodes,
    "mpich": _mpich,
}


def _at_once_v(member: Member, call: RankCall) -> None:
    member.exchange_with(member.other_ranks, lambda _: call.sizes[member.rank])


def _gather_broadcast_v(member: Member, call: RankCall) -> None:
    AT_ONCE["gatherv"](member, call.rooted())
    member.call("bcast", RankCall((max if call.is_replayed else sum)(call.sizes), call.element))


def _ring_v(member: Member, call: RankCall) -> None:
    for step in range(1, member.processes):
        member.exchange(member.at(step), call.sizes[member.rank], member.at(-step))


def _bruck_v(member: Member, call: RankCall) -> None:
    processes = member.processes
    for distance in distances(processes):
        blocks = distance if distance <= processes // 2 else processes - distance
        size = sum(call.sizes[(member.rank + block) % processes] for block in range(blocks))
        member.exchange(member.at(-distance), size, member.at(distance))


def _mpich_doubling_v(member: Member, call: RankCall) -> None:
    double(member, lambda first, last: sum(call.sizes[first:last]))


def _mpich_ring_v(member: Member, call: RankCall) -> None:
    """A ring in which long blocks go in pieces."""
    processes, sizes = member.processes, call.sizes
    before, after = member.at(-1), member.at(1)
    piece = max(min(sizes), _MOST_OF_RING // call.element * call.element)
    to_send, to_receive = sum(sizes) - sizes[after], sum(sizes) - sizes[member.rank]
    sent, received, send_offset, receive_offset = member.rank, before, 0, 0
    while to_send or to_receive:
        send = min(piece, sizes[sent] - send_offset) if to_send else 0
        receive = min(piece, sizes[received] - receive_offset) if to_receive else 0
        if send and receive:
            member.exchange(after, send, before)
        elif send:
            member.send(after, send)
        elif receive:
            member.receive(before)
        to_send, to_receive = to_send - send, to_receive - receive
        send_offset, receive_offset = send_offset + send, receive_offset + receive
        if send_offset == sizes[sent]:
            sent, send_offset = (sent - 1) % processes, 0
        if receive_offset == sizes[received]:
            received, receive_offset = (received - 1) % processes, 0


def _mpich_v(member: Member, call: RankCall) -> None:
    """Choose by elements, where MPICH counts bytes."""
    total, is_power = sum(call.sizes) // call.element, member.processes & (member.processes - 1) == 0
    if not total:
        return None
    if is_power and total < 524288:
        return _mpich_doubling_v(member, call)
    return (_bruck_v if total <= 81920 else _mpich_ring_v)(member, call)


ALLGATHERV: dict[str, Algorithm] = {
    DEFAULT: AT_ONCE["allgatherv"],
    "GB": _gather_broadcast_v,
    "pair": _xor,
    "ring": _ring_v,
    "ompi_neighborexchange": _neighbours,
    "ompi_bruck": _bruck_v,
    "mpich": _mpich_v,
    "mpich_rdb": _mpich_doubling_v,
    "mpich_ring": _mpich_ring_v,
}
"""SMPI's name -> algorithm."""
