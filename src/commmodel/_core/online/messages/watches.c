// Buffers of pending operations. What is sent must not be written meanwhile, what is received must neither be read nor
// written; only the bytes of the datatype count. Writes are last_site by a checksum, at later calls and at the end of the
// operation; whole pages that are received into are closed, which shows reads, too.
#include "online/messages/watches.h"

#include "online/messages/variables.h"
#include "online/runtime/allocation.h"
#include "online/runtime/call_sites.h"
#include "online/runtime/calls.h"
#include "online/runtime/findings.h"
#include "online/runtime/protection.h"
#include "online/runtime/turns.h"

enum {
    MOST_RANGES = 1 << 20,
    MOST_CHECKED = 64,    // buffers a call, in turn
    MOST_BYTES = 1 << 16  // of one that is looked at before its end, and of all at a call
};

struct watch {
    struct watch *before, *next;
    enum use use;
    bool is_told, is_ours;     // ours: a variable of the library's own
    uint64_t site, last_site;  // of its call; of the last one at which nothing had changed
    uint64_t sum;
    uintptr_t begin, end;
    MPI_Count bytes;
    int pages;  // closed ones, or NONE
    uintptr_t closed_begin, closed_end;
    int count;
    struct block blocks[];
};

struct range {
    uintptr_t begin, end;
};

static struct watch *first, *next_checked;

static bool writes(enum use use) { return use == RECEIVED || use == ORIGIN_WRITTEN; }

static const char *noun(enum use use) {
    switch (use) {
        case SENT: return "send buffer";
        case RECEIVED: return "receive buffer";
        default: return "origin buffer";
    }
}

// ---- bytes of blocks

static struct range bounds(const struct block *block) {
    const struct datatype *type = block->type;
    const MPI_Aint span = (block->count - 1) * type->extent;
    const uintptr_t lower = (uintptr_t)block->at + (uintptr_t)type->true_lower;
    return (struct range){lower + (uintptr_t)(span < 0 ? span : 0),
                          lower + (uintptr_t)type->true_extent + (uintptr_t)(span > 0 ? span : 0)};
}

static bool is_empty(const struct block *block) {
    return block->type == NULL || block->count <= 0 || block->type->size == 0;
}

static struct range all_bounds(int count, const struct block *blocks, MPI_Count *bytes) {
    struct range all = {UINTPTR_MAX, 0};
    *bytes = 0;
    for (int i = 0; i < count; i++) {
        if (is_empty(&blocks[i])) continue;
        const struct range range = bounds(&blocks[i]);
        if (range.begin < all.begin) all.begin = range.begin;
        if (range.end > all.end) all.end = range.end;
        *bytes += volume(blocks[i].count, blocks[i].type);
    }
    return all;
}

static MPI_Count range_count(const struct block *block) {
    if (is_empty(block)) return 0;
    if (is_dense(block->type)) return 1;
    MPI_Count number = 0;
    for (MPI_Count j = 0; j < block->type->run_count; j++) number += block->type->runs[j].repeats;
    return number * block->count;
}

static void list_ranges(const struct block *block, struct range **to) {
    if (is_empty(block)) return;
    if (is_dense(block->type)) {
        *(*to)++ = bounds(block);
        return;
    }
    for (MPI_Count i = 0; i < block->count; i++) {
        for (MPI_Count j = 0; j < block->type->run_count; j++) {
            const struct run *run = &block->type->runs[j];
            const uintptr_t at = (uintptr_t)block->at + (uintptr_t)(i * block->type->extent + run->offset);
            for (MPI_Count k = 0; k < run->repeats; k++) {
                const uintptr_t begin = at + (uintptr_t)(k * run->stride);
                *(*to)++ = (struct range){begin, begin + (uintptr_t)run->length};
            }
        }
    }
}

static int by_begin(const void *left, const void *right) {
    const uintptr_t first_begin = ((const struct range *)left)->begin, other = ((const struct range *)right)->begin;
    return first_begin < other ? -1 : first_begin > other;
}

// In ascending order; NULL where there are none, or too many.
static struct range *sorted_ranges(int count, const struct block *blocks, size_t *number) {
    MPI_Count total = 0;
    for (int i = 0; i < count; i++) total += range_count(&blocks[i]);
    *number = (size_t)total;
    if (total == 0 || total > MOST_RANGES) return NULL;
    struct range *const ranges = allocate(sizeof *ranges * (size_t)total), *end = ranges;
    for (int i = 0; i < count; i++) list_ranges(&blocks[i], &end);
    qsort(ranges, (size_t)total, sizeof *ranges, by_begin);
    return ranges;
}

