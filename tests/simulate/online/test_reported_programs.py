"""Programs that ran otherwise under mpiexec: the smallest case of each kind."""

import sys

import pytest
from support.simulated_runs import simulable_program, simulate, simulate_script

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]


def in_c(body):
    """Return a program that has its rank and the number of ranks."""
    return f"""
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv) {{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    {body}
    return 0;
}}
"""


def run_c(folder, body, *options, processes=2):
    return simulate(*options, "--", str(simulable_program(folder, in_c(body))), processes=processes)


def test_a_code_returned_after_finalize_ends_no_other_rank(tmp_path):
    done = run_c(tmp_path, 'MPI_Finalize(); printf("rank %d is over\\n", rank); return rank ? 5 : 0;', processes=3)
    assert done.returncode == 5
    assert [line for line in done.stdout.splitlines() if line.startswith("rank")] == [
        f"rank {rank} is over" for rank in range(3)
    ]


def test_partitioned_messages_match_in_the_order_in_which_they_were_made(tmp_path):
    done = run_c(
        tmp_path,
        """
    for (int round = 0; round < 3; round++) {
        int values[3] = {0, 0, 0};
        MPI_Request requests[3];
        for (int i = 0; i < 3; i++)
            rank ? MPI_Precv_init(&values[i], 1, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i])
                 : MPI_Psend_init(&values[i], 1, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
        for (int k = 0; k < 3; k++) {
            const int i = rank ? k : 2 - k;
            MPI_Start(&requests[i]);
            values[i] = rank ? 0 : i + 1;
            if (!rank) MPI_Pready(0, requests[i]);
        }
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        if (rank) printf("got %d %d %d\\n", values[0], values[1], values[2]);
        for (int i = 0; i < 3; i++) MPI_Request_free(&requests[i]);
    }
    MPI_Finalize();""",
    )
    assert done.stdout.count("got 1 2 3\n") == 3, done.stdout + done.stderr


def test_a_synchronous_send_to_oneself_ends_with_its_receive(tmp_path):
    done = run_c(tmp_path, """
    int number, index, value = 1, copy[2];
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++) MPI_Irecv(&copy[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Ssend(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    MPI_Testsome(2, requests, &number, &index, MPI_STATUSES_IGNORE);
    printf("complete: %d, the one of tag %d\\n", number, index);
    MPI_Ssend(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Finalize();""", "--compute", "0", processes=1)  # fmt: skip
    assert "complete: 1, the one of tag 1\n" in done.stdout, done.stderr


def test_threads_on_two_communicators_wait_in_any_order(tmp_path):
    program = """
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
static MPI_Comm communicators[2];
static void *work(void *place) {
    const int own = (int)(long)place, one = 1;
    int sum = 0;
    MPI_Comm copy;
    MPI_Win window;
    for (int i = 0; i < 3; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, communicators[own]);
    MPI_Comm_dup(communicators[own], &copy);
    MPI_Win_create(&sum, own ? sizeof sum : 0, 1, MPI_INFO_NULL, copy, &window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_Comm_free(&copy);
    if (sum != 4) printf("wrong sum: %d\\n", sum);
    return NULL;
}
int main(int argc, char **argv) {
    int provided, rank;
    pthread_t threads[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2; i++) MPI_Comm_dup(MPI_COMM_WORLD, &communicators[i]);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, (void *)(long)(rank % 2 ? 1 - i : i));
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    MPI_Finalize();
}
"""
    done = simulate("--", str(simulable_program(tmp_path, program)), processes=4)
    assert done.returncode == 0, done.stderr
    assert "wrong" not in done.stdout


SLEEPING = """
import select, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank == 1:
    begin = time.monotonic()
    time.sleep(30)
    select.select([], [], [], 10)
    poll = select.poll()
    poll.poll(5000)
    print("took", time.monotonic() - begin < 30)
comm.Barrier()
if comm.rank == 0:
    print("at", round(MPI.Wtime(), 1))
"""


