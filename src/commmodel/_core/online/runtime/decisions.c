// Decisions that another run may take otherwise, as lists in the memory that ranks share.
#include "online/runtime/decisions.h"

#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/copies.h"
#include "online/runtime/operations.h"
#include "online/runtime/turns.h"

static uint64_t snapshot;  // of the rank's clock, until that changes
static int first_open;     // decision that may not be taken yet
static int postings;       // of receives
static int test = NONE;    // decision of the last test, if that was one
static int spin = NONE;    // decision that is one of a spin if a test follows at once

bool notes_decisions(void) { return world->notes_decisions; }

static void *add_to(struct online_list *list, size_t size) {
    if (list->count == list->room) {
        const int32_t room = list->room ? 2 * list->room : 16;
        const uint64_t at = allocate_shared((uint64_t)room * size, "decisions");
        if (list->count) memcpy(online_at(world, at), online_at(world, list->at), (size_t)list->count * size);
        online_free(world, list->at);
        list->at = at;
        list->room = room;
    }
    return (char *)online_at(world, list->at) + (size_t)list->count++ * size;
}

static struct online_decision *decision_at(int number) {
    return (struct online_decision *)online_at(world, this_rank->decisions.at) + number;
}

int next_choice(void) {
    if (this_rank->decisions.count >= this_rank->choice_count) return NONE;
    return ((const int32_t *)online_at(world, this_rank->choices))[this_rank->decisions.count];
}

int next_posting(void) { return ++postings; }

int new_decision(enum decision_kind kind, int tag) {
    const int choice = next_choice();
    *(struct online_decision *)add_to(&this_rank->decisions, sizeof(struct online_decision)) =
        (struct online_decision){.kind = (int32_t)kind,
                                 .choice = NONE,
                                 .prescribed = choice,
                                 .tag = tag,
                                 .posting = postings,
                                 .order = -1,
                                 .message = -1,
                                 .site = current_site()};
    return this_rank->decisions.count - 1;
}

static int32_t *clock_of_rank(void) {
    if (this_rank->clock == 0) {
        const uint64_t bytes = sizeof(int32_t) * (uint64_t)world->ranks;
        this_rank->clock = allocate_shared(bytes, "a clock of decisions");
        memset(online_at(world, this_rank->clock), 0, bytes);
    }
    return online_at(world, this_rank->clock);
}

uint64_t current_clock(void) {
    if (this_rank->clock == 0) return 0;
    if (snapshot == 0) {
        const uint64_t bytes = sizeof(int32_t) * (uint64_t)world->ranks;
        snapshot = allocate_shared(bytes, "a clock of decisions");
        memcpy(online_at(world, snapshot), clock_of_rank(), bytes);
    }
    return snapshot;
}

void merge_clock(uint64_t clock) {
    if (clock == 0 || clock == snapshot) return;
    const int32_t *const other = online_at(world, clock);
    int32_t *const counts = clock_of_rank();
    for (int rank = 0; rank < world->ranks; rank++) {
        if (other[rank] <= counts[rank]) continue;
        counts[rank] = other[rank];
        snapshot = 0;
    }
}

static void stamp(struct online_decision *decision) {
    if (decision->order >= 0) return;
    snapshot = 0;
    decision->stamp = ++clock_of_rank()[my_rank];
    decision->order = world->decision_count++;
}

static bool fits(int tag, int of_message) {
    if (tag != ANY && tag > ANY_OF_COMMUNICATOR) return tag == of_message;
    const int context = of_message >> TAG_BITS;
    return of_message >= 0 && tag == (context > 0 ? ANY_OF_COMMUNICATOR - context : ANY);
}

// Receives that were posted before and would have taken the message have got theirs.
static void stamp_earlier(int posting, int tag) {
    const int count = this_rank->decisions.count;
    while (first_open < count && decision_at(first_open)->order >= 0) first_open++;
    for (int i = first_open; i < count; i++) {
        struct online_decision *const decision = decision_at(i);
        if (decision->kind == A_RECEIVE && decision->posting < posting && fits(decision->tag, tag)) stamp(decision);
    }
}

void decide(int number, int choice, const struct online_message *message) {
    struct online_decision *const decision = decision_at(number);
    if (message != NULL) {
        decision->message = (int64_t)message->number;
        decision->other_site = message->call_site;
        merge_clock(message->clock);
    }
    stamp(decision);
    decision->choice = choice;
}

int new_test(enum decision_kind kind, int source, int tag) {
    test = NONE;
    if (!notes_decisions()) return NONE;
    if (is_polling()) {
        if (spin != NONE) decision_at(spin)->kind = A_SPIN;
        return NONE;
    }
    await_orders();
    const int choice = next_choice();
    test = spin = new_decision(kind, tag);
    decision_at(test)->message = source;
    return choice;
}

int last_test_decision(void) { return test; }

void decide_test(bool is_found) {
    if (test != NONE) decide(test, is_found, NULL);
    if (is_found) spin = NONE;
    test = NONE;
}

void note_arrival(int posting, const struct online_message *message) {
    if (message->tag < 0) return;
    stamp_earlier(posting, message->tag);
    merge_clock(message->clock);
    *(struct online_arrival *)add_to(&this_rank->arrivals, sizeof(struct online_arrival)) =
        (struct online_arrival){posting, message->source, message->tag, 0, (int64_t)message->number, message->clock};
}

void note_candidate(int decision, int index, int posting, bool is_complete) {
    *(struct online_candidate *)add_to(&this_rank->candidates, sizeof(struct online_candidate)) =
        (struct online_candidate){decision, index, posting, is_complete};
}
