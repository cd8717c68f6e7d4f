// Collective calls: their arguments, and what is done with a call.
#pragma once

#include "online/datatypes/reductions.h"
#include "online/messages/requests.h"

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

int call_collective(const struct arguments *arguments);
int begin_collective(const struct arguments *arguments, MPI_Request *request);
int prepare_collective(const struct arguments *arguments, MPI_Request *request);

struct collective {
    struct arguments arguments;
    struct communicator *communicator;
    uint64_t call;
    uint32_t number, start;  // of the communicator's calls; how often a persistent one has been started
    MPI_Count *counts[2];    // copies of arrays, which the program may change
    MPI_Aint *displacements[2];
    MPI_Datatype *types[2];
    struct datatype **datatypes;  // until the end, as the program may free them
    size_t datatype_count;
    struct operation *operation;
    uint64_t batch;          // of operations that have not been waited for
    int error, later_error;  // later: of what makes a communicator meanwhile
};

struct collective *new_collective(const struct arguments *arguments, bool has_request);
void free_collective(struct collective *collective);
// Take copies of the arrays, which the program may change or free after the call.
void copy_arguments(struct collective *collective, size_t sent, size_t received);
bool has_root(enum verb verb);
bool reduces(enum verb verb);
int check_arguments(const struct arguments *arguments, const struct communicator *communicator);
struct block sent_block(const struct arguments *arguments, int peer);
struct block received_block(const struct arguments *arguments, int peer);
struct block whole_sent(const struct arguments *arguments);  // of sendbuf, with the single count
struct block whole_received(const struct arguments *arguments);

// Collectives of neighbours (neighbors.c).
int neighbor_collective(const struct arguments *arguments);
int request_neighbor_collective(const struct arguments *arguments, MPI_Request *request, bool is_persistent);
