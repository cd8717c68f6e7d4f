/* Writing results.jsonl, in the format that commmodel.results reads. */
#ifndef BENCH_C_RESULTS_H
#define BENCH_C_RESULTS_H

#include "clock.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Where a rank runs; sent between ranks as bytes. */
struct place {
    char host[MPI_MAX_PROCESSOR_NAME];
    int cpu;
};

struct launch {
    char *const *command; /* ends with NULL */
    const char *library, *standard, *thread_level, *thread_level_asked;
    const struct place *places; /* of each rank */
    int ranks;
    struct clock clock; /* of rank 0 */
    size_t alignment;
    const char *huge_pages;
};

struct record {
    const char *loop;  /* pingpong, stream, allreduce or start-up, */
    const char *stage; /* of which it is a stage */
    int ranks;         /* and their number */
    int size;
    const char *path;
    int window;          /* of a stream, and */
    const char *buffers; /* where its messages arrive */
    long batch, warmup, repetitions;
    const double *seconds; /* the samples */
    double started, duration;
};

/* Both put one line on disk before they return; 0, or -1 with errno set. */
int results_header(FILE *file, const struct launch *launch);
int results_record(FILE *file, const struct record *record);

#endif
