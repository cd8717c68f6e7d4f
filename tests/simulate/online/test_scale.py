"""The benchmark of many ranks on one machine."""

import subprocess
import sys

import pytest
from support.simulated_runs import simulable

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]


def test_memory_of_all_ranks_is_measured_beside_what_was_foretold(tmp_path):
    if not simulable(tmp_path):
        pytest.skip("mpicc is not MPICH's")
    words = ["-m", "benchmarks.speed.online_scale", "--ranks", "4", "--programs", "ring"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    ranks, program, *_, memory, _, of_rank, of_all, result, entry = done.stderr.splitlines()[-1].split("; ")
    assert (ranks, program, result, entry) == ("4", "ring.c", "<= 16 GiB, 600 s", "yes")
    assert 0 < float(memory.removesuffix(" GiB")) < 1
    assert of_rank.endswith("iB")
    assert of_all.endswith("iB")
