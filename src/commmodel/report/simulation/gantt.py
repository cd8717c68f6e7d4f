"""Gantt charts of timelines: page data of bounded size, and an overview without a script.

A page holds so many intervals and messages as `MOST_INTERVALS` and `MOST_MESSAGES` say, over all its charts. Of more,
those shorter than a resolution are put together where they stand side by side, into pieces that say how many they
were and which state took most of their time; the resolution is the finest that fits. Main entries: `chart`, `Chart`.
"""

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import PathKind, State
from commmodel.simulate.critical_path import CriticalPath
from commmodel.simulate.link_load import LinkLoad, spread
from commmodel.simulate.timeline import Timeline

MOST_INTERVALS = 1_000_000
MOST_MESSAGES = 80_000
"""Over all charts of a page: mostly 2 to 8 bytes each, at worst 23 and 24."""
MOST_TURNS = 40_000
"""Points of a critical path, of a chart."""
_TICKS = 2**32 - 1
"""Times are whole numbers of this part of the common axis."""
_TOGETHER = 0x80
"""Marks a piece of several intervals, in the state's byte."""
_PERMILLE = 1000
_LEVEL = 6
"""Of the deflation: higher ones take longer for a percent."""
_GOLDEN = (5**0.5 - 1) / 2

LETTERS: dict[int, str] = {
    State.COMPUTE: "C", State.SEND: "S", State.RECEIVE: "R", State.WAIT: "W", State.SLEEP: "Z", State.TRANSFER: "T",
    State.FILES: "F", State.START_AND_END: "M",
}  # fmt: skip

Piece = np.dtype(
    [
        *(("rank", np.int32), ("state", np.uint8), ("peer", np.int32), ("size", np.float64), ("count", np.int64)),
        *(("share", np.float64), ("start", np.float64), ("end", np.float64)),
    ]
)
"""An interval, or several put together: `count` of them, of which `state` took `share` of the time they took."""


@dataclass(frozen=True)
class Chart:
    """A timeline as the page's script wants it.

    Attributes
    ----------
    name : str
    processes : int
    seconds : float
        When the last rank came to its end.
    data : dict
        Of the script: names and numbers.
    columns : str
        Of the script: its arrays, as `_packed` has them, in base64.
    intervals, shown, messages, shown_messages : int
        How many there are, and how many pieces and messages the page holds.
    resolution : float
        Seconds; shorter intervals that stand side by side were put together; 0 where all are there.
    bands : list
        Of the overview: for each band of ranks the runs (state, begin, end) in columns; see `overview`.
    states : tuple of int
        Numbers of the states that are there, ascending.
    """

    name: str
    processes: int
    seconds: float
    data: dict[str, object]
    columns: str
    intervals: int
    shown: int
    messages: int
    shown_messages: int
    resolution: float
    bands: list[list[tuple[int, int, int]]]
    states: tuple[int, ...]


def _groups(rows: NDArray[np.void], resolution: float) -> NDArray[np.bool_]:
    """Return which intervals begin a new piece."""
    short = rows["end"] - rows["start"] < resolution
    begins = np.ones(rows.size, dtype=bool)
    if resolution > 0:
        column = np.floor((rows["start"] + rows["end"]) / (2 * resolution))
        is_same = (rows["rank"][1:] == rows["rank"][:-1]) & (column[1:] == column[:-1])
        begins[1:] = ~(short[1:] & short[:-1] & is_same)
    return begins


def thinned(timeline: Timeline, most: int) -> tuple[NDArray[np.void], float]:
    """Return a timeline's intervals in at most so many pieces, and the resolution; 0 where all fit.

    Parameters
    ----------
    timeline : Timeline
    most : int
        At least as many as there are ranks are kept: one for each.

    Returns
    -------
    pieces : structured array of `Piece`, shape (pieces,)
    resolution : float
        Seconds.
    """
    rows = timeline.intervals
    resolution = 0.0
    begins = _groups(rows, resolution)
    if rows.size > most:
        seconds = max(timeline.seconds - float(rows["start"].min()), 1e-300)
        fine, coarse = seconds / max(most, 1), 4 * seconds
        for _ in range(12):  # finer than that is no difference to see
            middle = (fine * coarse) ** 0.5
            fits = np.count_nonzero(_groups(rows, middle)) <= most
            fine, coarse = (fine, middle) if fits else (middle, coarse)
        resolution = coarse
        begins = _groups(rows, resolution)
    return _pieces(rows, np.flatnonzero(begins)), resolution


