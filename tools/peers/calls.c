/* A collective as a program may call it, timed as the simulation has it: calls FORM OPERATION BYTES REPETITIONS.

   FORM is blocking, pending (a non-blocking call, waited for at once), beside (a non-blocking call, and an exchange with
   the next rank before it is waited for), ordered (with an operator that does not commute) or pairs (of a derived
   datatype, with an operator that commutes). One call comes before, as SMPI makes communicators of nodes in the first;
   then ranks pass a barrier, and printed is the largest of their times. Blocks of operations with a size for each rank
   are of 1/2, 1 and 3/2 times BYTES. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 1, MOST_RANKS = 1024 };

/* Nothing that changes is global: all ranks may be threads of one process. */
struct call {
    int rank, processes, bytes, count, root;
    char *out, *in;
    MPI_Datatype type;
    MPI_Op op;
    int counts[MOST_RANKS], offsets[MOST_RANKS];
};

#define ALL MPI_COMM_WORLD
/* Both forms of an operation: NAME_(call, NULL) waits, and NAME_(call, request) does not. */
#define FORMS(name, blocking, pending)                          \
    static void name(struct call *my, MPI_Request *request) {   \
        request ? pending : blocking;                           \
    }
FORMS(barrier, MPI_Barrier(ALL), MPI_Ibarrier(ALL, request))
FORMS(bcast, MPI_Bcast(my->out, my->bytes, MPI_BYTE, my->root, ALL),
      MPI_Ibcast(my->out, my->bytes, MPI_BYTE, my->root, ALL, request))
FORMS(gather, MPI_Gather(my->out, my->bytes, MPI_BYTE, my->in, my->bytes, MPI_BYTE, my->root, ALL),
      MPI_Igather(my->out, my->bytes, MPI_BYTE, my->in, my->bytes, MPI_BYTE, my->root, ALL, request))
FORMS(scatter, MPI_Scatter(my->out, my->bytes, MPI_BYTE, my->in, my->bytes, MPI_BYTE, my->root, ALL),
      MPI_Iscatter(my->out, my->bytes, MPI_BYTE, my->in, my->bytes, MPI_BYTE, my->root, ALL, request))
FORMS(gatherv,
      MPI_Gatherv(my->out, my->counts[my->rank], MPI_BYTE, my->in, my->counts, my->offsets, MPI_BYTE, my->root, ALL),
      MPI_Igatherv(my->out, my->counts[my->rank], MPI_BYTE, my->in, my->counts, my->offsets, MPI_BYTE, my->root, ALL, request))
FORMS(scatterv,
      MPI_Scatterv(my->out, my->counts, my->offsets, MPI_BYTE, my->in, my->counts[my->rank], MPI_BYTE, my->root, ALL),
      MPI_Iscatterv(my->out, my->counts, my->offsets, MPI_BYTE, my->in, my->counts[my->rank], MPI_BYTE, my->root, ALL, request))
FORMS(allgather, MPI_Allgather(my->out, my->bytes, MPI_BYTE, my->in, my->bytes, MPI_BYTE, ALL),
      MPI_Iallgather(my->out, my->bytes, MPI_BYTE, my->in, my->bytes, MPI_BYTE, ALL, request))
FORMS(allgatherv,
      MPI_Allgatherv(my->out, my->counts[my->rank], MPI_BYTE, my->in, my->counts, my->offsets, MPI_BYTE, ALL),
      MPI_Iallgatherv(my->out, my->counts[my->rank], MPI_BYTE, my->in, my->counts, my->offsets, MPI_BYTE, ALL, request))
FORMS(alltoall, MPI_Alltoall(my->out, my->bytes, MPI_BYTE, my->in, my->bytes, MPI_BYTE, ALL),
      MPI_Ialltoall(my->out, my->bytes, MPI_BYTE, my->in, my->bytes, MPI_BYTE, ALL, request))
FORMS(reduce, MPI_Reduce(my->out, my->in, my->count, my->type, my->op, my->root, ALL),
      MPI_Ireduce(my->out, my->in, my->count, my->type, my->op, my->root, ALL, request))
FORMS(allreduce, MPI_Allreduce(my->out, my->in, my->count, my->type, my->op, ALL),
      MPI_Iallreduce(my->out, my->in, my->count, my->type, my->op, ALL, request))
FORMS(reduce_scatter_block, MPI_Reduce_scatter_block(my->out, my->in, my->count, my->type, my->op, ALL),
      MPI_Ireduce_scatter_block(my->out, my->in, my->count, my->type, my->op, ALL, request))
FORMS(scan, MPI_Scan(my->out, my->in, my->count, my->type, my->op, ALL),
      MPI_Iscan(my->out, my->in, my->count, my->type, my->op, ALL, request))
FORMS(exscan, MPI_Exscan(my->out, my->in, my->count, my->type, my->op, ALL),
      MPI_Iexscan(my->out, my->in, my->count, my->type, my->op, ALL, request))

