"""Traces of liballprof, which Schedgen and ATLAHS read: a text for each rank, a call in each line.

A line is ``MPI_Send:begin:buffer:count:type,size,extent:peer:tag:handle,rank,size:end``, times in microseconds. It
does not say which ranks a communicator has; `commmodel.simulate.traces.handles` finds out. Requests are known by the
addresses of their variables. Main entries: `recognise`, `load`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from commmodel.collectives.call import MOVED, CollectiveCall
from commmodel.errors import DamagedFileError
from commmodel.simulate.traces.action_text import Action, Tags, is_opaque, is_polling, is_waiting
from commmodel.simulate.traces.files import pieces
from commmodel.simulate.traces.handles import Event, Made, Members, Use, resolved
from commmodel.simulate.traces.rank_actions import ForeignTrace, RankActions

_BEGIN = re.compile(rb"(#[^\n]*\n|\s)*+MPI_[A-Za-z_]+:[-0-9.]+:")
_PIECE = 1 << 18
_MICROSECOND = 1e-6
_LARGEST = 2**53

_SIGNATURES = {
    **dict.fromkeys(["Send", "Bsend", "Ssend", "Rsend"], "pitiic"),
    **dict.fromkeys(["Isend", "Ibsend", "Issend", "Irsend", "Irecv"], "pitiicq"),
    **dict.fromkeys(["Send_init", "Bsend_init", "Ssend_init", "Rsend_init", "Recv_init"], "pitiicq"),
    "Recv": "pitiicp",
    "Sendrecv": "pitiipitiicp",
    "Sendrecv_replace": "pitiiiicp",
    "Start": "q",
    "Startall": "iq",
    "Wait": "qp",
    "Waitall": "iqp",
    "Waitany": "iqpp",
    "Waitsome": "iqppp",
    "Request_free": "q",
    "Barrier": "c",
    "Bcast": "pitic",
    "Reduce": "ppitoic",
    **dict.fromkeys(["Allreduce", "Scan", "Exscan", "Reduce_scatter_block"], "ppitoc"),
    **dict.fromkeys(["Gather", "Scatter"], "pitpitic"),
    **dict.fromkeys(["Allgather", "Alltoall"], "pitpitc"),
    "Gatherv": "pitpvdtic",
    "Scatterv": "pvdtpitic",
    "Allgatherv": "pitpvdtc",
    "Alltoallv": "pvdtpvdtc",
    "Reduce_scatter": "ppvtoc",
    "Comm_dup": "cp",
    "Comm_split": "ciip",
    **dict.fromkeys(["Cart_create", "Graph_create"], "cippip"),
    "Comm_create": "cip",
}
"""Arguments: `p` a pointer and `o` an operation (of no use here), `i` a number, `t` a type, `c` a communicator, `q` a
request's address, `v` counts (an address and a list), `d` a list of no use. Times stand around them."""
_ALL_OF_PARENT = {"Comm_dup", "Cart_create", "Graph_create"}
_MPICH_HANDLES = {0x44, 0x84, 0xC4}
"""Highest byte of MPICH's handles of communicators; those of Open MPI are addresses, or small numbers in Fortran."""


def recognise(begin: bytes) -> bool:
    r"""Whether a file that begins so is a trace of liballprof.

    >>> recognise(b"# time: now\n\nMPI_Init:-:140:141:12.0\n"), recognise(b"0 init\n")
    (True, False)
    """
    return _BEGIN.match(begin) is not None


def load(path: Path, files: Sequence[Path]) -> ForeignTrace:
    """Return the trace of files, one for each rank in the order of ranks; reads through them once."""
    members, numbers = resolved([[*_events(file)] for file in files])
    tags = Tags()

    def parts(rank: int, not_carried: Counter[str]) -> Iterator[list[Action]]:
        actions = RankActions(rank, members, tags, not_carried)
        writer = _CallWriter(actions, numbers[rank], members)
        for calls in _calls(files[rank]):
            for call in calls:
                writer.write(call)
            yield actions.take()
        actions.complete_all()
        yield actions.take()

    return ForeignTrace(path, len(files), parts)


