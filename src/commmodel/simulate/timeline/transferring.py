"""Waits split into waiting and transferring: the part with a message of the rank in flight.

Main entry: `split_waits`.
"""

import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import State
from commmodel.simulate.timeline.record import Timeline


def split_waits(timeline: Timeline) -> NDArray[np.void]:
    """Return the intervals with waits split where messages of the rank leave and arrive.

    Parts of a WAIT in which a message to or from the rank is under way have the state `State.TRANSFER`; a RECEIVE that
    is called before any of the rank's messages has left begins with a WAIT. Without messages, intervals stay as they
    are.

    >>> from commmodel.simulate.result import INTERVAL, MESSAGE
    >>> from commmodel.simulate.states import STATE_NAMES, State
    >>> waits = np.array([(1, State.WAIT, 0, 7, 8.0, 0.0, 5.0)], dtype=INTERVAL)
    >>> message = np.array([(0, 1, 7, 8.0, 2.0, 2.0, 4.0)], dtype=MESSAGE)
    >>> parts = split_waits(Timeline("late sender", 2, waits, message))
    >>> [(STATE_NAMES[part["state"]], float(part["start"]), float(part["end"])) for part in parts]
    [('wait', 0.0, 2.0), ('transfer', 2.0, 4.0), ('wait', 4.0, 5.0)]
    """
    rows, sent = timeline.intervals, timeline.transfers
    if not sent.size or not rows.size:
        return rows
    ranks = np.concatenate([sent["sender"], sent["receiver"]])
    order = np.lexsort((np.tile(sent["left"], 2), ranks))
    ranks, left, arrived = ranks[order], np.tile(sent["left"], 2)[order], np.tile(sent["arrived"], 2)[order]
    bounds = np.arange(timeline.processes + 1)
    of_messages, of_rows = np.searchsorted(ranks, bounds), np.searchsorted(rows["rank"], bounds)
    pieces = []
    for rank in range(timeline.processes):
        messages = slice(of_messages[rank], of_messages[rank + 1])
        begins, ends = _merged(left[messages], arrived[messages])
        pieces.append(_cut(rows[of_rows[rank] : of_rows[rank + 1]], begins, ends))
    return np.concatenate(pieces)


def _merged(begins: NDArray[np.float64], ends: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the union of spans, ordered and disjoint."""
    if not begins.size:
        return begins, ends
    reach = np.maximum.accumulate(ends)
    first = np.flatnonzero(np.concatenate([[True], begins[1:] > reach[:-1]]))
    return begins[first], reach[np.concatenate([first[1:] - 1, [begins.size - 1]])]


def _cut(rows: NDArray[np.void], begins: NDArray[np.float64], ends: NDArray[np.float64]) -> NDArray[np.void]:
    """Return one rank's intervals with waits and early receives cut at the ends of the spans."""
    cuts = np.stack([begins, ends], axis=1).ravel()  # ordered: the spans do not touch
    first = np.searchsorted(cuts, rows["start"], side="right")
    stop = np.searchsorted(cuts, rows["end"], side="left")
    waits, receives = rows["state"] == State.WAIT, rows["state"] == State.RECEIVE
    # a receive is cut once, where the first message leaves after its call, if none was under way then
    stop = np.where(receives, np.where(first % 2 == 0, np.minimum(stop, first + 1), first), stop)
    counts = np.where(waits | receives, np.maximum(stop - first, 0), 0) + 1
    pieces = np.repeat(rows, counts)
    number = np.arange(pieces.size) - np.repeat(np.cumsum(counts) - counts, counts)
    place = np.repeat(first, counts) + number
    inner, last = number > 0, number + 1 == np.repeat(counts, counts)
    pieces["start"][inner] = cuts[place[inner] - 1]
    pieces["end"][~last] = cuts[place[~last]]
    under_way = place % 2 == 1  # behind an odd number of cuts a span is open
    pieces["state"][under_way & np.repeat(waits, counts)] = State.TRANSFER
    pieces["state"][np.repeat(receives, counts) & ~last] = State.WAIT
    return pieces[pieces["end"] > pieces["start"]]
