"""What programs send, by call site, in simulated runs: the same on each machine. Main entries: `count`, `Counts`.

Computation takes no time, or that of a recording, so that two runs of a program that does the same are alike to the
last bit, on a busy runner, too. A file of counts is JSON with a line for each run and each call site, so that a change
of it can be reviewed.
"""

import contextlib
import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib import metadata
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from commmodel.arguments import Count
from commmodel.documents import check_format, convert, decode_json, read_bytes
from commmodel.errors import CommModelError, DeadlockError, InputError, RankEndedError
from commmodel.files import write_text
from commmodel.guard.file import PROCESSES, Guard, GuardedProgram
from commmodel.record import (
    Profile,
    SiteContent,
    computation,
    is_recording,
    recording_simulated_ranks,
    site_contents,
)
from commmodel.record import load as load_recording
from commmodel.signatures import checked
from commmodel.simulate import command, online
from commmodel.simulate.workers import spread
from commmodel.structs import InputStruct
from commmodel.values import Value

COUNTS_FORMAT: Literal["commmodel-counts"] = "commmodel-counts"
_VERSION = 1
# History of the format: 1, first version.
_COLLECTIVE = {"collective", "neighbourhood"}
_SHIFTING = re.compile(r"@0x[0-9a-f]+|:\d+$")
"""Of a function's name: its address, and the line that calls it."""
_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep
_PACKAGES = ("commmodel", "mpi4py", "numpy")
_REPEATABLE = {"PYTHONHASHSEED": "0"}
"""Of sets of strings, whose order would be another in each run."""
_Number = Annotated[int, Meta(ge=0)]


class SiteCounts(InputStruct, frozen=True):
    """All calls of one name at one line, by all ranks together.

    >>> print(SiteCounts("solver.py", 81, "step", "MPI_Allreduce", 64, 512))
    MPI_Allreduce, solver.py:81
    """

    file: str
    """Relative to the folder of the program; of other folders the name alone."""
    line: _Number
    """0 where it is not known."""
    function: str
    call: str
    calls: _Number
    bytes: _Number
    """Sent, received by receives, or put into collectives."""

    def __str__(self) -> str:
        """Return call, file and line."""
        place = f"{self.file}:{self.line}" if self.line else self.file or self.function
        return f"{self.call}, {place}" if place else self.call


class RunCounts(Value, InputStruct, frozen=True):
    """What one simulated run of a program sends."""

    program: str
    processes: Annotated[int, Meta(ge=1)]
    on: str = ""
    compute: str = "0"
    messages: _Number = 0
    bytes: _Number = 0
    calls: _Number = 0
    collectives: _Number = 0
    seconds: Annotated[float, Meta(ge=0)] = 0.0
    sites: tuple[SiteCounts, ...] = ()
    error: str = ""
    """Why the run did not come to its end; empty where it did."""
    contents: tuple[SiteContent, ...] = ()
    """What is sent in pieces or pickled at each call site; known of a run, not of a file."""

    @property
    def key(self) -> tuple[str, int]:
        """What it is compared with: the run of the same program on as many ranks."""
        return self.program, self.processes


class Counts(Value, InputStruct, frozen=True):
    """Simulated runs of some programs."""

    format: Literal["commmodel-counts"] = COUNTS_FORMAT
    version: Annotated[int, Meta(ge=1, le=_VERSION)] = _VERSION
    packages: dict[str, str] = msgspec.field(default_factory=dict)
    """Name -> version, of packages that may decide what a program sends."""
    runs: tuple[RunCounts, ...] = ()


