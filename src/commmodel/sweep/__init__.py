"""Sweeps: many launches of the benchmark, planned, scripted, run and gathered.

One job is one launch on one number of processes, with a file of its own; a job that was stopped goes on where it was.
Source: Hunold and Carpen-Amarie (2016), who found the launch to be a factor of its own, and that jobs should come in a
shuffled order. Main entries: `make`, `run`, `states` and `gather`.
"""

from typing import TYPE_CHECKING

from commmodel.lazy import attributes
from commmodel.sweep.gathering import GatherResult, JobState, gather, states
from commmodel.sweep.plan import Job, Plan, Slurm, load
from commmodel.sweep.running import Failure, run
from commmodel.sweep.scripts import make

if TYPE_CHECKING:
    from commmodel.sweep import interleaving
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = [
    "Failure", "GatherResult", "Job", "JobState", "Plan", "Slurm", "gather", "interleaving", "load", "make", "run",
    "states",
]  # fmt: skip
