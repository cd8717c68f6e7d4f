// This process as a rank of the simulated program: its turns, its operations, and how long it computes between calls.
#include "online.h"

#include <errno.h>
#include <math.h>
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
static double idle_since;
static double pause_seconds;  // after the next poll that finds nothing
static _Thread_local int depth;
static bool is_forked;  // this process is a copy of the rank's
static uint64_t place;  // of the call that the program is in

bool is_attached(void) { return is_rank; }

double processor_seconds(void) {
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &time);  // not that of clocks.c
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void note_fork(void) { is_forked = true; }

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
    me->process = getpid();
    pthread_atfork(NULL, NULL, note_fork);
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

_Noreturn void missing(const char *name) {
    if (is_rank) me->place = call_place(name);
    abort_all(2, "%s is not simulated yet", name);
}

// ---- operations

static uint64_t batch;  // that operations go into, 0: into the ring

static void put_in_ring(struct online_operation operation) {
    while (me->head - me->tail >= ONLINE_RING) yield();
    me->ring[me->head % ONLINE_RING] = operation;
    me->places[me->head % ONLINE_RING] = place;
    me->head++;
}

static void put_in_batch(struct online_operation operation) {
    struct online_batch *of = online_at(world, batch);
    if (of->count == of->room) {
        of->room = of->room ? 4 * of->room : 1;
        const uint64_t more = online_allocate(world, sizeof operation * (uint64_t)of->room);
        if (of->count)
            memcpy(online_at(world, more), online_at(world, of->operations), sizeof operation * (size_t)of->count);
        online_free(world, of->operations);
        of->operations = more;
    }
    ((struct online_operation *)online_at(world, of->operations))[of->count++] = operation;
}

static void put_operation(struct online_operation operation) {
    batch ? put_in_batch(operation) : put_in_ring(operation);
}

static void put(int code, int peer, int tag, int request, double value) {
    put_operation((struct online_operation){code, peer, tag, request, {.value = value}});
}

void act(int code, int peer, int tag, int request, double value) {
    idle_clocks = 0;
    pause_seconds = 0.0;
    put(code, peer, tag, request, value);
}

static void act_at(int code, int peer, int tag, uint64_t offset) {
    idle_clocks = 0;
    pause_seconds = 0.0;
    put_operation((struct online_operation){code, peer, tag, NONE, {.offset = offset}});
}

void act_collective(int tag, uint64_t call) { act_at(ONLINE_COLLECTIVE, 0, tag, call); }

// Before all of its collectives, in a batch or not.
void define_communicator(uint64_t call) {
    put_in_ring((struct online_operation){ONLINE_COLLECTIVE, 0, NONE, NONE, {.offset = call}});
}

void begin_batch(void) {
    batch = online_allocate(world, sizeof(struct online_batch));
    *(struct online_batch *)online_at(world, batch) =
        (struct online_batch){.place = place, .wait = {WAIT, NONE, NONE, next_name(), {.value = 0.0}}};
}

uint64_t end_batch(void) {
    const uint64_t made = batch;
    struct online_batch *of = online_at(world, made);
    batch = 0;
    if (of->count == 0) {
        online_free(world, made);
        return 0;
    }
    of->before = me->last_batch;
    *(me->last_batch ? &((struct online_batch *)online_at(world, me->last_batch))->next : &me->first_batch) = made;
    me->last_batch = made;
    return made;
}

bool is_batch_over(uint64_t at) { return ((struct online_batch *)online_at(world, at))->stage == ONLINE_OVER; }

void wait_for_batch(uint64_t at) { act_at(ONLINE_BATCH, NONE, NONE, at); }

void progress(void) {
    if (me->first_batch != 0) put(ONLINE_BESIDE, NONE, NONE, NONE, 0.0);
}

void enter(const char *name) {
    if (depth++ > 0) return;
    if (!is_rank) abort_all(1, "commmodel: %s before MPI_Init", name);
    if (is_forked) abort_all(2, "commmodel: %s in a process that a rank has forked", name);
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

// A rank whose data have come has the next turn, else the simulator.
void pass_turn(void) {
    const int32_t next = world->first_ready;
    if (next == 0) {
        online_wake(&world->simulator_turn);
        return;
    }
    struct online_rank *const rank = &world->rank[next - 1];
    world->first_ready = rank->next_ready;
    world->running = next - 1;
    rank->is_ahead = 1;
    online_wake(&rank->turn);
}

// Not where ranks share memory: there the order of what they do is that of simulated time.
void make_ready(int rank) {
    if (world->has_windows) return;
    world->rank[rank].next_ready = 0;
    *(world->first_ready != 0 ? &world->rank[world->last_ready - 1].next_ready : &world->first_ready) = rank + 1;
    world->last_ready = rank + 1;
}

bool is_ahead(void) { return me->head != me->tail || me->is_ahead; }

void yield(void) {
    if (me->memory == 0) note_memory();
    if (is_ahead()) note_change();  // a question alone takes no time
    pass_turn();
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
    if (is_ahead()) yield();
    if (++idle_clocks == 1000) idle_since = seen;
    if (idle_clocks > 1000) {  // a loop until some time has passed
        put(SLEEP, NONE, NONE, NONE, fmax(1e-6, 1e-4 * (seen - idle_since)));
        yield();
    }
    return seen;
}

void ask_done(int count, const int *names, bool *done) {
    const uint64_t at = online_allocate(world, sizeof(int32_t) * (uint64_t)(count + 1));
    int32_t *const answers = online_at(world, at);
    memcpy(answers, names, sizeof(int32_t) * (size_t)count);
    me->names = at;
    me->count = count;
    me->question = ONLINE_DONE;
    yield();
    for (int i = 0; i < count; i++) done[i] = answers[i];
    online_free(world, at);
}

// The first poll that finds nothing takes no time; those after it wait for a change, but not for ever, as something else
// than messages may end the loop.
void before_poll(void) {
    if (pause_seconds == 0.0) return;
    progress();
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
