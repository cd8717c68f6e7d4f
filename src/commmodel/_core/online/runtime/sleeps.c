// Functions of the C library that wait for a time: it passes in the simulation, where others have the turn meanwhile.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <threads.h>

#include "online/runtime/calls.h"
#include "online/runtime/call_sites.h"
#include "online/runtime/charges.h"
#include "online/runtime/readings.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

static const double SHORTEST_LOOK = 1e-6, SHARE_OF_WAIT = 0.1;  // s; between two looks at files, of the wait so far

static const double LONGEST_PART = 0.1;  // s; of a sleep beside threads that do not call MPI

// Whether the rank may give its turn away here: it alone, and outside MPI.
static bool is_simulated(void) {
    return is_attached() && !is_copy() && this_rank->state == ONLINE_ALIVE && !is_in_call() && may_sleep_in_turn();
}

// Whether it passes for the clocks alone: before MPI_Init and after MPI_Finalize.
static bool is_alone(void) { return has_simulated_clocks() && (!is_attached() || this_rank->state != ONLINE_ALIVE); }

static bool passes(void) { return is_simulated() || is_alone(); }

static const double LONGEST_ALONE = 1e-3;  // s, of this machine

static void sleep_here(double seconds) {
    syscall(SYS_nanosleep, &(struct timespec){(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))}, NULL);
}

// A rank sleeps. Computation of a recording contains its sleep. Threads that do not call MPI need its time, too.
void sleep_for(double seconds) {
    note_slept(seconds);
    if (is_alone()) {
        pass_alone(seconds);
        sleep_here(fmin(seconds, LONGEST_ALONE));
        return;
    }
    double rest = seconds;
    do {
        const double part = is_beside_others() ? fmin(rest, LONGEST_PART) : rest;
        begin_call();
        pass_time(world->recorded_names == 0 ? part : 0.0);
        end_call();
        if (is_beside_others()) sleep_here(part);
        rest -= part;
    } while (rest > 1e-9);
}

// A sleep that the program has called by this name.
static void sleep_called(const char *name, double seconds) {
    if (is_attached() && world->sleep_site[0] == 0 && !has_simulated_clocks()) {
        const uint64_t site = call_site(name);
        snprintf(world->sleep_site, sizeof world->sleep_site, "%s", (const char *)online_at(world, site));
    }
    sleep_for(seconds);
}

#define NEXT(name)                 \
    static __typeof__(name) *next; \
    if (next == NULL) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

EXPORT int nanosleep(const struct timespec *time, struct timespec *rest) {
    NEXT(nanosleep);
    if (!passes() || !is_valid(time)) return next(time, rest);
    sleep_called("nanosleep", seconds_of(time));
    return 0;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest) {
    NEXT(clock_nanosleep);
    struct timespec present;
    if (!passes() || !is_valid(time) || syscall(SYS_clock_gettime, clock, &present) != 0)
        return next(clock, flags, time, rest);
    double seconds = seconds_of(time);
    if (flags & TIMER_ABSTIME)
        seconds = has_simulated_clocks() ? seconds_until(time, clock) : fmax(0.0, seconds - seconds_of(&present));
    sleep_called("clock_nanosleep", seconds);
    return 0;
}

EXPORT int usleep(useconds_t microseconds) {
    NEXT(usleep);
    if (!passes()) return next(microseconds);
    sleep_called("usleep", 1e-6 * microseconds);
    return 0;
}

EXPORT unsigned sleep(unsigned seconds) {
    NEXT(sleep);
    if (!passes()) return next(seconds);
    sleep_called("sleep", seconds);
    return 0;
}

EXPORT int thrd_sleep(const struct timespec *time, struct timespec *rest) {
    NEXT(thrd_sleep);
    if (!passes() || !is_valid(time)) return next(time, rest);
    sleep_called("thrd_sleep", seconds_of(time));
    return 0;
}

