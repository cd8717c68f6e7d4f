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
    >>> [line for line in job_script(plan, Job(2, 1)).splitlines() if line.startswith(("set", "mpiexec"))]
    ['set -- memory --quick', 'mpiexec -n 2 python3 -m commmodel.bench "$@" -o p0002/launch01.jsonl']
    """
    body = _filled(
        "body.sh",
        done=job.done,
        results=job.results,
        bench=shlex.join(plan.bench),
        command=shlex.join(plan.command(job.processes)),
    )
    common = {
        "launch": job.launch, "launches": plan.launches, "processes": job.processes, "log": job.log,
        "body": body.rstrip("\n"),
    }  # fmt: skip
    if plan.slurm is None:
        return _filled("job.sh", **common)
    return _filled(
        "slurm_job.sh",
        job_name=f"commmodel-{job.name.replace('/', '-')}",
        nodes=ceil(job.processes / plan.slurm.ranks_per_node),
        per_node=min(job.processes, plan.slurm.ranks_per_node),
        options="\n".join(f"#SBATCH {option}" for option in _joined(plan.slurm.options)),
        **common,
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
        (folder / job.script).parent.mkdir(exist_ok=True)
        write_text(folder / job.script, job_script(plan, job), executable=True)
    template = "run.sh" if plan.slurm is None else "submit.sh"
    write_text(folder / template, _filled(template, jobs=" ".join(job.name for job in jobs)), executable=True)
    dump(plan, folder / FILE)
