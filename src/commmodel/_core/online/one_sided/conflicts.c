// Conflicts of one-sided accesses.
//
// Each rank's part of a window has a list of accesses in shared memory, from their calls until every rank knows that they
// are over. Two accesses are ordered where the second one's rank knows of the end of the first (history.h). What a rank
// stores in its own memory is seen by comparison with a copy, which one-sided accesses keep up to date.
#include "online/one_sided/conflicts.h"

#include "online/messages/requests.h"
#include "online/runtime/allocation.h"
#include "online/runtime/call_sites.h"
#include "online/runtime/calls.h"
#include "online/runtime/findings.h"
#include "online/runtime/history.h"
#include "online/runtime/protection.h"
#include "online/runtime/turns.h"

enum {
    MOST_PIECES = 4096,      // of an access; of more, only their bounds are known, and nothing is said
    MOST_RECORDS = 256,      // before those that are over for all are dropped
    MOST_COPIED = 1 << 24,   // bytes of a part
    MOST_COMPARED = 1 << 16  // at every call, else where the rank synchronises
};

static const char KIND[] = "conflicting accesses to a window";

struct piece {
    uint64_t begin, end;
};

struct record {  // of an access
    uint64_t next;
    uint64_t site;
    int32_t rank;  // of the whole program
    int32_t use;   // enum access_use
    MPI_Op op;
    MPI_Datatype basic;
    uint32_t issued, over;    // events; over: 0 while it is not
    uint32_t known_of_owner;  // when it was issued
    int32_t count;
    struct piece pieces[];
};

struct open_access {
    uint64_t record;
    int target;
    bool reads;                // only: it is over with its data
    struct watch *watches[2];  // or its request has them
    struct request *request;
};

static struct window *first_window;  // of those with a copy

static struct member *member_of(const struct access *access) {
    return &access->window->shared->members[access->target];
}

static const char *name_of(const struct record *record, char name[64]) {
    if (record->use == STORES) return "store";
    const char *text = online_at(world, record->site);
    snprintf(name, 64, "%.*s", (int)strcspn(text, "\n"), text);
    return name;
}

// ---- bytes

static MPI_Count piece_count(MPI_Count count, const struct datatype *type) {
    if (volume(count, type) == 0) return 0;
    if (is_dense(type)) return 1;
    MPI_Count number = 0;
    for (MPI_Count j = 0; j < type->run_count; j++) number += type->runs[j].repeats;
    return number * count;
}

static void list_pieces(const struct access *access, struct piece *to) {
    const struct datatype *type = access->type;
    if (is_dense(type)) {
        const uint64_t begin = access->address + (uint64_t)type->runs[0].offset;
        *to = (struct piece){begin, begin + (uint64_t)volume(access->count, type)};
        return;
    }
    for (MPI_Count i = 0; i < access->count; i++) {
        for (MPI_Count j = 0; j < type->run_count; j++) {
            const struct run *run = &type->runs[j];
            const uint64_t at = access->address + (uint64_t)(i * type->extent + run->offset);
            for (MPI_Count k = 0; k < run->repeats; k++) {
                const uint64_t begin = at + (uint64_t)(k * run->stride);
                *to++ = (struct piece){begin, begin + (uint64_t)run->length};
            }
        }
    }
}

static int by_begin(const void *left, const void *right) {
    const uint64_t begin = ((const struct piece *)left)->begin, other = ((const struct piece *)right)->begin;
    return begin < other ? -1 : begin > other;
}

// The first bytes that both have.
static bool find_common(const struct record *left, const struct record *right, struct piece *common,
                        struct piece *other) {
    int i = 0, j = 0;
    while (i < left->count && j < right->count) {
        if (left->pieces[i].begin < right->pieces[j].end && right->pieces[j].begin < left->pieces[i].end) {
            *common = left->pieces[i];
            *other = right->pieces[j];
            return true;
        }
        left->pieces[i].end <= right->pieces[j].end ? i++ : j++;
    }
    return false;
}

// ---- pairs of accesses

static bool is_ordered(const struct record *record, const struct record *access) {
    if (record->use == STORES) return access->known_of_owner >= record->issued;
    if (access->use == STORES && record->rank != access->rank)
        return (record->over != 0 && record->over <= known_of(record->rank)) ||
               record->known_of_owner >= access->issued;
    if (record->rank == access->rank) return record->over != 0;
    return record->over != 0 && record->over <= known_of(record->rank);
}

