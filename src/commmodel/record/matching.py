"""All calls of all ranks, once through: sums, messages matched, collectives put together. Main entry: `analyse`."""

import heapq
from collections.abc import Iterator
from functools import partial

from commmodel._core.recordings.logs import Analysis, Decoder
from commmodel.record.files import Recording
from commmodel.record.roles import kinds

_MOST_CALLS = 1 << 20
"""In memory at a time, of all ranks together; of a rank, what a cache of the processor holds."""
_LEAST, _MOST = 256, 2048


def analyse(recording: Recording, *, keeps_transfers: bool = False) -> Analysis:
    """Return the sums over a recording's calls, and with `keeps_transfers` its messages.

    Ranks are read side by side, block by block, always the one that is furthest behind in time: of messages, only those
    are in memory whose send or receive has not come yet.
    """
    members = [communicator.ranks for communicator in recording.communicators]
    analysis = Analysis(recording.processes, kinds(), members, recording.groups, keeps_transfers)
    for rank in range(recording.processes):
        if rank not in recording.ranks:
            analysis.close(rank)
    most = min(_MOST, max(_LEAST, _MOST_CALLS // max(len(recording.ranks), 1)))
    queue: list[tuple[float, int]] = []
    streams: dict[int, Iterator[Decoder]] = {}
    for rank in recording.ranks:
        views = [(view.local, view.number, view.place, view.is_inter, view.group) for view in recording.views(rank)]
        analysis.define(rank, recording.site_numbers(rank), views)
        streams[rank] = recording.decoded(rank, partial(analysis.read, rank), most)
        queue.append((float("-inf"), rank))
    while queue:
        _, rank = queue[0]
        log = next(streams[rank], None)
        if log is None:
            analysis.close(rank)
            heapq.heappop(queue)
            continue
        heapq.heapreplace(queue, (log.last, rank))
    return analysis