class _Call:
    """A line: the call's name without MPI_, when it began and ended, and its arguments."""

    __slots__ = ("_line", "_path", "arguments", "begin", "communicator", "end", "name")

    def __init__(self, line: str, path: Path, number: int) -> None:
        self._path, self._line = path, number
        name, *fields = line.split(":")
        if not name.startswith("MPI_") or len(fields) < 2:
            raise self._damaged(f"{line[:60]!r}: expected MPI_NAME:begin:...:end")
        self.name = name.removeprefix("MPI_")
        self.begin, self.end = self._time(fields[0]), self._time(fields[-1])
        self.communicator: tuple[int, int, int] | None = None
        self.arguments: list[Any] = []
        signature = _SIGNATURES.get(self.name)
        if signature is None and self.name[:1] == "I":
            of_blocking = _SIGNATURES.get(self.name[1:].capitalize())
            signature = None if of_blocking is None else of_blocking + "q"
        if signature is not None:
            self._read(signature, fields[1:-1])

    def _damaged(self, problem: str) -> DamagedFileError:
        return DamagedFileError(self._path, f"line {self._line}", problem)

    def _time(self, field: str) -> float | None:
        """Return seconds, None where MPI has no clock yet or no more."""
        if field == "-":
            return None
        try:
            time = float(field) * _MICROSECOND
        except ValueError:
            time = float("nan")
        if not isfinite(time):
            raise self._damaged(f"time {field[:40]!r}: expected microseconds")
        return time

    def _numbers(self, field: str, count: int | None, expected: str) -> list[int]:
        try:
            numbers = [int(word) for word in field.split(",")]
        except ValueError:
            numbers = []
        if not numbers or (count is not None and len(numbers) != count) or max(map(abs, numbers)) >= 1 << 64:
            raise self._damaged(f"{self.name}: {field[:60]!r}: expected {expected}")
        return numbers

    def _read(self, signature: str, fields: list[str]) -> None:
        expected = len(signature) + signature.count("v") + signature.count("d")
        if len(fields) != expected:
            raise self._damaged(f"{self.name} with {len(fields)} arguments: expected {expected}")
        place = 0
        for letter in signature:
            field = fields[place]
            if letter == "i" or letter == "q":
                self.arguments += self._numbers(field, 1, "a number")
            elif letter == "t":
                self.arguments.append(self._numbers(field, 3, "type,size,extent of the datatype")[1])
            elif letter == "c":
                handle, rank, size = self._numbers(field, 3, "handle,rank,size of the communicator")
                self.communicator = handle, rank, size
            elif letter == "v":
                self.arguments.append(self._numbers(fields[place + 1], None, "counts"))
            place += 2 if letter in "vd" else 1

    def size(self, count: int, of_type: int) -> int:
        """Return bytes."""
        size = count * of_type
        if not 0 <= size < _LARGEST:
            raise self._damaged(f"{self.name} of {count} elements of {of_type} bytes: expected 0 to 2^53 bytes")
        return size

    def sizes(self, counts: Sequence[int], of_type: int, processes: int) -> tuple[int, ...]:
        """Return bytes of each rank."""
        if len(counts) != processes:
            raise self._damaged(f"{self.name} with {len(counts)} counts in a communicator of {processes} ranks")
        return tuple([self.size(count, of_type) for count in counts])

    def peer(self, peer: int, *, source: bool = False) -> int | None:
        """Return a rank in the communicator, −1 for any, None for MPI_PROC_NULL, whose number the library tells."""
        handle, _, size = self.communicator or (0, 0, 0)
        if peer >= size:
            raise self._damaged(f"{self.name}: rank {peer} of a communicator of {size}")
        if peer >= 0:
            return peer
        is_mpich = (handle & 0xFFFFFFFF) >> 24 in _MPICH_HANDLES
        return -1 if source and peer == (-2 if is_mpich else -1) else None

    def tag(self, tag: int) -> int:
        """Return a tag, −1 for any."""
        if tag >= 1 << 31:
            raise self._damaged(f"{self.name}: tag {tag}: at most {2**31 - 1}")
        return max(tag, -1)


