// Replays the computation times of a recording of the same program, call by call.
#include "online/runtime/charges.h"

enum { CACHED = 256, NOT_COMPARED = -1 };

static struct {
    const char *name;
    int number;
} cache[CACHED];
static uint64_t calls;  // of this rank so far, that are compared

static const char *name_of(int number) {
    const char *const names = online_at(world, world->recorded_names);
    return names + (size_t)number * ONLINE_NAME;
}

static int number_of(const char *name) {
    const unsigned slot = (unsigned)((uintptr_t)name * 0x9e3779b97f4a7c15u >> 56) % CACHED;
    if (cache[slot].name == name) return cache[slot].number;
    int number = NOT_COMPARED;
    for (int i = 0; i < world->recorded_name_count; i++)
        if (strcmp(name_of(i), name) == 0) number = i;
    cache[slot].name = name;
    cache[slot].number = number;
    return number;
}

void charge_recorded(const char *name) {
    const int number = number_of(name);
    if (number == NOT_COMPARED) return;
    const struct online_recorded *recorded = online_at(world, this_rank->recorded);
    if (calls >= recorded->count || recorded->calls[calls].number != number) {
        abort_all(2, "call %llu of rank %d is %s, %s in the recording: record this program with these arguments",
                  (unsigned long long)calls + 1, my_rank, name,
                  calls < recorded->count ? name_of(recorded->calls[calls].number) : "behind the last one");
    }
    charge_seconds(recorded->calls[calls++].seconds);
}
