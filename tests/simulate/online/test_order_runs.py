"""Runs of one program in many orders of its messages: all are forks of one process, and how one ends is its own."""

import re

import pytest
from support.simulated_runs import simulable_program, simulate, simulate_script

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

MASTER = """
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *rest(void *unused) {{ for (;;) pause(); }}
int main(int argc, char **argv) {{
    int rank, size, first, value;
    FILE *file = fopen(argv[1], "a");
    fprintf(file, "loaded\\n");
    fclose(file);
    {early}
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {{
        MPI_Recv(&first, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 2; i < size; i++)
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        {late}
    }} else {{
        MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }}
    MPI_Finalize();
    return 0;
}}
"""
HEAD = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
"""


@pytest.fixture
def explored(tmp_path):
    """Return how a program of C on four ranks was explored, and how often it was loaded."""

    def run(early="", late="", options=("--orders", "all")):
        program = simulable_program(tmp_path, MASTER.format(early=early, late=late))
        loads = tmp_path / "loads"
        loads.unlink(missing_ok=True)
        done = simulate(*options, "--", str(program), str(loads), processes=4)
        return done, len(loads.read_text().splitlines())

    return run


def test_a_program_is_loaded_once_for_all_orders(explored):
    done, loads = explored()
    assert done.returncode == 0, done.stderr
    assert "6 orders of messages were run, which are all" in done.stderr
    assert loads == 4 + 1  # the ranks of the first run, and the process of which all others are forks


def test_a_program_with_threads_is_loaded_for_each_rank(explored):
    done, loads = explored(early="pthread_t thread; pthread_create(&thread, NULL, rest, NULL);")
    assert done.returncode == 0, done.stderr
    assert "6 orders of messages were run, which are all" in done.stderr
    assert loads == 4 + 1 + 6 * 4


def test_a_program_with_pipes_runs_from_its_beginning(explored):
    done, loads = explored(early="int ends[2]; if (pipe(ends) != 0) return 1;")
    assert done.returncode == 0, done.stderr
    assert "6 orders of messages were run, which are all" in done.stderr
    assert loads == 4 + 1


def test_each_order_reads_on_where_the_ranks_were_before(tmp_path):
    (tmp_path / "lines").write_text("".join(f"{number}\n" for number in range(100_000)))
    text = f"""
file = open("{tmp_path}/lines")
next(file)
if rank == 0:
    comm.recv(source=MPI.ANY_SOURCE)
    comm.recv(source=MPI.ANY_SOURCE)
    assert [int(line) for line in file] == [*range(1, 100_000)]
else:
    comm.send(rank, 0)
"""
    done = simulate_script(tmp_path, HEAD + text, "--orders", "all")
    assert "2 orders of messages were run, which are all" in done.stderr
    assert "finding" not in done.stderr
    assert done.returncode == 0


def test_what_is_decided_late_follows_what_all_orders_have_in_common(tmp_path):
    text = """
total = comm.allreduce(rank)
part = comm.Split(rank % 2, rank)
print("common", rank, flush=rank == 1)
if part.rank == 0:
    got = [part.recv(source=MPI.ANY_SOURCE) for _ in range(part.size - 1)]
    print(sorted(got) if rank else got)
else:
    part.send(rank, 0)
comm.Barrier()
"""
    done = simulate_script(tmp_path, HEAD + text, "--orders", "all", processes=7)
    assert "12 orders of messages were run, which are all" in done.stderr  # 3! times 2!
    assert done.stderr.count("finding") == 1
    assert re.search(r"prints '\[(\d, ?){2}\d\]' instead of '\[", done.stderr)


def test_a_crash_in_some_orders_is_found_and_replayed_and_ends_no_other(explored):
    done, _ = explored(late="if (first == 3) abort();")
    assert done.returncode == 1
    assert "6 orders of messages were run, which are all" in done.stderr
    [finding] = [line for line in done.stderr.splitlines() if line.startswith("finding: ")]
    assert finding.startswith("finding: message race: rank 0 was ended by SIGABRT")
    assert re.search(
        r"where rank 0 gets the message of rank 3 \(MPI_Send, program.c:23\), not of rank \d "
        r"\(MPI_Send, program.c:23\), in MPI_Recv, program.c:18",
        finding,
    )
    order = re.search(r"--order '([^']+)'", finding)[1]
    again, _ = explored(late="if (first == 3) abort();", options=("--order", order))
    assert again.returncode == 128 + 6
    assert "rank 0 was ended by SIGABRT" in again.stderr


def test_a_first_run_that_fails_is_set_beside_orders_that_do_not(explored):
    done, _ = explored(late="if (first == 1) return 7;")
    assert done.returncode == 7
    assert "finding: message race: rank 0 ended with exit code 7" in done.stderr
    assert "but not where rank 0 gets the message of rank" in done.stderr


def test_a_first_run_that_hangs_is_set_beside_orders_that_do_not(tmp_path):
    text = """