def _calls(path: Path) -> Iterator[list[_Call]]:
    """Yield a file's calls in lists."""
    number = 0
    for piece in pieces(path, _PIECE):
        calls = []
        for raw in piece.split(b"\n")[: -1 if piece.endswith(b"\n") else None]:
            number += 1
            line = raw.strip()
            if not line or line.startswith(b"#"):
                continue
            try:
                text = line.decode("ascii")
            except UnicodeDecodeError:
                raise DamagedFileError(path, f"line {number}", "not text: expected MPI_NAME:begin:...:end") from None
            calls.append(_Call(text, path, number))
        yield calls


def _is_new(handles: dict[int, tuple[int, int]], communicator: tuple[int, int, int]) -> bool:
    """Note a handle; return whether it has not been seen with this rank and size."""
    handle, rank, size = communicator
    if handles.get(handle) == (rank, size):
        return False
    handles[handle] = rank, size
    return True


def _events(path: Path) -> Iterator[Event]:
    """Yield what a rank's calls tell of communicators."""
    handles: dict[int, tuple[int, int]] = {}
    for calls in _calls(path):
        for call in calls:
            if call.communicator is None:
                continue
            if _is_new(handles, call.communicator):
                yield Use(*call.communicator)
            if call.name == "Comm_split":
                yield Made(call.communicator[0], True, *call.arguments[:2])
            elif call.name in _ALL_OF_PARENT:
                yield Made(call.communicator[0], False)


