"""Buffers that a program uses while operations on them are pending: what a checked run says of them."""

import json

import pytest
from support.simulated_runs import simulable_program, simulate, simulate_script

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

FAULTS = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { MANY = 100000 };
#define IS(word) (strcmp(argv[1], word) == 0)
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const MPI_Comm self = MPI_COMM_SELF;
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int sent[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got[8] = {0};
    int *large = calloc(MANY, sizeof(int)), *large_sent = calloc(MANY, sizeof(int));
    MPI_Datatype every_second;
    MPI_Type_vector(4, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);

    if (IS("write sent")) {
        MPI_Isend(sent, 4, MPI_INT, 0, 0, self, &requests[0]);
        MPI_Initialized(&got[7]);
        sent[3] = 0;
        MPI_Recv(got, 4, MPI_INT, 0, 0, self, MPI_STATUS_IGNORE);
    } else if (IS("write sent, persistent")) {
        MPI_Send_init(sent, 4, MPI_INT, 0, 0, self, &requests[0]);
        sent[0] = 5;
        MPI_Start(&requests[0]);
        sent[0] = 6;
        MPI_Recv(got, 4, MPI_INT, 0, 0, self, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Request_free(&requests[0]);
    } else if (IS("write sent, partitioned")) {
        MPI_Psend_init(sent, 2, 2, MPI_INT, 0, 0, self, MPI_INFO_NULL, &requests[0]);
        MPI_Precv_init(got, 2, 2, MPI_INT, 0, 0, self, MPI_INFO_NULL, &requests[1]);
        MPI_Startall(2, requests);
        sent[0] = 5;
        MPI_Pready(0, requests[0]);
        sent[1] = 7;
        sent[2] = 6;
        MPI_Pready(1, requests[0]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    } else if (IS("write sent, collective")) {
        MPI_Iallreduce(sent, got, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        sent[0] = 9;
    } else if (IS("write received")) {
        MPI_Irecv(got, 4, MPI_INT, 0, 0, self, &requests[0]);
        got[2] = 4;
        MPI_Send(sent, 4, MPI_INT, 0, 0, self);
    } else if (IS("write received, collective")) {
        MPI_Iallgather(sent, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD, &requests[0]);
        got[1] = 4;
    } else if (IS("read received")) {
        MPI_Irecv(large, MANY, MPI_INT, 0, 0, self, &requests[0]);
        printf("%d\n", large[MANY / 2]);
        MPI_Send(large_sent, MANY, MPI_INT, 0, 0, self);
    } else if (IS("write received, large")) {
        MPI_Irecv(large, MANY, MPI_INT, 0, 0, self, &requests[0]);
        large[MANY / 2] = 1;
        MPI_Send(large_sent, MANY, MPI_INT, 0, 0, self);
    } else if (IS("send received")) {
        MPI_Irecv(got, 4, MPI_INT, 0, 0, self, &requests[0]);
        MPI_Send(got + 3, 4, MPI_INT, 0, 0, self);
    } else if (IS("receive sent")) {
        MPI_Isend(sent, 4, MPI_INT, 0, 0, self, &requests[0]);
        MPI_Recv(sent + 2, 4, MPI_INT, 0, 0, self, MPI_STATUS_IGNORE);
    } else if (IS("overlap")) {
        MPI_Irecv(got, 4, MPI_INT, 0, 0, self, &requests[0]);
        MPI_Irecv(got + 3, 4, MPI_INT, 0, 0, self, &requests[1]);
        MPI_Send(sent, 4, MPI_INT, 0, 0, self);
        MPI_Send(sent, 4, MPI_INT, 0, 0, self);
    } else if (IS("exchange")) {
        MPI_Sendrecv(sent, 4, MPI_INT, 0, 0, sent + 3, 4, MPI_INT, 0, 0, self, MPI_STATUS_IGNORE);
    } else if (IS("alias")) {
        MPI_Allreduce(sent, sent + 3, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (IS("alias of blocks")) {
        const int counts[2] = {2, 2}, places[2] = {0, 1};
        MPI_Allgatherv(sent, 2, MPI_INT, got, counts, places, MPI_INT, MPI_COMM_WORLD);
    } else if (IS("freed")) {
        MPI_Isend(large_sent, MANY, MPI_INT, 0, 0, self, &requests[0]);
        MPI_Recv(large, MANY, MPI_INT, 0, 0, self, MPI_STATUS_IGNORE);
        free(large_sent);
        large_sent = NULL;
    } else if (IS("correct")) {
        MPI_Irecv(got, 1, every_second, 0, 0, self, &requests[0]);
        got[1] = got[3] = 5;                                              // in the holes
        MPI_Irecv(got + 1, 1, every_second, 0, 1, self, &requests[1]);  // interlaced
        MPI_Isend(sent, 1, every_second, 0, 0, self, &requests[2]);
        sent[1] = 8;
        MPI_Send(sent, 1, every_second, 0, 1, self);  // what is sent may be sent again
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        MPI_Sendrecv_replace(got, 8, MPI_INT, 0, 0, 0, 0, self, MPI_STATUS_IGNORE);
        MPI_Allreduce(MPI_IN_PLACE, got, 8, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        MPI_Irecv(large, MANY, MPI_INT, 0, 0, self, &requests[0]);
        MPI_Isend(large_sent, MANY, MPI_INT, 0, 0, self, &requests[1]);
        int flag = 0;
        while (!flag) MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
        large[3] = 7;  // it has come
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        large_sent[3] = large[MANY / 2];
        MPI_Irecv(large, MANY, MPI_INT, 0, 0, self, &requests[0]);
        MPI_Cancel(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        large[3] = 8;
    }
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Type_free(&every_second);
    free(large);
    free(large_sent);
    return MPI_Finalize();
}
"""

KINDS = {
    "write sent": ("write to a pending send buffer", "MPI_Recv", "MPI_Isend"),
    "write sent, persistent": ("write to a pending send buffer", "MPI_Recv", "MPI_Start"),
    "write sent, partitioned": ("write to a pending send buffer", "MPI_Pready", "MPI_Pready"),
    "write sent, collective": ("write to a pending send buffer", "MPI_Waitall", "MPI_Iallreduce"),
    "write received": ("write to a pending receive buffer", "MPI_Send", "MPI_Irecv"),
    "write received, collective": ("write to a pending receive buffer", "MPI_Waitall", "MPI_Iallgather"),
    "read received": ("read of a pending receive buffer", "a read", "MPI_Irecv"),
    "write received, large": ("write to a pending receive buffer", "a write", "MPI_Irecv"),
    "send received": ("read of a pending receive buffer", "MPI_Send", "MPI_Irecv"),
    "receive sent": ("write to a pending send buffer", "MPI_Recv", "MPI_Isend"),
    "overlap": ("overlapping receive buffers", "MPI_Irecv", "MPI_Irecv"),
    "exchange": ("read of a pending receive buffer", "MPI_Sendrecv", "MPI_Sendrecv"),
    "alias": ("aliased buffers", "MPI_Allreduce"),
    "alias of blocks": ("aliased buffers", "MPI_Allgatherv"),
    "freed": ("freed pending buffer", "MPI_Waitall", "MPI_Isend"),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return simulable_program(tmp_path_factory.mktemp("programs"), FAULTS)


def findings_of(program, fault, *options):
    """Simulate a fault on two ranks."""
    done = simulate("--compute", "0", "--json", *options, "--", str(program), fault, processes=2)
    assert done.stdout, done.stderr
    return json.loads(done.stdout).get("findings", []), done.returncode


@pytest.mark.parametrize("fault", KINDS)
def test_a_use_of_a_pending_buffer_is_a_finding_with_both_calls(program, fault):
    findings, code = findings_of(program, fault, "--check")
    kind, *calls = KINDS[fault]
    assert [(finding["kind"], finding["ranks"]) for finding in findings] == [(kind, [0, 1])]
    assert [site.partition(",")[0] for site in findings[0]["sites"]] == calls
    assert code == 1


def test_a_write_is_named_between_the_calls_around_it(program):
    findings, _ = findings_of(program, "write sent, partitioned", "--check")
    assert "between MPI_Pready and MPI_Pready" in findings[0]["says"]


def test_the_line_of_a_read_is_named_in_c(program):
    findings, _ = findings_of(program, "read received", "--check")
    line = FAULTS[: FAULTS.index("large[MANY / 2]);")].count("\n") + 1
    assert findings[0]["sites"][0] == f"a read, program.c:{line}"


def test_right_uses_are_no_findings(program):
    assert findings_of(program, "correct", "--check") == ([], 0)


def test_without_checks_nothing_is_said(program):
    assert findings_of(program, "write sent") == ([], 0)


PYTHON = """
import sys
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
got, sent = np.zeros(100_000), np.ones(100_000)
request = comm.Irecv(got, comm.rank, 0)
if "read" in sys.argv:
    print(got.sum())
comm.Send(sent, comm.rank, 0)
request.Wait()
assert got.sum() == 100_000
later = comm.isend(list(range(10_000)), comm.rank)
assert len(comm.recv(source=comm.rank)) == 10_000
later.wait()
"""


@pytest.mark.parametrize("word", ["read", "correct"])
def test_arrays_of_numpy_are_watched_and_stay_right(tmp_path, word):
    done = simulate_script(tmp_path, PYTHON.replace('"read" in sys.argv', str(word == "read")), "--check", "--json")
    kinds = [finding["kind"] for finding in json.loads(done.stdout)["findings"]]
    assert kinds == (["read of a pending receive buffer"] if word == "read" else [])
