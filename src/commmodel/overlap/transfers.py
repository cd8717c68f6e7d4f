"""Transfers of an exchange: what is refused, how they are cut into messages, and what partners agree on.

Main entries: `Transfer`, `sides` and `agree`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.docstrings import with_attributes
from commmodel.errors import InputError, MPIEnvironmentError
from commmodel.launchers import alone

if TYPE_CHECKING:
    import mpi4py.typing
    from mpi4py import MPI

Array = NDArray[Any]

_LARGEST = 2**31 - 1
"""Bytes of a message: MPI counts them as a C int."""
_MOST_MESSAGES = 2**20
"""Each way and transfer: a request for each is kept."""


@with_attributes
@dataclass(frozen=True, eq=False, kw_only=True)
class Transfer:
    """A buffer to send to one process and a buffer to receive from one, the same or another, at the same time.

    Transfer number i of a process belongs to transfer number i of its partners. So list them as shifts: "all send up
    and receive from below", then "all send down and receive from above".
    """

    send: "mpi4py.typing.Buffer | None" = None
    """Contiguous: a numpy array of any type and shape, or another buffer. Not to be changed while a run lasts."""
    dest: int | None = None
    """Rank to send to; ``MPI.PROC_NULL`` for nobody."""
    receive: "mpi4py.typing.Buffer | None" = None
    """Contiguous and writable; as long as the source's `send`, and of its type."""
    source: int | None = None
    """Rank to receive from; ``MPI.PROC_NULL`` for nobody."""
    compute: Callable[[Array, int], object] | None = None
    """Called as ``compute(piece, start)`` for each message in order. `piece` is a view of those elements of `receive`
    that have come, of shape (n,); `start` is the index of the first of them, in the order of memory."""


class End(NamedTuple):
    """Properties of a transfer that must be equal at sender and receiver."""

    number: int
    volume: int
    """Bytes."""
    message_size: int
    dtype: str


_MENDS = {
    "number": "list transfers in the same order on all ranks, as shifts (all send up and receive from below)",
    "volume": "make both buffers equally long",
    "message_size": "give the same on all ranks",
    "dtype": "give both buffers the same",
}


class HalfTransfer(NamedTuple):
    """One direction of a transfer, cut into messages."""

    partner: int
    flat: Array
    """Empty where the partner is nobody, MPI.PROC_NULL."""
    elements: int
    """Of a message."""

    def pieces(self) -> Iterator[tuple[int, Array]]:
        """Yield the messages: the place of the first element, and a view."""
        for start in range(0, self.flat.size, self.elements):
            yield start, self.flat[start : start + self.elements]

    def end(self, number: int) -> End:
        """Return what must be equal at the partner."""
        size = self.elements * self.flat.itemsize
        return End(number, self.flat.nbytes, size, str(self.flat.dtype))


def check_partners_can_be_told(comm: "MPI.Comm", transfers: Sequence[Transfer], tag: int) -> None:
    """Raise where partners could not be informed of an error."""
    from mpi4py import MPI

    if not isinstance(transfers, Sequence) or not all(isinstance(transfer, Transfer) for transfer in transfers):
        raise InputError(f"transfers is a {type(transfers).__name__}: give a list of Transfer")
    if not isinstance(comm, MPI.Comm) or comm == MPI.COMM_NULL:
        raise InputError(f"comm is {comm!r}: give a communicator, such as MPI.COMM_WORLD")
    if problem := alone(MPI.COMM_WORLD.size):
        raise MPIEnvironmentError(problem)
    most = MPI.COMM_WORLD.Get_attr(MPI.TAG_UB)
    if not isinstance(tag, int) or not 0 <= tag <= int(most or 0):
        raise InputError(f"tag is {tag!r}: give an integer from 0 to {most}")


