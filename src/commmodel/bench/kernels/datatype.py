"""Data in pieces, such as a column of a matrix: the time of a message by each way to send it. Main entry: `KERNELS`.

Samples are half round trips: a rank gathers the pieces and sends them, the other receives and scatters them. By numpy
this is a call in Python on each side, as programs in Python have it; what lies between is the same compiled loop.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from commmodel.bench.kernels.kernel import Floats, Kernel, Room, exchange_seconds, sampled
from commmodel.bench.option import Option, list_of, sizes
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.errors import InputError
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import DataLayout, Datatype, PieceWay, SendWay
from commmodel.units import parse_sizes

if TYPE_CHECKING:
    from mpi4py import MPI

_SPREAD = 2  # lengths of a piece between the begins of two: the least that is measured
_FAR = 64 << 20  # bytes over which pieces lie at the most if they are further apart
_LARGEST = 2**31 - 1  # bytes of a message, as MPI_Pack counts in int
_SEED = 1  # of irregular places, which are the same on both ranks and in all launches
_SHORT = 16  # numbers of an irregular piece that numpy gathers by their indices; longer ones as elements
_NUMBERS = {8: "DOUBLE", 4: "FLOAT", 1: "BYTE"}
"""Bytes of a number -> MPI's name of the type that describes pieces of such numbers."""
_CODES = {8: "f8", 4: "f4", 1: "u1"}
"""Bytes of a number -> numpy's code of its type."""


@dataclass(frozen=True)
class Layout:
    """Data in pieces in memory.

    Attributes
    ----------
    block, pieces, stride : int
        Bytes of a piece, how many there are, and bytes between their begins.
    extent : int
        Bytes from the begin of the first piece to where the next layout could begin.
    places : int64 array or None
        Where each piece begins, in bytes, if these places are irregular.
    datatype : MPI.Datatype
    count : int
        How many of `datatype` they are.
    """

    block: int
    pieces: int
    stride: int
    extent: int
    places: NDArray[np.int64] | None
    datatype: "MPI.Datatype"
    count: int = 1


def unit(block: int) -> int:
    """Return the bytes of the largest number of which a piece may consist.

    >>> [unit(block) for block in (8, 12, 30)]
    [8, 4, 1]
    """
    return next(size for size in _NUMBERS if block % size == 0)


def irregular_places(pieces: int, block: int, stride: int) -> NDArray[np.int64]:
    """Return where pieces begin that lie anywhere within their `stride`, in bytes.

    >>> irregular_places(4, 8, 32).tolist()
    [8, 48, 88, 120]
    """
    size = unit(block)
    free = (stride - block) // size + 1
    gaps = np.random.default_rng(_SEED).integers(0, free, pieces)
    return np.asarray(np.arange(pieces) * stride + gaps * size, dtype=np.int64)


