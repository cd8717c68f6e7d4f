// Several threads of a rank that call MPI: one of them at a time, and while one waits the others go on.
//
// A rank has one sequence of operations, so a thread does not block it: it polls for completion, and lets simulated
// time advance only when every other thread waits in MPI or sleeps.
#define _GNU_SOURCE
#include "online/runtime/threads.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <pthread.h>

#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/findings.h"
#include "online/runtime/operations.h"
#include "online/runtime/readings.h"
#include "online/runtime/turns.h"

enum { MOST = 256 };                      // threads that wait at once
static const double LONGEST_SLEEP = 1.0;  // s; a thread that sleeps longer counts as waiting

static struct {
    pid_t thread;
    uint64_t change;
    double until;  // simulated time
} waiters[MOST];
static int waiter_count;
static uint64_t changes;  // so far; a waiting thread polls again after each
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;  // for all waiting threads but the first
static double spin_patience = 0.1;  // s; then a thread that runs may be in a loop until another one has its message
static bool may_be_several, are_several, is_any_thread;
static int allowed_level = MPI_THREAD_MULTIPLE;
static pthread_t main_thread;
static _Thread_local bool has_turn, is_only_caller;  // it alone may call MPI

// In a checked run threads take turns at any level, so that calls of others than the program's level allows are named.
void allow_threads(int level) {
    may_be_several = level == MPI_THREAD_MULTIPLE;
    is_only_caller = level <= MPI_THREAD_FUNNELED;
    allowed_level = level;
    main_thread = pthread_self();
}

bool is_main_thread(void) { return pthread_equal(main_thread, pthread_self()); }

static const char *level_name(void) {
    return allowed_level == MPI_THREAD_SINGLE     ? "MPI_THREAD_SINGLE"
           : allowed_level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED"
                                                  : "MPI_THREAD_SERIALIZED";
}

void check_level(void) {
    static bool is_told;
    if (allowed_level == MPI_THREAD_MULTIPLE || !is_any_thread) return;
    if (allowed_level <= MPI_THREAD_FUNNELED && !is_main_thread())
        accuse("wrong thread", "another thread than the one that initialised MPI calls it, which %s does not allow",
               level_name());
    else if (waiter_count > 0)
        accuse("wrong thread", "a thread calls MPI while another one of the rank does, which %s does not allow",
               level_name());
    else if (allowed_level == MPI_THREAD_SINGLE && !is_told)
        accuse("wrong thread", "the rank has several threads, which MPI_THREAD_SINGLE, as of MPI_Init, does not allow");
    is_told = is_told || allowed_level == MPI_THREAD_SINGLE;
}

void note_thread(void) {
    are_several = may_be_several || is_checked();
    is_any_thread = true;
}

bool may_sleep_in_turn(void) { return are_several || !is_any_thread || is_only_caller; }

bool is_beside_others(void) { return is_any_thread && !are_several; }

bool is_any_waiting(void) { return waiter_count > 0; }

bool may_have_threads(void) { return may_be_several; }

bool has_other_threads(void) { return is_any_thread; }

bool has_threads(void) { return are_several; }

void note_change(void) {
    ++changes;
    if (waiter_count > 1) pthread_cond_broadcast(&change);
}

void take_turn(void) {
    if (!are_several) return;
    pthread_mutex_lock(&turn);
    has_turn = true;
}

bool try_turn(void) {
    if (!are_several) return true;
    has_turn = pthread_mutex_trylock(&turn) == 0;
    return has_turn;
}

bool hold_turn(void) {
    if (!is_attached() || has_turn || (!are_several && is_inside())) return false;
    take_turn();
    come_inside();
    return true;
}

void release_turn(bool is_held) {
    if (is_held) leave_turn();
}

void leave_turn(void) {
    if (waiter_count == 0) go_outside();
    if (!has_turn) return;
    note_change();
    has_turn = false;
    pthread_mutex_unlock(&turn);
}

static bool read_line(pid_t thread, const char *name, char *line, int size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)thread, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) return false;
    const bool is_read = fgets(line, size, file) != NULL;
    fclose(file);
    return is_read;
}

// Whether a thread sleeps until a time that it has set.
static bool sleeps_for_a_time(pid_t thread) {
    char line[256];
    long call = -1;
    unsigned long arguments[4] = {0};
    if (!read_line(thread, "syscall", line, sizeof line)) return false;
    sscanf(line, "%ld %lx %lx %lx %lx", &call, &arguments[0], &arguments[1], &arguments[2], &arguments[3]);
    return call == SYS_clock_nanosleep || call == SYS_nanosleep || (call == SYS_futex && arguments[3] != 0);
}

