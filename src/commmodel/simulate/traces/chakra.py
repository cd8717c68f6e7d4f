"""Execution traces of Chakra (``.et``): for each rank a file of messages of Protocol Buffers, each after its length.

The first is a GlobalMetadata, the others are nodes, which compute, send, receive or call a collective, and depend on
data of others. Control dependencies, who called whom, are no order, as in Chakra's own feeder: some go in circles. A
rank of a replay does one thing at a time, so its nodes are put in an order: those that depend on no message
first, then by when they began, then by their place. Messages do not block, what depends on one waits for it. The few
fields that are needed are decoded here, which takes less than a description of all of them. Main entries: `recognise`,
`load`.
"""

import heapq
import struct
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from commmodel.collectives.call import CollectiveCall
from commmodel.errors import DamagedFileError
from commmodel.simulate.traces.action_text import Action, Tags
from commmodel.simulate.traces.files import chunks
from commmodel.simulate.traces.rank_actions import WORLD, ForeignTrace, RankActions

_LARGEST = 1 << 26
"""Bytes of a message."""
_MOST = 1 << 53
_CHUNK = 1 << 18
_AT_ONCE = 4096
"""Nodes whose actions are written together."""
_MICROSECOND = 1e-6
_FREE, _LOAD, _STORE, _COMPUTE, _SEND, _RECEIVE, _COLLECTIVE = range(1, 8)
_KINDS = {_SEND: "COMM_SEND_NODE", _RECEIVE: "COMM_RECV_NODE", _COLLECTIVE: "COMM_COLL_NODE"}
_VERBS = (
    "allreduce", "reduce", "allgather", "gather", "scatter", "bcast", "alltoall", "reduce_scatter_block",
    "reduce_scatter_block", "barrier",
)  # fmt: skip
"""Collectives by their number in Chakra."""
_OF_EACH = {"scatter", "alltoall", "reduce_scatter_block"}
"""Collectives whose size is that of all ranks' parts together."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_ZIGZAG = {15, 17}
_FORMATS = {3: "<d", 5: "<f", 19: "<I", 21: "<Q", 23: "<i", 25: "<q"}


class _WireError(Exception):
    """What a message does not hold as it should; the byte within it."""

    def __init__(self, byte: int, problem: str) -> None:
        super().__init__(problem)
        self.byte, self.problem = byte, problem


class _Node(NamedTuple):
    byte: int
    number: int
    kind: int
    depends_on: tuple[int, ...]
    begin: int
    duration: int
    attributes: dict[str, Any]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of 64 bits and the place behind it."""
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise _WireError(at, "a number is cut off")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & 0xFFFFFFFFFFFFFFFF, at
    raise _WireError(at, "a number of more than 10 bytes")


def _fields(data: bytes) -> Iterator[tuple[int, int, Any, int]]:
    """Yield number, wire type, value and place of each field of a message."""
    at = 0
    while at < len(data):
        place = at
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, wire, value, place
            continue
        if wire == _BYTES:
            length, at = _varint(data, at)
        elif wire in (_FIXED32, _FIXED64):
            length = 4 if wire == _FIXED32 else 8
        else:
            raise _WireError(place, f"wire type {wire}: no message of Protocol Buffers")
        if number < 1 or at + length > len(data):
            raise _WireError(place, f"field {number} of {length} bytes does not fit into its message")
        yield number, wire, data[at : at + length], place
        at += length


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _attribute(data: bytes) -> tuple[str, Any]:
    """Return an attribute's name and value; None for lists."""
    name, value = "", None
    for number, wire, content, _ in _fields(data):
        if number == 1 and wire == _BYTES:
            name = content.decode("utf-8", "replace")
        elif wire == _VARINT and number in _ZIGZAG:
            value = (content >> 1) ^ -(content & 1)
        elif wire == _VARINT:
            value = _signed(content)
        elif number == 29 and wire == _BYTES:
            value = content.decode("utf-8", "replace")
        elif number in _FORMATS and wire == (_FIXED64 if _FORMATS[number][1] in "dQq" else _FIXED32):
            (value,) = struct.unpack(_FORMATS[number], content)
    return name, value


def _numbers(value: Any, wire: int) -> list[int]:
    """Return a repeated number's values, which stand alone or packed."""
    if wire == _VARINT:
        return [value]
    numbers, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        numbers.append(number)
    return numbers


