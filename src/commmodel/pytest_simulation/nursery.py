"""In the interpreter of which ranks are copies: collects as pytest does, tells what it found, and becomes ranks.

A plugin of the pytest that `commmodel.simulate.online.fork_server` runs. It imports no more of commmodel than it needs,
as each rank has a copy of it. Where the code that is imported asks MPI for what only a rank knows, it ends with the
code `RANK_DEPENDENT`: each rank must import and collect for itself. Main entry: `pytest_configure`.
"""

import ctypes
import os
import sys
from typing import Any

import pytest

from commmodel.pytest_simulation import parallel_mark
from commmodel.pytest_simulation.collection import Collection
from commmodel.pytest_simulation.late_rank import LateRankPlugin
from commmodel.pytest_simulation.messages import RANK_DEPENDENT, specification, write_lines
from commmodel.pytest_simulation.rank import be_rank
from commmodel.pytest_simulation.shared_modules import imports, modules_to_share


class _EarlyCalls:
    """Ends the nursery at the first call of MPI that only a rank can answer; tells what had been imported before."""

    def __init__(self, file: str, private: set[str]) -> None:
        self._file = file
        self._private = private
        self._callback: Any = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(self._tell)

    def watch(self) -> None:
        """Begin."""
        ctypes.CDLL(None).commmodel_watch_early_calls(self._callback)

    def end(self) -> None:
        """Stop."""
        ctypes.CDLL(None).commmodel_watch_early_calls(None)

    def _tell(self, call: bytes) -> None:
        names, place = imports(sys._getframe(1))
        modules = modules_to_share(names, self._private)
        write_lines(
            self._file, [{"call": call.decode(), "place": place, "modules": modules, "importing": sorted(names)}]
        )  # fmt: skip
        os._exit(RANK_DEPENDENT)


class NurseryPlugin:
    """Tells what was collected, and serves."""

    def __init__(self, collection: Collection, private: set[str]) -> None:
        self._collection = collection
        facts = specification()
        self._file: str = facts["collected"]
        self._calls = _EarlyCalls(facts["early"], private)
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
    plugins = {getattr(plugin, "__name__", "").partition(".")[0] for plugin, _ in manager.list_plugin_distinfo()}
    private = {"__main__", "mpi4py", *plugins}
    is_rank = "COMMMODEL_ONLINE" in os.environ
    plugin = LateRankPlugin(collection, private) if is_rank else NurseryPlugin(collection, private)
    manager.register(plugin, "commmodel-late-rank" if is_rank else "commmodel-nursery")
