"""Collectives on four hosts are predicted from two of them, with either MPI library."""

import subprocess
import sys

import pytest
from support.launching import NETWORK, find
from support.paths import ROOT
from tools.emulated_cluster import missing

MPIEXEC = find("mpiexec")
COMMAND = "-m benchmarks.validation.emulated_collectives --hosts 4 --rate 100e6 --sizes 16KiB --time 8s"

pytestmark = [
    pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec beside this Python or on PATH"),
    pytest.mark.skipif(bool(problem := missing()), reason=f"no emulated cluster here: {problem}"),
]


def test_rules_in_two_levels_are_obeyed():
    """The bytes between two hosts of four ranks are those of the schedules that the rules name."""
    command = [sys.executable, "-m", "benchmarks.validation.emulated_levels", "--sizes", "16KiB", "--count"]
    completed = subprocess.run(
        [*command, "--mpiexec", MPIEXEC], env=NETWORK, cwd=ROOT, capture_output=True, text=True, timeout=1800
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert "bytes off by" in completed.stdout


def test_the_predictions_are_as_near_as_wanted():
    """A tenth of `make cluster-bench`: its exit code says whether the median error and the largest are small enough."""
    command = [sys.executable, *COMMAND.split(), "--mpiexec", MPIEXEC]
    completed = subprocess.run(command, env=NETWORK, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert completed.stdout.count("of 6: kept") == 2
