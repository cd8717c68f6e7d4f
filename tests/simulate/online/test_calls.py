"""Calls of MPI that few programs make, in programs that run while they are simulated."""

import pytest
from support.simulated_runs import simulable_program, simulate

pytestmark = pytest.mark.mpi

RARE = r"""
#include <mpi.h>
#include <stdio.h>
static int freed;
static int forget(MPI_Comm comm, int keyval, void *value, void *state) {
    freed++;
    return MPI_Keyval_free(&keyval);
}
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Status status = {.MPI_ERROR = 77};
    MPI_Request request;
    MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 10, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    printf("source %d error %d\n", status.MPI_SOURCE == MPI_PROC_NULL, status.MPI_ERROR);
    MPI_Irecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 10, MPI_COMM_WORLD, &request);
    MPI_Waitall(1, &request, &status);
    printf("error of several %d\n", status.MPI_ERROR);

    MPI_Comm copy;
    int keyval, same;
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Keyval_create(MPI_NULL_COPY_FN, forget, &keyval, NULL);
    same = keyval;
    MPI_Attr_put(MPI_COMM_SELF, keyval, NULL);
    MPI_Attr_put(copy, keyval, NULL);
    MPI_Comm_free(&copy);
    MPI_Keyval_free(&keyval);
    MPI_Keyval_free(&same);
    printf("freed %d\n", freed);

    MPI_Datatype column;
    MPI_Aint extent, upper;
    MPI_Type_hvector(3, 1, 32, MPI_DOUBLE, &column);
    MPI_Type_extent(column, &extent);
    MPI_Type_ub(column, &upper);
    printf("extent %d upper bound %d\n", (int)extent, (int)upper);
    MPI_Type_free(&column);
    MPI_Finalize();
    return 0;
}
"""


def test_rare_calls(tmp_path):
    """A receive of no type from no rank; MPI_ERROR that one request leaves alone; keyvals freed by what they call."""
    done = simulate("--compute", "0", "--", str(simulable_program(tmp_path, RARE)), processes=1)
    assert done.returncode == 0, done.stderr
    lines = ["source 1 error 77", "error of several 0", "freed 1", "extent 72 upper bound 72"]
    assert [line for line in lines if line not in done.stdout] == []
