"""The process of each rank of a simulated program: started when its turn comes first, watched, ended.

A program of Python runs as forks of one interpreter, any other as a process of its own. All load our MPI library in
place of their own. Main entry: `Processes`.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from commmodel.errors import InputError, MPIEnvironmentError, RankEndedError
from commmodel.simulate.online.forks import ForkedRun, ForkServer, Outputs, exit_code, open_process
from commmodel.simulate.online.memory import MemoryWatch
from commmodel.simulate.online.patience import Patience

_LIBRARY = Path(__file__).parents[2] / "_core/online/libmpi.mpich.so"
_PYTHON = re.compile(r"python[\d.]*")
_WITHOUT_VALUE = re.compile(r"-[bBdEIOPqsSuvx]+")
_OTHER_LIBRARIES = {b"\0libmpi.so.40\0": "Open MPI", b"\0libmpi_abi.so.": "a library of the standard MPI ABI"}
"""What a program has in its table of names -> the library that it needs."""
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def library() -> Path:
    """Return the path of our MPI library.

    Raises
    ------
    MPIEnvironmentError
        Where it is not built.
    """
    if not _LIBRARY.is_file():
        raise MPIEnvironmentError("programs run simulated on Linux only, where our MPI library is built")
    return _LIBRARY


def executable(name: str) -> str:
    """Return the path of a program as a shell finds it.

    Raises
    ------
    InputError
        Where there is none.
    MPIEnvironmentError
        Where it is linked with an MPI library of another ABI.
    """
    path = shutil.which(name)
    if path is None:
        exists = os.path.exists(name) and os.sep in name
        raise InputError(f"{name}: {'cannot be executed' if exists else 'no such program'}")
    content = Path(path).read_bytes()
    for library_name, abi in _OTHER_LIBRARIES.items():
        if library_name in content:
            raise MPIEnvironmentError(f"{name} is linked with {abi}: link it with MPICH, whose ABI is simulated")
    return os.path.abspath(path)


def _python_words(command: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Return the interpreter with its options, and the program's words; None where it is no program of Python."""
    if not _PYTHON.fullmatch(os.path.basename(command[0])):
        return None
    place = 1
    while place < len(command) and command[place].startswith("-") and command[place] not in ("-m", "-c"):
        if command[place] in ("-X", "-W"):
            place += 1
        elif not _WITHOUT_VALUE.fullmatch(command[place]) and not command[place].startswith(("-X", "-W")):
            return None
        place += 1
    words = [*command[place:]]
    is_option = words[:1] in (["-m"], ["-c"])
    if len(words) < 1 + is_option:
        return None
    if not is_option and not os.path.exists(words[0]):
        raise InputError(f"{words[0]}: no such program")
    return [*command[:place]], words


def environment(simulated: str = "") -> dict[str, str]:
    """Return the environment of ranks: our library takes the place of theirs, and BLAS one thread."""
    preloaded = os.environ.get("LD_PRELOAD", "")
    chosen = str(library())
    ones = dict.fromkeys(_ONE_THREAD, "1") | dict(os.environ)
    return ones | {
        "LD_PRELOAD": f"{chosen}:{preloaded}" if preloaded else chosen,
        "MPI4PY_MPIABI": "mpich",
        "MPI4PY_LIBMPI": chosen,
        "COMMMODEL_SIMULATED": simulated,
    }


class Forks(NamedTuple):
    """An interpreter that has been started before, of which ranks are to be forks, and what these have open."""

    server: ForkServer
    descriptors: tuple[int, ...] = ()


class RepeatedForks:
    """What serves the ranks of many runs of the same program: started by the first run, which says how.

    A program that is none of Python is loaded once and runs until it initialises MPI; one that ends before, or has
    threads there, is started anew for each rank.
    """

    def __init__(self) -> None:
        self._forks: Forks | None = None
        self._is_refused = False

    def of(self, command: Sequence[str], environment_of_ranks: Mapping[str, str], outputs: Outputs) -> Forks | None:
        """Return what serves the ranks of a program; None where each is to be started anew."""
        if self._forks is None and not self._is_refused:
            python = _python_words(command)
            if python is not None:
                self._forks = Forks(ForkServer(*python, environment_of_ranks, outputs=outputs))
            else:
                self._forks = _native(command, environment_of_ranks, outputs)
            self._is_refused = self._forks is None
        return self._forks

    def close(self) -> None:
        """End it and all its ranks."""
        if self._forks is not None:
            self._forks.server.close()
        self._forks = None


def _native(command: Sequence[str], environment_of_ranks: Mapping[str, str], outputs: Outputs) -> Forks | None:
    server = ForkServer(command[:1], command[1:], environment_of_ranks, kind="native", outputs=outputs)
    try:
        server.wait()
    except RankEndedError:
        server.close()
        return None
    return Forks(server)


