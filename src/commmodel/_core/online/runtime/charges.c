// What is charged for computation: the processor time between two calls, or what a recording says; and MPI_Wtime.
#define _GNU_SOURCE
#include "online/runtime/charges.h"

#include <math.h>

#include "online/runtime/operations.h"

static _Thread_local double computed_until;  // processor time of the thread
static int idle_clocks;                      // readings of the clock since the last operation
static uint64_t idle_since_action;           // that operation
static double idle_since, idle_processor;
static const double LONGEST_LOOK = 20e-6;  // s of processor time between two readings of a loop that only waits

double processor_seconds(void) {
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &time);  // not that of clocks.c
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void charge_seconds(double seconds) {
    if (world->compute_factor > 0.0 && seconds > 0.0) add_time(COMPUTE, seconds * world->compute_factor);
}

void charge(void) {
    if (!is_measured()) return;
    const double time = processor_seconds();
    charge_seconds(time - computed_until);
    computed_until = time;
}

void start_clock(void) { computed_until = processor_seconds(); }

void restart_clock(void) {
    if (is_measured()) computed_until = processor_seconds();
}

double now(void) {
    note_clock();
    if (is_ahead()) yield();
    if (idle_since_action != action_count) idle_clocks = 0;
    idle_since_action = action_count;
    if (++idle_clocks == 1) idle_processor = processor_seconds();
    if (idle_clocks == 1000) idle_since = last_turn();
    if (idle_clocks > 1000 && processor_seconds() - idle_processor < LONGEST_LOOK * idle_clocks) {
        // A loop until some time has passed.
        add_time(SLEEP, fmax(1e-6, 1e-4 * (last_turn() - idle_since)));
        yield();
    }
    return last_turn();
}
