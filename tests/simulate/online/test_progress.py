"""Non-blocking collectives that go on beside what their ranks do, in programs that run while they are simulated."""

import re

import pytest
from support.simulated_runs import simulate_script

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

HEADER = """
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
rank, size = world.rank, world.size
first, second = world.Dup(), world.Dup()
def begin(comm):
    total = np.zeros(1, "i")
    return comm.Iallreduce(np.full(1, rank, "i"), total), total
def end(request, total):
    request.Wait()
    assert total[0] == size * (size - 1) // 2
"""

CASES = {
    "waits crosswise": """
one, two = begin(first), begin(second)
end(*(one if rank else two))
end(*(two if rank else one))
""",
    "begins crosswise": """
if rank:
    end(*begin(second))
    end(*begin(first))
else:
    one, two = begin(first), begin(second)
    end(*one)
    end(*two)
""",
    "calls of one communicator in another order": """
one, two = begin(first), begin(first)
end(*(one if rank else two))
end(*(two if rank else one))
""",
    "waits while another rank receives": """
one = begin(first)
if rank == 0:
    end(*one)
    for other in range(1, size):
        world.send(None, other)
else:
    world.recv(source=0)
    end(*one)
""",
    "waits while another rank polls": """
one = begin(first)
if rank == 0:
    end(*one)
    for other in range(1, size):
        world.send(None, other)
else:
    while not world.Iprobe(source=0):
        pass
    world.recv(source=0)
    end(*one)
""",
    "waits behind a receive whose message is known": """
one, two = begin(first), begin(second)
if rank == 0:
    request = second.Ibcast(np.zeros(1), root=0)
    end(*two)
    request.Wait()
    world.send(None, 1)
    end(*one)
else:
    request = second.Ibcast(np.zeros(1), root=0)
    if rank == 1:
        world.recv(source=0)
    end(*two)
    end(*one)
    request.Wait()
""",
    "waits for any, some, and tests": """
both = begin(first), begin(second)
requests = [request for request, _ in both]
if rank == 0:
    while MPI.Request.Waitany(requests) != MPI.UNDEFINED:
        pass
elif rank == 1:
    while not MPI.Request.Testall(requests):
        pass
else:
    while MPI.Request.Waitsome(requests) is not None:
        pass
assert all(total[0] == size * (size - 1) // 2 for _, total in both)
""",
    "between groups": """
half = world.Split(rank % 2, rank)
between = half.Create_intercomm(0, world, 1 - rank % 2)
sums = [np.zeros(1, "i"), np.zeros(1, "i")]
requests = [between.Iallreduce(np.ones(1, "i"), sums[0]), first.Iallreduce(np.ones(1, "i"), sums[1])]
requests[rank == 0].Wait()
requests[rank != 0].Wait()
assert sums[0][0] == between.remote_size and sums[1][0] == size
""",
}


@pytest.mark.parametrize("case", CASES)
def test_collectives_end_in_any_order(tmp_path, case):
    done = simulate_script(tmp_path, HEADER + CASES[case] + "print('done')\n", "--compute", "0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done") == 3


CONSENSUS = """
from mpi4py import MPI
world = MPI.COMM_WORLD
# Ranks do not know who sends to them: all have when a barrier ends that each begins when its messages are received.
requests = [world.issend(world.rank, (world.rank + step) % world.size) for step in range(1, 1 + world.rank)]
got, barrier = [], None
while True:
    if world.Iprobe():
        got.append(world.recv())
    if barrier is None:
        if MPI.Request.Testall(requests):
            barrier = world.Ibarrier()
    elif barrier.Test():
        break
print("rank", world.rank, "got", *sorted(got))
"""


def test_a_barrier_may_be_polled_while_messages_come(tmp_path):
    done = simulate_script(tmp_path, CONSENSUS, "--compute", "0", processes=4)
    assert done.returncode == 0, done.stderr
    lines = ["rank 0 got 2 3", "rank 1 got 3", "rank 2 got 1 3", "rank 3 got 2"]
    assert [line for line in lines if line not in done.stdout] == []


OVERLAP = """
import sys
from mpi4py import MPI
import numpy as np
world, values = MPI.COMM_WORLD, np.zeros(1 << 17)
def seconds(function):
    world.Barrier()
    begin = MPI.Wtime()
    function()
    return MPI.Wtime() - begin
def wait(polls):
    request = world.Iallreduce(MPI.IN_PLACE, values)
    if polls:
        assert not request.Test()
    if world.rank == 0:
        world.Send(values, 1)
    elif world.rank == 1:
        world.Recv(values, 0)
    request.Wait()
def receive():
    if world.rank == 0:
        world.Send(values, 1)
    elif world.rank == 1:
        world.Recv(values, 0)
alone = seconds(lambda: world.Allreduce(MPI.IN_PLACE, values)), seconds(receive)
later, beside = seconds(lambda: wait(False)), seconds(lambda: wait(True))
if world.rank == 1:
    print(f"ratios {later / sum(alone):.6f} {beside / sum(alone):.6f}")
"""


def test_a_collective_is_carried_out_at_its_wait_or_from_the_first_poll_on(tmp_path):
    done = simulate_script(tmp_path, OVERLAP, "--compute", "0", processes=2)
    assert done.returncode == 0, done.stderr
    later, beside = map(float, re.search(r"ratios (\S+) (\S+)", done.stdout).groups())
    assert later == pytest.approx(1.0, rel=1e-6)
    assert 0.5 < beside < 0.99
