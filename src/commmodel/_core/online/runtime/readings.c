// What clocks other than MPI_Wtime read in simulated time.
//
// A thread that may call MPI reads the time of the simulator, as MPI_Wtime does. Any other one, and the rank before
// MPI_Init and after MPI_Finalize, reads the last time that is known, and later after it has computed, slept or read
// often: its clock leads. The rank pays that lead with simulated time in its next call.
#define _GNU_SOURCE
#include "online/runtime/readings.h"

#include <math.h>
#include <pthread.h>

#include "online/runtime/calls.h"
#include "online/runtime/charges.h"
#include "online/runtime/operations.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

static enum { UNKNOWN, MACHINE, SIMULATED } clocks;
static int64_t real_epoch, monotonic_epoch;
static double lead;                                                // s
static double slept;                                               // s
static _Thread_local double latest, latest_processor;              // reading of this thread; its processor time then
static _Thread_local int idle_readings;                            // that time has not moved on between
static const int PATIENCE = 1000;                                  // of them
static const double LEAST_STEP = 1e-6, SHARE_OF_IDLE_LOOP = 1e-4;  // s; of the time that the loop has taken so far

static void begin_anew(void) { lead = slept = latest = 0.0; }

// In a forked process, which may become a rank.
static void forget(void) {
    clocks = is_attached() ? MACHINE : UNKNOWN;
    begin_anew();
}

static void take_epochs(const struct online_world *from) {
    real_epoch = from->real_epoch;
    monotonic_epoch = from->monotonic_epoch;
    clocks = from->has_simulated_clocks ? SIMULATED : MACHINE;
}

void decide_clocks(void) { take_epochs(world); }

// Before MPI_Init: the clocks of a process that may become a rank. Children of a rank have those of the machine.
static void decide_outside(void) {
    static bool is_prepared;
    if (!is_prepared) pthread_atfork(NULL, NULL, forget);
    is_prepared = true;
    const char *setting = getenv("COMMMODEL_ONLINE");
    if (setting == NULL) return;  // a copy of this process may get it
    clocks = MACHINE;
    int descriptor, rank;
    if (sscanf(setting, "%d:%d", &descriptor, &rank) != 2) return;
    struct online_world head;
    int32_t state;
    const off_t offset = (off_t)(offsetof(struct online_world, rank) + (size_t)rank * sizeof(struct online_rank) +
                                 offsetof(struct online_rank, state));
    if (pread(descriptor, &head, sizeof head, 0) != sizeof head || head.magic != ONLINE_MAGIC) return;
    if (pread(descriptor, &state, sizeof state, offset) != sizeof state) return;
    if (state == ONLINE_UNBORN)
        take_epochs(&head);
    else
        clocks = UNKNOWN;  // it may yet become another rank
}

bool has_simulated_clocks(void) {
    if (clocks == UNKNOWN) decide_outside();
    return clocks == SIMULATED && !(is_attached() && is_copy());
}

// For a program that knows that it is simulated: its clocks are, whatever the run says. 0 where nothing is simulated, 2
// where computation is charged.
EXPORT int commmodel_use_simulated_clocks(void) {
    if (!is_attached() || is_copy()) return 0;
    take_epochs(world);
    clocks = SIMULATED;
    return world->compute_factor > 0.0 ? 2 : 1;
}

bool may_read_in_turn(void) {
    return is_attached() && !is_copy() && this_rank->state == ONLINE_ALIVE && !is_in_call() && may_sleep_in_turn() &&
           !is_in_sample();
}

void pay_clock_lead(void) {
    double seconds = 0.0;
    if (lead > 0.0) __atomic_exchange(&lead, &seconds, &seconds, __ATOMIC_RELAXED);
    if (seconds > 0.0) add_time(SLEEP, seconds);
}

void pass_alone(double seconds) { lead += seconds; }

void reach(double seconds) { latest = fmax(latest, seconds); }

void note_slept(double seconds) { slept += seconds; }

double present_seconds(void) { return fmax(latest, (is_attached() ? last_turn() : 0.0) + lead); }

static double read_alone(void) {
    const double processor = processor_seconds(), factor = is_attached() ? world->compute_factor : 0.0;
    const double before = latest, computed = latest_processor > 0.0 ? processor - latest_processor : 0.0;
    latest_processor = processor;
    const double present = present_seconds();
    latest = fmax(present, before + factor * computed);
    idle_readings = present > before ? 0 : idle_readings + 1;
    if (idle_readings > PATIENCE) pass_alone(fmax(LEAST_STEP, SHARE_OF_IDLE_LOOP * lead));
    return latest;
}

double read_seconds(void) {
    if (!may_read_in_turn() || !try_call()) return read_alone();
    double time = now();
    if (latest > time) {
        add_time(SLEEP, latest - time);
        time = now();
    }
    end_call();
    latest_processor = 0.0;
    idle_readings = 0;
    return latest = fmax(latest, time);
}

static bool is_first_thread(void) { return gettid() == getpid(); }

double processor_reading(bool of_thread) {
    if (of_thread && !is_first_thread()) return (is_attached() ? world->compute_factor : 1.0) * processor_seconds();
    return fmax(0.0, read_seconds() - slept);
}

static int64_t epoch_ns(clockid_t clock) {
    switch (clock) {
        case CLOCK_REALTIME:
        case CLOCK_REALTIME_COARSE:
        case CLOCK_TAI: return real_epoch;
        default: return monotonic_epoch;
    }
}

double epoch_of(clockid_t clock) { return 1e-9 * (double)epoch_ns(clock); }

int64_t read_clock(clockid_t clock) {
    if (clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID)
        return llrint(1e9 * processor_reading(clock == CLOCK_THREAD_CPUTIME_ID));
    return epoch_ns(clock) + llrint(1e9 * read_seconds());
}

double seconds_until(const struct timespec *time, clockid_t clock) {
    const int64_t since_epoch = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec - epoch_ns(clock);
    return fmax(0.0, 1e-9 * (double)since_epoch - present_seconds());
}
