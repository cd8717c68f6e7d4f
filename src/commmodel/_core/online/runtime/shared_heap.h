// The heap in the memory that ranks and the simulator share: blocks of powers of two, from lists of free ones.
#pragma once

#include "online/runtime/shared.h"

struct online_block {
    uint64_t next;
    uint32_t order;
    uint32_t is_kept;  // free, with its memory
};

// The offset of a block, 0 where the memory is full.
static inline uint64_t online_allocate(struct online_world *world, uint64_t size) {
    if (size > world->size - sizeof(struct online_block)) return 0;
    uint32_t order = 6;
    while ((1ull << order) < size + sizeof(struct online_block)) order++;
    uint64_t offset = world->free_blocks[order];
    if (offset != 0) {
        const struct online_block *block = (struct online_block *)online_at(world, offset);
        world->free_blocks[order] = block->next;
        if (block->is_kept) world->kept_bytes -= 1ull << order;
    } else {
        if (world->heap + (1ull << order) > world->size) return 0;
        offset = world->heap;
        world->heap += 1ull << order;
    }
    struct online_block *block = (struct online_block *)online_at(world, offset);
    block->order = order;
    block->is_kept = 0;
    return offset + sizeof(struct online_block);
}

// A block that is about to be filled. Touch it by reads: a read fault maps up to 16 existing pages, a write fault one.
static inline void *online_at_filled(struct online_world *world, uint64_t offset, uint64_t size) {
    volatile const char *const at = (const char *)online_at(world, offset);
    for (uint64_t i = 0; i < size; i += 1 << 16) (void)at[i];
    return (void *)at;
}

// Pages that are never given back, so that nothing is written to them here.
static inline uint64_t online_allocate_pages(struct online_world *world, uint64_t size) {
    const uint64_t page = 4096, offset = (world->heap + page - 1) / page * page;
    if (size > world->size - offset) return 0;
    world->heap = (offset + size + page - 1) / page * page;
    return offset;
}

static inline void online_free(struct online_world *world, uint64_t offset) {
    if (offset == 0) return;
    offset -= sizeof(struct online_block);
    struct online_block *block = (struct online_block *)online_at(world, offset);
    const uint64_t order = block->order, size = 1ull << order, page = 4096;
    if (order >= 20 && world->kept_bytes + size > ONLINE_KEPT) {  // give the memory back, the first page apart
        const uint64_t begin = (offset + page) & ~(page - 1), end = (offset + size) & ~(page - 1);
        if (end > begin) madvise(online_at(world, begin), end - begin, MADV_REMOVE);
    } else if (order >= 20) {
        block->is_kept = 1;
        world->kept_bytes += size;
    }
    block->next = world->free_blocks[order];
    world->free_blocks[order] = offset;
}
