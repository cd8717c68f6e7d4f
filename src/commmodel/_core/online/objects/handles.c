// Handles: integers in the ranges of MPICH's ABI.
#include "online/objects/handles.h"

#include "online/runtime/allocation.h"
#include "online/runtime/findings.h"
#include "online/runtime/threads.h"

static const int BASES[KINDS] = {
    [COMMUNICATOR] = (int)0x84000000, [GROUP] = (int)0x88000000,      [DATATYPE] = (int)0x8c000100,
    [OPERATION] = (int)0x98000000,    [ERRHANDLER] = (int)0x94000000, [REQUEST] = (int)0xac000000,
    [INFO] = (int)0x9c000000,         [KEYVAL] = (int)0xa4000000,     [MESSAGE] = (int)0xac800000,
    [WINDOW] = (int)0xa0000000,       [SESSION] = (int)0xb8000000,    [FILES] = (int)0xbc000000,
};

#define NO_SITE UINT64_MAX  // of what the program need not free

struct table {
    void **objects;
    int size, room, *free_indices, free_count;
    uint64_t *sites;  // where each was made, in a checked run
};
static struct table tables[KINDS];

struct fixed {  // an object that exists from the beginning
    int handle;
    void *object;
};
static struct fixed fixed[KINDS][256];
static int fixed_count[KINDS];

// Other threads may look a handle up meanwhile, without the turn: what they read stays.
static void widen(struct table *table) {
    void **const old = table->objects;
    const int room = table->room ? 2 * table->room : 64;
    void **const objects = allocate(sizeof(void *) * (size_t)room);
    if (table->room > 0) memcpy(objects, old, sizeof(void *) * (size_t)table->room);
    table->free_indices = reallocate(table->free_indices, sizeof(int) * (size_t)room);
    if (is_checked()) table->sites = reallocate(table->sites, sizeof(uint64_t) * (size_t)room);
    table->objects = objects;
    table->room = room;
    if (!has_threads()) free(old);
}

int new_handle(enum kind kind, void *object) {
    struct table *table = &tables[kind];
    const bool is_held = hold_turn();
    int index;
    if (table->free_count > 0) {
        index = table->free_indices[--table->free_count];
    } else {
        if (table->size == table->room) widen(table);
        index = table->size++;
    }
    table->objects[index] = object;
    if (table->sites != NULL) table->sites[index] = site_here();
    release_turn(is_held);
    return BASES[kind] + index;
}

void set_handle(enum kind kind, int handle, void *object) {
    int i = 0;
    while (i < fixed_count[kind] && fixed[kind][i].handle != handle) i++;
    if (i == fixed_count[kind]) fixed_count[kind]++;
    fixed[kind][i] = (struct fixed){handle, object};
}

void *object_of(enum kind kind, int handle) {
    const unsigned index = (unsigned)handle - (unsigned)BASES[kind];
    if (index < (unsigned)tables[kind].size) return tables[kind].objects[index];
    for (int i = 0; i < fixed_count[kind]; i++)
        if (fixed[kind][i].handle == handle) return fixed[kind][i].object;
    return NULL;
}

void drop_handle(enum kind kind, int handle) {
    struct table *table = &tables[kind];
    const unsigned index = (unsigned)handle - (unsigned)BASES[kind];
    if (index >= (unsigned)table->size) return;
    const bool is_held = hold_turn();
    table->objects[index] = NULL;
    table->free_indices[table->free_count++] = (int)index;
    release_turn(is_held);
}

void accuse_leaks(void) {
    static const struct {
        enum kind kind;
        const char *words;
    } LEAKS[] = {
        {COMMUNICATOR, "leak of a communicator"}, {GROUP, "leak of a group"},   {DATATYPE, "leak of a datatype"},
        {OPERATION, "leak of an operation"},      {WINDOW, "leak of a window"},
    };
    for (size_t i = 0; is_checked() && i < sizeof LEAKS / sizeof LEAKS[0]; i++) {
        const struct table *table = &tables[LEAKS[i].kind];
        for (int j = 0; table->sites != NULL && j < table->size; j++)
            if (table->objects[j] != NULL && table->sites[j] != NO_SITE)
                accuse_at(LEAKS[i].words, table->sites[j], 0, NOT_FREED);
    }
}

void forgive_leak(enum kind kind, int handle) {
    const unsigned index = (unsigned)handle - (unsigned)BASES[kind];
    if (tables[kind].sites != NULL && index < (unsigned)tables[kind].size) tables[kind].sites[index] = NO_SITE;
}

void *next_object(enum kind kind, int *index) {
    const struct table *table = &tables[kind];
    while (*index < table->size && table->objects[*index] == NULL) ++*index;
    return *index < table->size ? table->objects[(*index)++] : NULL;
}
