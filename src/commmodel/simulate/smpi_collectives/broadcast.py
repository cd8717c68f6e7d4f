"""Broadcasts of SMPI. Main entries: `BCAST`, `inter_node`.

Those that ask who has arrived (arrival_pattern_aware, arrival_pattern_aware_wait, arrival_scatter) have no schedule.
"""

from collections.abc import Iterable

from commmodel.collectives.algorithms import broadcast
from commmodel.collectives.library.smpi_selection import DEFAULT
from commmodel.simulate.smpi_collectives.calls import Algorithm, Member, RankCall, by_rounds
from commmodel.simulate.smpi_collectives.rounds import scattering
from commmodel.simulate.smpi_collectives.trees import TreePlace, binary, chains, down, knomial

SEGMENT = 8192
_KNOMIAL = 4
_PIPELINE = ((1.6134e-6, 2.1102, 128), (2.3679e-6, 1.1787, 64), (3.2118e-6, 8.7936, 16))
"""Slope and offset of the processes below which Open MPI's pipeline has segments of so many KiB."""

_binomial = by_rounds(broadcast.binomial)
_flat = by_rounds(broadcast.linear)
_scatter_doubling = by_rounds(scattering(broadcast.scatter_recursive_doubling))
_scatter_ring = by_rounds(scattering(broadcast.scatter_ring))


def _pass_on(me: Member, call: RankCall, source: int, targets: Iterable[int]) -> None:
    """Pass the vector on in segments; the remainder is another broadcast. Rank 0 has no source, which is −1."""
    number, piece = call.pieces(SEGMENT)
    targets = tuple(targets)
    receives = [me.ireceive(source) for _ in range(number)] if source >= 0 else []
    sends = []
    for place in range(number):
        me.wait(*receives[place : place + 1])
        sends += [me.isend(target, piece) for target in targets]
    me.wait(*sends)
    rest = call.size - number * piece
    if rest:
        me.call("bcast", RankCall(rest, call.element, call.root))


def _chain(me: Member, call: RankCall) -> None:
    me.hand_over(call.size, call.root, 0)
    if me.processes > 1:
        _pass_on(me, call, me.rank - 1, () if me.rank == me.processes - 1 else (me.rank + 1,))


