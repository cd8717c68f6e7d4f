// Collective calls in shared memory: parts of all ranks, tags, definitions of communicators.
#pragma once

#include "online/objects/communicators.h"
#include "online/runtime/shared.h"

// The place of a communicator's call with a number, started for the n-th time; part: this rank's. All ranks have the
// same kind: operation and root of a collective, or DEFINITION for the making of communicators and windows.
#define DEFINITION (-1)
uint64_t join_call(struct communicator *communicator, uint32_t number, uint32_t start, int kind, uint64_t part);
// In a checked run: that the rank calls a collective, blocking or not, and at the end those that some have not called.
void note_collective(struct communicator *communicator, int kind, bool is_pending);
void accuse_missing_collectives(void);
int call_tag(uint64_t call);     // of its messages
void note_parts(uint64_t call);  // what their ranks have decided before
void note_part(uint64_t call, int position);
uint64_t part_of(uint64_t call, int position);  // 0 where it has not come yet
uint64_t first_part(uint64_t call);             // of those that have come, the one that came first
bool has_all_parts(uint64_t call);
uint64_t *result_of(uint64_t call);   // place of what all get, 0 until one has worked it out
void await_all_parts(uint64_t call);  // or the simulator's turn
void leave_call(uint64_t call);
void make_numbers(uint64_t call, int count, int numbers[2]);
int new_context(int ranks);  // NONE where too many are in use
int position_of(const struct communicator *communicator, int peer, bool is_remote);
uint64_t new_call(int operation, int sent_count, int received_count);  // all else is 0
struct online_call *call_at(uint64_t call);
void act_on(struct communicator *communicator, uint64_t shared, uint64_t call);  // shared: from `join_call`
void gather_all(struct communicator *communicator, const char *name, const void *contribution, int bytes,
                void *contributions, int numbers[2], int count);  // used where communicators are made
