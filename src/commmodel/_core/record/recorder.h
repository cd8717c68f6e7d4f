// The library that records calls of MPI: what its parts share.
//
// A wrapper (generated from calls.toml by wrappers.py, or written by hand in completion.c and session.c) reads the
// clock around the library's own function, enters the log, which takes the lock, finds the numbers of the handles that
// the call has, and writes one record. Calls that MPI functions make themselves are not recorded: `depth` tells them.
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "clock/ticks.h"
#include "common/codes.h"
#include "sites.h"

#define VISIBLE __attribute__((visibility("default")))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define OF_THREAD __thread __attribute__((tls_model("initial-exec")))  // a preloaded library has such memory

// Open MPI's Fortran functions call PMPI_Send: the wrapper has that name, too. The library's own is in `next`.
#define ALSO_PMPI(name) VISIBLE __typeof__(MPI_##name) PMPI_##name __attribute__((alias("MPI_" #name)));

// The state of the recorder.

extern int recording;        // between MPI_Init and MPI_Finalize of a process that was asked to record
extern int ticks_counter;    // the processor's counter is the clock, not clock_gettime
extern OF_THREAD int depth;  // of recorded functions in each other

static inline uint64_t ticks(void) {
#if defined(__x86_64__)
    return ticks_counter ? __rdtsc() : ticks_of(CLOCK_MONOTONIC);  // without fences, which cost as much as all else
#elif defined(__aarch64__)
    uint64_t t;
    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    return ticks_of(CLOCK_MONOTONIC);
#endif
}

// A wrapper begins with this: it hands the call on where it is not to be recorded.
#define PASS_ON(call)                         \
    if (UNLIKELY(depth != 0 || !recording)) { \
        return call;                          \
    }                                         \
    depth = 1

// log.c: the file. Numbers are LEB128 varints, signed ones in zigzag.

enum { LOG_RECORDS };  // common/codes.py says what these are
enum { LOG_ENDINGS };
enum { DATA_FLAGS };

struct log_header {
    char magic[8];
    uint32_t version, header_size, rank, processes;
    double ticks_per_second;
    uint64_t first_tick;
    int64_t unix_nanoseconds;
    uint32_t abi, thread_level;
    uint64_t table;
};

