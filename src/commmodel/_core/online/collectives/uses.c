// What a collective reads and writes of this rank's memory: no byte of what it writes may be targets twice, be one that
// it reads, or belong to another operation that is pending.
#include "online/collectives/uses.h"

#include "online/collectives/contributions.h"
#include "online/messages/watches.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/findings.h"

static bool reads(const struct collective *collective) {
    const struct arguments *arguments = &collective->arguments;
    const bool is_at_root = is_root(collective), is_inter = collective->communicator->remote != NULL;
    if (is_inter && has_root(arguments->verb) && arguments->root == MPI_PROC_NULL) return false;
    switch (arguments->verb) {
        case BARRIER: return false;
        case BCAST: return is_at_root;
        case SCATTER:
        case SCATTERV: return is_at_root;
        case GATHER:
        case GATHERV:
        case REDUCE: return arguments->sendbuf != MPI_IN_PLACE && !(is_inter && is_at_root);
        default: return arguments->sendbuf != MPI_IN_PLACE;
    }
}

static bool writes(const struct collective *collective) {
    const struct arguments *arguments = &collective->arguments;
    const bool is_at_root = is_root(collective), is_inter = collective->communicator->remote != NULL;
    if (is_inter && has_root(arguments->verb) && arguments->root == MPI_PROC_NULL) return false;
    switch (arguments->verb) {
        case BARRIER: return false;
        case BCAST: return !is_at_root;
        case SCATTER:
        case SCATTERV: return arguments->recvbuf != MPI_IN_PLACE && !(is_inter && is_at_root);
        case GATHER:
        case GATHERV:
        case REDUCE: return is_at_root;
        default: return true;
    }
}

static MPI_Count sum_of(const MPI_Count *counts, int count) {
    MPI_Count sum = 0;
    for (int i = 0; i < count; i++) sum += counts[i];
    return sum;
}

static int list_read(const struct collective *collective, struct block *blocks) {
    const struct arguments *arguments = &collective->arguments;
    const int peer_count = peers(collective->communicator)->size;
    if (!reads(collective)) return 0;
    switch (arguments->verb) {
        case BCAST: blocks[0] = whole_received(arguments); return 1;
        case GATHER:
        case GATHERV:
        case ALLGATHER:
        case ALLGATHERV: blocks[0] = whole_sent(arguments); return 1;
        case SCATTER:
        case SCATTERV:
        case ALLTOALL:
        case ALLTOALLV:
        case ALLTOALLW:
            for (int i = 0; i < peer_count; i++) blocks[i] = sent_block(arguments, i);
            return peer_count;
        default:  // a reduction
            blocks[0] = whole_received(arguments);
            blocks[0].at = (char *)arguments->sendbuf;
            if (arguments->verb == REDUCE_SCATTER)
                blocks[0].count = sum_of(arguments->recvcounts, size_of(collective->communicator));
            if (arguments->verb == REDUCE_SCATTER_BLOCK) blocks[0].count *= size_of(collective->communicator);
            return 1;
    }
}

static int list_written(const struct collective *collective, struct block *blocks) {
    const struct arguments *arguments = &collective->arguments;
    const int peer_count = peers(collective->communicator)->size;
    if (!writes(collective)) return 0;
    switch (arguments->verb) {
        case GATHER:
        case GATHERV:
        case ALLGATHER:
        case ALLGATHERV:
        case ALLTOALL:
        case ALLTOALLV:
        case ALLTOALLW:
            for (int i = 0; i < peer_count; i++) blocks[i] = received_block(arguments, i);
            return peer_count;
        default:
            blocks[0] = whole_received(arguments);
            if (arguments->verb == REDUCE_SCATTER)
                blocks[0].count = arguments->sendbuf == MPI_IN_PLACE
                                      ? sum_of(arguments->recvcounts, size_of(collective->communicator))
                                      : arguments->recvcounts[collective->communicator->rank];
            if (arguments->verb == REDUCE_SCATTER_BLOCK && arguments->sendbuf == MPI_IN_PLACE)
                blocks[0].count *= size_of(collective->communicator);
            return 1;
    }
}

static struct block *new_blocks(const struct collective *collective) {
    return allocate(sizeof(struct block) * (size_t)(peers(collective->communicator)->size + 1));
}

// Of the call alone.
static void find_aliases(int source_count, const struct block *sources, int target_count, const struct block *targets) {
    if (target_count > 1 && overlap(target_count, targets, 0, NULL))
        accuse("aliased buffers", "blocks that %s receives lie on one another", call_name);
    if (source_count > 0 && target_count > 0 && overlap(source_count, sources, target_count, targets))
        accuse("aliased buffers", "what %s sends lies on what it receives", call_name);
}

void use_collective_buffers(const struct collective *collective) {
    struct block *const sources = new_blocks(collective), *const targets = new_blocks(collective);
    const int source_count = list_read(collective, sources), target_count = list_written(collective, targets);
    find_aliases(source_count, sources, target_count, targets);
    if (source_count > 0) use_buffers(SENT, source_count, sources);
    if (target_count > 0) use_buffers(RECEIVED, target_count, targets);
    free(sources);
    free(targets);
}

void watch_collective(struct request *request, const struct collective *collective) {
    struct block *const sources = new_blocks(collective), *const targets = new_blocks(collective);
    const int source_count = list_read(collective, sources), target_count = list_written(collective, targets);
    find_aliases(source_count, sources, target_count, targets);
    if (target_count > 0) request->watches[0] = watch_buffers(RECEIVED, target_count, targets);
    if (source_count > 0) request->watches[1] = watch_buffers(SENT, source_count, sources);
    free(sources);
    free(targets);
}
