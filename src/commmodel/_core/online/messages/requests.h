// Requests: MPI_Wait, MPI_Test, MPI_Start and their variants.
#pragma once

#include "online/datatypes/datatypes.h"
#include "online/objects/communicators.h"

struct request;

// What a kind of request does. A function that is NULL does nothing; without `is_done` the simulator says it.
struct request_kind {
    int (*start)(struct request *request);                            // of a persistent request
    bool (*expect)(struct request *request);                          // whether its data have come; else wait for them
    bool (*is_done)(const struct request *request, bool is_over);     // is_over: the simulator's answer
    bool (*may_end_alone)(const struct request *request);             // without the simulator
    void (*progress)(void);                                           // before the simulator is asked
    int (*finish)(struct request *request, MPI_Status *status);       // of a request that is complete
    void (*show)(struct request *request);                            // fill the buffer before the request is finished
    void (*tell)(const struct request *request, MPI_Status *status);  // before the request is finished
    int (*cancel)(struct request *request);
    void (*release)(struct request *request);
    // Requests that are settled before they are finished, in an order that all ranks share.
    void (*settle)(struct request *request);
    int (*order)(const void *left, const void *right);
    bool is_receive;
    void (*watch)(struct request *request);  // its buffers, where it starts
};
extern const struct request_kind sends, receives;                          // point_to_point.c
extern const struct request_kind partitioned_sends, partitioned_receives;  // partitioned.c
extern const struct request_kind generalized_requests;                     // generalized.c
extern const struct request_kind joint_requests, empty_requests;           // requests.c: of several parts; of nothing

struct request {
    MPI_Request handle;
    const struct request_kind *kind;
    bool is_persistent, is_active, is_cancelled;
    bool is_blocking;  // a receive whose call waits for it: the rank posts no other one meanwhile
    uint64_t call_site;
    int name;  // to the simulator; NONE where it is not concerned
    struct communicator *communicator;
    struct datatype *type;
    void *buffer;
    MPI_Count count;
    uint64_t receive;  // in shared memory, of a receive that the rank itself matches
    uint64_t message;  // got by a receive
    uint64_t receipt;  // of a synchronous send: a number in shared memory, not 0 once it is received
    bool is_synchronous, is_buffered;
    int peer, tag;           // as the program gave them
    bool is_shown;           // the data have been taken before the wait
    int decision, posting;   // number of a decision about a receive's source, else NONE; and of the receive
    int chosen_source;       // rank of the whole program, where that is prescribed, else NONE
    bool is_noted;           // its message is among the arrivals
    struct request **parts;  // of a joint request; the status is the first one's
    int part_count;
    int partitions, ready_count, program_tag;  // of a partitioned message
    char *ready;                               // of each partition
    void *state;                               // of the other kinds
    bool was_started, was_awaited;             // of a persistent request
    uint64_t wait_count;                       // of the rank, when the request was started
    struct request *next;                      // among those that wait for a report
    struct watch *watches[2];                  // of its buffers, while it is active
    struct watch **partition_watches;          // of what is ready
};

struct request *new_request(const struct request_kind *kind, struct communicator *communicator);
struct request *request_of(MPI_Request handle);
void free_request(struct request *request);
int finish_request(struct request *request, MPI_Status *status);  // that is complete
// Of joint requests.
bool expect_parts(struct request *request);
int finish_parts(struct request *request, MPI_Status *status);
void show_parts(struct request *request);
void note_open_requests(void);              // at the end
void note_start(struct request *request);   // it becomes active
void start_watch(struct request *request);  // before it starts
int wait_for(struct request *request, MPI_Status *status);