def partner_ranks(comm: "MPI.Comm", transfers: Sequence[Transfer]) -> tuple[list[tuple[int, int]], str | None]:
    """Return the ranks (dest, source) of each transfer, and what is wrong with them."""
    from mpi4py import MPI

    size = comm.Get_remote_size() if isinstance(comm, MPI.Intercomm) else comm.Get_size()
    problem = None

    def checked(index: int, name: str, rank: int | None) -> int:
        nonlocal problem
        if rank is None or rank == MPI.PROC_NULL:
            return MPI.PROC_NULL
        if isinstance(rank, int | np.integer) and 0 <= rank < size:
            return int(rank)
        problem = problem or f"transfer {index}: {name} is {rank!r}: give a rank from 0 to {size - 1}, or MPI.PROC_NULL"
        return MPI.PROC_NULL

    ranks = [
        (checked(index, "dest", transfer.dest), checked(index, "source", transfer.source))
        for index, transfer in enumerate(transfers)
    ]
    return ranks, problem


def sides(
    transfers: Sequence[Transfer], ranks: list[tuple[int, int]], message_size: int
) -> tuple[list[HalfTransfer], list[HalfTransfer]]:
    """Return the send and receive side of each transfer; raise where a buffer is unsuitable."""
    sent, received = [], []
    for index, (transfer, (dest, source)) in enumerate(zip(transfers, ranks, strict=True)):
        place = f"transfer {index}: "
        if (transfer.send is None) != (transfer.dest is None):
            raise InputError(f"{place}send and dest belong together: give both (dest may be MPI.PROC_NULL), or none")
        if (transfer.receive is None) != (transfer.source is None):
            raise InputError(
                f"{place}receive and source belong together: give both (source may be MPI.PROC_NULL), or none"
            )
        if transfer.compute is not None and not callable(transfer.compute):
            raise InputError(
                f"{place}compute is a {type(transfer.compute).__name__}: give a function of (piece, start)"
            )
        sent.append(side(f"{place}send", transfer.send, dest, message_size))
        received.append(side(f"{place}receive", transfer.receive, source, message_size))
        if not received[-1].flat.flags.writeable:
            raise InputError(f"{place}receive is read-only: give a buffer that can be written")
    check_apart(sent, received)
    return sent, received


def side(name: str, buffer: Any, partner: int, message_size: int) -> HalfTransfer:
    """Return one direction of a transfer; raise where its buffer is unsuitable."""
    from mpi4py import MPI

    if buffer is None:
        return HalfTransfer(MPI.PROC_NULL, np.empty(0, np.uint8), 1)
    try:
        array: Array = np.asarray(buffer if isinstance(buffer, np.ndarray) else memoryview(buffer))
    except (TypeError, ValueError):
        raise InputError(f"{name} is a {type(buffer).__name__}: give a numpy array or another buffer") from None
    if array.dtype.hasobject or array.itemsize == 0:
        raise InputError(f"{name} holds elements of type {array.dtype}: give a buffer of numbers or bytes")
    if not array.flags.forc:
        raise InputError(f"{name} is not contiguous: give a contiguous part, or a copy by numpy.ascontiguousarray")
    elements = min(message_size, _LARGEST) // array.itemsize
    if elements == 0:
        raise InputError(
            f"message_size is {message_size}, but an element of {name} has {array.itemsize} bytes: give at least those"
        )
    if array.size > elements * _MOST_MESSAGES:
        raise InputError(
            f"message_size is {message_size}: {name} of {array.nbytes} bytes would go in more than {_MOST_MESSAGES} "
            "messages: give a larger message_size"
        )
    flat = array.reshape(-1, order="A")
    return HalfTransfer(partner, flat[:0] if partner == MPI.PROC_NULL else flat, elements)


def check_apart(sent: list[HalfTransfer], received: list[HalfTransfer]) -> None:
    """Raise where a receive buffer overlaps another buffer of the exchange."""
    extents = []
    for name, sides in (("send", sent), ("receive", received)):
        for index, side in enumerate(sides):
            if side.flat.size:
                begin = side.flat.__array_interface__["data"][0]
                extents.append((begin, begin + side.flat.nbytes, name, index))
    furthest = {"send": (0, "send", 0), "receive": (0, "receive", 0)}
    for begin, end, name, index in sorted(extents):
        for before, other, its_index in furthest.values():
            if begin < before and "receive" in (name, other):
                raise InputError(
                    f"{name} of transfer {index} and {other} of transfer {its_index} share memory: "
                    "receive into memory of its own"
                )
        furthest[name] = max(furthest[name], (end, name, index))


