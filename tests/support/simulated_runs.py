"""Programs that run while they are simulated."""

import shutil
import subprocess
import sys
from functools import cache

import pytest


def simulate(*words, processes=3):
    command = [sys.executable, "-m", "commmodel", "simulate", "graphene", "run", "-p", str(processes)]
    return subprocess.run([*command, *words], capture_output=True, text=True, check=False, timeout=900)


def simulate_script(folder, text, *options, processes=3):
    """Simulate a program of Python."""
    script = folder / "script.py"
    script.write_text(text)
    return simulate(*options, "--", sys.executable, str(script), processes=processes)


def compiled_program(folder, source):
    """Return a program of C, linked with the MPI library of this environment."""
    mpicc = shutil.which("mpicc", path=f"{sys.prefix}/bin")
    if not mpicc:
        pytest.skip("no mpicc beside this Python")
    (folder / "program.c").write_text(source)
    subprocess.run([mpicc, "-g", folder / "program.c", "-o", folder / "program"], check=True)
    return folder / "program"


def is_of_mpich(program):
    return b"libmpi.so.12" in program.read_bytes()


@cache
def simulable(folder):
    """Return whether this environment's MPI library is MPICH."""
    return is_of_mpich(compiled_program(folder, "#include <mpi.h>\nint main(void) { return MPI_Finalize(); }"))


def simulable_program(folder, source):
    """Return a program of C where this environment's MPI library is MPICH; another may lack functions of it."""
    if not simulable(folder.parent):
        pytest.skip("mpicc is not MPICH's")
    return compiled_program(folder, source)
