// Several threads of a rank that call MPI: one of them at a time, and while one waits the others go on.
//
// A rank has one sequence of operations, so a thread does not block it: it polls for completion, and lets simulated
// time advance only when every other thread waits in MPI or sleeps.
#define _GNU_SOURCE
#include "online/runtime/threads.h"

#include <ctype.h>
#include <dirent.h>
#include <pthread.h>

#include "online/runtime/calls.h"
#include "online/runtime/operations.h"
#include "online/runtime/turns.h"

enum { MOST = 256 };                      // threads that wait at once
static const double LONGEST_SLEEP = 1.0;  // s; a thread that sleeps longer counts as waiting

static struct {
    pid_t thread;
    uint64_t change;
} waiters[MOST];
static int waiter_count;
static uint64_t changes;  // so far; a waiting thread polls again after each
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static bool may_be_several, are_several;
static _Thread_local bool has_turn;

void allow_threads(bool are_allowed) { may_be_several = are_allowed; }

void note_thread(void) { are_several = may_be_several; }

bool has_threads(void) { return are_several; }

void note_change(void) { ++changes; }

void take_turn(void) {
    if (!are_several) return;
    pthread_mutex_lock(&turn);
    has_turn = true;
}

void leave_turn(void) {
    if (!has_turn) return;
    ++changes;
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

static bool all_others_wait(uint64_t change, bool is_late) {
    DIR *threads = opendir("/proc/self/task");
    if (threads == NULL) return true;
    const pid_t self = gettid();
    bool do_wait = true;
    for (struct dirent *entry = readdir(threads); do_wait && entry != NULL; entry = readdir(threads)) {
        const pid_t thread = isdigit(entry->d_name[0]) ? atoi(entry->d_name) : self;
        if (thread == self) continue;
        int index = 0;
        while (index < waiter_count && waiters[index].thread != thread) ++index;
        do_wait = index < waiter_count ? waiters[index].change == change : sleeps(thread, is_late);
    }
    closedir(threads);
    return do_wait;
}

void await_change(double seconds) {
    if (!has_turn) {
        act(AWAIT, -2, NONE, NONE, seconds);
        return;
    }
    if (waiter_count == MOST) abort_all(2, "more than %d threads of rank %d wait in MPI", MOST, my_rank);
    const uint64_t change = changes;
    const pid_t self = gettid();
    const struct thread_call call = current_call();
    waiters[waiter_count].thread = self;
    waiters[waiter_count++].change = change;
    bool did_wait = false, goes_on = false;
    double late = LONGEST_SLEEP;
    for (long pause = 10000;; pause = pause < 1000000 ? 2 * pause : pause) {  // ns
        pthread_mutex_unlock(&turn);
        nanosleep(&(struct timespec){0, pause}, NULL);
        late -= 1e-9 * (double)pause;
        pthread_mutex_lock(&turn);
        if (changes != change) break;
        const bool do_wait = all_others_wait(change, late < 0.0);
        goes_on = do_wait && did_wait;  // twice, as one may just have been woken
        if (goes_on) break;
        did_wait = do_wait;
    }
    int index = 0;
    while (waiters[index].thread != self) ++index;
    waiters[index] = waiters[--waiter_count];
    set_call(call);
    if (goes_on) act(AWAIT, -2, NONE, NONE, seconds);
}