def _node(data: bytes, byte: int) -> _Node:
    values = {1: 0, 3: 0, 6: 0, 7: 0}
    depends_on: list[int] = []
    attributes = {}
    for number, wire, value, place in _fields(data):
        if number in values:
            if wire != _VARINT:
                raise _WireError(place, f"field {number} of a node is no number")
            values[number] = value
        elif number == 5 and wire in (_VARINT, _BYTES):
            depends_on += _numbers(value, wire)
        elif number == 10 and wire == _BYTES:
            name, content = _attribute(value)
            attributes[name] = content
    if values[3] > _COLLECTIVE:
        raise _WireError(0, f"a node of kind {values[3]}: expected 0 to {_COLLECTIVE}")
    if values[6] >= _MOST or values[7] >= _MOST:
        raise _WireError(0, "a time of 2^53 microseconds or more")
    return _Node(byte, values[1], values[3], tuple(dict.fromkeys(depends_on)), values[6], values[7], attributes)


def recognise(begin: bytes) -> bool:
    r"""Whether a file that begins so is a trace of Chakra: its first message has a version, or attributes, alone.

    >>> recognise(b"\x07\x0a\x050.0.4\x02\x08\x01"), recognise(b"0 init\n")
    (True, False)
    """
    try:
        length, at = _varint(begin, 0)
        if not 0 < length <= _LARGEST:
            return False
        message = begin[at : at + length]
        if len(message) < length:  # a long first attribute
            return len(begin) >= 1 << 12 and message[0] == 0x12
        fields = list(_fields(message))
    except _WireError:
        return False
    return all(
        wire == _BYTES and (number == 2 or (number == 1 and value.decode("ascii", "replace").isprintable()))
        for number, wire, value, _ in fields
    )


