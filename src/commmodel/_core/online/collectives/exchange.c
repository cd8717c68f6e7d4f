// Calls of collectives in shared memory: the parts of all ranks, until every rank has read what it needs.
#include "online/collectives/exchange.h"

#include "online/collectives/collectives.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/decisions.h"
#include "online/runtime/history.h"
#include "online/runtime/findings.h"
#include "online/runtime/operations.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

struct shared_call {
    uint64_t next;
    int32_t number;  // of the communicator
    uint32_t sequence, start;
    int32_t size, arrival_count, leaver_count;
    int32_t numbers[2];
    int32_t first_waiter;  // list of ranks, from 1 on, for all parts
    int32_t kind;          // of the first rank's call
    int32_t first;         // rank
    uint64_t call_site;    // of its call
    uint32_t tag;          // below FIRST_CALL_TAG
    uint64_t result, first_part;
    uint64_t history;  // of the ranks that have come
    uint64_t parts[];
};

// Position among the ranks of both groups; the group with the lower first rank comes first.
int position_of(const struct communicator *communicator, int peer, bool is_remote) {
    if (communicator->remote == NULL) return peer;
    const bool first = communicator->group->ranks[0] < communicator->remote->ranks[0];
    return peer + (first == is_remote ? (is_remote ? communicator->group : communicator->remote)->size : 0);
}

static void end_waits(struct shared_call *call) {
    for (int32_t rank = call->first_waiter; rank != 0; rank = world->rank[rank - 1].next_waiting) make_ready(rank - 1);
    call->first_waiter = 0;
}

static _Noreturn void refuse_difference(const struct shared_call *call) {
    world->rank[call->first].call_site = call->call_site;  // it may have gone on
    name_error("collectives in different orders");
    abort_all(2, "rank %d calls %s where rank %d does not", my_rank, call_name, call->first);
}

static bool is_tag_in_use(uint32_t tag) {
    for (int bucket = 0; bucket < ONLINE_BUCKETS; bucket++) {
        const struct shared_call *call;
        for (uint64_t offset = world->instances[bucket]; offset != 0; offset = call->next) {
            call = online_at(world, offset);
            if (call->tag == tag) return true;
        }
    }
    return false;
}

// A tag that no open call has: messages of two calls never match.
static uint32_t take_tag(void) {
    uint32_t tag;
    do {
        if (world->next_call_tag == (uint32_t)(FIRST_CALL_TAG - ANY_OF_COMMUNICATOR)) {
            world->next_call_tag = 0;
            world->has_used_all_tags = 1;
        }
        tag = world->next_call_tag++;
    } while (world->has_used_all_tags && is_tag_in_use(tag));
    return tag;
}

int call_tag(uint64_t call) { return FIRST_CALL_TAG - (int)((const struct shared_call *)online_at(world, call))->tag; }

uint64_t join_call(struct communicator *communicator, uint32_t sequence, uint32_t start, int kind, uint64_t part) {
    const unsigned bucket = ((unsigned)communicator->number * 31u + sequence) % ONLINE_BUCKETS;
    uint64_t offset = world->instances[bucket];
    for (; offset != 0; offset = ((struct shared_call *)online_at(world, offset))->next) {
        const struct shared_call *call = online_at(world, offset);
        if (call->number == communicator->number && call->sequence == sequence && call->start == start &&
            call->parts[position_of(communicator, communicator->rank, false)] == 0)
            break;
    }
    if (offset == 0) {
        const int size = communicator->group->size + (communicator->remote ? communicator->remote->size : 0);
        const uint64_t bytes =  // with the clocks of decisions behind the parts
            sizeof(struct shared_call) + sizeof(uint64_t) * (uint64_t)size * (notes_decisions() ? 2 : 1);
        offset = allocate_shared(bytes, "a collective");
        struct shared_call *call = online_at(world, offset);
        memset(call, 0, bytes);
        call->next = world->instances[bucket];
        call->number = communicator->number;
        call->sequence = sequence;
        call->start = start;
        call->size = size;
        call->kind = kind;
        call->first = my_rank;
        call->first_part = part;
        call->call_site = this_rank->call_site;
        call->tag = take_tag();
        world->instances[bucket] = offset;
    }
    struct shared_call *call = online_at(world, offset);
    if (call->kind != kind) refuse_difference(call);
    const int position = position_of(communicator, communicator->rank, false);
    call->parts[position] = part;
    if (notes_decisions()) call->parts[call->size + position] = current_clock();
    hand_to(&call->history);
    if (++call->arrival_count == call->size) end_waits(call);
    return offset;
}

bool has_all_parts(uint64_t offset) {
    const struct shared_call *call = online_at(world, offset);
    return call->arrival_count == call->size;
}

uint64_t *result_of(uint64_t call) { return &((struct shared_call *)online_at(world, call))->result; }

void await_all_parts(uint64_t offset) {
    int32_t *link = &((struct shared_call *)online_at(world, offset))->first_waiter;
    this_rank->next_waiting = *link;
    *link = my_rank + 1;
    yield();
    while (*link != 0 && *link != my_rank + 1) link = &world->rank[*link - 1].next_waiting;
    if (*link != 0) *link = this_rank->next_waiting;
}

void note_parts(uint64_t offset) {
    const struct shared_call *const call = online_at(world, offset);
    for (int i = 0; i < call->size; i++)
        if (call->parts[i] != 0) merge_clock(call->parts[call->size + i]);
}

