"""Allgathers of SMPI, of blocks of one size and of any. Main entries: `ALLGATHER`, `ALLGATHERV`."""

from commmodel.collectives.algorithms import allgather, alltoall
from commmodel.collectives.library.smpi_selection import DEFAULT
from commmodel.errors import InputError
from commmodel.simulate.smpi_collectives.calls import Algorithm, Member, RankCall, by_rounds, power_of_two_only
from commmodel.simulate.smpi_collectives.grids import over_cube, over_rectangle
from commmodel.simulate.smpi_collectives.halving import double

_MOST_OF_RING = 32768 * 8
"""Bytes of a block up to which MPICH's ring of unequal blocks does not cut it."""

_at_once = by_rounds(alltoall.linear)
_ring = by_rounds(alltoall.pairwise)
_doubling = by_rounds(allgather.recursive_doubling)
_bruck = by_rounds(allgather.bruck)


def _rectangle(me: Member, call: RankCall) -> None:
    over_rectangle(me, "allgather 2dmesh", call.size, call.size)


def _cube(me: Member, call: RankCall) -> None:
    over_cube(me, "allgather 3dmesh", call.size, call.size)


def _gather_broadcast(me: Member, call: RankCall) -> None:
    me.call("gather", RankCall(call.size, call.element))
    me.call("bcast", RankCall(me.processes * call.size, call.element))


def _logical_ring(me: Member, call: RankCall) -> None:
    for _ in range(me.processes - 1):
        me.exchange((me.rank + 1) % me.processes, call.size, (me.rank - 1) % me.processes)


def _posted_ring(me: Member, call: RankCall) -> None:
    """A ring whose receives are all posted before."""
    receives = [me.ireceive((me.rank - 1) % me.processes) for _ in range(me.processes - 1)]
    for request in receives:
        me.wait(request, me.isend((me.rank + 1) % me.processes, call.size))


