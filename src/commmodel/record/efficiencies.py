"""Parallel efficiencies of a recorded run, as the POP Centre of Excellence defines them (its "Standard Metrics", 2016).

Main entry: `efficiency`.
"""

from dataclasses import asdict, dataclass

import numpy as np

from commmodel.errors import InputError
from commmodel.record.actions import RecordedActions
from commmodel.record.calls import CALLS
from commmodel.record.files import Recording
from commmodel.simulate import DelayModel, run
from commmodel.simulate.delays import DelayParameters

__all__ = ["Efficiency", "efficiency"]

_FINALIZE = next(call.code for call in CALLS if call.name == "MPI_Finalize")


@dataclass(frozen=True)
class Efficiency:
    """Parallel efficiency and its factors, all from 0 to 1.

    Attributes
    ----------
    parallel : float
        Load balance times communication: the mean time of computing as a share of the run time.
    load_balance : float
        Mean time of computing divided by the longest of any rank.
    communication : float
        Longest time of computing of any rank divided by the run time: serialisation times transfer.
    serialisation : float
        Longest time of computing divided by the run time on an ideal network, where messages take no time: what is lost
        to ranks waiting for each other.
    transfer : float
        Run time on an ideal network divided by the run time: what is lost to moving data.
    seconds, ideal_seconds : float
        Run time as recorded, from the end of MPI_Init to MPI_Finalize, and replayed on the ideal network.
    """

    parallel: float
    load_balance: float
    communication: float
    serialisation: float
    transfer: float
    seconds: float
    ideal_seconds: float

    def to_dict(self) -> dict[str, float]:
        """Return the attributes as a dictionary."""
        return asdict(self)


def efficiency(recording: Recording) -> Efficiency:
    """Return the parallel efficiency of a recorded run, by replaying it on an ideal network.

    Raises
    ------
    InputError
        Where the recording has no calls, or its replay does not come to an end.
    """
    computing = np.zeros(recording.processes)
    first, last = np.inf, -np.inf
    for rank in range(recording.processes):
        previous_end: float | None = None
        for block in recording.events(rank):
            begin, end = block.calls["begin"], block.calls["end"].copy()
            if not begin.size:
                continue
            finalize = block.calls["code"] == _FINALIZE
            end[finalize] = begin[finalize]  # the run ends where ranks come to MPI_Finalize
            ends = np.maximum.accumulate(end)
            if previous_end is None:
                first = min(first, float(end[0]))  # of MPI_Init: what is before it is no part of the run
                previous_end = float(begin[0])
            computing[rank] += max(begin[0] - previous_end, 0.0) + np.maximum(begin[1:] - ends[:-1], 0.0).sum()
            previous_end = max(previous_end, float(ends[-1]))
        if previous_end is not None:
            last = max(last, previous_end)
    if not last > first:
        raise InputError(
            f"{recording.folder.name}: no calls between MPI_Init and MPI_Finalize: nothing to say of efficiency"
        )
    seconds = float(last - first)
    ideal = DelayModel(DelayParameters(L=0.0, o=0.0, g=0.0, G=0.0), "loggp")
    outcome = run(RecordedActions(recording).program(), ideal)
    if outcome.blocked:
        raise InputError(f"{recording.folder.name}: its replay does not end: the recording is not complete")
    longest, mean = float(computing.max()), float(computing.mean())
    ideal_seconds = min(max(outcome.seconds, longest), seconds)
    return Efficiency(
        parallel=mean / seconds,
        load_balance=mean / longest if longest else 1.0,
        communication=longest / seconds,
        serialisation=longest / ideal_seconds if ideal_seconds else 1.0,
        transfer=ideal_seconds / seconds,
        seconds=seconds,
        ideal_seconds=ideal_seconds,
    )