def _binary(me: Member, call: RankCall) -> None:
    me.hand_over(call.size, call.root, 0)
    if me.processes > 1:
        children = (child for child in (2 * me.rank + 1, 2 * me.rank + 2) if child < me.processes)
        _pass_on(me, call, (me.rank - 1) // 2 if me.rank else -1, children)


def _binary_of_nodes(me: Member, call: RankCall) -> None:
    """Down a binary tree of nodes and one in each node at the same time."""
    me.prepare()
    if not me.is_uniform:
        return _mpich(me, call)
    me.hand_over(call.size, call.root, 0)
    width = me.per_node
    node, place = divmod(me.rank, width)
    below = [node * width + child for child in (2 * place + 1, 2 * place + 2) if child < width]
    source = node * width + (place - 1) // 2
    if not place:
        below = [child * width for child in (2 * node + 1, 2 * node + 2) if child * width < me.processes] + below
        source = (node - 1) // 2 * width if node else -1
    return _pass_on(me, call, source, below)


def _binomial_of_nodes(me: Member, call: RankCall) -> None:
    """Down a binomial tree of nodes, then down one in each node."""
    me.prepare()
    if not me.is_uniform:
        return _mpich(me, call)
    me.hand_over(call.size, call.root, 0)
    width = me.per_node
    node, place = divmod(me.rank, width)
    if not place:
        down(me, call.size, node, (me.processes - 1) // width + 1, lambda other: other * width)
    return down(me, call.size, place, width, lambda other: node * width + other)


def _chain_of_nodes(me: Member, call: RankCall) -> None:
    """Along a chain of nodes, and along one in each node."""
    me.prepare()
    if not me.is_uniform:
        return _mpich(me, call)
    width = me.per_node
    if me.processes <= width:
        return _binomial(me, call)
    me.hand_over(call.size, call.root, 0)
    place, is_last_node = me.rank % width, me.rank == (me.processes - 1) // width * width
    inter = () if is_last_node or place else ((me.rank + width) % me.processes,)
    ends = place == width - 1 or me.rank == me.processes - 1
    intra = ((me.rank + 1) % me.processes,) if not place or not ends else ()
    source = (me.rank - 1 if place else me.rank - width) if me.rank else -1
    return _pass_on(me, call, source, inter + intra)


def _flat_pipeline(me: Member, call: RankCall) -> None:
    """Send segments to each rank in turn; what is less than a segment at the end is not sent."""
    piece = max(SEGMENT // call.element, 1) * call.element
    number = call.size // piece
    if not number:
        return _flat(me, call)
    if me.rank != call.root:
        return me.wait(*[me.ireceive(call.root) for _ in range(number)])
    for other in range(me.processes):
        if other != me.rank:
            for _ in range(number):
                me.send(other, piece)
    return None


def _knomial(me: Member, call: RankCall) -> None:
    me.prepare()
    above, levels = knomial(me, call.root, _KNOMIAL)
    if above >= 0:
        me.receive(above)
    for below in levels:
        me.wait(*[me.isend(child, call.size) for child in below])


def inter_node(me: Member, call: RankCall, among_leaders: str = "mpich") -> None:
    """Broadcast among the first ranks of nodes, which get it from the root's."""
    me.prepare()
    leaders = me.leaders
    me.hand_over(call.size, call.root, me.leader_of(call.root))
    if leaders is not None:
        leaders.call("bcast", RankCall(call.size, call.element, me.place_of_leader(call.root)), among_leaders)


def _intra_node(me: Member, call: RankCall) -> None:
    """MVAPICH2's choice without its tables."""
    if not call.size:
        return None
    me.prepare()
    if me.processes > 64 or 16384 < call.size < 524288:
        inter_node(me, call)
        if call.size <= 131072:
            return _mpich(me.node, call)
        return _knomial(me.node, RankCall(call.size, call.element))
    return (_binomial if call.size <= 16384 else _scatter_ring)(me, call)


def _segmented(me: Member, place: TreePlace, pieces: list[int]) -> None:
    """Receive segments, one ahead, and send each to all below before the next."""
    receives = [me.ireceive(place.above)] if place.above >= 0 else []
    for number, piece in enumerate(pieces):
        if receives:
            if number + 1 < len(pieces):
                receives.append(me.ireceive(place.above))
            me.wait(receives[number])
        me.wait(*[me.isend(child, piece) for child in place.below])


def segments(call: RankCall, segment_size: int) -> list[int]:
    """Return the bytes of the segments of Open MPI, the last of which has the rest."""
    count, element = call.count, call.element
    length = count
    if element <= segment_size < call.size:
        length = segment_size // element + (segment_size % element > element // 2)
    if not count:
        return []
    return [length * element] * ((count - 1) // length) + [(count - (count - 1) // length * length) * element]


def _pipeline(me: Member, call: RankCall) -> None:
    if me.processes > 1:
        fits = (kib for slope, offset, kib in _PIPELINE if me.processes < slope * call.size + offset)
        _segmented(me, chains(me, call.root, 1), segments(call, 1024 * next(fits, 128)))


def _split_binary(me: Member, call: RankCall) -> None:
    """Send a half of the vector down each side of a binary tree; then pairs of ranks exchange the halves."""
    processes, element = me.processes, call.element
    segment = max(1024 if call.size < 370728 else 8192, element) // element
    halves = (call.count - call.count // 2, call.count // 2)
    if processes == 1:
        return None
    if not halves[1] or segment * element > halves[1] * element:
        return _chain_of_nodes(me, call)
    pieces = [segments(RankCall(half * element, element), segment * element) for half in halves]
    place = binary(me, call.root)
    side = ((me.rank - call.root) % processes + 1) % 2
    if me.rank == call.root:
        for number in range(len(pieces[0])):
            for child, half in zip(place.below, pieces, strict=False):
                if number < len(half):
                    me.send(child, half[number])
    elif not place.below:
        for _ in pieces[side]:
            me.receive(place.above)
    else:
        receives = [me.ireceive(place.above)]
        for number, piece in enumerate(pieces[side]):
            if number + 1 < len(pieces[side]):
                receives.append(me.ireceive(place.above))
            me.wait(receives[number])
            for child in place.below:
                me.send(child, piece)
    return _exchange_halves(me, call.root, side, [half * element for half in halves])


def _exchange_halves(me: Member, root: int, side: int, halves: list[int]) -> None:
    processes = me.processes
    last, pair = (root - 1) % processes, (me.rank + (1 if side == 0 else -1)) % processes
    if processes % 2 and me.rank != root:
        me.exchange(pair, halves[side], pair)
    elif processes % 2 == 0:
        if me.rank == root:
            me.send(last, halves[1])
        elif me.rank == last:
            me.receive(root)
        else:
            me.exchange(pair, halves[side], pair)


def _mpich(me: Member, call: RankCall) -> None:
    if not me.is_of_nodes:
        me.prepare()
        if me.is_uniform:
            return _binomial_of_nodes(me, call)
    if call.size < 12288 or me.processes <= 8:
        return _binomial(me, call)
    return (_scatter_doubling if call.size < 524288 and me.processes % 2 == 0 else _scatter_ring)(me, call)


BCAST: dict[str, Algorithm] = {
    DEFAULT: _binomial,
    "binomial_tree": _binomial,
    "flattree": _flat,
    "flattree_pipeline": _flat_pipeline,
    "NTSB": _binary,
    "NTSL": _chain,
    "NTSL_Isend": _chain,
    "scatter_LR_allgather": _scatter_ring,
    "scatter_rdb_allgather": _scatter_doubling,
    "SMP_binary": _binary_of_nodes,
    "SMP_binomial": _binomial_of_nodes,
    "SMP_linear": _chain_of_nodes,
    "ompi_split_bintree": _split_binary,
    "ompi_pipeline": _pipeline,
    "mpich": _mpich,
    "mvapich2_inter_node": inter_node,
    "mvapich2_intra_node": _intra_node,
    "mvapich2_knomial_intra_node": _knomial,
}
"""SMPI's name -> algorithm."""
