"""Several launches of the same measurements, one after the other, into one file. Main entry: `measure_repeatedly`.

Runs without MPI, outside of it: no launcher can be relied on to start another from within. A launch is measured into
a file beside the output and appended once it is complete, so an interrupted campaign goes on with ``--resume``.
"""

import argparse
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from commmodel.bench.options import CommandLine
from commmodel.errors import InputError, MPIEnvironmentError
from commmodel.files import unwritable, write_bytes
from commmodel.results import load, whole_launches
from commmodel.results.file import claim, existing
from commmodel.shell import with_next
from commmodel.units import format_time

_PIECE = 1 << 20  # bytes that are copied at a time
_GRACE = 15.0  # seconds that a launcher gets to end its ranks


def launcher_words(text: str | None) -> list[str]:
    """Return the words of a command that starts MPI programs; by default mpiexec's on two ranks."""
    if text is None:
        beside = Path(sys.executable).with_name("mpiexec")
        return [str(beside) if beside.is_file() else "mpiexec", "-n", "2"]
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"--launcher: {text!r}: {error}: write it like 'mpiexec -n 2'") from None
    if not words:
        raise InputError("--launcher: it is empty: write it like 'mpiexec -n 2'")
    return words


def _of_one_launch(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of each launch: all but those on the number of launches and the output.

    >>> _of_one_launch(["pingpong", "--launches=5", "-o", "r.jsonl", "--launcher", "srun -n 2", "--quick", "--json"])
    ['pingpong', '--quick']
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for option in ("--launches", "--launcher"):
        parser.add_argument(option)
    parser.add_argument("-o", "--output")
    for option in ("--resume", "--force", "--json"):
        parser.add_argument(option, action="store_true")
    return parser.parse_known_args(arguments)[1]


def measure_repeatedly(line: CommandLine, arguments: Sequence[str]) -> int:
    """Run the launches that the file lacks; return the exit code.

    Raises
    ------
    InputError
        Where the output is there and neither to be completed nor to be replaced, or cannot be written.
    MPIEnvironmentError
        Where the launcher cannot be started.
    """
    with _claimed(line.output):
        return _measure(line, arguments)


def _measure(line: CommandLine, arguments: Sequence[str]) -> int:
    launcher, output, launches = launcher_words(line.launcher), line.output, line.launches or 1
    begun = output.exists() and output.stat().st_size > 0  # a full disk leaves an empty one
    if begun and not line.resume:
        if not line.force:
            raise existing(output)
        output.unlink()
        begun = False
    done = len(whole_launches(load(output))) if begun else 0
    part = output.with_name(f".{output.name}.launch")
    if not line.resume:
        part.unlink(missing_ok=True)
    words, printed = _of_one_launch(arguments), set[str]()
    command = [*launcher, sys.executable, "-m", "commmodel.bench"]
    for number in range(done + 1, launches + 1):
        if sys.stderr.isatty():
            print(f"launch {number} of {launches}", file=sys.stderr, flush=True)
        go_on = part.exists() and b"\n" in part.read_bytes()
        if not go_on:
            part.unlink(missing_ok=True)
        code = start_launch([*command, *(["--resume"] if go_on else words), "--json", "-o", str(part)], printed)
        if code:
            print(f"commmodel.bench: launch {number} of {launches} ended with exit code {code}: once that is mended, "
                  "the same command with --resume goes on", file=sys.stderr)  # fmt: skip
            return code
        _append(part, output)
    measured = whole_launches(load(output))
    records = [record for launch in measured for record in launch.records]
    seconds = sum(record.duration for record in records)
    if line.json:
        summary = {"output": str(output), "launches": len(measured), "records": len(records), "seconds": seconds}
        print(msgspec.json.encode(summary).decode())
    else:
        measured_words = f"{output}: {len(measured)} launches, {len(records)} records in {format_time(seconds)}"
        print(with_next(measured_words, f"commmodel fit {shlex.quote(str(output))}"))
    return 0


def start_launch(
    command: Sequence[str],
    printed: set[str],
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> int:
    """Run one launch and pass on its output, each line only once; return its exit code.

    `environment` are variables beside those of this process; after `timeout` seconds the launch is ended.
    """
    variables = None if environment is None else {**os.environ, **environment}
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            errors="replace", env=variables,
        )  # fmt: skip
    except OSError as error:
        raise MPIEnvironmentError(
            f"{command[0]}: {error.strerror}: name what starts MPI programs with --launcher 'mpiexec -n 2'"
        ) from None
    timer = None if timeout is None else threading.Timer(timeout, _end, [process])
    try:
        if timer is not None:
            timer.start()
        for line in process.stderr or ():
            if line not in printed:
                print(line, end="", file=sys.stderr, flush=True)
            printed.add(line)
        return process.wait()
    except BaseException:  # interrupted: the ranks would go on without us
        _end(process)
        raise
    finally:
        if timer is not None:
            timer.cancel()
        if process.stderr is not None:
            process.stderr.close()


def _end(process: "subprocess.Popen[str]") -> None:
    """Let a launcher end its ranks; kill it where it does not."""
    process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()


def _append(part: Path, output: Path) -> None:
    """Append a complete launch to the file in a single step."""

    def content() -> Iterator[bytes]:
        for path in (output, part):
            if path.exists():
                with path.open("rb") as old:
                    yield from iter(lambda: old.read(_PIECE), b"")

    try:
        write_bytes(output, content())
    except InputError as error:
        raise InputError(f"{error}; the launch is kept in {part}") from None
    part.unlink()


@contextmanager
def _claimed(output: Path) -> Iterator[None]:
    """Lock the output against other programs, which would measure into the same temporary file."""
    path = output.with_name(f".{output.name}.lock")
    try:
        lock = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise unwritable(output, error) from None
    try:
        claim(lock, output)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(lock)
