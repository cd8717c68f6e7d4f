"""GOAL schedules in the binary form of LogGOPSim, which its ``txt2bin`` writes. Main entries: `load`, `content`.

Little endian, without padding: a number that is always the same, the number of ranks, the highest processor and NIC, a
table of where each rank's part begins and ends (from byte 8 on), and the parts. A part is the number of operations and
of roots, which depend on nothing; the roots; operations of 39 bytes; and the operations that depend on them, by number.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import GoalKind as Kind
from commmodel.arguments import occurring_ranks, rank_count
from commmodel.errors import DamagedFileError, InputError
from commmodel.simulate.goal.schedule import DEPENDENCY, GOAL_OPERATION, GoalSchedule

_COOKIE, _SPOILT = 4223, 2342
_HEADER = np.dtype([("cookie", "<u8"), ("processes", "<u4"), ("cpu", "u1"), ("nic", "u1")])
_PART = np.dtype([("begin", "<u8"), ("end", "<u8")])
_BASE = 8
"""Byte from which on the table counts."""
_OPERATION = np.dtype(
    [
        ("waits", "<u4"), ("kind", "u1"), ("peer", "<u4"), ("size", "<u8"), ("tag", "<u4"), ("cpu", "u1"),
        ("nic", "u1"), ("ended", "<u4"), ("ended_at", "<u4"), ("started", "<u4"), ("started_at", "<u4"),
    ]
)  # fmt: skip
"""`waits`: for how many; `ended`, `started`: how many wait for its end and for its start, and where their list is."""
_COUNTS = np.dtype([("operations", "<u4"), ("roots", "<u4")])
_WORD = np.dtype("<u4")
_KINDS = {1: Kind.SEND, 2: Kind.RECEIVE, 3: Kind.CALCULATE}
_ANY = 0xFFFFFFFF


def is_binary(begin: bytes) -> bool:
    """Whether a file that begins so is a schedule in binary form, be it one that a simulation has spoilt."""
    return int.from_bytes(begin[:8], "little") in (_COOKIE, _SPOILT) and len(begin) >= 8


class _BinaryFile:
    """The bytes of a schedule, of which parts are taken as arrays."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._bytes = np.memmap(path, np.uint8, "r")
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: {getattr(error, 'strerror', None) or 'an empty file'}") from None
        self.size = self._bytes.size

    def damaged(self, byte: int, problem: str) -> DamagedFileError:
        return DamagedFileError(self.path, f"byte {byte}", problem)

    def take(self, byte: int, count: int, dtype: np.dtype[Any], end: int, content: str) -> NDArray[Any]:
        """Return `count` rows from a byte on, which must end before another."""
        if byte + count * dtype.itemsize > end:
            raise self.damaged(
                byte, f"{count} {content} do not fit in before byte {end}: the file is cut off or damaged"
            )
        return np.frombuffer(self._bytes[byte : byte + count * dtype.itemsize].tobytes(), dtype)


def load(path: str | os.PathLike[str]) -> GoalSchedule:
    """Read a schedule in binary form.

    Raises
    ------
    InputError
        Where the file cannot be read.
    DamagedFileError
        Where it is no such schedule: the message names the byte.
    """
    file = _BinaryFile(Path(path))
    header = file.take(0, 1, _HEADER, file.size, "header")[0]
    if header["cookie"] == _SPOILT:
        raise file.damaged(0, "a simulation of LogGOPSim that saves memory has spoilt this schedule: make it anew")
    if header["cookie"] != _COOKIE:
        raise file.damaged(0, f"no binary GOAL schedule: expected the number {_COOKIE}")
    processes = int(header["processes"])
    if processes < 1:
        raise file.damaged(8, "0 ranks: there must be at least one")
    table = file.take(_HEADER.itemsize, processes, _PART, file.size, "places of ranks")
    rank_count(processes)
    if int((table["end"] - table["begin"]).astype(np.float64).sum()) > file.size:
        raise file.damaged(_HEADER.itemsize, "the parts of ranks are larger than the file: it is damaged")
    operations, dependencies, offsets = [], [], [0]
    for rank, (begin, end) in enumerate(table.tolist()):
        at = _HEADER.itemsize + rank * _PART.itemsize
        if not _BASE <= begin + _BASE <= end + _BASE <= file.size:
            raise file.damaged(at, f"rank {rank} from byte {begin + _BASE} to {end + _BASE} of {file.size}: damaged")
        of_rank, edges = _part(file, rank, begin + _BASE, end + _BASE, processes)
        edges["dependent"] += offsets[-1]
        edges["on"] += offsets[-1]
        operations.append(of_rank)
        dependencies.append(edges)
        offsets.append(offsets[-1] + of_rank.size)
        if offsets[-1] >= 2**31:
            raise file.damaged(begin + _BASE, f"more operations than {2**31 - 1}")
    try:
        occurring_ranks(processes - 1, int(np.count_nonzero(np.diff(offsets))))
        return GoalSchedule(
            np.concatenate(operations), np.array(offsets, np.int64), np.concatenate(dependencies), file.path.name
        )
    except InputError as error:
        raise DamagedFileError(file.path, "", str(error)) from None


