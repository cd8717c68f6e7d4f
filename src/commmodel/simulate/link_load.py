"""Load of links over time, for the strips below a Gantt chart. Main entry: `link_loads`.

The simulator counts the bytes of each link. When they pass is taken from the messages: each moves at a constant rate
from when it leaves until it arrives; a link's strip is scaled to the bytes that the simulator counted.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

COLUMNS = 480
"""Parts of the time axis in which a load is told."""
_MOST_ROUTES = 50_000
"""Pairs of hosts whose routes are looked up; of more, the strips are left out."""


class LinkLoad(NamedTuple):
    """A link's load over the time axis."""

    name: str
    shares: NDArray[np.float64]
    """Of its capacity, shape (COLUMNS,), each from 0 to 1."""


def spread(
    filled: NDArray[np.float64],
    place: tuple[NDArray[np.intp], ...],
    begin: NDArray[np.float64],
    end: NDArray[np.float64],
    weight: NDArray[np.float64] | float = 1.0,
) -> None:
    """Add the covered share of each column by spans, so that the sum along the last axis is the load.

    `filled` has differences from column to column, shape (..., columns + 1); `place` all indices of each span but the
    last; spans go from `begin` to `end` in columns.
    """
    columns = filled.shape[-1] - 1
    for edge, sign in ((begin, 1.0), (end, -1.0)):
        column = np.minimum(edge.astype(np.int64), columns - 1)
        covered = sign * (column + 1 - edge) * weight
        np.add.at(filled, (*place, column), covered)
        np.add.at(filled, (*place, column + 1), sign * weight - covered)


def link_loads(
    links: Sequence[tuple[int, str, float]],
    transfers: NDArray[np.void],
    hosts: NDArray[np.integer[Any]],
    route: Callable[[int, int], list[int]],
    link_work: NDArray[np.float64],
    seconds: float,
) -> list[LinkLoad]:
    """Return the load over time of some links, given as number, name and capacity in B/s, on a time axis of `seconds`.

    Transfers are of `commmodel.simulate.result.MESSAGE`, `hosts` each rank's host; `route` returns the numbers of the
    links from one host to another; `link_work` is that of `commmodel.simulate.SimulationResult`. Left out are links
    that no message passed; and all of them where there are too many routes to look up.
    """
    moved = transfers[transfers["arrived"] > transfers["left"]]
    if not moved.size or not links or seconds <= 0:
        return []
    source, target = hosts[moved["sender"]], hosts[moved["receiver"]]
    pairs, of_pair = np.unique(np.stack([source, target], axis=1), axis=0, return_inverse=True)
    if len(pairs) > _MOST_ROUTES:
        return []
    passes = np.zeros((len(links), len(pairs)), dtype=bool)
    row_of = {number: row for row, (number, _, _) in enumerate(links)}
    for column, (sender, receiver) in enumerate(pairs.tolist()):
        for number in route(sender, receiver):
            if number in row_of:
                passes[row_of[number], column] = True
    rate = moved["size"] / (moved["arrived"] - moved["left"])
    begin, end = (np.clip(moved[name] * (COLUMNS / seconds), 0, COLUMNS) for name in ("left", "arrived"))
    loads = []
    for row, (number, name, capacity) in enumerate(links):
        sender = passes[row, of_pair.ravel()]
        sums = np.zeros(COLUMNS + 1)
        spread(sums, (), begin[sender], end[sender], rate[sender])
        moving = np.maximum(np.cumsum(sums)[:COLUMNS], 0.0)
        total = moving.sum() * seconds / COLUMNS
        if total > 0:
            shares = moving * (link_work[number] / total) / capacity
            loads.append(LinkLoad(name, np.clip(shares, 0.0, 1.0)))
    return loads
