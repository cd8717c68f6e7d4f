// Operations of a rank: in a ring until the simulator has the turn, those of a non-blocking collective in a batch.
#include "online/runtime/operations.h"

#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

uint64_t action_count;

static uint64_t batch;       // that operations go into, 0: into the ring
static bool chosen_by_time;  // what is waited for
static int last_name;
static double pause_seconds;               // after the next poll that finds nothing
static double polled_seconds;              // by polls alone that have found nothing
static const double LONGEST_POLL = 100.0;  // then the next poll waits for an event, however long that takes

static void put_in_ring(struct online_operation operation) {
    while (this_rank->head - this_rank->tail >= ONLINE_RING) yield();
    this_rank->ring[this_rank->head % ONLINE_RING] = operation;
    this_rank->call_sites[this_rank->head % ONLINE_RING] = current_site();
    this_rank->head++;
}

static void put_in_batch(struct online_operation operation) {
    struct online_batch *current = online_at(world, batch);
    if (current->count == current->room) {
        current->room = current->room ? 4 * current->room : 1;
        const uint64_t operations = allocate_shared(sizeof operation * (uint64_t)current->room, "operations");
        if (current->count)
            memcpy(online_at(world, operations), online_at(world, current->operations),
                   sizeof operation * (size_t)current->count);
        online_free(world, current->operations);
        current->operations = operations;
    }
    ((struct online_operation *)online_at(world, current->operations))[current->count++] = operation;
}

static void put_operation(struct online_operation operation) {
    batch ? put_in_batch(operation) : put_in_ring(operation);
}

static void put(int code, int peer, int tag, int request, double value) {
    put_operation((struct online_operation){code, peer, tag, request, {.value = value}});
}

void add_time(int code, double seconds) { put(code, NONE, NONE, NONE, seconds); }

static void note_action(void) {
    action_count++;
    pause_seconds = polled_seconds = 0.0;
}

void note_choice(bool is_chosen) { chosen_by_time = is_chosen; }

static void put_for_checks(int code, int request, uint64_t offset) {
    if (world->is_checked) put_in_ring((struct online_operation){code, NONE, NONE, request, {.offset = offset}});
}

void act(int code, int peer, int tag, int request, double value) {
    note_action();
    if (code == WAIT && chosen_by_time) put_for_checks(ONLINE_CHOSEN, request, 0);
    put(code, peer, tag, request, value);
}

static void act_at(int code, int peer, int tag, uint64_t offset) {
    note_action();
    put_operation((struct online_operation){code, peer, tag, NONE, {.offset = offset}});
}

void act_collective(int tag, uint64_t call) { act_at(ONLINE_COLLECTIVE, 0, tag, call); }

// Directly into the ring: the definition precedes all collectives of the communicator, also those in a batch.
void define_communicator(uint64_t call) {
    put_in_ring((struct online_operation){ONLINE_COLLECTIVE, 0, NONE, NONE, {.offset = call}});
}

int next_name(void) {
    last_name = last_name + 1 < FIRST_REPORTED ? last_name + 1 : 0;
    return last_name;
}

// ---- batches

void begin_batch(void) {
    batch = allocate_shared(sizeof(struct online_batch), "operations");
    *(struct online_batch *)online_at(world, batch) =
        (struct online_batch){.call_site = current_site(), .wait = {WAIT, NONE, NONE, next_name(), {.value = 0.0}}};
}

uint64_t end_batch(void) {
    const uint64_t finished = batch;
    struct online_batch *current = online_at(world, finished);
    batch = 0;
    if (current->count == 0) {
        online_free(world, finished);
        return 0;
    }
    current->before = this_rank->last_batch;
    *(this_rank->last_batch ? &((struct online_batch *)online_at(world, this_rank->last_batch))->next
                            : &this_rank->first_batch) = finished;
    this_rank->last_batch = finished;
    put_for_checks(ONLINE_HELD, NONE, finished);
    return finished;
}

bool is_batch_over(uint64_t at) { return ((struct online_batch *)online_at(world, at))->stage == ONLINE_OVER; }

void wait_for_batch(uint64_t at) {
    if (chosen_by_time) put_for_checks(ONLINE_CHOSEN, NONE, at);
    act_at(ONLINE_BATCH, NONE, NONE, at);
}

void progress(void) {
    if (this_rank->first_batch != 0) put(ONLINE_BESIDE, NONE, NONE, NONE, 0.0);
}

// ---- questions

void ask_done(int count, const int *names, bool *done) {
    const uint64_t at = allocate_shared(sizeof(int32_t) * (uint64_t)(count + 1), "requests");
    int32_t *const answers = online_at(world, at);
    memcpy(answers, names, sizeof(int32_t) * (size_t)count);
    this_rank->names = at;
    this_rank->count = count;
    this_rank->question = ONLINE_DONE;
    yield();
    for (int i = 0; i < count; i++) done[i] = answers[i];
    online_free(world, at);
}

// The first unsuccessful poll takes no time; later ones wait for an event, up to a limit that grows, as the loop may
// end for another reason than a message.
void before_poll(void) {
    if (pause_seconds == 0.0) return;
    progress();
    const double seconds = pause_seconds, polled = polled_seconds + seconds;
    await_change(polled < LONGEST_POLL ? seconds : 1.0 / 0.0);
    pause_seconds = seconds < 1e-3 ? 2 * seconds : seconds;
    polled_seconds = polled;
}

bool is_polling(void) { return pause_seconds != 0.0; }

void note_clock(void) { polled_seconds = 0.0; }

void after_poll(bool is_found) {
    if (is_found)
        pause_seconds = polled_seconds = 0.0;
    else if (pause_seconds == 0.0)
        pause_seconds = 1e-6;
}
