/* Calls every group of functions that are recorded, and says itself what it has called: name, count and bytes of each rank,
 * and messages and bytes to each peer. every_call FILE REPORT; the report goes to REPORT.RANK. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 400, SIZE = 24 };
static struct {
    const char *name;
    long count, bytes;
} calls[MOST];
static long messages[64], message_bytes[64];

static void note(const char *name, int count, long bytes) {
    int i = 0;
    while (calls[i].name != NULL && strcmp(calls[i].name, name) != 0) {
        i++;
    }
    calls[i].name = name;
    calls[i].count += count;
    calls[i].bytes += bytes;
}

static void note_message(int peer, long bytes) {
    messages[peer]++;
    message_bytes[peer] += bytes;
}

#define CALL(name, bytes, ...) (note("MPI_" #name, 1, bytes), MPI_##name(__VA_ARGS__))
#define SEND(name, bytes, peer, ...) (note_message(peer, bytes), CALL(name, bytes, __VA_ARGS__))

static int rank, size, after, before;
static MPI_Comm world = MPI_COMM_WORLD;
static MPI_Request request, two[2];
static MPI_Status status;
static char out[64 * SIZE], in[64 * SIZE];

#define WAIT() CALL(Wait, 0, &request, &status)

static void point_to_point(void) {
    int flag = 0, index, some, indices[2];
    MPI_Message message;
    char *buffer = malloc(1 << 16);
    CALL(Buffer_attach, 0, buffer, 1 << 16);
#define PAIR(name, bytes, ...)                                                    \
    CALL(Irecv, bytes, in, SIZE, MPI_BYTE, before, MPI_ANY_TAG, world, &request); \
    CALL(Barrier, 0, world); /* or MPI_Rsend may come before its receive */       \
    SEND(name, bytes, after, __VA_ARGS__);                                        \
    WAIT()
    PAIR(Send, 1, out, 1, MPI_BYTE, after, 1, world);
    PAIR(Bsend, 2, out, 2, MPI_BYTE, after, 2, world);
    PAIR(Ssend, 3, out, 3, MPI_BYTE, after, 3, world);
    PAIR(Rsend, 4, out, 4, MPI_BYTE, after, 4, world);
#define LATER(name, bytes)                                                     \
    CALL(Irecv, bytes, in, SIZE, MPI_BYTE, MPI_ANY_SOURCE, 9, world, &two[0]); \
    CALL(Barrier, 0, world);                                                   \
    SEND(name, bytes, after, out, bytes, MPI_BYTE, after, 9, world, &two[1]);  \
    CALL(Waitall, 0, 2, two, MPI_STATUSES_IGNORE)
    LATER(Isend, 5);
    LATER(Ibsend, 6);
    LATER(Issend, 7);
    LATER(Irsend, 8);
    SEND(Sendrecv, 9, after, out, 9, MPI_BYTE, after, 1, in, SIZE, MPI_BYTE, before, 1, world, &status);
    SEND(Sendrecv_replace, 10, after, out, 10, MPI_BYTE, after, 1, before, 1, world, MPI_STATUS_IGNORE);
    SEND(Isendrecv, 11, after, out, 11, MPI_BYTE, after, 1, in, SIZE, MPI_BYTE, before, 1, world, &request);
    WAIT();
    SEND(Isendrecv_replace, 12, after, out, 12, MPI_BYTE, after, 1, before, 1, world, &request);
    WAIT();
    /* large counts are the same calls */
#if defined(OPEN_MPI) /* which has none yet */
    SEND(Isend, SIZE, after, out, SIZE, MPI_BYTE, after, 1, world, &request);
#else
    note("MPI_Isend", 1, SIZE);
    note_message(after, SIZE);
    MPI_Isend_c(out, (MPI_Count)SIZE, MPI_BYTE, after, 1, world, &request);
