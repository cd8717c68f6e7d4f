// Windows. What all ranks know of a window lies in shared memory.
#pragma once

#include "online/datatypes/datatypes.h"
#include "online/objects/communicators.h"
#include "online/runtime/shared.h"

struct member {        // of a window, what its rank has exposed
    uint64_t base;     // an address in that rank
    uint64_t mapping;  // where that rank has the shared memory
    MPI_Aint size, unit;
    uint64_t regions;  // attached ones
    int32_t holders;   // of the lock: number of shared holders, or ALONE
    uint64_t first_waiter, last_waiter;
    // Of a checked run (conflicts.c).
    uint64_t records;  // accesses
    int32_t record_count, record_limit;
    uint64_t copy;         // of its memory, 0 where there is none
    uint32_t looked_at;    // event of the rank after the call in which it last compared both
    uint64_t looked_site;  // that call
    // Clocks (history.h) of those who released the lock, released it alone, combined values, posted, and completed.
    uint64_t any_clock, exclusive_clock, atomic_clock, post_clock, completion_clock;
};

struct shared_window {
    uint64_t next;
    int32_t number, references;
    uint64_t memory;  // of all ranks together, 0 where there is none
    struct member members[];
};

struct region {  // attached to a dynamic window
    uint64_t next, base, size;
};

struct open_transfer {
    int name, target;
};

struct window {
    MPI_Win handle;
    struct communicator *communicator;  // its own
    struct shared_window *shared;
    int flavor, model;
    void *base;
    MPI_Aint size;
    int unit;
    uint64_t memory;  // that the library has got for it
    struct attribute *attributes;
    MPI_Errhandler errhandler;
    MPI_Info info;
    char name[MPI_MAX_OBJECT_NAME];
    // Epochs.
    bool is_fenced;      // between fences
    bool is_all_locked;  // by MPI_Win_lock_all
    char *locks;         // of each target
    int lock_count;
    struct group *accessed, *exposed;  // by MPI_Win_start and MPI_Win_post
    int *completions;                  // requests for the ends of those that access it
    struct open_transfer *open;
    int open_count, open_room;
    // Of a checked run (conflicts.c).
    uint64_t record;  // of the present access
    struct open_access *accesses;
    int access_count, access_room;
    struct window *next_compared;
    bool is_left;       // its memory is no longer the program's
    bool is_looked_at;  // in the call that the program is in, or was last
};

enum window_message { A_POST, A_COMPLETION, A_LOCK, A_TRANSFER };

struct window *window_of(MPI_Win handle);
int fail_window(struct window *window, int error);
int window_tag(const struct window *window, enum window_message kind);  // of the simulator
static inline int member_rank(const struct window *window, int target) {
    return window->communicator->group->ranks[target];
}

#define WINDOW_OR_FAIL(name, handle)         \
    struct window *name = window_of(handle); \
    if (name == NULL) return fail_world(MPI_ERR_WIN)

// ---- epochs.c

bool has_access(const struct window *window, int target);
bool has_epoch(const struct window *window);
void open_transfer(struct window *window, int name, int target);
void settle(void);  // wait until the simulator has executed all operations so far

// ---- memory.c: memory of any rank

void serve(void);  // do the task that another rank has left

void read_memory(int rank, uint64_t mapping, uint64_t address, MPI_Count count, const struct datatype *type,
                 void *packed);
void write_memory(int rank, uint64_t mapping, uint64_t address, MPI_Count count, const struct datatype *type,
                  const void *packed);
