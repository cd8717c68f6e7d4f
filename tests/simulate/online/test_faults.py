"""Simulated programs that go wrong: what is said, which exit code, and that nothing is left over."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.simulated_runs import simulable_program

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

WAITING = """
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
static void receive(void) {
    char byte;
    MPI_Recv(&byte, 1, MPI_CHAR, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && strcmp(argv[1], "endless") == 0) for (volatile int i = 0;;) i++;
    if (argc > 1 && rank == 1) abort();
    if (rank == 0) receive();
    if (rank == 1) MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2) MPI_Send(calloc(1, 1 << 20), 1 << 20, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
    MPI_Finalize();
}
"""

DEADLOCK = """
from mpi4py import MPI

def receive(comm):
    comm.Recv(bytearray(1), source=1 - comm.rank, tag=4)

comm = MPI.COMM_WORLD
if comm.rank == 0:
    receive(comm)
elif comm.rank == 1:
    comm.bcast(None, root=0)
else:
    comm.Ssend(bytearray(10), 1, tag=3)
"""

ENDLESS = """
import sys
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
print("runs", flush=True)
if MPI.COMM_WORLD.rank:
    MPI.COMM_WORLD.recv()
while True:
    pass
"""


def command(*words, processes=3, options=("--compute", "0")):
    simulate = [sys.executable, "-m", "commmodel", "simulate", "graphene", "run", "-p", str(processes)]
    return [*simulate, *options, "--", *map(str, words)]


def simulate(*words, **options):
    return subprocess.run(command(*words, **options), capture_output=True, text=True, check=False, timeout=900)


@pytest.fixture(scope="module")
def waiting(tmp_path_factory):
    return simulable_program(tmp_path_factory.mktemp("waiting"), WAITING)


@pytest.fixture
def script(tmp_path):
    def write_script(text, name="script.py"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write_script


def processes_of(name):
    """Numbers of the processes whose command line holds a name."""
    numbers = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if name.encode() in words and int(folder.name) != os.getpid():
            numbers.append(int(folder.name))
    return numbers


def test_a_deadlock_names_each_rank_its_call_and_its_line(script):
    done = simulate(sys.executable, script(DEADLOCK))
    assert done.returncode == 2
    assert [line for line in done.stderr.splitlines() if not line.startswith("note:")][-4:] == [
        "commmodel: deadlock: 3 of 3 ranks never end, hybrid",
        "    rank 0 waits in MPI_Recv for a message from rank 1 with tag 4, script.py:5",
        "    rank 1 waits in MPI_Bcast for a message from rank 0, script.py:11",
        "    rank 2 waits in MPI_Ssend until rank 1 receives 10 bytes with tag 3, script.py:13",
    ]


@pytest.mark.skipif(shutil.which("addr2line") is None, reason="no addr2line")
def test_a_deadlock_of_c_names_lines_of_ranks_that_have_gone_on(waiting):
    done = simulate(waiting)
    assert done.returncode == 2
    assert "rank 0 waits in MPI_Recv for a message from rank 1 with tag 4, program.c:7" in done.stderr
    assert "rank 1 waits in MPI_Barrier for a message from rank 0, program.c:16" in done.stderr
    assert "rank 2 waits in MPI_Send until rank 1 receives 1048576 bytes with tag 3, program.c:17" in done.stderr


@pytest.mark.parametrize(
    ("statement", "code", "words"),
    [
        ("sys.exit(3)", 3, "rank 1 ended with exit code 3"),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("comm.Abort(7)", 7, "rank 1 called MPI_Abort with code 7"),
        ("os.kill(os.getpid(), 11)", 139, "rank 1 was ended by SIGSEGV; its last call of MPI: MPI_Init"),
        ("os._exit(0)", 1, "rank 1 ended without MPI_Finalize"),
    ],
)
def test_an_end_of_one_rank_ends_all_with_its_output_and_code(script, statement, code, words):
    text = f"""
import os, sys
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank == 1:
    print("last words", flush=True)
    {statement}
