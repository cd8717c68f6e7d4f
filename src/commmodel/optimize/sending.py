"""How to send an array or an object with mpi4py: times of all ways, and the lines to write. Main entry: `how_to_send`.

Times are those of `commmodel.predict.pieces` and `python_object`. Lines are written for a variable ``data``, a
communicator ``comm``, the other rank ``peer`` and a ``tag``.
"""

import math
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from statistics import NormalDist
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta, Struct

from commmodel.choices import DataLayout, ObjectKind, ObjectWay, PieceWay
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError, MissingParameterError
from commmodel.frames import Tabular
from commmodel.machine import Machine, Sending
from commmodel.optimize.device_sending import device_data, device_message, is_on_device
from commmodel.optimize.sending_code import code_of
from commmodel.predict import Seconds
from commmodel.predict.sending import of_path, pieces, python_object
from commmodel.signatures import check_fields, checked
from commmodel.structs import InputStruct
from commmodel.units import format_size, format_time
from commmodel.values import Value

SomeBytes = Annotated[int, Meta(ge=1)]
_CLEARLY = 0.95  # of the time of the usual way, or of all in one message: less is a gain
_INT = 2**31 - 1
_PAGE = 4096  # bytes; pieces further apart share no page, however far they are
_PIECE_WAYS: tuple[PieceWay, ...] = ("type", "pack", "numpy", "core")
_OBJECT_WAYS: tuple[ObjectWay, ...] = ("pickle", "pickle5", "buffer")
_NEEDS = {
    "bytes": "the receiver must know how many bytes come",
    "str": "the receiver must know how many bytes come",
    "list": "the receiver must know how many numbers come",
}


class PieceLayout(InputStruct, frozen=True, forbid_unknown_fields=True):
    """Data in pieces, described by numbers: `count` pieces of `block` bytes, which begin `stride` bytes apart."""

    count: SomeBytes
    block: SomeBytes
    stride: SomeBytes | None = None
    """None: twice `block`."""
    layout: DataLayout = "vector"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.stride is not None and self.stride < self.block:
            raise InputError(
                f"stride {self.stride}: pieces of {self.block} bytes that begin so close overlap", "stride"
            )


class PickledObject(InputStruct, frozen=True, forbid_unknown_fields=True):
    """An object of which no more is known than how many bytes it has pickled, and what it is."""

    size: SomeBytes
    kind: ObjectKind = "array"
    """A list and a dictionary are of numbers."""

    def __post_init__(self) -> None:
        check_fields(self)


@with_attributes
class WayTime(Struct, frozen=True):
    """The time of one way to send."""

    way: str
    """As `PieceWay`, `ObjectWay` or `DeviceWay` have it, or ``chunks``: one part after the other."""
    time: Seconds
    offered: bool = True
    """Whether a program can always take it as it is, unlike a compiled loop or what the receiver must know more for."""


