/* Eight programs that differ in how they communicate: programs NAME NUMBERS STEPS.

   They send what those of benchmarks/validation/programs send, without their computation. Rank 0 prints a sum of what
   came, and the largest time of all ranks from the barrier at the begin, in seconds of the simulation. Nothing is
   global, as ranks may be threads of one process. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES = 4, WORK = 1, STOP = 2 };

struct state {
    int rank, processes, width, height, numbers, steps;
    MPI_Comm row, column;
    double *out, *in;
};

static int at(const struct state *my, int distance) {
    return ((my->rank + distance) % my->processes + my->processes) % my->processes;
}

static double halo(struct state *my) {
    const int x = my->rank % my->width, y = my->rank / my->width, w = my->width, h = my->height, n = my->numbers;
    const int neighbours[4] = {(y + h - 1) % h * w + x, (y + 1) % h * w + x, y * w + (x + w - 1) % w,
                               y * w + (x + 1) % w};
    MPI_Request requests[8];
    for (int step = 0; step < my->steps; step++) {
        for (int side = 0; side < 4; side++)
            MPI_Irecv(my->in + side * n, n, MPI_DOUBLE, neighbours[side], side ^ 1, MPI_COMM_WORLD, &requests[side]);
        for (int side = 0; side < 4; side++)
            MPI_Isend(my->out + side * n, n, MPI_DOUBLE, neighbours[side], side, MPI_COMM_WORLD, &requests[4 + side]);
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    }
    return my->in[0] + my->in[3 * n];
}

static double transpose(struct state *my) {
    for (int step = 0; step < my->steps; step++)
        MPI_Alltoall(my->out, my->numbers, MPI_DOUBLE, my->in, my->numbers, MPI_DOUBLE, MPI_COMM_WORLD);
    return my->in[0] + my->in[(my->processes - 1) * my->numbers];
}

static double dot(double value) {
    double sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static double conjugate_gradient(struct state *my) {
    const int above = my->rank ? my->rank - 1 : MPI_PROC_NULL, n = my->numbers;
    const int below = my->rank + 1 < my->processes ? my->rank + 1 : MPI_PROC_NULL;
    double sum = dot(1);
    for (int step = 0; step < my->steps; step++) {
        MPI_Sendrecv(my->out, n, MPI_DOUBLE, above, 0, my->in, n, MPI_DOUBLE, below, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(my->out + n, n, MPI_DOUBLE, below, 1, my->in + n, n, MPI_DOUBLE, above, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        sum += dot(my->in[0]) + dot(my->in[n]);
    }
    return sum;
}

static double objects(struct state *my) {
    for (int step = 0; step < my->steps; step++) {
        int size = my->numbers;
        MPI_Bcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Bcast(my->out, size, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        MPI_Reduce(my->out, my->in, size, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    }
    return my->rank ? 0 : my->in[my->numbers - 1];
}

static double master(const struct state *my) {
    double total = 0, answer;
    int sent = 0;
    MPI_Status status;
    for (int worker = 1; worker < my->processes; worker++, sent++)
        MPI_Send(my->out, my->numbers, MPI_DOUBLE, worker, WORK, MPI_COMM_WORLD);
    const int pieces = my->steps > my->processes - 1 ? my->steps : my->processes - 1;
    for (int piece = 0; piece < pieces; piece++) {
        MPI_Recv(&answer, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        total += answer;
        const int more = sent < my->steps;
        MPI_Send(my->out, more ? my->numbers : 0, MPI_DOUBLE, status.MPI_SOURCE, more ? WORK : STOP, MPI_COMM_WORLD);
        sent += more;
    }
    return total;
}

static double master_and_workers(struct state *my) {
    MPI_Status status;
    if (my->rank == 0) return master(my);
    for (;;) {
        MPI_Recv(my->in, my->numbers, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == STOP) return 0;
        MPI_Send(my->in, 1, MPI_DOUBLE, 0, WORK, MPI_COMM_WORLD);
    }
}

static double rows_and_columns(struct state *my) {
    for (int step = 0; step < my->steps; step++) {
        MPI_Bcast(my->out, my->numbers, MPI_DOUBLE, step % my->width, my->row);
        MPI_Bcast(my->in, my->numbers, MPI_DOUBLE, step % my->height, my->column);
    }
    return my->out[0] + my->in[0];
}

static double pipelined_ring(struct state *my) {
    const int before = at(my, -1), after = at(my, 1), n = my->numbers;
    MPI_Request receives[PIECES], sends[PIECES];
    for (int round = 0; round < my->steps; round++) {
        for (int piece = 0; piece < PIECES; piece++)
            MPI_Irecv(my->in + piece * n, n, MPI_DOUBLE, before, piece, MPI_COMM_WORLD, &receives[piece]);
        for (int piece = 0; piece < PIECES; piece++)
            MPI_Isend(my->out + piece * n, n, MPI_DOUBLE, after, piece, MPI_COMM_WORLD, &sends[piece]);
        for (int piece = 0; piece < PIECES; piece++) MPI_Wait(&receives[piece], MPI_STATUS_IGNORE);
        MPI_Waitall(PIECES, sends, MPI_STATUSES_IGNORE);
        double *sent = my->out;
        my->out = my->in, my->in = sent;
    }
    return my->out[0];
}

static double spectral(struct state *my) {
    for (int step = 0; step < my->steps; step++) {
        MPI_Alltoall(my->out, my->numbers, MPI_DOUBLE, my->in, my->numbers, MPI_DOUBLE, my->row);
        MPI_Alltoall(my->in, my->numbers, MPI_DOUBLE, my->out, my->numbers, MPI_DOUBLE, my->column);
    }
    return my->out[0];
}

static const struct {
    const char *name;
    double (*run)(struct state *);
} PROGRAMS[] = {{"halo", halo},
                {"transpose", transpose},
                {"conjugate_gradient", conjugate_gradient},
                {"objects", objects},
                {"master_and_workers", master_and_workers},
                {"rows_and_columns", rows_and_columns},
                {"pipelined_ring", pipelined_ring},
                {"spectral", spectral}};

int main(int argc, char **argv) {
    struct state my;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &my.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &my.processes);
    if (argc != 4) {
        fprintf(stderr, "usage: programs NAME NUMBERS STEPS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    my.numbers = atoi(argv[2]), my.steps = atoi(argv[3]);
    for (my.width = 1; my.width * my.width < my.processes || my.processes % my.width;) my.width++;
    my.height = my.processes / my.width;
    MPI_Comm_split(MPI_COMM_WORLD, my.rank / my.width, my.rank, &my.row);
    MPI_Comm_split(MPI_COMM_WORLD, my.rank % my.width, my.rank, &my.column);
    const size_t room = (size_t)my.numbers * (size_t)(my.processes > PIECES ? my.processes : PIECES);
    my.out = malloc(room * sizeof *my.out), my.in = calloc(room, sizeof *my.in);
    for (size_t place = 0; place < room; place++) my.out[place] = my.rank + 1;

    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    double part = 0, total = 0;
    for (size_t number = 0; number < sizeof PROGRAMS / sizeof *PROGRAMS; number++)
        if (!strcmp(argv[1], PROGRAMS[number].name)) part = PROGRAMS[number].run(&my);
    double mine = MPI_Wtime() - begin, longest = 0;
    MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&part, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (my.rank == 0) printf("sum %.12g\nseconds %.12f\n", total, longest);
    free(my.out);
    free(my.in);
    MPI_Finalize();
    return 0;
}