def _part(
    file: _BinaryFile, rank: int, begin: int, end: int, processes: int
) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """Return a rank's operations, and its dependencies by the rank's numbers."""
    count, roots = file.take(begin, 1, _COUNTS, end, "counts")[0].tolist()
    roots_at = begin + _COUNTS.itemsize
    listed_roots = file.take(roots_at, roots, _WORD, end, "roots")
    rows_at = roots_at + listed_roots.nbytes
    rows = file.take(rows_at, count, _OPERATION, end, "operations")
    lists_at = rows_at + rows.nbytes
    size = int(rows["ended"].sum(dtype=np.uint64) + rows["started"].sum(dtype=np.uint64))
    lists = file.take(lists_at, size, _WORD, end, "dependencies")
    if lists_at + lists.nbytes != end:
        raise file.damaged(lists_at + lists.nbytes, f"{end - lists_at - lists.nbytes} bytes too many of rank {rank}")

    def check(wrong: NDArray[np.bool_], byte: int, step: int, problem: str) -> None:
        if wrong.any():
            raise file.damaged(byte + step * int(wrong.argmax()), f"rank {rank}: {problem}")

    def refuse(column: str, wrong: NDArray[np.bool_], problem: str) -> None:
        fields = _OPERATION.fields
        check(wrong, rows_at + (fields[column][1] if fields else 0), _OPERATION.itemsize, problem)

    is_send, is_receive = rows["kind"] == 1, rows["kind"] == 2
    refuse("kind", ~np.isin(rows["kind"], list(_KINDS)), "an operation that is no send (1), receive (2) or calc (3)")
    any_peer, any_tag = is_receive & (rows["peer"] == _ANY), is_receive & (rows["tag"] == _ANY)
    refuse("peer", (is_send | is_receive) & ~any_peer & (rows["peer"] >= processes), f"at most rank {processes - 1}")
    refuse("size", rows["size"] >= 2**53, f"a size or time of more than {2**53 - 1}")
    refuse("tag", (is_send | is_receive) & ~any_tag & (rows["tag"] >= 2**31), f"a tag of more than {2**31 - 1}")
    check(lists >= count, lists_at, 4, f"a dependent that is not one of {count} operations")
    edges = np.concatenate(
        [_edges(lists, rows[how], rows[f"{how}_at"], start) for how, start in (("ended", 0), ("started", 1))]
    )
    if edges.size != size:
        raise file.damaged(rows_at, f"rank {rank}: dependencies outside of their list of {size}")
    edges = edges[np.argsort(edges["on"], kind="stable")]
    waits = np.bincount(edges["dependent"], minlength=count)
    refuse("waits", rows["waits"] != waits, "an operation waits for another number than depend on by the lists")
    if not np.array_equal(np.sort(listed_roots), np.flatnonzero(waits == 0)):
        raise file.damaged(roots_at, f"rank {rank}: roots that are not the operations that wait for nothing")
    _check_circles(file, rank, rows_at, count, edges)
    return _operations(rows, is_send | is_receive), edges


def _operations(rows: NDArray[np.void], is_message: NDArray[np.bool_]) -> NDArray[np.void]:
    operations = np.zeros(rows.size, GOAL_OPERATION)
    operations["kind"] = rows["kind"] - 1
    operations["value"] = rows["size"]
    for column in ("peer", "tag"):
        operations[column] = np.where(is_message, rows[column], 0).astype(np.int64).astype(np.int32)
    operations["cpu"], operations["nic"] = rows["cpu"], np.where(is_message, rows["nic"], 0)
    return operations


