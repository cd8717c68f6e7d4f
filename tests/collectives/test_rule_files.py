"""The real libraries obey the files of rules that we write, and give right results with them."""

import subprocess
import sys
from itertools import product

import pytest
from support.launching import ENVIRONMENT, find
from support.made_up_times import made_up

from commmodel.collectives.library import mpich, openmpi
from commmodel.collectives.library.selection import SelectionRule, Selector, dump
from commmodel.collectives.library.tuning import tune
from commmodel.collectives.operation import SCHEDULED

pytestmark = pytest.mark.mpi
PROGRAM = """
from array import array
from mpi4py import MPI

def doubles(values):
    return array("d", map(float, values))

def check(comm, size):
    rank, count = comm.rank, comm.size
    there = doubles(range(size) if rank == 0 else [0] * size)
    comm.Bcast(there)
    assert there == doubles(range(size))
    every, block, total = doubles([0] * (size * count)), doubles([0] * size), doubles([0] * size)
    comm.Alltoall(doubles(100 * rank + to for to in range(count) for _ in range(size)), every)
    assert every == doubles(100 * source + rank for source in range(count) for _ in range(size))
    comm.Allgather(doubles([rank] * size), every)
    assert every == doubles(source for source in range(count) for _ in range(size))
    comm.Allreduce(doubles([rank + 1] * size), total)
    assert total == doubles([count * (count + 1) / 2] * size)
    total = doubles([0] * size)
    comm.Reduce(doubles([rank + 1] * size), total)
    assert rank or total == doubles([count * (count + 1) / 2] * size)
    comm.Reduce_scatter_block(doubles([1] * (size * count)), block)
    assert block == doubles([count] * size)
    comm.Reduce_scatter(doubles([2] * (size * count)), block, [size] * count)
    assert block == doubles([2 * count] * size)
    comm.Scan(doubles([1] * size), block)
    assert block == doubles([rank + 1] * size)
    every = doubles([0] * (size * count))
    comm.Gather(doubles([rank] * size), every if rank == 0 else None)
    assert rank or every == doubles(source for source in range(count) for _ in range(size))
    comm.Scatter(every if rank == 0 else None, block)
    assert block == doubles([rank] * size)
    comm.Barrier()

world = MPI.COMM_WORLD
for processes in (2, 3, 4):
    part = world.Split(0 if world.rank < processes else MPI.UNDEFINED)
    if part != MPI.COMM_NULL:
        for size in (0, 1, 8, 1000, 60_000):
            check(part, size)
        part.Ibarrier().Wait()
        part.Free()
if world.rank == 0:
    print("right", end="")
"""


def run_with(library, rules, **variables):
    """Return what the program of the test says with a file of rules."""
    environment, options = ENVIRONMENT | variables, []
    if library == "mpich":
        environment |= {"MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": str(rules), "MPIR_CVAR_DEVICE_COLLECTIVES": "none"}
    else:
        environment |= {"OMPI_MCA_mpi_yield_when_idle": "1"}  # more ranks than cores
        options = ["--mca", "coll", "tuned,basic,libnbc,self,inter", "--mca", "coll_tuned_use_dynamic_rules", "1"]
        options += ["--mca", "coll_tuned_dynamic_rules_filename", str(rules)]
    command = [find("mpiexec"), "-n", "4", *options, sys.executable, "-m", "mpi4py", "-c", PROGRAM]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)


@pytest.fixture(scope="module")
def library():
    """Return the name of the library whose launcher is here."""
    stdout = subprocess.run([find("mpiexec"), "--version"], env=ENVIRONMENT, capture_output=True, text=True).stdout
    if "Open MPI" in stdout or "prte" in stdout.lower():
        return "openmpi"
    if "HYDRA" not in stdout:
        pytest.skip(f"we write rules for MPICH and Open MPI only: {stdout}")
    return "mpich"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "rules"


def test_the_library_obeys_the_file_and_gives_right_results(file, library):
    tuned = tune(made_up, SCHEDULED, [1, 64, 1000, 50_000], [2, 4, 6], library)
    dump(tuned, file, library)
    done = run_with(library, file)
    assert (done.returncode, done.stdout, done.stderr) == (0, "right", "")
    # It does look at the file: an algorithm that it has not ends the program.
    text = file.read_text()
    bad = text.replace("MPIR_Bcast_intra_", "MPIR_Bcast_intra_un") if library == "mpich" else "1\n7\n1\n1 1\n0 99 0 0\n"
    assert bad != text
    file.write_text(bad)
    assert run_with(library, file).returncode != 0


def test_every_algorithm_that_we_write_for_a_library_works_in_it(file, library):
    offers = {"mpich": mpich.OFFERS, "openmpi": openmpi.OFFERS}[library]
    for first in range(0, max(map(len, offers.values())), 3):
        picked = []
        for (operation, names), processes in product(offers.items(), (2, 3, 4)):
            name = list(names)[(first + processes) % len(names)]
            segments = {"segment_size": 4096} if name in {"chain", "binary"} and processes > 2 else {}
            picked.append(SelectionRule(operation, name, processes_upto=processes, **segments))
        dump(Selector("each", tuple(picked)), file, library)
        done = run_with(library, file)
        assert (done.returncode, done.stdout) == (0, "right"), (picked, done.stderr)


def test_mpich_does_in_two_levels_what_the_file_says(file, library):
    if library != "mpich":
        pytest.skip("Open MPI has no nodes on one host: tests/cluster has two")
    rules = [
        SelectionRule(name, "two-level", distribution="several-per-node") for name, form in mpich.FORMS.items() if form
    ]
    dump(Selector("levels", tuple(rules)), file, library)
    done = run_with(library, file, MPIR_CVAR_NUM_CLIQUES="2", MPIR_CVAR_BCAST_SHORT_MSG_SIZE="2147483647")
    assert (done.returncode, done.stdout, done.stderr) == (0, "right", "")
