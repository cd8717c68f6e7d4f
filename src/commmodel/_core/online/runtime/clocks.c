// Clocks of the C library: they read simulated time, or are noted. Also notes threads and threaded libraries.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/timeb.h>
#include <sys/times.h>

#include "record/sites.h"
#include "online/runtime/notes.h"
#include "online/runtime/readings.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

static bool is_executable_python(void) { return dlsym(RTLD_DEFAULT, "Py_IsInitialized") != NULL; }

static bool has_to_look(void) {
    return is_attached() && world->clock[0] == 0 && this_rank->state == ONLINE_ALIVE && !has_simulated_clocks();
}

// Whether MPI is initialised: before that nothing is noted.
EXPORT int commmodel_note_clock(const char *site) {
    if (has_to_look()) snprintf(world->clock, sizeof world->clock, "%s", site);
    return is_attached();
}

EXPORT void commmodel_note_blas(void) {
    if (is_attached()) world->blas = 1;
}

// Whether the program itself reads the clock, not a library. For Python, the interpreter tells.
static void look_at(const char *function, const void *caller) {
    static const char *const LIBRARIES[] = {"libstdc++", "libgomp", "libgfortran"};
    static int is_python = -1;
    if (is_python < 0) is_python = is_executable_python();
    Dl_info info, program;
    if (is_python || dladdr(caller, &info) == 0 || info.dli_fname == NULL) return;
    bool counts = dladdr((void *)getauxval(AT_ENTRY), &program) != 0 && program.dli_fbase == info.dli_fbase;
    for (size_t i = 0; i < sizeof LIBRARIES / sizeof *LIBRARIES; i++)
        counts |= strstr(info.dli_fname, LIBRARIES[i]) != NULL;
    if (!counts) return;
    char site[256];
    const uintptr_t address = (uintptr_t)caller - 1;
    const unsigned char *elf = info.dli_fbase;
    const uintptr_t base = elf[16] == 2 ? 0 : (uintptr_t)elf;  // ET_EXEC: not moved
    snprintf(site, sizeof site, "%s\n%.180s\n0\n@0x%lx\n2", function, info.dli_fname, (unsigned long)(address - base));
    commmodel_note_clock(site);
}

#define NEXT(name)                 \
    static __typeof__(name) *next; \
    if (next == NULL) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static bool is_simulated(clockid_t clock) { return clock >= 0 && has_simulated_clocks(); }

static struct timespec timespec_of(int64_t nanoseconds) {
    return (struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000};
}

static struct timeval timeval_of(int64_t nanoseconds) {
    return (struct timeval){nanoseconds / 1000000000, nanoseconds % 1000000000 / 1000};
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *time) {
    NEXT(clock_gettime);
    if (is_simulated(clock)) {
        *time = timespec_of(read_clock(clock));
        return 0;
    }
    const bool is_of_processor = clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID || clock < 0;
    if (!is_of_processor && has_to_look()) look_at("clock_gettime", __builtin_return_address(0));
    return next(clock, time);
}

EXPORT int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    NEXT(gettimeofday);
    if (is_simulated(CLOCK_REALTIME)) {
        *time = timeval_of(read_clock(CLOCK_REALTIME));
        return 0;
    }
    if (has_to_look()) look_at("gettimeofday", __builtin_return_address(0));
    return next(time, zone);
}

EXPORT time_t time(time_t *result) {
    NEXT(time);
    if (!is_simulated(CLOCK_REALTIME)) return next(result);
    const time_t seconds = read_clock(CLOCK_REALTIME) / 1000000000;
    if (result != NULL) *result = seconds;
    return seconds;
}

EXPORT int timespec_get(struct timespec *time, int base) {
    NEXT(timespec_get);
    if (base != TIME_UTC || !is_simulated(CLOCK_REALTIME)) return next(time, base);
    *time = timespec_of(read_clock(CLOCK_REALTIME));
    return base;
}

EXPORT clock_t clock(void) {
    NEXT(clock);
    if (!is_simulated(CLOCK_PROCESS_CPUTIME_ID)) return next();
    return read_clock(CLOCK_PROCESS_CPUTIME_ID) / (1000000000 / CLOCKS_PER_SEC);
}

EXPORT clock_t times(struct tms *buffer) {
    NEXT(times);
    if (!is_simulated(CLOCK_MONOTONIC)) return next(buffer);
    const int64_t tick = 1000000000 / sysconf(_SC_CLK_TCK);
    if (buffer != NULL) *buffer = (struct tms){.tms_utime = read_clock(CLOCK_PROCESS_CPUTIME_ID) / tick};
    return read_clock(CLOCK_MONOTONIC) / tick;
}

EXPORT int getrusage(__rusage_who_t subject, struct rusage *usage) {
    NEXT(getrusage);
    const int error = next(subject, usage);
    if (error != 0 || (int)subject == RUSAGE_CHILDREN || !is_simulated(CLOCK_PROCESS_CPUTIME_ID)) return error;
    const bool is_of_thread = (int)subject == RUSAGE_THREAD;
    usage->ru_utime = timeval_of(read_clock(is_of_thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID));
    usage->ru_stime = (struct timeval){0, 0};
    return 0;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    NEXT(pthread_create);
    if (is_attached()) {
        world->threads = 1;
        note_thread();
    }
    return next(thread, attributes, start, argument);
}

// At the end of a program: whether it has loaded a BLAS or OpenMP, which may have threads.
void look_for_blas(void) {
    static const char *const LIBRARIES[] = {"blas", "libmkl", "libgomp", "libiomp", "libomp"};
    FILE *maps = world->is_repeated || is_executable_python() ? NULL : fopen("/proc/self/maps", "r");
    if (maps == NULL) return;
    char line[4096];
    while (!world->blas && fgets(line, sizeof line, maps) != NULL) {
        const char *name = strrchr(line, '/');
        for (size_t i = 0; name != NULL && i < sizeof LIBRARIES / sizeof *LIBRARIES; i++)
            if (strstr(name, LIBRARIES[i]) != NULL) commmodel_note_blas();
    }
    fclose(maps);
}
