"""Exchanges as programs: rings, halos, shifts, pairs, and any sparse exchange.

In each, a rank posts its receives, then its sends, and waits for all of it. Sizes are in bytes; repeat an exchange with
`commmodel.simulate.work.repeat`. Main entries: `ring`, `halo`, `shifts`, `pairwise`, `pair`, `sparse`, `read_sparse`.
"""

import csv
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commmodel._core.program.traces import arranged
from commmodel.arguments import MOST_RANKS, Count, Dimensions, Whole, integer, occurring_ranks, rank_count, whole
from commmodel.collectives.schedule import Round
from commmodel.errors import DamagedFileError, InputError
from commmodel.signatures import checked
from commmodel.simulate.operations import OPERATION, UNNAMED, Code, Operations, Program
from commmodel.simulate.work.block_streams import Block, program_of
from commmodel.simulate.work.grids import square_grid
from commmodel.simulate.work.rounds import blocks_of
from commmodel.units import parse_number, parse_whole

_LARGEST_FILE = 1 << 28
_NO_WORK = np.empty(0, dtype=np.int64)
_TAG = 1


def _check(processes: int, message_size: float, least: int = 1) -> None:
    rank_count(processes, least)
    whole("message_size", message_size, 0)


@checked
def ring(message_size: Whole, processes: Count) -> Program:
    """Return the exchange in which each rank sends n bytes to the next and receives from the one before.

    Parameters
    ----------
    message_size : int
        Bytes, 0 or more.
    processes : int

    Examples
    --------
    >>> ring(1024, 4).offsets.tolist()
    [0, 3, 6, 9, 12]
    """
    _check(processes, message_size)
    rank = np.arange(processes)
    return sparse(rank, (rank + 1) % processes, np.full(processes, message_size), processes, f"ring of {processes}")


@checked
def halo(
    message_size: int | Sequence[int],
    processes: Count,
    *,
    dimensions: Dimensions = 2,
    grid: Sequence[int] | None = None,
    periodic: bool | Sequence[bool] = True,
) -> Program:
    """Return the exchange of faces with the neighbours in a grid, two in each dimension.

    Ranks count along the first dimension fastest. Each posts receives and then sends, up and down in each dimension,
    the first dimension first. In a periodic dimension of length 2 the two neighbours are one and get two messages; of
    length 1, a rank sends to itself.

    Parameters
    ----------
    message_size : int or sequence of int
        Bytes of a face, or of a face in each dimension; 0 or more.
    processes : int
        P.
    dimensions : int
        1, 2 or 3; of `grid` where it is given.
    grid : sequence of int, optional
        Processes in each dimension; else as square as possible, the shortest side first.
    periodic : bool or sequence of bool
        Whether the last is a neighbour of the first, in all dimensions or each.

    Raises
    ------
    InputError
        Where the grid has not P processes, or sizes are wrong.

    Examples
    --------
    >>> halo(1024, 16).operations.size // 16  # four receives, four sends, one wait
    9
    """
    if grid is None:
        if dimensions not in (1, 2, 3):
            raise InputError(f"a grid of {dimensions} dimensions: 1, 2 or 3 are possible")
        _check(processes, 0)
        grid = square_grid(processes, dimensions)
    sides = tuple(int(side) for side in grid)
    if not 1 <= len(sides) <= 3 or min(sides) < 1 or math.prod(sides) != processes:
        raise InputError(
            f"a grid of {' x '.join(map(str, sides))} for {processes} processes: give 1 to 3 sides of that product"
        )
    sizes = tuple(message_size) if isinstance(message_size, Sequence) else (message_size,) * len(sides)
    wraps = tuple(periodic) if isinstance(periodic, Sequence) else (periodic,) * len(sides)
    if len(sizes) != len(sides) or len(wraps) != len(sides):
        raise InputError(f"{len(sizes)} sizes and {len(wraps)} periods for a grid of {len(sides)} dimensions")
    rank = np.arange(processes)
    senders, receivers, bytes_ = [], [], []
    stride = 1
    for side, size, wrap in zip(sides, sizes, wraps, strict=True):
        _check(processes, size)
        place = rank // stride % side
        for step in (1, -1):
            neighbour = rank + ((place + step) % side - place) * stride
            exists = np.ones(processes, dtype=bool) if wrap else (place + step >= 0) & (place + step < side)
            senders.append(rank[exists])
            receivers.append(neighbour[exists])
            bytes_.append(np.full(int(exists.sum()), size))
        stride *= side
    # The sends of a direction meet the receives of the same: two messages between the same two ranks keep their order.
    name = f"halo on {' x '.join(map(str, sides))} processes"
    return sparse(np.concatenate(senders), np.concatenate(receivers), np.concatenate(bytes_), processes, name)


