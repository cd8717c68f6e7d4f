"""Collectives that replay as messages: those of neighbours in a topology, and those between two groups.

Main entries: `of_neighbours`, `between_groups`, `lines`.
"""

from typing import Any, NamedTuple

from commmodel.record.communicators import View

__all__ = ["CollectiveMessages", "between_groups", "lines", "of_neighbours"]

_NO_PROCESS, _ROOT = -2, -3


class CollectiveMessages(NamedTuple):
    """Messages of one rank in a collective, and what its own group does before and after them.

    Attributes
    ----------
    sends, receives : list of (peer, bytes)
        Peers are ranks of the group that messages go to.
    before, after : str
        Collectives of the rank's own group in the text of traces; empty where there is none.
    """

    sends: list[tuple[int, int]]
    receives: list[tuple[int, int]]
    before: str = ""
    after: str = ""


def lines(rank: int, tag: int, sends: list[tuple[int, int]], receives: list[tuple[int, int]]) -> list[list[str]]:
    """Return the lines that post messages with ranks of the program, and those that wait for them.

    >>> lines(0, 7, [(1, 80)], [(2, 40)])
    [['irecv 2 7 40 6', 'isend 1 7 80 6'], ['wait 2 0 7', 'wait 0 1 7']]
    """
    posts = [f"irecv {peer} {tag} {size} 6" for peer, size in receives]
    posts += [f"isend {peer} {tag} {size} 6" for peer, size in sends]
    waits = [f"wait {peer} {rank} {tag}" for peer, _ in receives]
    return [posts, waits + [f"wait {rank} {peer} {tag}" for peer, _ in sends]]


def of_neighbours(call: Any, view: View, *, is_cartesian: bool) -> CollectiveMessages | None:
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
    without = [message for message in sends if message[0] != _NO_PROCESS]
    return CollectiveMessages(without, [message for message in receives if message[0] != _NO_PROCESS])


def _messages(peers: tuple[int, ...], counts: list[int] | int, size: int) -> list[tuple[int, int]]:
    sizes = counts if isinstance(counts, list) and counts else [size] * len(peers)
    return list(zip(peers, sizes, strict=False))


def between_groups(verb: str, call: Any, local: int, remote: int, place: int) -> CollectiveMessages | None:
    """Return a collective between two groups, as libraries do it: within a group, between the two first ranks.

    Parameters
    ----------
    verb : str
        Its name, in its blocking form.
    call
        With lists of bytes in place of their lengths.
    local, remote : int
        Sizes of the two groups.
    place : int
        This rank's, in its own group.

    Returns
    -------
    CollectiveMessages or None
        None where there is no such collective between two groups.
    """
    size, room, root = call.bytes, call.room, call.root
    first = place == 0
    peers = range(remote)
    if verb in {"bcast", "scatter", "scatterv", "gather", "gatherv", "reduce"} and root == _NO_PROCESS:
        return CollectiveMessages([], [])
    match verb:
        case "barrier":
            return _of_leaders(first, 0, 0, "barrier", "bcast 1 0 6")
        case "allreduce":
            return _of_leaders(first, size, size, f"reduce {size} 0 0 6", f"bcast {size} 0 6")
        case "allgather":
            sent, received = size * local, room * remote
            return _of_leaders(first, sent, received, f"gather {size} {size} 0 6 6", f"bcast {received} 0 6")
        case "reduce_scatter" | "reduce_scatter_block":
            counts = call.received_counts if isinstance(call.received_counts, list) else [size] * local
            words, total = " ".join(map(str, counts)), sum(counts)
            scatter = f"scatterv {words} {counts[place]} 0 6 6"
            return _of_leaders(first, total, total, f"reduce {total} 0 0 6", scatter)
        case "bcast" | "scatter" if root == _ROOT:
            return CollectiveMessages([(0, size * (remote if verb == "scatter" else 1))], [])
        case "bcast":
            return CollectiveMessages([], [(root, size)] * first, after=f"bcast {size} 0 6")
        case "scatter":
            return CollectiveMessages([], [(root, room * local)] * first, after=f"scatter {room} {room} 0 6 6")
        case "gather" | "reduce" if root == _ROOT:
            return CollectiveMessages([], [(0, room * remote if verb == "gather" else size)])
        case "gather":
            return CollectiveMessages([(root, size * local)] * first, [], before=f"gather {size} {size} 0 6 6")
        case "reduce":
            return CollectiveMessages([(root, size)] * first, [], before=f"reduce {size} 0 0 6")
        case "scatterv" if root == _ROOT:
            return CollectiveMessages(_listed(call.sent_counts, peers), [])
        case "scatterv":
            return CollectiveMessages([], [(root, room)])
        case "gatherv" if root == _ROOT:
            return CollectiveMessages([], _listed(call.received_counts, peers))
        case "gatherv":
            return CollectiveMessages([(root, size)], [])
        case "alltoall":
            return CollectiveMessages([(peer, size) for peer in peers], [(peer, room) for peer in peers])
        case "allgatherv":
            return CollectiveMessages([(peer, size) for peer in peers], _listed(call.received_counts, peers))
        case "alltoallv" | "alltoallw":
            return CollectiveMessages(_listed(call.sent_counts, peers), _listed(call.received_counts, peers))
    return None


def _of_leaders(first: bool, sent: int, received: int, before: str, after: str) -> CollectiveMessages:
    return CollectiveMessages([(0, sent)] * first, [(0, received)] * first, before, after)


def _listed(counts: list[int] | int, peers: range) -> list[tuple[int, int]]:
    return list(zip(peers, counts if isinstance(counts, list) else [0] * len(peers), strict=True))
