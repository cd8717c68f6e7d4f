// The order of a communicator's collectives, which all ranks share, blocking or not: compared in a checked run.
#include "online/collectives/exchange.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/findings.h"
#include "online/runtime/turns.h"

#define ACCUSED UINT32_MAX  // number of an entry that says that the communicator's order has been accused

struct step {  // the n-th collective of a communicator, as its first rank calls it
    uint64_t next;
    int32_t communicator, kind, first, count, size;
    int32_t is_pending;
    uint32_t number;
    uint64_t call_site;
};

static const char *const KIND = "collectives in different orders";

static struct step *step_at(uint64_t offset) { return online_at(world, offset); }

static uint64_t *find(int communicator, uint32_t number) {
    uint64_t *link = &world->steps;
    while (*link != 0 && (step_at(*link)->communicator != communicator || step_at(*link)->number != number))
        link = &step_at(*link)->next;
    return link;
}

static void add(struct step content) {
    const uint64_t offset = allocate_shared(sizeof content, "a collective");
    content.next = world->steps;
    *step_at(offset) = content;
    world->steps = offset;
}

// The name of a call is the first line of its site.
static int length_of(const char *site) { return (int)strcspn(site, "\n"); }

static bool is_same_call(const char *left, const char *right) {
    const int length = length_of(left);
    return length == length_of(right) && strncmp(left, right, (size_t)length) == 0;
}

static void compare(const struct communicator *communicator, const struct step *step, int kind, bool is_pending) {
    const char *const first = online_at(world, step->call_site), *const call = online_at(world, current_site());
    const bool is_alike = kind == step->kind && is_same_call(first, call);
    // Other differences among calls of the same numbers end the run where they meet.
    if (is_alike || (is_pending == step->is_pending && kind != step->kind)) return;
    accuse_at(KIND, step->call_site, current_site(),
              "rank %d calls %.*s as collective %u of a communicator, where rank %d calls %.*s", step->first,
              length_of(first), first, step->number + 1, my_rank, length_of(call), call);
    add((struct step){.communicator = communicator->number, .number = ACCUSED});
}

void note_collective(struct communicator *communicator, int kind, bool is_pending) {
    const int size = communicator->group->size + (communicator->remote ? communicator->remote->size : 0);
    if (!is_checked() || size == 1) return;
    const uint32_t number = communicator->step_count++;
    const int key = communicator->number;
    if (*find(key, ACCUSED) != 0) return;
    uint64_t *link = find(key, number);
    if (*link == 0) {
        add((struct step){0, key, kind, my_rank, 1, size, is_pending, number, current_site()});
        return;
    }
    struct step *step = step_at(*link);
    const uint64_t offset = *link;
    if (++step->count == size) *link = step->next;
    const bool is_over = step->count == size;
    compare(communicator, step, kind, is_pending);
    if (is_over) online_free(world, offset);
}

// At the end of the last rank: the first collective of each communicator that some ranks have not called.
void accuse_missing_collectives(void) {
    for (uint64_t offset = world->steps; is_checked() && offset != 0; offset = step_at(offset)->next) {
        const struct step *step = step_at(offset);
        bool is_first = step->number != ACCUSED && *find(step->communicator, ACCUSED) == 0;
        for (uint64_t other = world->steps; is_first && other != 0; other = step_at(other)->next)
            is_first = step_at(other)->communicator != step->communicator || step_at(other)->number >= step->number;
        if (is_first)
            accuse_on(step->first, KIND, step->call_site, 0, "%d of the %d ranks of the communicator call it",
                      step->count, step->size);
    }
}
