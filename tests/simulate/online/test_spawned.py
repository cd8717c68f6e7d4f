"""Ranks that programs spawn while they are simulated."""

import re
import sys

import pytest
from support.simulated_runs import simulate, simulate_script

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

FAMILY = """
from mpi4py import MPI
import sys
parent, world = MPI.Comm.Get_parent(), MPI.COMM_WORLD
if parent == MPI.COMM_NULL:
    world.Barrier()
    child = world.Spawn(sys.executable, [__file__, "a word"], maxprocs=3, root=1)
    lines = [world.size, child.remote_size, child.allgather(world.rank), world.Get_attr(MPI.UNIVERSE_SIZE)]
    if world.rank == 0:
        child.send(MPI.Wtime(), 2, 5)
        print("parent", lines, child.recv(source=1))
else:
    child = parent
    lines = [world.size, child.remote_size, child.allgather(10 * world.rank), sys.argv[1:]]
    assert MPI.Wtime() > 0
    if world.rank == 2:
        assert child.recv(source=0, tag=5) < MPI.Wtime()
    if world.rank == 1:
        child.send(lines, 0)
together = child.Merge(parent != MPI.COMM_NULL)
assert together.allreduce(1) == 5
assert world.allreduce(1) == (2 if parent == MPI.COMM_NULL else 3)
together.Free()
child.Disconnect()
"""

POOL = """
import sys, time
from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor
def work(number):
    time.sleep(0.1)
    return number * number
if __name__ == "__main__":
    begin = MPI.Wtime()
    with MPIPoolExecutor(4) as pool:
        squares = list(pool.map(work, range(16)))
    print(squares == [number * number for number in range(16)], round(MPI.Wtime() - begin, 2))
"""


def simulated_time(done):
    return re.search(r"hybrid +(\S+ \S+)", done.stdout)[1]


def test_spawned_ranks_are_a_world_of_their_own(tmp_path):
    runs = [simulate_script(tmp_path, FAMILY, "--compute", "0", "--universe", number, processes=2)
            for number in ("5", "9")]  # fmt: skip
    for done, number in zip(runs, ("5", "9"), strict=True):
        assert done.returncode == 0, done.stderr
        family = f"parent [2, 3, [0, 10, 20], {number}] [3, 2, [0, 1], ['a word']]"
        assert family in done.stdout, done.stdout
    assert simulated_time(runs[0]) == simulated_time(runs[1])  # spare ranks cost nothing


def test_spare_ranks_change_no_result():
    code = "from mpi4py import MPI; MPI.COMM_WORLD.allreduce(bytes(1000), lambda left, right: left)"
    words = ["--compute", "0", "--json", "--", sys.executable, "-c", code]
    runs = [simulate(*options, *words, processes=4) for options in ((), ("--universe", "12"))]
    assert [done.returncode for done in runs] == [0, 0], runs[1].stderr
    times = [re.search(r'"seconds": ?([\d.e-]+)', done.stdout)[1] for done in runs]
    assert times[0] == times[1]


def test_a_pool_of_futures_spawns_its_workers(tmp_path):
    done = simulate_script(tmp_path, POOL, "--compute", "0", "--universe", "5", processes=1)
    assert done.returncode == 0, done.stderr
    squares, seconds = done.stdout.split()[:2]
    assert squares == "True"
    assert 0.4 <= float(seconds) < 0.43  # four sleeps of 0.1 s, and the end of all workers


def test_too_few_spare_ranks_are_an_error_of_mpi(tmp_path):
    code = """
from mpi4py import MPI
import sys
try:
    MPI.COMM_WORLD.Spawn(sys.executable, ["-c", ""], maxprocs=2)
except MPI.Exception as error:
    print(error.Get_error_class() == MPI.ERR_SPAWN, "--universe" in str(error))
"""
    done = simulate_script(tmp_path, code, "--compute", "0", "--universe", "3", processes=2)
    assert done.stdout.count("True True") == 2, done.stdout + done.stderr


def test_a_universe_smaller_than_the_program_is_one_line():
    done = simulate("--universe", "2", "--", sys.executable, "-c", "pass", processes=3)
    assert done.returncode == 2
    assert "a universe of 2 ranks for a program of 3: give 3 or more" in done.stderr
