"""The timeline of a recording: what each rank was in at each time, as timelines of simulations have it.

Main entry: `timeline`.
"""

import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import enough_memory
from commmodel.record.calls import CALLS
from commmodel.record.files import CallBlock, Recording
from commmodel.record.matching import analyse
from commmodel.simulate.result import INTERVAL, MESSAGE, State
from commmodel.simulate.timeline.record import Timeline

__all__ = ["timeline"]

_BYTES_OF_A_CALL = 4 * INTERVAL.itemsize  # two intervals, and a copy that is sorted
_SENDS = ("MPI_Send", "MPI_Bsend", "MPI_Ssend", "MPI_Rsend", "MPI_Isend", "MPI_Ibsend", "MPI_Issend", "MPI_Irsend")
_RECEIVES = ("MPI_Recv", "MPI_Irecv", "MPI_Mrecv", "MPI_Imrecv", "MPI_Sendrecv", "MPI_Sendrecv_replace")


def _states() -> NDArray[np.int32]:
    states = np.full(max(call.code for call in CALLS) + 1, State.WAIT, dtype=np.int32)
    for call in CALLS:
        if call.name in _SENDS:
            states[call.code] = State.SEND
        elif call.name in _RECEIVES:
            states[call.code] = State.RECEIVE
    return states


_STATES = _states()


def timeline(recording: Recording, name: str = "") -> Timeline:
    """Return the timeline of a recording: sending, receiving, waiting (all other calls), computing, and messages.

    A message leaves when its send begins, or where that waits for a late receiver, when the receive is posted; it
    arrives when the call ends that completes its receive.

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
    messages = _messages(recording)
    parts = [np.empty(0, INTERVAL)]
    for rank in recording.ranks:
        previous_end: float | None = None
        for block in recording.events(rank):
            if not block.calls.size:
                continue
            memory = messages.nbytes + sum(part.nbytes for part in parts)
            enough_memory(memory + block.calls.size * _BYTES_OF_A_CALL, "a timeline")
            parts.append(_calls(recording, rank, block))
            parts.append(_computing(rank, block, previous_end))
            previous_end = float(block.calls["end"].max())
    rows = np.concatenate(parts)
    origin = rows["start"].min(initial=np.inf)
    for column in ("start", "end"):
        rows[column] -= origin if rows.size else 0.0
    for column in ("posted", "left", "arrived"):
        messages[column] -= origin if rows.size else 0.0
    return Timeline(name or recording.folder.name, recording.processes, rows[rows["end"] > rows["start"]], messages)


def _messages(recording: Recording) -> NDArray[np.void]:
    """Return the messages whose send and receive are in the recording."""
    enough_memory(sum(map(recording.calls, recording.ranks)) * 2 * MESSAGE.itemsize, "the messages of a timeline")
    transfers = analyse(recording, keeps_transfers=True).transfers
    messages = np.zeros(transfers.size, MESSAGE)
    for column in ("sender", "receiver", "tag", "size", "posted", "left"):
        messages[column] = transfers[column]
    messages["arrived"] = np.maximum(transfers["arrived"], transfers["left"])
    return messages


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


def _computing(rank: int, block: CallBlock, previous_end: float | None) -> NDArray[np.void]:
    begin, end = block.calls["begin"], block.calls["end"]
    rows = np.zeros(begin.size, INTERVAL)
    rows["rank"], rows["state"], rows["peer"], rows["tag"] = rank, State.COMPUTE, -1, -1
    rows["end"] = begin
    rows["start"][1:] = np.maximum.accumulate(end)[:-1]
    rows["start"][0] = begin[0] if previous_end is None else previous_end
    return rows