// Whether both may go on at once on elements of one type: the operations may be mixed with reading and replacing.
static bool are_compatible(const struct record *left, const struct record *right, const struct piece *at,
                           const struct piece *other) {
    const struct datatype *type = datatype_of(left->basic);
    if (left->basic == MPI_DATATYPE_NULL || right->basic == MPI_DATATYPE_NULL || type == NULL) return true;
    if (left->basic != right->basic) return false;
    if (((int64_t)(at->begin - other->begin)) % type->size != 0) return false;
    const bool may_mix = left->op == MPI_NO_OP || right->op == MPI_NO_OP || left->op == MPI_REPLACE ||
                         right->op == MPI_REPLACE || left->op == MPI_OP_NULL || right->op == MPI_OP_NULL;
    return left->rank == right->rank || may_mix || left->op == right->op;
}

static void tell(const struct record *record, const struct record *access, int owner) {
    char first[64], second[64];
    const char *const format =
        "rank %d's %s and rank %d's %s reach the same bytes of rank %d's window, and nothing "
        "orders them";
    const char *const first_name = name_of(record, first), *const second_name = name_of(access, second);
    const int ranks[] = {record->rank, access->rank};
    for (int i = 0; i < 2; i++)
        accuse_on(ranks[i], KIND, access->site, record->site, format, record->rank, first_name, access->rank,
                  second_name, owner);
}

static bool only_reads(const struct record *record) {
    return record->use == GETS || (record->use == ACCUMULATES && record->op == MPI_NO_OP);
}

static void compare(const struct record *record, const struct record *access, int owner) {
    if ((only_reads(record) && only_reads(access)) || (record->use == STORES && access->use == STORES) ||
        is_ordered(record, access))
        return;
    struct piece at, other;
    if (!find_common(record, access, &at, &other)) return;
    if (record->use == ACCUMULATES && access->use == ACCUMULATES && are_compatible(record, access, &at, &other)) return;
    tell(record, access, owner);
}

// ---- lists of accesses

static void drop_record(struct member *member, uint64_t *link) {
    const uint64_t offset = *link;
    *link = ((struct record *)online_at(world, offset))->next;
    online_free(world, offset);
    member->record_count--;
}

// Drop what every rank of the window knows to be over.
static void prune(const struct window *window, struct member *member) {
    for (uint64_t *link = &member->records; *link != 0;) {
        struct record *record = online_at(world, *link);
        bool is_known = record->over != 0;
        for (int i = 0; is_known && i < size_of(window->communicator); i++)
            is_known = known_of_by(record->rank, member_rank(window, i)) >= record->over;
        is_known ? drop_record(member, link) : (void)(link = &record->next);
    }
    member->record_limit = 2 * member->record_count + MOST_RECORDS;
}

static uint64_t new_record(int count, enum access_use use) {
    const uint64_t offset =
        allocate_shared(sizeof(struct record) + sizeof(struct piece) * (uint64_t)count, "an access");
    *(struct record *)online_at(world, offset) = (struct record){.site = current_site(),
                                                                 .rank = my_rank,
                                                                 .use = use,
                                                                 .op = MPI_OP_NULL,
                                                                 .basic = MPI_DATATYPE_NULL,
                                                                 .issued = event(),
                                                                 .count = count};
    return offset;
}

static void add_record(const struct window *window, int target, uint64_t offset) {
    struct member *member = &window->shared->members[target];
    struct record *record = online_at(world, offset);
    const int owner = member_rank(window, target);
    for (uint64_t at = member->records; at != 0; at = ((struct record *)online_at(world, at))->next)
        compare(online_at(world, at), record, owner);
    record->next = member->records;
    member->records = offset;
    if (++member->record_count > member->record_limit + MOST_RECORDS) prune(window, member);
}

// ---- accesses of this rank

static char *copy_at(const struct access *access) {
    const struct member *member = member_of(access);
    if (member->copy == 0) return NULL;
    return (char *)online_at(world, member->copy) + (access->address - member->base);
}