def test_sleeping_takes_simulated_time(tmp_path):
    done = simulate_script(tmp_path, SLEEPING, processes=2)
    assert {"took True", "at 45.0"} <= {*done.stdout.splitlines()}, done.stdout + done.stderr


def test_sleeping_in_c_takes_simulated_time(tmp_path):
    done = run_c(tmp_path, """
    const double begin = MPI_Wtime();
    sleep(7);
    usleep(500000);
    nanosleep(&(struct timespec){2, 0}, NULL);
    poll(NULL, 0, 500);
    if (rank == 0) printf("at %.1f\\n", MPI_Wtime() - begin);
    MPI_Finalize();""", processes=1)  # fmt: skip
    assert "at 10.0\n" in done.stdout, done.stderr


def test_sleeping_beside_threads_without_mpi_takes_its_time(tmp_path):
    """They run in the time of this machine, so that the sleep lasts that long here, too."""
    source = """
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static volatile int is_done;
static void *work(void *unused) {
    usleep(50000);
    is_done = 1;
    return unused;
}
int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    double slept = 0.0;
    for (; !is_done; slept += 0.02) usleep(20000);
    pthread_join(thread, NULL);
    printf("%d %d\\n", slept < 1.0, MPI_Wtime() >= slept);
    return MPI_Finalize();
}
"""
    done = simulate("--", str(simulable_program(tmp_path, source)), processes=1)
    assert "1 1\n" in done.stdout, done.stderr


WAITING_OUTSIDE = """
import os, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank == 0:
    while not os.path.exists("flag"):
        time.sleep(0.05)
    os.mkfifo("pipe")
    comm.send(None, 1)
    print("read", open("pipe").read())
else:
    open("flag", "w").close()
    comm.recv(source=0)
    open("pipe", "w").write("from rank 1")
comm.Barrier()
"""


def test_ranks_that_wait_outside_mpi_let_others_go_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = simulate_script(tmp_path, WAITING_OUTSIDE, processes=2)
    assert "read from rank 1\n" in done.stdout, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "waits outside MPI" in line]
    assert "rank 0" in line
    assert "script.py:9" in line


@pytest.mark.parametrize(
    ("settings", "state"),
    [
        ("", "True 3"),
        ("mpi4py.rc.initialize = False", "False"),
        ("mpi4py.rc.initialize = False; os.environ['MPI4PY_RC_INITIALIZE'] = '1'", "True 3"),
        ("os.environ['MPI4PY_RC_INITIALIZE'] = 'no'", "False"),
        ("os.environ['MPI4PY_RC_THREAD_LEVEL'] = 'funneled'; mpi4py.rc.threads = True", "True 1"),
        ("os.environ['MPI4PY_RC_THREADS'] = 'off'", "True 0"),
        ("del mpi4py.rc, sys.modules['mpi4py.rc']", "True 3"),
    ],
)
def test_settings_of_mpi4py_hold_as_under_mpiexec(tmp_path, settings, state):
    text = f"""
import os, sys
import mpi4py
{settings}
from mpi4py import MPI
print(MPI.Is_initialized(), *([MPI.Query_thread()] if MPI.Is_initialized() else []))
"""
    completed = simulate_script(tmp_path, text, processes=1)
    assert completed.stdout.splitlines()[0] == state, completed.stderr


def test_ranks_share_what_a_median_loads(tmp_path):
    """Each of 1,024 ranks of the benchmark had 14 MB of its own for the names of numpy.ma."""
    done = simulate_script(tmp_path, "import sys, mpi4py.MPI\nprint('numpy.ma' in sys.modules)", processes=2)
    assert done.stdout.splitlines()[:2] == ["True", "True"], done.stderr


POLLING = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank == 0:
    while not comm.iprobe():
        pass
else:
    request = comm.irecv(source=0)
    while not request.test()[0]:
        pass
