// Collective calls: their arguments, and what is done with a call.
#pragma once

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

struct block {  // of a buffer, for or from another rank
    char *at;
    MPI_Count count;
    struct datatype *type;
};

struct collective *new_collective(const struct arguments *arguments, bool has_request);
// Take copies of the arrays, which the program may change or free after the call.
void copy_arguments(struct collective *collective, size_t sent, size_t received);
const struct arguments *arguments_of(const struct collective *collective);
struct communicator *communicator_of_collective(const struct collective *collective);
uint64_t call_of(const struct collective *collective);
void start_again(struct collective *collective);
uint32_t start_number(const struct collective *collective);
uint32_t sequence_number(const struct collective *collective);
struct block sent_block(const struct arguments *arguments, int peer);
struct block received_block(const struct arguments *arguments, int peer);

// Collectives of neighbours (neighbors.c).
void free_collective(struct collective *collective);

int neighbor_collective(const struct arguments *arguments);
int request_neighbor_collective(const struct arguments *arguments, MPI_Request *request, bool is_persistent);
