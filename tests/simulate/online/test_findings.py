"""Wrong uses of MPI that a checked run names: kind, call and line, and ranks."""

import json

import pytest
from support.simulated_runs import simulate_script

from commmodel import simulate
from commmodel.errors import RankEndedError
from commmodel.simulate import Finding
from commmodel.simulate.online import Outlets

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

LEFT_OPEN = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
comm.Irecv(bytearray(4), source=0, tag=9)
comm.isend(3, dest=(comm.rank + 1) % comm.size, tag=2)
comm.Barrier()
"""


def findings_of(folder, text, processes=3, code=1):
    """Simulate a script with checks; return its findings."""
    done = simulate_script(folder, text, "--compute", "0", "--check", "--json", processes=processes)
    assert done.returncode == code, done.stderr
    findings = json.loads(done.stdout)["findings"]
    assert [line for line in done.stderr.splitlines() if line.startswith("finding: ")] == [
        f"finding: {finding['says']}" for finding in findings
    ]
    return findings


def test_findings_of_the_same_call_are_one_with_all_ranks(tmp_path):
    findings = findings_of(tmp_path, LEFT_OPEN)
    by_call = {(finding["kind"], *finding["sites"]): (finding["ranks"], finding["times"]) for finding in findings}
    assert by_call["request never completed", "MPI_Irecv, script.py:4"] == ([0, 1, 2], 3)
    assert by_call["request never completed", "MPI_Isend, script.py:5"] == ([0, 1, 2], 3)
    assert by_call["message never received", "MPI_Isend, script.py:5"] == ([0, 1, 2], 3)


def test_without_checks_there_are_notes_and_no_findings(tmp_path):
    done = simulate_script(tmp_path, LEFT_OPEN, "--compute", "0")
    assert done.returncode == 0
    assert "finding:" not in done.stderr
    assert "note: requests never completed" in done.stderr


def unreceived(comm):
    if comm.rank == 0:
        comm.send(1, dest=1)
    comm.Barrier()
    if comm.rank == 0:
        comm.Recv(bytearray(1), source=1)


def test_a_deadlock_names_messages_that_were_never_received_too():
    result = simulate.function(
        unreceived, 2, on="graphene", computation=0.0, outlets=Outlets(check=True), deadlock="return"
    )
    assert [blocked.rank for blocked in result.blocked] == [0]
    assert [finding.kind for finding in result.findings] == ["message never received"]


def left_by_an_error(comm):
    comm.Isend(bytearray(1), dest=0).Free()
    comm.Barrier()
    raise ValueError(comm.rank)


def test_an_error_that_ends_the_run_has_a_kind_and_the_findings_before():
    with pytest.raises(RankEndedError) as caught:
        simulate.function(left_by_an_error, 2, on="graphene", computation=0.0, outlets=Outlets(check=True))
    assert caught.value.kind == "exception"
    assert "message never received" in {finding.kind for finding in caught.value.findings}


def test_a_finding_lists_ranges_of_ranks_and_how_often():
    finding = Finding("leak of a group", "never freed", (0, 1, 2, 5), ("MPI_Comm_group, a.c:3",), 9)
    assert str(finding) == "leak of a group: never freed: MPI_Comm_group, a.c:3 (ranks 0-2, 5, 9 times)"


LEAKS = {
    "comm.Dup()": ("leak of a communicator", "MPI_Comm_dup"),
    "comm.Get_group()": ("leak of a group", "MPI_Comm_group"),
    "MPI.INT.Create_contiguous(2)": ("leak of a datatype", "MPI_Type_contiguous"),
    "MPI.Op.Create(lambda *_: None)": ("leak of an operation", "MPI_Op_create"),
    "MPI.Win.Allocate(8, comm=comm)": ("leak of a window", "MPI_Win_allocate"),
    "comm.Send_init(bytearray(1), dest=0)": ("leak of a request", "MPI_Send_init"),
    "comm.Recv_init(bytearray(1), source=0).Wait()": ("request never started", "MPI_Recv_init"),
    "comm.Irecv(bytearray(1), source=MPI.PROC_NULL).Free()": ("request never completed", "MPI_Irecv"),
    "comm.Ibarrier().Free()": ("request never completed", "MPI_Ibarrier"),
    "kept = comm.Isend(bytearray(1), MPI.PROC_NULL); comm.Ibarrier().Wait(); kept.Free()": (
        "request never completed",
        "MPI_Isend",
    ),
}


@pytest.mark.parametrize("statement", LEAKS)
def test_what_a_program_does_not_give_back_is_named_with_the_call_that_made_it(statement, tmp_path):
    findings = findings_of(tmp_path, f"from mpi4py import MPI\ncomm = MPI.COMM_WORLD\n{statement}\n", processes=2)
    kind, call = LEAKS[statement]
    assert (kind, [f"{call}, script.py:3"], [0, 1]) in [
        (finding["kind"], finding["sites"], finding["ranks"]) for finding in findings
    ]


def test_a_leaked_communicator_is_one_leak_whatever_its_attributes_hold(tmp_path):
    # mpi4py sends the objects of collectives in a duplicate, which it keeps as an attribute
    script = "from mpi4py import MPI\nleaked = MPI.COMM_WORLD.Dup()\nleaked.bcast(1)\n"
    findings = findings_of(tmp_path, script, processes=2)
    assert [finding["sites"] for finding in findings] == [["MPI_Comm_dup, script.py:2"]]


CORRECT = """
import numpy as np
from mpi4py import MPI
from mpi4py.util import pkl5
comm = MPI.COMM_WORLD
right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
x, y = np.arange(8.0), np.zeros(8)
comm.Isend(x, dest=right).Free()  # a send may be forgotten
comm.Recv(y, source=left)
pair = [comm.Send_init(x, dest=right), comm.Recv_init(y, source=left)]
MPI.Request.Waitall(pair)  # of requests that have not been started yet
for _ in range(2):
    MPI.Prequest.Startall(pair)
    MPI.Request.Waitall(pair)
