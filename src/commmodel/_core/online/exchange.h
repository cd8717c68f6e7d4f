// Collectives: each rank gives a part, in segments; others read them, once they are there.
#pragma once

#include "online.h"

enum verb {
    BARRIER,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    NEIGHBOR_ALLGATHER,
    NEIGHBOR_ALLGATHERV,
    NEIGHBOR_ALLTOALL,
    NEIGHBOR_ALLTOALLV,
    NEIGHBOR_ALLTOALLW,
    VERBS
};

struct arguments {  // of any collective
    const char *name;
    enum verb verb;
    const void *sendbuf;
    void *recvbuf;
    MPI_Count sendcount, recvcount;
    MPI_Datatype sendtype, recvtype;
    const MPI_Count *sendcounts, *recvcounts;
    const MPI_Aint *sdispls, *rdispls;
    const MPI_Datatype *sendtypes, *recvtypes;
    int root;
    MPI_Op op;
    MPI_Comm comm;
};

int collective(const struct arguments *arguments);
int begin_collective(const struct arguments *arguments, MPI_Request *request);
int prepare_collective(const struct arguments *arguments, MPI_Request *request);

// ---- collectives.c

struct block {  // of a buffer, for or from another rank
    char *at;
    MPI_Count count;
    struct datatype *type;
};

struct collective *new_collective(const struct arguments *arguments, bool has_request);
// Take copies of the arrays, which the program may change or free after the call.
void own_arguments(struct collective *of, size_t sent, size_t received);
const struct arguments *arguments_of(const struct collective *of);
struct communicator *of_collective(const struct collective *of);
uint64_t call_of(const struct collective *of);
void start_again(struct collective *of);
uint32_t tag_number(const struct collective *of);  // tells calls and starts of a communicator apart
struct block sent_block(const struct arguments *arguments, int peer);
struct block received_block(const struct arguments *arguments, int peer);

// ---- neighbors.c

int neighbor_collective(const struct arguments *arguments);
int request_neighbor_collective(const struct arguments *arguments, MPI_Request *request, bool is_persistent);

// ---- exchange.c

// The place of a communicator's call with a number, started for the n-th time; part: this rank's. All ranks have the
// same kind: operation and root of a collective, or DEFINITION for the making of communicators and windows.
#define DEFINITION (-1)
uint64_t join_call(struct communicator *communicator, uint32_t number, uint32_t start, int kind, uint64_t part);
uint64_t part_of(uint64_t call, int position);  // 0 where it has not come yet
bool has_all_parts(uint64_t call);
uint64_t *result_of(uint64_t call);   // place of what all get, 0 until one has worked it out
void await_all_parts(uint64_t call);  // or the simulator's turn
void leave_call(uint64_t call);
void make_numbers(uint64_t call, int wanted, int numbers[2]);
int new_context(int ranks);
int position_of(const struct communicator *communicator, int peer, bool is_remote);
uint32_t collective_tag(const struct communicator *communicator, uint32_t number);
uint64_t new_call(int operation, int sent_count, int received_count);  // all else is 0
struct online_call *call_at(uint64_t call);
void act_on(struct communicator *communicator, uint32_t number, uint64_t call);
void gather_all(struct communicator *communicator, const char *name, const void *mine, int bytes, void *all,
                int numbers[2], int wanted);  // used where communicators are made
