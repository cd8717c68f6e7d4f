"""A call of a collective operation as one rank makes it. Main entries: `CollectiveCall`, `parse`.

This record is what readers of traces and of recordings, the MPI library of simulated programs and the expansion into
messages exchange (`commmodel.simulate.work.collective_expansion`). `CollectiveCall.text` writes it as an action of a
time-independent trace (SimGrid: ``smpirun -replay``), `parse` reads such an action; nothing else knows that text. The
library of simulated programs has the same fields in C: ``struct online_call`` in ``_core/online``.

Libraries choose by the number of elements, by the operator and by where buffers are, too. A trace has no word for
these: ours stand behind the arguments. So do communicators: ``within NUMBER`` before the action.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from commmodel._core.common.codes import TYPE_SIZES
from commmodel.collectives.operation import OPERATIONS, OPERATORS, Operator
from commmodel.errors import InputError
from commmodel.units import parse_number

_BYTE = 6
_ELEMENT, _IN_PLACE, _BLOCK = "element=", "in-place", "block"
"""Words behind the arguments: bytes of an element, MPI_IN_PLACE, and of a reducescatter MPI_Reduce_scatter_block."""
_MOST_BYTES = 1 << 53
MOVED = {
    "barrier": "",
    "bcast": "sent root",
    "gather": "sent received root",
    "gatherv": "sent received_counts root",
    "scatter": "sent received root",
    "scatterv": "sent_counts received root",
    "allgather": "sent received",
    "allgatherv": "sent received_counts",
    "alltoall": "sent received",
    "alltoallv": "sent_counts received_counts",
    "alltoallw": "sent_counts received_counts",
    "reduce": "sent root",
    "allreduce": "sent",
    "reduce_scatter": "received_counts",
    "reduce_scatter_block": "sent",
    "scan": "sent",
    "exscan": "sent",
}
"""Operation -> the fields of a call that say what it moves; the order is that of `enum verb` of simulated programs."""


class CollectiveCall(NamedTuple):
    """A collective as one rank calls it; sizes in bytes."""

    operation: str
    """MPI's name, without the prefix and in lower case: one of ``barrier`` to ``exscan``."""
    sent: int = 0
    received: int = 0
    """What MPI's counts say: of the whole vector of a broadcast, reduction or scan, else of the block for or from one
    rank."""
    root: int = 0
    """A rank of the communicator."""
    element: int = 0
    """Of an element of the datatype; 0: not known."""
    operator: Operator = "predefined"
    """Of a reduction, as in `commmodel.collectives.Problem`."""
    in_place: bool = False
    """Whether the send buffer is MPI_IN_PLACE."""
    communicator: int = 0
    """Its number; 0 is MPI_COMM_WORLD."""
    sent_counts: tuple[int, ...] = ()
    received_counts: tuple[int, ...] = ()
    """To and from each rank, of an operation that has such; empty where they mean nothing on this rank."""
    flops: float = 0.0
    """That the rank computes after its messages."""
    unit: int = 1
    """Of the datatype that a trace counts in: SMPI's default reduce_scatter goes by it."""
    is_pending: bool = False
    """Whether the rank goes on while it lasts, as with MPI_Ibcast; in a trace it is a blocking call at its end."""
    is_derived: bool = False
    """Whether a reduction's datatype is none of MPI's own; a trace does not say it."""

    @staticmethod
    def of(operation: str, **fields: Any) -> "CollectiveCall | None":
        """Return a call with those of the given fields that matter to its operation; None where that is none.

        >>> CollectiveCall.of("bcast", sent=8, received=8, root=1)[:4]
        ('bcast', 8, 0, 1)
        """
        names = MOVED.get(operation)
        if names is None:
            return None
        combines = OPERATIONS[operation].combines
        names += " element operator" * combines + " element" * (operation == "bcast")
        names += " in_place" * (operation == "alltoall") + " communicator"
        return CollectiveCall(operation)._replace(**{name: fields[name] for name in names.split() if name in fields})

    def text(self, processes: int) -> str:
        """Return the action of a trace, of a communicator of so many processes: counts are in bytes, the type is 6.

        >>> CollectiveCall("gatherv", 8, received_counts=(8, 16), communicator=3).text(2)
        'within 3 gatherv 8 8 16 0 6 6'
        >>> CollectiveCall("allreduce", 8, element=4, operator="commutative").text(4)
        'allreduce 8 0 6 element=4 commutative'
        """
        words = [f"within {self.communicator}"] if self.communicator else []
        words += [self._arguments(processes)]
        words += [f"{_ELEMENT}{self.element}"] * (self.element > 0)
        words += [self.operator] * (self.operator != OPERATORS[0])
        words += [_IN_PLACE] * self.in_place + [_BLOCK] * (self.operation == "reduce_scatter_block")
        return " ".join(words)

    def _arguments(self, processes: int) -> str:
        action = _ACTIONS.get(self.operation, self.operation)
        call = self
        if self.operation == "reduce_scatter_block":
            call = self._replace(received_counts=(self.sent,) * processes)
        words = [action]
        for name in _LAYOUTS[action].split():
            if name.endswith("_counts"):
                words += map(str, getattr(call, name) or [0] * processes)
            elif name == "flops":
                words.append(f"{call.flops:.12g}")
            else:
                words.append(str(getattr(call, name, _CONSTANTS.get(name, ""))))
        return " ".join(words)


