"""The right build of the core is loaded for the running MPI library, and a wrong one is refused in clear words."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.launching import ENVIRONMENT, error_lines, launch

from commmodel import _core

pytestmark = pytest.mark.mpi
FOLDER = Path(_core.__file__).parent / "mpi"
OTHER = {"mpich": "openmpi", "openmpi": "mpich"}


def python(code, **environment):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=ENVIRONMENT | environment, capture_output=True, text=True, timeout=900)


def running_abi():
    return python("from commmodel._core import mpi as _core; print(_core.mpi_abi())").stdout.strip()


def test_the_build_of_the_running_mpi_is_loaded():
    completed = python("from commmodel._core.mpi import pingpong; print(pingpong.MPI_ABI, pingpong.__file__)")
    abi, file = completed.stdout.split()
    assert abi == running_abi()
    assert f"pingpong.{abi}." in file


def test_a_missing_build_is_named_with_what_there_is_and_the_mend():
    code = "from commmodel._core import mpi as _core; _core.mpi_abi = lambda: 'lam'; _core.pingpong"
    message = python(code).stderr.splitlines()[-1]
    assert message.startswith("ImportError: commmodel._core.mpi.pingpong was not built for the MPI ABI 'lam'")
    assert f"pingpong.{running_abi()}." in message
    assert "MPICC" in message


def test_a_second_mpi_library_is_refused():
    """Needs both libraries, as `make test` installs them; the build for MPICH takes the functions of what is loaded."""
    other = OTHER.get(running_abi(), "")
    if other == "mpich":
        pytest.skip("the build for MPICH is linked with no library")
    library = Path(sys.prefix).parent / {"mpich": ".venv", "openmpi": ".venv-openmpi"}.get(other, "") / "lib"
    builds = list(FOLDER.glob(f"pingpong.{other}.*so"))
    if not builds or not list(library.glob("libmpi.so*")):
        pytest.skip("the other MPI library is not installed beside this one")
    code = (
        "from commmodel._core import mpi as _core; from pathlib import Path; real = _core.mpi_abi()\n"
        f"_core.mpi_abi = lambda: {other!r}; _core.pingpong"
    )
    completed = python(code, LD_LIBRARY_PATH=str(library))
    message = completed.stderr.splitlines()[-1]
    assert message.startswith("ImportError: mpi4py and commmodel have loaded two different MPI libraries"), message


def test_the_benchmark_says_in_one_line_that_its_core_does_not_fit():
    code = (
        "from commmodel._core import mpi as _core; _core.mpi_abi = lambda: 'lam'\n"
        "from commmodel.bench.command import run; raise SystemExit(run(['--quick']))"
    )
    completed = launch(2, sys.executable, "-c", code)
    assert completed.returncode == 3
    assert "was not built for the MPI ABI 'lam'" in "\n".join(error_lines(completed, "commmodel.bench"))
    assert "Traceback" not in completed.stderr
