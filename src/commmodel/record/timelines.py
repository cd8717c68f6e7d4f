"""The timeline of a recording: what each rank was in at each time, as timelines of simulations have it.

Main entry: `timeline`.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import Share, State
from commmodel._core.recordings.logs import CALL
from commmodel.arguments import enough_memory
from commmodel.record.calls import CALLS
from commmodel.record.files import CallBlock, Recording
from commmodel.record.matching import analyse
from commmodel.record.roles import kinds
from commmodel.signatures import checked
from commmodel.simulate.result import INTERVAL, MESSAGE
from commmodel.simulate.timeline.record import Timeline

_BYTES_OF_A_CALL = 6 * INTERVAL.itemsize  # three intervals, and a copy that is sorted
_SENDS = ("MPI_Send", "MPI_Bsend", "MPI_Ssend", "MPI_Rsend", "MPI_Isend", "MPI_Ibsend", "MPI_Issend", "MPI_Irsend")
_RECEIVES = ("MPI_Recv", "MPI_Irecv", "MPI_Mrecv", "MPI_Imrecv", "MPI_Sendrecv", "MPI_Sendrecv_replace")


def _states() -> NDArray[np.int32]:
    """Return the state of each code, but for what its calls wait."""
    shares = kinds()[:, 2]
    states = np.full(shares.size, State.TRANSFER, dtype=np.int32)
    for call in CALLS:
        if call.name in _SENDS:
            states[call.code] = State.SEND
        elif call.name in _RECEIVES:
            states[call.code] = State.RECEIVE
    states[shares == Share.FILES] = State.FILES
    states[shares == Share.OTHER] = State.START_AND_END
    return states


_STATES = _states()


@checked
def timeline(recording: Recording, name: str = "") -> Timeline:
    """Return the timeline of a recording: what ranks were in, as `commmodel.simulate.states` has it, and messages.

    A call waits, as in `commmodel.record.profile`, until another rank has come to its part of the operation: as one
    number for each call, drawn from its begin. A message leaves when its send begins, or where that waits for a late
    receiver, when the receive is posted; it arrives when the call ends that completes its receive.

    Parameters
    ----------
    recording : Recording
    name : str
        What it is, for people; else the recording's folder.

    Raises
    ------
    InputError
        Where it does not fit into memory.
    """
    messages, waits = analysed(recording)
    rows = np.concatenate([np.empty(0, INTERVAL), *(part.rows for part in parts(recording, waits, messages.nbytes))])
    origin = rows["start"].min(initial=np.inf)
    for column in ("start", "end"):
        rows[column] -= origin if rows.size else 0.0
    for column in ("posted", "left", "arrived"):
        messages[column] -= origin if rows.size else 0.0
    return Timeline(name or recording.folder.name, recording.processes, rows[rows["end"] > rows["start"]], messages)


class Part(NamedTuple):
    """Intervals of a rank, in no order."""

    rows: NDArray[np.void]
    calls: NDArray[np.void]
    """The call to which each belongs, or before which it is; empty behind the last."""


def parts(recording: Recording, waits: Mapping[int, NDArray[np.void]], memory: int) -> Iterator[Part]:
    """Yield the intervals of all ranks, with the times of the recording; of a wait the peer is the rank waited for.

    `waits` are those of each rank's calls by begin, and `memory` bytes are in use beside the intervals.
    """
    for rank in recording.ranks:
        previous_end, last = recording.interval(rank)
        for block in recording.events(rank):
            if not block.calls.size:
                continue
            enough_memory(memory + block.calls.size * _BYTES_OF_A_CALL, "a timeline")
            calls = _calls(recording, rank, block)
            for rows, places in _told_apart(calls, waits[rank]):
                memory += rows.nbytes
                yield Part(rows, block.calls[places])
            yield Part(_computing(rank, block, previous_end), block.calls)
            previous_end = max(previous_end, float(block.calls["end"].max()))
        yield Part(_intervals(rank, State.COMPUTE, np.array([previous_end]), np.array([last])), _NO_CALLS)


_NO_CALLS = np.empty(0, CALL)


def analysed(recording: Recording) -> tuple[NDArray[np.void], dict[int, NDArray[np.void]]]:
    """Return the messages whose send and receive are in the recording, and the waits of each rank's calls by begin."""
    enough_memory(sum(map(recording.calls, recording.ranks)) * 2 * MESSAGE.itemsize, "the messages of a timeline")
    analysis = analyse(recording, keeps_transfers=True)
    transfers, waits = analysis.transfers, analysis.waits_of_calls
    messages = np.zeros(transfers.size, MESSAGE)
    for column in ("sender", "receiver", "tag", "size", "posted", "left"):
        messages[column] = transfers[column]
    messages["arrived"] = np.maximum(transfers["arrived"], transfers["left"])
    waits = waits[np.lexsort((waits["begin"], waits["rank"]))]
    bounds = np.searchsorted(waits["rank"], [*recording.ranks, recording.processes])
    return messages, dict(zip(recording.ranks, np.split(waits, bounds[1:-1]), strict=True))


def _told_apart(calls: NDArray[np.void], waits: NDArray[np.void]) -> list[tuple[NDArray[np.void], NDArray[np.bool_]]]:
    """Return what a rank's calls waited, and the rest of them, each with the calls that they are of."""
    everywhere = np.ones(calls.size, dtype=bool)
    if not waits.size:
        return [(calls, everywhere)]
    place = np.minimum(np.searchsorted(waits["begin"], calls["start"]), waits.size - 1)
    has_waited = (waits["begin"][place] == calls["start"]) & (waits["end"][place] <= calls["end"])
    waiting = calls[has_waited]
    waiting["state"], waiting["end"] = State.WAIT, waits["end"][place[has_waited]]
    waiting["peer"] = waits["cause"][place[has_waited]]
    calls["start"][has_waited] = waiting["end"]
    return [(waiting, has_waited), (calls, everywhere)]


def _calls(recording: Recording, rank: int, block: CallBlock) -> NDArray[np.void]:
    calls = block.calls
    rows = np.zeros(calls.size, INTERVAL)
    rows["rank"], rows["state"], rows["tag"] = rank, _STATES[calls["code"]], calls["tag"]
    rows["start"], rows["end"] = calls["begin"], calls["end"]
    rows["size"] = np.maximum(calls["bytes"], calls["received_bytes"])
    rows["peer"] = -1
    source = np.where(calls["source"] >= 0, calls["source"], calls["peer"])
    for view in recording.views(rank):
        group = recording.groups[view.group]
        in_communicator = (calls["communicator"] == view.local) & (source >= 0) & (source < group.size)
        rows["peer"][in_communicator] = group[source[in_communicator]]
    return rows


def _computing(rank: int, block: CallBlock, previous_end: float) -> NDArray[np.void]:
    ends = np.maximum.accumulate(np.concatenate(([previous_end], block.calls["end"][:-1])))
    return _intervals(rank, State.COMPUTE, ends, block.calls["begin"])


def _intervals(rank: int, state: State, starts: NDArray[np.float64], ends: NDArray[np.float64]) -> NDArray[np.void]:
    rows = np.zeros(starts.size, INTERVAL)
    rows["rank"], rows["state"], rows["peer"], rows["tag"] = rank, state, -1, -1
    rows["start"], rows["end"] = starts, ends
    return rows
