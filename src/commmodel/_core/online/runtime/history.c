// What has happened before what: vector clocks.
#include "online/runtime/history.h"

#include "online/runtime/allocation.h"
#include "online/runtime/findings.h"
#include "online/runtime/turns.h"

bool has_history(void) { return world->is_in_order && is_checked(); }

static uint64_t new_clock(void) {
    const uint64_t bytes = sizeof(uint32_t) * (uint64_t)world->ranks, clock = allocate_shared(bytes, "a clock");
    memset(online_at(world, clock), 0, bytes);
    return clock;
}

static uint32_t *clock_of(int rank) {
    uint64_t *const clock = &world->rank[rank].history;
    if (*clock == 0) {
        *clock = new_clock();
        ((uint32_t *)online_at(world, *clock))[rank] = 1;
    }
    return online_at(world, *clock);
}

static void join(uint32_t *to, const uint32_t *from) {
    for (int rank = 0; rank < world->ranks; rank++)
        if (from[rank] > to[rank]) to[rank] = from[rank];
}

uint32_t event(void) { return clock_of(my_rank)[my_rank]; }

uint32_t known_of(int rank) { return clock_of(my_rank)[rank]; }

uint32_t known_of_by(int rank, int other) { return clock_of(other)[rank]; }

uint64_t hand_on(void) {
    uint64_t copy = 0;
    if (has_history()) hand_to(&copy);
    return copy;
}

void hand_to(uint64_t *clock) {
    if (!has_history()) return;
    if (*clock == 0) *clock = new_clock();
    uint32_t *const clock_of_rank = clock_of(my_rank);
    join(online_at(world, *clock), clock_of_rank);
    clock_of_rank[my_rank]++;
}

void learn(uint64_t clock) {
    if (clock != 0 && has_history()) join(clock_of(my_rank), online_at(world, clock));
}

void learn_all_of(int rank) {
    if (has_history()) join(clock_of(my_rank), clock_of(rank));
}
