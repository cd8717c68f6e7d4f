// The loop of the kernel triad. Build: cc -O2 -shared -fPIC triad.c -o libtriad.so
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

void triad(double *a, const double *b, long count, long stride, double *seconds, long repetitions) {
    for (long repetition = 0; repetition < repetitions; ++repetition) {
        const double begin = now();
        for (long i = 0; i < count; i += stride) a[i] = b[i] + 3.0 * a[i];
        seconds[repetition] = now() - begin;
    }
}
