// What clocks other than MPI_Wtime read in simulated time.
#pragma once

#include <pthread.h>
#include <time.h>

#include "online/online.h"

bool has_simulated_clocks(void);           // this process
void decide_clocks(void);                  // once the world is known
double read_seconds(void);                 // since the simulation began
double present_seconds(void);              // the same, without giving up the turn or charging anything
double processor_reading(bool of_thread);  // seconds for which the rank or this thread has not slept
int64_t read_clock(clockid_t clock);       // ns
double epoch_of(clockid_t clock);          // s, when the simulation began; 0 of processor time
double seconds_until(const struct timespec *time, clockid_t clock);
void pass_alone(double seconds);  // outside MPI: clocks go ahead of the simulation
void reach(double seconds);       // this thread has waited until then
void note_slept(double seconds);
void sleep_for(double seconds);  // of sleeps.c: in simulated time
int wait_here(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *limit);  // of this machine
bool may_read_in_turn(void);  // this thread may give the rank's turn away

static inline double seconds_of(const struct timespec *time) {
    return (double)time->tv_sec + 1e-9 * (double)time->tv_nsec;
}

static inline bool is_valid(const struct timespec *time) {
    return time != NULL && time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < 1000000000;
}
