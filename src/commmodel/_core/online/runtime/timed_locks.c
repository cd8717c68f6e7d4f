// Locks with a time limit: simulated clocks tell the program when it is, but threads wait in the time of this machine.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include "online/runtime/readings.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

static const double LONGEST = 1e9;  // s

// Of a limit whose clock the object alone knows: their epochs are decades apart.
static clockid_t nearest_clock(const struct timespec *limit) {
    const double seconds = seconds_of(limit);
    const double real = epoch_of(CLOCK_REALTIME), monotonic = epoch_of(CLOCK_MONOTONIC);
    return fabs(seconds - real) < fabs(seconds - monotonic) ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

static struct timespec time_here(clockid_t clock, double seconds) {
    struct timespec time;
    syscall(SYS_clock_gettime, clock, &time);
    const double part = fmin(seconds, LONGEST), whole = floor(part);
    time.tv_sec += (time_t)whole;
    time.tv_nsec += (long)(1e9 * (part - whole));
    if (time.tv_nsec >= 1000000000) ++time.tv_sec, time.tv_nsec -= 1000000000;
    return time;
}

// Of the interpreter: it waits so for its lock, not for a time.
static bool is_in_python(const void *caller) {
    Dl_info info, python;
    void *const function = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    return function != NULL && dladdr(function, &python) != 0 && dladdr(caller, &info) != 0 &&
           info.dli_fbase == python.dli_fbase;
}

// The definition of a function with a limit. `call` is of the next one, with `local_limit`, that of this machine. A
// rank without other threads waits in simulated time: nobody else has the lock but another process.
#define WAIT(name, clock_of_limit, call, is_over)                          \
    static __typeof__(name) *next;                                         \
    if (next == NULL) next = (__typeof__(name) *)next_function(#name);     \
    const struct timespec *local_limit = limit;                            \
    if (!is_valid(limit) || !has_simulated_clocks()) return (call);        \
    const clockid_t id = (clock_of_limit);                                 \
    const double seconds = seconds_until(limit, id);                       \
    const bool is_single = may_read_in_turn() && !has_other_threads();     \
    struct timespec limit_here = time_here(id, is_single ? 0.0 : seconds); \
    local_limit = &limit_here;                                             \
    int result = (call);                                                   \
    if (is_single && (is_over) && seconds > 0.0) {                         \
        sleep_for(seconds);                                                \
        limit_here = time_here(id, 0.0);                                   \
        result = (call);                                                   \
    }                                                                      \
    if (is_over) reach(present_seconds() + seconds_until(limit, id));      \
    return result;

// The newest version: the oldest of pthread_cond_timedwait knows other objects.
static void *next_function(const char *name) {
    void *const versioned = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return versioned != NULL ? versioned : dlsym(RTLD_NEXT, name);
}

int wait_here(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *limit) {
    static __typeof__(pthread_cond_timedwait) *next;
    if (next == NULL) next = (__typeof__(pthread_cond_timedwait) *)next_function("pthread_cond_timedwait");
    return next(condition, mutex, limit);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *limit) {
    const bool is_for_a_time = !is_in_python(__builtin_return_address(0));
    WAIT(pthread_cond_timedwait, nearest_clock(limit), next(condition, mutex, local_limit),
         is_for_a_time && result == ETIMEDOUT)
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *limit){
    WAIT(pthread_cond_clockwait, clock, next(condition, mutex, clock, local_limit), result == ETIMEDOUT)}

EXPORT int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *limit){
    WAIT(cnd_timedwait, CLOCK_REALTIME, next(condition, mutex, local_limit), result == thrd_timedout)}

EXPORT int mtx_timedlock(mtx_t *mutex, const struct timespec *limit){
    WAIT(mtx_timedlock, CLOCK_REALTIME, next(mutex, local_limit), result == thrd_timedout)}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *limit){
    WAIT(pthread_mutex_timedlock, CLOCK_REALTIME, next(mutex, local_limit), result == ETIMEDOUT)}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *limit){
    WAIT(pthread_mutex_clocklock, clock, next(mutex, clock, local_limit), result == ETIMEDOUT)}

EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *limit){
    WAIT(pthread_rwlock_timedrdlock, CLOCK_REALTIME, next(lock, local_limit), result == ETIMEDOUT)}

EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *limit){
    WAIT(pthread_rwlock_timedwrlock, CLOCK_REALTIME, next(lock, local_limit), result == ETIMEDOUT)}

EXPORT int sem_timedwait(sem_t *semaphore, const struct timespec *limit){
    WAIT(sem_timedwait, CLOCK_REALTIME, next(semaphore, local_limit), result != 0 && errno == ETIMEDOUT)}

EXPORT int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *limit) {
    WAIT(sem_clockwait, clock, next(semaphore, clock, local_limit), result != 0 && errno == ETIMEDOUT)
}