// Let time pass until a look at files finds something, or for `seconds`.
#define LOOK(seconds, look)                                                                                     \
    double waited = 0.0;                                                                                        \
    for (int ready;;) {                                                                                         \
        if ((ready = (look)) != 0 || waited >= (seconds)) return ready;                                         \
        const double slice = fmin(fmax(SHORTEST_LOOK, SHARE_OF_WAIT * waited), (seconds) - waited);             \
        sleep_for(slice);                                                                                       \
        waited = waited + slice < (seconds) && (seconds) - waited - slice > 1e-12 ? waited + slice : (seconds); \
    }

static int look_at_sets(__typeof__(select) *look, int count, fd_set *sets[3], const fd_set copies[3]) {
    for (int i = 0; i < 3; i++)
        if (sets[i] != NULL) *sets[i] = copies[i];
    return look(count, sets[0], sets[1], sets[2], &(struct timeval){0, 0});
}

EXPORT int select(int count, fd_set *reads, fd_set *writes, fd_set *exceptions, struct timeval *limit) {
    NEXT(select);
    if (limit == NULL || limit->tv_sec < 0 || limit->tv_usec < 0 || !passes() ||
        (limit->tv_sec == 0 && limit->tv_usec == 0))
        return next(count, reads, writes, exceptions, limit);
    fd_set *sets[3] = {reads, writes, exceptions}, copies[3];
    for (int i = 0; i < 3; i++)
        if (sets[i] != NULL) copies[i] = *sets[i];
    const double seconds = (double)limit->tv_sec + 1e-6 * (double)limit->tv_usec;
    LOOK(seconds, look_at_sets(next, count, sets, copies))
}

EXPORT int poll(struct pollfd *files, nfds_t count, int milliseconds) {
    NEXT(poll);
    if (milliseconds <= 0 || !passes()) return next(files, count, milliseconds);
    const double seconds = 1e-3 * milliseconds;
    LOOK(seconds, next(files, count, 0))
}

EXPORT int ppoll(struct pollfd *files, nfds_t count, const struct timespec *limit, const sigset_t *signals) {
    NEXT(ppoll);
    if (limit == NULL || !is_valid(limit) || seconds_of(limit) == 0.0 || !passes())
        return next(files, count, limit, signals);
    const double seconds = seconds_of(limit);
    const struct timespec at_once = {0, 0};
    LOOK(seconds, next(files, count, &at_once, signals))
}

EXPORT int epoll_wait(int file, struct epoll_event *events, int count, int milliseconds) {
    NEXT(epoll_wait);
    if (milliseconds <= 0 || !passes()) return next(file, events, count, milliseconds);
    const double seconds = 1e-3 * milliseconds;
    LOOK(seconds, next(file, events, count, 0))
}

EXPORT int epoll_pwait(int file, struct epoll_event *events, int count, int milliseconds, const sigset_t *signals) {
    NEXT(epoll_pwait);
    if (milliseconds <= 0 || !passes()) return next(file, events, count, milliseconds, signals);
    const double seconds = 1e-3 * milliseconds;
    LOOK(seconds, next(file, events, count, 0, signals))
}

static int look_at_masked_sets(__typeof__(pselect) *look, int count, fd_set *sets[3], const fd_set copies[3],
                               const sigset_t *signals) {
    for (int i = 0; i < 3; i++)
        if (sets[i] != NULL) *sets[i] = copies[i];
    return look(count, sets[0], sets[1], sets[2], &(struct timespec){0, 0}, signals);
}

EXPORT int pselect(int count, fd_set *reads, fd_set *writes, fd_set *exceptions, const struct timespec *limit,
                   const sigset_t *signals) {
    NEXT(pselect);
    if (limit == NULL || !is_valid(limit) || seconds_of(limit) == 0.0 || !passes())
        return next(count, reads, writes, exceptions, limit, signals);
    fd_set *sets[3] = {reads, writes, exceptions}, copies[3];
    for (int i = 0; i < 3; i++)
        if (sets[i] != NULL) copies[i] = *sets[i];
    const double seconds = seconds_of(limit);
    LOOK(seconds, look_at_masked_sets(next, count, sets, copies, signals))
}
