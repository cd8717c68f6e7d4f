/* Conjugate gradients for a Laplacian in two dimensions: borders by MPI_Sendrecv, dot products by MPI_Allreduce. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int columns, rows;

static double dot(const double *first, const double *second) {
    double local = 0.0, whole;
    for (int i = columns; i < (rows + 1) * columns; ++i) local += first[i] * second[i];
    MPI_Allreduce(&local, &whole, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return whole;
}

static void multiply(double *field, double *image, int above, int below) {
    MPI_Sendrecv(field + columns, columns, MPI_DOUBLE, above, 0, field + (size_t)(rows + 1) * columns, columns,
                 MPI_DOUBLE, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(field + (size_t)rows * columns, columns, MPI_DOUBLE, below, 1, field, columns, MPI_DOUBLE, above, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int row = 1; row <= rows; ++row) {
        const double *at = field + (size_t)row * columns;
        double *to = image + (size_t)row * columns;
        for (int i = 0; i < columns; ++i) {
            const double left = i ? at[i - 1] : 0.0, right = i + 1 < columns ? at[i + 1] : 0.0;
            to[i] = 4.0 * at[i] - left - right - at[i - columns] - at[i + columns];
        }
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    columns = argc > 1 ? atoi(argv[1]) : 1024;
    rows = argc > 2 ? atoi(argv[2]) : 64;
    const int steps = argc > 3 ? atoi(argv[3]) : 1000;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int above = rank ? rank - 1 : MPI_PROC_NULL, below = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    const int points = (rows + 2) * columns;
    double *x = calloc(points, sizeof *x), *r = calloc(points, sizeof *r), *p = calloc(points, sizeof *p);
    double *q = calloc(points, sizeof *q);
    for (int i = columns; i < (rows + 1) * columns; ++i) r[i] = p[i] = 1.0 + i % 7;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    double square = dot(r, r);
    for (int step = 0; step < steps; ++step) {
        multiply(p, q, above, below);
        const double length = square / dot(p, q);
        for (int i = columns; i < (rows + 1) * columns; ++i) {
            x[i] += length * p[i];
            r[i] -= length * q[i];
        }
        const double before = square;
        square = dot(r, r);
        for (int i = columns; i < (rows + 1) * columns; ++i) p[i] = r[i] + square / before * p[i];
    }
    if (rank == 0) printf("seconds %.9f residual %g\n", MPI_Wtime() - begin, square);
    free(x);
    free(r);
    free(p);
    free(q);
    MPI_Finalize();
    return 0;
}
