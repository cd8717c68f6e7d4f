"""The recorded message matrix, against what a program of random messages prints about itself; with each library."""

import json
import sys

import pytest
from support.launching import launch

from commmodel import record

pytestmark = pytest.mark.mpi

PROGRAM = """
import json, sys
import numpy as np
from mpi4py import MPI

seed, steps = int(sys.argv[1]), int(sys.argv[2])
world = MPI.COMM_WORLD
plan = np.random.default_rng(seed)  # the same on all ranks: who sends how much to whom, and how
half = world.Split(world.rank % 2, -world.rank)
sent, received = {}, {}

def note(table, peer, size):
    count = table.setdefault(str(peer), [0, 0])
    count[0] += 1
    count[1] += size

persistent = []
for step in range(steps):
    pairs = plan.integers(0, world.size, (world.size, 2)).tolist()
    sizes = plan.integers(0, 5000, world.size).tolist()
    kinds = plan.choice(["Isend", "Issend", "Send_init"], world.size).tolist()
    any_source = bool(plan.integers(0, 2))
    requests = []
    for tag, ((source, destination), size) in enumerate(zip(pairs, sizes), step * world.size):
        if world.rank == destination:
            asked = MPI.ANY_SOURCE if any_source else source
            requests.append(world.Irecv(np.empty(6000, "b"), asked, tag))
            note(received, source, size)
    for tag, ((source, destination), size, kind) in enumerate(zip(pairs, sizes, kinds), step * world.size):
        if world.rank == source:
            request = getattr(world, kind)(np.zeros(size, "b"), destination, tag)
            if kind == "Send_init":
                request.Start()
                persistent.append(request)
            requests.append(request)
            note(sent, destination, size)
    MPI.Request.Waitall(requests)
    if half.size > 1:  # ranks of another communicator
        peer, size = (half.rank + 1) % half.size, int(plan.integers(1, 999))
        before = (half.rank - 1) % half.size
        half.Sendrecv(np.zeros(size, "b"), peer, 3, np.empty(999, "b"), before, 3)
        of_world = half.group.Translate_ranks([peer, before], world.group)
        note(sent, of_world[0], size)
        note(received, of_world[1], size)
    else:
        plan.integers(1, 999)
for request in persistent:
    request.Free()
print("TRUTH " + json.dumps([world.rank, sent, received]), flush=True)
"""


def printed(text):
    """Return rank -> (sent, received) as the ranks have printed them; lines of ranks may be joined."""
    decoder, truth = json.JSONDecoder(), {}
    for part in text.split("TRUTH ")[1:]:
        (rank, sent, received), _ = decoder.raw_decode(part)
        truth[rank] = sent, received
    return truth


@pytest.mark.parametrize(("ranks", "seed"), [(2, 1), (4, 2), (5, 3)])
def test_the_matrix_is_what_the_program_says(tmp_path, ranks, seed):
    program, folder = tmp_path / "program.py", tmp_path / "recording"
    program.write_text(PROGRAM)
    command = (sys.executable, "-m", "commmodel", "record", "-o", folder, "--", sys.executable, program, seed, 40)
    completed = launch(ranks, *command)
    assert completed.returncode == 0, completed.stderr
    truth = printed(completed.stdout)
    recording = record.load(folder)
    matrix, profile = record.matrix(recording), record.profile(recording)
    sent, messages = matrix.dense("bytes"), matrix.dense("messages")
    assert truth.keys() == set(range(ranks))
    for rank, tables in truth.items():
        for table, bytes_, counts in zip(
            tables, (sent[rank], sent[:, rank]), (messages[rank], messages[:, rank]), strict=True
        ):
            assert [table.get(str(peer), [0, 0]) for peer in range(ranks)] == [
                *map(list, zip(counts, bytes_, strict=True))
            ]
    assert profile.messages == messages.sum()
    assert profile.faults == recording.oversubscription  # each message has found its receive
