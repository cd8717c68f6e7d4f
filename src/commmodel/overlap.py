"""Exchange of buffers in bursts of messages, with computation on each message as it arrives, in an application.

Carries out what `commmodel.optimize.choose` chooses: the pipelined schedule of Iancu and Strohmaier 2007, Figure 6-E
(ask for the next burst, then wait for each message of this one and compute on it), or the tight one, 6-C. Importing
this does not start MPI.

Main entries: `Exchange`, run in every time step, `row_transfers`, those of a stencil, and `exchange`, for one time.
"""

import functools
import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import Count, choice, integer, refuse, whole
from commmodel.choices import Implementation
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError, MPIEnvironmentError
from commmodel.launchers import alone
from commmodel.optimize import Choice
from commmodel.signatures import checked

if TYPE_CHECKING:
    import mpi4py.typing
    from mpi4py import MPI

__all__ = ["Exchange", "Transfer", "exchange", "row_transfers"]

Array = NDArray[Any]
Order = Literal["contiguous", "interleaved"]

_TAG = 2007
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


class _End(NamedTuple):
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


class _HalfTransfer(NamedTuple):
    """One direction of a transfer, cut into messages."""

    partner: int
    flat: Array
    """Empty where the partner is nobody, MPI.PROC_NULL."""
    elements: int
    """Of a message."""

    def pieces(self) -> Iterator[tuple[int, Array]]:
        for start in range(0, self.flat.size, self.elements):
            yield start, self.flat[start : start + self.elements]

    def end(self, number: int) -> _End:
        size = self.elements * self.flat.itemsize
        return _End(number, self.flat.nbytes, size, str(self.flat.dtype))


_Call = tuple[Callable[[Array, int], object], Array, int]
"""A function to call as a piece arrives, and its arguments."""


class _ExchangePart(NamedTuple):
    """A piece that is sent or received."""

    place: tuple[int, int]
    """In the order of the exchange: messages of both ways with the same place count as one."""
    is_sent: bool
    partner: int
    piece: Array
    call: _Call | None = None


class _Burst(NamedTuple):
    """A range of requests, receives before sends: a message that finds its receive waiting need not be copied."""

    first: int
    end: int
    calls: tuple[_Call | None, ...]
    """Of the receives; empty where nothing is computed."""


