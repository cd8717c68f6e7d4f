// Arguments of collectives: the blocks of their buffers, and what is refused of them.
#include "online/collectives/collectives.h"

bool has_root(enum verb verb) {
    return verb == BCAST || verb == GATHER || verb == GATHERV || verb == SCATTER || verb == SCATTERV || verb == REDUCE;
}

bool reduces(enum verb verb) { return verb >= REDUCE && verb <= EXSCAN; }

struct block whole_sent(const struct arguments *arguments) {
    return (struct block){(char *)arguments->sendbuf, arguments->sendcount, datatype_of(arguments->sendtype)};
}

struct block whole_received(const struct arguments *arguments) {
    return (struct block){arguments->recvbuf, arguments->recvcount, datatype_of(arguments->recvtype)};
}

static struct block block_of(struct block whole, const MPI_Count *counts, const MPI_Aint *displacements,
                             const MPI_Datatype *types, int i) {
    struct block block = whole;
    if (counts != NULL) block.count = counts[i];
    if (types != NULL) block.type = datatype_of(types[i]);
    if (types != NULL)  // of MPI_Alltoallw, in bytes
        block.at += displacements[i];
    else if (displacements != NULL)
        block.at += displacements[i] * block.type->extent;
    else
        block.at += i * block.count * block.type->extent;
    return block;
}

struct block sent_block(const struct arguments *arguments, int i) {
    return block_of(whole_sent(arguments), arguments->sendcounts, arguments->sdispls, arguments->sendtypes, i);
}

struct block received_block(const struct arguments *arguments, int i) {
    return block_of(whole_received(arguments), arguments->recvcounts, arguments->rdispls, arguments->recvtypes, i);
}

static bool is_any(const MPI_Count *counts, int size) {
    for (int i = 0; i < size; i++)
        if (counts[i] > 0) return true;
    return false;
}

// Whether what a rank gives lies where it gets the same. At NULL there is nothing, or MPI_BOTTOM, which is everywhere.
static bool is_aliased(const struct arguments *arguments, const struct communicator *communicator) {
    if (communicator->remote != NULL || arguments->sendbuf == MPI_IN_PLACE || arguments->recvbuf == MPI_IN_PLACE ||
        arguments->sendbuf == NULL)
        return false;
    const bool is_root = arguments->root == communicator->rank;
    switch (arguments->verb) {
        case GATHER:
        case GATHERV:
            if (!is_root) return false;  // fall through
        case ALLGATHER:
        case ALLGATHERV:
            return arguments->sendcount > 0 && datatype_of(arguments->recvtype) != NULL &&
                   arguments->sendbuf == received_block(arguments, communicator->rank).at;
        case SCATTER:
        case SCATTERV:
            return is_root && arguments->recvcount > 0 && datatype_of(arguments->sendtype) != NULL &&
                   arguments->recvbuf == sent_block(arguments, communicator->rank).at;
        case ALLTOALLV:
        case ALLTOALLW:
            return arguments->sendbuf == arguments->recvbuf && is_any(arguments->sendcounts, size_of(communicator)) &&
                   is_any(arguments->recvcounts, size_of(communicator));
        case REDUCE_SCATTER:
            return arguments->sendbuf == arguments->recvbuf && is_any(arguments->recvcounts, size_of(communicator));
        case ALLTOALL: return arguments->sendcount > 0 && arguments->sendbuf == arguments->recvbuf;
        case REDUCE:
            if (!is_root) return false;  // fall through
        case ALLREDUCE:
        case REDUCE_SCATTER_BLOCK:
        case SCAN:
        case EXSCAN: return arguments->recvcount > 0 && arguments->sendbuf == arguments->recvbuf;
        default: return false;
    }
}

// `blocks` of `count` elements, or one with each of `counts`.
static int check_buffer(const void *buffer, MPI_Count count, const MPI_Count *counts, int blocks, MPI_Datatype handle) {
    bool is_empty = true;
    for (int i = 0; counts != NULL && i < blocks; i++) {
        if (counts[i] < 0) return MPI_ERR_COUNT;
        is_empty = is_empty && counts[i] == 0;
    }
    if (counts != NULL) return is_empty ? MPI_SUCCESS : check_memory(buffer, 1, datatype_of(handle));
    if (count < 0) return MPI_ERR_COUNT;
    return count == 0 ? MPI_SUCCESS : check_memory(buffer, count * blocks, datatype_of(handle));
}

