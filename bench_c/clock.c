/* The clock of the program `yardstick`, chosen by the rule of commmodel.bench.clock: the processor's counter
 * where it can be trusted, on x86-64 only if CPUID calls it invariant and Linux itself keeps time with it. Its
 * frequency is always counted, never looked up: one way for every processor, and 0.1 s is nothing here.
 */
#define _GNU_SOURCE /* CLOCK_MONOTONIC_RAW */

#include "clock.h"
#include "clock/processor.h"
#include "clock/ticks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READINGS = 2001, CALIBRATION_NANOSECONDS = 100000000, ATTEMPTS = 10 };
enum { EDX = 3, INVARIANT_BIT = 8 };
static const unsigned POWER_MANAGEMENT_LEAF = 0x80000007;

static int linux_keeps_time_with_it(void) {
    char name[32] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (!file) return 1; /* nothing is known against it */
    int known = fgets(name, sizeof name, file) != NULL;
    fclose(file);
    return !known || strcmp(name, "tsc\n") == 0;
}

static int counter_is_trusted(void) {
    if (strcmp(TICKS_COUNTER_NAME, "tsc") != 0)
        return TICKS_COUNTER_NAME[0] != '\0'; /* those of aarch64 and Power are invariant by architecture */
    unsigned registers[4];
    if (cpuid_highest(POWER_MANAGEMENT_LEAF) < POWER_MANAGEMENT_LEAF) return 0;
    cpuid_read(POWER_MANAGEMENT_LEAF, registers);
    return (registers[EDX] >> INVARIANT_BIT & 1) && linux_keeps_time_with_it();
}

/* Read the clock between two readings of CLOCK_MONOTONIC_RAW; keep the tightest of several brackets. */
static uint64_t bracketed(int number, uint64_t *reference) {
    uint64_t best_ticks = 0, best_width = UINT64_MAX;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint64_t before = ticks_of(CLOCK_MONOTONIC_RAW);
        uint64_t ticks = ticks_start(number);
        uint64_t after = ticks_of(CLOCK_MONOTONIC_RAW);
        if (after - before < best_width) {
            best_width = after - before;
            best_ticks = ticks;
            *reference = before + best_width / 2;
        }
    }
    return best_ticks;
}

static double calibrate(int number) {
    uint64_t start_reference = 0, end_reference = 0;
    uint64_t start = bracketed(number, &start_reference);
    while (ticks_of(CLOCK_MONOTONIC_RAW) - start_reference < CALIBRATION_NANOSECONDS);
    uint64_t end = bracketed(number, &end_reference);
    return (double)(end - start) * 1e9 / (double)(end_reference - start_reference);
}

static int ascending(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static double smallest_step(const struct clock *clock) {
    uint64_t smallest = UINT64_MAX, last = ticks_stop(clock->number);
    for (int i = 1; i < READINGS || smallest == UINT64_MAX; i++) {
        uint64_t now = ticks_stop(clock->number);
        if (now > last && now - last < smallest) smallest = now - last;
        last = now;
    }
    return (double)smallest / clock->frequency;
}

static double median_cost(const struct clock *clock) {
    uint64_t pairs[READINGS];
    for (int i = 0; i < READINGS; i++) {
        uint64_t begin = ticks_start(clock->number);
        pairs[i] = ticks_stop(clock->number) - begin;
    }
    qsort(pairs, READINGS, sizeof pairs[0], ascending);
    return (double)pairs[READINGS / 2] / clock->frequency;
}

struct clock clock_choose(void) {
    struct clock clock = {
        .number = TICKS_CLOCK_GETTIME,
        .kind = "clock_gettime",
        .source = "nanoseconds",
        .frequency = 1e9,
    };
    if (counter_is_trusted()) {
        clock.number = TICKS_COUNTER;
        clock.kind = TICKS_COUNTER_NAME;
        clock.source = "calibrated against CLOCK_MONOTONIC_RAW";
        clock.frequency = calibrate(TICKS_COUNTER);
    }
    clock.resolution = smallest_step(&clock);
    clock.cost = median_cost(&clock);
    return clock;
}
