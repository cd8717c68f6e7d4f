"""Threads of a rank that call MPI at once, in programs that run while they are simulated."""

import pytest
from support.simulated_runs import simulate_script

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

EXCHANGES = """
import threading
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
other, sums = 1 - world.rank, [0.0] * 4
def exchange(tag, size):
    got = np.zeros(size)
    for number in range(5):
        sent = np.full(size, float(number + tag))
        if (world.rank + tag) % 2:
            world.Send(sent, other, tag)
            world.Recv(got, other, tag)
        else:
            world.Probe(other, tag)
            world.Recv(got, other, tag)
            world.Ssend(sent, other, tag)
        sums[tag] += got[-1]
    assert not MPI.Is_thread_main()
threads = [threading.Thread(target=exchange, args=(tag, 10 + 99990 * (tag // 2))) for tag in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert MPI.Is_thread_main()
print(*(int(total) for total in sums), flush=True)
"""

SERVER = """
import threading, time
from mpi4py import MPI

world = MPI.COMM_WORLD
def serve():
    status, ranks = MPI.Status(), world.size
    while ranks:
        number = world.recv(source=MPI.ANY_SOURCE, tag=1, status=status)
        if number is None:
            ranks -= 1
        else:
            world.send(2 * number, status.source, tag=2)
server = threading.Thread(target=serve)
server.start()
time.sleep(0.05)  # the server waits by then
answers = []
for rank in range(world.size):
    world.send(rank, rank, tag=1)
    answers.append(world.recv(source=rank, tag=2))
requests = [world.isend(None, rank, tag=1) for rank in range(world.size)]
server.join()
MPI.Request.waitall(requests)
print(answers, flush=True)
"""

BOTH_SEND = """
import threading
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
data = np.zeros(100000)
thread = threading.Thread(target=lambda: world.Send(data, 1 - world.rank))
thread.start()
thread.join()
world.Recv(data, 1 - world.rank)
"""

BOTH_RECEIVE = """
import threading
from mpi4py import MPI

world = MPI.COMM_WORLD
threads = [threading.Thread(target=world.recv, kwargs={"source": 1 - world.rank, "tag": tag}) for tag in range(2)]
for thread in threads:
    thread.start()
world.send(None, 1 - world.rank, tag=0)
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize(
    ("program", "ranks", "line"),
    [(EXCHANGES, 2, "10 15 20 25"), (SERVER, 3, "[0, 2, 4]")],
    ids=["exchanges", "server"],
)
def test_threads_wait_side_by_side(tmp_path, program, ranks, line):
    done = simulate_script(tmp_path, program, processes=ranks)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines().count(line) == ranks


@pytest.mark.parametrize(
    ("program", "call", "place"),
    [(BOTH_SEND, "MPI_Send", "script.py:8"), (BOTH_RECEIVE, "MPI_Mprobe", "threading.py")],
    ids=["both send", "both receive"],
)
def test_threads_that_wait_for_each_other_are_told(tmp_path, program, call, place):
    done = simulate_script(tmp_path, program, processes=2)
    assert done.returncode == 2
    assert "deadlock: 2 of 2 ranks never end" in done.stderr
    assert call in done.stderr
    assert place in done.stderr
