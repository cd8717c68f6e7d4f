"""Progress of a sweep, and its results joined in one file. Main entries: `states` and `gather`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from commmodel import results
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError
from commmodel.files import refuse_inputs, write_bytes
from commmodel.signatures import checked
from commmodel.sweep.plan import FILE, Job, Plan, load
from commmodel.values import OneLine


@with_attributes
@dataclass(frozen=True)
class JobState:
    """The state of a job.

    Attributes
    ----------
    job : Job
        Which.
    state : str
        ``done``: the benchmark has ended well and its file can be read. ``begun``: there is a file, but it has not.
        ``missing``: there is none. ``damaged``: the benchmark has ended, but the file is not what it should be.
    problem : str
        What is damaged.
    records : int
        In its file.
    """

    job: Job
    state: Literal["done", "begun", "missing", "damaged"]
    problem: str = ""
    records: int = 0


def _state(folder: Path, job: Job) -> JobState:
    path, is_over = folder / job.results, (folder / job.done).exists()
    if not path.exists():
        return JobState(job, "damaged", f"{path}: the job is done, but its file is gone") if is_over else JobState(
            job, "missing"
        )  # fmt: skip
    try:
        measurements = results.load(path)
    except InputError as error:
        return JobState(job, "damaged" if is_over else "begun", str(error))
    records = sum(1 for _ in measurements.records)
    for launch in measurements.launches:
        if len(launch.header.ranks) != job.processes:
            problem = f"{path}: measured on {len(launch.header.ranks)} ranks, not on {job.processes}"
            return JobState(job, "damaged", problem, records)
    if is_over and measurements.notes:
        return JobState(job, "damaged", measurements.notes[0], records)
    return JobState(job, "done" if is_over else "begun", "", records)


@checked
def states(folder: str | os.PathLike[str], plan: Plan | None = None) -> tuple[JobState, ...]:
    """Return the state of each job, by processes and launches.

    Raises
    ------
    InputError
        Where the folder holds no sweep.
    """
    plan = plan or load(folder)
    return tuple(_state(Path(folder), job) for job in sorted(plan.jobs()))


@dataclass(frozen=True)
class GatherResult(OneLine):
    """The joined and the omitted files."""

    jobs: tuple[JobState, ...]
    left_out: tuple[JobState, ...]


@checked
def gather(folder: str | os.PathLike[str], output: str | os.PathLike[str]) -> GatherResult:
    """Join the files of all finished jobs, each launch with its header.

    Parameters
    ----------
    folder : path
        Of the sweep.
    output : path
        Replaced where it is there.

    Raises
    ------
    InputError
        Where the folder holds no sweep, no job is done, or the file cannot be written.
    """
    folder, output = Path(folder), Path(output)
    plan = load(folder)
    jobs = states(folder, plan)
    complete = tuple(state for state in jobs if state.state == "done")
    if not complete:
        way = f"commmodel sweep run {folder}" if plan.slurm is None else f"bash {folder}/submit.sh"
        raise InputError(f"{folder}: no job is done yet: run them with {way}")
    parts = [folder / state.job.results for state in complete]
    of_jobs = (name for state in jobs for name in (state.job.script, state.job.results, state.job.done, state.job.log))
    refuse_inputs(output, (folder / name for name in (FILE, *of_jobs)))
    write_bytes(output, (part.read_bytes().rstrip(b"\n") + b"\n" for part in parts))
    return GatherResult(complete, tuple(state for state in jobs if state.state != "done"))
