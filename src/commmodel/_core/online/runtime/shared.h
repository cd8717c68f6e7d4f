// The memory that a simulated program's ranks and the simulator share: turns, rings of operations, and a heap.
//
// One process runs at a time, the simulator or one rank, so nothing here is locked. A rank that waits for others' data
// gets its turn from them, ahead of simulated time; the simulator has it when all ranks wait. References are offsets
// from the beginning: each process maps the memory at another address.
#pragma once

#include <linux/futex.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/codes.h"

#define ONLINE_MAGIC 0x636f6d6d6d6f6401ull
#define ONLINE_RING 512     // operations of a rank that the simulator has not executed yet
#define ONLINE_BUCKETS 256  // of a rank's channels
#define ONLINE_CONTEXTS 2048
#define ONLINE_COLLECTIVE 100  // code: a collective whose call stands at `offset`
#define ONLINE_BATCH 101       // code: wait for the batch that stands at `offset`
#define ONLINE_BESIDE 102      // code: begin all pending batches concurrently with the rank's own operations
#define ONLINE_CHOSEN 103      // code: a request or a batch, for which others wait next, was one of several
#define ONLINE_HELD 104        // code: a batch is pending
#define ONLINE_CLASSES 40
#define ONLINE_LISTED 4       // of what is left at the end
#define ONLINE_FINDINGS 1000  // at most: further ones are not kept
#define ONLINE_USES 500       // of variables, likewise
#define ONLINE_NAME 128
#define ONLINE_KEPT (1ull << 27)  // bytes of large free blocks whose pages are kept
#define ONLINE_MEASURED 2         // ranks whose memory use is measured: the first may hold more than the others

enum online_state { ONLINE_UNBORN, ONLINE_ALIVE, ONLINE_FINALIZED, ONLINE_ABORTED, ONLINE_SPARE };  // SPARE: to spawn
enum online_location { ONLINE_OUTSIDE, ONLINE_INSIDE, ONLINE_TAKEN, ONLINE_RETURNING };
enum online_question { ONLINE_NOTHING, ONLINE_DONE, ONLINE_MESSAGE };
enum online_beginning {  // common to all orders of messages
    ONLINE_WHOLE,        // there is none: the run has all of the program
    ONLINE_BEGINS,       // ranks run until something is to be decided
    ONLINE_LOOKS,        // ranks that have the turn look whether they may be copied
    ONLINE_COPIES        // ranks that have the turn make a copy, for the memory behind this one
};
enum online_stage { ONLINE_PENDING, ONLINE_QUEUED, ONLINE_BEGUN, ONLINE_OVER };

struct online_operation {  // as program.hpp's Operation
    int32_t code, peer, tag, request;
    union {
        double value;
        uint64_t offset;  // of a call or a batch
    };
};

#define ONLINE_DEFINITION (-1)  // in place of an operation

// A collective as a rank calls it: `CollectiveCall` of commmodel.collectives.call, with sizes in bytes; or, as
// ONLINE_DEFINITION, the ranks of a communicator, and of the other group of an intercommunicator.
struct online_call {
    int32_t operation;  // of `MOVED` there, in its order
    int32_t root;
    int32_t communicator;
    int32_t operator_kind;  // of `OPERATORS` there, in its order
    int64_t sent, received, element;
    int32_t in_place;
    int32_t sent_count, received_count;  // lengths of the lists to and from each rank, which follow in this order
    int32_t is_pending, is_derived;      // the rank goes on meanwhile; the datatype of a reduction is not MPI's own
    int32_t participants;                // ranks that make the call; 0 between groups
    int64_t counts[];
};

// The operations of a non-blocking collective. The rank carries them out where it waits for them, or has done so beside
// its own: once a poll has found nothing, or when nothing else goes on.
struct online_batch {
    uint64_t before, next;  // among the pending ones of the rank
    int32_t stage;          // enum online_stage
    int32_t count, room;
    uint64_t operations;
    uint64_t call_site;            // of the call
    struct online_operation wait;  // for its end
};

struct online_message {  // that no receive has got
    uint64_t next;
    int64_t bytes;
    int32_t source, tag;  // source: rank of the whole program; tag: with the context
    uint64_t receipt;     // of a synchronous send: as of the request
    uint64_t number;      // among those of its source
    uint64_t call_site;   // of its send
    uint64_t history;     // of its sender, 0 where nobody asks for it
    uint64_t signature;   // in a checked run, of its datatype, as often as that repeats
    int64_t repeats;
    int32_t is_accused;  // a finding says that it was never received
    int32_t unused;
    uint64_t clock;  // of its sender's decisions, where they are noted
    char data[];
};

