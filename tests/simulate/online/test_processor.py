"""One processor for the simulator and all ranks."""

import os
import subprocess
import sys

import pytest

from commmodel.simulate.online.processor import Processor


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux")
def test_a_processor_is_taken_and_left():
    before = os.sched_getaffinity(0)
    processor = Processor()
    processor.take()
    try:
        alone = os.sched_getaffinity(0)
        processor.take()
        assert os.sched_getaffinity(0) == alone
    finally:
        processor.leave()
    processor.leave()
    assert len(alone) == 1
    assert alone <= before == os.sched_getaffinity(0)


@pytest.mark.mpi
def test_ranks_share_it():
    code = "import os; from mpi4py import MPI; print('processors', *sorted(os.sched_getaffinity(0)))"
    words = ["simulate", "graphene", "run", "-p", "3", "--", sys.executable, "-c", code]
    done = subprocess.run([sys.executable, "-m", "commmodel", *words], capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("processors")]
    assert len(lines) == 3
    assert len({*lines}) == 1
    assert len(lines[0].split()) == 2
