"""The plan of a sweep, ``sweep.toml``: strict and versioned. Main entries: `Plan` and `load`."""

import os
import random
import shlex
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from commmodel.documents import check_format, convert, read_toml
from commmodel.errors import DamagedFileError, InputError
from commmodel.files import write_text
from commmodel.signatures import checked
from commmodel.structs import InputStruct

FILE = "sweep.toml"
FORMAT: Literal["commmodel-sweep"] = "commmodel-sweep"
VERSION = 1
# History of the format: 1, first version.
_MOST_JOBS = 100_000
Count = Annotated[int, Meta(ge=1, le=2**31 - 1)]


class Job(InputStruct, frozen=True, order=True):
    """One launch on a number of processes; its files lie in the sweep's folder.

    >>> Job(8, 3).name, Job(8, 3).results
    ('p0008/launch03', 'p0008/launch03.jsonl')
    """

    processes: int
    launch: int
    """From 1 up."""

    @property
    def name(self) -> str:
        """Path of its files without their ending."""
        return f"{self.folder}/launch{self.launch:02}"

    @property
    def folder(self) -> str:
        """Of its files and those of the other launches on as many processes."""
        return f"p{self.processes:04}"

    @property
    def script(self) -> str:
        """The job's script."""
        return f"{self.name}.sh"

    @property
    def array(self) -> str:
        """With Slurm, the script of all launches on as many processes."""
        return f"{self.folder}/array.sh"

    @property
    def results(self) -> str:
        """The results file."""
        return f"{self.name}.jsonl"

    @property
    def done(self) -> str:
        """The file that marks a finished benchmark (exit code 0)."""
        return f"{self.name}.done"

    @property
    def failed(self) -> str:
        """The file that marks a benchmark which has ended with an error, and holds its exit code."""
        return f"{self.name}.failed"

    @property
    def log(self) -> str:
        """The output."""
        return f"{self.name}.log"


class Slurm(InputStruct, frozen=True, forbid_unknown_fields=True):
    """Settings of job submission."""

    options: tuple[str, ...]
    """Of sbatch, a word each, beside those about processes."""
    ranks_per_node: Count


class Plan(InputStruct, frozen=True, forbid_unknown_fields=True):
    """The jobs of a sweep and how they run.

    >>> plan = Plan(FORMAT, VERSION, (2, 4), 2, ("collective", "--quick"), "mpiexec -n {processes}", "python", 1)
    >>> sorted(plan.jobs()) == [Job(2, 1), Job(2, 2), Job(4, 1), Job(4, 2)], plan.jobs() == plan.jobs()
    (True, True)
    """

    format: Literal["commmodel-sweep"]
    version: Annotated[int, Meta(ge=1, le=VERSION)]
    processes: Annotated[tuple[Count, ...], Meta(min_length=1)]
    launches: Count
    bench: tuple[str, ...]
    """Words after ``python -m commmodel.bench``."""
    launcher: str
    """What starts ``{processes}`` processes."""
    python: Annotated[str, Meta(min_length=1)]
    seed: int
    """Of the order of the jobs."""
    created: str = ""
    slurm: Slurm | None = None

    def jobs(self) -> tuple[Job, ...]:
        """Return all jobs in order."""
        jobs = [Job(processes, launch) for processes in self.processes for launch in range(1, self.launches + 1)]
        random.Random(self.seed).shuffle(jobs)  # noqa: S311  (an order, no secret)
        return tuple(jobs)

    @checked
    def command(self, processes: Count) -> tuple[str, ...]:
        """Return the words that start the benchmark, without its options."""
        values = {"processes": processes}
        return (*launcher_words(self.launcher, values), self.python, "-m", "commmodel.bench")


def launcher_words(launcher: str, values: Mapping[str, int]) -> list[str]:
    """Return the words of a launcher with its numbers filled in.

    Raises
    ------
    InputError
        Where a quotation does not end, ``{processes}`` is missing, or something else stands in braces.

    Examples
    --------
    >>> launcher_words("mpiexec -bind-to core -n {processes}", {"processes": 4})
    ['mpiexec', '-bind-to', 'core', '-n', '4']
    """
    try:
        words = shlex.split(launcher)
        fields = {field for word in words for _, field, *_ in string.Formatter().parse(word) if field is not None}
        if fields == {"processes"}:
            return [word.format(**values) for word in words]
    except (ValueError, LookupError, AttributeError) as error:
        raise InputError(f"launcher {launcher!r}: {error}: write it like 'mpiexec -n {{processes}}'") from None
    problem = f"it knows no {{{min(fields - {'processes'})}}}" if fields - {"processes"} else "it lacks {processes}"
    raise InputError(f"launcher {launcher!r}: {problem}: write it like 'mpiexec -n {{processes}}'")


def check(plan: Plan) -> None:
    """Raise `InputError` where a plan is impossible."""
    launcher_words(plan.launcher, {"processes": 1})
    if len(plan.processes) * plan.launches > _MOST_JOBS:
        problem = f"{plan.launches} launches on each of {len(plan.processes)} numbers of processes"
        raise InputError(f"{problem}: more than {_MOST_JOBS} jobs: take fewer launches")
    if 1 in plan.processes:
        raise InputError("1 process has nobody to talk to: begin with 2; collectives of one are measured on more ranks "
                         "with the benchmark's --process-counts 1,2")  # fmt: skip
    if len(set(plan.processes)) < len(plan.processes):
        raise InputError(f"processes {list(plan.processes)}: a number stands there twice: leave one out")


def dump(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write a plan."""
    import tomlkit

    document = tomlkit.document()
    document.add(tomlkit.comment("Launches of commmodel's benchmark. The scripts beside this file were made from it:"))
    document.add(tomlkit.comment("to change what they do, make another sweep."))
    document.update({name: value for name, value in msgspec.to_builtins(plan).items() if value is not None})
    write_text(path, tomlkit.dumps(document))


@checked
def load(folder: str | os.PathLike[str]) -> Plan:
    """Return the plan in a sweep's folder.

    Raises
    ------
    InputError
        Where there is none.
    DamagedFileError
        Naming the field that is not as it should be.
    """
    path = Path(folder) / FILE
    if not path.exists():
        raise InputError(f"{folder} is no sweep, it has no {FILE}: make one with commmodel sweep make")
    content = read_toml(path)
    check_format(path, content, FORMAT, VERSION)
    plan: Plan = convert(path, content, Plan)
    try:
        check(plan)
    except InputError as error:
        raise DamagedFileError(path, "", str(error)) from None
    return plan