// Whether a thread outside MPI is blocked until another thread acts.
static bool sleeps(pid_t thread, bool is_late) {
    char line[512];
    if (!read_line(thread, "stat", line, sizeof line)) return true;  // it has ended
    const char *name_end = strrchr(line, ')');
    if (name_end == NULL || strchr("SZXT", name_end[2]) == NULL) return false;
    return is_late || !sleeps_for_a_time(thread);
}

enum activity { GO_ON, MAY_SPIN, WAIT_TOO };

// What the other threads do; `waited`: seconds of this machine that this one has waited so far.
static enum activity look_at_others(uint64_t begin, double waited) {
    DIR *threads = opendir("/proc/self/task");
    if (threads == NULL) return WAIT_TOO;
    const pid_t self = gettid();
    enum activity activity = WAIT_TOO;
    for (struct dirent *entry = readdir(threads); activity != GO_ON && entry != NULL; entry = readdir(threads)) {
        const pid_t thread = isdigit(entry->d_name[0]) ? atoi(entry->d_name) : self;
        if (thread == self) continue;
        int index = 0;
        while (index < waiter_count && waiters[index].thread != thread) ++index;
        if (index < waiter_count ? waiters[index].change == begin : sleeps(thread, waited > LONGEST_SLEEP)) continue;
        activity = index == waiter_count && waited > spin_patience ? MAY_SPIN : GO_ON;
    }
    closedir(threads);
    return activity;
}

// Let other threads have the turn of the rank for a while; the first waiting one looks often, the others are told.
static void let_others(long nanoseconds) {
    if (waiters[0].thread == gettid()) {
        pthread_mutex_unlock(&turn);
        nanoseconds > 0 ? syscall(SYS_nanosleep, &(struct timespec){0, nanoseconds}, NULL) : sched_yield();
        pthread_mutex_lock(&turn);
        return;
    }
    struct timespec end;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &end);
    end.tv_nsec += nanoseconds;
    if (end.tv_nsec >= 1000000000) ++end.tv_sec, end.tv_nsec -= 1000000000;
    wait_here(&change, &turn, &end);
}

static double seconds_here(void) {
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// The first time to which a waiting thread wants to be woken.
static double first_alarm(void) {
    double first = INFINITY;
    for (int i = 0; i < waiter_count; i++) first = fmin(first, waiters[i].until);
    return first;
}

void await_change(double seconds) {
    if (!has_turn) {
        act(AWAIT, -2, NONE, NONE, seconds);
        return;
    }
    if (waiter_count == MOST) abort_all(2, "more than %d threads of rank %d wait in MPI", MOST, my_rank);
    const uint64_t begin = changes;
    const pid_t self = gettid();
    const struct thread_call call = current_call();
    waiters[waiter_count].thread = self;
    waiters[waiter_count].until = last_turn() + seconds;
    waiters[waiter_count++].change = begin;
    enum activity activity = GO_ON, before = GO_ON;
    const double start = seconds_here();
    double waited = 0.0;  // without other programs' time
    for (long pause = 0; pause >= 0; pause = pause < 1000000 ? 2 * pause + 10000 : pause) {  // ns
        let_others(pause);
        waited += 1e-9 * (double)pause;
        if (changes != begin) break;
        activity = look_at_others(begin, seconds_here() - start);
        if (activity != GO_ON && before != GO_ON) break;  // twice, as one may just have been woken
        before = activity;
    }
    const bool goes_on = changes == begin;
    const double alarm = first_alarm();
    int index = 0;
    while (waiters[index].thread != self) ++index;
    waiters[index] = waiters[--waiter_count];
    set_call(call);
    if (!goes_on) return;
    double limit = alarm - last_turn();
    if (activity == MAY_SPIN) {  // or it computes: then time passes as it does here
        limit = fmin(limit, waited);
        spin_patience = fmax(1e-3, 0.5 * spin_patience);
    }
    act(AWAIT, -2, NONE, NONE, fmax(limit, 1e-9));
    note_change();
}

void pass_time(double seconds) {
    if (!has_turn) {
        if (seconds > 0.0) add_time(SLEEP, seconds);
        yield();
        return;
    }
    if (is_ahead()) yield();
    const double end = last_turn() + seconds;
    for (double rest = seconds; rest > 0.0; rest = end - last_turn()) {
        await_change(rest);
        if (is_ahead()) yield();
    }
}

void await_named(int count, const int *names) {
    if (has_turn) {
        bool *const done = allocate(sizeof(bool) * (size_t)(count + 1));
        for (int open = count; open > 0;) {
            ask_done(count, names, done);
            open = 0;
            for (int i = 0; i < count; i++) open += !done[i];
            if (open > 0) await_change(INFINITY);
        }
        free(done);
    }
    for (int i = 0; i < count; i++) act(WAIT, NONE, NONE, names[i], 0.0);
}