if rank == 0:
    comm.recv(source=MPI.ANY_SOURCE)
    comm.recv(source=2)
else:
    comm.send(rank, 0)
"""
    other = text.replace("source=2", "source=1")
    for program in (text, other):
        done = simulate_script(tmp_path, HEAD + program, "--orders", "all")
        assert "finding: message race: deadlock: 1 of 3 ranks never end" in done.stderr
        assert "2 orders of messages were run, which are all" in done.stderr
        assert done.returncode in (1, 2)


def test_what_fails_in_all_orders_is_no_race(tmp_path):
    text = """
if rank == 0:
    for _ in range(size):
        comm.recv(source=MPI.ANY_SOURCE)
else:
    comm.send(rank, 0)
"""
    done = simulate_script(tmp_path, HEAD + text, "--orders", "all")
    assert done.returncode == 2
    assert "2 orders of messages were run, which are all" in done.stderr
    assert "message race" not in done.stderr
    assert "deadlock: 1 of 3 ranks never end" in done.stderr


def test_orders_of_more_ranks_and_messages(tmp_path):
    text = """
if rank == 0:
    for _ in range(2 * (size - 1)):
        comm.recv(source=MPI.ANY_SOURCE)
else:
    for _ in range(2):
        comm.send(rank, 0)
"""
    done = simulate_script(tmp_path, HEAD + text, "--orders", "all", processes=4)
    assert done.returncode == 0, done.stderr
    assert "90 orders of messages were run, which are all" in done.stderr  # 6! / 2!^3


def test_a_reduction_whose_result_depends_on_its_order_is_a_note(tmp_path):
    text = """
import numpy as np
result = np.empty(2)
comm.Allreduce(np.full(2, [1.0, 1e16, -1e16, 1.0][rank]), result)
comm.Reduce(np.full(2, 0.1 * rank), result)
comm.Allreduce(np.full(2, 0.1 * rank), result, MPI.MAX)
comm.Allreduce(np.full(2, 2.0**rank), result)
comm.Allreduce(np.full(2, rank), np.empty(2, int))
"""
    done = simulate_script(tmp_path, HEAD + text, "--check", "--orders", "2", processes=4)
    assert done.returncode == 0, done.stderr
    notes = [line for line in done.stderr.splitlines() if "order in which ranks are combined" in line]
    assert len(notes) == 2
    assert "MPI_Allreduce" in notes[0]
    assert "results differ by 1.0e+00 of their size" in notes[0]
    assert "MPI_Reduce" in notes[1]
    assert "e-16 of their size" in notes[1]


def test_clocks_are_the_same_in_all_orders(tmp_path):
    text = """
import time
if rank == 0:
    begin, first = time.time(), comm.recv(source=MPI.ANY_SOURCE)
    comm.recv(source=MPI.ANY_SOURCE)
    time.sleep(2)
    assert first == 1 or time.time() - begin < 2
else:
    comm.send(rank, 0)
"""
    done = simulate_script(tmp_path, HEAD + text, "--orders", "all", "--clocks", "simulated")
    assert "finding: message race" in done.stdout + done.stderr


@pytest.mark.parametrize("words", [("--orders", "0"), ("--orders", "some"), ("--order", "0:2;first")])
def test_words_that_are_no_orders_are_refused(words):
    done = simulate(*words, "--", "true")
    assert done.returncode == 2
    assert words[1] in done.stderr
    assert "Traceback" not in done.stderr