class Description(NamedTuple):
    """A rank's description of its exchange, sent to its partners."""

    problem: str | None
    order: str
    sent: list[End]
    """What goes to the partner."""
    received: list[End]
    """What is to come from it."""
    requests: str = "messages"
    """Kind of requests that carry it: only those of one kind find each other."""


def agree(
    comm: "MPI.Comm",
    tag: int,
    description: Description,
    sent: list[HalfTransfer],
    received: list[HalfTransfer],
    ranks: list[tuple[int, int]],
) -> str | None:
    """Exchange descriptions with all partners, and return what is wrong on this rank or with one of them.

    `description` has what all partners are told; what goes to each and comes from it is added.
    """
    from mpi4py import MPI

    partners = sorted({rank for pair in ranks for rank in pair} - {MPI.PROC_NULL})
    descriptions = {rank: description._replace(sent=[], received=[]) for rank in partners}
    problem = description.problem
    for index, (out, into) in enumerate(zip(sent, received, strict=True)):
        if out.partner != MPI.PROC_NULL:
            descriptions[out.partner].sent.append(out.end(index))
        if into.partner != MPI.PROC_NULL:
            descriptions[into.partner].received.append(into.end(index))
    telling = [comm.isend(descriptions[rank], dest=rank, tag=tag) for rank in partners]
    for rank in partners:
        answer = comm.recv(source=rank, tag=tag)
        problem = problem or difference(rank, descriptions[rank], answer)
    MPI.Request.Waitall(telling)
    return problem


def difference(rank: int, own_side: Description, partner_side: Description) -> str | None:
    """Return the mismatch between this rank and a partner."""
    if partner_side.problem is not None:
        return f"rank {rank} has refused its end: {partner_side.problem}"
    if partner_side.requests != own_side.requests:
        return (
            f"implementation is of {own_side.requests} here and of {partner_side.requests} on rank {rank}: "
            "give the same on all ranks"
        )
    if partner_side.order != own_side.order:
        return f"order is {own_side.order} here and {partner_side.order} on rank {rank}: give the same on all ranks"
    for local_ends, partner_ends, way in (
        (own_side.sent, partner_side.received, f"from this rank to rank {rank}"),
        (own_side.received, partner_side.sent, f"from rank {rank} to this rank"),
    ):
        if len(local_ends) != len(partner_ends):
            return (
                f"{len(local_ends)} transfers go {way} by this rank, {len(partner_ends)} by the other: "
                "give each transfer to both, the one with dest, the other with source"
            )
        for local_end, partner_end in zip(local_ends, partner_ends, strict=True):
            for field, local_value, partner_value in zip(End._fields, local_end, partner_end, strict=True):
                if local_value != partner_value:
                    return (
                        f"transfer {local_end.number}, {way}: its {field} is {local_value} on this rank "
                        f"and {partner_value} on rank {rank}: "
                        f"{_MENDS[field]}"
                    )
    return None


def agree_on_counts(
    comm: "MPI.Intracomm", problem: str | None, burst: int, counts: Sequence[int]
) -> tuple[str | None, list[int]]:
    """Return what is wrong on any rank, and the most messages that any rank has of each transfer."""
    answers = comm.allgather((problem, burst, [*counts]))
    for rank, (other, length, _) in enumerate(answers):
        if problem is None and other is not None:
            problem = f"rank {rank} has refused its end: {other}"
        if problem is None and length != burst:
            problem = f"burst is {burst} here and {length} on rank {rank}: a collective needs the same on all ranks"
    return problem, [max(column) for column in zip_longest(*(row for *_, row in answers), fillvalue=0)]
