"""Starting programs on several ranks from a test."""

import os
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
    command = [find("mpiexec"), "-n", str(ranks), *map(str, command)]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)


def said(completed, name):
    """Return the lines of the program itself: Open MPI's launcher adds its own about any exit code."""
    return [line for line in completed.stderr.splitlines() if line.startswith(f"{name}: ")]
