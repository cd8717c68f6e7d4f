"""However a program ends, and whatever it does with threads and processes: its exit code is its own, the recording
says what is missing; with each MPI library. Programs run without mpiexec where one rank is enough."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from textwrap import dedent

import pytest
from support.launching import ENVIRONMENT, find, launch
from support.recordings import calls

from commmodel import record

pytestmark = pytest.mark.mpi
RECORD = [sys.executable, "-m", "commmodel", "record", "-o"]
THREADS, MESSAGES, NO_THREADS = 4, 2000, 77
PROGRAM = """\
    #include <mpi.h>
    #include <pthread.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/wait.h>
    #include <unistd.h>

    static void *exchange(void *given) {
        MPI_Comm comm = *(MPI_Comm *)given;
        int sent = 1, received = 0;
        MPI_Request request;
        for (int i = 0; i < 2000; i++) {
            MPI_Isend(&sent, 1, MPI_INT, 0, i, comm, &request);
            MPI_Recv(&received, 1, MPI_INT, 0, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        return NULL;
    }

    static void poll(int times) {
        int flag;
        for (int i = 0; i < times; i++) {
            MPI_Iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        }
    }

    int main(int argc, char **argv) {
        const char *what = argv[1];
        int level, rank, status;
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (strcmp(what, "threads") == 0) {
            pthread_t threads[4];
            MPI_Comm comms[4];
            if (level < MPI_THREAD_MULTIPLE) {
                return 77;
            }
            for (int i = 0; i < 4; i++) {
                MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
            }
            for (int i = 0; i < 4; i++) {
                pthread_create(&threads[i], NULL, exchange, &comms[i]);
            }
            for (int i = 0; i < 4; i++) {
                pthread_join(threads[i], NULL);
            }
        } else if (strcmp(what, "exit") == 0) {
            poll(10);
            exit(7);
        } else if (strcmp(what, "fork") == 0) {
            if (fork() == 0) {
                exit(3); /* runs what is to be done at the end, unlike _exit */
            }
            wait(&status);
            poll(10);
            return MPI_Finalize() != 0 || WEXITSTATUS(status) != 3;
        } else if (strcmp(what, "late") == 0) {
            sleep((unsigned)(2 * rank));
        } else if (strcmp(what, "hang") == 0) {
            poll(10);
            MPI_Recv(&level, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        } else if (strcmp(what, "crash") == 0) {
            poll(10);
            abort();
        } else if (strcmp(what, "many") == 0) {
            poll(300000);
            MPI_Finalize();
            return 5;
        } else if (strcmp(what, "after") == 0) {
            MPI_Finalize();
            exit(6);
        }
        return MPI_Finalize();
    }
    """


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.c").write_text(dedent(PROGRAM))
    subprocess.run([find("mpicc"), "-pthread", str(folder / "program.c"), "-o", str(folder / "program")], check=True)
    return str(folder / "program")


def alone(folder, *command):
    """Run a program on one rank and return its exit code and the recording."""
    code = subprocess.run([*RECORD, str(folder), "--", *command], env=ENVIRONMENT, capture_output=True).returncode
    return code, record.load(folder)


def counted(recording):
    return {name: call.count for name, call in record.profile(recording).calls.items()}


def test_threads_of_c(program, tmp_path):
    code, recording = alone(tmp_path / "r", program, "threads")
    if code == NO_THREADS:
        pytest.skip("this MPI library has no MPI_THREAD_MULTIPLE")
    assert (code, recording.faults) == (0, ())
    of_threads = Counter()
    for block in recording.events(0):
        of_threads.update(zip(block.calls["code"].tolist(), block.calls["thread"].tolist(), strict=True))
    numbers = {call.name: call.code for call in record.calls.CALLS}
    for name in ("MPI_Isend", "MPI_Recv", "MPI_Wait"):
        counts = [count for (number, thread), count in of_threads.items() if number == numbers[name] and thread]
        assert counts == [MESSAGES] * THREADS
    assert record.profile(recording).messages == THREADS * MESSAGES


def test_threads_of_python(tmp_path):
    text = f"""if True:
        import threading
        from mpi4py import MPI
        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            MPI.Finalize()
            raise SystemExit({NO_THREADS})
        def exchange(comm):
            for number in range(500):
                assert comm.sendrecv(number, 0, number, None, 0) == number
        threads = [threading.Thread(target=exchange, args=(MPI.COMM_SELF.Dup(),)) for _ in range({THREADS})]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()"""
    code, recording = alone(tmp_path / "r", sys.executable, "-c", text)
    if code == NO_THREADS:
        pytest.skip("this MPI library has no MPI_THREAD_MULTIPLE")
    assert (code, recording.faults) == (0, ())
    assert record.profile(recording).messages == 500 * THREADS
    assert {site.function for site in recording.sites} >= {"exchange"}


@pytest.mark.parametrize(
    ("ending", "code", "fault"),
    [
        ("exit", 7, "exit without MPI_Finalize, code 7"),
        ("crash", -signal.SIGABRT, "its log ends before the program does"),
        ("fork", 0, None),
        ("after", 6, None),
    ],
)
def test_ends_of_c_programs(program, tmp_path, ending, code, fault):
    ended, recording = alone(tmp_path / "r", program, ending)
    assert ended == code
    if fault is None:
        assert recording.faults == ()
    else:
        assert fault in recording.faults[0]
        assert counted(recording)["MPI_Iprobe"] == 10


def polls_so_far(log):
    """Return how many calls of Iprobe a log has, which may be empty still."""
    is_begun = log.exists() and log.read_bytes().startswith(b"CMRECORD")  # the file is there before its header
    return len(calls(log, "Iprobe")) if is_begun else 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_program_that_hangs_is_killed(program, tmp_path, number):
    process = subprocess.Popen([*RECORD, str(tmp_path / "r"), "--", program, "hang"], env=ENVIRONMENT)
    log = tmp_path / "r/rank-000000.log"
    deadline = time.monotonic() + 120
    while polls_so_far(log) < 10 and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(number)
    assert process.wait() == -number
    recording = record.load(tmp_path / "r")
    assert "the process was killed, crashed, or still runs" in recording.faults[0]
    assert counted(recording)["MPI_Iprobe"] == 10


def test_a_rank_that_comes_late_to_the_end(program, tmp_path):
    completed = launch(2, *RECORD, tmp_path / "r", "--", program, "late")
    assert completed.returncode == 0, completed.stderr
    recording = record.load(tmp_path / "r")
    assert recording.faults == ()
    ends = [calls(tmp_path / f"r/rank-{rank:06}.log", "Finalize")[0] for rank in range(2)]
    assert all(end["end"] > end["begin"] for end in ends)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 3 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if os.geteuid() or not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system can be made by root alone")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_file_system(program, small_disk):
    code, recording = alone(small_disk / "r", program, "many")
    assert code == 5
    assert "the disk was full" in recording.faults[0]
    assert 10_000 < counted(recording)["MPI_Iprobe"] < 300_000


def test_a_file_system_without_room_for_a_log(program, small_disk):
    (small_disk / "other").write_bytes(bytes((2 << 20) + (800 << 10)))
    command = [*RECORD, str(small_disk / "r"), "--", program, "after"]
    completed = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert completed.returncode == 6
    assert "No space left on device: not recorded" in completed.stderr