_ACTIONS = {"reduce_scatter": "reducescatter", "reduce_scatter_block": "reducescatter", "alltoallw": "alltoallv"}
"""Operation -> its action in a trace, where that has another name."""
_CONSTANTS = {"type": _BYTE, "buffer": 0}
"""What is written for the types, and for the sizes of buffers, which nobody reads."""
_LAYOUTS = {
    "barrier": "",
    "bcast": "sent root type",
    "reduce": "sent flops root type",
    **dict.fromkeys(("allreduce", "scan", "exscan"), "sent flops type"),
    **dict.fromkeys(("gather", "scatter"), "sent received root type type"),
    **dict.fromkeys(("allgather", "alltoall"), "sent received type type"),
    "gatherv": "sent received_counts root type type",
    "scatterv": "sent_counts received root type type",
    "allgatherv": "sent received_counts type",
    "alltoallv": "buffer sent_counts buffer received_counts type type",
    "reducescatter": "received_counts flops type",
}
"""Action -> its arguments in their order: fields of a call, of which counts are one for each rank; types stand last."""


class _Words:
    """The words of one action, from its name on."""

    def __init__(self, words: Sequence[str], type_size: float) -> None:
        self.action, *arguments = words
        self.type_size = type_size
        end = len(arguments)
        while end and _is_of_call(arguments[end - 1]):
            end -= 1
        self.words, self.of_call = arguments[:end], arguments[end:]

    def _word(self, position: int, name: str) -> str:
        if position >= len(self.words):
            raise InputError(
                f"{self.action!r} has {len(self.words)} arguments: argument {position + 1}, {name}, is missing"
            )
        return self.words[position]

    def amount(self, position: int, name: str) -> float:
        """Return a number ≥ 0."""
        word = self._word(position, name)
        try:
            value = parse_number(word)
        except InputError:
            raise InputError(f"{name} {word[:40]!r}: expected a finite number") from None
        if value < 0:
            raise InputError(f"{name} {word[:40]!r}: expected a finite number that is not negative")
        return value

    def count(self, position: int, name: str, most: int = _MOST_BYTES) -> int:
        """Return an integer ≥ 0."""
        value = self.amount(position, name)
        if value != int(value) or value > most:
            raise InputError(f"{name} {self.words[position][:40]!r}: expected a whole number from 0 to {most}")
        return int(value)

    def sizes(self, position: int, name: str, processes: int, type_at: int) -> tuple[int, ...]:
        """Return the bytes for each rank."""
        if position + processes > len(self.words):
            have = max(0, len(self.words) - position)
            mend = "; of a communicator of fewer, say which with `communicator` and `within`"
            raise InputError(f"{self.action!r} has {have} {name}: expected one for each of {processes} ranks{mend}")
        unit = self.unit(type_at)
        return tuple([self.count(position + rank, name) * unit for rank in range(processes)])

    def unit(self, position: int) -> int:
        """Return the bytes of the type named there, or of the default type."""
        if position >= len(self.words):
            return int(self.type_size)
        return TYPE_SIZES[self.count(position, "type", len(TYPE_SIZES) - 1)]

    def element(self, type_at: int) -> int:
        """Return the bytes of an element: as a word says, else of that type; 0 of a type that counts bytes."""
        word = next((word for word in self.of_call if word.startswith(_ELEMENT)), f"{_ELEMENT}0")
        if not re.fullmatch(r"\d{1,18}", word.removeprefix(_ELEMENT)):
            raise InputError(f"{word[:40]!r}: expected a whole number of bytes")
        unit = self.unit(type_at)
        is_named = type_at < len(self.words) and self.count(type_at, "type") != _BYTE
        return int(word.removeprefix(_ELEMENT)) or (unit if unit > 1 or is_named else 0)

    def root(self, position: int, processes: int) -> int:
        """Return the rank named there, or 0."""
        return self.count(position, "root", processes - 1) if position < len(self.words) else 0


