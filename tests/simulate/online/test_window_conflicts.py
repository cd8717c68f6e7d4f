"""Accesses to windows that conflict: what a checked run says of them."""

import json

import pytest
from support.simulated_runs import simulable_program, simulate

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

ACCESSES = r"""
#include <mpi.h>
#include <string.h>
#define IS(word) (strcmp(argv[1], word) == 0)
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, *base, value = 5, result = 0, zero = 0;
    float real = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win window;
    MPI_Win_allocate(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    memset(base, 0, 8 * sizeof(int));
    MPI_Win_fence(0, window);

    if (IS("two puts") && rank > 0) MPI_Put(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
    if (IS("put and get") && rank == 1) MPI_Put(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
    if (IS("put and get") && rank == 2) MPI_Get(&result, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
    if (IS("put and store") && rank == 1) MPI_Put(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
    if (IS("put and store") && rank == 0) base[3] = 7;
    if (IS("types") && rank == 1) MPI_Accumulate(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, MPI_SUM, window);
    if (IS("types") && rank == 2) MPI_Accumulate(&real, 1, MPI_FLOAT, 0, 3, 1, MPI_FLOAT, MPI_SUM, window);
    if (IS("puts of one rank") && rank == 1)
        for (int i = 0; i < 2; i++) MPI_Put(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
    if (IS("barrier") && rank > 0) {
        if (rank == 1) MPI_Put(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
    }
    if (IS("barrier")) MPI_Barrier(MPI_COMM_WORLD);  // does not end a put
    if (IS("barrier") && rank == 2) MPI_Put(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
    if (IS("origin") && rank == 1) MPI_Put(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, window), value = 6;
    if (IS("result") && rank == 1) MPI_Get(&result, 1, MPI_INT, 0, 3, 1, MPI_INT, window), result = 6;
    MPI_Win_fence(0, window);

    if (IS("shared locks") && rank > 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        MPI_Put(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
        MPI_Win_unlock(0, window);
    }
    if (IS("flushed locally")) {
        MPI_Win_lock_all(0, window);
        if (rank == 1) MPI_Put(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
        MPI_Win_flush_local_all(window);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 2) MPI_Get(&result, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
        MPI_Win_unlock_all(window);
    }

    if (IS("correct")) {
        if (rank > 0) MPI_Put(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, window);
        for (int i = 0; i < 2000; i++)  // more than the ring of operations holds
            MPI_Accumulate(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, MPI_SUM, window);
        if (rank == 0) base[5] = 7;
        MPI_Win_fence(0, window);
        if (rank > 0) MPI_Get(&result, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
        MPI_Win_fence(0, window);
        base[3] = value = result = 1;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Put(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
        MPI_Win_unlock(0, window);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, window);
        if (rank == 1) MPI_Put(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
        MPI_Win_flush_all(window);
        if (rank == 1) MPI_Ssend(NULL, 0, MPI_INT, 2, 0, MPI_COMM_WORLD);
        if (rank == 2) MPI_Recv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 2) MPI_Get(&result, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
        MPI_Win_flush_all(window);
        MPI_Barrier(MPI_COMM_WORLD);
        int owner = 1;  // a lock by atomic operations
        while (owner != 0) {
            MPI_Compare_and_swap(&value, &zero, &owner, MPI_INT, 0, 7, window);
            MPI_Win_flush(0, window);
        }
        MPI_Put(&value, 1, MPI_INT, 0, 6, 1, MPI_INT, window);
        MPI_Win_flush(0, window);
        MPI_Fetch_and_op(&zero, &owner, MPI_INT, 0, 7, MPI_REPLACE, window);
        MPI_Win_unlock_all(window);
        MPI_Group world, others;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        const int first = 0, rest[2] = {1, 2};
        MPI_Group_incl(world, rank == 0 ? 2 : 1, rank == 0 ? rest : &first, &others);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 2; i++) {
            if (rank == 0) base[rank] = i;
            if (rank == 0) MPI_Win_post(others, 0, window), MPI_Win_wait(window);
            if (rank == 0) base[1] = i + 9;
            if (rank == 0) continue;
            MPI_Win_start(others, 0, window);
            MPI_Put(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, window);
            MPI_Win_complete(window);
        }
        MPI_Group_free(&world);
        MPI_Group_free(&others);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&window);
    return MPI_Finalize();
}
"""

CONFLICT = "conflicting accesses to a window"
KINDS = {
    "two puts": (CONFLICT, [1, 2], {"MPI_Put"}),
    "put and get": (CONFLICT, [1, 2], {"MPI_Put", "MPI_Get"}),
    "put and store": (CONFLICT, [0, 1], {"MPI_Put", "MPI_Win_fence"}),
    "types": (CONFLICT, [1, 2], {"MPI_Accumulate"}),
    "puts of one rank": (CONFLICT, [1], {"MPI_Put"}),
    "barrier": (CONFLICT, [1, 2], {"MPI_Put"}),
    "shared locks": (CONFLICT, [1, 2], {"MPI_Put"}),
    "flushed locally": (CONFLICT, [1, 2], {"MPI_Put", "MPI_Get"}),
    "origin": ("write to a pending origin buffer", [1], {"MPI_Put", "MPI_Win_fence"}),
    "result": ("write to a pending origin buffer", [1], {"MPI_Get", "MPI_Win_fence"}),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return simulable_program(tmp_path_factory.mktemp("programs"), ACCESSES)


def findings_of(program, fault):
    """Simulate accesses on three ranks."""
    done = simulate("--compute", "0", "--json", "--check", "--", str(program), fault)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)["findings"]


@pytest.mark.parametrize("fault", KINDS)
def test_a_conflict_is_a_finding_with_both_calls(program, fault):
    findings = findings_of(program, fault)
    kind, ranks, calls = KINDS[fault]
    assert [(finding["kind"], finding["ranks"]) for finding in findings] == [(kind, ranks)]
    assert {site.partition(",")[0] for site in findings[0]["sites"]} == calls


def test_accesses_in_order_are_no_findings(program):
    assert findings_of(program, "correct") == []