def _edges(lists: NDArray[Any], sizes: NDArray[Any], begins: NDArray[Any], start: int) -> NDArray[np.void]:
    """Return the dependencies on operations whose dependents stand in lists; none where a list leaves them."""
    listed = np.flatnonzero(sizes)
    sizes, begins = sizes[listed].astype(np.int64), begins[listed].astype(np.int64)
    if (begins + sizes > lists.size).any():
        return np.empty(0, DEPENDENCY)
    places = np.repeat(begins - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    edges = np.empty(places.size, DEPENDENCY)
    edges["dependent"], edges["on"], edges["start"] = lists[places], np.repeat(listed, sizes), start
    return edges


def _check_circles(file: _BinaryFile, rank: int, rows_at: int, count: int, edges: NDArray[np.void]) -> None:
    """Raise where dependencies go in a circle; only those on later operations can make one."""
    if not (edges["on"] >= edges["dependent"]).any():
        return
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(edges.size, np.int8), (edges["on"], edges["dependent"])), (count, count))
    _, component = connected_components(graph, connection="strong")
    in_circle = np.bincount(component)[component] > 1
    in_circle[edges["on"][edges["on"] == edges["dependent"]]] = True
    if in_circle.any():
        byte = rows_at + _OPERATION.itemsize * int(in_circle.argmax())
        raise file.damaged(byte, f"rank {rank}: an operation waits for itself: its dependencies go in a circle")


def content(schedule: GoalSchedule) -> Iterator[bytes]:
    """Yield the bytes of a schedule in binary form, rank by rank; times and sizes as integers.

    >>> from commmodel.collectives import Problem, build
    >>> from commmodel.simulate.goal.conversions import from_collective
    >>> [len(part) for part in content(from_collective(build("bcast", "binomial", Problem(2, 8))))]
    [46, 51, 51]
    """
    count, processes = schedule.operations.size, schedule.processes
    edges = schedule.dependencies[np.lexsort((schedule.dependencies["start"], schedule.dependencies["on"]))]
    bounds = np.searchsorted(edges["on"], schedule.offsets)
    waits = np.bincount(edges["dependent"], minlength=count)
    roots = np.concatenate([[0], np.cumsum(waits == 0)])[schedule.offsets]
    sizes = (
        _COUNTS.itemsize + 4 * np.diff(roots) + _OPERATION.itemsize * np.diff(schedule.offsets) + 4 * np.diff(bounds)
    )
    ends = _HEADER.itemsize - _BASE + processes * _PART.itemsize + np.cumsum(sizes)
    header, table = np.zeros(1, _HEADER), np.zeros(processes, _PART)
    highest = (schedule.operations[name].max(initial=0) for name in ("cpu", "nic"))
    header[0] = (_COOKIE, processes, *highest)
    table["begin"], table["end"] = ends - sizes, ends
    yield header.tobytes() + table.tobytes()
    for rank in range(processes):
        begin, end = schedule.offsets[rank : rank + 2].tolist()
        of_rank = edges[bounds[rank] : bounds[rank + 1]]
        rows = _rows(schedule.operations[begin:end], waits[begin:end], of_rank["on"] - begin, of_rank["start"])
        independent = np.flatnonzero(waits[begin:end] == 0).astype(_WORD)
        dependents = (of_rank["dependent"] - begin).astype(_WORD)
        counts = np.array([(rows.size, independent.size)], _COUNTS)
        yield b"".join(array.tobytes() for array in (counts, independent, rows, dependents))


def _rows(
    operations: NDArray[np.void], waits: NDArray[np.int64], on: NDArray[np.int32], start: NDArray[np.int32]
) -> NDArray[np.void]:
    """Return the rows of a rank's operations, whose dependencies are sorted by `on` and `start`."""
    rows = np.zeros(operations.size, _OPERATION)
    rows["waits"], rows["kind"], rows["size"] = waits, operations["kind"] + 1, operations["value"]
    rows["peer"], rows["tag"] = operations["peer"].astype(_WORD), operations["tag"].astype(_WORD)
    rows["cpu"], rows["nic"] = operations["cpu"], operations["nic"]
    rows["ended"] = np.bincount(on[start == 0], minlength=operations.size)
    rows["started"] = np.bincount(on[start != 0], minlength=operations.size)
    rows["ended_at"] = np.cumsum(rows["ended"] + rows["started"]) - rows["ended"] - rows["started"]
    rows["started_at"] = rows["ended_at"] + rows["ended"]
    return rows
