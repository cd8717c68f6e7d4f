"""Starting programs on several ranks from a test."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["ENVIRONMENT", "find", "launch", "said"]

# Open MPI refuses root and more ranks than cores unless told otherwise; a test machine may have both.
ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def find(name):
    """Return a program of the MPI library in the interpreter's own environment, or else of PATH."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.is_file() else shutil.which(name)


def launch(ranks, *command):
    """Run a program on several ranks.

    Rarely Open MPI's launcher loses what a rank printed before it exited with an error. Wrong input, exit code 2, is
    said in a line that begins with the program's name: where there is none, the program is run again, twice at most.
    """
    command = [find("mpiexec"), "-n", str(ranks), *map(str, command)]
    for _ in range(3):
        completed = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
        if completed.returncode != 2 or re.search(r"^[\w.-]+: ", completed.stderr, re.MULTILINE):
            break
    return completed


def said(completed, name):
    """Return the lines of the program itself: Open MPI's launcher adds its own about any exit code."""
    return [line for line in completed.stderr.splitlines() if line.startswith(f"{name}: ")]
