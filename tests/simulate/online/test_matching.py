"""Which receive gets which message, in programs that run while they are simulated."""

import pytest
from support.simulated_runs import simulate_script

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

MIXED = """
import random
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
other = world.Dup()
ANY_SOURCE, ANY_TAG, MESSAGES = MPI.ANY_SOURCE, MPI.ANY_TAG, 60

def send(chosen, messages):
    sends = []
    for number, (comm, tag, size) in enumerate(messages):
        sends.append(comm.Isend(np.full(size, float(number)), 1, tag))
        if chosen.random() < 0.5:  # the receiver is ahead of the next
            world.recv()
            world.recv()
    MPI.Request.Waitall(sends)

def receive(chosen, messages):
    wild_requests = chosen.choice((0, 0.5))
    # The receive that is posted first gets the first message that it fits.
    left, open_receives, answers = list(enumerate(messages)), [], 0
    def check(data, status, number):
        assert data[0] == number, (data[0], number)
        assert status.Get_tag() == messages[number][1] and status.Get_source() == 0
    while left:
        number, (comm, tag, _) = left[0] if chosen.random() < 0.7 else chosen.choice(left)
        kind = chosen.choice(("Recv", "Recv", "Sendrecv", "Irecv"))
        wild = chosen.random() < (wild_requests if kind == "Irecv" else 0.6)
        tag = ANY_TAG if wild else tag
        number = next(n for n, (c, t, _) in left if c is comm and tag in (ANY_TAG, t))
        left = [message for message in left if message[0] != number]
        data, status = np.empty(20000), MPI.Status()
        source = ANY_SOURCE if wild and chosen.random() < 0.3 else 0
        if kind == "Irecv":
            open_receives.append((comm.Irecv(data, source, tag), data, number))
            continue
        if kind == "Recv":
            comm.Recv(data, source, tag, status)
        else:
            comm.Sendrecv(np.zeros(1), 2, 7, data, source, tag, status)
        check(data, status, number)
        while open_receives and chosen.random() < 0.5:
            request, data, number = open_receives.pop(0)
            request.Wait(status)
            check(data, status, number)
    for request, data, number in open_receives:
        request.Wait(status)
        check(data, status, number)

for seed in range(12):
    chosen = random.Random(seed)
    tags = chosen.choice((1, 3, 5))
    messages = [
        (chosen.choice((world, world, other)), chosen.randrange(tags), chosen.choice((1, 100, 10000)))
        for _ in range(MESSAGES)
    ]
    if world.rank == 0:
        send(random.Random(seed), messages)
    elif world.rank == 1:
        receive(random.Random(1000 + seed), messages)
        for comm in (world, other):
            comm.Send(np.zeros(1), 2, 8)
    else:
        chosen = random.Random(seed)
        for _ in range(MESSAGES):
            if chosen.random() < 0.5:
                world.send(bytes(100000), 0)
                world.send(None, 0)
        for comm in (world, other):
            status = MPI.Status()
            while status.Get_tag() != 8:
                comm.Recv(np.empty(1), 1, ANY_TAG, status)
    world.Barrier()
print("rank", world.rank, "done")
"""


def test_messages_go_to_the_receive_that_was_posted_first(tmp_path):
    """Receives of one tag, of any, from any source, blocking and not, of messages that are there and that are not."""
    done = simulate_script(tmp_path, MIXED, "--compute", "0", processes=3)
    assert done.returncode == 0, done.stderr
    assert all(f"rank {rank} done" in done.stdout for rank in range(3))
