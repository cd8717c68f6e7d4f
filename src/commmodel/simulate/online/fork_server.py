"""Ranks of a Python program as forks of one interpreter, which has loaded numpy and mpi4py: they share its memory.

Run as a script, with the descriptors of its commands and answers and the program's words: ``-m MODULE ...``,
``-c CODE ...`` or ``SCRIPT ...``. A command is a rank to start, an answer a rank and its exit status. Imports nothing
of commmodel, as the interpreter need not have it. Main entry: `serve`.
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
import sys
import sysconfig
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

_MPI = "mpi4py.MPI"
_PR_SET_PDEATHSIG = 1


def _loaded(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class _Beginning(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Begins MPI where a program first imports mpi4py.MPI, which has been loaded before the fork."""

    def __init__(self, module: Any) -> None:
        self._module = module

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


def _load(words: Sequence[str]) -> None:
    """Import what most programs need, and the modules of this one that are known, without beginning MPI."""
    _loaded("numpy")
    mpi4py = _loaded("mpi4py")
    if mpi4py is None:
        return
    mpi4py.rc.initialize = False
    module = _loaded(_MPI)
    mpi4py.rc.initialize = True
    if module is not None:
        del sys.modules[_MPI]
        del mpi4py.MPI
        sys.meta_path.insert(0, _Beginning(module))
    for name in _MODULES.get(words[1] if words[0] == "-m" else "", ()):
        _loaded(name)


_RUNNING = (__file__, runpy.__file__, "<frozen runpy>")
"""Files whose lines run the program: left out of its tracebacks."""
_CLOCKS = ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns")


class _Clocks:
    """The clocks of module time, until the program itself reads one: that is noted, where it does so."""

    def __init__(self) -> None:
        self._functions = {name: getattr(time, name) for name in _CLOCKS}
        paths = sysconfig.get_paths()
        self._libraries = tuple({paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")})
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
        if code.co_filename.startswith((*self._libraries, "<frozen")):
            return
        place = f"time.{name}\n{code.co_filename}\n{frame.f_lineno}\n{code.co_qualname}\n1"
        if ctypes.CDLL(None).commmodel_note_clock(place.encode("utf-8", "replace")):
            for clock, function in self._functions.items():
                setattr(time, clock, function)
            self._functions = {}


def _has_called_blas() -> bool:
    """Return whether code of a BLAS that was loaded before the fork has run since: only then does its memory show."""
    is_code = False
    with open("/proc/self/smaps", encoding="utf-8", errors="replace") as file:
        for line in file:
            first, *words = line.split()
            if not first.endswith(":"):
                is_code = "x" in words[0] and ("blas" in words[-1] or "libmkl" in words[-1])
            elif is_code and first == "Rss:" and words[0] != "0":
                return True
    return False


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


def _rank(words: Sequence[str], place: str) -> None:
    """Be a rank; does not return."""
    os.environ["COMMMODEL_ONLINE"] = place
    code = 0
    _Clocks()
    try:
        _run(words)
        if _has_called_blas():
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


def _is_in_mpi() -> bool:
    """Return whether MPI has not ended: libraries such as petsc4py end it when the interpreter does."""
    library, flag = ctypes.CDLL(None), ctypes.c_int()
    library.MPI_Initialized(ctypes.byref(flag))
    is_initialized = bool(flag.value)
    library.MPI_Finalized(ctypes.byref(flag))
    return is_initialized and not flag.value


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def serve(commands: int, answers: int, memory: int, words: Sequence[str]) -> None:
    """Start a rank for each command until there are no more."""
    sys.path.pop(0)  # this script's folder
    _load(words)
    gc.collect()
    gc.freeze()
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    ranks: dict[int, int] = {}
    os.write(answers, b"ready 0\n")
    with os.fdopen(commands, "rb", buffering=0) as source:
        while True:
            ready, _, _ = select.select([commands, wake], [], [])
            if commands in ready:
                text = source.read(4)
                if not text:
                    break
                rank = int.from_bytes(text, "little")
                process = os.fork()
                if not process:
                    _end_with_parent()
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    signal.signal(signal.SIGINT, signal.SIG_DFL)
                    for descriptor in (commands, answers, wake, waker):
                        os.close(descriptor)
                    _rank(words, f"{memory}:{rank}")
                ranks[process] = rank
            if wake in ready:
                os.read(wake, 4096)
            while ranks:
                process, status = os.waitpid(-1, os.WNOHANG)
                if not process:
                    break
                os.write(answers, b"%d %d\n" % (ranks.pop(process), os.waitstatus_to_exitcode(status)))
    for process in ranks:
        os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
