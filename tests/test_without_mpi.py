"""Tests without the mark `mpi`, which run once and not with each library, can start no MPI."""

import os
import subprocess
import sys

import pytest
from support.paths import ROOT

TESTS = '''
"""
>>> from mpi4py import MPI
>>> MPI.COMM_WORLD.size
1
"""

import subprocess, sys

import pytest
from support.launching import launch

def test_nothing():
    pass

@pytest.mark.mpi
def test_that_is_marked():
    launch(1, sys.executable, "-c", "")

def test_on_several_ranks():
    launch(1, sys.executable, "-c", "")

def test_in_a_shell():
    subprocess.run(["env", "mpicc", "-v"])

def test_in_another_process():
    subprocess.run([sys.executable, "-c", "from mpi4py import MPI"], check=True)

def test_in_this_process():
    from mpi4py import MPI
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    result = tmp_path_factory.mktemp("tests")
    (result / "test_it.py").write_text(TESTS)
    (result / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (result / "pytest.ini").write_text("[pytest]\nmarkers = mpi\n")
    return result


def run(folder, *options):
    command = [sys.executable, "-m", "pytest", "--doctest-modules", "-rA", "-p", "no:cacheprovider", *options]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *sys.path])}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    values = [line.split() for line in done.stdout.splitlines() if line.startswith(("PASSED ", "FAILED ", "ERROR "))]
    return {words[1].partition("::")[2]: words[0] for words in values}, done.stdout


def test_what_needs_mpi_fails_unless_it_is_marked(folder):
    result, printed = run(folder, "-p", "no:mpi-pytest", "--without-mpi")
    assert result == {
        "test_nothing": "PASSED",
        "test_on_several_ranks": "FAILED",
        "test_in_a_shell": "FAILED",
        "test_in_another_process": "FAILED",
        "test_in_this_process": "FAILED",
    }
    assert printed.count("no MPI, as the test lacks pytest.mark.mpi") >= 4
    assert "2 deselected" in printed


@pytest.mark.mpi
def test_what_is_marked_runs_with_a_library(folder):
    result, _ = run(folder, "-m", "mpi")
    assert result == {"test_it": "PASSED", "test_that_is_marked": "PASSED"}
