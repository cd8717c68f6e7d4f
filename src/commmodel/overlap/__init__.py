"""Exchange of buffers in bursts of messages, with computation on each message as it arrives, in an application.

Carries out what `commmodel.optimize.choose` chooses: the pipelined schedule of Iancu and Strohmaier 2007, Figure 6-E
(ask for the next burst, then wait for each message of this one and compute on it), or the tight one, 6-C. Importing
this does not start MPI.

Main entries: `Exchange`, run in every time step, `row_transfers`, those of a stencil, and `exchange`, for one time.
"""

import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from commmodel.arguments import Count, choice, integer, refuse, whole
from commmodel.choices import ExchangeImplementation
from commmodel.errors import InputError, MPIEnvironmentError
from commmodel.optimize import Choice
from commmodel.overlap import bursts
from commmodel.overlap.transfers import (
    Array,
    Description,
    Transfer,
    agree,
    agree_on_counts,
    check_partners_can_be_told,
    partner_ranks,
    sides,
)
from commmodel.signatures import checked

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Exchange", "Transfer", "exchange", "row_transfers"]

Order = Literal["contiguous", "interleaved"]

_TAG = 2007
_KINDS = {"partitioned": "partitioned requests", "collective": "collectives"}
"""Implementation -> what carries it, where that is not messages."""


class Exchange:
    """Transfers cut into messages and bursts, set up once and run many times.

    To make one, all partners must; each tells the others what it is going to do, and what does not fit is refused on
    both sides. Messages have persistent requests (MPI 4.1, Section 3.9), and a burst is one compiled loop. Free it
    at the end, or use it in a ``with`` block; one that is not reachable any more frees itself.

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
        ``pipelined``: two bursts are under way, or ``tight``: one. ``partitioned``: each way of a transfer is one
        partitioned message (MPI 4.1, Chapter 4), all of which are under way at once; with Open MPI 5 all ranks of
        MPI_COMM_WORLD make such an exchange, or nothing arrives. ``collective``: a burst is one
        non-blocking collective among neighbours, and two are under way; then all ranks of an intracommunicator make
        the exchange with the same `burst`, and free it.
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
        check_partners_can_be_told(comm, transfers, tag)
        ranks, problem = partner_ranks(comm, transfers)
        cut = bursts.CutTransfers(transfers, [], [], order == "interleaved")
        kind = "messages"
        if problem is None:
            try:
                burst = integer("burst", burst)
                choice("order", order, Order)
                kind = _KINDS.get(choice("implementation", implementation, ExchangeImplementation), kind)
                _check_kind(comm, implementation, has_partitioned=exchange_requests.HAS_PARTITIONED)
                sent, received = sides(transfers, ranks, integer("message_size", message_size))
                cut = cut._replace(sent=sent, received=received)
            except InputError as error:
                problem = str(error)
        problem = agree(comm, tag, Description(problem, order, [], [], kind), cut.sent, cut.received, ranks)
        counts: list[int] = []
        group = None if implementation != "collective" or comm.Is_inter() else cast("MPI.Intracomm", comm)
        if group is not None:
            problem, counts = agree_on_counts(group, problem, burst, cut.counts())
        if problem is not None:
            raise InputError(problem)
        if group is not None:
            self._requests, self._bursts = bursts.collective_bursts(group, cut, burst, counts)
        elif implementation == "partitioned":
            self._requests, self._bursts = bursts.partitioned_burst(comm, tag, cut)
        else:
            self._requests, self._bursts = bursts.message_bursts(comm, tag, cut, burst)
        self._ahead = 0 if implementation == "tight" else 1
        # Where the last reference goes, too, and before MPI ends: MPICH complains of requests that are left.
        self._finalizer = weakref.finalize(self, _free, self._requests)

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


def _check_kind(comm: "MPI.Comm", implementation: str, *, has_partitioned: bool) -> None:
    """Raise where the library or the communicator does not have what carries the messages."""
    if implementation == "partitioned" and not has_partitioned:
        raise InputError(
            "implementation is 'partitioned', but this MPI library has no MPI_Psend_init, which is of MPI 4.0: "
            "give pipelined, or use a newer library"
        )
    if implementation == "collective" and comm.Is_inter():
        raise InputError("implementation is 'collective', but comm is an intercommunicator: give pipelined")