// What the owner has stored since it last looked, where the access finds it.
static void find_fresh_store(const struct access *access, const struct record *record) {
    const struct member *member = member_of(access);
    const char *const copy = copy_at(access);
    if (copy == NULL || access->rank == my_rank || known_of(access->rank) >= member->looked_at) return;
    const MPI_Count bytes = volume(access->count, access->type);
    char *const now = allocate(2 * (size_t)bytes + 1), *const then = now + bytes;
    read_memory(access->rank, access->mapping, access->address, access->count, access->type, now);
    pack(copy, access->count, access->type, then);
    if (memcmp(now, then, (size_t)bytes) != 0) {
        struct record store = {.site = member->looked_site, .rank = access->rank, .use = STORES};
        tell(&store, record, access->rank);
    }
    free(now);
}

void begin_access(const struct access *access, MPI_Op op) {
    struct window *window = access->window;
    window->record = 0;
    const MPI_Count count = piece_count(access->count, access->type);
    if (!has_history() || count == 0 || count > MOST_PIECES) return;
    if (access->rank == my_rank) find_stores(window);
    const uint64_t offset = window->record = new_record((int)count, access->use);
    struct record *record = online_at(world, offset);
    record->op = op;
    record->basic = access->type->is_basic ? access->type->handle : access->type->basic;
    record->known_of_owner = known_of(access->rank);
    list_pieces(access, record->pieces);
    if (count > 1) qsort(record->pieces, (size_t)count, sizeof *record->pieces, by_begin);
    find_fresh_store(access, record);
    add_record(window, access->target, offset);
}

void update_copy(const struct access *access) {
    char *const copy = copy_at(access);
    if (copy == NULL || !has_history() || volume(access->count, access->type) == 0) return;
    const MPI_Count bytes = volume(access->count, access->type);
    char *const packed = allocate((size_t)bytes);
    read_memory(access->rank, access->mapping, access->address, access->count, access->type, packed);
    unpack(copy, access->count, access->type, packed, bytes);
    free(packed);
}

static void add_open_access(const struct access *access, struct open_access open) {
    struct window *window = access->window;
    if (window->access_count == window->access_room) {
        window->access_room = window->access_room ? 2 * window->access_room : 16;
        window->accesses = reallocate(window->accesses, sizeof *window->accesses * (size_t)window->access_room);
    }
    window->accesses[window->access_count++] = open;
}

void end_access(const struct access *access, const struct block *origin, const struct block *result,
                struct request *request) {
    if (!has_history()) return;
    struct member *member = member_of(access);
    if (access->use == ACCUMULATES && result != NULL) learn(member->atomic_clock);
    if (access->use == ACCUMULATES) hand_to(&member->atomic_clock);
    struct open_access open = {access->window->record, access->target, result != NULL, {NULL, NULL}, request};
    struct watch **const watches = request == NULL ? open.watches : request->watches;
    if (result != NULL) watches[0] = watch_buffers(ORIGIN_WRITTEN, 1, result);
    if (origin != NULL) watches[1] = watch_buffers(ORIGIN_READ, 1, origin);
    if (request != NULL) request->state = access->window;
    add_open_access(access, open);
}

void watch_more(const struct access *access, int count, const struct block *read) {
    struct window *window = access->window;
    if (window->access_count > 0 && has_history())
        window->accesses[window->access_count - 1].watches[1] = watch_buffers(ORIGIN_READ, count, read);
}

static void end_open_access(struct open_access *open, bool is_local) {
    struct watch **const watches = open->request == NULL ? open->watches : open->request->watches;
    for (int i = 0; i < 2; i++) end_watch(&watches[i]);
    if (open->record == 0 || (is_local && !open->reads)) return;
    ((struct record *)online_at(world, open->record))->over = event();
    open->record = 0;
}

void complete_accesses(struct window *window, int target, bool is_local) {
    if (!has_history()) return;
    find_stores(window);
    int count = 0;
    for (int i = 0; i < window->access_count; i++) {
        struct open_access open = window->accesses[i];
        const bool is_meant = target == NONE || open.target == target;
        if (is_meant) end_open_access(&open, is_local);
        if (!is_meant || open.record != 0)
            window->accesses[count++] = open;
        else if (open.request != NULL)
            open.request->state = NULL;
    }
    window->access_count = count;
}

void complete_request(struct request *request) {
    const struct window *window = request->state;
    for (int i = 0; window != NULL && i < window->access_count; i++) {
        struct open_access *open = &window->accesses[i];
        if (open->request != request) continue;
        if (open->reads && open->record != 0) ((struct record *)online_at(world, open->record))->over = event();
        if (open->reads) open->record = 0;
        open->request = NULL;
    }
}

// ---- stores of the owner

static bool has_copy(const struct window *window) {
    return has_history() && window->shared->members[window->communicator->rank].copy != 0;
}