static inline unsigned char *put_unsigned(unsigned char *p, uint64_t value) {
    while (value >= 0x80) {
        *p++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *p++ = (unsigned char)value;
    return p;
}

static inline unsigned char *put_signed(unsigned char *p, int64_t value) {
    return put_unsigned(p, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

unsigned char *put_text(unsigned char *p, const char *text);  // of at most MOST_TEXT bytes
unsigned char *put_double(unsigned char *p, double value);

extern uint64_t first_tick;
int log_create(const char *path, const struct log_header *header);  // 0, or errno
unsigned char *log_reserve(size_t bytes);  // NULL where there is no room: the log has ended then
void log_commit(unsigned char *record, unsigned char *end, int kind);
void log_end(int reason, int64_t code);
void log_forget(void);  // in a child, which must not write
void log_text(const char *key, const char *value);
void log_clock(uint64_t tick, double seconds, double uncertainty);

// Bytes of an element, and flags, of the calls that follow: written where they are others than before.
void log_data(uint64_t element, unsigned flags);

// The layout of what the calls that follow send, as `layout_of` numbers them, in the same manner; 0: one piece.
void log_content(uint64_t layout);

void lock_log(void);
void unlock_log(void);
extern int several_threads;  // MPI_THREAD_MULTIPLE: the lock is needed

// Lock the log; return the number of the place in the program that made the call.
uint64_t enter_log(const void *caller);
// Begin the record of a call, of at most `room` bytes beside its head; NULL where the log has ended.
unsigned char *open_call(unsigned code, uint64_t begin, uint64_t end, uint64_t site, size_t room);
// End the record (which may be NULL), unlock the log, and leave the outermost recorded function.
void close_call(unsigned char *end);

// handles.c: the numbers of handles. To be called with the log locked.

struct communicator {
    uint64_t id;
    int kind, rank, size, peers;  // peers: of the remote group of an intercommunicator, else of its own
    int sources, destinations;    // neighbours of a topology
    int inter;
};

struct request {
    uintptr_t handle;
    uint64_t serial;  // 0: the null request, or one that is not known
    unsigned flags;
};
enum { RECEIVE = 1, PERSISTENT = 2, ACTIVE = 4 };

void handles_prepare(int processes);
const struct communicator *communicator_of(MPI_Comm comm);
uint64_t communicator_made(MPI_Comm comm, MPI_Comm parent, int is_copy);
void communicator_renamed(MPI_Comm comm);
uint64_t communicator_taken(MPI_Comm comm);
void communicator_kept(MPI_Comm comm, uint64_t id);
uint64_t window_of(MPI_Win win);
uint64_t window_made(MPI_Win win, uint64_t communicator, uint64_t size, uint64_t displacement_unit);
uint64_t window_taken(MPI_Win win);
void window_kept(MPI_Win win, uint64_t number);
uint64_t message_made(MPI_Message message);
uint64_t message_taken(MPI_Message message);
uint64_t request_made(MPI_Request request, unsigned flags);
uint64_t request_of(MPI_Request request);
void request_started(MPI_Request request);
struct request request_taken(MPI_Request request);
void request_kept(const struct request *request);

// layouts.c, pickles.c: what messages hold, with the log locked. A layout has a number in the log, 0 where data are in
// one piece, or it is not known.

uint64_t layout_of(MPI_Datatype datatype, int is_one);  // of one element, or of several
uint64_t object_layout(unsigned shape);
void define_layout(uint64_t number);  // in the log, once
uint64_t pickle_of(const void *buffer, uint64_t bytes, const void *caller);

static inline uint64_t content_of(const void *buffer, long long count, MPI_Datatype datatype, const void *caller) {
    if (count <= 0) return 0;
    if (datatype == MPI_BYTE) return caller == NULL ? 0 : pickle_of(buffer, (uint64_t)count, caller);
#if defined(MPICH_VERSION)
    if ((datatype & (int)0xff000000) == 0x4c000000) return 0;  // predefined
#endif
    return layout_of(datatype, count == 1);
}

// Numbers that calls have.

static inline int64_t peer_number(int rank) {
    return rank >= 0                ? rank
           : rank == MPI_ANY_SOURCE ? ANY
           : rank == MPI_PROC_NULL  ? NO_PROCESS
           : rank == MPI_ROOT       ? IS_ROOT
                                    : -4;
}

static inline int64_t tag_number(int tag) { return tag == MPI_ANY_TAG ? -1 : tag; }

static inline uint64_t size_of(MPI_Datatype datatype) {
#if defined(MPICH_VERSION)
    if ((datatype & (int)0xff000000) == 0x4c000000) {  // a predefined one says its size
        return (uint64_t)(datatype >> 8 & 0xff);
    }
#endif
    MPI_Count size = 0;
    return datatype != MPI_DATATYPE_NULL && PMPI_Type_size_x(datatype, &size) == MPI_SUCCESS && size > 0
               ? (uint64_t)size
               : 0;
}

static inline uint64_t volume(long long count, MPI_Datatype datatype) {
    return count > 0 ? (uint64_t)count * size_of(datatype) : 0;
}

static inline uint64_t bytes_of(const MPI_Status *status) {
#if defined(OPEN_MPI)
    return status->_ucount;
#elif defined(MPICH_VERSION)
    return ((uint64_t)((unsigned)status->count_hi_and_cancelled >> 1) << 32) + (unsigned)status->count_lo;
#else
    MPI_Count bytes = 0;
    return PMPI_Get_elements_x(status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes > 0 ? (uint64_t)bytes : 0;
#endif
}

static inline int is_cancelled(const MPI_Status *status) {
#if defined(OPEN_MPI)
    return status->_cancelled;
#elif defined(MPICH_VERSION)
    return status->count_hi_and_cancelled & 1;
#else
    int cancelled = 0;
    return PMPI_Test_cancelled(status, &cancelled) == MPI_SUCCESS && cancelled;
#endif
}

// What was received; -2, -1, 0 where nothing was.
static inline unsigned char *put_status(unsigned char *p, const MPI_Status *status) {
    if (status == NULL) {
        return put_unsigned(put_signed(put_signed(p, -2), -1), 0);
    }
    return put_unsigned(put_signed(put_signed(p, peer_number(status->MPI_SOURCE)), tag_number(status->MPI_TAG)),
                        bytes_of(status));
}

unsigned operation_number(MPI_Op op);
unsigned operation_flags(MPI_Op op);

// Of rooted collectives: is this the root; does this process take part beside the root.
static inline int is_root(const struct communicator *communicator, int root) {
    return communicator->inter ? root == MPI_ROOT : root == communicator->rank;
}

static inline int takes_part(const struct communicator *communicator, int root) {
    return !communicator->inter || root >= 0;
}
