"""Lines of mpi4py that send and receive an array or an object by a given way. Main entries: `code_of` and
`code_of_datatype`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from commmodel.errors import InputError

_NUMBERS = {
    "b": "SIGNED_CHAR", "B": "UNSIGNED_CHAR", "h": "SHORT", "H": "UNSIGNED_SHORT", "i": "INT", "I": "UNSIGNED",
    "l": "LONG", "L": "UNSIGNED_LONG", "q": "LONG_LONG", "Q": "UNSIGNED_LONG_LONG", "f": "FLOAT", "d": "DOUBLE",
    "g": "LONG_DOUBLE", "F": "C_FLOAT_COMPLEX", "D": "C_DOUBLE_COMPLEX", "?": "C_BOOL",
}  # fmt: skip
"""numpy's code of a type of numbers -> MPI's name, which mpi4py knows by itself."""
_BUFFERS = {
    "array": ("comm.Send(data, peer, tag)", "np.empty(shape, dtype)  # those of the sender's array", "data"),
    "bytes": ("comm.Send(data, peer, tag)", "bytearray(size)", "bytes(room)"),
    "str": ("comm.Send(data.encode(), peer, tag)", "bytearray(size)", "room.decode()"),
    "list": ("comm.Send(np.array(data), peer, tag)", "np.empty(length)", "room.tolist()"),
}
"""Kind of a pickled object -> what sends it as a buffer, the room for it, and what makes the object of that."""


class SendCode(NamedTuple):
    """Lines for the sender, which has ``data``, and for the receiver, which gets it; both have comm, peer and tag."""

    sender: str
    receiver: str


def code_of(way: str, data: Any, chunk: int = 0) -> SendCode:
    """Return the lines by which something is sent: an array, a `PieceLayout`, a `PickledObject`, or any other object.

    A `chunk` is the bytes of a part of an array in one piece, which the way ``chunks`` sends one after the other.

    >>> print(code_of("pickle", {"a": 1}).receiver)
    data = comm.recv(source=peer, tag=tag)
    """
    if way in ("pickle", "pickle5"):
        return _by_pickle(way)
    if hasattr(data, "strides"):
        is_in_one = data.flags.c_contiguous or data.flags.f_contiguous
        return _contiguous(data, way, chunk) if is_in_one else _of_pieces(way, data)
    if hasattr(data, "block"):
        return _described(way, data)
    if hasattr(data, "kind"):
        sender, room, result = _BUFFERS[data.kind]
        if result == "data":
            return SendCode(sender, f"data = {room}\ncomm.Recv(data, peer, tag)")
        return SendCode(sender, f"room = {room}\ncomm.Recv(room, peer, tag)\ndata = {result}")
    return _as_buffer(data)


def _code(common: Sequence[str], sender: Sequence[str], receiver: Sequence[str]) -> SendCode:
    return SendCode("\n".join([*common, *sender]), "\n".join([*common, *receiver]))


def _by_pickle(way: str) -> SendCode:
    if way == "pickle":
        return SendCode("comm.send(data, dest=peer, tag=tag)", "data = comm.recv(source=peer, tag=tag)")
    common = ["from mpi4py.util import pkl5", "comm = pkl5.Intracomm(comm)  # once"]
    return _code(common, ["comm.send(data, dest=peer, tag=tag)"], ["data = comm.recv(source=peer, tag=tag)"])


def _number(dtype: Any) -> str:
    """Return MPI's name of a type of numbers; empty where mpi4py does not know it, and its bytes are sent."""
    return _NUMBERS.get(dtype.char, "") if dtype.isnative else ""


def _type_words(dtype: Any) -> str:
    """Return how a program names a type."""
    return repr(dtype.str) if dtype.names is None else f"np.dtype({dtype.descr!r})"


def _buffer(name: str, dtype: Any) -> str:
    """Return how an array is given to Send and Recv."""
    if dtype.kind in "mM":  # which has no buffer
        name = f'{name}.view("i8")'
    return name if _number(dtype) or dtype.kind in "mM" else f"[{name}, MPI.BYTE]"