class SendAdvice(Tabular, Value, Struct, frozen=True):
    """How to send an array or an object: times of all ways, the best of those that a program can take, and its code."""

    content: str
    message_size: int
    """Bytes that are sent; of an object about those that it has pickled."""
    path: str
    ways: tuple[WayTime, ...]
    """The fastest first."""
    best: str
    """The fastest way that a program can take as it is; the usual one where another gains less than a twentieth."""
    usual: str
    """``type`` of data in pieces, ``direct`` or else ``staged`` of device memory, ``pickle`` of all else, or what alone
    was measured."""
    gain: float
    """Time of the usual way over that of the best, at least 1."""
    certainty: float
    """Probability that the best way takes no longer than the usual one; 1 where they are the same."""
    sender: str
    """Lines of Python that send `data` to `peer`."""
    receiver: str
    """Lines that receive it from `peer`."""
    remarks: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """The lines of both sides."""
        return f"# sender\n{self.sender}\n# receiver\n{self.receiver}"

    def time_of(self, way: str) -> Seconds:
        """Return the time of a way.

        Raises
        ------
        InputError
            Where it is no way of this advice.

        Examples
        --------
        >>> ways = (WayTime("buffer", Seconds(1e-6)),)
        >>> advice = SendAdvice("a number", 8, "any", ways, "buffer", "buffer", 1.0, 1.0, "", "")
        >>> advice.time_of("buffer").seconds
        1e-06
        """
        for row in self.ways:
            if row.way == way:
                return row.time
        raise InputError(f"{way!r} is no way here: {', '.join(row.way for row in self.ways)}", "way")

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a row for each way: ``way``, ``seconds``, ``low``, ``high``, ``offered``."""
        return {
            "way": [row.way for row in self.ways],
            **{name: [getattr(row.time, name) for row in self.ways] for name in ("seconds", "low", "high")},
            "offered": [row.offered for row in self.ways],
        }

    def __repr__(self) -> str:
        """Return the best way and what it gains."""
        return (
            f"SendAdvice({self.content}: {self.best}, {format_time(self.time_of(self.best).seconds)}, "
            f"{self.gain:.3g} times as fast as {self.usual})"
        )


class _SentData(NamedTuple):
    """What is to be sent: how it is described, its bytes, and how it lies or what it is."""

    content: str
    message_size: int
    value: Any
    layout: DataLayout | Literal["contiguous"] | None = None
    block: int = 0
    stride: int = 0
    kind: ObjectKind | None = None
    ways: Sequence[ObjectWay] = _OBJECT_WAYS
    needs: str = ""
    """What the receiver must know where it is sent as a buffer."""


@checked
def how_to_send(data: Any, machine: Machine, *, path: str | None = None) -> SendAdvice:
    """Return how to send an array or an object with mpi4py: the fastest way, what it gains, and the lines to write.

    Parameters
    ----------
    data : array, PieceLayout, PickledObject or object
        A numpy array or view, however it lies; one in the memory of a GPU, of CuPy, Numba, torch or whatever else has
        ``__cuda_array_interface__``; pieces or a pickled object described by numbers; or any other object, which is
        pickled once to know its size.
    machine : Machine
        With times of the kernels ``datatype`` and ``object``, of device memory of ``device``.
    path : str, optional
        ``between-nodes`` where the machine has it and nothing else is said.

    Returns
    -------
    SendAdvice
        `best` is of the ways that a program can take as it is, another than the usual one only where it takes less
        than 95 % of its time; a compiled loop, and a dictionary's values alone, are
        shown beside it. Intervals are those of sizes between the measured ones.

    Raises
    ------
    MissingParameterError
        Where the machine has no such times; it names the kernel that provides them.
    InputError
        Where an object cannot be pickled, or an array in device memory does not say how it lies.

    Examples
    --------
    >>> import numpy as np
    >>> from commmodel.machine import MeasuredTimes, PieceCosts, Segment, Sending
    >>> floor = MeasuredTimes((1024, 1 << 20), (1e-6, 1e-4))
    >>> slow = PieceCosts("vector", "type", (1024, 1 << 20), (8,), ((4e-9,), (4e-9,)))
    >>> quick = PieceCosts("vector", "numpy", (1024, 1 << 20), (8,), ((1e-9,), (1e-9,)))
    >>> fitted = Machine("m", (Segment("all"),), sending=(Sending("any", floor, (slow, quick)),))
    >>> how_to_send(np.zeros((1000, 64))[:, 0], fitted)
    SendAdvice(1000 pieces of 8 B, 512 B apart: numpy, 11.9 us, 3.01 times as fast as type)
    """
    if is_on_device(data):
        return _from_device(data, machine, path)
    message = _message_of(data)
    sending = of_path(machine, path)
    rows = [] if not message.message_size else _rows(message, machine, path)
    if not rows:
        if message.message_size:
            kernel = f"object --kinds {message.kind}" if message.kind else "datatype"
            raise MissingParameterError(
                f"machine {machine.name!r} has no times of {message.content}: measure them with python -m "
                f"commmodel.bench {kernel}, then fit"
            )
        rows = [WayTime("buffer", Seconds(0.0))]
    rows.sort(key=lambda row: row.time.seconds)
    offered = [row for row in rows if row.offered]
    if not offered:
        raise MissingParameterError(
            f"machine {machine.name!r} has times of {rows[0].way} alone: measure the other ways with python -m "
            "commmodel.bench datatype object, then fit"
        )
    usual = next((row for name in ("type", "pickle", "buffer") for row in offered if row.way == name), offered[0])
    best = offered[0] if offered[0].time.seconds < _CLEARLY * usual.time.seconds else usual
    code = code_of(best.way, message.value, _chunk(message, machine, path))
    return SendAdvice(
        message.content,
        message.message_size,
        sending.path,
        tuple(rows),
        best.way,
        usual.way,
        usual.time.seconds / best.time.seconds if best.time.seconds else 1.0,
        certainty_of(best, usual, machine.confidence),
        code.sender,
        code.receiver,
        (*_remarks(message, rows, best, sending),),
    )


def _from_device(data: Any, machine: Machine, path: str | None) -> SendAdvice:
    """Return how to send an array in device memory; the usual way is to give it to MPI, where that was measured."""
    described = device_data(data)
    message = device_message(described, machine, path)
    rows = tuple(WayTime(way, time) for way, time in message.times)
    best, (sender, receiver) = rows[0], described.code(message.times[0][0])
    usual = next((row for name in ("direct", "staged") for row in rows if row.way == name), best)
    gain, certainty = usual.time.seconds / best.time.seconds, certainty_of(best, usual, machine.confidence)
    return SendAdvice(
        described.content, described.message_size, message.path, rows, best.way, usual.way, gain, certainty, sender,
        receiver, message.remarks,
    )  # fmt: skip


def _rows(message: _SentData, machine: Machine, path: str | None) -> list[WayTime]:
    """Return the times of all ways that the machine knows."""
    rows: list[WayTime] = []
    if message.layout is not None and message.layout != "contiguous":
        apart = max(abs(message.stride), message.block)
        of_pieces = partial(pieces, layout=message.layout, path=path, stride=apart)
        times = {
            way: _time_or_none(of_pieces, machine, message.message_size, message.block, way=way) for way in _PIECE_WAYS
        }
        return [WayTime(way, time, way != "core") for way, time in times.items() if time is not None]
    for name in message.ways:
        time = _time_or_none(python_object, machine, message.message_size, message.kind or "array", name, path=path)
        if time is None and name == "buffer" and message.layout == "contiguous":
            time = _time_or_none(
                pieces, machine, message.message_size, message.message_size, way="contiguous", path=path
            )
        if time is not None:
            rows.append(WayTime(name, time, name != "buffer" or message.kind != "dict"))
    if part := _chunk(message, machine, path):
        sizes, number = (part, message.message_size), math.ceil(message.message_size / part)
        chunk, whole = (pieces(machine, size, size, way="contiguous", path=path) for size in sizes)
        if number * chunk.seconds < _CLEARLY * whole.seconds:
            low, high = (None if end is None else number * end for end in (chunk.low, chunk.high))
            rows.append(WayTime("chunks", Seconds(number * chunk.seconds, low, high)))
    return rows


def _chunk(message: _SentData, machine: Machine, path: str | None) -> int:
    """Return the bytes of a message that is sent at the highest rate; 0 where that is no part of the message."""
    floor = of_path(machine, path).contiguous
    if floor is None or message.layout != "contiguous":
        return 0
    size = min(floor.sizes, key=lambda size: floor.at(size) / size)
    return size if size < message.message_size else 0


def _time_or_none(time: Callable[..., Seconds], *arguments: Any, **keywords: Any) -> Seconds | None:
    try:
        return time(*arguments, **keywords)
    except MissingParameterError:
        return None


def certainty_of(best: WayTime, usual: WayTime, confidence: float | None) -> float:
    """Return the probability that one way takes no longer than another, of independent log-normal times."""
    if best is usual:
        return 1.0
    normal = NormalDist()
    quantile = normal.inv_cdf(0.5 + (confidence or 0.95) / 2)
    deviation = math.hypot(*(
        math.log(row.time.high / row.time.seconds) / quantile if row.time.high else 0.0 for row in (best, usual)
    ))  # fmt: skip
    ratio = math.log(usual.time.seconds / best.time.seconds)
    return normal.cdf(ratio / deviation) if deviation else float(ratio > 0) or 0.5


def _remarks(message: _SentData, rows: Sequence[WayTime], best: WayTime, sending: Sending) -> list[str]:
    """Return what else there is to know."""
    lines = []
    if message.needs and best.way == "buffer":
        lines.append(message.needs)
    for row in rows:
        if row.offered or row.time.seconds >= best.time.seconds:
            continue
        if row.way == "core":
            lines.append(f"a compiled loop, as numba makes one, would take {format_time(row.time.seconds)}")
        else:
            time = format_time(row.time.seconds)
            lines.append(f"its values alone, as an array, would take {time}, where the receiver knows the keys")
    largest = _largest(message, sending)
    if largest and message.message_size > largest:
        lines.append(f"measured up to {format_size(largest)}: each further byte is taken to cost as much as those")
    farthest = max((costs.stride or 0 for costs in sending.pieces), default=0)
    if abs(message.stride) > 2 * message.block and farthest < min(abs(message.stride), _PAGE):
        lines.append("measured with pieces closer together: those so far apart may take longer by each way")
    if message.message_size > _INT:
        lines.append(
            "more than 2^31 - 1 bytes: mpi4py 4 sends so many items by MPI-4's large counts, which MPICH has from 4.0 "
            "on; libraries without them, such as Open MPI 5, take chunks"
        )
    return lines


def _largest(message: _SentData, sending: Sending) -> int:
    """Return the bytes of the largest message of its kind that was measured; 0 where none was."""
    sizes = [row.times.sizes[-1] for row in sending.objects if row.kind == message.kind]
    if message.kind in (None, "array") and sending.contiguous is not None:
        sizes.append(sending.contiguous.sizes[-1])
    return max(sizes, default=0)


def _message_of(data: Any) -> _SentData:
    """Describe what is to be sent."""
    if isinstance(data, PieceLayout):
        stride = data.stride or 2 * data.block
        return _pieces(data.count, data.block, stride, data.layout, data)
    if isinstance(data, PickledObject):
        name = f"{data.kind}, {format_size(data.size)} pickled"
        return _SentData(name, data.size, data, kind=data.kind, needs=_NEEDS.get(data.kind, ""))
    if hasattr(data, "__array_interface__") and hasattr(data, "strides") and not data.dtype.hasobject:
        return _array(data)
    return _object(data)


def _pieces(count: int, block: int, stride: int, layout: DataLayout, value: Any) -> _SentData:
    words = f"{count} pieces of {format_size(block)}, {format_size(abs(stride))} apart"
    content = words if layout == "vector" else f"{layout} of {words}"
    return _SentData(content, count * block, value, layout, block, stride)


def _array(array: Any) -> _SentData:
    """Describe an array: in one piece, or in equal pieces along its axes."""
    if array.flags.c_contiguous or array.flags.f_contiguous:
        words = f"{array.dtype} array of {' × '.join(map(str, array.shape)) or 'one number'}"
        return _SentData(f"{words}, {format_size(array.nbytes)}", array.nbytes, array, "contiguous", kind="array")
    block = array.itemsize
    apart: list[int] = []
    for length, stride in sorted(zip(array.shape, array.strides, strict=True), key=lambda axis: abs(axis[1])):
        if length == 1:
            continue
        if stride == block and not apart:
            block *= length
        else:
            apart.append(stride)
    layout: DataLayout = "vector" if len(apart) == 1 else "subarray"
    return _pieces(array.nbytes // block, block, apart[0], layout, array)


def _object(value: Any) -> _SentData:
    """Describe an object by what it is, and by what it has pickled."""
    buffers: list[pickle.PickleBuffer] = []
    try:
        inside = len(pickle.dumps(value, 5, buffer_callback=buffers.append))
    except Exception as error:  # whatever a class of the user's raises
        raise InputError(
            f"data is {type(value).__name__}: it cannot be pickled, so not be sent ({error})", "data"
        ) from None
    outside = sum(buffer.raw().nbytes for buffer in buffers)
    size = inside + outside
    name = f"{type(value).__name__}, {format_size(size)} pickled"

    if outside > inside:
        return _SentData(name, size, value, kind="array", ways=("pickle", "pickle5"))
    match value:
        case bytes() | bytearray():
            kind: ObjectKind = "bytes"
        case str():
            kind = "str"
        case list() | tuple() if value and all(type(item) is float for item in value):
            kind = "list"
        case dict() if value and all(type(item) is float for item in value.values()):
            return _SentData(name, size, value, kind="dict")
        case list() | tuple():
            return _SentData(name, size, value, kind="list", ways=("pickle", "pickle5"))
        case _:
            return _SentData(name, size, value, kind="dict", ways=("pickle", "pickle5"))
    return _SentData(name, size, value, kind=kind, needs=_NEEDS[kind])
