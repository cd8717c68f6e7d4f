"""Programs that rely on buffers or on the order of messages: what --check, --orders and --order say of them."""

import re

import pytest
from support.simulated_runs import simulate_script

from commmodel.errors import InputError
from commmodel.simulate.online.decisions import order_text, parse_order

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

HEAD = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
"""

RACE = """
if rank == 0:
    first = comm.recv(source=MPI.ANY_SOURCE)
    second = comm.recv(source=MPI.ANY_SOURCE)
    assert first == 1, "the first message is not of rank 1"
else:
    comm.send(rank, 0)
"""


@pytest.fixture
def run(tmp_path):
    def run_program(text, *options, processes=3):
        return simulate_script(tmp_path, HEAD + text, *options, processes=processes)

    return run_program


def orders(done):
    if "no other order of messages is possible" in done.stderr:
        return 1
    return int(re.search(r"(\d+) orders of messages were run, which are all", done.stderr)[1])


RING = "comm.Send(bytearray(60000), (rank + 1) % size)\ncomm.Recv(bytearray(60000), (rank - 1) % size)\n"


def test_a_ring_of_sends_relies_on_buffering(run):
    done = run(RING, "--check")
    assert done.returncode == 1
    assert (
        "finding: relies on buffering: where no send ends before its receive, rank 0 waits until rank 1" in done.stderr
    )
    assert "MPI_Send, script.py:5 (ranks 0-2)" in done.stderr


SAFE = {
    "sendrecv": "comm.sendrecv(rank, (rank + 1) % size, source=(rank - 1) % size)",
    "nonblocking": """
requests = [comm.isend(rank, (rank + 1) % size), comm.irecv(source=(rank - 1) % size)]
MPI.Request.waitall(requests)
""",
    "odd and even": """
for step in (0, 1):
    if rank % 2 == step:
        for other in range(size):
            if other % 2 != step: comm.send(rank, other)
    else:
        for other in range(size):
            if other % 2 == step: comm.recv(source=MPI.ANY_SOURCE)
    comm.Barrier()
""",
    "collectives": """
request = comm.Ibarrier()
if rank == 0:
    comm.send(1, 1)
elif rank == 1:
    comm.recv(source=0)
request.Wait()
part = comm.Split(rank % 2, rank)
part.allreduce(1)
part.Free()
comm.gather(rank)
""",
    "buffered": """
MPI.Attach_buffer(bytearray(10000))
comm.bsend(rank, (rank + 1) % size)
comm.recv(source=(rank - 1) % size)
MPI.Detach_buffer()
""",
}


@pytest.mark.parametrize("program", SAFE)
def test_a_safe_program_does_not_rely_on_buffering(run, program):
    done = run(SAFE[program], "--check")
    assert "relies on buffering" not in done.stderr
    assert done.returncode == 0, done.stderr


def test_a_race_is_found_in_the_other_order_and_replayed(run):
    assert run(RACE, "--compute", "0").returncode == 0
    done = run(RACE, "--orders", "all")
    assert done.returncode == 1
    assert orders(done) == 2
    assert (
        "finding: message race: rank 0 ended with exit code 1, where rank 0 gets the message of rank 2" in done.stderr
    )
    assert (
        "(MPI_Send, script.py:11), not of rank 1 (MPI_Send, script.py:11), in recv (MPI_Mprobe), script.py:7"
        in done.stderr
    )
    order = re.search(r"--order '([^']+)'", done.stderr)[1]
    again = run(RACE, "--order", order)
    assert again.returncode == 1
    assert "AssertionError: the first message is not of rank 1" in again.stderr


COUNTED = {
    "receives": (2, "comm.recv(source=MPI.ANY_SOURCE)"),
    "probes": (2, "comm.recv(source=probed(comm.Probe))"),
    "polls": (2, "comm.recv(source=probed(comm.Iprobe))"),
}
WORKERS = """
def probed(probe):
    status = MPI.Status()
    while probe(MPI.ANY_SOURCE, MPI.ANY_TAG, status) is False:
        pass
    return status.Get_source()

if rank == 0:
    for _ in range(size - 1):
        {}
else:
    comm.send(rank, 0)
"""


@pytest.mark.parametrize("program", COUNTED)
def test_each_matching_is_run_once(run, program):
    """Three workers send one message each: 3! matchings."""
    done = run(WORKERS.format(COUNTED[program][1]), "--orders", "all", processes=4)
    assert done.returncode == 0, done.stderr
    assert orders(done) == 6


WAITANY = """
if rank == 0:
    requests = [comm.irecv(source=source) for source in range(1, size)]
    for _ in requests:
        place, value = MPI.Request.waitany(requests)
        print("value", value)
        break
    MPI.Request.waitall(requests)
else:
    comm.send(rank, 0)
"""


def test_requests_complete_in_any_order(run):
    done = run(WAITANY, "--orders", "all")
    assert done.returncode == 1
    assert orders(done) == 2
    assert "output depends on the order of messages: prints 'value 2' instead of 'value 1'" in done.stderr
    assert "where rank 0 completes request 1 of the list, not 0, in MPI_Waitany, script.py:9" in done.stderr


ORDERED = {
    "by another receive": """
