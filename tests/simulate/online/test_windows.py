"""Windows of programs that run while they are simulated."""

import sys

import pytest
from support.simulated_runs import simulate, simulate_script

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

COUNTER = """
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
mine = np.zeros(4)  # memory of this rank alone
window = MPI.Win.Create(mine, mine.itemsize, comm=world)
window.Fence()
window.Put(np.full(2, world.rank + 1.0), (world.rank + 1) % world.size, target=2)
window.Fence()
shared = MPI.Win.Allocate(8, 8, comm=world)
shared.tomemory()[:] = bytes(8)
world.barrier()
taken, one = np.zeros(1, "q"), np.ones(1, "q")
shared.Lock(0)
shared.Fetch_and_op(one, taken, 0)
shared.Unlock(0)
numbers = world.gather((int(taken[0]), mine.tolist()))
if world.rank == 0:
    print(sorted(number for number, _ in numbers), [part[2:] for _, part in numbers], MPI.Wtime() > 0)
shared.Free()
window.Free()
"""


def test_data_move_and_a_counter_gives_each_rank_its_number(tmp_path):
    done = simulate_script(tmp_path, COUNTER, "--compute", "0", processes=3)
    assert done.returncode == 0, done.stderr
    assert "[0, 1, 2] [[3.0, 3.0], [1.0, 1.0], [2.0, 2.0]] True" in done.stdout


def test_an_access_without_an_epoch_is_an_error():
    code = """
from mpi4py import MPI
window = MPI.Win.Allocate(8)
try:
    window.Put(bytearray(1), 0)
except MPI.Exception as error:
    print(error.Get_error_class() == MPI.ERR_RMA_SYNC)
window.Free()
"""
    done = simulate("--compute", "0", "--", sys.executable, "-c", code, processes=2)
    assert done.stdout.count("True") == 2, done.stderr


def test_an_access_may_reach_over_regions_that_lie_side_by_side():
    code = """
from mpi4py import MPI
import numpy as np
world, memory = MPI.COMM_WORLD, np.zeros(8)
window = MPI.Win.Create_dynamic(comm=world)
for part in (memory[4:6], memory[:4]):
    window.Attach(part)
there = world.sendrecv(MPI.Get_address(memory), 1 - world.rank, source=1 - world.rank)
window.Lock_all()
window.Put(np.arange(5.0), 1 - world.rank, there + 8)
window.Flush_all()
try:
    window.Put(np.arange(6.0), 1 - world.rank, there + 8)
except MPI.Exception as error:
    print(error.Get_error_class() == MPI.ERR_RMA_RANGE)
window.Unlock_all()
world.barrier()
print(memory.tolist())
window.Free()
"""
    done = simulate("--compute", "0", "--", sys.executable, "-c", code, processes=2)
    assert done.stdout.count("[0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 0.0]") == 2, done.stderr
    assert done.stdout.count("True") == 2