@checked
def count(
    guard: Guard,
    folder: str | os.PathLike[str] = ".",
    *,
    workers: Count = 1,
    lenient: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Counts:
    """Simulate the programs of a guard; return what they send.

    Parameters
    ----------
    guard : Guard
    folder : path
        Where the programs are started.
    workers : int
        How many runs go side by side, 1 or more.
    lenient : bool
        Whether a program that cannot be started is noted in its run, as one is that does not come to its end.
    progress : callable, optional
        (runs that are done, runs), called after each.

    Raises
    ------
    InputError
        Where there is no such folder, program, platform or recording.

    Examples
    --------
    ``count(load("guard.toml")).runs[0].messages`` is how many messages its first program sends.

    >>> count(Guard((GuardedProgram("python solver.py", (4, 16)),)), "elsewhere")
    Traceback (most recent call last):
    commmodel.errors.InputError: elsewhere: no folder: name that of the programs
    """
    if not os.path.isdir(folder):
        raise InputError(f"{os.fspath(folder)}: no folder: name that of the programs", "folder")
    calls = [(program, processes) for program in guard.program for processes in program.processes]
    largest_first = sorted(calls, key=lambda call: -call[1])  # as they take the longest
    question = partial(_counted, os.path.realpath(folder), lenient)
    runs = {run.key: run for run in spread(question, largest_first, workers=workers, progress=progress, label="guard")}
    return Counts(packages=_packages(), runs=tuple(runs[program.title, processes] for program, processes in calls))


def _packages() -> dict[str, str]:
    """Return the versions of what is installed."""
    versions = {}
    for name in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def _counted(folder: str, lenient: bool, program: GuardedProgram, processes: int) -> RunCounts:
    """Return what a program sends on some ranks; other processes call this."""
    empty = RunCounts(program.title, processes, program.on, program.compute)
    try:
        return _simulated(folder, program, empty)
    except (DeadlockError, RankEndedError) as error:
        return msgspec.structs.replace(empty, error=str(error))
    except CommModelError as error:
        if not lenient:
            raise
        return msgspec.structs.replace(empty, error=str(error))


def _simulated(folder: str, program: GuardedProgram, empty: RunCounts) -> RunCounts:
    """Return the counts of a run, which is recorded for its call sites."""
    processes, words = empty.processes, program.words(empty.processes)
    with tempfile.TemporaryDirectory(prefix="commmodel-") as place, _surroundings(folder, program):
        recording = os.path.join(place, "recording")
        with recording_simulated_ranks(words, recording, program.on):
            result = command(
                words, processes, on=program.on, computation=_computation(program, processes), clocks="simulated",
                outlets=online.Outlets(subprocess.DEVNULL), record=True,
            )  # fmt: skip
        loaded = load_recording(recording)
        profile, contents = loaded.profile(), site_contents(loaded)
    return msgspec.structs.replace(
        empty,
        messages=result.messages,
        bytes=round(float(result.transfers["size"].sum())),
        seconds=result.seconds,
        contents=contents,
        **_site_counts(folder, profile),
    )


@contextlib.contextmanager
def _surroundings(folder: str, program: GuardedProgram) -> Iterator[None]:
    """Let programs be started in a folder, with the variables of a program."""
    before = dict(os.environ)
    os.environ.update(_REPEATABLE | program.environment)
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _computation(program: GuardedProgram, processes: int) -> Any:
    if program.compute == "0":
        return 0.0
    path = program.compute.replace(PROCESSES, str(processes))
    if not is_recording(path):
        raise InputError(f"compute {path!r} of {program.title}: say 0, or the folder of a recording")
    return replace(computation(load_recording(path)), factor=1.0)


def _site_counts(folder: str, profile: Profile) -> dict[str, Any]:
    """Return calls, collectives and sites of a run; sites are in the order of files and lines."""
    calls, sizes = Counter[tuple[str, int, str, str]](), Counter[tuple[str, int, str, str]]()
    collectives = 0
    for site in profile.communication_sites:
        if site.file.startswith(_OURS) and not site.file.startswith(folder):  # the end of an interpreter
            continue
        function = _SHIFTING.sub("", site.function)
        key = (_relative(site.file, folder), site.line, function, site.call)
        calls[key] += site.count
        sizes[key] += site.bytes
        collectives += site.count * (profile.calls[site.call].group in _COLLECTIVE)
    sites = tuple(SiteCounts(*key, calls[key], sizes[key]) for key in sorted(calls))
    return {"calls": sum(calls.values()), "collectives": collectives, "sites": sites}


def _relative(file: str, folder: str) -> str:
    """Return a file relative to a folder; of another folder its name alone.

    >>> _relative("/home/user/app/src/solver.py", "/home/user/app"), _relative("/opt/numpy/linalg.py", "/work/app")
    ('src/solver.py', 'linalg.py')
    """
    path = os.path.realpath(os.path.join(folder, file)) if file else ""
    return os.path.relpath(path, folder) if path.startswith(folder + os.sep) else os.path.basename(file)


@checked
def load_counts(path: str | os.PathLike[str]) -> Counts:
    """Return the counts of a file.

    Parameters
    ----------
    path : path

    Raises
    ------
    DamagedFileError
        Where it is none, or damaged.

    Examples
    --------
    ``load_counts("guard.json").runs`` are the runs of a baseline.
    """
    content = decode_json(path, read_bytes(path), msgspec.json.Decoder(dict[str, Any]))
    check_format(path, content, COUNTS_FORMAT, _VERSION)
    counts: Counts = convert(path, content, Counts)
    return counts


@checked
def dump_counts(counts: Counts, path: str | os.PathLike[str]) -> None:
    """Write counts to a file, a line for each run and each call site.

    Parameters
    ----------
    counts : Counts
    path : path

    Raises
    ------
    InputError
        Where it cannot be written.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "guard.json")
    ...     dump_counts(Counts(runs=(RunCounts("solver", 4),)), path)
    ...     load_counts(path).runs[0].processes
    4
    """
    write_text(path, _text(counts))


def _text(counts: Counts) -> str:
    """Return counts as JSON, with line ends where a reader of changes wants them.

    >>> print(_text(Counts(runs=(RunCounts("a", 2, sites=(SiteCounts("a.py", 3, "f", "MPI_Send", 1, 8),)),))))
    {"format":"commmodel-counts","version":1,"packages":{},"runs":[
    {"program":"a","processes":2,"on":"","compute":"0","messages":0,"bytes":0,"calls":0,"collectives":0,"seconds":0.0,"error":"","sites":[
    {"file":"a.py","line":3,"function":"f","call":"MPI_Send","calls":1,"bytes":8}]}]}
    <BLANKLINE>
    """
    head = msgspec.to_builtins(counts)
    del head["runs"]
    return f"{_open(head, 'runs')}{_lines(map(_run_text, counts.runs))}}}\n"


def _run_text(run: RunCounts) -> str:
    head = msgspec.to_builtins(run)
    del head["sites"], head["contents"]
    return f"{_open(head, 'sites')}{_lines(msgspec.json.encode(site).decode() for site in run.sites)}}}"


def _open(head: dict[str, Any], name: str) -> str:
    """Return an object of JSON without its end, up to the value of a last field."""
    return f'{msgspec.json.encode(head).decode()[:-1]},"{name}":'


def _lines(items: "Iterator[str] | Sequence[str] | map[str]") -> str:
    rows = ",\n".join(items)
    return f"[\n{rows}]" if rows else "[]"
