"""``python -m commmodel.bench``: parse, describe, measure, report. Main entry: `run`.

What is wrong is said once, by rank 0, and every rank ends with the same exit code. Only a fault of the program
itself or of MPI on one rank, Ctrl-C and SIGTERM abort the job.
"""

import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import msgspec

from commmodel.bench import process_memory, start_up
from commmodel.bench.launches import measure_repeatedly
from commmodel.bench.options import CommandLine, HelpRequest, parse
from commmodel.bench.rank_0 import say, tell
from commmodel.errors import CommModelError, InputError, MPIEnvironmentError, blamed
from commmodel.interruption import TO_BE_HEARD, ending, prompt_interruption, raise_on_signals
from commmodel.launchers import alone, is_launched, rank, signals_all
from commmodel.streams import guarded

if TYPE_CHECKING:
    from mpi4py import MPI

_Parsed = CommandLine | HelpRequest | CommModelError
_THREAD_LEVEL = "MPI4PY_RC_THREAD_LEVEL"  # mpi4py goes by it even where mpi4py.rc.thread_level says otherwise
_ADVICE = ": what was measured is kept: go on with --resume"
_PATIENCE = 2.0  # seconds that rank 0 has to end an interrupted job, before another rank does


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark on all ranks of COMM_WORLD; return the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    raise_on_signals()
    try:
        parsed: _Parsed = parse(words)
    except (CommModelError, HelpRequest) as other:
        parsed = other
    if isinstance(parsed, CommandLine) and (parsed.dry_run or parsed.launches is not None):
        if not is_launched():
            return _run_outside_mpi(parsed, words)
        parsed = InputError(
            "--dry-run starts no ranks: type it without mpiexec, with -p RANKS -k RANKS_OF_A_NODE"
            if parsed.dry_run
            else "--launches starts the launcher itself: python -m commmodel.bench --launches 5 --launcher "
            "'mpiexec -n 2', without mpiexec before it"
        )
    try:
        with guarded():
            return _run(parsed)
    except KeyboardInterrupt as interruption:  # before MPI was there, with which rank 0 speaks for all
        return ending(interruption)[1]


def _run(parsed: _Parsed) -> int:
    watched = _may_measure_memory(parsed)
    if watched:
        process_memory.before_mpi()
    if isinstance(parsed, CommandLine):
        os.environ[_THREAD_LEVEL] = parsed.thread_level
    try:
        if isinstance(parsed, CommandLine) and "start-up" in parsed.options.kernels:
            start_up.initialise(parsed.thread_level)
        from mpi4py import MPI  # which starts MPI, unless this process has done so before
    except (ImportError, RuntimeError) as error:
        return _without_mpi(parsed, error)
    if watched:
        process_memory.after_init()
    comm = MPI.COMM_WORLD
    try:
        if isinstance(parsed, HelpRequest):
            if comm.rank == 0:
                tell(str(parsed))
            return 0
        if isinstance(parsed, CommModelError):
            raise parsed
        private = comm.Dup()
        if watched:
            process_memory.after_use(private)
        with _interruption(comm.rank, watched=watched):
            _measure(private, parsed)
        return 0
    except CommModelError as error:  # every rank has it: see `on_rank_0`
        if rank() == 0 or comm.size > 1:  # else one of several that are alone
            say(comm, f"commmodel.bench: {error}")
        comm.Barrier()  # a rank that ends first with an exit code would have the others killed unheard
        return error.exit_code
    except KeyboardInterrupt as interruption:
        word, code = ending(interruption)
        say(comm, f"commmodel.bench: {word}{_ADVICE}")
        time.sleep(_PATIENCE if comm.rank else TO_BE_HEARD)
        if signals_all():
            os._exit(code)
    except BaseException as error:  # whatever it was: the other ranks wait for messages that will not come
        line = blamed(error)
        code = 2 if line else 1
        if line:
            print(f"commmodel.bench: {line}", file=sys.stderr)
        else:
            traceback.print_exc()
        print(f"commmodel.bench: rank {comm.rank} failed: go on with --resume", file=sys.stderr, flush=True)
        time.sleep(TO_BE_HEARD)
    comm.Abort(code)
    os._exit(code)  # it may return: a launcher that is being ended itself does not hear of it


def _interruption(rank: int, *, watched: bool) -> AbstractContextManager[None]:
    """Context in which signals end a rank even while it waits for a message; rank 0 says so."""
    if not watched:
        return prompt_interruption("commmodel.bench", _ADVICE, quiet=rank > 0)
    for number in (signal.SIGINT, signal.SIGTERM):  # a thread would be in the memory that is measured
        signal.signal(number, signal.SIG_DFL)
    return nullcontext()


def _run_outside_mpi(line: CommandLine, words: Sequence[str]) -> int:
    """Start several launches, or say what one would do; return the exit code."""
    from commmodel.bench.dry_run import forecast

    try:
        if not line.dry_run:
            return measure_repeatedly(line, words)
        launch = forecast(line)
        tell(msgspec.json.encode(launch).decode() if line.json else str(launch))
        return 0
    except CommModelError as error:
        print(f"commmodel.bench: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt as interruption:
        word, code = ending(interruption)
        print(f"commmodel.bench: {word}: the same command with --resume goes on with {line.output.name}",
              file=sys.stderr)  # fmt: skip
        return code


def _without_mpi(parsed: _Parsed, error: Exception) -> int:
    """Print the help text or the error where no MPI library can be loaded; return the exit code."""
    if isinstance(parsed, HelpRequest):
        tell(str(parsed))
        return 0
    if isinstance(parsed, CommandLine):
        parsed = MPIEnvironmentError(
            f"no MPI library: {'; '.join(str(error).splitlines())}: load its module, install one (pip install mpich), "
            "or name its file in MPI4PY_LIBMPI; where its name is not libmpi.so.12, as of Debian's MPICH, build mpi4py "
            "with its mpicc (pip install --no-binary mpi4py mpi4py)"
        )
    print(f"commmodel.bench: {parsed}", file=sys.stderr)
    return parsed.exit_code


def _may_measure_memory(parsed: _Parsed) -> bool:
    """Whether the memory before MPI_Init may be needed: a resumed file has its options in its first line."""
    if not isinstance(parsed, CommandLine) or "memory" in parsed.options.kernels:
        return isinstance(parsed, CommandLine)
    if not parsed.resume:
        return False
    try:
        with open(parsed.output, "rb") as file:
            return b'"memory"' in file.readline()
    except OSError:
        return False


def _measure(comm: "MPI.Intracomm", line: CommandLine) -> None:
    if comm.size < 2:
        raise MPIEnvironmentError(
            alone(comm.size)
            or "one rank has nobody to talk to: start it with mpiexec -n 2 python -m commmodel.bench, or srun -n 2"
        )
    try:
        from commmodel._core.mpi import pingpong  # noqa: F401  (fails where the core was built for another MPI library)
    except ImportError as error:
        raise MPIEnvironmentError(str(error)) from None
    from commmodel.bench.run import Run

    with Run(comm, line) as launch:
        launch.measure()