struct online_list {
    uint64_t at;
    int32_t count, room;
};

struct online_decision {  // that another run may take otherwise (decisions.h)
    int32_t kind;
    int32_t choice, prescribed;  // a rank of the whole program, or the place of a request; NONE: none yet, free
    int32_t tag;                 // pattern
    int32_t posting;             // receives that the rank had posted before, and itself
    int32_t stamp;               // of the rank's clock once it is taken
    int64_t order;               // among all ranks' decisions, as they are taken; -1: it is not
    int64_t message;             // number
    uint64_t site, other_site;   // of the call, and of the send
};

struct online_arrival {  // of a message in a receive
    int32_t posting, source, tag, unused;
    int64_t number;
    uint64_t clock;
};

struct online_candidate {  // a request that another choice would have completed
    int32_t decision, index, posting, is_complete;
};

struct online_channel {  // messages of a source and a tag, or receives that wait for such
    uint64_t next, first, last;
    int32_t source, tag;
    int32_t of_receives;
};

struct online_open_request {  // that its rank has not completed before MPI_Finalize
    int32_t rank;
    uint64_t call_site;  // of the call that made it
};

struct online_finding {  // a wrong use of MPI that does not end the run
    uint64_t next;
    uint64_t kind, sentence;    // texts
    uint64_t site, other_site;  // of calls; 0 where there is none
    uint64_t times;
    uint8_t ranks[];  // a bit each
};

struct online_report {  // a receive got the next message of a channel
    int32_t receive, source, tag;
};

struct online_recorded_call {
    double seconds;  // of computation before it
    int64_t number;  // of its name
};

struct online_recorded {  // of a rank
    uint64_t count;
    struct online_recorded_call calls[];
};

struct online_rank {
    int32_t turn;      // futex
    int32_t location;  // enum online_location, atomic: the simulator may take the turn of a rank that waits outside MPI
    int32_t state;     // enum online_state
    int32_t exit_code;
    int32_t process;
    uint32_t calls;                    // of MPI that take time, so far
    uint64_t call_site;                // of the last of them: a text, as of `call_sites`
    uint32_t head, tail;               // of the ring: the rank adds at the head
    int32_t is_ahead;                  // its turn came from another rank: simulated time lags behind its operations
    int32_t missing;                   // messages that it still waits for
    int32_t open_receives;             // receives matched by the rank, not by the simulator
    int32_t takes_any_tag;             // the only open receive has MPI_ANY_TAG
    int32_t next_ready, next_waiting;  // ranks in lists, from 1 on
    // A question to the simulator, answered when the rank gets its turn.
    int32_t question;
    int32_t count;  // ONLINE_DONE: names of requests; answered by 1 or 0 in their place
    uint64_t names;
    int32_t source, tag;  // ONLINE_MESSAGE: pattern; answered by those of a message
    int32_t answer;       // whether there is one
    // Reports since the last turn.
    uint64_t reports;
    int32_t report_count, report_room;
    uint64_t buckets[ONLINE_BUCKETS];  // channels, by source and tag
    uint64_t recorded;                 // computation
    uint64_t memory;                   // private bytes, of the first ranks
    uint64_t task;                     // copy that another rank asks for, in this rank's private memory (memory.c)
    struct online_list decisions, arrivals, candidates;
    uint64_t choices;  // for its first decisions
    int32_t choice_count;
    uint64_t clock;  // of decisions, by ranks
    char host[ONLINE_NAME];
    int32_t host_number;
    struct online_operation ring[ONLINE_RING];
    uint64_t call_sites[ONLINE_RING];  // of each: texts of call, file, line, function and language, on lines
    uint64_t family, command;          // of a spawned rank, else 0
    int32_t program_number;            // MPI_APPNUM
    uint64_t first_batch, last_batch;  // pending ones
    uint64_t history;                  // a clock (history.h), 0 where there is none
    int32_t copy;                      // process of the last one; before: 0, or -1 where there can be none
    int32_t unused;
    char misplaced[ONLINE_NAME];  // a call before MPI_Init or after MPI_Finalize, which has ended the rank
};

// What spawned ranks have to know: their communicators, and what they run.
struct online_family {
    int32_t first, count;                   // ranks of their MPI_COMM_WORLD
    int32_t world_context, world_number;    // of that
    int32_t parent_context, parent_number;  // of the one with their parents
    int32_t parent_count;
    int32_t parents[];
};

