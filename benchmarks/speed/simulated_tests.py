"""Processor time of tests on simulated ranks: ``python -m benchmarks.speed.simulated_tests``.

Measured is what `pytest --mpi simulated` takes in all processes, from its start to its end. Half of the tests sum and
broadcast objects, half shift an array round a ring and meet at a barrier. The exit code is 1 where a test fails.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = """
import numpy as np
import pytest
from mpi4py import MPI

comm = MPI.COMM_WORLD


@pytest.mark.parallel(nprocs=RANKS)
@pytest.mark.parametrize("number", range(TESTS // 2))
def test_objects(number):
    assert comm.allreduce(number) == comm.size * number
    assert comm.bcast({"number": number}) == {"number": number}


@pytest.mark.parallel(nprocs=RANKS)
@pytest.mark.parametrize("length", range(1, TESTS - TESTS // 2 + 1))
def test_arrays(length):
    left = (comm.rank - 1) % comm.size
    sent, received = np.full(length, comm.rank), np.empty(length, int)
    comm.Sendrecv(sent, (comm.rank + 1) % comm.size, recvbuf=received, source=left)
    assert (received == left).all()
    comm.Barrier()
"""


def processor_time(folder: Path) -> float:
    """Return the seconds of one run in all processes."""
    words = ["-m", "pytest", "-q", "--mpi", "simulated", "-p", "no:cacheprovider", "-p", "no:mpi-pytest"]
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


def main() -> None:
    """Measure and print a line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", type=int, default=100, help="how many (100)")
    parser.add_argument("--ranks", type=int, default=64, help="ranks of each (64)")
    parser.add_argument("--launches", type=int, default=3, help="runs (3)")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        text = TESTS.replace("RANKS", str(options.ranks)).replace("TESTS", str(options.tests))
        Path(folder, "test_ranks.py").write_text(text, "utf-8")
        seconds = sorted(processor_time(Path(folder)) for _ in range(options.launches))
    words = ", ".join(f"{value:.1f}" for value in seconds)
    print(f"{options.tests} tests on {options.ranks} ranks: {words} s of processor time")


if __name__ == "__main__":
    main()