def _is_of_call(word: str) -> bool:
    return word in {*OPERATORS, _IN_PLACE, _BLOCK} or word.startswith(_ELEMENT)


def parse(text: str, type_size: float, processes_of: Callable[[int], int]) -> CollectiveCall:
    """Read a collective of a trace: action and arguments; `InputError` where one is missing or wrong.

    `type_size` is the bytes of the trace's default type; `processes_of` says how many ranks a communicator has, 0 being
    that of all.

    >>> parse("allreduce 1 500 0", 1, lambda _: 2)[:5]
    ('allreduce', 8, 0, 0, 8)
    """
    words = _Words(text.split(), type_size)
    number = 0
    if words.action == "within":
        number = words.count(0, "communicator")
        processes = processes_of(number)
        action = words.words[1] if len(words.words) > 1 else ""
        if action not in _LAYOUTS:
            raise InputError(f"within communicator {number}: {action[:40]!r} is no collective")
        words = _Words([*words.words[1:], *words.of_call], type_size)
    else:
        processes = processes_of(0)
    call, type_at = _read(words, processes)
    operator = next((name for name in OPERATORS if name in words.of_call), OPERATORS[0])
    return call._replace(
        communicator=number,
        element=words.element(type_at) if call.operation != "barrier" else 0,
        unit=words.unit(type_at) if call.operation != "barrier" else 1,
        operator=operator,
        in_place=_IN_PLACE in words.of_call,
    )


def parse_definition(text: str) -> tuple[int, str]:
    """Return the number of a communicator and the words for its ranks, from the action that defines it.

    >>> parse_definition("communicator 3 0-6:2")
    (3, '0-6:2')
    """
    words = _Words(text.split(), 1)
    return words.count(0, "communicator"), " ".join(words.words[1:])


def _read(words: _Words, processes: int) -> tuple[CollectiveCall, int]:
    """Return the call of an action, and where its type stands."""
    fields = _LAYOUTS[words.action].split()
    places: dict[str, int] = {}
    end = 0
    for name in fields:
        places.setdefault(name, end)
        end += processes if name.endswith("_counts") else 1
    sent_type = places.get("type", 0) + (words.action == "allgatherv")  # which SimGrid reads one place further
    received_type = sent_type + (fields.count("type") > 1)
    has_counts, receives = "_counts" in _LAYOUTS[words.action], "received" in _LAYOUTS[words.action]
    values: dict[str, Any] = {}
    for name in filter(places.__contains__, _ORDER_OF_COUNTS if has_counts else _ORDER):
        place, type_at = places[name], received_type if name.startswith("received") else sent_type
        if name == "root":
            values[name] = words.root(place, processes)
        elif name == "flops":
            values[name] = words.amount(place, "flops")
        elif name in ("sent", "received"):
            values[name] = words.count(place, _TITLES[name] if receives else "count") * words.unit(type_at)
        else:
            values[name] = words.sizes(place, _TITLES[name], processes, type_at)
    operation = words.action
    if operation == "reducescatter":
        operation = "reduce_scatter"
        if _BLOCK in words.of_call and len({*values["received_counts"]}) == 1:
            operation, values["sent"] = "reduce_scatter_block", values.pop("received_counts")[0]
    return CollectiveCall(operation, **values), sent_type


_ORDER = ("sent", "received", "root", "flops")
_ORDER_OF_COUNTS = ("root", "sent_counts", "received_counts", "sent", "received", "flops")
"""In which fields are read; what is wrong is told of the first."""
_TITLES = {
    "sent": "send_count", "received": "receive_count", "sent_counts": "send_counts",
    "received_counts": "receive_counts",
}  # fmt: skip
