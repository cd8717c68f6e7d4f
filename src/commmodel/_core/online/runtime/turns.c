// This process as a rank, and whose turn it is: one process runs at a time, the simulator or a rank.
#include "online/runtime/turns.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "online/runtime/call_sites.h"
#include "online/runtime/charges.h"
#include "online/runtime/copies.h"
#include "online/runtime/notes.h"
#include "online/runtime/readings.h"
#include "online/runtime/threads.h"

struct online_world *world;
struct online_rank *this_rank;
int my_rank;
int world_descriptor = -1;
struct turn_hooks turn_hooks;

static bool is_rank;
static bool is_forked;    // this process is a copy of the rank's
static double turn_time;  // simulated, of the last turn

bool is_attached(void) { return is_rank; }

double last_turn(void) { return turn_time; }

bool is_copy(void) { return is_forked; }

bool is_inside(void) { return __atomic_load_n(&this_rank->location, __ATOMIC_RELAXED) == ONLINE_INSIDE; }

void come_inside(void) {
    int32_t location = ONLINE_OUTSIDE;
    if (__atomic_compare_exchange_n(&this_rank->location, &location, ONLINE_INSIDE, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE) ||
        location != ONLINE_TAKEN)
        return;
    __atomic_store_n(&this_rank->location, ONLINE_RETURNING, __ATOMIC_RELEASE);
    while (!online_wait(&this_rank->turn, -1)) {
    }
    turn_time = world->now;
}

void go_outside(void) { __atomic_store_n(&this_rank->location, ONLINE_OUTSIDE, __ATOMIC_RELEASE); }

static void note_fork(void) { is_forked = true; }

static void (*early_call)(const char *call);

// Whoever imports what ranks will be copies of wants to know of calls that only a rank can answer.
EXPORT void commmodel_watch_early_calls(void (*function)(const char *call)) { early_call = function; }

void note_early_call(const char *call) {
    if (early_call != NULL && !is_rank) early_call(call);
}

// Map the memory of the simulation; whether this process is of one.
static bool map_world(void) {
    const char *setting = getenv("COMMMODEL_ONLINE");
    if (setting == NULL || sscanf(setting, "%d:%d", &world_descriptor, &my_rank) != 2) return false;
    struct stat status = {0};
    fstat(world_descriptor, &status);
    world = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, world_descriptor, 0);
    return true;
}

void attach(void) {
    if (is_rank) return;
    note_early_call("MPI_Init");
    if (!map_world()) {
        fprintf(stderr, "commmodel: this program has the simulator's MPI library: start it with commmodel simulate\n");
        _exit(3);
    }
    if (world == MAP_FAILED || world->magic != ONLINE_MAGIC) {
        const char *cure = world == MAP_FAILED && errno == ENOMEM ? ": raise the limit of addresses (ulimit -v)" : "";
        fprintf(stderr, "commmodel: rank %d cannot map the memory of its simulation%s\n", my_rank, cure);
        _exit(3);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (kill(world->simulator, 0) != 0 && errno == ESRCH) _exit(1);  // it has ended before
    this_rank = &world->rank[my_rank];
    come_inside();
    this_rank->state = ONLINE_ALIVE;
    is_rank = true;
    this_rank->process = getpid();
    pthread_atfork(NULL, NULL, note_fork);
    prepare_call_sites();
    turn_time = world->now;
    decide_clocks();
    start_clock();
}

void check_process(const char *call) {
    note_early_call(call);
    if (!is_rank) abort_all(1, "%s is called before MPI_Init", call);
    if (this_rank->state == ONLINE_FINALIZED) abort_all(1, "rank %d calls %s after MPI_Finalize", my_rank, call);
    if (is_forked) abort_all(2, "commmodel: %s in a forked process: only the rank itself may call MPI", call);
}

// End with the parent process, even before MPI is initialised.
__attribute__((constructor)) static void end_with_parent(void) {
    if (getenv("COMMMODEL_ONLINE") != NULL) prctl(PR_SET_PDEATHSIG, SIGKILL);
}

// Of a rank that has no turn: the simulator finds it when the process has ended.
static void note_misplaced(const char *format, va_list list) {
    if (!is_rank && (!map_world() || world == MAP_FAILED || world->magic != ONLINE_MAGIC)) return;
    vsnprintf(world->rank[my_rank].misplaced, ONLINE_NAME, format, list);
}

_Noreturn void abort_all(int code, const char *format, ...) {
    fflush(NULL);
    va_list list;
    va_start(list, format);
    if (!is_rank || this_rank->state == ONLINE_FINALIZED) {  // without a turn
        va_list again;
        va_copy(again, list);
        fputs("commmodel: ", stderr);
        vfprintf(stderr, format, list);
        fputc('\n', stderr);
        if (!is_forked) note_misplaced(format, again);
        _exit(code ? code : 1);
    }
    vsnprintf(world->error, sizeof world->error, format, list);
    va_end(list);
    this_rank->exit_code = code;
    this_rank->state = ONLINE_ABORTED;
    online_wake(&world->simulator_turn);
    for (;;) pause();
}

// The next turn goes to a rank whose data have come, else to the simulator.
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

// Not with windows and files: ranks that share them must act in the order of simulated time.
void make_ready(int rank) {
    if (world->is_in_order) return;
    world->rank[rank].next_ready = 0;
    *(world->first_ready != 0 ? &world->rank[world->last_ready - 1].next_ready : &world->first_ready) = rank + 1;
    world->last_ready = rank + 1;
}

bool is_ahead(void) { return this_rank->head != this_rank->tail || this_rank->is_ahead; }

void yield(void) {
    if (this_rank->memory == 0) note_memory();
    const int64_t changes = world->changes;
    pass_turn();
    for (;;) {
        while (!online_wait(&this_rank->turn, -1)) {
        }
        if (serve_orders()) continue;
        if (this_rank->task == 0) break;
        turn_hooks.serve();  // another rank has the turn
    }
    turn_time = world->now;
    if (world->changes != changes || this_rank->is_ahead) note_change();
    turn_hooks.take_reports();
}
