// Messages of 8 kB around a ring of all ranks, then their sum.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int right = (rank + 1) % size, left = (rank + size - 1) % size, numbers = 1024;
    double *sent = calloc(numbers, sizeof *sent), *received = calloc(numbers, sizeof *received), mine = 0, sum;
    for (int step = 0; step < 100; step++) {
        sent[0] = rank + step;
        MPI_Sendrecv(sent, numbers, MPI_DOUBLE, right, 0, received, numbers, MPI_DOUBLE, left, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        mine += received[0];
    }
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%g\n", sum);
    free(sent);
    free(received);
    MPI_Finalize();
}
