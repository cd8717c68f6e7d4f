"""Start a program with its calls of MPI recorded: this process becomes the program.

The library that records is preloaded, in the build for the MPI library that the program will load. Which one that is
follows from what the program is linked with; for Python, from what mpi4py would load. Main entries: `launch`
and, for programs that run while they are simulated, `recording_simulated_ranks`.
"""

import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from commmodel.errors import CommModelError, InputError, MPIEnvironmentError, ProgramError
from commmodel.files import unwritable, write_text
from commmodel.launchers import alone, family, rank, ranks, unconnected
from commmodel.record import mpi4py_library
from commmodel.record.afterwards import tell_if_nothing
from commmodel.signatures import checked

FORMAT, VERSION = "commmodel-recording", 1
_LIBRARIES = Path(__file__).parents[1] / "_core/record"
_LIBRARY = re.compile(r"^\s*lib(?:mpi|mpich|mpi_abi)\.so\.(\d+)(?: => (not found|\S+))?", re.MULTILINE)
_ABIS = {"12": "mpich", "40": "openmpi", "0": "mpiabi", "1": "mpiabi"}
"""Version of the library's file -> MPI ABI."""
_NAMES = {"mpich": "MPICH", "openmpi": "Open MPI", "mpiabi": "the standard MPI ABI"}


@checked
def launch(command: Sequence[str], folder: str | os.PathLike[str] = "recording", *, force: bool = False) -> NoReturn:
    """Become a program whose calls of MPI are recorded; to be called on every rank.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    folder : path
        Where the recording goes: a new folder.
    force : bool
        Replace a recording that is there already.

    Raises
    ------
    InputError
        The folder exists or cannot be made.
    ProgramError
        There is no such program.
    MPIEnvironmentError
        Nothing is built for the program's MPI library, or it is not that of the launcher.
    """
    program = _executable(command[0])
    abi, library = _mpi_library(program)
    _check_launcher(abi)
    recorder = _LIBRARIES / f"libcommmodel-record.{abi}.so"
    if not recorder.is_file():
        raise MPIEnvironmentError(
            f"{command[0]} uses {_NAMES[abi]}, for which nothing is built: install with MPICC naming its mpicc"
        )
    preloaded = [str(recorder), *([library] if library else [])]
    if any(character in path for path in preloaded for character in " :"):
        raise MPIEnvironmentError(f"{' '.join(preloaded)}: a path with a blank or a colon cannot be preloaded")
    target = Path(folder).absolute()
    refusal = ""
    if rank() == 0:
        try:
            _make_folder(target, command, force)
        except InputError as error:
            _end_other_ranks(error)
            refusal = str(error.exit_code)
    libraries = ":".join(preloaded)
    preloaded_before = os.environ.get("LD_PRELOAD", "")
    environment = os.environ | {
        "LD_PRELOAD": f"{libraries}:{preloaded_before}" if preloaded_before else libraries,
        "COMMMODEL_RECORD": str(target),
        "COMMMODEL_RECORD_PRELOAD": libraries,
        "COMMMODEL_RECORD_REFUSAL": refusal,
        "COMMMODEL_RECORD_ALONE": alone() if rank() == 0 else " " * bool(alone()),
    }
    if rank() == 0 and not refusal:
        tell_if_nothing(target)
    try:
        os.execve(program, [*command], environment)  # noqa: S606  (the program is the user's)
    except OSError as error:
        raise ProgramError(f"{command[0]}: {error.strerror}", 126) from None


@contextmanager
@checked
def recording_simulated_ranks(
    command: Sequence[str], folder: str | os.PathLike[str], where: str, *, force: bool = False
) -> Iterator[None]:
    """Let a program that runs while it is simulated be recorded, with simulated times, in the block.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    folder : path
        Where the recording goes: a new folder.
    where : str
        On what it is simulated, for people.
    force : bool
        Replace a recording that is there already.

    Raises
    ------
    InputError
        The folder exists or cannot be made.
    MPIEnvironmentError
        Nothing is built for the MPI library of simulated ranks.

    Examples
    --------
    ``with recording_simulated_ranks(words, "on-64", "graphene"): simulate.command(words, 64, on="graphene")`` records
    that run.
    """
    recorder = _LIBRARIES / "libcommmodel-record.mpich.so"
    if not recorder.is_file():
        raise MPIEnvironmentError(
            "simulated ranks have MPICH's ABI, for which no recorder is built: install with MPICC"
        )
    target = Path(folder).absolute()
    _make_folder(target, command, force, where)
    before = dict(os.environ)
    os.environ.update(
        {
            "COMMMODEL_RECORD": str(target),
            "COMMMODEL_RECORD_PRELOAD": str(recorder),
            "COMMMODEL_RECORD_REFUSAL": "",
            "COMMMODEL_RECORD_ALONE": "",
        }
    )
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def quiet_but_first(error: CommModelError) -> int:
    """Let rank 0 alone say what is wrong with all: raise there, elsewhere wait and return the exit code."""
    if rank() == 0:
        raise error
    time.sleep(1)  # or the launcher ends rank 0 before it has said it
    return error.exit_code


