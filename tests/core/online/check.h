// What unit tests of the rooms share: a check, and a world without a simulator.
#pragma once

#include "online/runtime/shared_heap.h"
#include "online/runtime/turns.h"

#define CHECK(condition)                                                     \
    do {                                                                     \
        if (!(condition)) {                                                  \
            printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

// A shared memory of this process alone.
static inline struct online_world *new_world(int ranks) {
    struct online_world *memory =
        mmap(NULL, 1ull << 38, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    memory->ranks = ranks;
    memory->size = 1ull << 38;
    const uint64_t size = sizeof(struct online_world) + sizeof(struct online_rank) * (uint64_t)ranks;
    memory->heap = (size + 4095) / 4096 * 4096;
    return memory;
}
