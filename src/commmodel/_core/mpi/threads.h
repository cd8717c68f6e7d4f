/* Threads of a rank that all exchange messages with their like on another rank, at MPI_THREAD_MULTIPLE: ping-pongs, or
 * windows of messages one way that are answered by an empty one. */
#ifndef COMMMODEL_MPI_THREADS_H
#define COMMMODEL_MPI_THREADS_H

#include "clock/ticks.h"

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { COMMMODEL_FIRST_TAG = 200, COMMMODEL_MOST_THREADS = 256, COMMMODEL_MOST_MESSAGES = 64 };
enum { COMMMODEL_WAIT, COMMMODEL_GO, COMMMODEL_GIVE_UP };

struct commmodel_team {
    MPI_Comm comm;
    char *buffer; /* places of `stride` bytes for each thread: of what it sends, and of each message that it receives */
    ptrdiff_t stride, repetitions, batch;
    int peer, first, size, threads, window, clock;
    uint64_t *begins, *ends; /* of each thread in each repetition */
    atomic_int arrived, passed, code, signal;
};

struct commmodel_member {
    struct commmodel_team *team;
    int number;
};

/* Wait for all threads of the team, letting others have the processor. */
static void commmodel_meet(struct commmodel_team *team) {
    int passed = atomic_load(&team->passed);
    if (atomic_fetch_add(&team->arrived, 1) + 1 == team->threads) {
        atomic_store(&team->arrived, 0);
        atomic_fetch_add(&team->passed, 1);
        return;
    }
    while (atomic_load(&team->passed) == passed) sched_yield();
}

static int commmodel_round_trips(struct commmodel_team *team, char *outgoing, char *incoming, int tag) {
    int code = MPI_SUCCESS;
    for (ptrdiff_t i = 0; i < team->batch && code == MPI_SUCCESS; i++) {
        if (team->first) code = MPI_Send(outgoing, team->size, MPI_BYTE, team->peer, tag, team->comm);
        if (code == MPI_SUCCESS)
            code = MPI_Recv(incoming, team->size, MPI_BYTE, team->peer, tag, team->comm, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS && !team->first)
            code = MPI_Send(outgoing, team->size, MPI_BYTE, team->peer, tag, team->comm);
    }
    return code;
}

/* Send a window of messages one way, to be answered. */
static int commmodel_windows(struct commmodel_team *team, char *outgoing, char *incoming, int tag) {
    MPI_Request requests[COMMMODEL_MOST_MESSAGES];
    int code = MPI_SUCCESS;
    for (ptrdiff_t i = 0; i < team->batch && code == MPI_SUCCESS; i++) {
        for (int j = 0; j < team->window && code == MPI_SUCCESS; j++)
            code = team->first ? MPI_Isend(outgoing, team->size, MPI_BYTE, team->peer, tag, team->comm, &requests[j])
                               : MPI_Irecv(incoming + j * team->stride, team->size, MPI_BYTE, team->peer, tag,
                                           team->comm, &requests[j]);
        if (code == MPI_SUCCESS) code = MPI_Waitall(team->window, requests, MPI_STATUSES_IGNORE);
        if (code == MPI_SUCCESS)
            code = team->first ? MPI_Recv(NULL, 0, MPI_BYTE, team->peer, tag, team->comm, MPI_STATUS_IGNORE)
                               : MPI_Send(NULL, 0, MPI_BYTE, team->peer, tag, team->comm);
    }
    return code;
}

static void *commmodel_work(void *argument) {
    struct commmodel_member *member = argument;
    struct commmodel_team *team = member->team;
    char *outgoing = team->buffer + (1 + team->window) * member->number * team->stride;
    char *incoming = outgoing + team->stride;
    int tag = COMMMODEL_FIRST_TAG + member->number;
    while (atomic_load(&team->signal) == COMMMODEL_WAIT) sched_yield();
    if (atomic_load(&team->signal) == COMMMODEL_GIVE_UP) return NULL;
    for (ptrdiff_t i = 0; i < team->repetitions; i++) {
        ptrdiff_t place = i * team->threads + member->number;
        commmodel_meet(team);
        team->begins[place] = ticks_start(team->clock);
        int code = team->window > 1 ? commmodel_windows(team, outgoing, incoming, tag)
                                    : commmodel_round_trips(team, outgoing, incoming, tag);
        team->ends[place] = ticks_stop(team->clock);
        if (code != MPI_SUCCESS) atomic_store(&team->code, code);
    }
    return NULL;
}

static void *commmodel_be_started(void *argument) {
    atomic_int *signal = argument;
    while (atomic_load(signal) == COMMMODEL_WAIT) sched_yield();
    return NULL;
}

/* Whether so many threads can be there at once, the caller one of them. */
static int commmodel_can_start(int count) {
    pthread_t threads[COMMMODEL_MOST_THREADS];
    atomic_int signal;
    int started = 1;
    atomic_init(&signal, COMMMODEL_WAIT);
    while (started < count && pthread_create(&threads[started], NULL, commmodel_be_started, &signal) == 0) started++;
    atomic_store(&signal, COMMMODEL_GIVE_UP);
    for (int i = 1; i < started; i++) pthread_join(threads[i], NULL);
    return started >= count;
}

/* Let all threads of the team exchange messages; the caller is one of them. Returns MPI_SUCCESS or the code of a call
 * that failed. Where a rank of `comm` cannot start as many threads, `*is_short` is set on all ranks, and those that were
 * started end before any message. */
static int commmodel_exchange(struct commmodel_team *team, int *is_short) {
    pthread_t threads[COMMMODEL_MOST_THREADS];
    struct commmodel_member members[COMMMODEL_MOST_THREADS];
    int wanted = team->threads, started = 1;
    atomic_store(&team->arrived, 0);
    atomic_store(&team->passed, 0);
    atomic_store(&team->code, MPI_SUCCESS);
    atomic_store(&team->signal, COMMMODEL_WAIT);
    for (int i = 0; i < wanted; i++) members[i] = (struct commmodel_member){team, i};
    while (started < wanted && pthread_create(&threads[started], NULL, commmodel_work, &members[started]) == 0)
        started++;
    *is_short = started < wanted;
    int code = MPI_Allreduce(MPI_IN_PLACE, is_short, 1, MPI_INT, MPI_MAX, team->comm);
    int goes = code == MPI_SUCCESS && !*is_short;
    atomic_store(&team->signal, goes ? COMMMODEL_GO : COMMMODEL_GIVE_UP);
    commmodel_work(&members[0]);
    for (int i = 1; i < started; i++) pthread_join(threads[i], NULL);
    return code != MPI_SUCCESS ? code : atomic_load(&team->code);
}

#endif