def _pieces(rows: NDArray[np.void], first: NDArray[np.intp]) -> NDArray[np.void]:
    pieces = np.zeros(first.size, dtype=Piece)
    if not first.size:
        return pieces
    counts = np.diff(first, append=rows.size)
    alone = counts == 1
    durations = rows["end"] - rows["start"]
    by_state = np.stack(
        [np.add.reduceat(np.where(rows["state"] == state, durations, 0.0), first) for state in range(len(State))]
    )
    total = by_state.sum(axis=0)
    for name in ("rank", "peer", "size", "start"):
        pieces[name] = rows[name][first]
    pieces["count"] = counts
    pieces["end"] = np.maximum.reduceat(rows["end"], first)
    pieces["state"] = np.where(alone, rows["state"][first], by_state.argmax(axis=0))
    largest = by_state.max(axis=0)
    pieces["share"] = np.divide(largest, total, out=np.ones_like(total), where=total > 0)
    return pieces


def shares(requests: Sequence[int], most: int) -> list[int]:
    """Return how many of `most` each may have: equal shares, and what one does not need is for the others.

    >>> shares([10, 500, 300], 600)
    [10, 295, 295]
    """
    granted = [0] * len(requests)
    left = most
    for rank, index in enumerate(sorted(range(len(requests)), key=lambda index: requests[index])):
        granted[index] = min(requests[index], left // (len(requests) - rank))
        left -= granted[index]
    return granted


def _packed(columns: Sequence[NDArray[np.generic]]) -> str:
    """Return columns of 1 or 4 bytes a number: each as planes of bytes, the least weight first, and all deflated.

    Bytes of one weight are alike, so that they are deflated to a third or less of what the numbers as they are would.
    """
    planes = [column.view(np.uint8).reshape(column.size, column.itemsize).T.tobytes() for column in columns]
    return base64.b64encode(zlib.compress(b"".join(planes), _LEVEL)).decode("ascii")


def _times(start: NDArray[np.float64], end: NDArray[np.float64], scale: float) -> list[NDArray[np.uint32]]:
    """Return times as ticks: how long after the end before it each begins, and how long it takes, modulo 2^32."""
    starts, ends = (np.clip(np.rint(time * scale), 0, _TICKS).astype("<u4") for time in (start, end))
    return [starts - np.concatenate((np.zeros(1, "<u4"), ends))[: ends.size], ends - starts]


def chart(
    timeline: Timeline,
    seconds: float,
    most_intervals: int,
    most_messages: int,
    loads: Sequence[LinkLoad] = (),
    path: CriticalPath | None = None,
) -> Chart:
    """Return the chart of a timeline for a page.

    Parameters
    ----------
    timeline : Timeline
    seconds : float
        Length of the time axis that all charts of the page share.
    most_intervals, most_messages : int
        That this chart may hold. Of more messages, the largest stay, of equal ones some from all of the time.
    loads : sequence of LinkLoad
        Links whose load is drawn below the ranks.
    path : CriticalPath, optional
        That is drawn over the ranks.
    """
    turns, turn_ranks = _turns(path)
    pieces, resolution = thinned(timeline, most_intervals)
    sent = timeline.transfers
    if sent.size > most_messages:
        # of equal ones, some from everywhere: multiples of the golden ratio are spread evenly, whichever come first
        spread = np.arange(sent.size) * _GOLDEN % 1.0
        largest = np.lexsort((spread, -sent["size"]))[:most_messages]
        sent = sent[np.sort(largest)]
    scale = _TICKS / seconds if seconds > 0 else 0.0

    several = pieces["count"] > 1
    columns: list[NDArray[np.generic]] = [
        np.searchsorted(pieces["rank"], np.arange(timeline.processes + 1)).astype("<u4"),
        *_times(pieces["start"], pieces["end"], scale),
        pieces["state"] | np.where(several, _TOGETHER, 0).astype(np.uint8),
        np.where(several, np.rint(_PERMILLE * pieces["share"]), pieces["peer"]).astype("<i4"),
        np.where(several, pieces["count"], pieces["size"]).astype("<f4"),
        *_times(sent["posted"], sent["arrived"], scale),
        sent["sender"].astype("<i4"),
        sent["receiver"].astype("<i4"),
        sent["size"].astype("<f4"),
        *(np.rint(255 * load.shares).astype(np.uint8) for load in loads),
        np.clip(np.rint(turns * scale), 0, _TICKS).astype("<u4"),
        turn_ranks.astype("<i4"),
    ]
    data: dict[str, object] = {
        "name": timeline.name,
        "ranks": timeline.processes,
        "seconds": timeline.seconds,
        "pieces": pieces.size,
        "messages": sent.size,
        "links": [load.name for load in loads],
        "turns": turns.size,
    }
    return Chart(
        timeline.name, timeline.processes, timeline.seconds, data, _packed(columns), timeline.intervals.size,
        pieces.size, timeline.transfers.size, sent.size, resolution, overview(pieces, timeline.processes, seconds),
        tuple(np.unique(pieces["state"]).tolist()),
    )  # fmt: skip


def _turns(path: CriticalPath | None) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return times and ranks of the points between which a critical path is straight, some of them where it has many.

    A message goes from its sender to its receiver, all else stays at its rank.
    """
    if path is None:
        return np.empty(0), np.empty(0, dtype=np.int32)
    rows = path.segments
    is_message = (rows["kind"] == PathKind.TRANSFER) & (rows["peer"] >= 0) & (rows["sends"] == 0)
    times = np.stack([rows["start"], rows["end"]], axis=1).ravel()
    ranks = np.stack([np.where(is_message, rows["peer"], rows["rank"]), rows["rank"]], axis=1).ravel()
    if ranks.size > 2:
        is_turn = np.ones(ranks.size, dtype=bool)
        is_turn[1:-1] = (ranks[1:-1] != ranks[:-2]) | (ranks[1:-1] != ranks[2:])
        times, ranks = times[is_turn], ranks[is_turn]
    if ranks.size > MOST_TURNS:
        chosen = np.unique(np.linspace(0, ranks.size - 1, MOST_TURNS).astype(np.int64))
        times, ranks = times[chosen], ranks[chosen]
    return times, ranks


def overview(
    pieces: NDArray[np.void], processes: int, seconds: float, most_bands: int = 48, columns: int = 240
) -> list[list[tuple[int, int, int]]]:
    """Return the runs of equal states of a picture that needs no script.

    Returns
    -------
    list of lists of (state, begin, end)
        For each band of ranks, in columns. A column has the state in which the band's ranks spent most of it, and none
        where that was less than half of the time.
    """
    bands = min(processes, most_bands)
    if not pieces.size or seconds <= 0:
        return [[] for _ in range(bands)]
    filled = np.zeros((bands, len(State), columns + 1))
    band = pieces["rank"].astype(np.int64) * bands // processes
    state = pieces["state"].astype(np.int64)
    begin, end = (np.clip(pieces[name] * (columns / seconds), 0, columns) for name in ("start", "end"))
    spread(filled, (band, state), begin, end)
    shares = np.cumsum(filled, axis=2)[:, :, :columns]
    ranks = np.bincount(np.arange(processes) * bands // processes, minlength=bands)
    shown = np.where(shares.sum(axis=1) >= 0.5 * ranks[:, None], shares.argmax(axis=1), -1)
    return [_runs(row) for row in shown]


def _runs(row: NDArray[np.intp]) -> list[tuple[int, int, int]]:
    edges: Sequence[int] = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), row.size]
    runs = zip(row[edges[:-1]].tolist(), edges, edges[1:], strict=False)
    return [(state, begin, end) for state, begin, end in runs if state >= 0]
