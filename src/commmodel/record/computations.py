"""Computation of a recorded program between its calls, for a run of the same program. Main entry: `computation`."""

import numpy as np
from numpy.typing import NDArray

from commmodel.errors import InputError
from commmodel.record.calls import CALLS
from commmodel.record.files import CallBlock, Recording
from commmodel.signatures import checked
from commmodel.simulate.online import RecordedComputation

_GROUPS = {"point-to-point", "completion", "probe", "collective", "neighbourhood"}
_POLLS = ("MPI_Test", "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get_status", "MPI_Parrived")
_PARTITIONED = ("MPI_Psend", "MPI_Precv", "MPI_Pready")
_OTHERS = {"MPI_Waitsome", "MPI_Cancel", "MPI_Request_free", "MPI_Start", "MPI_Startall"}
"""How many of them a program makes depends on time, or our library does not see them as calls of their own."""
_SAME = {"MPI_Sendrecv_replace": "MPI_Sendrecv", "MPI_Isendrecv_replace": "MPI_Isendrecv"}


def _names() -> dict[int, str]:
    """Return the calls that are compared: code -> name."""
    return {
        call.code: _SAME.get(call.name, call.name)
        for call in CALLS
        if call.name == "MPI_Finalize"
        or (call.group in _GROUPS and not call.name.startswith((*_POLLS, *_PARTITIONED)) and call.name not in _OTHERS)
    }


class _Intervals:
    """Computation before the compared calls of a rank, block by block."""

    def __init__(self, numbers: NDArray[np.int64], is_poll: NDArray[np.bool_]) -> None:
        self._numbers, self._is_poll = numbers, is_poll
        self._previous_end = np.nan
        self._previous_poll = (-1, -1)
        self._pending = 0.0

    def of(self, block: CallBlock) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return numbers of names and seconds; between two calls that poll from one site is no computation."""
        calls = block.calls
        begins = [self._previous_end] if np.isfinite(self._previous_end) else [calls["begin"][0]]
        ends = np.maximum.accumulate(np.concatenate([begins, calls["end"]]))
        gaps = np.maximum(calls["begin"] - ends[:-1], 0.0)
        polls = self._is_poll[calls["code"]] & (calls["flag"] == 0) & (calls["completed"] == 0)
        sites = np.concatenate([[self._previous_poll], np.stack([calls["code"], calls["site"]], axis=1)])
        sites[1:][~polls] = -1
        gaps[polls & (sites[1:] == sites[:-1]).all(axis=1)] = 0.0
        self._previous_end, self._previous_poll = ends[-1], tuple(sites[-1].tolist())
        numbers = self._numbers[calls["code"]]
        total = self._pending + np.cumsum(gaps)
        at = np.flatnonzero(numbers >= 0)
        self._pending = float(total[-1] - (total[at[-1]] if at.size else 0.0))
        return numbers[at], np.diff(total[at], prepend=0.0)


@checked
def computation(recording: Recording) -> RecordedComputation:
    """Return how long each rank of a recording has computed before each of its calls.

    Parameters
    ----------
    recording : Recording

    Raises
    ------
    InputError
        Where the log of a rank is missing.
    """
    missing = sorted(set(range(recording.processes)) - set(recording.ranks))
    if missing:
        raise InputError(
            f"{recording.folder}: no log of rank {missing[0]}: only a complete recording says what ranks compute"
        )
    codes = _names()
    names = sorted(set(codes.values()))
    most = max(call.code for call in CALLS) + 1
    numbers = np.full(most, -1, dtype=np.int64)
    for code, name in codes.items():
        numbers[code] = names.index(name)
    is_poll = np.zeros(most, dtype=np.bool_)
    is_poll[[call.code for call in CALLS if call.name.startswith(_POLLS)]] = True

    def intervals(rank: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        state = _Intervals(numbers, is_poll)
        parts = [state.of(block) for block in recording.events(rank)]
        empty = (np.empty(0, np.int64), np.empty(0))
        first, second = (np.concatenate(column) for column in zip(empty, *parts, strict=True))
        return first, second

    return RecordedComputation(str(recording.folder), recording.processes, names, intervals)
