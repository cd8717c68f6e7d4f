/* One communication operation, timed as SMPI simulates it: operations OPERATION BYTES REPETITIONS.

   All ranks pass a barrier, carry the operation out, and print the largest of their times, in seconds of the
   simulation. Collectives are those of MPI; sendrecv, nonblocking, ring, halo and irregular are exchanges as programs
   write them; pingpong is between ranks 0 and 1. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 1 };

/* Nothing is global: all ranks are threads of one process. */
struct state {
    int rank, processes;
    char *out, *in;
    MPI_Request *requests;
};

static int at(const struct state *my, int distance)
{
    return ((my->rank + distance) % my->processes + my->processes) % my->processes;
}

static void exchange(const struct state *my, int distance, int bytes)
{
    MPI_Sendrecv(my->out, bytes, MPI_BYTE, at(my, distance), TAG, my->in, bytes, MPI_BYTE, at(my, -distance), TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send(const struct state *my, int to, int tag, int bytes, int number)
{
    MPI_Isend(my->out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &my->requests[number]);
}

static void receive(const struct state *my, int from, int tag, int bytes, int number)
{
    MPI_Irecv(my->in, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &my->requests[number]);
}

static void wait(const struct state *my, int count) { MPI_Waitall(count, my->requests, MPI_STATUSES_IGNORE); }

static void nonblocking(const struct state *my, int bytes)
{
    const int others = my->processes - 1;
    for (int step = 1; step <= others; step++) receive(my, at(my, -step), TAG, bytes, step - 1);
    for (int step = 1; step <= others; step++) send(my, at(my, step), TAG, bytes, others + step - 1);
    wait(my, 2 * others);
}

/* Four neighbours on a torus that is as square as it can be, x fastest. */
static void halo(const struct state *my, int bytes)
{
    int width = 1;
    while (width * width < my->processes) width++;
    while (my->processes % width) width--;
    const int height = my->processes / width, x = my->rank % width, y = my->rank / width;
    const int neighbours[4] = {y * width + (x + 1) % width, y * width + (x + width - 1) % width,
                               (y + 1) % height * width + x, (y + height - 1) % height * width + x};
    for (int side = 0; side < 4; side++) receive(my, neighbours[side], side ^ 1, bytes, side);
    for (int side = 0; side < 4; side++) send(my, neighbours[side], side, bytes, 4 + side);
    wait(my, 8);
}

/* One of eight sizes, by multiplicative hashing (Knuth). */
static int hashed(int bytes, int sender, int round)
{
    const uint32_t hash = ((uint32_t)sender * 40503u + (uint32_t)round * 977u) * 2654435761u;
    return bytes / 8 * (1 + (int)((hash >> 16) % 8));
}

/* Everybody's message goes a distance that all have in common, and is of a size of its own. */
static void irregular(const struct state *my, int bytes, int round)
{
    const uint32_t hash = (uint32_t)round * 2654435761u;
    const int distance = 1 + (int)((hash >> 8) % (uint32_t)(my->processes - 1)), from = at(my, -distance);
    receive(my, from, TAG, hashed(bytes, from, round), 0);
    send(my, at(my, distance), TAG, hashed(bytes, my->rank, round), 1);
    wait(my, 2);
}

static void pingpong(const struct state *my, int bytes)
{
    const MPI_Comm all = MPI_COMM_WORLD;
    if (my->rank > 1) return;
    if (my->rank == 0) MPI_Send(my->out, bytes, MPI_BYTE, 1, TAG, all);
    MPI_Recv(my->in, bytes, MPI_BYTE, 1 - my->rank, TAG, all, MPI_STATUS_IGNORE);
    if (my->rank == 1) MPI_Send(my->out, bytes, MPI_BYTE, 0, TAG, all);
}

static void carry_out(const struct state *my, const char *operation, int bytes, int round)
{
    const MPI_Comm all = MPI_COMM_WORLD;
    const MPI_Datatype byte = MPI_BYTE;
    if (!strcmp(operation, "nothing")) return;
    if (!strcmp(operation, "barrier")) MPI_Barrier(all);
    else if (!strcmp(operation, "bcast")) MPI_Bcast(my->out, bytes, byte, 0, all);
    else if (!strcmp(operation, "allreduce")) MPI_Allreduce(my->out, my->in, bytes / 8, MPI_DOUBLE, MPI_SUM, all);
    else if (!strcmp(operation, "allgather")) MPI_Allgather(my->out, bytes, byte, my->in, bytes, byte, all);
    else if (!strcmp(operation, "alltoall")) MPI_Alltoall(my->out, bytes, byte, my->in, bytes, byte, all);
    else if (!strcmp(operation, "pairwise"))
        for (int step = 1; step < my->processes; step++) exchange(my, step, bytes);
    else if (!strcmp(operation, "nonblocking")) nonblocking(my, bytes);
    else if (!strcmp(operation, "ring")) exchange(my, 1, bytes);
    else if (!strcmp(operation, "halo")) halo(my, bytes);
    else if (!strcmp(operation, "irregular")) irregular(my, bytes, round);
    else if (!strcmp(operation, "pingpong")) pingpong(my, bytes);
    else {
        fprintf(stderr, "operations.c knows no operation %s\n", operation);
        MPI_Abort(all, 2);
    }
}

int main(int argc, char **argv)
{
    struct state my;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &my.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &my.processes);
    if (argc != 4) {
        fprintf(stderr, "usage: operations OPERATION BYTES REPETITIONS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const char *operation = argv[1];
    const int bytes = atoi(argv[2]), repetitions = atoi(argv[3]);
    const int everybody = !strcmp(operation, "alltoall") || !strcmp(operation, "allgather");
    const size_t room = (size_t)bytes * (size_t)(everybody ? my.processes : 1) + 64;
    /* Contents do not matter: one piece of memory serves all ranks, and nothing is copied. */
    my.out = SMPI_SHARED_MALLOC(room);
    my.in = SMPI_SHARED_MALLOC(room);
    my.requests = malloc((2 * (size_t)my.processes + 8) * sizeof *my.requests);

    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int round = 0; round < repetitions; round++) carry_out(&my, operation, bytes, round);
    double mine = MPI_Wtime() - begin, longest = 0;
    MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (my.rank == 0) printf("seconds %.12f\n", longest);
    SMPI_SHARED_FREE(my.out);
    SMPI_SHARED_FREE(my.in);
    free(my.requests);
    MPI_Finalize();
    return 0;
}
