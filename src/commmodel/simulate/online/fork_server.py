"""Ranks of a Python program as forks of one interpreter, which has loaded numpy and mpi4py: they share its memory.

Run as a script, with the descriptor of a socket, ``program`` or ``nursery``, and the program's words: ``-m MODULE``,
``-c CODE`` or ``SCRIPT`` with its arguments. Ranks of a ``program`` run it from its beginning. A ``nursery`` runs the
program itself, without MPI, until that calls `Server.serve` of module ``commmodel_fork_server``: ranks are its copies.

A message on the socket begins a run, with the descriptors of a socket for the run and of the memory that its ranks
share, maybe more. On the run's socket come ranks to start, and go back ranks and their exit statuses; the run ends when
it is closed. Runs may go on side by side. Imports nothing of commmodel, as the interpreter need not have it. Main
entries: `Server`, `ForkedRank`.
"""

import atexit
import ctypes
import functools
import gc
import importlib
import importlib.abc
import importlib.machinery
import os
import runpy
import select
import signal
import socket
import sys
import sysconfig
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import CodeType, ModuleType
from typing import Any

_MPI = "mpi4py.MPI"
_PR_SET_PDEATHSIG = 1
_MOST_DESCRIPTORS = 8


def _loaded(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception:  # of any kind, as it is a module's own: who imports it for a purpose sees it again
        return None


class _Beginning(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Begins MPI where a program first imports mpi4py.MPI, which has been loaded before the fork.

    What imports it before the fork puts that off until it is a rank.
    """

    def __init__(self, module: Any) -> None:
        self._module = module
        self.is_postponed: bool = True

    def find_spec(
        self,
        name: str,
        path: Any = None,  # noqa: ARG002
        target: Any = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        """Find mpi4py.MPI."""
        return importlib.machinery.ModuleSpec(name, self) if name == _MPI else None

    def create_module(self, spec: Any) -> Any:  # noqa: ARG002
        """Return the loaded module."""
        sys.meta_path.remove(self)
        return self._module

    def exec_module(self, module: Any) -> None:
        """Begin MPI, or put it off."""
        if not self.is_postponed:
            self.begin(module)

    @staticmethod
    def begin(module: Any) -> None:
        """Initialise MPI as mpi4py's settings say."""
        if _is_set("initialize") and not module.Is_initialized():
            levels = {"multiple": 3, "serialized": 2, "funneled": 1, "single": 0}
            module.Init_thread(levels.get(_setting("thread_level"), 3) if _is_set("threads") else 0)
            if _is_set("finalize"):
                atexit.register(_finalize, module)


def _setting(name: str) -> Any:
    """Return one of mpi4py's settings: the environment's, else that of mpi4py.rc, which a program may have removed."""
    value = getattr(sys.modules.get("mpi4py.rc"), name, None)
    return os.environ.get(f"MPI4PY_RC_{name.upper()}", value)


def _is_set(name: str) -> bool:
    """Return whether a setting of mpi4py is on, as all are that nobody has set."""
    value = _setting(name)
    return value is None or str(value).lower() not in ("0", "n", "no", "f", "false", "off")


def _finalize(module: Any) -> None:
    if not module.Is_finalized():
        module.Finalize()


_MODULES = {"commmodel.bench": ("commmodel.bench.command", "commmodel.bench.run")}
"""What a program imports that is known not to begin MPI by that, so that ranks share it."""


def _load(words: Sequence[str], *, is_nursery: bool) -> None:
    """Import what most programs need, what the environment names, and what is known of this program; no MPI begins."""
    _loaded("numpy")
    _loaded("numpy.ma")  # of which a median takes one name: 14 MB of each rank
    mpi4py = _loaded("mpi4py")
    if mpi4py is None:
        return
    mpi4py.rc.initialize = False
    module = _loaded(_MPI)
    mpi4py.rc.initialize = True
    if module is not None:
        del sys.modules[_MPI]
        del mpi4py.MPI
        beginning = _Beginning(module)
        sys.meta_path.insert(0, beginning)
    modules = _MODULES.get(words[1] if words[0] == "-m" else "", ())
    for name in (*modules, *os.environ.pop("COMMMODEL_PRELOAD", "").split()):
        _loaded(name)
    if module is not None:
        beginning.is_postponed = is_nursery


_RUNNING = (__file__, runpy.__file__, "<frozen runpy>")
"""Files whose lines run the program: left out of its tracebacks."""
_CLOCKS = ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns")
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


class _Clocks:
    """The clocks of module time, until the program itself reads one: that is noted, where it does so."""

    def __init__(self) -> None:
        self._functions = {name: getattr(time, name) for name in _CLOCKS}
        for name in _CLOCKS:
            setattr(time, name, self._watched(name))

    def _watched(self, name: str) -> Callable[[], float]:
        function: Callable[[], float] = self._functions[name]

        @functools.wraps(function)
        def reading() -> float:
            if self._functions:
                self._look(name, sys._getframe(1))
            return function()

        return reading

    def _look(self, name: str, frame: Any) -> None:
        code = frame.f_code
        if code.co_filename.startswith((*_LIBRARIES, "<frozen")):
            return
        place = f"time.{name}\n{code.co_filename}\n{frame.f_lineno}\n{code.co_qualname}\n1"
        if ctypes.CDLL(None).commmodel_note_clock(place.encode("utf-8", "replace")):
            for clock, function in self._functions.items():
                setattr(time, clock, function)
            self._functions = {}


_PAGE = os.sysconf("SC_PAGE_SIZE")
_PRESENT = 1 << 7
"""Of the last byte of an entry of the page table."""


class _LoadedBLAS:
    """Code of a BLAS that is loaded before the fork: only if it runs afterwards are its pages a rank's own."""

    def __init__(self) -> None:
        self._pages: list[tuple[int, int]] = []
        """Number of the first page, and how many, of each part."""
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            for line in file:
                addresses, rights, *_, name = line.split()
                if "x" in rights and ("blas" in name or "libmkl" in name):
                    first, end = (int(word, 16) // _PAGE for word in addresses.split("-"))
                    self._pages.append((first, end - first))

    def has_run(self) -> bool:
        """Return whether any of it has run in this process."""
        if not self._pages:
            return False
        with open("/proc/self/pagemap", "rb") as file:
            for first, count in self._pages:
                file.seek(8 * first)
                if max(file.read(8 * count)[7::8], default=0) & _PRESENT:
                    return True
        return False


class _Program:
    """A program's words, and its code where it is a file of Python: read before the fork, as all ranks run it."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._code: CodeType | None = None
        if words[0] not in ("-m", "-c") and os.path.isfile(words[0]):
            with suppress(SyntaxError, ValueError), open(words[0], "rb") as file:  # the ranks meet it again
                self._code = compile(file.read(), words[0], "exec", dont_inherit=True)

    def run(self) -> None:
        """Run it as the interpreter does."""
        if self._code is None:
            return _run(self._words)
        sys.argv = [*self._words]
        sys.path.insert(0, os.path.dirname(os.path.abspath(self._words[0])))
        module = ModuleType("__main__")
        vars(module).update(__file__=self._words[0], __cached__=None)
        sys.modules["__main__"] = module
        exec(self._code, module.__dict__)  # noqa: S102  (the program is the user's)
        return None


def _run(words: Sequence[str]) -> None:
    """Run the program as the interpreter does."""
    if words[0] == "-m":
        sys.argv = [*words[1:]]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        sys.path.insert(0, "")
        module = ModuleType("__main__")
        sys.modules["__main__"] = module
        exec(compile(words[1], "<string>", "exec"), module.__dict__)  # noqa: S102  (the program is the user's)
    else:
        sys.argv = list(words)
        sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
        runpy.run_path(words[0], run_name="__main__")


def end(code: int) -> None:
    """End this rank as an interpreter ends; does not return."""
    try:
        if code == 0:  # else MPI is not ended well, and the other ranks end with this one
            atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        if code == 0 and _is_in_mpi():
            ctypes.pythonapi.Py_Exit(0)
        if code == 0:
            ctypes.CDLL(None).commmodel_end_sessions()
    finally:
        os._exit(code & 0xFF)


def _run_as_rank(program: _Program, blas: _LoadedBLAS) -> None:
    """Run the program as a rank; does not return."""
    code = 0
    _Clocks()
    try:
        program.run()
        if blas.has_run():
            ctypes.CDLL(None).commmodel_note_blas()
        vars(threading)["_shutdown"]()  # waits for threads of the program
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
        if exit_.code is not None and not isinstance(exit_.code, int):
            print(exit_.code, file=sys.stderr)
    except BaseException as error:  # whatever the program raised: Python would print it and exit with 1
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename in _RUNNING:
            frames = frames.tb_next
        traceback.print_exception(type(error), error, frames)
        code = 1
    end(code)


def _is_in_mpi() -> bool:
    """Return whether MPI has not ended: libraries such as petsc4py end it when the interpreter does."""
    library, flag = ctypes.CDLL(None), ctypes.c_int()
    library.MPI_Initialized(ctypes.byref(flag))
    is_initialized = bool(flag.value)
    library.MPI_Finalized(ctypes.byref(flag))
    return is_initialized and not flag.value


def _copy_process() -> int:
    """Return the process of a copy of this one, a child of our parent; 0 in the copy, -1 where there is none."""
    ctypes.pythonapi.PyOS_BeforeFork()
    process = int(ctypes.PyDLL(None).commmodel_copy_process())
    if process:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    return process


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@dataclass
class ForkedRank:
    """A rank that has just begun: what `Server.serve` returns in its process."""

    number: int
    descriptors: list[int]
    """The run's further ones, behind those of its socket and its memory; its environment names them, too."""
    processors: list[int]
    """On which it runs; none: on any."""

    def begin(self, memory: int) -> None:
        """Take its place in the run."""
        os.environ["COMMMODEL_ONLINE"] = f"{memory}:{self.number}"
        os.environ["COMMMODEL_DESCRIPTORS"] = " ".join(map(str, self.descriptors))
        if self.processors:
            os.sched_setaffinity(0, self.processors)
        random_numbers = sys.modules.get("numpy.random")
        if random_numbers is not None:
            random_numbers.seed()  # each rank its own, as processes that were started apart


@dataclass
class _RankRun:
    """Ranks that share a memory."""

    are_copied: bool
    """Whether they are children of our parent, which has them copied."""

    connection: socket.socket
    memory: int
    descriptors: list[int]
    processors: list[int]
    processes: dict[int, int] = field(default_factory=dict)
    """Of ranks that have not ended: identifier -> rank."""

    def next_rank(self) -> int | None:
        """Return the rank to start; None where the run is over."""
        try:
            text = self.connection.recv(16)
        except ConnectionResetError:
            return None
        return int(text) if text else None

    def close(self) -> None:
        """End what is left; tell it by closing the socket."""
        for process in self.processes:
            os.kill(process, signal.SIGKILL)
        for process in self.processes:
            os.waitpid(process, 0)
        self.processes.clear()
        self.close_descriptors()

    def close_descriptors(self) -> None:
        """Close all, in this process alone."""
        self.connection.close()
        for descriptor in (self.memory, *self.descriptors):
            os.close(descriptor)


class Server:
    """Starts ranks of runs."""

    def __init__(self, descriptor: int) -> None:
        self._commands = socket.socket(fileno=descriptor)
        self._runs: dict[int, _RankRun] = {}
        """By the descriptor of their socket."""

    def serve(self) -> ForkedRank | None:
        """Start ranks until there are no more commands: then None. Returns in each rank's process, too."""
        gc.collect()
        gc.freeze()
        wake, waker = os.pipe()
        os.set_blocking(waker, False)
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        commands = self._commands.fileno()
        self._commands.send(b"ready")
        while True:
            ready: list[int] = select.select([commands, wake, *self._runs], [], [])[0]
            if commands in ready and not self._begin():
                break
            if wake in ready:
                os.read(wake, 4096)
            self._look_for_ends()
            for descriptor in ready:
                run = self._runs.get(descriptor)
                if run is None:
                    continue
                number = run.next_rank()
                if number is None:
                    self._runs.pop(descriptor).close()
                    continue
                process = _copy_process() if run.are_copied else os.fork()
                if process and run.are_copied:
                    run.connection.send(b"%d" % process)
                    continue
                if not process:
                    os.close(wake)
                    os.close(waker)
                    return self._born(run, number)
                run.processes[process] = number
        for run in self._runs.values():
            run.close()
        return None

    def _begin(self) -> bool:
        """Begin a run; return whether there was a command."""
        try:
            text, descriptors, _, _ = socket.recv_fds(self._commands, 4096, _MOST_DESCRIPTORS)
        except ConnectionResetError:  # it was closed before our last word was read
            return False
        if not text:
            return False
        connection = socket.socket(fileno=descriptors[0])
        word, *processors = text.split()
        self._runs[descriptors[0]] = _RankRun(
            word == b"copies", connection, descriptors[1], descriptors[2:], [*map(int, processors)]
        )
        return True

    def _look_for_ends(self) -> None:
        for run in self._runs.values():
            for process in [*run.processes]:
                ended, status = os.waitpid(process, os.WNOHANG)
                if ended:
                    text = b"%d %d" % (run.processes.pop(process), os.waitstatus_to_exitcode(status))
                    with suppress(BrokenPipeError):  # nobody waits for it any more
                        run.connection.send(text)

    def _born(self, run: _RankRun, number: int) -> ForkedRank:
        """Make the copy of this process a rank."""
        _end_with_parent()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        self._commands.close()
        for other in self._runs.values():
            other.connection.close()
            if other is not run:
                other.close_descriptors()
        rank = ForkedRank(number, run.descriptors, run.processors)
        rank.begin(run.memory)
        return rank


def main(descriptor: int, kind: str, words: Sequence[str]) -> None:
    """Serve with ranks that run a program, or run it as a nursery."""
    sys.path.pop(0)  # this script's folder
    server = Server(descriptor)
    _end_with_parent()
    _load(words, is_nursery=kind == "nursery")
    module = ModuleType("commmodel_fork_server")
    vars(module).update(server=server, begin=_Beginning.begin, end=end)
    sys.modules[module.__name__] = module
    if kind == "nursery":
        return _run(words)
    program, blas = _Program(words), _LoadedBLAS()
    if server.serve() is not None:
        if _MPI in sys.modules:
            _Beginning.begin(sys.modules[_MPI])
        _run_as_rank(program, blas)
    return None


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