class Exchange:
    """Transfers cut into messages and bursts, set up once and run many times.

    To make one, all partners must; each tells the others what it is going to do, and what does not fit is refused on
    both sides. All requests are persistent (MPI 4.1, Section 3.9), and a burst is one compiled loop. Free it at the
    end, or use it in a ``with`` block; one that is not reachable any more frees itself.

    Parameters
    ----------
    comm : MPI.Comm
        Any communicator. Nothing else may use `tag` between the same processes while an exchange is made or runs.
    transfers : sequence of Transfer
        As many as wanted, none included.
    message_size : int
        S, bytes, the same on all partners. Rounded down to whole elements, and to 2 GiB; the last message is shorter.
    burst : int
        b, messages each way to ask for one after the other, those of all transfers together.
    order : str
        ``contiguous``: a transfer is finished before the next; ``interleaved``: they take turns, a message each.
    implementation : str
        ``pipelined``: two bursts are under way, or ``tight``: one.
    tag : int
        Of all messages.

    Raises
    ------
    InputError
        On the rank with the bad argument, and on its partners. One that makes no exchange with this rank is waited
        for, as anywhere in MPI.

    Notes
    -----
    Iancu and Strohmaier 2007, Figure 6-C and E; the orders are those of Section 3.4.

    No deadlock: a rank waits only for messages that it has begun itself, and all begin the same ones in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> sent, received, sums = np.arange(10.0), np.zeros(10), []
    >>> to_itself = Transfer(send=sent, dest=0, receive=received, source=0,
    ...                      compute=lambda piece, start: sums.append((start, float(piece.sum()))))
    >>> with Exchange(MPI.COMM_SELF, [to_itself], message_size=32, burst=2) as exchange:
    ...     exchange.run()
    >>> sums
    [(0, 6.0), (4, 22.0), (8, 17.0)]
    """

    def __init__(
        self,
        comm: "MPI.Comm",
        transfers: Sequence[Transfer],
        *,
        message_size: int,
        burst: int,
        order: str = "contiguous",
        implementation: str = "pipelined",
        tag: int = _TAG,
    ) -> None:
        try:
            from commmodel._core.mpi import exchange_requests
        except (ImportError, RuntimeError) as error:
            raise MPIEnvironmentError(f"an exchange needs MPI, which cannot be loaded: {error}") from None
        _check_partners_can_be_told(comm, transfers, tag)
        ranks, problem = _partners(comm, transfers)
        sent: list[_HalfTransfer] = []
        received: list[_HalfTransfer] = []
        if problem is None:
            try:
                burst = integer("burst", burst)
                choice("order", order, Order)
                choice("implementation", implementation, Implementation)
                sent, received = _sides(transfers, ranks, integer("message_size", message_size))
            except InputError as error:
                problem = str(error)
        problem = _agree(comm, tag, order, sent, received, ranks, problem)
        if problem is not None:
            raise InputError(problem)
        messages = _messages(transfers, sent, received, interleaved=order == "interleaved")
        self._ahead = 1 if implementation == "pipelined" else 0
        self._requests = exchange_requests.Requests(len(messages))
        # Where the last reference goes, too, and before MPI ends: MPICH complains of requests that are left.
        self._finalizer = weakref.finalize(self, _free, self._requests)
        self._bursts = [_add(self._requests, comm, tag, part) for part in _in_bursts(messages, burst)]

    @classmethod
    def from_choice(cls, comm: "MPI.Comm", transfers: Sequence[Transfer], choice: Choice, *, tag: int = _TAG) -> Self:
        """Return an exchange with the chosen message size, burst, order and implementation.

        All ranks need the same choice: make it on one of them and broadcast it where it rests on measurements.

        Parameters
        ----------
        comm, transfers, tag
            As of `Exchange`.
        choice : Choice
            The same on all ranks.

        Examples
        --------
        >>> from mpi4py import MPI
        >>> from commmodel.optimize import MessageCosts, TransferProblem, choose
        >>> network = MessageCosts(overhead=2e-6, latency=10e-6, byte_time=1 / 900e6)
        >>> choice = choose(network, TransferProblem(volume=1 << 20, computation=500e-6))
        >>> with Exchange.from_choice(MPI.COMM_SELF, [], choice) as exchange:
        ...     exchange.run()
        """
        return cls(
            comm,
            transfers,
            message_size=choice.message_size,
            burst=choice.burst,
            order="interleaved" if choice.pattern.endswith("interleaved") else "contiguous",
            implementation=choice.implementation,
            tag=tag,
        )

    def run(self, interior: Callable[[], object] | None = None) -> None:
        """Exchange, and compute on each message as it arrives; return when all is received and sent.

        Parameters
        ----------
        interior : callable, optional
            Work that does not need what comes, done while the first bursts are under way. Where it is a generator
            function, MPI is called at each of its yields, for a library that moves messages within calls only.

        Raises
        ------
        InputError
            Where the exchange was freed, or `interior` is not a function.
        Exception
            What `interior` or a transfer's `compute` raises, after all messages have been exchanged, without further
            computation: the partners go on, and the exchange can be run again.
        """
        if not self._finalizer.alive:
            raise InputError("this exchange was freed: make another one")
        requests, begun = self._requests, 0
        if interior is not None and not self._bursts:
            _do(interior, lambda: None)
        for number, burst in enumerate(self._bursts):
            begun = self._begin(number, begun)
            try:
                if number == 0 and interior is not None:
                    _do(interior, functools.partial(requests.test, 0, begun))
                if burst.calls:
                    requests.receive(burst.first, burst.calls)
            except BaseException:  # whatever it is: partners wait for the messages that this rank promised
                self._complete(number, begun)
                raise
            requests.complete(burst.first, burst.end)

    def _begin(self, number: int, begun: int) -> int:
        """Start the requests that are to be under way in a burst but are not, and return how many have been started."""
        until: int = self._bursts[min(number + self._ahead, len(self._bursts) - 1)].end
        self._requests.start(begun, until)
        return until

    def _complete(self, number: int, begun: int) -> None:
        """Finish a run that a callback broke off in a burst; completed requests are inactive."""
        for later, burst in enumerate(self._bursts[number:], number):
            begun = self._begin(later, begun)
            self._requests.complete(burst.first, burst.end)

    def free(self) -> None:
        """Free the MPI requests; the exchange cannot be run any more."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()


@checked
def row_transfers(comm: "MPI.Comm", field: Array, *, width: Count = 1, periodic: bool = False) -> list[Transfer]:
    """Return the transfers of a stencil whose rows are distributed: `width` outermost rows go to either neighbour.

    Parameters
    ----------
    comm, width, periodic
        Ranks in the order of their rows; how far the stencil reaches; whether the first rank's follow the last one's.
    field : array
        Contiguous: a rank's rows, with `width` more before and behind them, into which those of its neighbours come.

    Examples
    --------
    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> field = np.arange(6.0)
    >>> rows = row_transfers(MPI.COMM_SELF, field, periodic=True)
    >>> with Exchange(MPI.COMM_SELF, rows, message_size=16, burst=2) as exchange:
    ...     exchange.run()
    >>> field.tolist()
    [4.0, 1.0, 2.0, 3.0, 4.0, 1.0]
    """
    from mpi4py import MPI

    if not field.ndim or len(field) < 3 * whole("width", width, 1):
        raise refuse("field", field.shape, f"give {width} rows or more, and {width} before and behind them")
    size = comm.Get_size()
    ranks = comm.Get_rank() - 1, comm.Get_rank() + 1
    before, after = (rank % size if periodic or 0 <= rank < size else MPI.PROC_NULL for rank in ranks)
    first, last = field[width : 2 * width], field[-2 * width : -width]
    return [
        Transfer(send=first, dest=before, receive=field[-width:], source=after),
        Transfer(send=last, dest=after, receive=field[:width], source=before),
    ]


def exchange(comm: "MPI.Comm", transfer: Transfer, *, message_size: int, burst: int, tag: int = _TAG) -> None:
    """Send a buffer and receive another in pipelined bursts of messages, computing on each message as it comes.

    An exchange is made and freed within: where the same buffers are
    exchanged again and again, make an `Exchange` once.

    Parameters
    ----------
    comm, message_size, burst, tag
        As of `Exchange`.

    Examples
    --------
    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> received = bytearray(5)
    >>> to_itself = Transfer(send=b"hello", dest=0, receive=received, source=0,
    ...                      compute=lambda piece, start: print(start, piece.tobytes()))
    >>> exchange(MPI.COMM_SELF, to_itself, message_size=2, burst=1)
    0 b'he'
    2 b'll'
    4 b'o'
    """
    with Exchange(comm, [transfer], message_size=message_size, burst=burst, tag=tag) as once:
        once.run()


def _messages(
    transfers: Sequence[Transfer], sent: list[_HalfTransfer], received: list[_HalfTransfer], *, interleaved: bool
) -> list[_ExchangePart]:
    """Return the messages of all transfers: one transfer after the other, or a message of each in turn."""
    messages = []
    for index, (out, into, transfer) in enumerate(zip(sent, received, transfers, strict=True)):
        for number, (_, piece) in enumerate(out.pieces()):
            place = (number, index) if interleaved else (index, number)
            messages.append(_ExchangePart(place, True, out.partner, piece))
        for number, (start, piece) in enumerate(into.pieces()):
            place = (number, index) if interleaved else (index, number)
            call = None if transfer.compute is None else (transfer.compute, piece, start)
            messages.append(_ExchangePart(place, False, into.partner, piece, call))
    return messages


def _in_bursts(messages: list[_ExchangePart], burst: int) -> Iterator[list[_ExchangePart]]:
    """Yield the messages of each burst, receives before sends."""
    places = sorted({message.place for message in messages})
    number_of = {place: position // burst for position, place in enumerate(places)}
    messages = sorted(messages, key=lambda message: (number_of[message.place], message.is_sent, message.place))
    for _, part in itertools.groupby(messages, lambda message: number_of[message.place]):
        yield list(part)


def _add(requests: Any, comm: "MPI.Comm", tag: int, part: list[_ExchangePart]) -> _Burst:
    """Make the requests of a burst."""
    first = requests.count
    for message in part:
        add = requests.add_send if message.is_sent else requests.add_receive
        add(comm, message.piece.view(np.uint8), message.partner, tag)
    calls = tuple(message.call for message in part if not message.is_sent)
    return _Burst(first, requests.count, calls if any(calls) else ())


def _do(interior: Callable[[], object], test: Callable[[], None]) -> None:
    """Call a function, or go through a generator and call `test` at each of its yields."""
    if not callable(interior):
        raise InputError(
            f"interior is a {type(interior).__name__}: give a function, or a generator function without calling it"
        )
    parts = interior()
    if isinstance(parts, Iterator):
        for _ in parts:
            test()


def _free(requests: Any) -> None:
    from mpi4py import MPI

    if not MPI.Is_finalized():
        requests.free()


def _check_partners_can_be_told(comm: "MPI.Comm", transfers: Sequence[Transfer], tag: int) -> None:
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


def _partners(comm: "MPI.Comm", transfers: Sequence[Transfer]) -> tuple[list[tuple[int, int]], str | None]:
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


def _sides(
    transfers: Sequence[Transfer], ranks: list[tuple[int, int]], message_size: int
) -> tuple[list[_HalfTransfer], list[_HalfTransfer]]:
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
        sent.append(_side(f"{place}send", transfer.send, dest, message_size))
        received.append(_side(f"{place}receive", transfer.receive, source, message_size))
        if not received[-1].flat.flags.writeable:
            raise InputError(f"{place}receive is read-only: give a buffer that can be written")
    _check_apart(sent, received)
    return sent, received


def _side(name: str, buffer: Any, partner: int, message_size: int) -> _HalfTransfer:
    from mpi4py import MPI

    if buffer is None:
        return _HalfTransfer(MPI.PROC_NULL, np.empty(0, np.uint8), 1)
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
    return _HalfTransfer(partner, flat[:0] if partner == MPI.PROC_NULL else flat, elements)


def _check_apart(sent: list[_HalfTransfer], received: list[_HalfTransfer]) -> None:
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


class _Description(NamedTuple):
    """A rank's description of its exchange, sent to its partners."""

    problem: str | None
    order: str
    sent: list[_End]
    """What goes to the partner."""
    received: list[_End]
    """What is to come from it."""


