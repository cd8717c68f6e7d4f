/* Reading a clock twice around a short piece of code.
 *
 * ticks_start() keeps everything before it out of the timed part, ticks_stop() keeps everything timed in:
 * out-of-order execution would move either otherwise. Which clock is read is an argument, constant within a
 * loop, so that the branch costs nothing and Python (bench/clock.py) decides.
 */
#pragma once

#include <stdint.h>
#include <time.h>

enum {
    TICKS_CLOCK_GETTIME = 0,
    TICKS_COUNTER = 1,
    TICKS_SIMULATED = 2 /* clock_gettime in a simulation, where a rank sleeps exactly until a time */
};

static inline uint64_t ticks_of(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#if defined(__x86_64__)
#include <x86intrin.h>
#define TICKS_COUNTER_NAME "tsc"
static inline uint64_t counter_start(void) {
    _mm_lfence();
    uint64_t t = __rdtsc();
    _mm_lfence();
    return t;
}
static inline uint64_t counter_stop(void) {
    unsigned processor;
    uint64_t t = __rdtscp(&processor); /* waits for what is before it */
    _mm_lfence();
    return t;
}

#elif defined(__aarch64__)
#define TICKS_COUNTER_NAME "cntvct"
static inline uint64_t counter_start(void) {
    uint64_t t;
    __asm__ __volatile__("isb; mrs %0, cntvct_el0; isb" : "=r"(t)::"memory");
    return t;
}
static inline uint64_t counter_stop(void) { return counter_start(); }

#elif defined(__powerpc64__)
#define TICKS_COUNTER_NAME "timebase"
static inline uint64_t counter_start(void) {
    uint64_t t;
    __asm__ __volatile__("isync; mftb %0; isync" : "=r"(t)::"memory");
    return t;
}
static inline uint64_t counter_stop(void) { return counter_start(); }

#else
#define TICKS_COUNTER_NAME ""
static inline uint64_t counter_start(void) { return ticks_of(CLOCK_MONOTONIC); }
static inline uint64_t counter_stop(void) { return ticks_of(CLOCK_MONOTONIC); }
#endif

static inline uint64_t ticks_start(int clock) {
    return clock == TICKS_COUNTER ? counter_start() : ticks_of(CLOCK_MONOTONIC);
}

static inline uint64_t ticks_stop(int clock) {
    return clock == TICKS_COUNTER ? counter_stop() : ticks_of(CLOCK_MONOTONIC);
}

/* In a simulation, sleep that long: exact, and no loop that reads the clock. Returns whether there is one. */
static inline int ticks_sleep(int clock, uint64_t ticks) {
    struct timespec time = {(time_t)(ticks / 1000000000u), (long)(ticks % 1000000000u)};
    if (clock != TICKS_SIMULATED) return 0;
    nanosleep(&time, NULL);
    return 1;
}
