"""A program of two ranks that executes the lines of `commmodel.optimize.sending_code` and says what did not arrive."""

import sys

import numpy as np

from commmodel.optimize import PieceLayout
from commmodel.optimize.sending_code import code_of, code_of_datatype

PROGRAM = __file__
MATRIX = np.arange(240.0).reshape(12, 20)
RECORDS = np.zeros(9, dtype=[("number", "i4"), ("value", "f8")])
RECORDS["value"] = np.arange(9)
PLACES = np.array([0, 24, 40], np.int32)
PIECES = [
    MATRIX[:, 0], MATRIX[::-1, 3], MATRIX[2:5, 4:9], MATRIX[::2, ::-3], MATRIX.reshape(3, 4, 20)[:, 1, :7],
    RECORDS["value"], RECORDS[::2], MATRIX.astype(np.float16)[:, 1], MATRIX.astype(">f4")[1:, 1:],
    MATRIX.astype("M8[s]")[:, 2], np.asfortranarray(MATRIX)[2:7, 1:9], MATRIX.reshape(3, 4, 20)[1:, 1:3, 2:5],
]  # fmt: skip
WHOLE = [
    MATRIX, np.asfortranarray(MATRIX), np.array(3.0), np.zeros(0), RECORDS, MATRIX.astype(np.float16), np.arange(3) > 1,
    MATRIX.astype("m8[s]"), np.array(["ab", "c"]),
]  # fmt: skip
OBJECTS = [b"text", bytearray(b"text"), "größer", [0.5, 1.0], (0.5, 2.0), {"a": 1.0}, {"array": np.zeros(1000)}]


def is_alike(received, content):
    """Whether what came is what was sent."""
    if isinstance(content, np.ndarray):
        return np.array_equal(received, content)
    return repr(received) == repr(content) and type(received) is type(content)


def executed(way, data, room, chunk=0, layout=None):
    """Send `data` from rank 0 and return what rank 1 has then, given its `room`."""
    return run(code_of(way, data if layout is None else layout, chunk), data, room)


def run(code, data, room, **further):
    """Execute lines on both ranks; return what rank 1 has then."""
    from mpi4py import MPI

    rank = MPI.COMM_WORLD.rank
    names = {"np": np, "MPI": MPI, "comm": MPI.COMM_WORLD, "peer": 1 - rank, "tag": 5, "places": PLACES}
    names |= further | {"data": room if rank else data}
    exec(code.receiver if rank else code.sender, names)  # noqa: S102  (it is what is tested)
    return names["data"]


def run_with_datatype(way, shape):
    """Send a column, or irregular numbers, of a matrix by its own datatype; return whether they alone have come."""
    from mpi4py import MPI

    indices = np.arange(0, MATRIX.size, 20) if shape == "vector" else np.array([3, 21, 22, 60])
    layout = MPI.DOUBLE.Create_indexed_block(1, indices.tolist()).Commit()
    data, room = MATRIX.copy(), np.full_like(MATRIX, -1.0)
    array = room if MPI.COMM_WORLD.rank else data
    received = run(code_of_datatype(way, shape), data, room, layout=layout, indices=indices, view=array[:, 0])
    expected = np.full(MATRIX.size, -1.0)
    expected[indices] = MATRIX.reshape(-1)[indices]
    return np.array_equal(received.reshape(-1), expected)


def emptied(view):
    """Return a view of other memory that lies in the same way, and has other data."""
    base = view
    while base.base is not None:
        base = base.base
    copy = np.zeros(base.shape, base.dtype) if base.ndim else base.copy()
    offset = view.ctypes.data - base.ctypes.data
    memory = copy.reshape(-1).view(np.uint8)
    return np.ndarray(view.shape, view.dtype, memory, offset, view.strides)


def main():
    """Execute all lines; the second rank prints what is wrong, and how many it was."""
    from mpi4py import MPI

    wrong, count = [], 0
    for number, data in enumerate(PIECES):
        for way in ("type", "pack", "numpy"):
            wrong += [] if is_alike(executed(way, data, emptied(data)), data) else [f"pieces {number} by {way}"]
            count += 1
    for number, data in enumerate(WHOLE):
        for way in ("buffer", "pickle", *(["chunks"] if data.size > 1 else [])):
            wrong += [] if is_alike(executed(way, data, None, 16), data) else [f"whole {number} by {way}"]
            count += 1
    for data in OBJECTS:
        for way in ("pickle", "pickle5", *(["buffer"] if not isinstance(data, dict) else [])):
            wrong += [] if is_alike(executed(way, data, None), data) else [f"{data!r} by {way}"]
            count += 1
    for layout in ("vector", "indexed"):
        pieces, data, room = PieceLayout(3, 8, 24, layout), np.arange(72, dtype=np.uint8), np.zeros(72, np.uint8)
        begins = PLACES if layout == "indexed" else np.arange(3) * 24
        mask = np.zeros(72, dtype=bool)
        mask[(begins[:, None] + np.arange(8)).ravel()] = True
        for way in ("type", "pack", "numpy"):
            room[:] = 255
            received = executed(way, data, room, layout=pieces)
            wrong += [] if is_alike(received, np.where(mask, data, 255)) else [f"{layout} by {way}"]
            count += 1
    for shape in ("vector", "indexed"):
        for way in ("type", "pack", "numpy"):
            wrong += [] if run_with_datatype(way, shape) else [f"{shape} of a datatype by {way}"]
            count += 1
    if MPI.COMM_WORLD.rank:
        print(f"{count} executed, wrong: {wrong}")


if __name__ == "__main__":
    sys.exit(main())