def _multiplied(number: NDArray[np.uint64] | int, factor: int) -> NDArray[np.uint64]:
    """Return a product modulo 2^32."""
    return np.asarray(number, dtype=np.uint64) * np.uint64(factor) & np.uint64(0xFFFFFFFF)


@checked
def shifts(message_size: Whole, processes: int, rounds: Count = 1) -> Program:
    """Return an irregular exchange: in each round every rank sends to the rank at a pseudo-random distance.

    Sizes differ, from n/8 to n bytes, by a hash of sender and round. A rank waits for its two messages before it goes
    into the next round.

    Parameters
    ----------
    message_size : int
        n in bytes.
    processes : int
        P, at least 2.
    rounds : int
        How many.

    Examples
    --------
    >>> program = shifts(65536, 8)
    >>> [int(value) for value in program.operations["value"][:3]]
    [40960, 8192, 0]
    """
    _check(processes, message_size, 2)
    integer("rounds", rounds)
    message_size = int(message_size)
    rank = np.arange(processes)

    def rounds_of_exchange() -> Iterator[Round]:
        for number in range(rounds):
            hashed = int(_multiplied(number, 2654435761))
            distance = 1 + (hashed >> 8) % (processes - 1)
            mixed = _multiplied((_multiplied(rank.astype(np.uint64), 40503) + np.uint64(number * 977)), 2654435761)
            size = message_size // 8 * (1 + (mixed >> np.uint64(16)).astype(np.int64) % 8)
            yield Round(rank, (rank + distance) % processes, size)

    name = f"{rounds} irregular shifts on {processes} processes"
    return program_of(processes, lambda: blocks_of(processes, rounds_of_exchange(), 2), name)


@checked
def pairwise(message_size: Whole, processes: Count) -> Program:
    """Return the exchange of every rank with every other, one partner at a time, by MPI_Sendrecv.

    Parameters
    ----------
    message_size : int
        Bytes to each, 0 or more.
    processes : int

    Examples
    --------
    >>> pairwise(1024, 4).operations.size // 4
    9
    """
    _check(processes, message_size)
    rank = np.arange(processes)

    def rounds_of_exchange() -> Iterator[Round]:
        for step in range(1, processes):
            yield Round(rank, (rank + step) % processes, np.full(processes, message_size))

    name = f"pairwise exchange of {message_size} bytes on {processes} processes"
    return program_of(processes, lambda: blocks_of(processes, rounds_of_exchange(), _TAG), name)


@checked
def pair(message_size: Whole, processes: int = 2) -> Program:
    """Return a ping-pong with blocking calls: rank 0 sends n bytes to rank 1, which sends them back.

    Parameters
    ----------
    message_size : int
        Bytes, 0 or more.
    processes : int
        2 or more; those above the first two are idle.

    Examples
    --------
    >>> pair(8).operations["code"].tolist()
    [2, 4, 4, 2]
    """
    _check(processes, message_size, 2)
    send, receive = Code.SEND, Code.RECV
    first = np.array([(code, 1, 0, UNNAMED, message_size) for code in (send, receive)], dtype=OPERATION)
    second = np.array([(code, 0, 0, UNNAMED, message_size) for code in (receive, send)], dtype=OPERATION)
    empty: Operations = np.empty(0, dtype=OPERATION)
    return Program.from_ranks([first, second, *[empty] * (processes - 2)], f"ping-pong of {message_size} bytes")