class Processes:
    """The processes of all `ranks`; `memory` is the descriptor of what they share.

    A rank that returns a code after MPI_Finalize ends no other: the run ends with its code once all have ended.
    Standard output and errors go to `outputs`; ranks are told in words what is `simulated`. `watch` looks
    at the memory before each rank begins and then, `patience` at the rank that has the turn. Ranks
    are forks of what `forks` begins, where it is given, and have its descriptors; many runs may have the same.
    """

    def __init__(
        self,
        command: Sequence[str],
        ranks: int,
        memory: int,
        outputs: Outputs = (None, None),
        simulated: str = "",
        forks: Forks | RepeatedForks | None = None,
    ) -> None:
        self.watch: MemoryWatch | None = None
        self.patience: Patience | None = None
        self.state: Callable[[int], tuple[str, int, str, str]] | None = None
        """Of a rank, as `look` gets it."""
        self.explained: Callable[[int, str], str] = lambda _, words: words
        """What ranks said as they ended -> more of it."""
        self.has_one_thread: bool = all(os.environ.get(name, "1") == "1" for name in _ONE_THREAD)
        """Of BLAS and OpenMP, as the environment does not say otherwise."""
        is_served = isinstance(forks, Forks)
        self._command = [*command] if is_served else [executable(command[0]), *command[1:]]
        self._ranks, self._memory, self._outputs = ranks, memory, outputs
        self._environment = environment(simulated)
        if isinstance(forks, RepeatedForks):
            forks = forks.of(self._command, self._environment, outputs)
            is_served = True
        self._codes: dict[int, int] = {}
        self._over: set[int] = set()  # had not finalized MPI when their end was seen, which is later than their state
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._own_server: ForkServer | None = None
        self._run: ForkedRun | None = None
        self._started = 0
        python = None if is_served else _python_words(self._command)
        if python is not None:
            self._own_server = ForkServer(*python, self._environment, outputs=outputs)
            forks = Forks(self._own_server)
        if forks is not None:
            self._server = forks.server
            self._run = forks.server.begin(memory, forks.descriptors, os.sched_getaffinity(0))

    def start(self, rank: int, spawned: Sequence[str] | None = None) -> None:
        """Start the process of a rank; of one that another rank spawns, folder, program and arguments are given."""
        sys.stdout.flush()
        self._started += 1
        if self.watch is not None:
            self.watch.begin(rank)
        if spawned is not None:
            folder, *command = spawned
            place = self._environment | {"COMMMODEL_ONLINE": f"{self._memory}:{rank}"}
            self._processes[rank] = open_process(command, [self._memory], place, self._outputs, folder=folder or None)
            return
        if self._run is not None:
            self._run.start(rank)  # the end of its server is seen by `look`
            return
        place = self._environment | {"COMMMODEL_ONLINE": f"{self._memory}:{rank}"}
        self._processes[rank] = open_process(self._command, [self._memory], place, self._outputs)

    def _poll(self) -> None:
        """Take note of ranks that have ended."""
        for rank in [rank for rank, process in self._processes.items() if process.poll() is not None]:
            self._codes[rank] = self._processes.pop(rank).returncode
        if self._run is None:
            return
        ended = self._run.ended()
        if ended is None:
            raise self._server.over()
        self._codes.update(ended)

    def look(self, rank: int, state: tuple[str, int, str, str]) -> bool:
        """Return whether a rank waits outside MPI; raise `RankEndedError` where any has ended before its time.

        `rank` has the turn; its state is what it is, and its exit code, its words and their kind where it has called
        MPI_Abort.
        """
        name, code, words, kind = state
        if name == "aborted":
            raise RankEndedError(self.explained(rank, words), code & 0xFF or 1, kind or "abort")
        self._poll()
        if self.watch is not None:
            self.watch.check(self._started)
        for other, ended in self._codes.items():
            if ended and not self._may_return(other, ended):
                raise self._ended(other, ended)
        if rank in self._over:
            raise RankEndedError(
                f"rank {rank} ended without MPI_Finalize: does {os.path.basename(self._command[0])} call MPI?",
                1,
                "no MPI_Finalize",
            )
        self._over.update({rank} & self._codes.keys())
        return self.patience is not None and self.patience.look(rank)

    def end(self, rank: int) -> None:
        """Wait for the end of a rank that has finalized MPI."""
        if rank in self._processes:
            self._codes[rank] = self._processes.pop(rank).wait()
        while rank not in self._codes:
            if self._run is not None:
                self._run.wait(0.1)
            self._poll()
        code = self._codes[rank]
        if code and not self._may_return(rank, code):
            raise self._ended(rank, code)
        if len(self._codes) == max(self._ranks, self._started):
            for other, code in sorted(self._codes.items()):
                if code:
                    raise self._ended(other, code)

    def _ended(self, rank: int, code: int) -> RankEndedError:
        words = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        kind = "crash" if code < 0 else "exit code"
        return RankEndedError(self.explained(rank, f"rank {rank} {words}"), exit_code(code), kind)

    def _may_return(self, rank: int, code: int) -> bool:
        """Whether a rank that has ended may leave the others alone."""
        return code > 0 and self.state is not None and self.state(rank)[0] == "finalized"

    def close(self) -> None:
        """End all that is left."""
        if self._run is not None:
            self._run.close()
        if self._own_server is not None:
            self._own_server.close()
        for process in self._processes.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in self._processes.values():
            process.wait()
        self._processes.clear()
        self._run = self._own_server = None
