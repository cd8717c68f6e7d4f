"""Timelines in the Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing show.

Source: "Trace Event Format" (Google, 2016). One thread for each rank, one complete event (``X``) for each interval, one
arrow (``s`` and ``f``) for each message; times in microseconds. An arrow's ends hold on to an interval: where its rank
was in none at that time, an interval of length 0 is written for it. Main entry: `write_perfetto`.
"""

import json
import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.simulate.states import STATE_NAMES
from commmodel.simulate.timeline.record import CHUNK, Timeline, opened

_MICRO = 1e6
_HOLD = 1e-9
"""Seconds that an arrow ends before the interval that its message ends: at the very end it would hold on to the next.
The format's readers count in nanoseconds."""


def write_perfetto(path: str | os.PathLike[str], timeline: Timeline) -> None:
    """Write a timeline for Perfetto; an existing file is replaced.

    Each event's ``args`` say peer, tag and bytes where there are any. `InputError` where it cannot be written.
    """
    with opened(path) as file:
        head = json.dumps({"name": timeline.name, "processes": timeline.processes, "writer": "commmodel"})
        name = json.dumps({"ph": "M", "pid": 0, "name": "process_name", "args": {"name": timeline.name}})
        # the name of the process comes first: every other event can then begin with a comma
        file.write(f'{{"displayTimeUnit":"ns","otherData":{head},"traceEvents":[\n{name}')
        for lines in _lines(timeline):
            file.write(lines)
        file.write("\n]}\n")


def _lines(timeline: Timeline) -> Iterator[str]:
    for first in range(0, timeline.processes, CHUNK):
        ranks = range(first, min(first + CHUNK, timeline.processes))
        yield "".join(
            f',\n{{"ph":"M","pid":0,"tid":{rank},"name":"thread_name","args":{{"name":"rank {rank}"}}}}'
            f',\n{{"ph":"M","pid":0,"tid":{rank},"name":"thread_sort_index","args":{{"sort_index":{rank}}}}}'
            for rank in ranks
        )
    for first in range(0, timeline.intervals.size, CHUNK):
        yield "".join(_slices(timeline.intervals[first : first + CHUNK]))
    departures, arrivals = _departures(timeline), _arrivals(timeline)
    for first in range(0, timeline.transfers.size, CHUNK):
        yield "".join(_arrows(timeline.transfers, departures, arrivals, first))


def _slices(rows: NDArray[np.void]) -> Iterator[str]:
    for rank, state, peer, tag, size, start, end in rows.tolist():
        pairs = ",".join(
            part
            for part in (f'"peer":{peer}' if peer >= 0 else "", f'"tag":{tag}' if tag >= 0 else "",
                         f'"bytes":{size:.0f}' if size > 0 else "")
            if part
        )  # fmt: skip
        arguments = f',"args":{{{pairs}}}' if pairs else ""
        yield (
            f',\n{{"ph":"X","pid":0,"tid":{rank},"name":"{STATE_NAMES[state]}","cat":"state","ts":{start * _MICRO:.6f},'
            f'"dur":{(end - start) * _MICRO:.6f}{arguments}}}'
        )


def _before(
    timeline: Timeline, ranks: NDArray[np.int32], times: NDArray[np.float64], *, or_at: bool
) -> NDArray[np.int64]:
    """Return the index of each rank's last interval that begins at a time or before; −1 where there is none."""
    rows = timeline.intervals
    asks = np.repeat([0, 1] if or_at else [1, 0], [rows.size, ranks.size])  # which of two at one time comes first
    order = np.lexsort((asks, np.concatenate([rows["start"], times]), np.concatenate([rows["rank"], ranks])))
    begun = np.cumsum(order < rows.size) - 1
    latest = np.empty(ranks.size, dtype=np.int64)
    is_question = order >= rows.size
    latest[order[is_question] - rows.size] = begun[is_question]
    if not rows.size:
        return latest
    return np.where((latest >= 0) & (rows["rank"][latest] == ranks), latest, -1)


class _Ends(NamedTuple):
    """Ends of arrows: ranks, times within an interval, and whether there is one."""

    ranks: NDArray[np.int32]
    times: NDArray[np.float64]
    is_held: NDArray[np.bool_]


def _departures(timeline: Timeline) -> _Ends:
    rows, ranks, times = timeline.intervals, timeline.transfers["sender"], timeline.transfers["posted"]
    place = _before(timeline, ranks, times, or_at=True)
    inside = place >= 0
    inside[inside] = times[inside] + _HOLD <= rows["end"][place[inside]]
    return _Ends(ranks, times, inside)


def _arrivals(timeline: Timeline) -> _Ends:
    rows, ranks, times = timeline.intervals, timeline.transfers["receiver"], timeline.transfers["arrived"]
    place = _before(timeline, ranks, times, or_at=False)
    inside = place >= 0
    row = rows[place[inside]]
    inside[inside] = (row["start"] + _HOLD < times[inside]) & (times[inside] <= row["end"])
    return _Ends(ranks, np.where(inside, times - _HOLD, times), inside)


def _arrows(rows: NDArray[np.void], departures: _Ends, arrivals: _Ends, first: int) -> Iterator[str]:
    chosen = slice(first, first + CHUNK)
    columns = (departures.times[chosen], departures.is_held[chosen], arrivals.times[chosen], arrivals.is_held[chosen])
    numbered = zip(rows[chosen].tolist(), *(column.tolist() for column in columns), strict=True)
    for number, (row, begin, begin_is_held, end, end_is_held) in enumerate(numbered, first):
        sender, receiver, tag, size, _, left, _ = row
        if not begin_is_held:
            yield _instant("departure", sender, receiver, tag, size, begin)
        yield (
            f',\n{{"ph":"s","pid":0,"tid":{sender},"id":{number},"name":"message","cat":"message",'
            f'"ts":{begin * _MICRO:.6f},"args":{{"bytes":{size:.0f},"tag":{tag},"left":{left * _MICRO:.6f}}}}}'
        )
        if not end_is_held:
            yield _instant("arrival", receiver, sender, tag, size, end)
        yield (
            f',\n{{"ph":"f","bp":"e","pid":0,"tid":{receiver},"id":{number},"name":"message","cat":"message",'
            f'"ts":{end * _MICRO:.6f}}}'
        )


def _instant(name: str, rank: int, peer: int, tag: int, size: float, time: float) -> str:
    return (
        f',\n{{"ph":"X","pid":0,"tid":{rank},"name":"{name}","cat":"message","ts":{time * _MICRO:.6f},"dur":0,'
        f'"args":{{"peer":{peer},"tag":{tag},"bytes":{size:.0f}}}}}'
    )