/* Blocks from and to each rank are alike in both directions, so that all ranks agree. */
static void alltoallv(struct call *my, MPI_Request *request) {
    for (int other = 0; other < my->processes; other++) {
        my->counts[other] = my->bytes / 2 * (1 + (my->rank + other) % 3);
        my->offsets[other] = other ? my->offsets[other - 1] + my->counts[other - 1] : 0;
    }
    if (request)
        MPI_Ialltoallv(my->out, my->counts, my->offsets, MPI_BYTE, my->in, my->counts, my->offsets, MPI_BYTE, ALL, request);
    else
        MPI_Alltoallv(my->out, my->counts, my->offsets, MPI_BYTE, my->in, my->counts, my->offsets, MPI_BYTE, ALL);
}

static void reduce_scatter(struct call *my, MPI_Request *request) {
    for (int other = 0; other < my->processes; other++) my->counts[other] = my->count / 2 * (1 + other % 3);
    if (request)
        MPI_Ireduce_scatter(my->out, my->in, my->counts, my->type, my->op, ALL, request);
    else
        MPI_Reduce_scatter(my->out, my->in, my->counts, my->type, my->op, ALL);
}

static const struct {
    const char *name;
    void (*call)(struct call *, MPI_Request *);
} operations[] = {
    {"barrier", barrier}, {"bcast", bcast}, {"gather", gather}, {"scatter", scatter}, {"gatherv", gatherv},
    {"scatterv", scatterv}, {"allgather", allgather}, {"allgatherv", allgatherv}, {"alltoall", alltoall},
    {"alltoallv", alltoallv}, {"reduce", reduce}, {"allreduce", allreduce},
    {"reduce_scatter_block", reduce_scatter_block}, {"reduce_scatter", reduce_scatter}, {"scan", scan},
    {"exscan", exscan},
};

static void first_of(void *in, void *result, int *count, MPI_Datatype *type) {
    int bytes;
    MPI_Type_size(*type, &bytes);
    memcpy(result, in, (size_t)bytes * (size_t)*count);
}

static void exchange(struct call *my) {
    const int after = (my->rank + 1) % my->processes, before = (my->rank + my->processes - 1) % my->processes;
    MPI_Sendrecv(my->out, my->bytes, MPI_BYTE, after, TAG, my->in, my->bytes, MPI_BYTE, before, TAG, ALL,
                 MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    if (argc != 5) {
        fprintf(stderr, "usage: calls FORM OPERATION BYTES REPETITIONS\n");
        MPI_Abort(ALL, 2);
    }
    struct call *my = calloc(1, sizeof *my);
    MPI_Comm_rank(ALL, &my->rank);
    MPI_Comm_size(ALL, &my->processes);
    my->bytes = atoi(argv[3]);
    my->root = my->processes > 2 ? 2 : 0;
    my->type = MPI_DOUBLE;
    my->op = MPI_SUM;
    my->count = my->bytes / (int)sizeof(double);
    const int is_ordered = !strcmp(argv[1], "ordered"), is_of_pairs = !strcmp(argv[1], "pairs");
    const int is_beside = !strcmp(argv[1], "beside"), is_pending = is_beside || !strcmp(argv[1], "pending");
    if (is_of_pairs) {
        MPI_Type_contiguous(2, MPI_DOUBLE, &my->type);
        MPI_Type_commit(&my->type);
        my->count /= 2;
    }
    if (is_ordered || is_of_pairs) MPI_Op_create(first_of, is_of_pairs, &my->op);
    for (int other = 0; other < my->processes; other++) {
        my->counts[other] = my->bytes / 2 * (1 + other % 3);
        my->offsets[other] = other ? my->offsets[other - 1] + my->counts[other - 1] : 0;
    }
    const size_t room = 2 * (size_t)my->bytes * (size_t)my->processes + 64;
    my->out = calloc(room, 1), my->in = calloc(room, 1);
    char *const out = my->out, *const in = my->in;
    const int last = (int)(sizeof operations / sizeof *operations) - 1;
    int place = 0;
    while (place < last && strcmp(operations[place].name, argv[2])) place++;
    if (strcmp(operations[place].name, argv[2])) {
        fprintf(stderr, "calls.c knows no operation %s\n", argv[2]);
        MPI_Abort(ALL, 2);
    }

    double begin = 0;
    for (int repetition = 0; repetition <= atoi(argv[4]); repetition++) {
        MPI_Request request = MPI_REQUEST_NULL;
        operations[place].call(my, is_pending ? &request : NULL);
        if (is_beside) exchange(my);
        if (is_pending) MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (repetition == 0) {
            MPI_Barrier(ALL);
            MPI_Barrier(ALL);
            begin = MPI_Wtime();
        }
    }
    double mine = MPI_Wtime() - begin, longest = 0;
    MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, ALL);
    if (my->rank == 0) printf("seconds %.12f\n", longest);
    free(out);
    free(in);
    free(my);
    MPI_Finalize();
    return 0;
}