for request in pair:
    request.Free()
comm.send([1], dest=right, tag=2)
comm.recv(source=MPI.ANY_SOURCE, tag=2)
comm.allreduce(comm.rank), comm.gather(comm.rank), comm.alltoall([1] * comm.size), comm.scan(1), comm.bcast("words")
part = comm.Split(comm.rank % 2)
part.Barrier()
part.Free()
vector = MPI.DOUBLE.Create_vector(2, 1, 2).Commit()
z = np.zeros(8)
comm.Sendrecv([x, 1, vector], dest=right, recvbuf=[z, 2, MPI.DOUBLE], source=left)
empty = MPI.DOUBLE.Create_vector(0, 1, 1).Commit()
nothing = [None, ([1] * comm.size, [0] * comm.size), [empty] * comm.size]
comm.Alltoallw(nothing, nothing)  # both at a null pointer, where no byte is
empty.Free()
row = np.zeros(2 * comm.size)
comm.Allgather([x, 1, vector], [row, 2, MPI.DOUBLE])
vector.Free()
for handle in (comm.Get_group(), MPI.Op.Create(lambda *_: None), MPI.Win.Create(x, comm=comm), comm.Create_cart([3])):
    handle.Free()
comm.Reduce_scatter_block(np.ones(3 * comm.size, "i4"), np.zeros(3, "i4"))
comm.Allgatherv(np.full(comm.rank + 1, 1.0), [np.zeros(6), [1, 2, 3]])
comm.Sendrecv(x, dest=right, recvbuf=bytearray(64), source=left)  # bytes are of any type
long = pkl5.Intracomm(comm)
long.send(np.ones(9), dest=right)
long.recv()
comm.Ibarrier().Wait()
grid = comm.Create_cart([comm.size], periods=[True])
grid.neighbor_allgather(1)
grid.Free()
"""


def test_a_correct_program_is_not_accused(tmp_path):
    assert findings_of(tmp_path, CORRECT, code=0) == []


def test_types_that_differ_between_sender_and_receiver_are_named_with_both_calls(tmp_path):
    (finding,) = findings_of(
        tmp_path,
        """
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank == 0:
    comm.Send(np.zeros(4, "f4"), dest=1)
else:
    comm.Recv(np.zeros(4, "i4"), source=0)
""",
        processes=2,
    )
    assert finding["kind"] == "type signature"
    assert finding["sentence"] == "4 float sent, 4 int32 received"
    assert finding["sites"] == ["MPI_Send, script.py:6", "MPI_Recv, script.py:8"]


STRUCTS = """
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
types = [MPI.INT, MPI.DOUBLE] if comm.rank == 0 else {types}
pair = MPI.Datatype.Create_struct([1, 1], [0, 8], types).Commit()
data = bytearray(64)
if comm.rank == 0:
    comm.Send([data, {sent}, pair], dest=1)
else:
    comm.Recv([data, {received}, pair], source=0)
pair.Free()
"""


@pytest.mark.parametrize(
    ("types", "sent", "received", "code"),
    [
        ("[MPI.INT, MPI.DOUBLE]", 2, 3, 0),
        ("[MPI.INT32_T, MPI.DOUBLE]", 2, 2, 0),
        ("[MPI.DOUBLE, MPI.INT]", 2, 2, 1),
        ("[MPI.INT, MPI.LONG]", 1, 2, 1),
    ],
)
def test_signatures_of_structs_are_compared_element_by_element(types, sent, received, code, tmp_path):
    findings_of(tmp_path, STRUCTS.format(types=types, sent=sent, received=received), processes=2, code=code)


COLLECTIVE = {
    "comm.Bcast(np.zeros(2, 'i4' if comm.rank else 'f4'))": "type signature",
    "comm.Bcast(np.zeros(2 + comm.rank, 'i4')[: 1 + comm.rank * 2])": "type signature",
    "comm.Allreduce(np.zeros(1, 'i4' if comm.rank else 'f4'), np.zeros(1, 'i4' if comm.rank else 'f4'))": (
        "type signature"
    ),
    "comm.Allreduce(np.zeros(1), np.zeros(1), MPI.MAX if comm.rank else MPI.SUM)": "operations of a reduction",
    "comm.Gather(np.zeros(1, 'f4'), np.zeros(2, 'i4') if comm.rank == 0 else None)": "type signature",
    "comm.Ibcast(np.zeros(1)).Wait() if comm.rank == 0 else comm.Barrier": "collectives in different orders",
    "comm.Ibcast(np.zeros(1)).Wait() if comm.rank == 0 else comm.Bcast(np.zeros(1), root=1)": (
        "collectives in different orders"
    ),
}


@pytest.mark.parametrize("statement", COLLECTIVE)
def test_collectives_that_differ_between_ranks_are_named_though_nobody_waits(statement, tmp_path):
    text = f"import numpy as np\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\n{statement}\n"
    assert COLLECTIVE[statement] in [finding["kind"] for finding in findings_of(tmp_path, text, processes=2)]