def layout_of(configuration: Datatype) -> Layout:
    """Return the layout of a configuration, with its committed datatype, to be freed by the caller."""
    from mpi4py import MPI

    block, pieces, stride = configuration.block, configuration.pieces, configuration.stride
    if configuration.way == "contiguous":
        return Layout(configuration.message_size, 1, configuration.message_size, 0, None, MPI.BYTE.Dup())
    size = unit(block)
    number, length = getattr(MPI, _NUMBERS[size]), block // size
    places, count = None, 1
    match configuration.layout:
        case "vector":
            datatype = number.Create_vector(pieces, length, stride // size)
        case "subarray":
            datatype = number.Create_subarray([pieces, stride // size], [pieces, length], [0, 0])
        case "indexed":
            places = irregular_places(pieces, block, stride)
            lengths = np.full(pieces, length, np.int32)
            datatype = number.Create_indexed(lengths, (places // size).astype(np.int32))
        case "struct":
            other = {8: MPI.INT64_T, 4: MPI.INT32_T, 1: MPI.SIGNED_CHAR}[size]
            member = MPI.Datatype.Create_struct([length, length], [0, stride], [other, number])
            datatype, count = member.Create_resized(0, 2 * stride), pieces // 2
            member.Free()
    return Layout(block, pieces, stride, pieces * stride, places, datatype.Commit(), count)


def numpy_copies(
    layout: Layout, kind: DataLayout, buffer: NDArray[np.uint8]
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return what gathers the pieces of a buffer behind the layout, and what scatters them from there, by numpy.

    A piece is copied as one element of its length: numpy's loops cost the same for each element of an inner axis.
    """
    size = unit(layout.block)
    number: Any = np.dtype(_CODES[size])
    length = layout.block // size
    numbers, packed = np.split(buffer[: layout.extent + layout.block * layout.pieces], [layout.extent])
    numbers, packed = numbers.view(number), packed.view(number)
    if kind == "struct":
        members = [("a", (f"i{size}", length)), ("b", (number, length))]
        names, formats = zip(*members, strict=True)
        apart: Any = {"names": names, "formats": formats, "offsets": [0, layout.stride], "itemsize": 2 * layout.stride}
        records, together = numbers.view(np.dtype(apart)), packed.view(np.dtype(members))
        return partial(np.copyto, together, records), partial(np.copyto, records, together)
    piece: Any = np.dtype(f"V{layout.block}")
    parts = packed.view(piece)
    if layout.places is None:
        pieces = np.ndarray(layout.pieces, piece, numbers, 0, (layout.stride,))
        return partial(np.copyto, parts, pieces), partial(np.copyto, pieces, parts)
    begins = layout.places // size
    windows = np.ndarray(len(numbers) - length + 1, piece, numbers, 0, (size,))  # a piece that begins at each number
    scatter = partial(windows.__setitem__, begins, parts)
    if length <= _SHORT:
        indices = (begins[:, None] + np.arange(length)).reshape(-1)
        return partial(np.take, numbers, indices, out=packed, mode="clip"), scatter
    return lambda: np.copyto(parts, windows[begins]), scatter


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:
    ways = [way for way in get_args(PieceWay) if way in options.ways]
    configurations: list[Configuration] = []
    for path, layout, total in product(placement, options.layouts, options.totals):
        blocks = [block for block in options.blocks if total % ((2 if layout == "struct" else 1) * block) == 0]
        shapes = [(block, stride) for block in blocks for stride in _strides(options.strides, total, block)]
        configurations += [
            Datatype(total, layout, block, way, path, stride)
            for (block, stride), way in product(shapes, ways)
            if way != "contiguous" or (block, stride) == shapes[0]
        ]
    return configurations


def _strides(strides: Sequence[int], total: int, block: int) -> list[int]:
    """Return how far apart pieces begin: twice their length, and what is more than that and whole in numbers.

    >>> _strides((100, 4160), 1024, 64)
    [128, 4160]
    """
    least, size = _SPREAD * block, unit(block)
    far = sorted({-(-stride // size) * size for stride in strides if stride > least})
    return [least, *(stride for stride in far if total // block * stride <= _FAR)]


def no_way(options: BenchOptions, ways: Sequence[str]) -> str:
    """Return that a kernel is left out as it has none of the chosen ways; empty where it has one."""
    return "" if {*ways} & {*options.ways} else f"left out, as --ways has none of {', '.join(ways)}"


def _room(configuration: Datatype) -> Room:
    extent = 0 if configuration.way == "contiguous" else configuration.pieces * configuration.stride
    room = extent + configuration.message_size
    return room, room


def _measure(session: Session, configuration: Datatype) -> Record | None:
    from commmodel._core.mpi import datatype

    layout = layout_of(configuration)
    buffers = session.send_buffer, session.receive_buffer
    functions: list[Any] = [(None, None)] * 2
    if configuration.way == "numpy":
        functions = [numpy_copies(layout, configuration.layout, buffer) for buffer in buffers]

    def measure(repetitions: int) -> Floats:
        ticks = datatype.exchange(
            *session.pair, configuration.way, *buffers, layout, functions, repetitions, session.clock_number,
            session.touched,
        )  # fmt: skip
        return exchange_seconds(session, ticks) / 2 * session.first

    try:
        return sampled(session, configuration, measure)
    finally:
        layout.datatype.Free()


def _totals(text: str) -> tuple[int, ...]:
    totals = parse_sizes(text)
    if wrong := [total for total in totals if not 0 < total <= _LARGEST]:
        raise InputError(f"{wrong[0]} B: data in pieces are from 1 B to {_LARGEST} B")
    return totals


def _blocks(text: str) -> tuple[int, ...]:
    blocks = parse_sizes(text)
    if blocks[0] < 1:
        raise InputError("a piece of 0 B holds no data")
    return blocks


def _strides_of(text: str) -> tuple[int, ...]:
    strides = parse_sizes(text)
    if strides[0] < 1:
        raise InputError("pieces that begin 0 B apart lie on each other")
    return strides


WAYS = Option("ways", "ways to send data in pieces, objects, or buffers of devices", list_of(get_args(SendWay), "way"))
TOTALS = Option("totals", "bytes of all pieces of a message, or of an object", _totals, sizes)
KERNELS = (
    Kernel(
        "data in pieces, such as a column of a matrix, by each way to send them",
        (Datatype,),
        _plan,
        _measure,
        _room,
        options=(
            Option("layouts", "layouts of data in pieces", list_of(get_args(DataLayout), "layout")),
            WAYS,
            Option("blocks", "bytes of a piece", _blocks, sizes),
            Option("strides", "bytes between the begins of pieces, beside twice a piece", _strides_of, sizes),
            TOTALS,
        ),
        left_out=lambda options: no_way(options, get_args(PieceWay)),
        visited=(Datatype,),
    ),
)