def _messages(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the place and the bytes of each message of a file."""
    source, data, begin = chunks(path, _CHUNK), b"", 0
    at = 0
    while True:
        try:
            length, place = _varint(data, at)
            if length > _LARGEST:
                problem = f"a message of {length} bytes: expected at most {_LARGEST}: damaged, or no trace of Chakra"
                raise DamagedFileError(path, f"byte {begin + at}", problem)
            complete = place + length <= len(data)
        except _WireError as error:
            if len(data) - at >= 10:
                raise DamagedFileError(path, f"byte {begin + at}", error.problem) from None
            complete = False
        if complete:
            yield begin + place, data[place : place + length]
            at = place + length
            continue
        more = next(source, None)
        if more is None:
            break
        data, begin, at = data[at:] + more, begin + at, 0
    if at < len(data):
        raise DamagedFileError(path, f"byte {begin + at}", "the last message is cut off: the file is not complete")


def _nodes(path: Path) -> Iterator[_Node]:
    """Yield the nodes of a file."""
    messages = _messages(path)
    next(messages, None)  # the metadata
    for byte, message in messages:
        try:
            yield _node(message, byte)
        except _WireError as error:
            raise DamagedFileError(path, f"byte {byte + error.byte}", error.problem) from None


class _ProcessGroups:
    """Process groups: their ranks are those whose collectives name them."""

    def __init__(self, files: Sequence[Path]) -> None:
        ranks: dict[str, list[int]] = defaultdict(list)
        for rank, file in enumerate(files):
            for name in dict.fromkeys(map(_group_name, _nodes(file))):
                if name:
                    ranks[name].append(rank)
        self.members: dict[int, Sequence[int]] = {WORLD: range(len(files))}
        self.numbers = {"": WORLD}
        for number, (name, members) in enumerate(ranks.items(), 1):
            self.numbers[name], self.members[number] = number, members


def _group_name(node: _Node) -> str:
    name = node.attributes.get("pg_name")
    return name if isinstance(name, str) and node.kind == _COLLECTIVE else ""


def load(path: Path, files: Sequence[Path]) -> ForeignTrace:
    """Return the trace of files, one for each rank in the order of ranks; reads through them once."""
    groups = _ProcessGroups(files)
    tags = Tags()
    left_out: dict[int, int] = {}

    def parts(rank: int, not_carried: Counter[str]) -> Iterator[list[Action]]:
        actions = RankActions(rank, groups.members, tags, not_carried)
        writer = _NodeWriter(actions, files[rank], groups)
        nodes, left_out[rank] = _with_known_dependencies([*_nodes(files[rank])])
        for number, node in enumerate(_in_order(nodes, files[rank]), 1):
            writer.write(node)
            if not number % _AT_ONCE:
                yield actions.take()
        actions.complete_all()
        yield actions.take()

    def remarks() -> list[str]:
        count = sum(left_out.values())
        return [f"left out: {count} dependencies on nodes that the trace does not have"] if count else []

    return ForeignTrace(path, len(files), parts, remarks)


def _with_known_dependencies(nodes: list[_Node]) -> tuple[list[_Node], int]:
    """Return nodes without dependencies on others, which traces have that were cut out of larger ones, and how many."""
    numbers = {node.number for node in nodes}
    count = 0
    for place, node in enumerate(nodes):
        if not numbers.issuperset(node.depends_on):
            depends_on = tuple(number for number in node.depends_on if number in numbers)
            count += len(node.depends_on) - len(depends_on)
            nodes[place] = node._replace(depends_on=depends_on)
    return nodes, count


def _in_order(nodes: Sequence[_Node], path: Path) -> Iterator[_Node]:
    """Yield the nodes of a rank so that each comes after those that it depends on."""
    places = {node.number: place for place, node in enumerate(nodes)}
    if len(places) < len(nodes):
        second = next(node for place, node in enumerate(nodes) if places[node.number] != place)
        raise DamagedFileError(path, f"byte {second.byte}", f"node {second.number} for a second time")
    on_processor = any(n.kind == _COMPUTE and n.duration and not n.attributes.get("is_cpu_op") for n in nodes)
    dependents: dict[int, list[int]] = defaultdict(list)
    missing = [len(node.depends_on) for node in nodes]
    awaits = bytearray(len(nodes))
    for place, node in enumerate(nodes):
        for number in node.depends_on:
            dependents[places[number]].append(place)
            awaits[place] |= nodes[places[number]].kind in (_SEND, _RECEIVE)

    def key(place: int) -> tuple[int, int, int]:
        return awaits[place], nodes[place].begin, place

    ready = [key(place) for place, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    done = 0
    while ready:
        place = heapq.heappop(ready)[2]
        node = nodes[place]
        if on_processor and node.kind == _COMPUTE and node.attributes.get("is_cpu_op"):
            node = node._replace(duration=0)
        yield node
        done += 1
        for dependent in dependents.pop(place, ()):
            missing[dependent] -= 1
            if not missing[dependent]:
                heapq.heappush(ready, key(dependent))
    if done < len(nodes):
        node = next(node for node, count in zip(nodes, missing, strict=True) if count)
        problem = f"node {node.number} waits for itself, or for one that does: dependencies go in a circle"
        raise DamagedFileError(path, f"byte {node.byte}", problem)


class _NodeWriter:
    """Writes a rank's nodes as actions."""

    def __init__(self, actions: RankActions, path: Path, groups: _ProcessGroups) -> None:
        self._actions, self._path, self._groups = actions, path, groups

    def write(self, node: _Node) -> None:
        """Write what a node does, after what it depends on."""
        actions, seconds = self._actions, node.duration * _MICROSECOND
        for number in node.depends_on:
            actions.complete(number)
        if node.kind in (_LOAD, _STORE, _COMPUTE):
            actions.compute(seconds)
        elif node.kind == _COLLECTIVE:
            if "comm_type" in node.attributes or not node.attributes.get("is_cpu_op"):  # else what launches one
                self._collective(node)
        elif node.kind in (_SEND, _RECEIVE):
            peer = self._number(node, "comm_dst" if node.kind == _SEND else "comm_src", None, len(self._ranks))
            if peer is None:
                actions.opaque(f"{_KINDS[node.kind]} without a rank", seconds)
                return
            size, tag = self._number(node, "comm_size", None, _MOST), self._number(node, "comm_tag", 0, 1 << 31)
            post = actions.send if node.kind == _SEND else actions.receive
            post(WORLD, peer, tag or 0, size or 0, node.number)

    @property
    def _ranks(self) -> Sequence[int]:
        return self._groups.members[WORLD]

    def _number(self, node: _Node, name: str, default: int | None, end: int) -> int | None:
        value = node.attributes.get(name, default)
        if value is not None and not (isinstance(value, int) and 0 <= value < end):
            problem = f"node {node.number}: {name} {str(value)[:40]!r}: expected 0 to {end - 1}"
            raise DamagedFileError(self._path, f"byte {node.byte}", problem)
        return value

    def _collective(self, node: _Node) -> None:
        number = self._number(node, "comm_type", None, len(_VERBS))
        size = self._number(node, "comm_size", None, _MOST)
        if number is None or (size is None and _VERBS[number] != "barrier"):
            problem = f"node {node.number}: a collective without comm_type or comm_size"
            raise DamagedFileError(self._path, f"byte {node.byte}", problem)
        communicator, verb = self._groups.numbers[_group_name(node)], _VERBS[number]
        processes = len(self._groups.members[communicator])
        part = -(-(size or 0) // processes) if verb in _OF_EACH else size or 0
        if (call := CollectiveCall.of(verb, sent=part, received=part)) is not None:
            self._actions.collective(communicator, call)