def _contiguous(array: Any, way: str, chunk: int) -> SendCode:
    order = "" if array.flags.c_contiguous else ', order="F"'
    room = f"data = np.empty({array.shape}, {_type_words(array.dtype)}{order})"
    if way == "chunks":
        number = max(1, chunk // array.itemsize)
        flat = 'numbers = data.reshape(-1, order="A")'
        loop = f"for begin in range(0, numbers.size, {number}):"
        part = _buffer(f"numbers[begin : begin + {number}]", array.dtype)
        return SendCode(
            "\n".join([flat, loop, f"    comm.Send({part}, peer, tag)"]),
            "\n".join([room, flat, loop, f"    comm.Recv({part}, peer, tag)"]),
        )
    name = _buffer("data", array.dtype)
    return SendCode(f"comm.Send({name}, peer, tag)", f"{room}\ncomm.Recv({name}, peer, tag)")


def _extent(view: Any) -> int:
    """Return the bytes from the first to behind the last of a view."""
    return int(sum((length - 1) * abs(stride) for length, stride in zip(view.shape, view.strides, strict=True))
               + view.itemsize)  # fmt: skip


def _view_type(view: Any) -> str:
    """Return the lines' expression of the derived datatype of a view, the last axis innermost."""
    number = _number(view.dtype)
    words = f"MPI.{number}" if number else f"MPI.BYTE.Create_contiguous({view.itemsize})"
    span = view.itemsize
    for length, stride in zip(view.shape[::-1], view.strides[::-1], strict=True):
        if stride == span:
            words += f".Create_contiguous({length})"
            span *= length
        else:
            words += f".Create_hvector({length}, 1, {stride})"
            span = -1  # what lies further out is no longer in one piece
    return words


def _numpy_copies(view: Any) -> tuple[list[str], str, str]:
    """Return the lines that make room for a copy of a view, and what is copied there: elements as long as its pieces.

    numpy copies an axis in one piece number by number, with a loop for each piece, an element of any length at once.
    """
    room = ["buffer = np.empty(data.shape, data.dtype)  # once"]
    for name, axis in (("", -1), (".T", 0)):
        if view.strides[axis] == view.itemsize and view.shape[axis] > 1:
            element = f'{name}.view("V{view.itemsize * view.shape[axis]}")'
            order = ', order="F"' if name else ""
            room = [f"buffer = np.empty(data.shape, data.dtype{order})  # once"]
            return [*room, f"pieces, parts = data{element}, buffer{element}  # once"], "pieces", "parts"
    return room, "data", "buffer"


def _of_pieces(way: str, view: Any) -> SendCode:
    """Return the lines for a view ``data`` that is there on both sides."""
    if way == "numpy":
        common, pieces, parts = _numpy_copies(view)
        name = _buffer("buffer", view.dtype)
        return _code(
            common,
            [f"{parts}[...] = {pieces}", f"comm.Send({name}, peer, tag)"],
            [f"comm.Recv({name}, peer, tag)", f"{pieces}[...] = {parts}"],
        )
    common = [f"layout = {_view_type(view)}.Commit()  # once"]
    begin = f"MPI.buffer.fromaddress(data.ctypes.data, {_extent(view)})"
    if way == "type":
        common.append(f"begin = {begin}")
        return _code(common, ["comm.Send([begin, 1, layout], peer, tag)"], ["comm.Recv([begin, 1, layout], peer, tag)"])
    common += [f"begin, packed = {begin}, bytearray(data.nbytes)  # once"]
    return _code(
        common,
        ["layout.Pack(begin, packed, 0, comm)", "comm.Send([packed, MPI.PACKED], peer, tag)"],
        ["comm.Recv([packed, MPI.PACKED], peer, tag)", "layout.Unpack(packed, 0, begin, comm)"],
    )


def _described(way: str, layout: Any) -> SendCode:
    """Return the lines for pieces that are described by numbers, in an array of bytes ``data``."""
    stride = layout.stride or 2 * layout.block
    if way == "numpy":
        element = f'"V{layout.block}"'
        pieces = f"np.ndarray({layout.count}, {element}, data, 0, ({stride},))  # once"
        gather, scatter = "buffer[...] = pieces", "pieces[...] = buffer"
        if layout.layout == "indexed":
            pieces = f"np.ndarray(data.size - {layout.block - 1}, {element}, data, 0, (1,))  # once: one at each byte"
            gather, scatter = "buffer[...] = pieces[places]  # at these bytes", "pieces[places] = buffer"
        return _code(
            [f"pieces = {pieces}", f"buffer = np.empty({layout.count}, {element})  # once"],
            [gather, "comm.Send([buffer, MPI.BYTE], peer, tag)"],
            ["comm.Recv([buffer, MPI.BYTE], peer, tag)", scatter],
        )
    kind = (
        f"MPI.BYTE.Create_indexed_block({layout.block}, places)"
        if layout.layout == "indexed"
        else f"MPI.BYTE.Create_vector({layout.count}, {layout.block}, {stride})"
    )
    common = [f"layout = {kind}.Commit()  # once"]
    if way == "type":
        return _code(common, ["comm.Send([data, 1, layout], peer, tag)"], ["comm.Recv([data, 1, layout], peer, tag)"])
    common.append(f"packed = bytearray({layout.count * layout.block})  # once")
    begin = "memoryview(data)[: layout.extent]"
    return _code(
        common,
        [f"layout.Pack({begin}, packed, 0, comm)", "comm.Send([packed, MPI.PACKED], peer, tag)"],
        ["comm.Recv([packed, MPI.PACKED], peer, tag)", f"layout.Unpack(packed, 0, {begin}, comm)"],
    )


def code_of_datatype(way: str, layout: str) -> SendCode:
    """Return the lines for a program that has a datatype ``layout`` of pieces in its array ``data``.

    >>> print(code_of_datatype("numpy", "vector").sender)
    buffer = np.empty(view.shape, view.dtype)  # once; view: what the datatype describes, such as data[:, 0]
    buffer[...] = view
    comm.Send(buffer, peer, tag)
    """
    if way == "type":
        return SendCode("comm.Send([data, 1, layout], peer, tag)", "comm.Recv([data, 1, layout], peer, tag)")
    if way == "pack":
        begin = "begin = MPI.buffer.fromaddress(data.ctypes.data, layout.extent)  # once"
        return _code(
            [begin, "packed = bytearray(layout.size)  # once"],
            ["layout.Pack(begin, packed, 0, comm)", "comm.Send([packed, MPI.PACKED], peer, tag)"],
            ["comm.Recv([packed, MPI.PACKED], peer, tag)", "layout.Unpack(packed, 0, begin, comm)"],
        )
    if layout == "indexed":
        return _code(
            [
                "numbers = data.reshape(-1)  # once",
                "buffer = np.empty(indices.size, data.dtype)  # once; indices: of the pieces' numbers in it",
            ],
            ['np.take(numbers, indices, out=buffer, mode="clip")', "comm.Send(buffer, peer, tag)"],
            ["comm.Recv(buffer, peer, tag)", "numbers[indices] = buffer"],
        )
    room = "buffer = np.empty(view.shape, view.dtype)  # once; view: what the datatype describes, such as data[:, 0]"
    return _code(
        [room],
        ["buffer[...] = view", "comm.Send(buffer, peer, tag)"],
        ["comm.Recv(buffer, peer, tag)", "view[...] = buffer"],
    )


def c_code_of_datatype(way: str, layout: str) -> SendCode:
    """Return the lines of C for a program that has a datatype ``layout`` of pieces in ``data``.

    >>> print(c_code_of_datatype("type", "vector").sender)
    MPI_Send(data, 1, layout, peer, tag, comm);
    """
    receive = "MPI_Recv({}, peer, tag, comm, MPI_STATUS_IGNORE);"
    if way == "type":
        return SendCode("MPI_Send(data, 1, layout, peer, tag, comm);", receive.format("data, 1, layout"))
    if way == "pack":
        common = [
            "int size, position = 0;                 // 0 before each message",
            "MPI_Pack_size(1, layout, comm, &size);  // once",
            "char *packed = malloc(size);            // once",
        ]
        return _code(
            common,
            [
                "MPI_Pack(data, 1, layout, packed, size, &position, comm);",
                "MPI_Send(packed, position, MPI_PACKED, peer, tag, comm);",
            ],
            [
                receive.format("packed, size, MPI_PACKED"),
                "MPI_Unpack(packed, size, &position, data, 1, layout, comm);",
            ],
        )
    begin = "i * stride" if layout == "vector" else "begins[i]"
    places = "they begin `stride` bytes apart" if layout == "vector" else "begins: where each begins, in bytes"
    common = [
        f"// `pieces` pieces of `block` bytes of data, a char *; {places}",
        "char *buffer = malloc(pieces * block);  // once",
    ]
    loop = "for (size_t i = 0; i < pieces; i++)"
    return _code(
        common,
        [
            f"{loop} memcpy(buffer + i * block, data + {begin}, block);",
            "MPI_Send(buffer, pieces * block, MPI_BYTE, peer, tag, comm);",
        ],
        [
            receive.format("buffer, pieces * block, MPI_BYTE"),
            f"{loop} memcpy(data + {begin}, buffer + i * block, block);",
        ],
    )


def _as_buffer(value: Any) -> SendCode:
    match value:
        case bytes() | bytearray():
            room, result = f"room = bytearray({len(value)})", f"data = {type(value).__name__}(room)"
            return SendCode("comm.Send(data, peer, tag)", f"{room}\ncomm.Recv(room, peer, tag)\n{result}")
        case str():
            room = f"room = bytearray({len(value.encode())})"
            return SendCode(
                "comm.Send(data.encode(), peer, tag)", f"{room}\ncomm.Recv(room, peer, tag)\ndata = room.decode()"
            )
        case list() | tuple():
            result = "data = room.tolist()" if isinstance(value, list) else "data = tuple(room.tolist())"
            room = f"room = np.empty({len(value)})"
            return SendCode("comm.Send(np.array(data), peer, tag)", f"{room}\ncomm.Recv(room, peer, tag)\n{result}")
    raise InputError(f"{type(value).__name__} is not sent as one buffer")
