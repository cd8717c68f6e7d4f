// Buffers of pending operations, of a checked run: what the program does with them before the operations are over.
#pragma once

#include "online/datatypes/datatypes.h"

enum use { SENT, RECEIVED, ORIGIN_READ, ORIGIN_WRITTEN };  // origin: of one-sided operations

struct watch;

// From the call that the program is in until `end_watch`; NULL where the run is not checked or there are no bytes.
struct watch *watch_buffers(enum use use, int count, const struct block *blocks);
struct watch *watch_buffer(enum use use, void *at, MPI_Count count, struct datatype *type);
void end_watch(struct watch **watch);   // the operation is over: before the library writes to the buffer
void drop_watch(struct watch **watch);  // without a look at it
void check_watches(void);               // at a call
void end_watches(void);                 // at the end of the program
void forget_watches(void);              // nothing more is said of buffers that are pending now

// Of a call that ends before the program goes on.
void use_buffers(enum use use, int count, const struct block *blocks);
void use_buffer(enum use use, const void *at, MPI_Count count, struct datatype *type);

// Whether blocks of one list have bytes of another; other: NULL for bytes that one list has twice.
bool overlap(int count, const struct block *blocks, int other_count, const struct block *second_blocks);
