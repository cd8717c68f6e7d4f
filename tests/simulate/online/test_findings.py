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
