/* Which clock of ticks.h times the loop, and how good it is. */
#ifndef BENCH_C_CLOCK_H
#define BENCH_C_CLOCK_H

struct clock {
    int number;              /* TICKS_COUNTER or TICKS_CLOCK_GETTIME */
    const char *kind;        /* as results.jsonl names it */
    const char *source;      /* where the frequency is from */
    double frequency;        /* ticks per second */
    double resolution, cost; /* seconds */
};

/* Choose the clock by the rule of commmodel.bench.clock: the counter where it is trusted. Takes 0.1 s. */
struct clock clock_choose(void);

#endif