// The array that is missing, where it needs one.
static const char *missing_array(const struct arguments *arguments, bool is_root) {
    const enum verb verb = arguments->verb;
    const bool is_to_all = verb == ALLTOALLV || verb == ALLTOALLW;
    const bool sends = (verb == SCATTERV && is_root) || (is_to_all && arguments->sendbuf != MPI_IN_PLACE);
    const bool receives = (verb == GATHERV && is_root) || verb == ALLGATHERV || is_to_all;
    if (sends && arguments->sendcounts == NULL) return "sendcounts";
    if (sends && arguments->sdispls == NULL) return is_to_all ? "sdispls" : "displs";
    if ((receives || verb == REDUCE_SCATTER) && arguments->recvcounts == NULL) return "recvcounts";
    return receives && arguments->rdispls == NULL ? (is_to_all ? "rdispls" : "displs") : NULL;
}

static bool has_block_for_each(enum verb verb, bool is_sent) {
    return verb == ALLTOALL || (is_sent ? verb == SCATTER : verb == GATHER || verb == ALLGATHER);
}

int check_arguments(const struct arguments *arguments, const struct communicator *communicator) {
    if (communicator == NULL) return MPI_ERR_COMM;
    const enum verb verb = arguments->verb;
    const bool is_inter = communicator->remote != NULL;
    const int peer_count = peers(communicator)->size;
    if (has_root(verb) && (arguments->root < 0 || arguments->root >= peer_count) &&
        !(is_inter && (arguments->root == MPI_ROOT || arguments->root == MPI_PROC_NULL)))
        return MPI_ERR_ROOT;
    if (has_root(verb) && is_inter && arguments->root == MPI_PROC_NULL) return MPI_SUCCESS;
    if (reduces(verb)) {
        const struct operation *operation = operation_of(arguments->op);
        if (operation == NULL || arguments->op == MPI_REPLACE || arguments->op == MPI_NO_OP) return MPI_ERR_OP;
        if (datatype_of(arguments->recvtype) == NULL) return MPI_ERR_TYPE;
        if (!has_type(operation, datatype_of(arguments->recvtype))) return MPI_ERR_OP;
        if (arguments->recvcount < 0) return MPI_ERR_COUNT;
    }
    if (verb == BCAST && datatype_of(arguments->recvtype) == NULL) return MPI_ERR_TYPE;
    const bool is_root = is_inter ? arguments->root == MPI_ROOT : arguments->root == communicator->rank;
    const char *const missing = missing_array(arguments, is_root);
    if (missing != NULL) {
        explain_error(": %s is a null pointer", missing);
        return MPI_ERR_ARG;
    }
    if (is_aliased(arguments, communicator)) return MPI_ERR_BUFFER;
    if (verb == BARRIER || verb == ALLTOALLW) return MPI_SUCCESS;
    const bool gathers = verb == GATHER || verb == GATHERV;
    const bool scatters = verb == SCATTER || verb == SCATTERV;
    const bool sends = arguments->sendbuf != MPI_IN_PLACE && verb != BCAST && (is_root || !scatters) &&
                       !(is_inter && is_root && (gathers || verb == REDUCE));
    const bool receives = arguments->recvbuf != MPI_IN_PLACE && (is_root || !(gathers || verb == REDUCE)) &&
                          !(is_inter && is_root && scatters);
    const int size = verb == REDUCE_SCATTER ? size_of(communicator) : peer_count;
    int error = MPI_SUCCESS;
    if (sends) {
        const bool from_received = reduces(verb);  // these have one count and datatype
        const MPI_Count *const counts = from_received ? arguments->recvcounts : arguments->sendcounts;
        error = check_buffer(arguments->sendbuf, from_received ? arguments->recvcount : arguments->sendcount, counts,
                             counts != NULL || has_block_for_each(verb, true) ? size : 1,
                             from_received ? arguments->recvtype : arguments->sendtype);
    }
    if (error != MPI_SUCCESS || !receives) return error;
    return check_buffer(arguments->recvbuf, arguments->recvcount, arguments->recvcounts,
                        arguments->recvcounts != NULL || has_block_for_each(verb, false) ? size : 1,
                        arguments->recvtype);
}
