"""A rank that imports and collects for itself. Main entry: `LateRankPlugin`.

Of many ranks one goes first, alone: a scout, which tells what the others would import, too, and ends.
"""

import os
import sys
import time
from collections.abc import Collection as Names
from typing import Any

import pytest

from commmodel.pytest_simulation.messages import DESCRIPTORS, read_lines, specification, write_lines
from commmodel.pytest_simulation.rank import be_rank
from commmodel.pytest_simulation.shared_modules import modules_to_share


class LateRankPlugin:
    """Collects, then runs tests."""

    def __init__(self, collection: Any, private: Names[str]) -> None:
        self._collection = collection
        self._private = private
        """Packages that are not shared."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Tell what was collected, or imported, if nobody has; run tests."""
        from mpi4py import MPI

        facts = specification()
        if MPI.COMM_WORLD.rank == 0 and not os.path.exists(facts["collected"]):
            is_scout = MPI.COMM_WORLD.size < facts["default"]
            if is_scout:
                self._tell_imports(facts)
            else:
                self._collection.write(session, facts["collected"])
            os.write(int(os.environ[DESCRIPTORS].split()[1]), b"collected\n")
            if is_scout:
                os._exit(0)
        be_rank(session, sys.modules["commmodel_fork_server"].end)
        return True

    def _tell_imports(self, facts: dict[str, Any]) -> None:
        (early,) = read_lines(facts["early"])[0]
        modules = modules_to_share({*early["importing"]}, self._private)
        write_lines(facts["late"], [{"modules": modules, "seconds": time.process_time()}])
