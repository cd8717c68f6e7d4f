/* Threads that all call MPI, in plain C. compare.py calls them by ctypes. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, in ticks.h */

#include "threads.h"
#include "try.h"
#include "clock/ticks.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { FIRST_TAG = 200 };

struct group {
    MPI_Comm comm;
    int peer, first, size, window, clock;
    ptrdiff_t repetitions;
    atomic_int arrived, turn;
};

struct worker {
    struct group *group;
    char *outgoing, *incoming;
    int tag, code;
    uint64_t *begins, *ends; /* of each repetition */
};

/* The last thread to come lets all of them go on. */
static void wait_for_all(struct group *group) {
    int turn = atomic_load(&group->turn);
    if (atomic_fetch_add(&group->arrived, 1) == THREADS - 1) {
        atomic_store(&group->arrived, 0);
        atomic_store(&group->turn, turn + 1);
    }
    while (atomic_load(&group->turn) == turn) sched_yield();
}

static int round_trip(const struct group *group, const struct worker *worker) {
    const int size = group->size, peer = group->peer, tag = worker->tag;
    if (group->first) TRY(MPI_Send(worker->outgoing, size, MPI_BYTE, peer, tag, group->comm));
    TRY(MPI_Recv(worker->incoming, size, MPI_BYTE, peer, tag, group->comm, MPI_STATUS_IGNORE));
    if (!group->first) TRY(MPI_Send(worker->outgoing, size, MPI_BYTE, peer, tag, group->comm));
    return MPI_SUCCESS;
}

static int send_window(const struct group *group, const struct worker *worker) {
    MPI_Request requests[THREAD_WINDOW];
    for (int i = 0; i < THREAD_WINDOW; i++)
        TRY(MPI_Isend(worker->outgoing, group->size, MPI_BYTE, group->peer, worker->tag, group->comm, &requests[i]));
    TRY(MPI_Waitall(THREAD_WINDOW, requests, MPI_STATUSES_IGNORE));
    return MPI_Recv(NULL, 0, MPI_BYTE, group->peer, worker->tag, group->comm, MPI_STATUS_IGNORE);
}

static int receive_window(const struct group *group, const struct worker *worker) {
    const ptrdiff_t stride = (group->size + THREAD_LINE - 1) / THREAD_LINE * THREAD_LINE;
    MPI_Request requests[THREAD_WINDOW];
    for (int i = 0; i < THREAD_WINDOW; i++)
        TRY(MPI_Irecv(worker->incoming + i * stride, group->size, MPI_BYTE, group->peer, worker->tag, group->comm,
                      &requests[i]));
    TRY(MPI_Waitall(THREAD_WINDOW, requests, MPI_STATUSES_IGNORE));
    return MPI_Send(NULL, 0, MPI_BYTE, group->peer, worker->tag, group->comm);
}

static void *work(void *argument) {
    struct worker *worker = argument;
    struct group *group = worker->group;
    for (ptrdiff_t i = 0; i < group->repetitions; i++) {
        wait_for_all(group);
        worker->begins[i] = ticks_start(group->clock);
        int code = group->window == 1 ? round_trip(group, worker)
                   : group->first     ? send_window(group, worker)
                                      : receive_window(group, worker);
        worker->ends[i] = ticks_stop(group->clock);
        if (code != MPI_SUCCESS) worker->code = code;
    }
    return NULL;
}

static int exchange(struct group *group, char *outgoing, char *incoming, uint64_t *times, uint64_t *ticks) {
    const ptrdiff_t stride = (group->size + THREAD_LINE - 1) / THREAD_LINE * THREAD_LINE, count = group->repetitions;
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    TRY(MPI_Barrier(group->comm));
    for (int i = 0; i < THREADS; i++) {
        uint64_t *begins = times + 2 * i * count;
        workers[i] = (struct worker){group,         outgoing + i * stride, incoming + i * group->window * stride,
                                     FIRST_TAG + i, MPI_SUCCESS,           begins,
                                     begins + count};
    }
    for (int i = 1; i < THREADS; i++) /* the program ends where a thread is missing: the others would wait for it */
        if (pthread_create(&threads[i], NULL, work, &workers[i])) MPI_Abort(group->comm, 1);
    work(&workers[0]);
    for (int i = 1; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (ptrdiff_t i = 0; i < count; i++) {
        uint64_t begin = workers[0].begins[i], end = workers[0].ends[i];
        for (int j = 1; j < THREADS; j++) {
            if (workers[j].begins[i] < begin) begin = workers[j].begins[i];
            if (workers[j].ends[i] > end) end = workers[j].ends[i];
        }
        ticks[i] = end - begin;
    }
    TRY(MPI_Barrier(group->comm));
    for (int i = 0; i < THREADS; i++) TRY(workers[i].code);
    return MPI_SUCCESS;
}

static int in_group(struct group *group, void *outgoing, void *incoming, uint64_t *ticks) {
    uint64_t *times = calloc(2 * THREADS * (size_t)group->repetitions, sizeof *times);
    if (!times) return MPI_ERR_NO_MEM;
    atomic_init(&group->arrived, 0);
    atomic_init(&group->turn, 0);
    int code = exchange(group, outgoing, incoming, times, ticks);
    free(times);
    return code;
}

int threads_pingpong(const MPI_Comm *communicator, int peer, int first, void *outgoing, void *incoming, int size,
                     ptrdiff_t repetitions, int clock, uint64_t *ticks) {
    struct group group = {*communicator, peer, first, size, 1, clock, repetitions, 0, 0};
    return in_group(&group, outgoing, incoming, ticks);
}

int threads_window(const MPI_Comm *communicator, int peer, int first, void *outgoing, void *incoming, int size,
                   ptrdiff_t repetitions, int clock, uint64_t *ticks) {
    struct group group = {*communicator, peer, first, size, THREAD_WINDOW, clock, repetitions, 0, 0};
    return in_group(&group, outgoing, incoming, ticks);
}