#endif
    CALL(Recv, SIZE, in, 2 * SIZE, MPI_BYTE, before, 1, world, MPI_STATUS_IGNORE);
    WAIT();
    /* wildcards and probes */
    SEND(Isend, 13, after, out, 13, MPI_BYTE, after, 2, world, &request);
    CALL(Probe, 0, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
    CALL(Recv, 13, in, SIZE, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
    WAIT();
    SEND(Isend, 14, after, out, 14, MPI_BYTE, after, 2, world, &request);
    for (flag = 0; !flag;) {
        CALL(Iprobe, 0, before, 2, world, &flag, MPI_STATUS_IGNORE);
    }
    CALL(Mprobe, 0, before, 2, world, &message, &status);
    CALL(Mrecv, 14, in, SIZE, MPI_BYTE, &message, &status);
    WAIT();
    SEND(Isend, 15, after, out, 15, MPI_BYTE, after, 2, world, &two[0]);
    for (flag = 0; !flag;) {
        CALL(Improbe, 0, MPI_ANY_SOURCE, 2, world, &flag, &message, &status);
    }
    CALL(Imrecv, 15, in, SIZE, MPI_BYTE, &message, &two[1]);
    for (int left = 2; left > 0; left -= some) {
        CALL(Waitsome, 0, 2, two, &some, indices, MPI_STATUSES_IGNORE);
    }
    /* nobody there */
    CALL(Send, 0, out, 8, MPI_BYTE, MPI_PROC_NULL, 1, world);
    CALL(Recv, 0, in, 8, MPI_BYTE, MPI_PROC_NULL, 1, world, &status);
    /* completion */
#define EXCHANGE(bytes)                                                \
    CALL(Irecv, bytes, in, SIZE, MPI_BYTE, before, 3, world, &two[0]); \
    SEND(Isend, bytes, after, out, bytes, MPI_BYTE, after, 3, world, &two[1])
    EXCHANGE(1);
    CALL(Waitany, 0, 2, two, &index, &status);
    CALL(Waitany, 0, 2, two, &index, MPI_STATUS_IGNORE);
    EXCHANGE(2);
    for (flag = 0; !flag;) {
        CALL(Testall, 0, 2, two, &flag, MPI_STATUSES_IGNORE);
    }
    EXCHANGE(3);
    for (int left = 2; left > 0; left -= flag) {
        CALL(Testany, 0, 2, two, &index, &flag, &status);
    }
    EXCHANGE(4);
    for (int left = 2; left > 0; left -= some) {
        CALL(Testsome, 0, 2, two, &some, indices, MPI_STATUSES_IGNORE);
    }
    EXCHANGE(5);
    for (flag = 0; !flag;) {
        CALL(Test, 0, &two[0], &flag, &status);
    }
    for (flag = 0; !flag;) {
        CALL(Request_get_status, 0, two[1], &flag, MPI_STATUS_IGNORE);
    }
    CALL(Wait, 0, &two[1], &status);
    CALL(Irecv, 0, in, SIZE, MPI_BYTE, before, 99, world, &request);
    CALL(Cancel, 0, &request);
    WAIT();
    /* persistent and partitioned */
#define PERSISTENT(name, bytes)                                                \
    CALL(Recv_init, 2 * bytes, in, SIZE, MPI_BYTE, before, 4, world, &two[0]); \
    CALL(name, 2 * bytes, out, bytes, MPI_BYTE, after, 4, world, &two[1]);     \
    for (int i = 0; i < 2; i++) {                                              \
        CALL(Start, 0, &two[0]);                                               \
        CALL(Barrier, 0, world);                                               \
        note_message(after, bytes);                                            \
        CALL(Startall, 0, 1, &two[1]);                                         \
        CALL(Waitall, 0, 2, two, MPI_STATUSES_IGNORE);                         \
    }                                                                          \
    CALL(Request_free, 0, &two[0]);                                            \
    CALL(Request_free, 0, &two[1])
    PERSISTENT(Send_init, 5);
    PERSISTENT(Bsend_init, 6);
    PERSISTENT(Ssend_init, 7);
    PERSISTENT(Rsend_init, 8);
    CALL(Psend_init, 4 * SIZE, out, 4, SIZE, MPI_BYTE, after, 5, world, MPI_INFO_NULL, &two[0]);
    CALL(Precv_init, 4 * SIZE, in, 4, SIZE, MPI_BYTE, before, 5, world, MPI_INFO_NULL, &two[1]);
    note_message(after, 4 * SIZE);
    CALL(Startall, 0, 2, two);
    CALL(Pready, 0, 0, two[0]);
    CALL(Pready_range, 0, 1, 2, two[0]);
    CALL(Pready_list, 0, 1, (int[]){3}, two[0]);
    for (flag = 0; !flag;) {
        CALL(Parrived, 0, two[1], 0, &flag);
    }
    CALL(Waitall, 0, 2, two, MPI_STATUSES_IGNORE);
    CALL(Request_free, 0, &two[0]);
    CALL(Request_free, 0, &two[1]);
    CALL(Buffer_detach, 0, &buffer, &some);
    free(buffer);
}

/* A collective in its three forms; arguments end in a comma, as the communicator follows. */
#define FORMS(Name, name, bytes, ...)                                          \
    CALL(Name, bytes, __VA_ARGS__ comm);                                       \
    CALL(I##name, bytes, __VA_ARGS__ comm, &request);                          \
    WAIT();                                                                    \
    CALL(Name##_init, 2 * (bytes), __VA_ARGS__ comm, MPI_INFO_NULL, &request); \
    for (int i = 0; i < 2; i++) {                                              \
        CALL(Start, 0, &request);                                              \
        WAIT();                                                                \
    }                                                                          \
    CALL(Request_free, 0, &request)
#define REDUCED(n) out, in, n, MPI_CHAR, MPI_MAX

static void collectives(MPI_Comm comm) {
    int counts[8], places[8], total = 0, own, members;
    MPI_Datatype types[8];
    MPI_Comm_size(comm, &members);
    MPI_Comm_rank(comm, &own);
    for (int i = 0; i < members; i++) {
        counts[i] = own + i + 1;
        places[i] = i * SIZE;
        types[i] = MPI_BYTE;
        total += counts[i];
    }
    int same[] = {4, 4, 4, 4, 4, 4, 4, 4};
    FORMS(Barrier, barrier, 0, );
    FORMS(Bcast, bcast, 11, out, 11, MPI_BYTE, 1, );
    FORMS(Gather, gather, 3, out, 3, MPI_BYTE, in, 3, MPI_BYTE, 0, );
    FORMS(Gatherv, gatherv, 4, out, 4, MPI_BYTE, in, same, places, MPI_BYTE, 0, );
    FORMS(Scatter, scatter, own == 1 ? 5 * members : 0, out, 5, MPI_BYTE, in, 5, MPI_BYTE, 1, );
    FORMS(Scatterv, scatterv, own == 0 ? 4 * members : 0, out, same, places, MPI_BYTE, in, 4, MPI_BYTE, 0, );
    FORMS(Allgather, allgather, 6, out, 6, MPI_BYTE, in, 6, MPI_BYTE, );
    FORMS(Allgatherv, allgatherv, 4, out, 4, MPI_BYTE, in, same, places, MPI_BYTE, );
    FORMS(Alltoall, alltoall, 2 * members, out, 2, MPI_BYTE, in, 2, MPI_BYTE, );
    FORMS(Alltoallv, alltoallv, total, out, counts, places, MPI_BYTE, in, counts, places, MPI_BYTE, );
    FORMS(Alltoallw, alltoallw, total, out, counts, places, types, in, counts, places, types, );
    FORMS(Reduce, reduce, 7, REDUCED(7), 0, );
    FORMS(Allreduce, allreduce, 8, REDUCED(8), );
    FORMS(Reduce_scatter, reduce_scatter, 4 * members, out, in, same, MPI_CHAR, MPI_MAX, );
    FORMS(Reduce_scatter_block, reduce_scatter_block, 9, REDUCED(9), );
    FORMS(Scan, scan, 10, REDUCED(10), );
    FORMS(Exscan, exscan, 11, REDUCED(11), );
}

static void neighbours(void) {
    MPI_Comm comm;
    int places[] = {0, SIZE}, counts[] = {3, 4}, dims[] = {size}, yes[] = {1};
    MPI_Aint far[] = {0, SIZE};
    MPI_Datatype types[] = {MPI_BYTE, MPI_BYTE};
    CALL(Cart_create, 0, world, 1, dims, yes, 0, &comm);
    FORMS(Neighbor_allgather, neighbor_allgather, 5, out, 5, MPI_BYTE, in, 5, MPI_BYTE, );
    FORMS(Neighbor_allgatherv, neighbor_allgatherv, 3, out, 3, MPI_BYTE, in, ((int[]){3, 3}), places, MPI_BYTE, );
    FORMS(Neighbor_alltoall, neighbor_alltoall, 6, out, 6, MPI_BYTE, in, 6, MPI_BYTE, );
    int back[] = {4, 3};
    FORMS(Neighbor_alltoallv, neighbor_alltoallv, 7, out, counts, places, MPI_BYTE, in, back, places, MPI_BYTE, );
    FORMS(Neighbor_alltoallw, neighbor_alltoallw, 7, out, counts, far, types, in, back, far, types, );
    CALL(Comm_free, 0, &comm);
    CALL(Dist_graph_create_adjacent, 0, world, 1, &before, MPI_UNWEIGHTED, 1, &after, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
         &comm);
    CALL(Neighbor_alltoall, 6, out, 6, MPI_BYTE, in, 6, MPI_BYTE, comm);
    CALL(Comm_free, 0, &comm);
}

static void communicators(void) {
    MPI_Comm half, other, between;
    MPI_Group group;
    MPI_Comm_group(world, &group);
    CALL(Comm_split, 0, world, rank % 2, rank, &half);
    CALL(Comm_set_name, 0, half, "half");
    CALL(Intercomm_create, 0, half, 0, world, (rank + 1) % 2, 3, &between);
    CALL(Allreduce, 8, out, in, 8, MPI_CHAR, MPI_MAX, between);
    CALL(Intercomm_merge, 0, between, rank % 2, &other);
    CALL(Allreduce, 16, out, in, 16, MPI_CHAR, MPI_MAX, other);
    CALL(Comm_free, 0, &other);
    CALL(Comm_free, 0, &between);
    CALL(Comm_dup, 0, world, &other);
    CALL(Comm_free, 0, &other);
    CALL(Comm_dup_with_info, 0, world, MPI_INFO_NULL, &other);
    CALL(Comm_free, 0, &other);
    CALL(Comm_idup, 0, half, &other, &request);
    WAIT();
    CALL(Comm_disconnect, 0, &other);
    CALL(Comm_free, 0, &half);
    CALL(Comm_split_type, 0, world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &other);
    CALL(Comm_free, 0, &other);
    CALL(Comm_create, 0, world, group, &other);
    SEND(Sendrecv, 6, after, out, 6, MPI_BYTE, after, 1, in, SIZE, MPI_BYTE, before, 1, other, &status);
    CALL(Comm_free, 0, &other);
    CALL(Comm_create_group, 0, world, group, 5, &other);
    CALL(Comm_free, 0, &other);
    MPI_Group_free(&group);
}

static void windows(void) {
    MPI_Win win;
    MPI_Group group;
    char *memory;
    int value[2] = {0, 0};
    MPI_Comm_group(world, &group);
    CALL(Win_allocate, 0, 64 * SIZE, 1, MPI_INFO_NULL, world, &memory, &win);
    CALL(Win_fence, 0, 0, win);
    CALL(Put, 5, out, 5, MPI_BYTE, after, 0, 5, MPI_BYTE, win);
    CALL(Get, 6, in, 6, MPI_BYTE, before, SIZE, 6, MPI_BYTE, win);
    CALL(Win_fence, 0, 0, win);
    CALL(Win_lock, 0, MPI_LOCK_SHARED, after, 0, win);
    CALL(Accumulate, 8, value, 2, MPI_INT, after, 0, 2, MPI_INT, MPI_SUM, win);
    CALL(Get_accumulate, 8, value, 2, MPI_INT, in, 2, MPI_INT, after, 64, 2, MPI_INT, MPI_SUM, win);
    CALL(Fetch_and_op, 4, value, in, MPI_INT, after, 0, MPI_SUM, win);
    CALL(Compare_and_swap, 4, value, value, in, MPI_INT, after, 0, win);
    CALL(Win_flush, 0, after, win);
    CALL(Win_flush_local, 0, after, win);
    CALL(Win_unlock, 0, after, win);
    CALL(Win_lock_all, 0, 0, win);
    CALL(Rput, 9, out, 9, MPI_BYTE, after, 128, 9, MPI_BYTE, win, &request);
    WAIT();
    CALL(Rget, 10, in, 10, MPI_BYTE, after, 256, 10, MPI_BYTE, win, &request);
    WAIT();
    CALL(Raccumulate, 8, value, 2, MPI_INT, after, 320, 2, MPI_INT, MPI_SUM, win, &request);
    WAIT();
    CALL(Rget_accumulate, 8, value, 2, MPI_INT, in, 2, MPI_INT, after, 384, 2, MPI_INT, MPI_SUM, win, &request);
    WAIT();
    CALL(Win_flush_all, 0, win);
    CALL(Win_flush_local_all, 0, win);
    CALL(Win_sync, 0, win);
    CALL(Win_unlock_all, 0, win);
    CALL(Barrier, 0, world);
    CALL(Win_post, 0, group, 0, win);
    CALL(Win_start, 0, group, 0, win);
    CALL(Put, 7, out, 7, MPI_BYTE, after, 512, 7, MPI_BYTE, win);
    CALL(Win_complete, 0, win);
    CALL(Win_wait, 0, win);
    CALL(Win_free, 0, &win);
    CALL(Win_create, 0, out, 64, 1, MPI_INFO_NULL, world, &win);
    CALL(Win_free, 0, &win);
    MPI_Group_free(&group);
}

static void files(const char *path) {
    MPI_File file;
    CALL(File_open, 0, world, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    CALL(File_set_size, 0, file, 4096);
    CALL(File_write_at, 11, file, SIZE * rank, out, 11, MPI_BYTE, &status);
    CALL(File_write_at_all, 12, file, SIZE * rank, out, 12, MPI_BYTE, MPI_STATUS_IGNORE);
    CALL(File_sync, 0, file);
    CALL(File_read_at, 13, file, SIZE * rank, in, 13, MPI_BYTE, &status);
    CALL(File_read_at_all, 14, file, SIZE * rank, in, 14, MPI_BYTE, &status);
    CALL(File_iread_at, 15, file, SIZE * rank, in, 15, MPI_BYTE, &request);
    WAIT();
    CALL(File_close, 0, &file);
}

int main(int argc, char **argv) {
    char path[4096];
    if (argc != 3) {
        return 2;
    }
    CALL(Init, 0, &argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    after = (rank + 1) % size;
    before = (rank + size - 1) % size;
    CALL(Pcontrol, 0, 1);
    point_to_point();
    collectives(world);
    neighbours();
    communicators();
    windows();
    files(argv[1]);
    CALL(Finalize, 0);
    snprintf(path, sizeof path, "%s.%d", argv[2], rank);
    FILE *report = fopen(path, "w");
    for (int i = 0; calls[i].name != NULL; i++) {
        fprintf(report, "%s %ld %ld\n", calls[i].name, calls[i].count, calls[i].bytes);
    }
    for (int i = 0; i < size; i++) {
        fprintf(report, "to %d %ld %ld\n", i, messages[i], message_bytes[i]);
    }
    return fclose(report);
}
