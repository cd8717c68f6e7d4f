"""Rooms of the MPI library of simulated programs, each tested without the others by a small C program."""

import shutil
import subprocess
from pathlib import Path

import pytest
from support.paths import ROOT

CORE = ROOT / "src/commmodel/_core"
PROGRAMS = Path(__file__).parent / "online"
LINKED = {
    "shared_heap": [],
    "full_memory": ["runtime/allocation"],
    "tags": ["runtime/allocation", "collectives/exchange"],
    "matching": ["runtime/allocation", "messages/messages"],
    "datatypes": [
        *("runtime/allocation", "objects/handles", "datatypes/datatypes", "datatypes/constructors"),
        *("datatypes/contents", "datatypes/packing"),
    ],
}
"""Program -> files of the library that it is linked with."""

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")


def build(name, folder):
    """Return the path of a program, compiled with the files that it tests."""
    sources = [PROGRAMS / f"test_{name}.c", *(CORE / f"online/{file}.c" for file in LINKED[name])]
    if LINKED[name]:
        sources += [PROGRAMS / "turns_double.c", PROGRAMS / "checks_double.c"]
    flags = ["-std=gnu11", "-g", "-Wall", "-Werror", f"-I{CORE}", f"-I{PROGRAMS}"]
    done = subprocess.run(["gcc", *flags, "-o", folder / name, *sources], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / name


def run(*words):
    """Return exit code and output of a program."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", [name for name in LINKED if name != "full_memory"])
def test_a_room_does_its_work_without_the_others(name, tmp_path):
    assert run(build(name, tmp_path)) == (0, "")


def test_where_memory_is_full_the_simulation_ends_with_a_sentence(tmp_path):
    program = build("full_memory", tmp_path)
    text = f"the memory that ranks share is full, {1 << 18} MiB: no room for a test of {1 << 33} bytes"
    assert run(program, "shared") == (2, f"{text}\n")
    limited = ["sh", "-c", f'ulimit -v {1 << 34}; exec "$@"', "sh", program, "shared"]
    assert run(*limited) == (2, f"{text}: raise the limit of addresses (ulimit -v)\n")
    code, output = run(program, "own")
    assert (code, output) == (2, f"rank 0 has no memory left for {1 << 62} bytes\n")