if rank == 0:
    comm.recv(source=MPI.ANY_SOURCE)
    comm.send(0, 2)
    comm.recv(source=MPI.ANY_SOURCE)
elif rank == 1:
    comm.send(rank, 0)
else:
    comm.recv(source=0)
    comm.send(rank, 0)
""",
    "by a barrier": """
if rank == 0:
    comm.recv(source=MPI.ANY_SOURCE)
comm.Barrier() if rank != 1 else (comm.send(rank, 0), comm.Barrier())
if rank == 0:
    comm.recv(source=MPI.ANY_SOURCE)
elif rank == 2:
    comm.send(rank, 0)
""",
    "by tags": """
if rank == 0:
    comm.recv(source=MPI.ANY_SOURCE, tag=2)
    comm.recv(source=MPI.ANY_SOURCE, tag=1)
else:
    comm.send(rank, 0, tag=rank)
""",
}


@pytest.mark.parametrize("program", ORDERED)
def test_messages_that_follow_one_another_have_one_order(run, program):
    done = run(ORDERED[program], "--orders", "all")
    assert done.returncode == 0, done.stderr
    assert orders(done) == 1


BEHIND = """
if rank == 0:
    first = comm.recv(source=MPI.ANY_SOURCE)
    comm.recv(source=MPI.ANY_SOURCE)
    if first == 3:
        comm.send(0, 1)
elif rank == 1:
    print("got", comm.recv(source=MPI.ANY_SOURCE, tag=0))
elif rank == 2:
    comm.send(2, 0)
    comm.send(2, 1)
else:
    comm.send(3, 0)
"""


def test_a_choice_that_only_another_choice_allows_is_run(run):
    """Rank 0 sends to rank 1 only where it has got rank 3's message first."""
    done = run(BEHIND, "--orders", "all", processes=4)
    assert orders(done) == 3
    assert "prints 'got 0' instead of 'got 2'" in done.stderr


def test_fewer_orders_than_there_are_are_told(run):
    done = run(WORKERS.format(COUNTED["receives"][1]), "--orders", "3", processes=4)
    assert "3 orders of messages were run; at least" in done.stderr
    assert "more are possible, and unknown" in done.stderr


def test_an_order_is_read_as_it_is_written():
    choices = {(0, 0): 2, (0, 2): 1, (5, 0): 3}
    assert parse_order(order_text(choices)) == choices
    for text in ("0", "a:1", "0:1,x", "0:-1"):
        with pytest.raises(InputError, match="an order is as a finding says it"):
            parse_order(text)


def test_measured_computation_is_refused(run):
    done = run(RACE, "--orders", "2", "--compute", "measured")
    assert done.returncode == 2
    assert "no two runs with --orders or --order would be alike" in done.stderr


TESTED = {
    "an operation that is over": (
        2,
        """
if rank == 0:
    request = comm.irecv(source=1)
    comm.Barrier()
    is_over, _ = request.test()
    print("over", is_over)
    if not is_over: request.wait()
else:
    if rank == 1: comm.send(rank, 0)
    comm.Barrier()
""",
        "prints 'over False' instead of 'over True', where rank 0 finds nothing, in MPI_Test, script.py:9",
    ),
    "a message that may come sooner": (
        2,
        """
if rank == 0:
    print("there", comm.Iprobe(source=1))
    comm.recv(source=1)
elif rank == 1:
    comm.send(rank, 0)
""",
        "prints 'there True' instead of 'there False', where rank 0 finds what it looks for at once, in MPI_Iprobe",
    ),
    "a message that follows the test": (
        1,
        """
if rank == 0:
    print("there", comm.Iprobe(source=1))
    comm.send(rank, 1)
    comm.recv(source=1)
elif rank == 1:
    comm.recv(source=0)
    comm.send(rank, 0)
""",
        "",
    ),
    "loops that do nothing else": (
        1,
        """
if rank == 0:
    first, second = (comm.irecv(source=source) for source in (1, 2))
    while not first.test()[0]: pass
    comm.Barrier()
    while not second.test()[0]: pass
else:
    comm.send(rank, 0)
    comm.Barrier()
""",
        "",
    ),
    "a loop that does something else": (
        3,
        """
if rank == 0:
    steps = 0
    while not comm.Iprobe(source=1):
        steps += 1
        comm.send(rank, 2)
        comm.recv(source=2)
    comm.recv(source=1)
    comm.send(None, 2)
elif rank == 1:
    comm.send(rank, 0)
else:
    while comm.recv(source=0) is not None:
        comm.send(rank, 0)
""",
        "",
    ),
}


@pytest.mark.parametrize("program", TESTED)
def test_tests_find_what_they_may_find(run, program):
    count, text, finding = TESTED[program]
    done = run(text, "--orders", "all")
    assert orders(done) == count
    assert done.stderr.count("finding: ") == bool(finding)
    assert finding in done.stderr
