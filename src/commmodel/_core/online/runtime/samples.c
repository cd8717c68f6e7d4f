// Blocks of a program that are timed a few times and charged then, and memory that all ranks share: what
// commmodel.sampled, commmodel.shared_array and commmodel.h call.
#include "online/runtime/allocation.h"
#include "online/runtime/charges.h"
#include "online/runtime/threads.h"

struct sample {
    uint64_t next;
    int32_t runs;
    double seconds;  // of all runs
    char site[];
};

static uint64_t of_rank;  // list of samples, in shared memory as those of all ranks
static struct sample *current_sample;
static double begin_seconds;
static int most_runs;

static struct sample *sample_of(uint64_t *list, const char *site) {
    for (uint64_t offset = *list; offset != 0;) {
        struct sample *sample = online_at(world, offset);
        if (strcmp(sample->site, site) == 0) return sample;
        offset = sample->next;
    }
    const uint64_t offset = allocate_shared(sizeof(struct sample) + strlen(site) + 1, "a sampled block");
    struct sample *sample = online_at(world, offset);
    *sample = (struct sample){*list, 0, 0.0};
    strcpy(sample->site, site);
    *list = offset;
    return sample;
}

bool is_in_sample(void) { return current_sample != NULL; }

void check_outside_sample(const char *call) {
    if (current_sample != NULL)
        abort_all(2, "rank %d calls %s in the sampled block at %s", my_rank, call, current_sample->site);
}

// Whether the block has to run.
EXPORT int commmodel_sample_begin(const char *site, int runs, int of_all, int skips) {
    if (!is_attached() || current_sample != NULL) return 1;
    const bool is_held = hold_turn();
    charge();
    struct sample *sample = sample_of(of_all ? &world->samples : &of_rank, site);
    release_turn(is_held);
    if (skips && sample->runs >= runs) {
        if (is_measured()) charge_seconds(sample->seconds / sample->runs);
        return 0;
    }
    current_sample = sample;
    most_runs = runs;
    begin_seconds = processor_seconds();
    return 1;
}

EXPORT void commmodel_sample_end(void) {
    if (current_sample == NULL) return;
    const bool is_held = hold_turn();
    double seconds = processor_seconds() - begin_seconds;
    if (current_sample->runs < most_runs) {
        current_sample->runs++;
        current_sample->seconds += seconds;
    } else {
        seconds = current_sample->seconds / current_sample->runs;
    }
    if (is_measured()) charge_seconds(seconds);
    current_sample = NULL;
    restart_clock();
    release_turn(is_held);
}

static void *shared_memory(const char *site, size_t size) {
    struct shared_block {
        uint64_t next, memory, size;
        char site[];
    };
    for (uint64_t offset = world->folded; offset != 0;) {
        struct shared_block *block = online_at(world, offset);
        if (block->size == size && strcmp(block->site, site) == 0) return online_at(world, block->memory);
        offset = block->next;
    }
    const uint64_t offset = allocate_shared(sizeof(struct shared_block) + strlen(site) + 1, "an array's name");
    const uint64_t memory = online_allocate_pages(world, size);
    if (memory == 0) abort_all(2, "the memory that ranks share is full: no room for an array of %zu bytes", size);
    struct shared_block *block = online_at(world, offset);
    *block = (struct shared_block){world->folded, memory, size};
    strcpy(block->site, site);
    world->folded = offset;
    return online_at(world, memory);
}

// Memory that all ranks have that ask for as much at this site; zeros in the beginning. NULL where there is none.
EXPORT void *commmodel_shared_memory(const char *site, size_t size) {
    if (!is_attached()) return NULL;
    const bool is_held = hold_turn();
    void *const memory = shared_memory(site, size);
    release_turn(is_held);
    return memory;
}

EXPORT int commmodel_is_shared(const void *memory) {
    return is_attached() && (const char *)memory >= (const char *)world &&
           (const char *)memory < (const char *)world + world->size;
}