@checked
def sparse(
    sender: ArrayLike, receiver: ArrayLike, size: ArrayLike, processes: Count | None = None, name: str = ""
) -> Program:
    """Return an exchange of given messages at once: receives, sends in the order listed, one wait.

    Parameters
    ----------
    sender, receiver : arrays of integers, shape (messages,)
        Ranks.
    size : array, shape (messages,)
        Bytes, 0 or more.
    processes : int, optional
        P; else one more than the highest rank.
    name : str
        What it is, for people.

    Raises
    ------
    InputError
        Where a rank or a size is wrong.

    Examples
    --------
    >>> sparse([0, 0], [1, 2], [8, 16]).offsets.tolist()
    [0, 3, 5, 7]
    """
    senders, receivers = np.asarray(sender), np.asarray(receiver)
    if np.asarray(size).dtype.kind not in "iuf":
        raise InputError("sizes of an exchange must be numbers of bytes")
    sizes = np.asarray(size, dtype=np.float64)
    if not senders.shape == receivers.shape == sizes.shape or senders.ndim != 1:
        raise InputError("senders, receivers and sizes of an exchange must be rows of one length")
    if senders.size and not (np.issubdtype(senders.dtype, np.integer) and np.issubdtype(receivers.dtype, np.integer)):
        raise InputError("senders and receivers of an exchange must be whole numbers")
    highest = int(max(senders.max(initial=0), receivers.max(initial=0)))
    if processes is None:
        if highest >= senders.size:  # else as many messages as that: no need to look
            occurring_ranks(highest, np.unique(np.concatenate([senders, receivers])).size)
        processes = highest + 1
    _check(processes, 0)
    if min(senders.min(initial=0), receivers.min(initial=0)) < 0 or highest >= processes:
        raise InputError(f"an exchange with a rank that is not 0 to {processes - 1}")
    right = np.isfinite(sizes) & (sizes >= 0) & (sizes == np.floor(sizes))
    if not right.all():
        whole("message_size", float(sizes[np.argmin(right)]), 0)
    rounds = np.zeros(senders.size, dtype=np.int64)
    block = arranged(processes, rounds, senders, receivers, sizes, _NO_WORK, _NO_WORK, np.empty(0), _TAG)
    return program_of(processes, lambda: iter([Block(*block)]), name or f"{sizes.size} messages at once")


def read_sparse(path: str | os.PathLike[str], processes: int | None = None) -> Program:
    """Read an exchange from a CSV file with the columns sender, receiver, bytes (a title line may come first).

    Raises
    ------
    InputError
        Where the file cannot be read.
    DamagedFileError
        Naming the line where it is not such a file.
    """
    place = Path(path)
    rows: list[tuple[int, int, float]] = []
    try:
        if place.stat().st_size > _LARGEST_FILE:
            raise DamagedFileError(place, "", f"larger than {_LARGEST_FILE >> 20} MiB")
        with place.open(newline="", encoding="utf-8") as file:
            for number, row in enumerate(csv.reader(file), 1):
                if not row or row[0].lstrip().startswith("#") or (number == 1 and not any(map(_is_number, row))):
                    continue
                rows.append(_row(place, number, row, processes))
    except OSError as error:
        raise InputError(f"{place}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DamagedFileError(place, "", f"no table: {error}") from None
    if not rows:
        raise DamagedFileError(place, "", "no messages: expected lines of sender, receiver, bytes")
    columns = tuple(zip(*rows, strict=True))
    senders, receivers = (np.array(column, dtype=np.int64) for column in columns[:2])
    try:
        return sparse(senders, receivers, columns[2], processes, place.name)
    except DamagedFileError:
        raise
    except InputError as error:
        raise DamagedFileError(place, "", str(error)) from None


def _is_number(word: str) -> bool:
    """Whether a word is a number in any notation, so that it is no title."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def _row(path: Path, number: int, row: list[str], processes: int | None) -> tuple[int, int, float]:
    where = f"line {number}"
    if len(row) != 3:
        raise DamagedFileError(path, where, f"{len(row)} columns: expected sender, receiver, bytes")
    most = MOST_RANKS if processes is None else processes
    try:
        sender, receiver = (parse_whole(word, 0, most - 1) for word in row[:2])
    except InputError:
        shown = " and ".join(word.strip()[:40] for word in row[:2])
        raise DamagedFileError(path, where, f"ranks {shown}: they must be whole numbers from 0 to {most - 1}") from None
    try:
        size = parse_number(row[2])
    except InputError:
        size = -1
    if size < 0 or size != round(size):
        shown = row[2].strip()[:40]
        raise DamagedFileError(path, where, f"{shown} bytes: a size must be a whole number, finite and not negative")
    return sender, receiver, size