comm.Barrier()
comm.recv()
"""
    path = script(text, f"end_{os.getpid()}.py")
    done = simulate(sys.executable, path)
    assert done.returncode == code
    assert "last words" in done.stdout
    assert words in done.stderr
    assert processes_of(path.name) == []


def test_a_crash_of_c_ends_ranks_that_compute(waiting):
    done = simulate(waiting, "crash")
    assert done.returncode == 134
    assert "SIGABRT" in done.stderr
    assert processes_of(str(waiting)) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("language", ["python", "c"])
def test_nothing_is_left_where_the_simulator_is_ended(language, number, script, request, tmp_path):
    if language == "c":
        name = shutil.copy(request.getfixturevalue("waiting"), tmp_path / "endless")
        words = [name, "endless"]
        name = str(name)
    else:
        name = str(script(ENDLESS, f"endless_{os.getpid()}_{number}.py"))
        words = [sys.executable, name]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it, and so would ours
    try:
        simulator = subprocess.Popen(command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        for _ in range(300):
            if len(processes_of(name)) > 1 and (language == "c" or b"runs" in os.read(simulator.stdout.fileno(), 4)):
                break
            time.sleep(0.1)
        time.sleep(0.5)
        simulator.send_signal(number)
        _, errors = simulator.communicate(timeout=900)
        assert simulator.returncode == (-number if number == signal.SIGKILL else 128 + number)
        if number == signal.SIGINT:
            assert b"commmodel: interrupted" in errors
            assert b"Traceback" not in errors
        for _ in range(50):
            if not processes_of(name):
                break
            time.sleep(0.1)
        assert processes_of(name) == []
    finally:
        simulator.kill()


def test_a_loop_of_probes_advances_simulated_time(script):
    done = simulate(
        sys.executable,
        script("""
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank:
    while MPI.Wtime() < 0.01:
        pass
    world.send("late", 0)
else:
    polls = 0
    while not world.iprobe():
        polls += 1
    print(world.recv(), round(MPI.Wtime(), 3), polls < 1000)
"""),
        processes=2,
    )
    assert "late 0.01 True" in done.stdout, done.stderr


def test_a_rank_that_computes_for_long_is_told_once(script):
    path = script("""
import time
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
end = time.process_time() + 0.3
while time.process_time() < end:
    pass
""")
    done = simulate(sys.executable, path, options=("--compute", "0", "--patience", "100ms"), processes=2)
    lines = [line for line in done.stderr.splitlines() if "has computed for" in line]
    (line,) = lines
    assert line.startswith("commmodel: rank ")
    assert line.endswith("s since MPI_Barrier, script.py:4: others wait until it calls MPI")
    done = simulate(sys.executable, path, options=("--compute", "0", "--patience", "0"), processes=2)
    assert done.returncode == 0
    assert "has computed for" not in done.stderr


def test_clocks_threads_and_blas_are_told_once(script):
    done = simulate(
        sys.executable,
        script("""
import threading
import time
import numpy
from mpi4py import MPI
for _ in range(3):
    time.perf_counter()
thread = threading.Thread(target=time.time)
thread.start()
thread.join()
numpy.ones((9, 9)) @ numpy.ones((9, 9))
"""),
    )
    notes = [line for line in done.stderr.splitlines() if line.startswith("note:")]
    assert notes[:2] == [
        "note: script.py:7 reads time.perf_counter, which is no simulated time: MPI_Wtime is; with --clocks "
        "simulated all are",
        "note: ranks have started threads: only what calls MPI is timed",
    ]
    assert len(notes) == 3
    assert "BLAS" in notes[2]


def test_clocks_of_libraries_and_numpy_without_blas_are_not_told(script):
    done = simulate(
        sys.executable,
        script("""
import logging
import numpy
from mpi4py import MPI
logging.warning("a record has its time")
numpy.sort(numpy.ones(9)).sum()
"""),
    )
    assert done.returncode == 0
    assert "note:" not in done.stderr
