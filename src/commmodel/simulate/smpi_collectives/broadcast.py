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


def _pass_on(member: Member, call: RankCall, source: int, targets: Iterable[int]) -> None:
    """Pass the vector on in segments; the remainder is another broadcast. Rank 0 has no source, which is −1.

    A vector of one segment or less is received and sent on by blocking calls.
    """
    number, piece = call.pieces(SEGMENT)
    targets = tuple(targets)
    if call.size <= piece:
        if source >= 0:
            member.receive(source)
        for target in targets:
            member.send(target, piece)
        return
    receives = [member.ireceive(source) for _ in range(number)] if source >= 0 else []
    sends = []
    for place in range(number):
        member.wait(*receives[place : place + 1])
        sends += [member.isend(target, piece) for target in targets]
    member.wait(*sends)
    rest = call.size - number * piece
    if rest:
        member.call("bcast", RankCall(rest, call.element, call.root))


def _chain(member: Member, call: RankCall) -> None:
    member.hand_over(call.size, call.root, 0)
    if member.processes > 1:
        _pass_on(member, call, member.rank - 1, () if member.rank == member.processes - 1 else (member.rank + 1,))


def _binary(member: Member, call: RankCall) -> None:
    member.hand_over(call.size, call.root, 0)
    if member.processes > 1:
        children = (child for child in (2 * member.rank + 1, 2 * member.rank + 2) if child < member.processes)
        _pass_on(member, call, (member.rank - 1) // 2 if member.rank else -1, children)


def _of_uniform_nodes(algorithm: Algorithm) -> Algorithm:
    """Return the algorithm, with MPICH's choice where nodes have different numbers of ranks."""

    def chosen(member: Member, call: RankCall) -> None:
        member.prepare()
        (algorithm if member.is_uniform else _mpich)(member, call)

    return chosen


@_of_uniform_nodes
def _binary_of_nodes(member: Member, call: RankCall) -> None:
    """Down a binary tree of nodes and one in each node at the same time."""
    member.hand_over(call.size, call.root, 0)
    width = member.per_node
    node, place = divmod(member.rank, width)
    below = [node * width + child for child in (2 * place + 1, 2 * place + 2) if child < width]
    source = node * width + (place - 1) // 2
    if not place:
        below = [child * width for child in (2 * node + 1, 2 * node + 2) if child * width < member.processes] + below
        source = (node - 1) // 2 * width if node else -1
    _pass_on(member, call, source, below)


@_of_uniform_nodes
def _binomial_of_nodes(member: Member, call: RankCall) -> None:
    """Down a binomial tree of nodes, then down one in each node."""
    member.hand_over(call.size, call.root, 0)
    width = member.per_node
    node, place = divmod(member.rank, width)
    if not place:
        down(member, call.size, node, (member.processes - 1) // width + 1, lambda other: other * width)
    down(member, call.size, place, width, lambda other: node * width + other)


@_of_uniform_nodes
def _chain_of_nodes(member: Member, call: RankCall) -> None:
    """Along a chain of nodes, and along one in each node."""
    width = member.per_node
    if member.processes <= width:
        return _binomial(member, call)
    member.hand_over(call.size, call.root, 0)
    place, is_last_node = member.rank % width, member.rank == (member.processes - 1) // width * width
    inter = () if is_last_node or place else (member.at(width),)
    ends = place == width - 1 or member.rank == member.processes - 1
    intra = (member.at(1),) if not place or not ends else ()
    source = (member.rank - 1 if place else member.rank - width) if member.rank else -1
    return _pass_on(member, call, source, inter + intra)


def _flat_pipeline(member: Member, call: RankCall) -> None:
    """Send segments to each rank in turn; what is less than a segment at the end is not sent."""
    piece = max(SEGMENT // call.element, 1) * call.element
    number = call.size // piece
    if not number:
        return _flat(member, call)
    if member.rank != call.root:
        return member.wait(*[member.ireceive(call.root) for _ in range(number)])
    for other in member.other_ranks:
        for _ in range(number):
            member.send(other, piece)
    return None


def _knomial(member: Member, call: RankCall) -> None:
    member.prepare()
    above, levels = knomial(member, call.root, _KNOMIAL)
    if above >= 0:
        member.receive(above)
    for below in levels:
        member.wait(*[member.isend(child, call.size) for child in below])


def inter_node(member: Member, call: RankCall, among_leaders: str = "mpich") -> None:
    """Broadcast among the first ranks of nodes, which get it from the root's."""
    member.prepare()
    leaders = member.leaders
    member.hand_over(call.size, call.root, member.leader_of(call.root))
    if leaders is not None:
        leaders.call("bcast", RankCall(call.size, call.element, member.place_of_leader(call.root)), among_leaders)


def _intra_node(member: Member, call: RankCall) -> None:
    """MVAPICH2's choice without its tables."""
    if not call.size:
        return None
    member.prepare()
    if member.processes > 64 or 16384 < call.size < 524288:
        inter_node(member, call)
        if call.size <= 131072:
            return _mpich(member.node, call)
        return _knomial(member.node, RankCall(call.size, call.element))
    return (_binomial if call.size <= 16384 else _scatter_ring)(member, call)


def _segmented(member: Member, place: TreePlace, pieces: list[int]) -> None:
    """Receive segments, one ahead, and send each to all below before the next."""
    receives = [member.ireceive(place.above)] if place.above >= 0 else []
    for number, piece in enumerate(pieces):
        if receives:
            if number + 1 < len(pieces):
                receives.append(member.ireceive(place.above))
            member.wait(receives[number])
        member.wait(*[member.isend(child, piece) for child in place.below])


def segments(call: RankCall, segment_size: int) -> list[int]:
    """Return the bytes of the segments of Open MPI, the last of which has the rest."""
    count, element = call.count, call.element
    length = count
    if element <= segment_size < call.size:
        length = segment_size // element + (segment_size % element > element // 2)
    if not count:
        return []
    return [length * element] * ((count - 1) // length) + [(count - (count - 1) // length * length) * element]


def _pipeline(member: Member, call: RankCall) -> None:
    if member.processes > 1:
        fits = (kib for slope, offset, kib in _PIPELINE if member.processes < slope * call.size + offset)
        _segmented(member, chains(member, call.root, 1), segments(call, 1024 * next(fits, 128)))


def _split_binary(member: Member, call: RankCall) -> None:
    """Send a half of the vector down each side of a binary tree; then pairs of ranks exchange the halves."""
    processes, element = member.processes, call.element
    segment = max(1024 if call.size < 370728 else 8192, element) // element
    halves = (call.count - call.count // 2, call.count // 2)
    if processes == 1:
        return None
    if not halves[1] or segment * element > halves[1] * element:
        return _chain_of_nodes(member, call)
    pieces = [segments(RankCall(half * element, element), segment * element) for half in halves]
    place = binary(member, call.root)
    side = ((member.rank - call.root) % processes + 1) % 2
    if member.rank == call.root:
        for number in range(len(pieces[0])):
            for child, half in zip(place.below, pieces, strict=False):
                if number < len(half):
                    member.send(child, half[number])
    elif not place.below:
        for _ in pieces[side]:
            member.receive(place.above)
    else:
        receives = [member.ireceive(place.above)]
        for number, piece in enumerate(pieces[side]):
            if number + 1 < len(pieces[side]):
                receives.append(member.ireceive(place.above))
            member.wait(receives[number])
            for child in place.below:
                member.send(child, piece)
    return _exchange_halves(member, call.root, side, [half * element for half in halves])


def _exchange_halves(member: Member, root: int, side: int, halves: list[int]) -> None:
    processes = member.processes
    last, pair = (root - 1) % processes, (member.rank + (1 if side == 0 else -1)) % processes
    if processes % 2 and member.rank != root:
        member.swap(pair, halves[side])
    elif processes % 2 == 0:
        if member.rank == root:
            member.send(last, halves[1])
        elif member.rank == last:
            member.receive(root)
        else:
            member.swap(pair, halves[side])


def _mpich(member: Member, call: RankCall) -> None:
    if not member.is_of_nodes:
        member.prepare()
        if member.is_uniform:
            return _binomial_of_nodes(member, call)
    if call.size < 12288 or member.processes <= 8:
        return _binomial(member, call)
    return (_scatter_doubling if call.size < 524288 and member.processes % 2 == 0 else _scatter_ring)(member, call)


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