static bool has_bytes_twice(const struct range *ranges, size_t count) {
    uintptr_t end = 0;
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].begin < end) return true;
        if (ranges[i].end > end) end = ranges[i].end;
    }
    return false;
}

static bool have_common_bytes(const struct range *left, size_t left_count, const struct range *right,
                              size_t right_count) {
    size_t i = 0, j = 0;
    while (i < left_count && j < right_count) {
        if (left[i].begin < right[j].end && right[j].begin < left[i].end) return true;
        left[i].end <= right[j].end ? i++ : j++;
    }
    return false;
}

bool overlap(int count, const struct block *blocks, int other_count, const struct block *second_blocks) {
    MPI_Count bytes, other_bytes;
    const struct range all = all_bounds(count, blocks, &bytes);
    if (bytes == 0) return false;
    if (second_blocks != NULL) {
        const struct range other = all_bounds(other_count, second_blocks, &other_bytes);
        if (other_bytes == 0 || all.begin >= other.end || other.begin >= all.end) return false;
    }
    size_t number, other_number;
    struct range *const ranges = sorted_ranges(count, blocks, &number);
    if (ranges == NULL) return false;
    bool is_there;
    if (second_blocks == NULL) {
        is_there = has_bytes_twice(ranges, number);
    } else {
        struct range *const other_ranges = sorted_ranges(other_count, second_blocks, &other_number);
        is_there = other_ranges != NULL && have_common_bytes(ranges, number, other_ranges, other_number);
        free(other_ranges);
    }
    free(ranges);
    return is_there;
}

// ---- checksums

