"""Parallel efficiencies of a recorded run, as the POP Centre of Excellence defines them (its "Standard Metrics", 2016).

Main entry: `efficiency`.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import Count
from commmodel.docstrings import with_attributes
from commmodel.errors import CommModelError, InputError
from commmodel.record.actions import RecordedActions
from commmodel.record.calls import CALLS
from commmodel.record.files import Recording
from commmodel.signatures import checked
from commmodel.simulate.delays import DelayModel, DelayParameters
from commmodel.simulate.run import run

_FINALIZE = next(call.code for call in CALLS if call.name == "MPI_Finalize")
_MOST_CALLS = 3_000_000
"""A replay of so many takes about a minute."""


@with_attributes
@dataclass(frozen=True)
class Efficiency:
    """Parallel efficiency and its factors, all from 0 to 1; of the ranks whose log there is."""

    parallel: float
    """Load balance times communication, the mean time of computing as a share of the run time."""
    load_balance: float
    """Mean time of computing divided by the longest of any rank."""
    communication: float
    """Longest time of computing of any rank divided by the run time, serialisation times transfer."""
    serialisation: float | None
    """Longest time of computing divided by the run time on an ideal network, where messages take no time, what is lost
    to ranks waiting for each other. None where the replay is not possible."""
    transfer: float | None
    """Run time on an ideal network divided by the run time, what is lost to moving data."""
    seconds: float
    """Run time as recorded, from the end of MPI_Init to MPI_Finalize."""
    ideal_seconds: float | None
    """The same, replayed on the ideal network."""
    problem: str = ""
    """Why there is no replay; empty where there is one."""

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as a dictionary."""
        return asdict(self)


@checked
def efficiency(recording: Recording, most_calls: Count = _MOST_CALLS) -> Efficiency:
    """Return the parallel efficiency of a recorded run, with a replay on an ideal network.

    Parameters
    ----------
    recording : Recording
    most_calls : int
        A recording of more calls is not replayed.

    Raises
    ------
    InputError
        Where the recording has no calls between MPI_Init and MPI_Finalize.
    """
    computing, seconds = _computing(recording)
    longest, mean = float(computing.max()), float(computing.mean())
    replayed, problem = _ideal_seconds(recording, most_calls)
    ideal_seconds = None if replayed is None else min(max(replayed, longest), seconds)
    return Efficiency(
        parallel=mean / seconds,
        load_balance=mean / longest if longest else 1.0,
        communication=longest / seconds,
        serialisation=ideal_seconds and longest / ideal_seconds,
        transfer=None if ideal_seconds is None else ideal_seconds / seconds,
        seconds=seconds,
        ideal_seconds=ideal_seconds,
        problem=problem,
    )


def _computing(recording: Recording) -> tuple[NDArray[np.float64], float]:
    """Return the seconds that each rank computed, and those of the run."""
    computing = np.zeros(len(recording.ranks))
    first, last = np.inf, -np.inf
    for place, rank in enumerate(recording.ranks):
        previous_end: float | None = None
        for begin, end, code in recording.times(rank):
            finalize = np.flatnonzero(code == _FINALIZE)
            end[finalize] = begin[finalize]  # the run ends where ranks come to MPI_Finalize
            ends = np.maximum.accumulate(end)
            if previous_end is None:
                first = min(first, float(end[0]))  # of MPI_Init: what is before it is no part of the run
                previous_end = float(begin[0])
            pauses = begin[1:] - ends[:-1]
            computing[place] += max(begin[0] - previous_end, 0.0) + np.maximum(pauses, 0.0, out=pauses).sum()
            previous_end = max(previous_end, float(ends[-1]))
        if previous_end is not None:
            last = max(last, previous_end)
    if not last > first:
        raise InputError(
            f"{recording.folder.name}: no calls between MPI_Init and MPI_Finalize: nothing to say of efficiency"
        )
    return computing, float(last - first)


def _ideal_seconds(recording: Recording, most_calls: int) -> tuple[float | None, str]:
    """Return the run time on an ideal network; where that is not known, why."""
    calls = sum(map(recording.calls, recording.ranks))
    if calls > most_calls:
        return None, f"{calls:,} calls are more than the {most_calls:,} that are replayed"
    ideal = DelayModel(DelayParameters(L=0.0, o=0.0, g=0.0, G=0.0), "loggp")
    try:
        return run(RecordedActions(recording).program(), ideal).seconds, ""
    except CommModelError as error:
        return None, str(error)
