"""Progress of a sweep, and its results joined in one file. Main entries: `states` and `gather`."""

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from commmodel import results
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError
from commmodel.files import refuse_inputs, write_bytes
from commmodel.results.launches import unmeasured, whole_launches
from commmodel.signatures import checked
from commmodel.sweep.plan import FILE, Job, Plan, load
from commmodel.values import OneLine

_BENCH = "commmodel.bench: "


@with_attributes
@dataclass(frozen=True)
class JobState:
    """The state of a job.

    Attributes
    ----------
    job : Job
        Which.
    state : str
        ``done``: the benchmark has ended well and its file can be read. ``failed``: it has ended with an error.
        ``begun``: there is a file, but it has not ended. ``missing``: there is none. ``damaged``: the benchmark has
        ended well, but the file is not what it should be.
    problem : str
        What is damaged, or the last line of the log of what has failed; of what is done, what it has left out.
    records : int
        In its file.
    """

    job: Job
    state: Literal["done", "failed", "begun", "missing", "damaged"]
    problem: str = ""
    records: int = 0


def last_line(log: Path) -> str:
    """Return the benchmark's last line of output, or else the launcher's."""
    try:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        return ""
    return next((line for line in reversed(lines) if line.startswith(_BENCH)), lines[-1] if lines else "")


def failures(jobs: Iterable[JobState]) -> list[str]:
    """Return the last lines of the logs of failed jobs, each once, with how many jobs share it."""
    counts = Counter(state.problem for state in jobs if state.state == "failed")
    return [f"{count} {'job' if count == 1 else 'jobs'}: {line}" for line, count in counts.most_common()]


def _state(folder: Path, job: Job) -> JobState:
    path, is_over = folder / job.results, (folder / job.done).exists()
    if (folder / job.failed).exists() and not is_over:
        code = (folder / job.failed).read_text().strip()
        return JobState(job, "failed", last_line(folder / job.log) or f"exit code {code}")
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
    if not is_over:
        return JobState(job, "begun", "", records)
    missing = [count for launch in whole_launches(measurements) if (count := unmeasured(launch))]
    if len(measurements.notes) > len(missing):
        return JobState(job, "damaged", measurements.notes[-1], records)
    note = f"{sum(missing)} of {launch.header.planned} configurations are left out, as the time was over"
    return JobState(job, "done", note if missing else "", records)


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
        if reasons := failures(jobs):
            raise InputError(f"{folder}: no job is done, as they have failed: {'; '.join(reasons)}")
        way = f"commmodel sweep run {folder}" if plan.slurm is None else f"bash {folder}/submit.sh"
        raise InputError(f"{folder}: no job is done yet: run them with {way}")
    parts = [folder / state.job.results for state in complete]
    of_jobs = (
        name
        for state in jobs
        for name in (state.job.script, state.job.array, state.job.results, state.job.done, state.job.log)
    )
    refuse_inputs(output, (folder / name for name in (FILE, *of_jobs)))
    write_bytes(output, (part.read_bytes().rstrip(b"\n") + b"\n" for part in parts))
    return GatherResult(complete, tuple(state for state in jobs if state.state != "done"))
