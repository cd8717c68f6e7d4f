// This process as a rank of the simulated program: its turns, its operations, and how long it computes between calls.
#include "online.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <signal.h>
#include <pthread.h>

struct online_world *world;
struct online_rank *me;
int my_rank;
const char *call_name = "MPI";

static bool is_rank;
static _Thread_local double computed_until;  // processor time of the thread
static double seen;                          // simulated time of the last turn
static int idle_clocks;                      // readings of the clock since the last operation
static double pause_seconds;                 // after the next poll that finds nothing
static _Thread_local int depth;
static pid_t process;
static uint64_t place;  // of the call that the program is in

bool is_attached(void) { return is_rank; }

double processor_seconds(void) {
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &time);  // not that of clocks.c
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void attach(void) {
    if (is_rank) return;
    const char *place = getenv("COMMMODEL_ONLINE");
    int descriptor;
    if (place == NULL || sscanf(place, "%d:%d", &descriptor, &my_rank) != 2) {
        fprintf(stderr, "commmodel: a program of a simulation was started outside it\n");
        _exit(3);
    }
    world = mmap(NULL, ONLINE_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    if (world == MAP_FAILED || world->magic != ONLINE_MAGIC) {
        fprintf(stderr, "commmodel: rank %d has not the memory of its simulation\n", my_rank);
        _exit(3);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (kill(world->simulator, 0) != 0 && errno == ESRCH) _exit(1);  // it has ended before
    me = &world->rank[my_rank];
    me->state = ONLINE_ALIVE;
    is_rank = true;
    me->process = process = getpid();
    prepare_places();
    seen = world->now;
    computed_until = processor_seconds();
}

// Ends with the process that has started this one, before MPI begins already.
__attribute__((constructor)) static void end_with_parent(void) {
    if (getenv("COMMMODEL_ONLINE") != NULL) prctl(PR_SET_PDEATHSIG, SIGKILL);
}

_Noreturn void abort_all(int code, const char *format, ...) {
    fflush(NULL);
    if (!is_rank) {
        va_list listed;
        va_start(listed, format);
        vfprintf(stderr, format, listed);
        va_end(listed);
        fputc('\n', stderr);
        _exit(code ? code : 1);
    }
    va_list listed;
    va_start(listed, format);
    vsnprintf(world->error, sizeof world->error, format, listed);
    va_end(listed);
    me->exit_code = code;
    me->state = ONLINE_ABORTED;
    online_wake(&world->simulator_turn);
    for (;;) pause();
}

_Noreturn void missing(const char *name) { abort_all(2, "%s is not simulated yet", name); }

// ---- operations

static struct online_operation *room(void) {
    while (me->head - me->tail >= ONLINE_RING) yield();
    return &me->ring[me->head % ONLINE_RING];
}

static void put(int code, int peer, int tag, int request, double value) {
    struct online_operation *operation = room();
    *operation = (struct online_operation){code, peer, tag, request, value};
    me->places[operation - me->ring] = place;
    me->head++;
}

void act(int code, int peer, int tag, int request, double value) {
    idle_clocks = 0;
    pause_seconds = 0.0;
    put(code, peer, tag, request, value);
}

void act_collective(int tag, const char *action) {
    idle_clocks = 0;
    pause_seconds = 0.0;
    const size_t size = strlen(action) + 1;
    const uint64_t text = online_allocate(world, size);
    memcpy(online_at(world, text), action, size);
    put(ONLINE_COLLECTIVE, 0, tag, NONE, (double)text);
}

void enter(const char *name) {
    if (depth++ > 0) return;
    if (!is_rank) abort_all(1, "commmodel: %s before MPI_Init", name);
    if (getpid() != process) abort_all(2, "commmodel: %s in a process that a rank has forked", name);
    take_turn();
    call_name = name;
    me->place = place = call_place(name);
    me->calls++;
    check_outside_sample(name);
    world->recorded_names != 0 ? charge_recorded(name) : charge();
}

void charge_seconds(double seconds) {
    if (world->compute_factor > 0.0 && seconds > 0.0) put(COMPUTE, NONE, NONE, NONE, seconds * world->compute_factor);
}

void charge(void) {
    if (!is_measured()) return;
    const double time = processor_seconds();
    charge_seconds(time - computed_until);
    computed_until = time;
}

void restart_clock(void) {
    if (is_measured()) computed_until = processor_seconds();
}

void leave(void) {
    if (depth > 0 && --depth > 0) return;
    restart_clock();
    leave_turn();
}

struct call current_call(void) { return (struct call){call_name, place}; }

void set_call(struct call call) {
    call_name = call.name;
    me->place = place = call.place;
}

void yield(void) {
    if (me->memory == 0) note_memory();
    online_wake(&world->simulator_turn);
    for (;;) {
        while (!online_wait(&me->turn, -1)) {
        }
        if (me->task == 0) break;
        serve();  // another rank has the turn
    }
    seen = world->now;
    take_reports();
}

double now(void) {
    if (me->head != me->tail) yield();
    if (++idle_clocks > 1000) {  // a loop until some time has passed
        put(SLEEP, NONE, NONE, NONE, 1e-6);
        yield();
    }
    return seen;
}

// The first poll that finds nothing takes no time; those after it wait for a change, but not for ever, as something else
// than messages may end the loop.
void before_poll(void) {
    if (pause_seconds == 0.0) return;
    const double seconds = pause_seconds;
    act(AWAIT, -2, NONE, NONE, seconds);
    pause_seconds = seconds < 1e-3 ? 2 * seconds : seconds;
}

void after_poll(bool found) {
    if (found) {
        pause_seconds = 0.0;
    } else if (pause_seconds == 0.0) {
        pause_seconds = 1e-6;
    }
}
