"""In the interpreter of which ranks are copies: collects as pytest does, tells what it found, and becomes ranks.

A plugin of the pytest that `commmodel.simulate.online.fork_server` runs. It imports no more of commmodel than it needs,
as each rank has a copy of it. Where the code that is imported asks MPI for what only a rank knows, it ends with the
code `RANK_DEPENDENT`: each rank must import and collect for itself. Main entry: `pytest_configure`.
"""

import ctypes
import os
import sys
from types import FrameType
from typing import Any

import pytest

from commmodel.pytest_simulation import parallel_mark
from commmodel.pytest_simulation.collection import Collection
from commmodel.pytest_simulation.messages import RANK_DEPENDENT, specification, write_lines
from commmodel.pytest_simulation.rank import LateRankPlugin, be_rank


def _imports(frame: FrameType | None) -> tuple[set[str], str]:
    """Return the modules that are being imported, and the innermost line of them."""
    names: set[str] = set()
    place = ""
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            names.add(str(frame.f_globals.get("__name__", "")))
            place = place or f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return names, place


def _parents(name: str) -> set[str]:
    """Return a module and its packages, which are imported before it."""
    words = name.split(".")
    return {".".join(words[:count]) for count in range(1, len(words) + 1)}


def _can_be_imported_early(name: str, module: Any) -> bool:
    """Whether a module may be imported before pytest begins, which rewrites the assertions of tests."""
    last = name.rpartition(".")[2]
    is_test = last.startswith("test_") or last.endswith("_test") or last == "conftest" or "tests" in name.split(".")
    return getattr(module, "__file__", None) is not None and not is_test


class _EarlyCalls:
    """Ends the nursery at the first call of MPI that only a rank can answer; tells what had been imported before."""

    def __init__(self, file: str, plugins: set[str]) -> None:
        self._file = file
        self._not_early = {"__main__", "mpi4py", *plugins}
        self._callback: Any = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(self._tell)

    def watch(self) -> None:
        """Begin."""
        ctypes.CDLL(None).commmodel_watch_early_calls(self._callback)

    def end(self) -> None:
        """Stop."""
        ctypes.CDLL(None).commmodel_watch_early_calls(None)

    def _tell(self, call: bytes) -> None:
        names, place = _imports(sys._getframe(1))
        modules = [
            name for name, module in list(sys.modules.items())
            if not names & _parents(name)
            and name.partition(".")[0] not in self._not_early
            and _can_be_imported_early(name, module)
        ]  # fmt: skip
        write_lines(self._file, [{"call": call.decode(), "place": place, "modules": modules}])
        os._exit(RANK_DEPENDENT)


class NurseryPlugin:
    """Tells what was collected, and serves."""

    def __init__(self, collection: Collection, plugins: set[str]) -> None:
        self._collection = collection
        facts = specification()
        self._file: str = facts["collected"]
        self._calls = _EarlyCalls(facts["early"], plugins)
        self._calls.watch()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Start ranks until the controller goes."""
        server = sys.modules["commmodel_fork_server"]
        self._collection.write(session, self._file)
        factory = getattr(session.config, "_tmp_path_factory", None)
        if factory is not None:
            factory.getbasetemp()  # one for all ranks
        if server.server.serve() is None:
            os._exit(0)
        self._calls.end()
        mpi = sys.modules.get("mpi4py.MPI")
        if mpi is not None:
            server.begin(mpi)
        be_rank(session, server.end)
        return True


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register what collects, and what follows."""
    manager = config.pluginmanager
    collection = Collection(config, specification()["default"])
    manager.register(parallel_mark, "commmodel-parallel-mark")
    manager.register(collection, "commmodel-collection")
    if "COMMMODEL_ONLINE" in os.environ:
        manager.register(LateRankPlugin(collection), "commmodel-late-rank")
        return
    plugins = {getattr(plugin, "__name__", "").partition(".")[0] for plugin, _ in manager.list_plugin_distinfo()}
    manager.register(NurseryPlugin(collection, plugins), "commmodel-nursery")