struct online_command {
    int64_t length;
    char words[];  // the folder, empty for the same, the program and its arguments; a zero after each
};

struct online_world {
    uint64_t magic;
    uint64_t size;           // of these addresses; what is not touched takes no memory
    int32_t simulator_turn;  // futex
    int32_t simulator;       // its process
    int32_t ranks;
    int32_t running;                  // the rank that has the turn
    int32_t first_ready, last_ready;  // queue of ranks, from 1 on, whose data have come
    double now;                       // simulated time of the rank that has the turn
    int64_t changes;                  // so far, for which a rank may wait
    double buffered_limit;            // bytes of the largest message whose send ends without its receive
    double compute_factor;            // simulated seconds of a second of computation
    uint64_t heap, free_blocks[ONLINE_CLASSES];
    uint64_t kept_bytes;                 // bytes of large free blocks whose pages are kept
    int32_t contexts[ONLINE_CONTEXTS];   // how many ranks use each
    int32_t communicators;               // numbers given so far
    uint64_t instances[ONLINE_BUCKETS];  // open collective calls, by communicator and number
    uint64_t group_calls;                // open calls of new_communicators.c
    uint64_t services;                   // list of ports.c
    uint32_t next_call_tag;              // below FIRST_CALL_TAG
    int32_t has_used_all_tags;           // they are reused from the first on
    uint64_t half_pairs, free_pairs;     // lists of partitioned.c
    int32_t pair_count;                  // of them
    uint64_t samples, folded;            // lists of samples.c
    uint64_t recorded_names;             // of calls, ONLINE_NAME bytes each; 0: computation is measured
    int32_t recorded_name_count;
    int32_t begins_at_call;  // whether non-blocking collectives do, instead of where they are waited for
    int32_t threads, blas;   // whether a rank has started a thread, and may have more in its BLAS
    char clock[256];  // a clock that is not simulated and that a rank has read, and where, as `call_sites`; else empty
    int64_t open_request_count;
    struct online_open_request open_requests[ONLINE_LISTED];  // the first ones
    uint64_t windows;                                         // what ranks share of each
    int32_t is_in_order;      // ranks act in the order of simulated time, since they share a window or a file
    int32_t notes_decisions;  // whether ranks note what another run may decide otherwise
    int64_t decision_count;   // that have been taken
    int32_t is_checked;       // whether wrong uses of MPI are findings
    int32_t finding_count;
    uint64_t first_finding, last_finding;
    int32_t use_count;
    uint64_t first_use;   // of variables, as findings: kind is what is done with the memory
    uint64_t signatures;  // list of those of datatypes
    uint64_t steps;       // list of sequence.c
    char error_kind[64];  // of the error below, where that is one of the program's use of MPI
    char error[256];
    int32_t has_simulated_clocks;  // clocks other than MPI_Wtime speak simulated time, too
    int64_t real_epoch;            // ns of CLOCK_REALTIME at the beginning of simulated time
    int64_t monotonic_epoch;       // and of CLOCK_MONOTONIC
    char sleep_site[256];          // the first sleep of a rank, as `call_sites`; else empty
    int32_t has_storage;           // whether the simulator knows how long files take
    int32_t has_files;             // whether a file has been opened
    int32_t first_ranks;           // that begin with the simulation: MPI_COMM_WORLD of the program
    int32_t is_repeated;           // the run has been before in another order: what notes say is known
    int32_t births;                // spawned ranks that the simulator has not begun yet
    int32_t beginning;             // enum online_beginning
    int32_t unused;
    struct online_rank rank[];
};

// ---- offsets

static inline void *online_at(struct online_world *world, uint64_t offset) { return (char *)world + offset; }

static inline uint64_t online_offset(struct online_world *world, const void *address) {
    return (uint64_t)((const char *)address - (const char *)world);
}

// ---- turns

static inline void online_wake(int32_t *turn) {
    __atomic_store_n(turn, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

// Wait for a turn, and take it; 0 if it did not come within `nanoseconds` (negative: no limit). Does not spin: the
// process that has the turn may need this processor.
static inline int online_wait(int32_t *turn, long nanoseconds) {
    struct timespec limit = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    if (!__atomic_load_n(turn, __ATOMIC_ACQUIRE)) {
        syscall(SYS_futex, turn, FUTEX_WAIT, 0, nanoseconds < 0 ? NULL : &limit, NULL, 0);
    }
    if (!__atomic_load_n(turn, __ATOMIC_ACQUIRE)) return 0;
    __atomic_store_n(turn, 0, __ATOMIC_RELEASE);
    return 1;
}
