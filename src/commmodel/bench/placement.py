"""Who talks to whom: the pairs of ranks on each path that messages can take. Main entry: `place`.

Rank 0 is the first rank of the first pair everywhere, so it takes part in every measurement and can decide.
"""

from collections.abc import Sequence

from commmodel.results import MessagePath

__all__ = ["Placement", "members", "place"]

Placement = dict[MessagePath, tuple[tuple[int, int], ...]]


def place(host_of_rank: Sequence[int]) -> Placement:
    """Return the pairs (first, second) of each path, in the order in which they are added.

    Between nodes, the ranks of rank 0's host are paired one to one with those of the next host. Within rank 0's
    node, neighbours are paired. A path without a pair is left out.

    >>> place([0, 0, 1, 1])
    {'same-node': ((0, 1),), 'between-nodes': ((0, 2), (1, 3))}
    """
    hosts = list(dict.fromkeys(host_of_rank))
    on_host = [[rank for rank, host in enumerate(host_of_rank) if host == wanted] for wanted in hosts[:2]]
    home = on_host[0]
    placement: Placement = {}
    if len(home) > 1:
        placement["same-node"] = tuple(zip(home[0::2], home[1::2], strict=False))
    if len(hosts) > 1:
        placement["between-nodes"] = tuple(zip(home, on_host[1], strict=False))
    return placement


def members(pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the ranks of some pairs, all first ranks before all second ones.

    >>> members([(0, 2), (1, 3)])
    [0, 1, 2, 3]
    """
    return [first for first, _ in pairs] + [second for _, second in pairs]
