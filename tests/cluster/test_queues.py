"""Exchanges of emulated hosts with one queue, one for each other host, and one for acknowledgements."""

import subprocess
import sys
from typing import get_args

import pytest
from support.launching import NETWORK, find
from support.paths import ROOT
from tools import emulated_cluster

MPIEXEC = find("mpiexec")
COMMAND = "-m benchmarks.validation.emulated_queues --sizes 20KiB --repetitions 3"

pytestmark = [
    pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec beside this Python or on PATH"),
    pytest.mark.skipif(bool(problem := emulated_cluster.missing()), reason=f"no emulated cluster here: {problem}"),
]


def test_rates_are_those_of_links_with_each_kind_of_queue():
    command = [sys.executable, *COMMAND.split(), "--mpiexec", MPIEXEC]
    completed = subprocess.run(command, env=NETWORK, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert completed.returncode == 0, completed.stderr
    rows = [line for line in completed.stdout.splitlines() if "20 KiB" in line]
    kinds = [line.split()[1 if line.startswith("│") else 0] for line in rows]
    assert kinds == [kind for kind in get_args(emulated_cluster.Queues) for _ in range(5)]
    rates = [float(line.rstrip(" │").split()[-1]) for line in rows]
    assert rates[0] == rates[5] == rates[10] == 1
    assert all(0.5 < rate < 1.3 for rate in rates)
