"""Blocks that are sampled, arrays that ranks share, recorded computation, and the memory of ranks."""

import json
import os
import re
import resource
import shutil
import subprocess
import sys

import pytest

from commmodel.errors import InputError
from commmodel.simulate.online.memory import MemoryWatch, reserve

SAMPLED = """
import sys
from mpi4py import MPI
from commmodel import sampled, shared_array
world = MPI.COMM_WORLD
skipped = timed = 0
for step in range(20):
    for _ in sampled(3, by_all=len(sys.argv) > 1):
        skipped += 1
        sum(range(100000))
    with sampled(2):
        timed += 1
print(world.gather(skipped), timed, flush=True)
array = shared_array((3, 4), "i4")
array += 1
world.Barrier()
if world.rank == 0:
    world.recv(source=1)
    print("array", array.shape, array[2, 3])
elif world.rank == 1:
    world.send(None, 0)
"""

SAMPLED_C = """
#include <commmodel.h>
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, skipped = 0, timed = 0, by_all = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int *numbers = commmodel_shared_malloc(4000);
    for (int step = 0; step < 20; step++) {
        COMMMODEL_SAMPLED(3) { skipped++; numbers[999]++; }
        COMMMODEL_SAMPLED_BY_ALL(4) by_all++;
        COMMMODEL_TIMED(2) { timed++; }
    }
    MPI_Allreduce(MPI_IN_PLACE, &by_all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(&rank, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(&rank, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%d %d %d %d\\n", skipped, timed, by_all, numbers[999]);
    commmodel_shared_free(numbers);
    MPI_Finalize();
}
"""

COMPUTING = """
import sys
from mpi4py import MPI
world = MPI.COMM_WORLD
for step in range(int(sys.argv[1])):
    sum(range(300000))
    world.Allreduce(bytearray(8), bytearray(8), MPI.BOR)
    if world.rank == 0:
        world.send(step, 1)
    elif world.rank == 1:
        world.recv(source=0)
"""


def simulate(*words, processes=3, options=()):
    command = [sys.executable, "-m", "commmodel", "simulate", "graphene", "run", "-p", str(processes), *options]
    return subprocess.run([*command, "--", *map(str, words)], capture_output=True, text=True, check=False, timeout=900)


@pytest.fixture
def script(tmp_path):
    def write_script(text):
        (tmp_path / "script.py").write_text(text)
        return tmp_path / "script.py"

    return write_script


@pytest.mark.mpi
def test_a_sampled_block_is_skipped_and_an_array_shared(script):
    done = simulate(sys.executable, script(SAMPLED))
    assert "[3, 3, 3] 20" in done.stdout, done.stderr
    assert "array (3, 4) 3" in done.stdout


@pytest.mark.mpi
def test_runs_of_all_ranks_together_are_enough(script):
    done = simulate(sys.executable, script(SAMPLED), "by all")
    assert "[3, 0, 0] 20" in done.stdout, done.stderr


@pytest.mark.mpi
def test_skipped_blocks_take_simulated_time(script):
    text = """
from mpi4py import MPI
from commmodel import sampled
for step in range(10):
    begin = MPI.Wtime()
    for _ in sampled(2):
        sum(range(1000000))
    print("took", MPI.Wtime() - begin)
"""
    done = simulate(sys.executable, script(text), processes=1)
    first, second, *skipped = (float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("took"))
    assert len(skipped) == 8
    assert min(skipped) > 0.9 * min(first, second)  # each takes their mean


@pytest.mark.mpi
def test_calls_in_a_sampled_block_are_refused_in_one_line(script):
    done = simulate(
        sys.executable,
        script("""
from mpi4py import MPI
from commmodel import sampled
for _ in sampled():
    MPI.COMM_WORLD.Barrier()
"""),
    )
    assert done.returncode == 2
    assert "rank 0 calls MPI_Barrier in the sampled block at" in done.stderr