def _neighbours(me: Member, call: RankCall) -> None:
    """Exchange with both neighbours in turn, of two blocks from the second time on."""
    if me.processes % 2:
        return _ring(me, call)
    pairs = ((me.rank + 1) % me.processes, (me.rank - 1) % me.processes)
    if me.rank % 2:
        pairs = pairs[::-1]
    for step in range(me.processes // 2):
        me.exchange(pairs[step % 2], call.size * (2 if step else 1), pairs[step % 2])
    return None


def _xor(me: Member, call: RankCall) -> None:
    power_of_two_only(me, "allgather pair")
    for step in range(1, me.processes):
        me.exchange(me.rank ^ step, call.size, me.rank ^ step)


def _halving_vector(me: Member, call: RankCall) -> None:
    """To the rank whose bits are mirrored first, then double the vector with the farthest first."""
    power_of_two_only(me, "allgather rhv")
    mirrored = int(f"{me.rank:0{me.processes.bit_length() - 1}b}"[::-1], 2) if me.processes > 1 else 0
    me.exchange(mirrored, call.size, mirrored)
    size, distance = call.size, me.processes // 2
    while distance:
        me.exchange(me.rank ^ distance, size, me.rank ^ distance)
        size, distance = 2 * size, distance // 2


def _around_node(me: Member, call: RankCall, width: int) -> tuple[int, int]:
    """Let the ranks of a node have all its blocks; return its number and the place."""
    node, place = divmod(me.rank, width)
    for step in range(1, width):
        after, before = (place + step) % width, (place - step) % width
        me.exchange(node * width + after, call.size, node * width + before)
    return node, place


def _chain_of_nodes(me: Member, call: RankCall) -> None:
    """A ring of the first ranks of nodes, and a chain in each node along which they pass what comes."""
    me.prepare()
    width, processes = me.per_node, me.processes
    _multiple(me, "allgather SMP_NTS")
    if processes <= width:
        return _at_once(me, call)
    node, place = _around_node(me, call, width)
    nodes, size = processes // width, width * call.size
    if place:
        for _ in range(nodes - 1):
            me.receive(me.rank - 1)
            if place < width - 1:
                me.send(me.rank + 1, size)
        return None
    before, after = (node - 1) % nodes * width, (node + 1) % nodes * width
    receives = [me.ireceive(before) for _ in range(nodes - 1)]
    sends = [me.isend(after, size)]
    for step, request in enumerate(receives):
        me.wait(request)
        if step < nodes - 2:
            sends.append(me.isend(after, size))
        if width > 1:
            me.send(me.rank + 1, size)
    return me.wait(*sends)


def _multiple(me: Member, name: str) -> None:
    if me.processes % me.per_node:
        raise InputError(f"SMPI's {name} ends where the ranks are no multiple of {me.per_node} on a node")


def _loose_ring(me: Member, call: RankCall) -> None:
    """Blocks go around rings of ranks with the same place in their nodes, and to the others of each node meanwhile."""
    me.prepare()
    _multiple(me, "allgather loosely_lr")
    width, processes = me.per_node, me.processes
    node, place = divmod(me.rank, width)
    receives, sends = [], []
    for step in range(processes // width):
        request = None
        for other in range(width):
            if other == place and step < processes // width - 1:
                request = me.ireceive((me.rank - width) % processes)
                sends.append(me.isend((me.rank + width) % processes, call.size))
            if other != place:
                receives.append(me.ireceive(node * width + other))
                sends.append(me.isend(node * width + other, call.size))
        if request is not None:
            me.wait(request)
    me.wait(*receives, *sends)


def _simple_of_nodes(me: Member, call: RankCall) -> None:
    """The first ranks of nodes send all blocks of a node to one another at once, and then on to the others."""
    me.prepare()
    _multiple(me, "allgather smp_simple")
    width, processes = me.per_node, me.processes
    node, place = _around_node(me, call, width)
    if place:
        me.receive(node * width)
        return
    nodes = processes // width
    receives = [me.ireceive((node - step) % nodes * width) for step in range(1, nodes)]
    sends = [me.isend((node + step) % nodes * width, width * call.size) for step in range(1, nodes)]
    me.wait(*receives, *sends)
    for other in range(1, width):
        me.send(me.rank + other, processes * call.size)


def of_nodes(me: Member, call: RankCall) -> None:
    """Gather in each node, allgather among the first ranks, who broadcast."""
    me.prepare()
    if not me.is_uniform or not me.is_blocked:
        raise InputError("SMPI's allgather mvapich2_smp ends where the nodes' ranks are not equally many neighbours")
    node, leaders = me.node, me.leaders
    if call.size:
        node.call("gather", call)
        if leaders is not None and leaders.processes > 1:
            leaders.call("allgather", RankCall(node.processes * call.size, call.element), "mpich")
        node.call("bcast", RankCall(me.processes * call.size, call.element))


def _mpich(me: Member, call: RankCall) -> None:
    total, is_power = call.size * me.processes, me.processes & (me.processes - 1) == 0
    if is_power and total < 524288:
        return _doubling(me, call)
    return (_bruck if total <= 81920 else _ring)(me, call)


ALLGATHER: dict[str, Algorithm] = {
    DEFAULT: _at_once,
    "2dmesh": _rectangle,
    "3dmesh": _cube,
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


def _at_once_v(me: Member, call: RankCall) -> None:
    partners = [other for other in range(me.processes) if other != me.rank]
    me.wait(*[me.ireceive(other) for other in partners], *[me.isend(other, call.sizes[me.rank]) for other in partners])


def _gather_broadcast_v(me: Member, call: RankCall) -> None:
    if me.rank:
        me.wait(me.isend(0, call.sizes[me.rank]))
    else:
        me.wait(*[me.ireceive(other) for other in range(1, me.processes)])
    me.call("bcast", RankCall((max if call.is_replayed else sum)(call.sizes), call.element))


def _xor_v(me: Member, call: RankCall) -> None:
    power_of_two_only(me, "allgatherv pair")
    for step in range(1, me.processes):
        me.exchange(me.rank ^ step, call.sizes[me.rank], me.rank ^ step)


def _ring_v(me: Member, call: RankCall) -> None:
    for step in range(1, me.processes):
        me.exchange((me.rank + step) % me.processes, call.sizes[me.rank], (me.rank - step) % me.processes)


def _neighbours_v(me: Member, call: RankCall) -> None:
    processes = me.processes
    if processes % 2:
        return _ring_v(me, call)
    is_odd = me.rank % 2
    pairs = ((me.rank - 1) % processes, (me.rank + 1) % processes)[:: 1 if is_odd else -1]
    first = pairs[0] if is_odd else me.rank
    places = [first, first]
    me.exchange(pairs[0], call.sizes[me.rank], pairs[0])
    pair = first
    for step in range(1, processes // 2):
        parity = step % 2
        places[parity] = (places[parity] + (2 if parity == is_odd else -2)) % processes
        me.exchange(pairs[parity], call.sizes[pair] + call.sizes[(pair + 1) % processes], pairs[parity])
        pair = places[parity]
    return None


def _bruck_v(me: Member, call: RankCall) -> None:
    processes, distance = me.processes, 1
    while distance < processes:
        blocks = distance if distance <= processes // 2 else processes - distance
        size = sum(call.sizes[(me.rank + block) % processes] for block in range(blocks))
        me.exchange((me.rank - distance) % processes, size, (me.rank + distance) % processes)
        distance *= 2


def _mpich_doubling_v(me: Member, call: RankCall) -> None:
    double(me, lambda first, last: sum(call.sizes[first:last]))


def _mpich_ring_v(me: Member, call: RankCall) -> None:
    """A ring in which long blocks go in pieces."""
    processes, sizes = me.processes, call.sizes
    before, after = (me.rank - 1) % processes, (me.rank + 1) % processes
    piece = max(min(sizes), _MOST_OF_RING // call.element * call.element)
    to_send, to_receive = sum(sizes) - sizes[after], sum(sizes) - sizes[me.rank]
    sent, received, send_offset, receive_offset = me.rank, before, 0, 0
    while to_send or to_receive:
        send = min(piece, sizes[sent] - send_offset) if to_send else 0
        receive = min(piece, sizes[received] - receive_offset) if to_receive else 0
        if send and receive:
            me.exchange(after, send, before)
        elif send:
            me.send(after, send)
        elif receive:
            me.receive(before)
        to_send, to_receive = to_send - send, to_receive - receive
        send_offset, receive_offset = send_offset + send, receive_offset + receive
        if send_offset == sizes[sent]:
            sent, send_offset = (sent - 1) % processes, 0
        if receive_offset == sizes[received]:
            received, receive_offset = (received - 1) % processes, 0


def _mpich_v(me: Member, call: RankCall) -> None:
    """Choose by elements, where MPICH counts bytes."""
    total, is_power = sum(call.sizes) // call.element, me.processes & (me.processes - 1) == 0
    if not total:
        return None
    if is_power and total < 524288:
        return _mpich_doubling_v(me, call)
    return (_bruck_v if total <= 81920 else _mpich_ring_v)(me, call)


ALLGATHERV: dict[str, Algorithm] = {
    DEFAULT: _at_once_v,
    "GB": _gather_broadcast_v,
    "pair": _xor_v,
    "ring": _ring_v,
    "ompi_neighborexchange": _neighbours_v,
    "ompi_bruck": _bruck_v,
    "mpich": _mpich_v,
    "mpich_rdb": _mpich_doubling_v,
    "mpich_ring": _mpich_ring_v,
}
"""SMPI's name -> algorithm."""
