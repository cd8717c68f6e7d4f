"""Starting programs on several ranks from a test."""

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from support.ranks import Ranks

LAUNCHERS = tempfile.mkdtemp(prefix="launchers-")
"""Where launchers keep their files. Those of Open MPI's are named after its process: where one was killed, they stay,
and a later one of the same number cannot start."""
atexit.register(shutil.rmtree, LAUNCHERS, ignore_errors=True)

# Open MPI refuses root and more ranks than cores unless told otherwise; a test machine may have both. Ranks of one host
# need no network, which takes MPI_Init a second to set up.
ENVIRONMENT = os.environ | {
    "TMPDIR": LAUNCHERS,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl": "self,sm",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
NETWORK = {name: value for name, value in ENVIRONMENT.items() if name != "OMPI_MCA_btl"}
"""The environment for ranks on several hosts."""
BENCHMARK = [sys.executable, "-m", "commmodel.bench"]
OF_A_PROCESS = {"memory", "start-up", "--thread-level"}
"""What the benchmark finds out about a process from its start on."""
NOT_STARTED = "The PMIx server's listener thread failed to start"
"""What Open MPI's launcher says where one with its process number was killed."""
_ranks: dict[int, Ranks] = {}


def find(name):
    """Return a program of the MPI library in the interpreter's own environment, or else of PATH."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.is_file() else shutil.which(name)


def launch(ranks, *command):
    """Run a program on several ranks: the benchmark and Python files on ranks that stay, where it is the same.

    Rarely Open MPI's launcher loses what a rank printed before it exited with an error. Wrong input, exit code 2, is
    said in a line that begins with the program's name: where there is none, or where the launcher itself did not start,
    the program is run again, twice at most.
    """
    command = list(map(str, command))
    stays = command[:3] == BENCHMARK or (command[0] == sys.executable and command[1].endswith(".py"))
    if stays and not OF_A_PROCESS & {word.partition("=")[0] for word in command}:
        if ranks not in _ranks or not _ranks[ranks].alive:
            _ranks[ranks] = Ranks(find("mpiexec"), ranks, ENVIRONMENT)
        return _ranks[ranks].run(command[1:])
    command = [find("mpiexec"), "-n", str(ranks), *command]
    for _ in range(3):
        completed = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=900)
        is_lost = completed.returncode == 2 and not re.search(r"^[\w.-]+: ", completed.stderr, re.MULTILINE)
        if not is_lost and NOT_STARTED not in completed.stderr:
            break
    return completed


def error_lines(completed, name):
    """Return the lines of the program itself: Open MPI's launcher adds its own about any exit code, ended by a NUL."""
    lines = [line.lstrip("\0") for line in completed.stderr.splitlines()]
    return [line for line in lines if line.startswith(f"{name}: ")]
