"""Messages of an exchange in bursts, and the MPI requests that carry them.

Main entries: `message_bursts`, `partitioned_burst` and `collective_bursts`; each returns requests and their bursts,
which `commmodel.overlap.Exchange` runs alike.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from commmodel.overlap.transfers import Array, HalfTransfer, Transfer

if TYPE_CHECKING:
    from mpi4py import MPI

_Call = tuple[Callable[[Array, int], object], Array, int]
"""A function to call as a piece arrives, and its arguments."""


_WHOLE = -1
"""In place of a partition, of a message that has none."""


class ExchangePart(NamedTuple):
    """A piece that is sent or received."""

    place: tuple[int, int]
    """In the order of the exchange: messages of both ways with the same place count as one."""
    is_sent: bool
    partner: int
    piece: Array
    call: _Call | None = None


class RequestRange(NamedTuple):
    """A range of requests; of messages receives come first: one that finds its receive waiting need not be copied."""

    first: int
    end: int
    calls: tuple[_Call | None, ...]
    """Of the receives; empty where nothing is computed."""


class CutTransfers(NamedTuple):
    """Transfers that are cut into messages, and their order."""

    transfers: Sequence[Transfer]
    sent: list[HalfTransfer]
    received: list[HalfTransfer]
    is_interleaved: bool

    def place(self, index: int, number: int) -> tuple[int, int]:
        """Return where a message of a transfer stands: after the one before, or after that of the transfer before."""
        return (number, index) if self.is_interleaved else (index, number)

    def counts(self) -> list[int]:
        """Return the messages of each transfer, the most of either way."""
        pairs = zip(self.sent, self.received, strict=True)
        return [max(-(-side.flat.size // side.elements) for side in pair) for pair in pairs]

    def parts(self) -> list[ExchangePart]:
        """Return the messages of all transfers."""
        parts = []
        for index, (out, into, transfer) in enumerate(zip(self.sent, self.received, self.transfers, strict=True)):
            for number, (_, piece) in enumerate(out.pieces()):
                parts.append(ExchangePart(self.place(index, number), True, out.partner, piece))
            for number, (start, piece) in enumerate(into.pieces()):
                call = None if transfer.compute is None else (transfer.compute, piece, start)
                parts.append(ExchangePart(self.place(index, number), False, into.partner, piece, call))
        return parts


def message_bursts(comm: "MPI.Comm", tag: int, cut: CutTransfers, burst: int) -> tuple[Any, list[RequestRange]]:
    """Return a persistent request for each message, in bursts of messages each way."""
    from commmodel._core.mpi import exchange_requests

    parts = cut.parts()
    requests = exchange_requests.Requests(len(parts))
    places = sorted({part.place for part in parts})
    return requests, [_add(requests, comm, tag, group) for group in _in_bursts(parts, places, burst)]


def _in_bursts(parts: list[ExchangePart], places: list[tuple[int, int]], burst: int) -> Iterator[list[ExchangePart]]:
    """Yield the messages of each burst, receives before sends."""
    number_of = {place: position // burst for position, place in enumerate(places)}
    parts = sorted(parts, key=lambda part: (number_of[part.place], part.is_sent, part.place))
    for _, group in itertools.groupby(parts, lambda part: number_of[part.place]):
        yield list(group)


def _calls(parts: Sequence[ExchangePart]) -> tuple[_Call | None, ...]:
    """Return what is called for the messages that are received; nothing where nothing is computed."""
    calls = tuple(part.call for part in parts if not part.is_sent)
    return calls if any(calls) else ()


def _add(requests: Any, comm: "MPI.Comm", tag: int, parts: list[ExchangePart]) -> RequestRange:
    """Make the requests of a burst."""
    first = requests.count
    for part in parts:
        add = requests.add_send if part.is_sent else requests.add_receive
        add(comm, part.piece.view(np.uint8), part.partner, tag)
    return RequestRange(first, requests.count, _calls(parts))


def partitioned_burst(comm: "MPI.Comm", tag: int, cut: CutTransfers) -> tuple[Any, list[RequestRange]]:
    """Return a partitioned request for each way of a transfer, all of them in one burst.

    A library may send nothing before the last partition is ready, so none waits for what arrives. All partitions of a
    request have one size: a shorter last message is a message of its own.
    """
    from commmodel._core.mpi import exchange_requests

    _join_partitioned()
    receives = sorted((part for part in cut.parts() if not part.is_sent), key=lambda part: part.place)
    requests = exchange_requests.PartitionedRequests(2 * (len(cut.sent) + len(cut.received)), len(receives))
    arrivals: dict[tuple[int, int], tuple[int, int]] = {}
    for sides, is_sent in ((cut.received, False), (cut.sent, True)):
        for index, side in enumerate(sides):
            count = side.flat.size // side.elements
            whole, rest = side.flat[: count * side.elements], side.flat[count * side.elements :]
            if count:
                arrivals |= {cut.place(index, number): (requests.count, number) for number in range(count)}
                requests.add_parts(comm, whole.view(np.uint8), count, side.partner, tag, is_sent)
            if rest.size:
                arrivals[cut.place(index, count)] = (requests.count, _WHOLE)
                add = requests.add_send if is_sent else requests.add_receive
                add(comm, rest.view(np.uint8), side.partner, tag)
        if not is_sent:
            for part in receives:
                requests.expect(*arrivals[part.place])
    return requests, [RequestRange(0, requests.count, _calls(receives))] if requests.count else []


@cache
def _join_partitioned() -> None:
    """Make a partitioned request and free it, on a rank that may have no other.

    Open MPI 5 duplicates MPI_COMM_WORLD for them: messages wait until all of its ranks have made their first one.
    """
    from mpi4py import MPI

    MPI.COMM_SELF.Psend_init(bytearray(1), 1, 0).Free()


def collective_bursts(
    comm: "MPI.Intracomm", cut: CutTransfers, burst: int, counts: Sequence[int]
) -> tuple[Any, list[RequestRange]]:
    """Return a non-blocking collective among neighbours for each burst.

    All ranks begin all of them, so a burst is the same messages everywhere: `counts` has the most messages that any
    rank has of each transfer.
    """
    from mpi4py import MPI

    from commmodel._core.mpi import exchange_requests

    places = sorted(cut.place(index, number) for index, count in enumerate(counts) for number in range(count))
    neighbours = [sorted({side.partner for side in sides} - {MPI.PROC_NULL}) for sides in (cut.received, cut.sent)]
    graph = comm.Create_dist_graph_adjacent(neighbours[0], neighbours[1], reorder=False)
    groups: dict[int, list[ExchangePart]] = defaultdict(list)
    number_of = {place: position // burst for position, place in enumerate(places)}
    for part in sorted(cut.parts(), key=lambda part: part.place):
        groups[number_of[part.place]].append(part)
    requests = exchange_requests.CollectiveRequests(-(-len(places) // burst), graph)
    bursts = []
    for number in range(-(-len(places) // burst)):
        pieces: list[dict[int, list[Array]]] = [{rank: [] for rank in ranks} for ranks in neighbours]
        for part in groups[number]:
            pieces[part.is_sent][part.partner].append(part.piece.view(np.uint8))
        requests.add(*(list(side.values()) for side in pieces))
        bursts.append(RequestRange(number, number + 1, _calls(groups[number])))
    return requests, bursts
