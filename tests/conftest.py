"""What all tests share, and which of them need MPI.

A test that starts MPI has the mark ``mpi`` and is run with each library. All others give the same answer with any: they
run once, side by side, with ``--without-mpi``. No MPI can start there: a test that needs it but lacks the mark fails.
"""

import gc
import os
import re
import shutil
import signal
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support.launching import find

# No limits of time: what a test takes on a loaded machine says nothing about the code.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", PATIENT, max_examples=20, derandomize=True)  # the same in each run
settings.register_profile("thorough", PATIENT, max_examples=500)
settings.load_profile("quick")

collect_ignore = ["typed"]  # scripts for type checkers
NO_LIBRARY = "no MPI, as the test lacks pytest.mark.mpi"
LAUNCHERS = {"mpiexec", "mpirun", "mpicc"}


def pytest_addoption(parser):
    parser.addoption("--without-mpi", action="store_true", help="run what is not marked mpi, where no MPI can start")


@pytest.hookimpl(tryfirst=True)  # before pytest chooses a folder for temporary files
def pytest_configure(config):
    if config.option.basetemp is None:  # runs side by side would clear the common folder together
        config.option.basetemp = tempfile.mkdtemp(prefix="commmodel-tests-")
        config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))
    os.environ.pop("COLUMNS", None)  # of a terminal that nobody sees: tables are as wide as in a file
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job, and in all programs that it starts
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("--without-mpi"):
        if "mpi4py.MPI" in sys.modules:
            raise pytest.UsageError(
                "--without-mpi: MPI has begun; add -p no:mpi-pytest, which is a plugin that begins it"
            )
        os.environ["MPI4PY_LIBMPI"] = NO_LIBRARY  # for programs that tests start, too
        sys.addaudithook(refuse_launchers)


def refuse_launchers(event, arguments):
    """Let this process start no program of an MPI library."""
    if event == "subprocess.Popen":
        _, command, *_ = arguments
        words = [command] if isinstance(command, str | bytes | os.PathLike) else command
        if {Path(os.fsdecode(word)).name for word in words} & LAUNCHERS:
            raise RuntimeError(NO_LIBRARY)


def pytest_ignore_collect(collection_path, config):
    """Read no file in vain where tests that start MPI are wanted alone."""
    if config.option.markexpr.startswith("mpi") and collection_path.suffix == ".py":
        mark = r"mark\.simulated" if config.option.markexpr.endswith("and simulated") else r"mark\.mpi|mpi4py"
        return not re.search(mark, collection_path.read_text("utf-8")) or None
    return None


@pytest.hookimpl(tryfirst=True)  # before -m looks at marks
def pytest_collection_modifyitems(config, items):
    for item in items:
        if isinstance(item, pytest.DoctestItem) and any("mpi4py" in example.source for example in item.dtest.examples):
            item.add_marker(pytest.mark.mpi)  # a docstring has no marks of its own
        if isinstance(item, pytest.DoctestItem) and "commmodel.placement" in item.name and not find_spec("pymetis"):
            item.add_marker(pytest.mark.skip(reason="the extra placement is not installed"))
    if "thorough" not in config.option.markexpr:
        late = [item for item in items if item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=late)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
    marked = [item for item in items if item.get_closest_marker("mpi")]
    if config.getoption("--without-mpi"):
        config.hook.pytest_deselected(items=marked)
        items[:] = [item for item in items if item not in set(marked)]
    elif find("mpiexec") is None:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no mpiexec beside this Python or on PATH"))


def pytest_collection_finish():
    gc.freeze()  # or each collection of garbage would go through thousands of tests
    gc.set_threshold(20_000)