struct comparison {
    const char *memory, *copy;
    size_t bytes;
    struct piece *pieces;
    int count;
};

static void count_differences(void *state) {
    struct comparison *comparison = state;
    comparison->count = memcmp(comparison->memory, comparison->copy, comparison->bytes) != 0;
}

static void list_differences(struct comparison *comparison) {
    size_t at = 0;
    comparison->count = 0;
    while (at < comparison->bytes && comparison->count < MOST_PIECES) {
        const size_t step = comparison->bytes - at < 256 ? comparison->bytes - at : 256;
        if (memcmp(comparison->memory + at, comparison->copy + at, step) == 0) {
            at += step;
            continue;
        }
        while (comparison->memory[at] == comparison->copy[at]) at++;
        const size_t begin = at;
        while (at < comparison->bytes && comparison->memory[at] != comparison->copy[at]) at++;
        comparison->pieces[comparison->count++] =
            (struct piece){(uint64_t)(comparison->memory + begin), (uint64_t)(comparison->memory + at)};
    }
}

void find_stores(struct window *window) {
    if (!has_copy(window)) return;
    const int target = window->communicator->rank;
    struct member *member = &window->shared->members[target];
    struct comparison comparison = {window->base, online_at(world, member->copy), (size_t)window->size, NULL, 0};
    if (try_reading(count_differences, &comparison) && comparison.count > 0) {
        comparison.pieces = allocate(sizeof(struct piece) * MOST_PIECES);
        list_differences(&comparison);
        const uint64_t offset = new_record(comparison.count, STORES);
        struct record *record = online_at(world, offset);
        memcpy(record->pieces, comparison.pieces, sizeof(struct piece) * (size_t)comparison.count);
        free(comparison.pieces);
        record->site = member->looked_site;
        record->issued = member->looked_at;
        record->over = event();
        memcpy(online_at(world, member->copy), window->base, (size_t)window->size);
        add_record(window, target, offset);
    }
    member->looked_site = current_site();
    window->is_looked_at = true;
}

// Whether the memory of a window is no longer the program's.
static void find_left_memory(struct window *window) {
    if (window->is_left || !is_left_stack(window->base)) return;
    window->is_left = true;
    accuse("freed memory of a window", "the function whose variable is the window's memory has returned");
}

// At the beginning of a call. No event has been since the end of the one before it.
static void check_windows(void) {
    if (is_copy()) return;
    for (struct window *window = first_window; window != NULL; window = window->next_compared) {
        if (window->is_looked_at) window->shared->members[window->communicator->rank].looked_at = event();
        window->is_looked_at = false;
        find_left_memory(window);
        if (window->size <= MOST_COMPARED) find_stores(window);
    }
}

void copy_window(struct window *window) {
    if (!is_checked() || window->flavor == MPI_WIN_FLAVOR_SHARED || window->flavor == MPI_WIN_FLAVOR_DYNAMIC ||
        window->size == 0 || window->size > MOST_COPIED)
        return;
    struct member *member = &window->shared->members[window->communicator->rank];
    member->copy = online_allocate(world, (uint64_t)window->size);
    if (member->copy == 0) return;
    memcpy(online_at(world, member->copy), window->base, (size_t)window->size);
    member->looked_at = event();
    member->looked_site = current_site();
    window->is_looked_at = true;
    window->next_compared = first_window;
    first_window = window;
    turn_hooks.check_windows = check_windows;
}

void forget_accesses(struct window *window) {
    if (!is_checked()) return;
    complete_accesses(window, NONE, false);
    for (int i = 0; i < window->access_count; i++)
        if (window->accesses[i].request != NULL) window->accesses[i].request->state = NULL;
    free(window->accesses);
    for (struct window **link = &first_window; *link != NULL; link = &(*link)->next_compared) {
        if (*link != window) continue;
        *link = window->next_compared;
        break;
    }
}

void forget_history(struct shared_window *shared, int size) {
    for (int i = 0; i < size; i++) {
        struct member *member = &shared->members[i];
        while (member->records != 0) drop_record(member, &member->records);
        const uint64_t clocks[] = {member->copy,         member->any_clock,  member->exclusive_clock,
                                   member->atomic_clock, member->post_clock, member->completion_clock};
        for (size_t j = 0; j < sizeof clocks / sizeof *clocks; j++) online_free(world, clocks[j]);
    }
}
