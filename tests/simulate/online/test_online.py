"""Programs that run unchanged while they are simulated."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from support.simulated_runs import compiled_program, is_of_mpich, simulate, simulate_script

from commmodel.errors import InputError
from commmodel.simulate import online, scenario

pytestmark = pytest.mark.mpi

PAIR = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, sum, mine;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double numbers[1000] = {0};
    MPI_Status status;
    if (rank == 0) {
        numbers[999] = 7;
        MPI_Send(numbers, 1000, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(numbers, 1000, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        printf("received %g from %d with tag %d\\n", numbers[999], status.MPI_SOURCE, status.MPI_TAG);
    }
    mine = rank + 1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("sum %d\\n", sum);
    if (argc > 1 && rank == 1) exit(atoi(argv[1]));
    MPI_Finalize();
}
"""

OBJECTS = """
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    world.send({"a": 1}, 1, tag=5)
elif world.rank == 1:
    print(world.recv())
half = world.Split(world.rank % 2, -world.rank)
print(world.rank, half.allgather(world.rank), world.bcast("all" if world.rank == 2 else None, root=2))
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    return compiled_program(tmp_path_factory.mktemp("pair"), PAIR)


@pytest.fixture
def pair(compiled):
    if not is_of_mpich(compiled):
        pytest.skip("mpicc is not MPICH's")
    return str(compiled)


def test_a_program_of_another_library_is_refused_in_one_line(compiled):
    if is_of_mpich(compiled):
        pytest.skip("mpicc is MPICH's")
    done = simulate("--", str(compiled))
    assert done.returncode == 3
    assert done.stderr == f"commmodel: {compiled} is linked with Open MPI: link it with MPICH, whose ABI is simulated\n"


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_a_program_that_loads_another_library_is_refused_when_it_begins(tmp_path):
    library = tmp_path / "libmpi.so.40"
    subprocess.run(["gcc", "-shared", "-Wl,-soname,libmpi.so.40", "-x", "c", "/dev/null", "-o", library], check=True)
    done = simulate_script(tmp_path, f"import ctypes; ctypes.CDLL({str(library)!r}); from mpi4py import MPI")
    assert done.returncode == 3
    name = os.path.basename(sys.executable)
    start = (
        f"commmodel: {name} is linked with a library of Open MPI: link it with MPICH, whose ABI is simulated (mpi4py:"
    )
    assert done.stderr.startswith(start)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("limit", "processes"), [(16 << 20, 3), (3 << 20, 400)])
def test_ranks_run_where_addresses_are_limited(limit, processes):
    code = "from mpi4py import MPI; total = MPI.COMM_WORLD.allreduce(1); MPI.COMM_WORLD.rank or print(total)"
    words = ["-m", "commmodel", "simulate", "graphene", "run", "-p", str(processes), "--", sys.executable, "-c", code]
    limited = ["sh", "-c", f'ulimit -v {limit}; exec "$@"', "sh", sys.executable, *words]
    done = subprocess.run(limited, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{processes}\n")


def test_a_program_of_c_gets_its_data_and_simulated_time(pair):
    done = simulate("--compute", "0", "--json", "--", pair)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["seconds"] == pytest.approx(1.9e-4, rel=0.9)
    assert "received 7 from 0 with tag 3" in done.stderr
    assert "sum 6" in done.stderr


def test_runs_without_computation_give_the_same_bits(pair):
    first, second = (json.loads(simulate("--compute", "0", "--json", "--", pair).stdout) for _ in range(2))
    assert first["seconds"] == second["seconds"]
    assert first["messages"] == second["messages"]


def test_a_rank_that_ends_early_ends_all_with_its_code(pair):
    done = simulate("--compute", "0", "--", pair, "5")
    assert done.returncode == 5
    assert "rank 1 ended with exit code 5" in done.stderr


def test_a_program_of_python(tmp_path):
    done = simulate_script(tmp_path, OBJECTS, "--compute", "0", processes=4)
    assert done.returncode == 0, done.stderr
    assert "{'a': 1}" in done.stdout
    assert "1 [3, 1] all" in done.stdout


def test_deadlock(tmp_path):
    code = "from mpi4py import MPI; MPI.COMM_WORLD.Recv(bytearray(1), source=1 - MPI.COMM_WORLD.rank, tag=4)"
    done = simulate("--compute", "0", "--", sys.executable, "-c", code, processes=2)
    assert done.returncode == 2
    assert "rank 0 waits in MPI_Recv for a message from rank 1 with tag 4" in done.stderr


@pytest.mark.parametrize(
    ("first", "rest", "message"),
    [
        (
            "world.Bcast(numbers)",
            "world.Allreduce(numbers, numbers.copy())",
            "MPI_Allreduce at script.py:4 where rank",
        ),
        (
            "world.bcast(1, root=0)",
            "world.bcast(1, root=1)",
            "calls MPI_Bcast at script.py:4 where rank 0 calls MPI_Bcast",
        ),
        ("world.Barrier()", "world.Dup()", "calls MPI_Comm_dup at script.py:4 where rank 0 calls MPI_Barrier"),
    ],
)
def test_ranks_that_call_different_collectives_are_refused_with_their_sites(first, rest, message, tmp_path):
    """Rank 0 goes on after a broadcast, and calls another thing before the others come."""
    script = (
        "import numpy as np; from mpi4py import MPI\nworld = MPI.COMM_WORLD\nnumbers = np.zeros(10)\n"
        f"{first} if world.rank == 0 else {rest}\nworld.Barrier()\n"
    )
    completed = simulate_script(tmp_path, script, processes=4)
    assert completed.returncode == 2
    (line,) = completed.stderr.splitlines()
    assert message in line
    assert "all ranks of a communicator call the same collectives" in line


def test_a_call_that_is_not_simulated_is_named_with_its_site(tmp_path):
    script = "import ctypes\nfrom mpi4py import MPI\n\nctypes.CDLL(None).MPI_T_finalize()\n"
    completed = simulate_script(tmp_path, script)
    assert completed.returncode == 2
    (line,) = completed.stderr.splitlines()
    assert re.search(r"MPI_T_finalize is not simulated yet: rank \d calls it at script.py:4", line)


def test_an_exception_ends_all(tmp_path):
    code = "from mpi4py import MPI; MPI.COMM_WORLD.rank == 1 and 1 / 0; MPI.COMM_WORLD.barrier()"
    done = simulate("--compute", "0", "--", sys.executable, "-c", code, processes=2)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr


def test_wrong_arguments(tmp_path):
    graphene = scenario.place("graphene")
    (tmp_path / "text").touch()
    with pytest.raises(InputError, match="text: cannot be executed"):
        online.workload(graphene, [str(tmp_path / "text")], 2)
    with pytest.raises(InputError, match="no such program"):
        online.workload(graphene, ["no-such-program"], 2)
    with pytest.raises(InputError, match="computation is"):
        online.workload(graphene, ["true"], 2, computation=-1.0)


def test_times_are_those_of_the_replay_of_a_recording(tmp_path):
    script = tmp_path / "objects.py"
    script.write_text(OBJECTS)
    mpiexec = shutil.which("mpiexec", path=f"{sys.prefix}/bin")
    command = [mpiexec, "-n", "4", sys.executable, "-m", "commmodel", "record", "-o", tmp_path / "recording", "--"]
    recorded = subprocess.run([*command, sys.executable, script], capture_output=True, check=False, timeout=900)
    if recorded.returncode:
        pytest.skip("no recording with this MPI library")
    words = [sys.executable, "-m", "commmodel", "simulate", "graphene", "replay", "--faster", "1e15", "--json"]
    replay = subprocess.run([*words, tmp_path / "recording"], capture_output=True, text=True, check=True)
    running = simulate("--compute", "0", "--json", "--", sys.executable, str(script), processes=4)
    seconds = [json.loads(text)["seconds"] for text in (running.stdout, replay.stdout)]
    assert seconds[0] == pytest.approx(seconds[1], rel=1e-9)


ORDERED = "MPI.Op.Create(lambda a, b, _: None, commute=False)"
OF_CALLS = {
    "Allreduce(np.zeros(60, 'u1'), np.zeros(60, 'u1'))": ["allreduce", "-n", "60", "--element", "1"],
    "Allreduce(np.zeros(15, 'f4'), np.zeros(15, 'f4'))": ["allreduce", "-n", "60", "--element", "4"],
    "Reduce(np.zeros(100), np.zeros(100), ordered, 3)":
        ["reduce", "-n", "800", "--root", "3", "--operator", "non-commutative"],
    "Alltoall(MPI.IN_PLACE, np.zeros(160))": ["alltoall", "-n", "80", "--in-place"],
    "Reduce_scatter_block(np.zeros(16), np.zeros(1))": ["reduce_scatter_block", "-n", "8"],
    "Reduce_scatter(np.zeros(16), np.zeros(1), [1] * 16)": ["reduce_scatter", "-n", "8"],
}  # fmt: skip


@pytest.mark.parametrize("call", OF_CALLS)
def test_algorithms_are_those_for_elements_operators_and_buffers(tmp_path, call):
    text = f"import numpy as np\nfrom mpi4py import MPI\nordered = {ORDERED}\nMPI.COMM_WORLD.{call}\n"
    settings = ["--selector", "openmpi", "-k", "1", "--json"]
    running = simulate_script(tmp_path, text, *settings, "--compute", "0", processes=16)
    words = [sys.executable, "-m", "commmodel", "simulate", "graphene", *OF_CALLS[call], "-p", "16", *settings]
    alone = subprocess.run(words, capture_output=True, text=True, check=True)
    seconds = [json.loads(output)["seconds"] for output in (running.stdout, alone.stdout)]
    assert seconds[0] == pytest.approx(seconds[1], rel=1e-9)


def test_a_loop_of_tests_advances_simulated_time(tmp_path):
    script = tmp_path / "loop.py"
    script.write_text("""
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank:
    while MPI.Wtime() < 0.01:
        pass
    world.send("late", 0)
else:
    request, there = world.irecv(source=1), False
    while not there:
        there, words = request.test()
    print(words, round(MPI.Wtime(), 3))
""")
    done = simulate("--compute", "0", "--", sys.executable, str(script), processes=2)
    assert "late 0.01" in done.stdout, done.stderr


def test_synchronous_sends_end_when_the_receive_has_begun(tmp_path):
    script = tmp_path / "synchronous.py"
    script.write_text("""
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    world.Ssend(bytearray(8), 1, tag=3)
    blocking = MPI.Wtime()
    request = world.Issend(bytearray(8), 1, tag=3)
    request.Wait()
    print("sent", round(blocking, 3), round(MPI.Wtime(), 3), MPI.Get_processor_name())
else:
    for end in (0.01, 0.03):
        while MPI.Wtime() < end:
            pass
        world.Recv(bytearray(8), 0, tag=3)
""")
    done = simulate("--compute", "0", "--", sys.executable, str(script), processes=2)
    assert "sent 0.01 0.03 node-0" in done.stdout, done.stderr
