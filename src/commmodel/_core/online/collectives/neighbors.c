// Collectives of neighbours in a topology: a message along each edge, received where the topology says.
#include "online/collectives/collectives.h"
#include "online/collectives/exchange.h"
#include "online/objects/topologies.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"

static struct request *message(const struct request_kind *kind, struct communicator *communicator, int peer, int tag,
                               struct block block) {
    struct request *request = new_request(kind, communicator);
    keep_communicator(communicator);
    keep_datatype(block.type);
    request->buffer = block.at;
    request->count = block.count;
    request->type = block.type;
    request->peer = peer;
    request->tag = tag;
    start_watch(request);
    kind->start(request);
    return request;
}

static bool is_one_for_all(enum verb verb) { return verb == NEIGHBOR_ALLGATHER || verb == NEIGHBOR_ALLGATHERV; }

// Post the messages of a call, as parts of a request. The k-th message to a neighbour is the k-th that it receives from
// this rank: on a grid, what goes up a dimension comes from below, also where both neighbours are one rank.
static void post(const struct arguments *arguments, struct communicator *communicator, uint32_t sequence,
                 uint32_t start, struct request *request) {
    const struct topology *topology = communicator->topology;
    const int in = topology->source_count, out = topology->destination_count;
    const uint64_t call =
        join_call(communicator, sequence, start, (int)arguments->verb, allocate_shared(1, "a collective"));
    const int tag = call_tag(call);
    struct request **parts = request->parts = reallocate(request->parts, sizeof *parts * (size_t)(in + out + 1));
    for (int i = 0; i < in; i++)
        parts[i] = message(&receives, communicator, topology->sources[i], tag, received_block(arguments, i));
    for (int i = 0; i < out; i++) {
        const int edge = topology->kind == MPI_CART ? i ^ 1 : i;
        const struct block block =
            is_one_for_all(arguments->verb) ? whole_sent(arguments) : sent_block(arguments, edge);
        parts[in + i] = message(&sends, communicator, topology->destinations[edge], tag, block);
    }
    leave_call(call);
    request->part_count = in + out;
    note_start(request);
}

static int check(const struct communicator *communicator) {
    if (communicator == NULL) return MPI_ERR_COMM;
    return communicator->topology == NULL ? MPI_ERR_TOPOLOGY : MPI_SUCCESS;
}

int neighbor_collective(const struct arguments *arguments) {
    struct communicator *communicator = communicator_of(arguments->comm);
    int error = check(communicator);
    if (error == MPI_SUCCESS) {
        enter(arguments->name);
        struct request *request = new_request(&joint_requests, NULL);
        note_collective(communicator, (int)arguments->verb, false);
        post(arguments, communicator, communicator->collectives++, 0, request);
        error = wait_for(request, MPI_STATUS_IGNORE);
        leave();
    }
    return error == MPI_SUCCESS ? error : fail(communicator, error);
}

static int start_neighbors(struct request *request) {
    struct collective *collective = request->state;
    post(&collective->arguments, collective->communicator, collective->number, ++collective->start, request);
    return MPI_SUCCESS;
}

static void release(struct request *request) {
    if (request->state != NULL) free_collective(request->state);
}

static const struct request_kind neighbor_requests = {
    .start = start_neighbors, .expect = expect_parts, .finish = finish_parts, .show = show_parts, .release = release};

int request_neighbor_collective(const struct arguments *arguments, MPI_Request *handle, bool is_persistent) {
    struct communicator *communicator = communicator_of(arguments->comm);
    const int error = check(communicator);
    if (error != MPI_SUCCESS) return fail(communicator, error);
    enter(arguments->name);
    struct request *request = new_request(&neighbor_requests, communicator);
    keep_communicator(communicator);
    request->is_persistent = is_persistent;
    if (is_persistent) {
        const struct topology *topology = communicator->topology;
        request->state = new_collective(arguments, false);
        copy_arguments(request->state, (size_t)topology->destination_count, (size_t)topology->source_count);
    } else {
        note_collective(communicator, (int)arguments->verb, false);
        post(arguments, communicator, communicator->collectives++, 0, request);
    }
    *handle = request->handle;
    return leave_with(MPI_SUCCESS);
}
