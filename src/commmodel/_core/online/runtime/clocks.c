// Detects what simulated time does not cover: other clocks, threads, threaded libraries.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/time.h>

#include "record/sites.h"
#include "online/runtime/notes.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

static bool is_executable_python(void) { return dlsym(RTLD_DEFAULT, "Py_IsInitialized") != NULL; }

static bool has_to_look(void) { return is_attached() && world->clock[0] == 0 && this_rank->state == ONLINE_ALIVE; }

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

EXPORT int clock_gettime(clockid_t clock, struct timespec *time) {
    NEXT(clock_gettime);
    const bool is_of_processor = clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID || clock < 0;
    if (!is_of_processor && has_to_look()) look_at("clock_gettime", __builtin_return_address(0));
    return next(clock, time);
}

EXPORT int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    NEXT(gettimeofday);
    if (has_to_look()) look_at("gettimeofday", __builtin_return_address(0));
    return next(time, zone);
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
    FILE *maps = is_executable_python() ? NULL : fopen("/proc/self/maps", "r");
    if (maps == NULL) return;
    char line[4096];
    while (!world->blas && fgets(line, sizeof line, maps) != NULL) {
        const char *name = strrchr(line, '/');
        for (size_t i = 0; name != NULL && i < sizeof LIBRARIES / sizeof *LIBRARIES; i++)
            if (strstr(name, LIBRARIES[i]) != NULL) commmodel_note_blas();
    }
    fclose(maps);
}
