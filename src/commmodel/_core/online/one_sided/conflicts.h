// Conflicts of one-sided accesses, of a checked run: two of the same bytes, of which one writes, that nothing orders.
#pragma once

#include "online/messages/watches.h"
#include "online/one_sided/windows.h"

enum access_use { GETS, PUTS, ACCUMULATES, STORES };

struct access {  // to the target's part of a window
    struct window *window;
    enum access_use use;
    int target, rank;
    uint64_t address, mapping;
    MPI_Count count;
    struct datatype *type;
};

struct request;

void begin_access(const struct access *access, MPI_Op op);  // before its data move
void end_access(const struct access *access, const struct block *origin, const struct block *result,
                struct request *request);  // after; request: NULL where there is none
void watch_more(const struct access *access, int count, const struct block *read);  // of the last one
void update_copy(const struct access *access);                                      // its target has been written
void complete_accesses(struct window *window, int target, bool is_local);           // NONE: of all targets
void complete_request(struct request *request);
void copy_window(struct window *window);                      // where it is made
void find_stores(struct window *window);                      // of the rank itself, since the last time
void forget_accesses(struct window *window);                  // where it is freed
void forget_history(struct shared_window *shared, int size);  // where the last rank has freed it
