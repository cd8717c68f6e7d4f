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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from commmodel.errors import InputError, MPIEnvironmentError, RankEndedError
from commmodel.simulate.online.beginnings import Beginning
from commmodel.simulate.online.forks import ForkedRun, ForkServer, Outputs, open_process
from commmodel.simulate.online.rank_processes import ONE_THREAD, RankProcesses

_LIBRARY = Path(__file__).parents[2] / "_core/online/libmpi.mpich.so"
_PYTHON = re.compile(r"python[\d.]*")
_WITHOUT_VALUE = re.compile(r"-[bBdEIOPqsSuvx]+")
_OTHER_LIBRARIES = {b"\0libmpi.so.40\0": "Open MPI", b"\0libmpi_abi.so.": "a library of the standard MPI ABI"}
"""What a program has in its table of names -> the library that it needs."""


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


_RECORDER = "COMMMODEL_RECORD_PRELOAD"
"""Names the library that records calls, and calls ours, where ranks are recorded."""


def environment(simulated: str = "", sockets: Sequence[int] = ()) -> dict[str, str]:
    """Return the environment of ranks: our library takes the place of theirs, and BLAS one thread."""
    chosen = str(library())
    ones = dict.fromkeys(ONE_THREAD, "1") | dict(os.environ)
    return ones | {
        "LD_PRELOAD": ":".join(filter(None, (os.environ.get(_RECORDER), chosen, os.environ.get("LD_PRELOAD")))),
        "MPI4PY_MPIABI": "mpich",
        "MPI4PY_LIBMPI": chosen,
        "COMMMODEL_SIMULATED": simulated,
        "COMMMODEL_SIMULATED_SOCKETS": ",".join(map(str, sockets)),
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
        self.makes_beginning: bool = False
        """Whether the next run is to make the beginning."""
        self.beginning: Beginning | None = None
        """From which further runs go on; None: from the beginning of the program."""
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

    def server_of(
        self, command: Sequence[str], simulated: str, outputs: Outputs, sockets: Sequence[int] = ()
    ) -> ForkServer | None:
        """Return what serves the ranks of a program that are told what is simulated, and sockets; None as of `of`."""
        forks = self.of([executable(command[0]), *command[1:]], environment(simulated, sockets), outputs)
        return None if forks is None else forks.server

    def close(self) -> None:
        """End it and all its ranks."""
        if self.beginning is not None:
            self.beginning.close()
        self.beginning = None
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


class Processes(RankProcesses):
    """The processes of all `ranks`; `memory` is the descriptor of what they share.

    Standard output and errors go to `outputs`; ranks are told in words what is `simulated`, and their `sockets`, where
    hosts have some. Ranks are forks of what `forks` begins, where it is given, and have its descriptors; many runs may
    have the same.
    """

    def __init__(
        self,
        command: Sequence[str],
        ranks: int,
        memory: int,
        outputs: Outputs = (None, None),
        simulated: str = "",
        forks: Forks | RepeatedForks | None = None,
        sockets: Sequence[int] = (),
    ) -> None:
        super().__init__(command[0], ranks)
        is_served = isinstance(forks, Forks)
        self._command = [*command] if is_served else [executable(command[0]), *command[1:]]
        self._memory, self._outputs = memory, outputs
        self._environment = environment(simulated, sockets)
        if isinstance(forks, RepeatedForks):
            forks = forks.of(self._command, self._environment, outputs)
            is_served = True
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._own_server: ForkServer | None = None
        self._run: ForkedRun | None = None
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

    def _wait(self, rank: int) -> None:
        if rank in self._processes:
            self._codes[rank] = self._processes.pop(rank).wait()
        elif self._run is not None:
            self._run.wait(0.1)

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
