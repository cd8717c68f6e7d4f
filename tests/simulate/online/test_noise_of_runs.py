"""Measured noise in programs that run while they are simulated: alike by seed, met as they run, of one computation."""

import json
import sys

import numpy as np
import pytest
from support.simulated_runs import simulate_script

from commmodel import record
from commmodel.errors import InputError
from commmodel.simulate import online
from commmodel.simulate.noise import Noise, NoiseTable, noise_spread
from commmodel.simulate.questions import replayed
from commmodel.simulate.scenario import place

pytestmark = pytest.mark.mpi

STEPS = """
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
for step in range(10):
    world.Sendrecv(np.zeros(100), (world.rank + 1) % world.size, recvbuf=np.empty(100))
    world.Allreduce(np.ones(100), np.empty(100))
"""
UNTIL = """
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
while MPI.Wtime() < 0.01:
    world.Sendrecv(np.zeros(100), 0, recvbuf=np.empty(100))
"""
LATE = Noise("late", None, NoiseTable(np.array([800.0]), (np.random.default_rng(1).exponential(1e-4, 1000),)))


def running(folder, text, processes, **further):
    (folder / "program.py").write_text(text)
    command = [sys.executable, str(folder / "program.py")]
    return online.workload(place("graphene"), command, processes, computation=0.0, **further)


def test_a_program_that_runs_meets_the_noise_of_its_recording(tmp_path):
    work = running(tmp_path, STEPS, 4)
    study, again = (noise_spread(work, LATE, 3, on="graphene") for _ in range(2))
    assert study == again
    assert (study.seconds > study.quiet).all()
    folder = tmp_path / "recording"
    simulate_script(tmp_path, STEPS, "--compute", "0", "--record", str(folder), processes=4)
    trace = noise_spread(lambda where: replayed(where, record.load(folder)), LATE, 3, on="graphene")
    np.testing.assert_allclose(study.rank_noise, trace.rank_noise, rtol=1e-12)
    np.testing.assert_allclose(study.seconds - study.quiet, trace.seconds - trace.quiet, rtol=0.02)


def test_a_program_that_runs_until_a_time_does_less_with_noise(tmp_path):
    study = noise_spread(running(tmp_path, UNTIL, 1), LATE, 3, on="graphene")
    assert (study.rank_noise > 3e-3).all()  # nearly all of its time, and yet it ends when it did
    np.testing.assert_allclose(study.seconds, study.quiet, atol=1.5e-3)


def test_computation_is_measured_once_for_all_seeds(tmp_path):
    source = tmp_path / "work.csv"
    source.write_text("seconds\n" + "".join(f"{1e-6 * (1 + number % 3)}\n" for number in range(20)))
    run = simulate_script(tmp_path, STEPS, "--noise", str(source), "--seeds", "2", "--json", processes=2)
    assert run.returncode == 0, run.stderr
    answer = json.loads(run.stdout)
    assert answer["quiet_seconds"] > 0
    assert all(row["rank_noise"] > 0 for row in answer["runs"])
    assert "computation is that of one run" in run.stderr


def test_measured_computation_is_no_work_of_many_seeds(tmp_path):
    (tmp_path / "program.py").write_text(STEPS)
    work = online.workload(place("graphene"), ["python", str(tmp_path / "program.py")], 2)
    with pytest.raises(InputError, match="differs from run to run"):
        noise_spread(work, LATE, 2, on="graphene")
