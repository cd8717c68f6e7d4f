"""Calls whose requests complete later, in programs that run while they are simulated."""

import pytest
from support.simulated_runs import simulable_program, simulate

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

LATER = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int rank, size, wrong;
#define CHECK(condition) (wrong += (condition) ? 0 : (printf("rank %d, line %d\n", rank, __LINE__), 1))
static void add(void *from, void *to, int *count, MPI_Datatype *type) {
    MPI_Aint lower, extent;
    CHECK(MPI_Type_get_extent(*type, &lower, &extent) == MPI_SUCCESS);
    for (int i = 0; i < *count; i++) *(int *)((char *)to + i * extent) += *(int *)((char *)from + i * extent);
}
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Request requests[2];
    MPI_Comm copies[2];
    int token = rank, sum = 0, flag = 0, first, second;

    // A duplicate that one rank begins only when the others have gone on.
    if (rank == size - 1) MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_idup(MPI_COMM_WORLD, &copies[0], &requests[0]);
    MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &copies[1], &requests[1]);
    if (rank == 0) MPI_Send(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD);
    first = rank % 2;
    MPI_Wait(&requests[first], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[!first], MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copies[1]);
    CHECK(sum == size * (size - 1) / 2);

    // Operation and datatype are freed before the end.
    MPI_Op operation;
    MPI_Datatype pair;
    int mine[4] = {1, 0, rank, 0}, all[4] = {0};
    MPI_Op_create(add, 1, &operation);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &pair);
    MPI_Type_commit(&pair);
    MPI_Iallreduce(mine, all, 2, pair, operation, MPI_COMM_WORLD, &requests[0]);
    MPI_Type_free(&pair);
    MPI_Op_free(&operation);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK(all[0] == size && all[2] == sum);

    // Persistent collectives start and end in any order.
    for (int round = 0; round < 2; round++) {
        first = second = rank == 0 ? 42 + round : 0;
        if (round == 0) {
            MPI_Bcast_init(&first, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
            MPI_Bcast_init(&second, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
        }
        MPI_Start(&requests[rank % 2]);
        MPI_Start(&requests[!(rank % 2)]);
        MPI_Wait(&requests[!(rank % 2)], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[rank % 2], MPI_STATUS_IGNORE);
        CHECK(first == 42 + round && second == 42 + round);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);

    // The result is there before the request is gone.
    MPI_Iallreduce(&rank, &token, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[0]);
    while (!flag) MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
    CHECK(token == size - 1);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

    // Other sizes of the two groups.
    MPI_Comm half, between;
    const int side = rank > 0, counts[2] = {side ? 1 : 2, 1}, numbers[2] = {1, 10};
    int got[2] = {0};
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !side, 0, &between);
    MPI_Ireduce_scatter(numbers, got, counts, MPI_INT, MPI_SUM, between, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK(side ? got[0] == numbers[rank - 1] : got[0] == 2 && got[1] == 20);
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return 0;
}
"""


def test_what_completes_later(tmp_path):
    """Duplicates that do not wait, types freed before the end, starts in another order, results before the wait."""
    done = simulate("--compute", "0", "--", str(simulable_program(tmp_path, LATER)), processes=3)
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).count(": 0 wrong") == 3


SHARED = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, unit, wrong = 0, *mine, *last, one = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win window;
    MPI_Aint size;
    MPI_Datatype empty;
    MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window);
    MPI_Win_shared_query(window, 1, &size, &unit, &last);  // whose rank may not have come so far
    *mine = rank + 5;
    MPI_Win_fence(0, window);
    wrong += size != sizeof(int) || *last != 6;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    MPI_Accumulate(&one, 1, empty, 1, 0, 1, empty, MPI_SUM, window);
    MPI_Win_fence(0, window);
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Type_free(&empty);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
"""


def test_a_shared_window_is_known_at_once_and_empty_types_move_nothing(tmp_path):
    words = ("--mapping", "block", "--compute", "0", "--", str(simulable_program(tmp_path, SHARED)))
    done = simulate(*words, processes=2)
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).count(": 0 wrong") == 2
