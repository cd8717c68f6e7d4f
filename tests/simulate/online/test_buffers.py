"""Buffered sends of programs that run while they are simulated."""

import pytest
from support.simulated_runs import simulable_program, simulate

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

BUFFERS = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { SIZE = 1 << 20 };
static int rank, wrong;
#define CHECK(condition) (wrong += (condition) ? 0 : (printf("rank %d, line %d\n", rank, __LINE__), 1))
static char sent[SIZE], got[SIZE];
static int class_of(int error) { int class; MPI_Error_class(error, &class); return class; }
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int other = !rank, room = SIZE + MPI_BSEND_OVERHEAD;
    MPI_Comm copy;
    MPI_Request request;
    void *buffer = malloc(room), *given;
    int size, flag = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    CHECK(class_of(MPI_Bsend(sent, 1, MPI_CHAR, other, 0, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);

    // Large messages that cross one another need no receive to begin with; there is room for one.
    MPI_Buffer_attach(buffer, room);
    CHECK(MPI_Bsend(sent, SIZE, MPI_CHAR, other, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(class_of(MPI_Bsend(sent, SIZE, MPI_CHAR, other, 0, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Ibsend(sent, 1, MPI_CHAR, other, 0, MPI_COMM_WORLD, &request)) == MPI_ERR_BUFFER);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Buffer_iflush(&request);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Recv(got, SIZE, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(MPI_Bsend(sent, SIZE, MPI_CHAR, other, 0, MPI_COMM_WORLD) == MPI_SUCCESS);

    // A communicator has a buffer of its own.
    MPI_Comm_attach_buffer(copy, MPI_BUFFER_AUTOMATIC, 0);
    CHECK(MPI_Bsend(sent, SIZE, MPI_CHAR, other, 0, copy) == MPI_SUCCESS);
    MPI_Recv(got, SIZE, MPI_CHAR, other, 0, copy, MPI_STATUS_IGNORE);
    MPI_Comm_detach_buffer(copy, &given, &size);
    CHECK(given == MPI_BUFFER_AUTOMATIC && size == 0);

    // The buffer is given back when its messages have gone.
    const double begin = MPI_Wtime();
    if (rank == 0) {
        MPI_Buffer_detach(&given, &size);
        CHECK(MPI_Wtime() - begin > 0.5);
        MPI_Recv(got, SIZE, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        while (MPI_Wtime() - begin < 0.5);  // many readings of the clock
        CHECK(MPI_Wtime() - begin < 0.501);
        MPI_Recv(got, SIZE, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Buffer_detach(&given, &size);
    }
    CHECK(given == buffer && size == room);
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return 0;
}
"""


def test_a_buffer_holds_messages_until_they_are_sent(tmp_path):
    done = simulate("--compute", "0", "--", str(simulable_program(tmp_path, BUFFERS)), processes=2)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (done.stdout + done.stderr).count(": 0 wrong") == 2