class _CallWriter:
    """Writes a rank's calls as actions."""

    def __init__(self, actions: RankActions, numbers: Sequence[int | None], members: dict[int, Members]) -> None:
        self._actions, self._numbers, self._members = actions, iter(numbers), members
        self._handles: dict[int, tuple[int, int]] = {}
        self._number: dict[int, int | None] = {}
        self._persistent: dict[int, Any] = {}
        self._polled = False

    def write(self, call: _Call) -> None:
        """Write a call and the computation before it."""
        name, actions = call.name, self._actions
        polls = is_polling(f"MPI_{name}")
        actions.call(call.begin, call.end, polls=polls and self._polled)
        self._polled = polls
        number: int | None = None
        if call.communicator is not None:
            if _is_new(self._handles, call.communicator):
                self._number[call.communicator[0]] = next(self._numbers)
            number = self._number[call.communicator[0]]
        seconds = 0.0 if call.begin is None or call.end is None else max(call.end - call.begin, 0.0)
        if is_waiting(f"MPI_{name}") and not call.arguments:
            if name == "Finalize":
                actions.complete_all()
        elif call.communicator is None and not call.arguments:
            if is_opaque(f"MPI_{name}"):
                actions.opaque(f"MPI_{name}", seconds)
            else:
                actions.compute(seconds)
        elif call.communicator is None:
            self._complete(call)
        elif number is None or not self._carry(call, number):
            actions.opaque(f"MPI_{name}" + (" of a communicator without ranks" if number is None else ""), seconds)

    def _carry(self, call: _Call, communicator: int) -> bool:
        """Write a message or a collective; return whether it has any form."""
        name, arguments = call.name, call.arguments
        if name.endswith("_init"):
            started = "I" + name.removesuffix("_init").lower()
            self._persistent[arguments[-1]] = partial(self._message, call, started, communicator, arguments)
            return True
        if name in _SIGNATURES and name.startswith(("Comm_", "Cart_", "Graph_")):
            self._actions.collective(communicator, CollectiveCall("allreduce", 8))
            return True
        verb = name.lower()
        later = verb not in MOVED
        if later and verb.removeprefix("i") not in MOVED:
            self._message(call, name, communicator, arguments)
            return True
        request = arguments.pop() if later else None
        collective = self._collective(verb.removeprefix("i") if later else verb, call, communicator)
        if collective is not None:
            self._actions.collective(communicator, collective, request)
        return collective is not None

    def _message(self, call: _Call, name: str, communicator: int, arguments: Sequence[int]) -> None:
        if name == "Sendrecv":
            count, size, target, tag, room, of_type, source, received_tag = arguments
            self._exchange(call, communicator, (count, size, target, tag), (room, of_type, source, received_tag))
        elif name == "Sendrecv_replace":
            count, size, target, tag, source, received_tag = arguments
            self._exchange(call, communicator, (count, size, target, tag), (count, size, source, received_tag))
        else:
            request = arguments[4] if len(arguments) > 4 else None
            is_receive = name.lower() in ("recv", "irecv")
            self._one_way(call, communicator, arguments[:4], request, is_receive=is_receive)

    def _one_way(
        self, call: _Call, communicator: int, arguments: Sequence[int], request: object, *, is_receive: bool
    ) -> None:
        count, of_type, rank, number = arguments
        size, tag = call.size(count, of_type), call.tag(number)
        peer = call.peer(rank, source=is_receive)
        if peer is None:
            self._actions.complete(request)
        elif is_receive:
            self._actions.receive(communicator, peer, tag, size, request)
        else:
            self._actions.send(communicator, peer, max(tag, 0), size, request)

    def _exchange(self, call: _Call, communicator: int, sent: Sequence[int], received: Sequence[int]) -> None:
        self._one_way(call, communicator, received, "received", is_receive=True)
        self._one_way(call, communicator, sent, "sent", is_receive=False)
        self._actions.complete("received")
        self._actions.complete("sent")

    def _collective(self, verb: str, call: _Call, communicator: int) -> CollectiveCall | None:
        """Return a collective; what means nothing on this rank is left out."""
        members, arguments, fields = self._members[communicator], call.arguments, MOVED[verb].split()
        root = arguments[-1] if "root" in fields else 0
        if "root" in fields and call.peer(root) is None:
            return None
        of_root = {"gather": "received", "scatter": "sent"}.get(verb.removesuffix("v"))
        values: dict[str, Any] = {}
        for field, count, of_type in zip(fields, arguments[::2], arguments[1::2], strict=False):
            values["element"] = of_type
            if of_root is None or not field.startswith(of_root) or members[root] == self._actions.rank:
                is_of_each = field.endswith("_counts")
                values[field] = call.sizes(count, of_type, len(members)) if is_of_each else call.size(count, of_type)
        return CollectiveCall.of(verb, root=root, **values)

    # Requests

    def _complete(self, call: _Call) -> None:
        arguments, actions = call.arguments, self._actions
        first = arguments[-1]
        addresses = [first] if len(arguments) == 1 else self._array(first, arguments[0])
        if call.name.startswith("Start"):
            for address in addresses:
                if address in self._persistent:
                    self._persistent[address]()
        elif call.name in ("Wait", "Waitall"):
            for address in addresses:
                actions.complete(address)
        elif call.name != "Request_free":  # which one of them has been completed, the trace does not tell
            opened = [address for address in addresses if actions.is_open(address)]
            for address in opened[:1]:
                actions.complete(address)

    def _array(self, first: int, count: int) -> list[int]:
        """Return the addresses of an array of requests: of 8 bytes, or of 4 where that finds more open ones."""
        count = min(max(count, 0), 1 << 20)

        def is_in_use(address: int) -> bool:
            return self._actions.is_open(address) or address in self._persistent

        arrays = [[first + step * place for place in range(count)] for step in (8, 4)]
        return max(arrays, key=lambda array: sum(map(is_in_use, array)))