@pytest.mark.mpi
def test_without_a_simulation_all_runs(script):
    done = subprocess.run([sys.executable, script(SAMPLED.replace("world.recv(source=1)", "pass"))],
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert "[20] 20" in done.stdout
    assert "array (3, 4) 1" in done.stdout


@pytest.mark.mpi
def test_the_header_means_the_same_in_c(tmp_path):
    mpicc = shutil.which("mpicc", path=f"{sys.prefix}/bin")
    if not mpicc:
        pytest.skip("no mpicc beside this Python")
    (tmp_path / "sampled.c").write_text(SAMPLED_C)
    listed = subprocess.run([sys.executable, "-m", "commmodel", "list", "include"], capture_output=True, text=True,
                            check=True)  # fmt: skip
    words = ["-Wall", "-Wextra", "-Werror", f"-I{listed.stdout.strip()}"]
    subprocess.run([mpicc, *words, tmp_path / "sampled.c", "-o", tmp_path / "sampled"], check=True)
    if b"libmpi.so.12" not in (tmp_path / "sampled").read_bytes():
        pytest.skip("mpicc is not MPICH's")
    assert "3 20 4 9" in simulate(tmp_path / "sampled").stdout
    mpiexec = shutil.which("mpiexec", path=f"{sys.prefix}/bin")
    done = subprocess.run([mpiexec, "-n", "2", tmp_path / "sampled"], capture_output=True, text=True, check=True)
    assert done.stdout == "20 20 40 20\n"


@pytest.fixture
def recording(script, tmp_path):
    mpiexec = shutil.which("mpiexec", path=f"{sys.prefix}/bin")
    command = [mpiexec, "-n", "3", sys.executable, "-m", "commmodel", "record", "-o", tmp_path / "recording", "--"]
    done = subprocess.run(
        [*command, sys.executable, script(COMPUTING), "4"], capture_output=True, check=False, timeout=900
    )
    if done.returncode:
        pytest.skip("no recording with this MPI library")
    return tmp_path / "recording"


@pytest.mark.mpi
def test_computation_of_a_recording_gives_the_time_of_its_replay(recording, script):
    running, again = (
        simulate(sys.executable, script(COMPUTING), "4", options=["--compute", str(recording), "--json"])
        for _ in range(2)
    )
    words = [sys.executable, "-m", "commmodel", "simulate", "graphene", "replay", "--json", recording]
    replay = subprocess.run(words, capture_output=True, text=True, check=True)
    seconds = [json.loads(text)["seconds"] for text in (running.stdout, again.stdout, replay.stdout)]
    assert seconds[0] == seconds[1]
    assert seconds[0] == pytest.approx(seconds[2], rel=1e-6)


@pytest.mark.mpi
def test_a_recording_of_another_program_is_refused_in_one_line(recording, script):
    done = simulate(sys.executable, script(COMPUTING), "5", options=["--compute", str(recording)])
    assert done.returncode == 2
    assert "is MPI_Allreduce, MPI_Finalize in the recording" in done.stderr.splitlines()[-1]
    done = simulate(sys.executable, script(COMPUTING), "4", processes=2, options=["--compute", str(recording)])
    assert done.returncode == 2
    assert "has 3 ranks, not 2" in done.stderr


def test_compute_is_a_word_or_a_recording(tmp_path):
    done = simulate(sys.executable, "-c", "pass", options=["--compute", str(tmp_path)])
    assert done.returncode == 2
    assert "say measured, 0, or the folder of a recording" in done.stderr


def test_the_shared_memory_is_half_of_the_addresses_that_are_left(monkeypatch):
    def reserved(limit, ranks):
        monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
        descriptor = os.memfd_create("test")
        try:
            reserve(descriptor, ranks)
            return os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)

    assert reserved(resource.RLIM_INFINITY, 4) == 1 << 38
    assert reserved(1 << 60, 4) == 1 << 38
    assert 1 << 34 < reserved(1 << 36, 4) < 1 << 35
    with pytest.raises(InputError, match=r"100000 ranks share [\d.]+ GiB of addresses at least, .*ulimit -v"):
        reserved(1 << 33, 100_000)


def watch(sizes, free, processes=100):
    lines = []
    return MemoryWatch(processes, lambda rank: sizes[rank], lines.append, lambda: (free, 1 << 34)), lines


def test_memory_is_estimated_from_the_second_rank():
    memory, lines = watch([1 << 30, 1 << 20], 1 << 33)
    for rank in range(100):
        memory.begin(rank)
    assert [float(number) for number in re.findall(r"[0-9.]+(?= [KMG]iB)", lines[0])] == [1.0, 1.1, 8.0]


def test_more_memory_than_there_is_is_refused():
    memory, lines = watch([1 << 20, 1 << 28], 1 << 33)
    memory.begin(0)
    memory.begin(1)
    with pytest.raises(InputError, match=r"256.0 MiB.*24.8 GiB.*8.0 GiB"):
        memory.begin(2)
    assert lines == []


def test_a_run_ends_before_all_memory_is_taken():
    memory, _ = watch([0, 0], 1 << 28)
    with pytest.raises(InputError, match=r"7 of 100 ranks have taken nearly all memory, 256.0 MiB are left"):
        memory.check(7)


def test_a_single_rank_is_not_estimated():
    memory, lines = watch([1 << 20], 1 << 33, processes=1)
    memory.begin(0)
    assert lines == []
