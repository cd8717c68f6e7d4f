"""Clocks of programs that run while they are simulated: `--clocks simulated`."""

import sys

import pytest
from support.simulated_runs import simulable_program, simulate, simulate_script

from commmodel import record
from commmodel import simulate as simulating
from commmodel.simulate import online

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

SIMULATED = ("--clocks", "simulated", "--compute", "0")


def lines_of(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_clocks_of_python_tell_simulated_time(tmp_path):
    text = """
import select, time
from mpi4py import MPI
clocks = [time.time, time.monotonic, time.perf_counter, MPI.Wtime]
begin = [clock() for clock in clocks]
time.sleep(30)
select.select([], [], [], 10)
select.poll().poll(5000)
busy = time.process_time()
MPI.COMM_WORLD.Barrier()
print([f"{clock() - earlier:.3f}" for clock, earlier in zip(clocks, begin)], f"{busy:.3f}", flush=True)
"""
    done = simulate_script(tmp_path, text, *SIMULATED, processes=2)
    assert lines_of(done)[:2] == ["['45.000', '45.000', '45.000', '45.000'] 0.000"] * 2
    assert "note: " not in done.stdout + done.stderr


def test_clocks_of_c_tell_simulated_time(tmp_path):
    program = """
#define _GNU_SOURCE
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static double read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}
int main(void) {
    MPI_Init(NULL, NULL);
    const int clocks[] = {CLOCK_REALTIME, CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW,
                          CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME};
    double begin[6];
    for (int i = 0; i < 6; i++) begin[i] = read_clock(clocks[i]);
    struct timeval before, after;
    gettimeofday(&before, NULL);
    const time_t first = time(NULL);
    sleep(7);
    usleep(500000);
    nanosleep(&(struct timespec){2, 0}, NULL);
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += 3;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
    poll(NULL, 0, 500);
    pselect(0, NULL, NULL, NULL, &(struct timespec){1, 0}, NULL);
    for (int i = 0; i < 6; i++) printf("%.3f ", read_clock(clocks[i]) - begin[i]);
    gettimeofday(&after, NULL);
    printf("%.3f %ld ", after.tv_sec - before.tv_sec + 1e-6 * (after.tv_usec - before.tv_usec),
           (long)(time(NULL) - first));
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%.3f %.3f\\n", usage.ru_utime.tv_sec + 1e-6 * usage.ru_utime.tv_usec, (double)clock() / CLOCKS_PER_SEC);
    return MPI_Finalize();
}
"""
    done = simulate(*SIMULATED, "--", str(simulable_program(tmp_path, program)), processes=1)
    assert lines_of(done)[0] == " ".join(["14.000"] * 7 + ["14", "0.000", "0.000"])


def test_clocks_begin_with_the_run_and_go_on_beside_mpi(tmp_path):
    """Before MPI_Init and after MPI_Finalize a sleep passes, too, and no clock goes back."""
    text = """
import time
begin = time.time(), time.monotonic()
time.sleep(2)
from mpi4py import MPI
assert abs(MPI.Wtime() - 2) < 1e-3
MPI.Finalize()
time.sleep(3)
end = time.monotonic() + 1
while time.monotonic() < end:
    pass
print(round(time.time() - begin[0], 1), round(time.monotonic() - begin[1], 1))
"""
    assert lines_of(simulate_script(tmp_path, text, *SIMULATED, processes=2))[:2] == ["6.0 6.0"] * 2


def test_loops_that_wait_for_a_time_end(tmp_path):
    text = """
import time
from mpi4py import MPI
for clock in (time.time, time.process_time, time.perf_counter):
    begin = clock()
    while clock() - begin < 2:
        pass
    print(f"{clock() - begin:.2f}")
"""
    assert lines_of(simulate_script(tmp_path, text, *SIMULATED, processes=1))[:3] == ["2.00"] * 3


def test_readings_between_computation_do_not_make_it_longer(tmp_path):
    """As a loop that only waits would."""
    text = """
import time
from mpi4py import MPI
begin = time.perf_counter()
while time.perf_counter() - begin < 0.5:
    for _ in range(20000):
        pass
print(MPI.Wtime())
"""
    done = simulate_script(tmp_path, text, "--clocks", "simulated", processes=1)
    assert float(lines_of(done)[0]) == pytest.approx(0.5, rel=0.2)
    text = text.replace("while time.perf_counter() - begin < 0.5:", "for _ in range(2000):\n    time.perf_counter()")
    done = simulate_script(tmp_path, text, "--compute", "0", "--clocks", "simulated", processes=1)
    assert float(lines_of(done)[0]) == 0


def test_locks_with_a_time_limit_wait_for_other_threads(tmp_path):
    text = """
import threading, time
from mpi4py import MPI
begin = time.monotonic()
assert not threading.Event().wait(5)
print(round(time.monotonic() - begin, 2))
event = threading.Event()
def set_event():
    time.sleep(0.3)
    event.set()
thread = threading.Thread(target=set_event)
thread.start()
print(event.wait(60), threading.Event().wait(0.2))
thread.join(60)
print(thread.is_alive(), time.monotonic() - begin >= 5.5)
"""
    done = simulate_script(tmp_path, text, *SIMULATED, processes=1)
    assert lines_of(done)[:3] == ["5.0", "True False", "False True"]


def test_children_of_ranks_have_the_clocks_of_this_machine(tmp_path):
    text = """
import os, subprocess, sys, time
from mpi4py import MPI
time.sleep(1000)
text = "import time; begin = time.time(); time.sleep(0.1); print(time.time() - begin < 10, time.time())"
words = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.split()
print(words[0], float(words[1]) < time.time() - 900, flush=True)
child = os.fork()
if child == 0:
    begin = time.time()
    time.sleep(0.1)
    os._exit(0 if time.time() - begin < 10 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert lines_of(simulate_script(tmp_path, text, *SIMULATED, processes=1))[:2] == ["True True", "0"]


def test_a_sleep_of_which_no_clock_knows_is_told(tmp_path):
    text = """
import time
from mpi4py import MPI
begin = time.time()
time.sleep(100)
assert time.time() - begin < 50
"""
    done = simulate_script(tmp_path, text, processes=1)
    lines_of(done)
    notes = [line for line in done.stderr.splitlines() if line.startswith("note: ")]
    assert notes[:2] == [
        "note: script.py:4 reads time.time, which is no simulated time: MPI_Wtime is; with --clocks simulated all are",
        "note: script.py:5 sleeps in simulated time, which takes none here: MPI_Wtime tells it; with --clocks "
        "simulated all clocks do",
    ]


def test_simulated_clocks_of_a_function():
    def seconds(comm):
        import time

        begin = time.time()
        time.sleep(9)
        comm.Barrier()
        return round(time.time() - begin, 3)

    outlets = online.Outlets(clocks="simulated")
    result = simulating.function(seconds, 2, on="graphene", computation=0.0, outlets=outlets)
    assert result.returned == (9.0, 9.0)


def test_recorded_ranks_have_one_clock_and_send_nothing_for_it(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import os, time
time.sleep(os.getpid() % 7 * 1e-3)  # ranks begin at different times
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
""")
    words = [sys.executable, str(program)]
    plain = simulating.command(words, 3, on="graphene", computation=0.0, clocks="simulated", record=True)
    with record.recording_simulated_ranks(words, tmp_path / "recording", "graphene"):
        recorded = simulating.command(words, 3, on="graphene", computation=0.0, clocks="simulated", record=True)
    assert recorded.messages == plain.messages
    recording = record.load(tmp_path / "recording")
    assert not recording.faults
    barriers = [next(iter(recording.events(rank))).calls[1] for rank in range(3)]
    assert len({float(barrier["begin"]) for barrier in barriers}) > 1
    assert max(barrier["begin"] for barrier in barriers) < min(barrier["end"] for barrier in barriers)
