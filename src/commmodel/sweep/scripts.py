"""The scripts of a sweep's jobs. Main entry: `make`."""

import os
import re
import shlex
import shutil
from importlib.resources import files
from math import ceil
from pathlib import Path

from commmodel.errors import InputError
from commmodel.files import write_text
from commmodel.signatures import checked
from commmodel.sweep.plan import FILE, Job, Plan, Slurm, check, dump

_OURS = ("-n", "--ntasks", "-N", "--nodes", "--ntasks-per-node", "-o", "--output", "-a", "--array", "-D", "--chdir")
"""Options of sbatch that follow from the plan."""


def _filled(template: str, **words: object) -> str:
    text = files("commmodel.sweep").joinpath(template).read_text(encoding="utf-8")
    return re.sub(r"@([A-Z_]+)@", lambda match: str(words[match[1].lower()]), text)


def job_script(plan: Plan, job: Job) -> str:
    """Return the text of a job's script.

    >>> from commmodel.sweep.plan import FORMAT, VERSION
    >>> plan = Plan(FORMAT, VERSION, (2,), 1, ("memory", "--quick"), "mpiexec -n {processes}", "python3", 1)
    >>> [line for line in job_script(plan, Job(2, 1)).splitlines() if line.startswith(("name", "set", "mpiexec"))]
    ['name=p0002/launch01', 'set -- memory --quick', 'mpiexec -n 2 python3 -m commmodel.bench "$@" -o "$name.jsonl"']
    """
    return _filled(
        "job.sh", launch=job.launch, launches=plan.launches, processes=job.processes, name=job.name,
        body=_body(plan, job.processes),
    )  # fmt: skip


def _body(plan: Plan, processes: int) -> str:
    command = shlex.join(plan.command(processes))
    return _filled("body.sh", bench=shlex.join(plan.bench), command=command).rstrip("\n")


def _job_name(plan: Plan) -> str:
    """Return what begins the names of the arrays: other sweeps in the same folder have other ones."""
    return f"commmodel-{plan.seed:08x}"


def array_script(plan: Plan, slurm: Slurm, job: Job) -> str:
    """Return the text of the script of all launches on as many processes, for Slurm."""
    return _filled(
        "slurm_array.sh",
        job_name=f"{_job_name(plan)}-{job.folder}",
        folder=job.folder,
        processes=job.processes,
        nodes=ceil(job.processes / slurm.ranks_per_node),
        per_node=min(job.processes, slurm.ranks_per_node),
        options="\n".join(f"#SBATCH {option}" for option in _joined(slurm.options)),
        body=_body(plan, job.processes),
    )


def _joined(options: tuple[str, ...]) -> list[str]:
    """Return options with their values, a line each.

    >>> _joined(("--time", "10", "-p", "x", "--exclusive"))
    ['--time=10', '-p x', '--exclusive']
    """
    lines: list[str] = []
    for word in options:
        if word.startswith("-") or not lines:
            name, sign, value = word.partition("=")
            lines.append(name + sign + (shlex.quote(value) if value else ""))
        else:
            lines[-1] += ("=" if lines[-1].startswith("--") else " ") + shlex.quote(word)
    return lines


def _check_slurm(slurm: Slurm) -> None:
    for word in slurm.options:
        if "\n" in word or "\r" in word:
            raise InputError(f"--slurm: {word!r} has an end of line: leave it out")
        name = word.partition("=")[0] if word.startswith("--") else word[:2]
        if name in _OURS:
            raise InputError(f"--slurm: {word}: it follows from the plan: leave it out")
    if slurm.options and not slurm.options[0].startswith("-"):
        raise InputError(f"--slurm: {slurm.options[0]!r} is no option: write it like '--time=10 --partition=x'")


@checked
def make(plan: Plan, folder: str | os.PathLike[str]) -> None:
    """Write a plan and its scripts into a new or empty folder.

    Parameters
    ----------
    plan : Plan
        What to run.
    folder : path
        Made where it is not there.

    Raises
    ------
    InputError
        Where the folder holds something, cannot be written, or the plan cannot be carried out.

    Examples
    --------
    >>> import tempfile
    >>> from commmodel.sweep.plan import FORMAT, VERSION
    >>> plan = Plan(FORMAT, VERSION, (2, 4), 3, ("memory",), "mpiexec -n {processes}", "python3", 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     make(plan, folder)
    ...     sorted(path.name for path in Path(folder).glob("*"))
    ['p0002', 'p0004', 'run.sh', 'sweep.toml']
    """
    check(plan)
    if plan.slurm is not None:
        _check_slurm(plan.slurm)
    folder = Path(folder)
    was_there = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"{folder} is not empty: name a new folder")
        try:
            _write_all(plan, folder)
        except BaseException:  # whatever it was: half a sweep would be in the way of the next attempt
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            if not was_there:
                folder.rmdir()
            raise
    except OSError as error:
        raise InputError(f"{error.filename or folder}: {error.strerror}") from None


def _write_all(plan: Plan, folder: Path) -> None:
    jobs = plan.jobs()
    for job in jobs:
        (folder / job.folder).mkdir(exist_ok=True)
        if plan.slurm is None:
            write_text(folder / job.script, job_script(plan, job), executable=True)
        elif job.launch == 1:
            write_text(folder / job.array, array_script(plan, plan.slurm, job), executable=True)
    if plan.slurm is None:
        name, words = "run.sh", {"jobs": " ".join(job.name for job in jobs)}
    else:
        folders = dict.fromkeys(job.folder for job in jobs)
        name, words = "submit.sh", {
            "folders": " ".join(folders), "launches": str(plan.launches), "job_name": _job_name(plan),
        }  # fmt: skip
    write_text(folder / name, _filled(name, **words), executable=True)
    dump(plan, folder / FILE)