static uint64_t mix(uint64_t sum, uint64_t word) {
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

static uint64_t word_at(const char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static uint64_t sum_bytes(uint64_t sum, const char *at, size_t bytes) {
    uint64_t lanes[4] = {sum, sum + 1, sum + 2, sum + 3};
    for (; bytes >= 32; at += 32, bytes -= 32)
        for (int i = 0; i < 4; i++) lanes[i] = mix(lanes[i], word_at(at + 8 * i));
    sum = mix(mix(lanes[0], lanes[1]), mix(lanes[2], lanes[3]));
    for (; bytes >= 8; at += 8, bytes -= 8) sum = mix(sum, word_at(at));
    uint64_t last = bytes;
    for (size_t i = 0; i < bytes; i++) last = last << 8 | (unsigned char)at[i];
    return mix(sum, last);
}

static uint64_t sum_block(uint64_t sum, const struct block *block) {
    if (is_empty(block)) return sum;
    const struct datatype *type = block->type;
    if (is_dense(type)) return sum_bytes(sum, block->at + type->runs[0].offset, (size_t)volume(block->count, type));
    for (MPI_Count i = 0; i < block->count; i++) {
        for (MPI_Count j = 0; j < type->run_count; j++) {
            const struct run *run = &type->runs[j];
            const char *at = block->at + i * type->extent + run->offset;
            for (MPI_Count k = 0; k < run->repeats; k++)
                sum = sum_bytes(sum, at + k * run->stride, (size_t)run->length);
        }
    }
    return sum;
}

struct reading {
    const struct watch *watch;
    uint64_t sum;
};

static void sum_watch(void *state) {
    struct reading *reading = state;
    const struct watch *watch = reading->watch;
    uint64_t sum = 0;
    if (watch->pages != NONE) {  // of one dense block: what lies beside the closed pages
        sum = sum_bytes(sum, (const char *)watch->begin, watch->closed_begin - watch->begin);
        sum = sum_bytes(sum, (const char *)watch->closed_end, watch->end - watch->closed_end);
    } else {
        for (int i = 0; i < watch->count; i++) sum = sum_block(sum, &watch->blocks[i]);
    }
    reading->sum = sum;
}

// Whether the memory is there.
static bool get_sum(const struct watch *watch, uint64_t *sum) {
    struct reading reading = {watch, 0};
    const bool is_there = try_reading(sum_watch, &reading);
    *sum = reading.sum;
    return is_there;
}

// ---- what is said

static const char *name_at(uint64_t site, char name[64]) {
    const char *text = site ? online_at(world, site) : "MPI";
    const size_t length = strcspn(text, "\n");
    snprintf(name, 64, "%.*s", (int)length, text);
    return name;
}

static void tell_overlap(enum use use, struct watch *other) {
    char kind[64], name[64];
    name_at(other->site, name);
    other->is_told = true;
    snprintf(kind, sizeof kind, "%s a pending %s", writes(use) ? "write to" : "read of", noun(other->use));
    if (writes(use) && writes(other->use))
        accuse_at("overlapping receive buffers", current_site(), other->site,
                  "%s writes to memory that the pending %s writes to, too", call_name, name);
    else
        accuse_at(kind, current_site(), other->site, "%s %s the %s of %s before that is over", call_name,
                  writes(use) ? "writes to" : "reads", noun(other->use), name);
}

// Of a write that no call of MPI did.
static void tell_change(struct watch *watch, const char *verb) {
    char kind[64], call[64], last[64], present[64];
    watch->is_told = true;
    snprintf(kind, sizeof kind, "%s a pending %s", verb, noun(watch->use));
    const bool reads = strncmp(verb, "read", 4) == 0;
    accuse_at(kind, current_site(), watch->site, "the program %s the %s of %s before that is over, between %s and %s",
              reads ? "reads" : "writes to", noun(watch->use), name_at(watch->site, call),
              name_at(watch->last_site, last), name_at(current_site(), present));
}

// Of an access to closed pages.
static void tell_touch(struct watch *watch, struct touch touch) {
    if (!touch.is_there || watch->is_told) return;
    const uint64_t site = access_site(touch.writes ? "a write" : "a read", touch.code);
    if (site == 0) return tell_change(watch, touch.writes ? "write to" : "read of");
    char kind[64], call[64];
    watch->is_told = true;
    snprintf(kind, sizeof kind, "%s a pending %s", touch.writes ? "write to" : "read of", noun(watch->use));
    accuse_at(kind, site, watch->site, "the program %s the %s of %s before that is over",
              touch.writes ? "writes to" : "reads", noun(watch->use), name_at(watch->site, call));
}

// ---- watches

static void look(struct watch *watch) {
    if (watch->is_told) return;
    if (watch->pages != NONE) tell_touch(watch, touch_of(watch->pages));
    if (watch->is_told) return;
    uint64_t sum;
    if (!watch->is_ours && is_left_stack((const void *)watch->begin)) {
        char name[64];
        watch->is_told = true;
        accuse_at("freed pending buffer", current_site(), watch->site,
                  "the function whose variable is the %s of %s has returned before that is over", noun(watch->use),
                  name_at(watch->site, name));
    } else if (!get_sum(watch, &sum)) {
        char name[64];
        watch->is_told = true;
        accuse_at("freed pending buffer", current_site(), watch->site,
                  "the memory of the %s of %s is freed before that is over", noun(watch->use),
                  name_at(watch->site, name));
    } else if (sum != watch->sum) {
        tell_change(watch, "write to");
    } else {
        watch->last_site = current_site();
    }
}

static void find_uses(enum use use, int count, const struct block *blocks, bool *is_overlapping) {
    MPI_Count bytes;
    const struct range range = all_bounds(count, blocks, &bytes);
    *is_overlapping = false;
    if (bytes == 0) return;
    for (struct watch *watch = first; watch != NULL; watch = watch->next) {
        if (!writes(use) && !writes(watch->use)) continue;
        if (range.begin >= watch->end || watch->begin >= range.end) continue;
        if (!overlap(count, blocks, watch->count, watch->blocks)) continue;
        *is_overlapping = true;
        if (watch->pages != NONE) open_pages(watch->pages);
        watch->pages = NONE;
        if (!watch->is_told) tell_overlap(use, watch);
    }
}

// Of what is received into: whether its datatype has bytes twice.
static void find_twice(int count, const struct block *blocks) {
    for (int i = 0; i < count; i++) {
        if (is_empty(&blocks[i]) || is_dense(blocks[i].type)) continue;
        const bool are_several = blocks[i].count > 1;
        struct block elements = blocks[i];
        elements.count = are_several ? 2 : 1;
        if (elements.type->entries[are_several] == NOT_LOOKED_AT)
            elements.type->entries[are_several] = overlap(1, &elements, 0, NULL) ? ON_ONE_ANOTHER : APART;
        if (elements.type->entries[are_several] == ON_ONE_ANOTHER)
            accuse("overlapping receive buffers", "the datatype that %s receives has bytes that are two entries'",
                   call_name);
    }
}

static void note_variables(enum use use, int count, const struct block *blocks) {
    for (int i = 0; i < count; i++)
        if (!is_empty(&blocks[i]) && !is_left_stack(blocks[i].at))
            note_variable(writes(use) ? "writes to" : "reads", &blocks[i]);
}

void use_buffers(enum use use, int count, const struct block *blocks) {
    bool is_overlapping;
    if (is_checked() && writes(use)) find_twice(count, blocks);
    if (is_checked()) note_variables(use, count, blocks);
    if (first != NULL) find_uses(use, count, blocks, &is_overlapping);
}

void use_buffer(enum use use, const void *at, MPI_Count count, struct datatype *type) {
    const struct block block = {(char *)at, count, type};
    use_buffers(use, 1, &block);
}

static void close_pages(struct watch *watch) {
    watch->closed_begin = watch->begin;
    watch->closed_end = watch->end;
    if (writes(watch->use) && !watch->is_told && watch->count == 1 && is_dense(watch->blocks[0].type))
        watch->pages = protect(&watch->closed_begin, &watch->closed_end);
}

struct watch *watch_buffers(enum use use, int count, const struct block *blocks) {
    if (!is_checked()) return NULL;
    MPI_Count bytes;
    const struct range range = all_bounds(count, blocks, &bytes);
    if (bytes == 0) return NULL;
    turn_hooks.check_call = check_watches;
    struct watch *watch = allocate(sizeof *watch + sizeof *blocks * (size_t)count);
    *watch = (struct watch){.use = use,
                            .site = current_site(),
                            .last_site = current_site(),
                            .is_ours = is_left_stack((const void *)range.begin),
                            .begin = range.begin,
                            .end = range.end,
                            .bytes = bytes,
                            .pages = NONE,
                            .count = count};
    memcpy(watch->blocks, blocks, sizeof *blocks * (size_t)count);
    if (writes(use)) find_twice(count, blocks);
    note_variables(use, count, blocks);
    for (int i = 0; i < count; i++)
        if (blocks[i].type != NULL) keep_datatype(blocks[i].type);
    find_uses(use, count, blocks, &watch->is_told);
    close_pages(watch);
    if (!get_sum(watch, &watch->sum)) watch->is_told = true;  // as the call itself finds
    watch->next = first;
    if (first != NULL) first->before = watch;
    first = watch;
    return watch;
}

struct watch *watch_buffer(enum use use, void *at, MPI_Count count, struct datatype *type) {
    const struct block block = {at, count, type};
    return watch_buffers(use, 1, &block);
}

void drop_watch(struct watch **link) {
    struct watch *watch = *link;
    if (watch == NULL) return;
    *link = NULL;
    if (watch->pages != NONE) open_pages(watch->pages);
    *(watch->before != NULL ? &watch->before->next : &first) = watch->next;
    if (watch->next != NULL) watch->next->before = watch->before;
    if (next_checked == watch) next_checked = watch->next;
    for (int i = 0; i < watch->count; i++)
        if (watch->blocks[i].type != NULL) drop_datatype(watch->blocks[i].type);
    free(watch);
}

void end_watch(struct watch **watch) {
    if (*watch == NULL) return;
    look(*watch);
    drop_watch(watch);
}

void check_watches(void) {
    if (is_copy()) return;
    MPI_Count bytes = 0;
    if (next_checked == NULL) next_checked = first;
    const struct watch *const begin = next_checked;
    for (int i = 0; i < MOST_CHECKED && next_checked != NULL && bytes < MOST_BYTES; i++) {
        struct watch *const watch = next_checked;
        next_checked = watch->next != NULL ? watch->next : first;
        const MPI_Count length =
            watch->bytes - (MPI_Count)(watch->pages == NONE ? 0 : watch->closed_end - watch->closed_begin);
        if (length <= MOST_BYTES) {
            look(watch);
            bytes += length;
        }
        if (next_checked == begin) break;
    }
}

void end_watches(void) {
    for (struct watch *watch = first; watch != NULL; watch = watch->next) {
        look(watch);
        if (watch->pages != NONE) open_pages(watch->pages);
        watch->pages = NONE;
    }
}

void forget_watches(void) {
    for (struct watch *watch = first; watch != NULL; watch = watch->next) {
        if (watch->pages != NONE) open_pages(watch->pages);
        watch->pages = NONE;
        watch->is_told = true;
    }
}
