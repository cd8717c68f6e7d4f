/* A block of numbers goes there and back between two ranks, and each adds to it before it sends it back. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void add(double *block, int count, double value) {
    for (int i = 0; i < count; ++i) block[i] += value;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const int count = argc > 1 ? atoi(argv[1]) : 8192, steps = argc > 2 ? atoi(argv[2]) : 4000;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double *block = calloc((size_t)count, sizeof *block);
    add(block, count, 1.0);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int step = 0; step < steps; ++step) {
        if (rank == 0) {
            add(block, count, 1.0);
            MPI_Send(block, count, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(block, count, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(block, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            add(block, count, 0.5);
            MPI_Send(block, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        }
    }
    if (rank == 0) printf("seconds %.9f sum %g\n", MPI_Wtime() - begin, block[count - 1]);
    free(block);
    MPI_Finalize();
    return 0;
}