def _agree(
    comm: "MPI.Comm",
    tag: int,
    order: str,
    sent: list[_HalfTransfer],
    received: list[_HalfTransfer],
    ranks: list[tuple[int, int]],
    problem: str | None,
) -> str | None:
    """Exchange descriptions with all partners, and return what is wrong on this rank or with one of them."""
    from mpi4py import MPI

    partners = sorted({rank for pair in ranks for rank in pair} - {MPI.PROC_NULL})
    descriptions: dict[int, _Description] = {rank: _Description(problem, order, [], []) for rank in partners}
    for index, (out, into) in enumerate(zip(sent, received, strict=True)):
        if out.partner != MPI.PROC_NULL:
            descriptions[out.partner].sent.append(out.end(index))
        if into.partner != MPI.PROC_NULL:
            descriptions[into.partner].received.append(into.end(index))
    telling = [comm.isend(descriptions[rank], dest=rank, tag=tag) for rank in partners]
    for rank in partners:
        description = comm.recv(source=rank, tag=tag)
        problem = problem or _difference(rank, descriptions[rank], description)
    MPI.Request.Waitall(telling)
    return problem


def _difference(rank: int, own_side: _Description, partner_side: _Description) -> str | None:
    """Return the mismatch between this rank and a partner."""
    if partner_side.problem is not None:
        return f"rank {rank} has refused its end: {partner_side.problem}"
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
            for field, local_value, partner_value in zip(_End._fields, local_end, partner_end, strict=True):
                if local_value != partner_value:
                    return (
                        f"transfer {local_end.number}, {way}: its {field} is {local_value} on this rank "
                        f"and {partner_value} on rank {rank}: "
                        f"{_MENDS[field]}"
                    )
    return None