"""


def test_endless_polls_are_a_deadlock(tmp_path):
    done = simulate_script(tmp_path, POLLING, "--compute", "0", processes=2)
    assert done.returncode == 2
    assert "rank 0 waits in MPI_Iprobe for a message from any rank, script.py:5" in done.stderr
    assert "rank 1 waits in MPI_Test for a message from rank 0, script.py:9" in done.stderr


SESSIONS = r"""
#include <mpi.h>
#include <stdio.h>
int main(void) {
    for (int i = 0; i < 2; i++) {
        MPI_Session session;
        MPI_Group group;
        MPI_Comm communicator;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
        MPI_Comm_create_from_group(group, "x", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &communicator);
        MPI_Barrier(communicator);
        printf("round %d\n", i);
        MPI_Group_free(&group);
        MPI_Comm_free(&communicator);
        MPI_Session_finalize(&session);
    }
}
"""


def test_sessions_begin_any_number_of_times(tmp_path):
    done = simulate("--", str(simulable_program(tmp_path, SESSIONS)), processes=2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("round 1") == 2


@pytest.mark.parametrize("call", ["MPI_Finalize()", "MPI_Comm_rank(MPI_COMM_WORLD, &rank)"])
def test_calls_after_finalize_are_refused(tmp_path, call):
    done = run_c(tmp_path, f"MPI_Finalize();\n{call};")
    assert done.returncode == 1
    assert "after MPI_Finalize" in done.stderr


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("MPI_Allreduce(values, values, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD)", "in MPI_Allreduce: invalid buffer"),
        ("MPI_Reduce(values, other, 1, MPI_INT, MPI_REPLACE, 0, MPI_COMM_WORLD)", "in MPI_Reduce: invalid reduction"),
        ("MPI_Comm_rank(MPI_COMM_WORLD, NULL)", "in MPI_Comm_rank: invalid argument: rank is a null pointer"),
        ("MPI_Type_size(MPI_INT, NULL)", "in MPI_Type_size: invalid argument: size is a null pointer"),
        (
            "rank ? MPI_Recv(values, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) : "
            "MPI_Send(values, 4, MPI_INT, 1, 3, MPI_COMM_WORLD)",
            "in MPI_Recv: message truncated: 16 bytes from rank 0 with tag 3, room for 4, program.c:",
        ),
        (
            "rank ? MPI_Recv(values, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) : "
            "MPI_Send(values, 3, MPI_CHAR, 1, 3, MPI_COMM_WORLD)",
            "in MPI_Recv: invalid datatype: 3 bytes have arrived, which are no whole elements of it, program.c:",
        ),
        ("MPI_Send(NULL, 1, MPI_INT, 1, 3, MPI_COMM_WORLD)", "in MPI_Send: invalid buffer pointer: it is a null"),
        ("MPI_Send(values, 1 << 28, MPI_INT, 1, 3, MPI_COMM_WORLD)", "there is less memory than count and datatype"),
        ("MPI_Gather(values, 1, MPI_INT, NULL, 1, MPI_INT, 0, MPI_COMM_WORLD)", "in MPI_Gather: invalid buffer"),
        ("MPI_Scatter(other, 1, MPI_INT, NULL, 1, MPI_INT, 0, MPI_COMM_WORLD)", "in MPI_Scatter: invalid buffer"),
        ("MPI_Allreduce(NULL, other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)", "in MPI_Allreduce: invalid buffer"),
        (
            "MPI_Comm copy; MPI_Comm_dup(MPI_COMM_WORLD, &copy); if (!rank) MPI_Send(values, 1, MPI_INT, 1, 3, copy);"
            "MPI_Barrier(copy); MPI_Comm_free(&copy)",
            "rank 1: fatal error in MPI_Comm_free: other MPI error: 1 message to this rank never received, program.c:",
        ),
        (
            "MPI_Allreduce(values, other, 1 + rank, MPI_INT, MPI_SUM, MPI_COMM_WORLD)",
            "in MPI_Allreduce: message truncated: 8 bytes from rank 1, 4 from rank 0, program.c:",
        ),
        (
            "MPI_Gatherv(values, 1, MPI_INT, other, NULL, NULL, MPI_INT, 0, MPI_COMM_WORLD)",
            "rank 0: fatal error in MPI_Gatherv: invalid argument: recvcounts is a null pointer, program.c:",
        ),
        (
            "float real = 0; MPI_Allreduce(MPI_IN_PLACE, &real, 1, MPI_FLOAT, MPI_LAND, MPI_COMM_WORLD)",
            "in MPI_Allreduce: invalid reduction operation",
        ),
        (
            "MPI_Win win; MPI_Win_create(values, 16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win); MPI_Win_fence(0, win);"
            "if (!rank) MPI_Put(other, 1, MPI_INT, 1, 0, 1, MPI_INT, win); MPI_Win_free(&win)",
            "rank 0: fatal error in MPI_Win_free: wrong synchronisation of a window, program.c:",
        ),
        (
            "int key; MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);"
            "MPI_Comm_set_attr(MPI_COMM_WORLD, key, values)",
            "in MPI_Comm_set_attr: invalid attribute key",
        ),
        (
            "for (MPI_Comm copy;;) MPI_Comm_dup(MPI_COMM_WORLD, &copy)",
            "in MPI_Comm_dup: other MPI error: more than 2046 communicators and windows at once",
        ),
    ],
)
def test_wrong_calls_are_named_with_what_is_wrong(tmp_path, call, words):
    done = run_c(tmp_path, f"int values[4] = {{0}}, other[4];\n{call};\nMPI_Finalize();")
    assert done.returncode not in (0, 139)
    assert words in done.stderr.splitlines()[-1]


def test_errors_are_returned_where_the_program_wants_that(tmp_path):
    done = run_c(tmp_path, """
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    printf("codes %d %d\\n", MPI_Comm_size(MPI_COMM_WORLD, NULL) == MPI_ERR_ARG,
           MPI_Allreduce(&rank, &rank, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_ERR_BUFFER);
    MPI_Finalize();""", processes=1)  # fmt: skip
    assert "codes 1 1\n" in done.stdout, done.stderr


def test_what_may_be_a_null_pointer_is_taken(tmp_path):
    done = run_c(tmp_path, """
    int first = rank + 1, second = 10 * first, flag, count;
    MPI_Aint places[2];
    MPI_Datatype both;
    MPI_Get_address(&first, &places[0]);
    MPI_Get_address(&second, &places[1]);
    MPI_Type_create_hindexed(2, (int[]){1, 1}, places, MPI_INT, &both);
    MPI_Type_commit(&both);
    MPI_Bcast(MPI_BOTTOM, 1, both, 0, MPI_COMM_WORLD);
    MPI_Gather(&first, 1, MPI_INT, rank ? NULL : (int[2]){0}, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Testall(0, NULL, &flag, NULL);
    MPI_Waitsome(0, NULL, &count, NULL, NULL);
    rank ? MPI_Recv(&second, 100000000, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
         : MPI_Send(&second, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    printf("has %d %d\\n", first, second);
    MPI_Finalize();""")  # fmt: skip
    assert done.stdout.count("has 1 10\n") == 2, done.stderr


def test_the_handler_of_a_new_communicator_gets_its_error(tmp_path):
    done = run_c(tmp_path, """
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    if (MPI_Comm_create_from_group(world, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL) == MPI_ERR_ARG) puts("returned");
    MPI_Finalize();""", processes=1)  # fmt: skip
    assert "returned\n" in done.stdout, done.stderr


def test_a_thread_may_complete_a_generalized_request_after_a_sleep(tmp_path):
    """A second of simulated time was a million polls."""
    source = """
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int query(void *state, MPI_Status *status) { return MPI_Status_set_elements(status, MPI_BYTE, 0); }
static int release(void *state) { return MPI_SUCCESS; }
static int cancel(void *state, int complete) { return MPI_SUCCESS; }
static void *work(void *request) {
    sleep(1000);
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}
int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Request request, copy;
    MPI_Grequest_start(query, release, cancel, NULL, &request);
    copy = request;
    pthread_t thread;
    pthread_create(&thread, NULL, work, &copy);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("at %.0f\\n", MPI_Wtime());
    pthread_join(thread, NULL);
    return MPI_Finalize();
}
"""
    done = simulate("--", str(simulable_program(tmp_path, source)), processes=1)
    assert "at 1000\n" in done.stdout, done.stderr


def test_a_page_of_a_run_in_which_nothing_happens_is_not_written(tmp_path):
    page = tmp_path / "page.html"
    done = simulate_script(tmp_path, "from mpi4py import MPI", "--compute", "0", "-o", str(page), processes=1)
    assert done.returncode == 0
    assert "simulated time" in done.stdout
    assert "note: no page is written: there is nothing to draw, as nothing took any time" in done.stderr
    assert not page.exists()


RING = """
import sys
from mpi4py import MPI
comm = MPI.COMM_WORLD
comm.send(bytes(int(sys.argv[1])), dest=(comm.rank + 1) % comm.size)
comm.recv(source=(comm.rank - 1) % comm.size)
"""


def test_a_program_that_relies_on_buffers_is_a_deadlock_without_them(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(RING)
    program = ["--", sys.executable, str(script)]
    assert simulate(*program, "10").returncode == 0
    done = simulate("--buffering", "zero", *program, "10")
    assert done.returncode == 2
    assert "rank 2 waits in MPI_Send until rank 0 receives" in done.stderr
    assert "script.py:5" in done.stderr
    assert simulate("--buffering", "1KiB", *program, "10").returncode == 0
    assert simulate("--buffering", "1KiB", *program, "2000").returncode == 2
    assert simulate(*program, "1000000").returncode == 2
    assert simulate("--buffering", "infinite", *program, "1000000").returncode == 0


EARLY_ROOT = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
array = bytearray(8)
if comm.rank == 0:
    comm.Bcast(array)
    comm.Send(array, 1)
elif comm.rank == 1:
    comm.Recv(array, 0)
    comm.Bcast(array)
else:
    comm.Bcast(array)
"""


def test_a_root_may_leave_early_only_with_buffers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(EARLY_ROOT)
    assert simulate("--", sys.executable, str(script)).returncode == 0
    done = simulate("--buffering", "zero", "--", sys.executable, str(script))
    assert done.returncode == 2
    assert "rank 1 waits in MPI_Recv for a message from rank 0, script.py:9" in done.stderr
    assert "rank 0 waits in MPI_Bcast" in done.stderr


FORGETTING = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
kept = [comm.Irecv(np.zeros(1), left), comm.Isend(np.ones(1), right)]
comm.Isend(np.ones(2), right, tag=7).Wait()
"""


def test_what_is_never_received_or_completed_is_named(tmp_path):
    done = simulate_script(tmp_path, FORGETTING, processes=2)
    assert done.returncode == 0
    notes = [line for line in done.stderr.splitlines() if line.startswith("note: ")]
    (received,) = [line for line in notes if "never received:" in line]
    assert "16 bytes with tag 7 from rank 1 to rank 0 (MPI_Isend, script.py:7)" in received
    (completed,) = [line for line in notes if "never completed" in line]
    assert "rank 0's of MPI_Irecv, script.py:6; rank 0's of MPI_Isend, script.py:6" in completed


def test_mpi_functions_are_found_by_name_in_the_library_of_the_process(tmp_path):
    """As numba-mpi does: the file of a library that is loaded already, by its name."""
    text = """
import ctypes
from mpi4py import MPI
path, = {line.split()[-1] for line in open("/proc/self/maps") if "/libmpi." in line}
library, comm = ctypes.CDLL(path), ctypes.c_int.from_address(MPI._addressof(MPI.COMM_WORLD))
byte = ctypes.c_int.from_address(MPI._addressof(MPI.BYTE))
buffer = ctypes.create_string_buffer(b"sent" if MPI.COMM_WORLD.rank == 0 else b"none")
assert library.MPI_Bcast(buffer, 4, byte, 0, comm) == 0
print(buffer.value)
"""
    completed = simulate_script(tmp_path, text, processes=3)
    assert completed.stdout.splitlines()[:3] == ["b'sent'"] * 3, completed.stderr
