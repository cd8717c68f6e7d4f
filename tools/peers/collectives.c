/* One collective of many sizes, each called twice: collectives OPERATION BYTES ...

   Prints for each call when the last rank was done, in seconds of the simulation. Ranks begin together, and nothing is
   sent but by the collective: all ranks are threads of one process, and note their times in common memory. Blocks of
   operations with a size for each rank are of three sizes: BYTES times 1/2, 1 or 3/2 (see `share`). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CALLS = 64 };

/* Common to all ranks. */
static double done[MOST_CALLS];
static int finished;
static char *out, *in;

static int share(int bytes, int number) { return bytes / 16 * 8 * (1 + number % 3); }

static void carry_out(const char *operation, int bytes, int rank, int processes, int *counts, int *offsets) {
    const MPI_Comm all = MPI_COMM_WORLD;
    const MPI_Datatype byte = MPI_BYTE, number = MPI_DOUBLE;
    const int count = bytes / 8, to_all = !strcmp(operation, "alltoallv");
    int *sent = counts + processes, *at = offsets + processes;
    const int element = !strcmp(operation, "reduce_scatter") ? 8 : 1;
    for (int other = 0; other < processes; other++) {
        counts[other] = share(bytes, to_all ? other + 2 * rank : other) / element;
        sent[other] = share(bytes, rank + 2 * other);
        offsets[other] = other ? offsets[other - 1] + counts[other - 1] : 0;
        at[other] = other ? at[other - 1] + sent[other - 1] : 0;
    }
    if (!strcmp(operation, "barrier")) MPI_Barrier(all);
    else if (!strcmp(operation, "bcast")) MPI_Bcast(out, bytes, byte, 0, all);
    else if (!strcmp(operation, "reduce")) MPI_Reduce(out, in, count, number, MPI_SUM, 0, all);
    else if (!strcmp(operation, "allreduce")) MPI_Allreduce(out, in, count, number, MPI_SUM, all);
    else if (!strcmp(operation, "gather")) MPI_Gather(out, bytes, byte, in, bytes, byte, 0, all);
    else if (!strcmp(operation, "scatter")) MPI_Scatter(out, bytes, byte, in, bytes, byte, 0, all);
    else if (!strcmp(operation, "allgather")) MPI_Allgather(out, bytes, byte, in, bytes, byte, all);
    else if (!strcmp(operation, "allgatherv"))
        MPI_Allgatherv(out, counts[rank], byte, in, counts, offsets, byte, all);
    else if (!strcmp(operation, "alltoall")) MPI_Alltoall(out, bytes, byte, in, bytes, byte, all);
    else if (to_all) MPI_Alltoallv(out, sent, at, byte, in, counts, offsets, byte, all);
    else if (!strcmp(operation, "reduce_scatter")) MPI_Reduce_scatter(out, in, counts, number, MPI_SUM, all);
    else if (!strcmp(operation, "reduce_scatter_block"))
        MPI_Reduce_scatter_block(out, in, count, number, MPI_SUM, all);
    else {
        fprintf(stderr, "collectives.c knows no operation %s\n", operation);
        MPI_Abort(all, 2);
    }
}

int main(int argc, char **argv) {
    int rank, processes, calls = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    int *counts = malloc(4 * (size_t)processes * sizeof *counts);
    if (!out) {
        size_t most = 0;
        for (int place = 2; place < argc; place++) most = most > (size_t)atoi(argv[place]) ? most : (size_t)atoi(argv[place]);
        const size_t room = 2 * most * (size_t)processes + 64;
        out = calloc(room, 1), in = calloc(room, 1);
    }
    for (int place = 2; place < argc; place++)
        for (int time = 0; time < 2; time++, calls++) {
            carry_out(argv[1], atoi(argv[place]), rank, processes, counts, counts + 2 * processes);
            if (MPI_Wtime() > done[calls]) done[calls] = MPI_Wtime();
        }
    if (++finished == processes)
        for (int call = 0; call < calls; call++) printf("done %.17g\n", done[call]);
    free(counts);
    MPI_Finalize();
    return 0;
}
