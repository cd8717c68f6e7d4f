/* Threads of a rank that all exchange messages with their like on another rank, at MPI_THREAD_MULTIPLE. */
#ifndef COMMMODEL_MPI_THREADS_H
#define COMMMODEL_MPI_THREADS_H

#include "clock/ticks.h"

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { COMMMODEL_FIRST_TAG = 200, COMMMODEL_MOST_THREADS = 256 };

struct commmodel_team {
    MPI_Comm comm;
    char *buffer; /* a place of `stride` bytes for each thread: of what it sends, and of what it receives */
    ptrdiff_t stride, repetitions, batch;
    int peer, first, size, threads, clock;
    uint64_t *begins, *ends; /* of each thread in each repetition */
    atomic_int arrived, passed, code;
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

static void *commmodel_work(void *argument) {
    struct commmodel_member *member = argument;
    struct commmodel_team *team = member->team;
    char *outgoing = team->buffer + 2 * member->number * team->stride, *incoming = outgoing + team->stride;
    for (ptrdiff_t i = 0; i < team->repetitions; i++) {
        ptrdiff_t place = i * team->threads + member->number;
        commmodel_meet(team);
        team->begins[place] = ticks_start(team->clock);
        int code = commmodel_round_trips(team, outgoing, incoming, COMMMODEL_FIRST_TAG + member->number);
        team->ends[place] = ticks_stop(team->clock);
        if (code != MPI_SUCCESS) atomic_store(&team->code, code);
    }
    return NULL;
}

/* Let all threads of the team exchange messages; the caller is one of them. Returns MPI_SUCCESS, the code of a call that
 * failed, or MPI_ERR_NO_MEM where a thread could not be started, before any message. */
static int commmodel_exchange(struct commmodel_team *team) {
    pthread_t threads[COMMMODEL_MOST_THREADS];
    struct commmodel_member members[COMMMODEL_MOST_THREADS];
    int wanted = team->threads, started = 1;
    atomic_store(&team->arrived, 0);
    atomic_store(&team->passed, 0);
    atomic_store(&team->code, MPI_SUCCESS);
    for (int i = 0; i < wanted; i++) members[i] = (struct commmodel_member){team, i};
    while (started < wanted && pthread_create(&threads[started], NULL, commmodel_work, &members[started]) == 0)
        started++;
    if (started < wanted) return MPI_ERR_NO_MEM; /* the caller ends the job: those that were started wait for ever */
    commmodel_work(&members[0]);
    for (int i = 1; i < wanted; i++) pthread_join(threads[i], NULL);
    return atomic_load(&team->code);
}

#endif
