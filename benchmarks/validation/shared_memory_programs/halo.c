/* Jacobi iteration on a grid that is periodic in one dimension and split along it: borders by non-blocking messages. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const int columns = argc > 1 ? atoi(argv[1]) : 8192, rows = argc > 2 ? atoi(argv[2]) : 16;
    const int steps = argc > 3 ? atoi(argv[3]) : 2000;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int above = (rank + size - 1) % size, below = (rank + 1) % size;
    const size_t points = (size_t)(rows + 2) * columns;
    double *field = malloc(points * sizeof *field), *next = malloc(points * sizeof *next);
    for (size_t i = 0; i < points; ++i) field[i] = next[i] = (double)(i % 17) + rank;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int step = 0; step < steps; ++step) {
        MPI_Request requests[4];
        MPI_Irecv(field, columns, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(field + (size_t)(rows + 1) * columns, columns, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(field + (size_t)rows * columns, columns, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(field + columns, columns, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        for (int row = 1; row <= rows; ++row) {
            const double *at = field + (size_t)row * columns;
            double *to = next + (size_t)row * columns;
            to[0] = at[0];
            for (int i = 1; i < columns - 1; ++i)
                to[i] = 0.25 * (at[i - 1] + at[i + 1] + at[i - columns] + at[i + columns]);
            to[columns - 1] = at[columns - 1];
        }
        double *swap = field;
        field = next;
        next = swap;
    }
    if (rank == 0) printf("seconds %.9f sum %g\n", MPI_Wtime() - begin, field[columns + columns / 2]);
    free(field);
    free(next);
    MPI_Finalize();
    return 0;
}
