"""What is recorded, held against what programs say of themselves: calls, bytes and peers; with each MPI library."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import support
from support.launching import find, launch

from commmodel import record

pytestmark = pytest.mark.mpi
RANKS = 3
RECORD = (sys.executable, "-m", "commmodel", "record", "-o")
EVERY_CALL = Path(support.__path__[0]) / "every_call.c"

OBJECTS = '''
import sys
from collections import Counter
from mpi4py import MPI
from mpi4py.util import pkl5
import numpy as np

count, size, messages = Counter(Init_thread=1, Finalize=1), Counter(), Counter()
pkl5.pickle.THRESHOLD = 1000
world = MPI.COMM_WORLD
rank, after, before = world.rank, (world.rank + 1) % world.size, (world.rank - 1) % world.size
thing = {"name": "x" * 100, "values": list(range(world.rank, 300))}
theirs = {"name": "x" * 100, "values": list(range(before, 300))}
sent, received = len(MPI.pickle.dumps(thing)), len(MPI.pickle.dumps(theirs))

def note(bytes_=0, *names, to=None):
    """Say that functions of MPI have been called, each for so many bytes, and whom a message went to."""
    for name in names:
        count[name] += 1
        size[name] += bytes_
    if to is not None:
        messages[to, "messages"] += 1
        messages[to, "bytes"] += bytes_

# objects: one message each; the receive asks first how long it is
request = world.isend(thing, after, 3)
assert world.recv() == theirs
request.wait()
note(sent, "Isend", to=after), note(received, "Mrecv"), note(0, "Mprobe", "Wait")
assert world.sendrecv(thing, after, 4, None, before, 4) == theirs
note(sent, "Isend", to=after), note(received, "Mrecv"), note(0, "Mprobe", "Wait")
request = world.isend(thing, after)
while (message := world.improbe()) is None:
    note(0, "Improbe")
assert message.recv() == theirs
request.wait()
note(sent, "Isend", to=after), note(received, "Mrecv"), note(0, "Improbe", "Wait")

# a broadcast: their length, then they
assert len(world.bcast(thing if world.rank == 0 else None, 0)) == 2
of_root = len(MPI.pickle.dumps({"name": "x" * 100, "values": list(range(300))}))
note(8, "Bcast"), note(of_root, "Bcast")

# with buffers of their own: their lengths, what is pickled, the buffers
array, their_array = np.zeros(500 + world.rank), np.zeros(500 + before)
request = pkl5.Intracomm(world).isend(array, after)
assert pkl5.Intracomm(world).recv(source=before).size == their_array.size
request.wait()
for names, to, what in ((["Isend"], after, array), (["Recv"], None, their_array)):
    data, buffers = pkl5.pickle.dumps_oob(what)
    assert len(buffers) == 1
    for bytes_ in (16, len(data), buffers[0].nbytes):
        note(bytes_, *names, to=to)
note(0, "Probe", "Waitall")

# communicators, wildcards, waits for any, persistent
half = world.Split(world.rank % 2)
half.Allreduce(np.zeros(5), np.zeros(5))
note(0, "Comm_split"), note(40, "Allreduce")
data = np.zeros((2, 40), "b")
requests = [world.Irecv(data[i], MPI.ANY_SOURCE, MPI.ANY_TAG) for i in range(2)]
for number in range(2):
    world.Send(np.zeros(10 + number, "b"), after, number)
    note(10 + number, "Send", to=after), note(10 + number, "Irecv")
for _ in requests:
    MPI.Request.Waitany(requests)
    note(0, "Waitany")
persistent = [world.Recv_init(data[0], before, 5), world.Send_init(np.zeros(33, "b"), after, 5)]
for _ in range(3):
    MPI.Prequest.Startall(persistent)
    MPI.Request.Waitall(persistent)
    note(0, "Startall", "Waitall"), note(33, to=after)
for request in persistent:
    request.Free()
note(99, "Send_init", "Recv_init"), note(0, "Request_free", "Request_free")

# a window
window = MPI.Win.Allocate(80, 8, comm=world)
window.Fence()
window.Put(np.zeros(4), after)
window.Fence()
window.Free()
note(0, "Win_allocate", "Win_fence", "Win_fence", "Win_free"), note(32, "Put")
half.Free()
note(0, "Comm_free")

MPI.Finalize()
with open(f"{sys.argv[1]}.{rank}", "w") as report:
    for name in count:
        print("MPI_" + name, count[name], size[name], file=report)
    print("to", after, messages[after, "messages"], messages[after, "bytes"], file=report)
'''


def counts_in(report):
    """Return what a program's ranks have said: name -> [count, bytes], and (rank, peer) -> [messages, bytes]."""
    calls, cells = {}, {}
    for rank in range(RANKS):
        for line in report.with_suffix(f".{rank}").read_text().splitlines():
            name, *numbers = line.split()
            if name == "to":
                if int(numbers[1]):
                    cells[rank, int(numbers[0])] = [int(number) for number in numbers[1:]]
                continue
            total = calls.setdefault(name, [0, 0])
            for place, number in enumerate(numbers):
                total[place] += int(number)
    return calls, cells


def reported(folder):
    """Return the same of a recording, as ``commmodel report --json`` has it."""
    words = [sys.executable, "-m", "commmodel", "report", str(folder), "-o", str(folder / "page.html"), "--json"]
    profile = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    calls = {name: [call["count"], call["bytes"]] for name, call in profile["calls"].items()}
    columns = [profile["matrix"][name] for name in ("source", "destination", "messages", "bytes")]
    return calls, {(source, target): [*numbers] for source, target, *numbers in zip(*columns, strict=True)}


def test_every_call_of_a_c_program_is_counted(tmp_path):
    program, folder, report = tmp_path / "every_call", tmp_path / "recording", tmp_path / "report"
    subprocess.run([find("mpicc"), "-w", str(EVERY_CALL), "-o", str(program)], check=True)
    completed = launch(RANKS, *RECORD, folder, "--", program, tmp_path / "file", report)
    assert completed.returncode == 0, completed.stderr
    assert reported(folder) == counts_in(report)
    actions = record.RecordedActions(record.load(folder))
    for rank in range(RANKS):
        assert Counter(line.split()[0] for line in actions.text(rank))
    one_sided = {"Accumulate", "Compare_and_swap", "Fetch_and_op", "Get_accumulate", "Put", "Raccumulate", "Rget",
                 "Rget_accumulate", "Rput"}  # fmt: skip
    left = {name.removeprefix("MPI_") for name in actions.not_carried}
    assert {name for name in left if not name.startswith(("File_", "Win_"))} == one_sided


def test_an_mpi4py_program_is_recorded_as_it_says(tmp_path):
    program, folder, report = tmp_path / "program.py", tmp_path / "recording", tmp_path / "report"
    program.write_text(OBJECTS)
    completed = launch(RANKS, *RECORD, folder, "--", sys.executable, program, report)
    assert completed.returncode == 0, completed.stderr
    assert reported(folder) == counts_in(report)
