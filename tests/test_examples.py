"""The programs in examples/: right on any number of ranks, and they notice where they are not."""

import sys

import pytest
from support.launching import error_lines, launch
from support.paths import ROOT

from commmodel.machine import LogGP, Machine, Parameter, Segment, dump

pytestmark = pytest.mark.mpi
EXAMPLES = ROOT / "examples"
SMALL = {
    "halo.py": ["--rows", "11", "--columns", "301", "--steps", "7"],
    "transpose.py": ["-n", "61", "--message-size", "100", "--burst", "3"],
}
BROKEN = (
    "import runpy, sys\n"
    "from commmodel.overlap import Exchange\n"
    "Exchange.run = lambda self, interior=None: list(interior() or [])\n"
    "sys.argv = sys.argv[1:]\n"
    "runpy.run_path(sys.argv[0], run_name='__main__')\n"
)
"""Runs a program with exchanges that bring nothing."""


def example(ranks, name, *arguments):
    return launch(ranks, sys.executable, EXAMPLES / name, *arguments)


def test_all_examples_are_tested():
    assert {path.name for path in EXAMPLES.glob("*.py")} == SMALL.keys()


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("name", SMALL)
def test_an_example_is_right(name, ranks):
    done = example(ranks, name, *SMALL[name])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "right, bit for bit"
    assert f"ranks: {ranks}" in done.stdout


@pytest.mark.parametrize("name", SMALL)
def test_an_example_is_right_with_its_defaults(name):
    done = example(2, name)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "right, bit for bit"


@pytest.mark.parametrize("name", SMALL)
def test_an_example_notices_that_it_is_wrong(name):
    done = launch(2, sys.executable, "-c", BROKEN, EXAMPLES / name, *SMALL[name])
    assert done.returncode == 1
    assert "WRONG" in done.stdout


@pytest.mark.any_library
@pytest.mark.parametrize("name", SMALL)
def test_an_example_helps_once(name):
    done = example(2, name, "--help")
    assert done.returncode == 0
    assert done.stdout.count("usage: ") == 1
    assert "Example: mpiexec -n 4 python examples/" in done.stdout


@pytest.mark.any_library
@pytest.mark.parametrize(
    ("ranks", "name", "arguments", "problem"),
    [
        (2, "halo.py", ["--rows", "3"], "give at least 2 rows for each rank, 3 columns and 0 steps"),
        (2, "halo.py", ["--machine", "nowhere.toml"], "nowhere.toml"),
        (2, "transpose.py", ["--message-size", "4"], "message_size is 4, but an element of transfer 0: send has 8"),
        (1, "transpose.py", ["--message-size", "64K"], "unknown unit 'K'"),
        (1, "transpose.py", ["--burst", "0"], "burst is 0: give a whole number from 1 up"),
        (1, "transpose.py", ["-n", "-1"], "-n is -1: give a number of rows"),
    ],
)
def test_an_example_refuses_in_one_line(ranks, name, arguments, problem):
    done = example(ranks, name, *arguments)
    lines = error_lines(done, name)
    assert done.returncode == 2
    assert len(lines) == 1
    assert problem in lines[0]
    assert "Traceback" not in done.stderr


@pytest.mark.any_library
def test_the_halo_chooses_by_a_machine_file(tmp_path):
    """Where a burst costs a second, there is nothing to gain from cutting a row."""
    loggp = LogGP(L=Parameter(1.0, "s"), o=Parameter(1e-9, "s"), g=Parameter(1e-9, "s"), G=Parameter(1e-3, "s/B"))
    dump(Machine("slow", (Segment("all", loggp=loggp),)), tmp_path / "machine.toml")
    done = example(2, "halo.py", *SMALL["halo.py"], "--machine", tmp_path / "machine.toml")
    assert done.returncode == 0, done.stderr
    assert "a row of 2408 B in messages of 2408 B, burst 1" in done.stdout
