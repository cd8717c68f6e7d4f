"""Execution of a sweep's jobs on this machine. Main entry: `run`."""

import fcntl
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Annotated

from commmodel.arguments import Bounds, Count
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError
from commmodel.signatures import checked
from commmodel.sweep.gathering import last_line, states
from commmodel.sweep.plan import Job, Plan, load

_Limit = Annotated[float, Bounds(gt=0)]
_GRACE = 10.0  # seconds that a launcher gets to end its ranks
_LOOK = 0.05  # seconds between two looks whether it has


@with_attributes
@dataclass(frozen=True)
class Failure:
    """A failed job, and the line that says why."""

    job: Job
    line: str


class _Jobs:
    """The running jobs, so that all can be ended."""

    def __init__(self, folder: Path, lock: int, limit: float) -> None:
        self._folder = folder
        self._lock_file = lock
        self._limit = limit
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._is_over = False

    def carry_out(self, job: Job) -> Failure | None:
        """Run a job; return an error message, or nothing where it succeeded or was cancelled."""
        with self._lock:
            if self._is_over:
                return None
            process = subprocess.Popen(
                ["bash", self._folder / job.script],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(self._lock_file,),
            )
            self._running.add(process)
        line = ""
        try:
            process.wait(self._limit)
        except subprocess.TimeoutExpired:
            line = f"it took longer than {self._limit:g} s and was ended: it goes on with the next run"
            end_with_children(process)
        finally:
            with self._lock:
                self._running.discard(process)
        if process.returncode == 0:
            return None
        return Failure(job, line or last_line(self._folder / job.log) or f"exit code {process.returncode}")

    def end(self) -> None:
        """End the running jobs, start no more."""
        with self._lock:
            self._is_over = True
            running = list(self._running)
        for process in running:
            end_with_children(process)


def end_with_children(process: "subprocess.Popen[bytes]") -> None:
    """End a job with all its processes; the launcher gets time to clean up."""
    end = monotonic() + _GRACE
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        while monotonic() < end:
            process.poll()  # as a zombie it would count as one of the group
            os.killpg(process.pid, 0)  # raises once nobody is left
            sleep(_LOOK)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


LOCK = ".lock"
"""File in a folder that jobs of one command at a time write to."""


def claim(folder: Path) -> int:
    """Return a file descriptor that locks a folder while this process or its jobs, which inherit it, live."""
    try:
        lock = os.open(folder / LOCK, os.O_WRONLY | os.O_CREAT, 0o666)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise InputError(f"{folder}: its jobs are being run, or one of a killed run still is: wait for it") from None
    except OSError:  # a file system without locks: go on without
        pass
    return lock


@checked
def run(
    folder: str | os.PathLike[str],
    *,
    workers: Count = 1,
    limit: _Limit = 3600.0,
    stop: bool = False,
    tell: Callable[[Job, Failure | None, int], None] | None = None,
) -> tuple[Failure, ...]:
    """Run the unfinished jobs of a sweep; return those that failed.

    Parameters
    ----------
    folder : path
        Of the sweep.
    workers : int
        Jobs at once. Measurements disturb each other: more than one is for machines where each has its own nodes.
    limit : float
        Seconds after which a job is ended.
    stop : bool
        Whether the first failure ends all.
    tell : callable, optional
        Called after each job with it, its failure, and how many are left.

    Raises
    ------
    InputError
        Where the folder holds no sweep, one of Slurm, or a damaged file.
    """
    folder = Path(folder).resolve()
    plan = load(folder)
    if plan.slurm is not None:
        raise InputError(f"{folder} is for Slurm: submit its jobs with {folder / 'submit.sh'}")
    lock = claim(folder)
    try:
        return _run(folder, plan, _Jobs(folder, lock, limit), workers, stop, tell or (lambda *_: None))
    finally:
        os.close(lock)


def _run(
    folder: Path,
    plan: Plan,
    jobs: _Jobs,
    workers: int,
    stop: bool,
    tell: Callable[[Job, Failure | None, int], None],
) -> tuple[Failure, ...]:
    states_of = {state.job: state for state in states(folder, plan)}
    todo = [job for job in plan.jobs() if states_of[job].state in {"missing", "failed", "begun"}]
    failures = [
        Failure(state.job, f"{state.problem}: remove it and {folder / state.job.done} to measure again")
        for state in states_of.values()
        if state.state == "damaged"
    ]
    left = len(todo)
    for failure in failures:
        tell(failure.job, failure, left)
    if failures and stop:
        return tuple(failures)
    with ThreadPoolExecutor(workers) as pool:
        try:
            futures = {pool.submit(jobs.carry_out, job): job for job in todo}
            for future in as_completed(futures):
                problem, left = future.result(), left - 1
                if problem is not None:
                    failures.append(problem)
                tell(futures[future], problem, left)
                if problem is not None and stop:
                    jobs.end()
                    break
        except BaseException:  # interrupted: the ranks of a job would go on without us
            jobs.end()
            raise
    return tuple(failures)