void note_part(uint64_t offset, int position) {
    const struct shared_call *const call = online_at(world, offset);
    merge_clock(call->parts[call->size + position]);
}

uint64_t part_of(uint64_t call, int position) {
    return ((struct shared_call *)online_at(world, call))->parts[position];
}

uint64_t first_part(uint64_t call) { return ((struct shared_call *)online_at(world, call))->first_part; }

void leave_call(uint64_t offset) {
    struct shared_call *call = online_at(world, offset);
    learn(call->history);
    if (++call->leaver_count < call->size) return;
    uint64_t *link = &world->instances[((unsigned)call->number * 31u + call->sequence) % ONLINE_BUCKETS];
    while (*link != offset) link = &((struct shared_call *)online_at(world, *link))->next;
    *link = call->next;
    for (int i = 0; i < call->size; i++) online_free(world, call->parts[i]);
    online_free(world, call->result);
    online_free(world, call->history);
    online_free(world, offset);
}

uint64_t new_call(int operation, int sent_count, int received_count) {
    const size_t size = sizeof(struct online_call) + sizeof(int64_t) * (size_t)(sent_count + received_count);
    const uint64_t offset = allocate_shared(size, "the arguments of a collective");
    struct online_call *call = memset(call_at(offset), 0, size);
    call->operation = operation;
    call->sent_count = sent_count;
    call->received_count = received_count;
    return offset;
}

struct online_call *call_at(uint64_t call) { return online_at(world, call); }

static uint64_t definition_of(const struct communicator *communicator) {
    const struct group *local = communicator->group, *remote = communicator->remote;
    const int remote_size = remote ? remote->size : 0;
    const uint64_t offset = new_call(ONLINE_DEFINITION, local->size, remote_size);
    struct online_call *call = call_at(offset);
    call->communicator = communicator->number;
    for (int i = 0; i < local->size; i++) call->counts[i] = local->ranks[i];
    for (int i = 0; i < remote_size; i++) call->counts[local->size + i] = remote->ranks[i];
    return offset;
}

void act_on(struct communicator *communicator, uint64_t shared, uint64_t call) {
    if (communicator->number != 0 && !communicator->defined) {
        communicator->defined = true;
        define_communicator(definition_of(communicator));
    }
    call_at(call)->communicator = communicator->number;
    call_at(call)->participants =
        communicator->remote == NULL ? ((const struct shared_call *)online_at(world, shared))->size : 0;
    act_collective(call_tag(shared), call);
}

// Context and first number of the communicators that a call creates; the first rank to call allocates them for all.
void make_numbers(uint64_t offset, int count, int numbers[2]) {
    struct shared_call *call = online_at(world, offset);
    if (call->numbers[0] == 0) {
        call->numbers[0] = new_context(call->size);
        call->numbers[1] = world->communicators;
        world->communicators += count;
    }
    memcpy(numbers, call->numbers, sizeof call->numbers);
}

int new_context(int ranks) {
    int context = 2;
    while (context < ONLINE_CONTEXTS && world->contexts[context] != 0) context++;
    if (context == ONLINE_CONTEXTS) return NONE;
    world->contexts[context] = ranks;
    return context;
}

static void act_allreduce(struct communicator *communicator, uint64_t shared) {
    const uint64_t allreduce = new_call(ALLREDUCE, 0, 0);
    call_at(allreduce)->sent = 8;
    act_on(communicator, shared, allreduce);
}

// Wait until all ranks have come.
static void arrive(struct communicator *communicator, uint64_t call, bool is_timed) {
    if (is_timed) act_allreduce(communicator, call);
    for (bool has_yielded = false; !has_all_parts(call); has_yielded = true) {
        if (has_yielded) progress();
        if (has_yielded) act(AWAIT, -2, NONE, NONE, 1e-6);
        yield();
    }
}

static void arrive_beside_threads(struct communicator *communicator, uint64_t call, bool is_timed) {
    if (is_ahead()) yield();
    begin_batch();
    if (is_timed) act_allreduce(communicator, call);
    const uint64_t batch = end_batch();
    progress();
    for (bool is_over; yield(), is_over = batch == 0 || is_batch_over(batch), !is_over || !has_all_parts(call);)
        await_change(is_over ? 1e-6 : 1.0 / 0.0);
    if (batch != 0) wait_for_batch(batch);
}

void gather_all(struct communicator *communicator, const char *name, const void *contribution, int bytes,
                void *contributions, int numbers[2], int count) {
    enter(name);
    const uint32_t number = communicator->collectives++;
    note_collective(communicator, DEFINITION, false);
    const uint64_t part = allocate_shared((uint64_t)bytes + 1, "a collective's data");
    memcpy(online_at(world, part), contribution, (size_t)bytes);
    const uint64_t call = join_call(communicator, number, 0, DEFINITION, part);
    const int size = ((struct shared_call *)online_at(world, call))->size;
    if (numbers != NULL) make_numbers(call, count, numbers);
    const bool is_timed = size > 1 && communicator->remote == NULL;
    has_threads() ? arrive_beside_threads(communicator, call, is_timed) : arrive(communicator, call, is_timed);
    for (int i = 0; i < size; i++)
        memcpy((char *)contributions + (size_t)i * (size_t)bytes, online_at(world, part_of(call, i)), (size_t)bytes);
    if (notes_decisions()) note_parts(call);
    leave_call(call);
    leave();
}
