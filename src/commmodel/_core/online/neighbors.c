// Collectives of neighbours in a topology: a message along each edge, received where the topology says.
#include "exchange.h"
#include "topologies.h"

#define MOST_SLOTS 64  // that tags tell apart

// A message of a call that goes to a place among the receiver's sources.
static int tag_of(const struct communicator *communicator, uint32_t number, int slot) {
    return (int)collective_tag(communicator, number * MOST_SLOTS + (uint32_t)(slot % MOST_SLOTS));
}

static struct request *message(enum request_kind kind, struct communicator *communicator, int peer, int tag,
                               struct block block) {
    struct request *request = new_request(kind, communicator);
    keep_communicator(communicator);
    keep_datatype(block.type);
    request->buffer = block.at;
    request->count = block.count;
    request->type = block.type;
    request->peer = peer;
    request->tag = tag;
    kind == IS_SEND ? start_send(request) : start_receive(request);
    return request;
}

static bool is_one_for_all(enum verb verb) { return verb == NEIGHBOR_ALLGATHER || verb == NEIGHBOR_ALLGATHERV; }

static int exchanged(const struct arguments *arguments, struct communicator *communicator) {
    const struct topology *topology = communicator->topology;
    const int in = topology->source_count, out = topology->destination_count;
    const bool is_grid = topology->kind == MPI_CART;
    const uint32_t number = communicator->collectives++;
    struct request **requests = malloc(sizeof *requests * (size_t)(in + out + 1));
    for (int i = 0; i < in; i++) {
        const int tag = tag_of(communicator, number, is_grid ? i : 0);
        requests[i] = message(IS_RECEIVE, communicator, topology->sources[i], tag, received_block(arguments, i));
    }
    for (int i = 0; i < out; i++) {  // what goes down a dimension comes from above
        const int tag = tag_of(communicator, number, is_grid ? i ^ 1 : 0);
        const struct block block =
            is_one_for_all(arguments->verb)
                ? (struct block){(char *)arguments->sendbuf, arguments->sendcount, datatype_of(arguments->sendtype)}
                : sent_block(arguments, i);
        requests[in + i] = message(IS_SEND, communicator, topology->destinations[i], tag, block);
    }
    int error = MPI_SUCCESS;
    for (int i = 0; i < in + out; i++) {
        const int failed = wait_for(requests[i], MPI_STATUS_IGNORE);
        if (failed != MPI_SUCCESS) error = failed;
    }
    free(requests);
    return error;
}

int neighbor_collective(const struct arguments *arguments) {
    enter(arguments->name);
    struct communicator *communicator = communicator_of(arguments->comm);
    int error = MPI_ERR_COMM;
    if (communicator != NULL) {
        error = communicator->topology == NULL ? MPI_ERR_TOPOLOGY : exchanged(arguments, communicator);
    }
    if (error != MPI_SUCCESS) error = fail(communicator, error);
    leave();
    return error;
}

// Non-blocking ones are done at once.
int request_neighbor_collective(const struct arguments *arguments, MPI_Request *handle, bool is_persistent) {
    if (is_persistent) missing(arguments->name);
    const int error = neighbor_collective(arguments);
    if (error != MPI_SUCCESS) return error;
    struct request *request = new_request(IS_DONE, NULL);
    request->is_active = true;
    *handle = request->handle;
    return MPI_SUCCESS;
}
