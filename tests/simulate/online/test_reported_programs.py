"""Programs that ran otherwise under mpiexec: the smallest case of each kind."""

import pytest
from support.simulated_runs import simulable_program, simulate

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]


def in_c(body):
    """Return a program that has its rank and the number of ranks."""
    return f"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    {body}
    return 0;
}}
"""


def run_c(folder, body, *options, processes=2):
    return simulate(*options, "--", str(simulable_program(folder, in_c(body))), processes=processes)


def test_a_code_returned_after_finalize_ends_no_other_rank(tmp_path):
    done = run_c(tmp_path, 'MPI_Finalize(); printf("rank %d is over\\n", rank); return rank ? 5 : 0;', processes=3)
    assert done.returncode == 5
    assert [line for line in done.stdout.splitlines() if line.startswith("rank")] == [
        f"rank {rank} is over" for rank in range(3)
    ]


def test_partitioned_messages_match_in_the_order_in_which_they_were_made(tmp_path):
    done = run_c(
        tmp_path,
        """
    for (int round = 0; round < 3; round++) {
        int values[3] = {0, 0, 0};
        MPI_Request requests[3];
        for (int i = 0; i < 3; i++)
            rank ? MPI_Precv_init(&values[i], 1, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i])
                 : MPI_Psend_init(&values[i], 1, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
        for (int k = 0; k < 3; k++) {
            const int i = rank ? k : 2 - k;
            MPI_Start(&requests[i]);
            values[i] = rank ? 0 : i + 1;
            if (!rank) MPI_Pready(0, requests[i]);
        }
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        if (rank) printf("got %d %d %d\\n", values[0], values[1], values[2]);
        for (int i = 0; i < 3; i++) MPI_Request_free(&requests[i]);
    }
    MPI_Finalize();""",
    )
    assert done.stdout.count("got 1 2 3\n") == 3, done.stdout + done.stderr


def test_a_synchronous_send_to_oneself_ends_with_its_receive(tmp_path):
    done = run_c(tmp_path, """
    int number, index, value = 1, copy[2];
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++) MPI_Irecv(&copy[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Ssend(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    MPI_Testsome(2, requests, &number, &index, MPI_STATUSES_IGNORE);
    printf("complete: %d, the one of tag %d\\n", number, index);
    MPI_Ssend(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Finalize();""", "--compute", "0", processes=1)  # fmt: skip
    assert "complete: 1, the one of tag 1\n" in done.stdout, done.stderr
