/* How long a cache line takes there and back between two processors, and one of them for some work, in ns.
 *
 * cc -O2 -pthread processors.c. Virtual machines move their processors: two that share a core hand a line over several
 * times as fast as two that do not, and messages through memory with it; and cores do other machines' work, too.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 2000, NUMBERS = 32768, PASSES = 50 };
static _Alignas(128) atomic_int line;

static void stay_on(int number) {
    cpu_set_t allowed, one;
    sched_getaffinity(0, sizeof allowed, &allowed);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && number-- == 0) CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static void *answer(void *unused) {
    stay_on(1);
    for (int i = 0; i < ROUNDS; i++) {
        while (atomic_load(&line) != 2 * i + 1) continue;
        atomic_store(&line, 2 * i + 2);
    }
    return unused;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int compare(const void *first, const void *second) {
    const double a = *(const double *)first, b = *(const double *)second;
    return (a > b) - (a < b);
}

static double work(void) {
    static double numbers[NUMBERS], times[PASSES];
    for (int pass = 0; pass < PASSES; pass++) {
        const double begin = now();
        for (int i = 0; i < NUMBERS; i++) numbers[i] = 0.5 * numbers[i] + pass;
        times[pass] = now() - begin;
    }
    qsort(times, PASSES, sizeof *times, compare);
    return times[PASSES / 2] + (numbers[NUMBERS / 2] < 0.0);
}

int main(void) {
    static double times[ROUNDS];
    pthread_t other;
    if (pthread_create(&other, NULL, answer, NULL)) return 1;
    stay_on(0);
    for (int i = 0; i < ROUNDS; i++) {
        const double begin = now();
        atomic_store(&line, 2 * i + 1);
        while (atomic_load(&line) != 2 * i + 2) continue;
        times[i] = now() - begin;
    }
    pthread_join(other, NULL);
    qsort(times, ROUNDS, sizeof *times, compare);
    printf("%.0f %.0f\n", times[ROUNDS / 2], work());
    return 0;
}
