"""Collectives of neighbours in a topology as messages. Main entries: `of_neighbours`, `lines`."""

from typing import Any

from commmodel._core.common.codes import NO_PROCESS
from commmodel.collectives.between_groups import GroupExchange
from commmodel.record.communicators import View


def lines(rank: int, tag: int, sends: list[tuple[int, int]], receives: list[tuple[int, int]]) -> list[list[str]]:
    """Return the lines that post messages with ranks of the program, and those that wait for them.

    >>> lines(0, 7, [(1, 80)], [(2, 40)])
    [['irecv 2 7 40 6', 'isend 1 7 80 6'], ['wait 2 0 7', 'wait 0 1 7']]
    """
    posts = [f"irecv {peer} {tag} {size} 6" for peer, size in receives]
    posts += [f"isend {peer} {tag} {size} 6" for peer, size in sends]
    waits = [f"wait {peer} {rank} {tag}" for peer, _ in receives]
    return [posts, waits + [f"wait {rank} {peer} {tag}" for peer, _ in sends]]


def of_neighbours(call: Any, view: View, *, is_cartesian: bool) -> GroupExchange | None:
    """Return a neighbourhood collective; None where the log does not say with whom.

    The k-th message to a neighbour is the k-th that it has from this rank. In a Cartesian topology what goes up a
    dimension comes from below, which matters where both neighbours are the same rank.
    """
    if view.sources is None or view.destinations is None:
        return None
    sends = _messages(view.destinations, call.sent_counts, call.bytes)
    receives = _messages(view.sources, call.received_counts, call.room)
    if is_cartesian:
        sends = [sends[number ^ 1] for number in range(len(sends))]
    without = [message for message in sends if message[0] != NO_PROCESS]
    return GroupExchange(without, [message for message in receives if message[0] != NO_PROCESS])


def _messages(peers: tuple[int, ...], counts: list[int] | int, size: int) -> list[tuple[int, int]]:
    sizes = counts if isinstance(counts, list) and counts else [size] * len(peers)
    return list(zip(peers, sizes, strict=False))