def _end_other_ranks(error: InputError) -> None:
    """Raise on rank 0 where it is the only one, or the launcher ends all ranks where one ends, as Open MPI's.

    Else say what is wrong, and tell MPICH's launcher, in a line of its protocol, PMI-1, to end the other ranks, which
    do not know of it. Under others, such as Slurm's, this returns: rank 0 begins MPI, too, and there all learn of it.
    """
    if family() == "openmpi" or ranks() == 1:
        raise error
    print(f"commmodel: {error}", file=sys.stderr, flush=True)
    descriptor = os.environ.get("PMI_FD", "")
    if family() == "mpich" and descriptor.isdecimal():
        time.sleep(0.5)  # or the launcher ends this rank before it has passed the line on
        with suppress(OSError):
            os.write(int(descriptor), f"cmd=abort exitcode={error.exit_code}\n".encode())
            time.sleep(5)  # until the launcher ends this rank, too


def _executable(name: str) -> str:
    """Return the path of a program as a shell finds it."""
    path = shutil.which(name)
    if path is None:
        exists = os.path.exists(name) and os.sep in name
        problem = "cannot be executed" if exists else "no such program"
        raise ProgramError(f"{name}: {problem}", 126 if exists else 127)
    return os.path.abspath(path)


def _make_folder(folder: Path, command: Sequence[str], force: bool, simulated: str = "") -> None:
    """Make the folder of a recording, with the file that says what is recorded."""
    from commmodel import __version__

    about = folder / "recording.json"
    if folder.exists():
        if not force:
            raise InputError(f"{folder} exists: choose another folder, or replace it with --force")
        if any(folder.iterdir()) and not about.is_file():
            raise InputError(f"{folder} is no recording, so it is not replaced: choose another folder")
    content = {
        "format": FORMAT,
        "version": VERSION,
        "command": [*command],
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "commmodel": __version__,
    }
    if simulated:
        content["simulated"] = simulated
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for log in folder.glob("rank-*.log"):
            log.unlink()
        write_text(about, json.dumps(content, indent=1) + "\n")
    except OSError as error:
        raise unwritable(folder, error) from None


def _mpi_library(program: str) -> tuple[str, str | None]:
    """Return the ABI of the MPI library that a program will load, and the library's path where that is known."""
    interpreter = _interpreter(program)
    if re.fullmatch(r"(python|pypy)[\d.]*t?", os.path.basename(interpreter)):
        library = _library_of_python(interpreter)
    else:
        library = _linked(interpreter, interpreter)
    if library is None:  # a shell or another program that starts the program: what our mpi4py loads
        library = _library_of_python(sys.executable)
    if library is None:
        raise MPIEnvironmentError(f"{program}: neither it nor mpi4py beside commmodel has an MPI library")
    return library


def _interpreter(path: str, depth: int = 4) -> str:
    """Return the executable that runs a script; an executable is its own."""
    with open(path, "rb") as file:
        start = file.read(256)
    if not start.startswith(b"#!") or depth == 0:
        return path
    words = shlex.split(start[2:].partition(b"\n")[0].decode(errors="replace"))
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return _interpreter(_executable(words[0]), depth - 1) if words else path


def _library_of_python(python: str) -> tuple[str, str | None] | None:
    """Return the MPI library that mpi4py loads in an interpreter; None where there is no mpi4py."""
    try:
        if _is_ours(python):
            module, opened = mpi4py_library.find()
        else:
            words = [python, mpi4py_library.__file__]
            lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
            module, opened = (line or None for line in lines)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        problem = (getattr(error, "stderr", None) or str(error)).strip().partition("\n")[0]
        raise MPIEnvironmentError(f"mpi4py of {python} finds no MPI library: {problem}") from None
    if module is None:
        return None
    linked = _linked(module, python)
    return (linked[0], opened or linked[1]) if linked else None


def _is_ours(python: str) -> bool:
    return os.path.dirname(python) == os.path.dirname(sys.executable) and os.path.samefile(python, sys.executable)


def _linked(path: str, program: str) -> tuple[str, str | None] | None:
    """Return the MPI library that a program, or a module that it opens, is linked with, by the system's own search."""
    loader = _dynamic_loader(program)
    if loader is None:
        raise MPIEnvironmentError(f"{program}: linked statically, so that nothing can be preloaded: link dynamically")
    environment = os.environ | {"LD_TRACE_LOADED_OBJECTS": "1", "LD_PRELOAD": ""}  # list, what is not found too
    listed = subprocess.run([loader, path], capture_output=True, text=True, check=False, env=environment)
    match = _LIBRARY.search(listed.stdout)
    if match is None:
        return None
    if match[1] not in _ABIS:
        raise MPIEnvironmentError(f"{path}: {match[0].strip()}: no MPI library that commmodel knows")
    return _ABIS[match[1]], None if match[2] == "not found" else match[2]


def _dynamic_loader(program: str) -> str | None:
    """Return the dynamic loader that an executable names; None where it is linked statically."""
    with open(program, "rb") as file:
        start = file.read(1 << 16)
    if start[:4] != b"\x7fELF" or start[4:6] != b"\x02\x01":
        raise ProgramError(f"{program}: no program of this system", 126)
    offset, size, number = struct.unpack_from("<32xQ14xHH", start)
    for at in range(offset, offset + size * number, size):
        kind, place, length = struct.unpack_from("<I4xQ16xQ", start, at)
        if kind == 3:  # PT_INTERP
            return start[place : place + length - 1].decode()
    return None


def _check_launcher(abi: str) -> None:
    """Refuse a program that does not belong to the launcher: each of its processes would be rank 0 of one."""
    if problem := unconnected():
        raise MPIEnvironmentError(problem)
    launcher = family()
    if launcher is not None and abi in ("mpich", "openmpi") and abi != launcher:
        raise MPIEnvironmentError(
            f"the program uses {_NAMES[abi]} but was started by the mpiexec of {_NAMES[launcher]}: take the mpiexec of "
            "its library"
        )
