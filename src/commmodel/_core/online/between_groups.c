// The time of collectives of intercommunicators: within each group, with messages between the two first ranks or to all
// of the other group, as libraries do it and replays of recordings do.
#include "exchange.h"

#define LOCAL_NUMBERS (1 << 20)  // of groups of intercommunicators, above those of communicators

struct between {  // what a rank does in the order of the members
    char *before, *after;
    int count;
    int *names;
    struct communicator *communicator;
    int tag;
};

static void post(struct between *between, int code, int peer, MPI_Count bytes) {
    const int name = between->names[between->count++] = next_name();
    act(code, between->communicator->remote->ranks[peer], between->tag, name, code == IRECV ? -1.0 : (double)bytes);
}

static void within(struct communicator *communicator, uint32_t number, const char *action) {
    if (action == NULL || size_of(communicator) == 1) return;
    const int side = communicator->group->ranks[0] < communicator->remote->ranks[0];
    struct communicator local = *communicator;
    local.number = LOCAL_NUMBERS + 2 * communicator->number + side;
    act_on(&local, number, action);
    communicator->defined = local.defined;
}

static MPI_Count sent_bytes(const struct arguments *a, int peer) {
    const struct block block = sent_block(a, peer);
    return block.type ? volume(block.count, block.type) : 0;
}

static MPI_Count received_bytes(const struct arguments *a, int peer) {
    const struct block block = received_block(a, peer);
    return block.type ? volume(block.count, block.type) : 0;
}

static char *text(const char *format, MPI_Count first, MPI_Count second) {
    char *words = malloc(96);
    snprintf(words, 96, format, (long long)first, (long long)second);
    return words;
}

static char *scatter_text(const struct arguments *a, const struct communicator *communicator, MPI_Count *sum) {
    const int size = size_of(communicator);
    char *words = malloc(64 + 24 * (size_t)size), *to = words + sprintf(words, "scatterv");
    MPI_Count mine = 0;
    *sum = 0;
    for (int i = 0; i < size; i++) {
        const MPI_Count bytes = bytes_of(a->recvcounts ? a->recvcounts[i] : a->recvcount, a->recvtype);
        if (i == communicator->rank) mine = bytes;
        *sum += bytes;
        to += sprintf(to, " %lld", (long long)bytes);
    }
    sprintf(to, " %lld 0 6 6", (long long)mine);
    return words;
}

// First and last of what is done; how many bytes the first ranks of both groups exchange, NONE where they do not.
static void leaders(const struct arguments *a, struct between *between, MPI_Count *sent, MPI_Count *received) {
    const struct communicator *communicator = between->communicator;
    const int local = size_of(communicator), remote = communicator->remote->size;
    const MPI_Count reduced = bytes_of(a->recvcount, a->recvtype), size = bytes_of(a->sendcount, a->sendtype);
    *sent = *received = NONE;
    switch (a->verb) {
        case BARRIER:
            *sent = *received = 0;
            between->before = text("barrier", 0, 0);
            between->after = text("bcast 1 0 6", 0, 0);
            break;
        case ALLREDUCE:
            *sent = *received = reduced;
            between->before = text("reduce %lld 0 0 6", reduced, 0);
            between->after = text("bcast %lld 0 6", reduced, 0);
            break;
        case ALLGATHER:
            *sent = size * local;
            *received = reduced * remote;
            between->before = text("gather %lld %lld 0 6 6", size, size);
            between->after = text("bcast %lld 0 6", *received, 0);
            break;
        case REDUCE_SCATTER:
        case REDUCE_SCATTER_BLOCK:
            between->after = scatter_text(a, communicator, sent);
            *received = *sent;
            between->before = text("reduce %lld 0 0 6", *sent, 0);
            break;
        default: break;
    }
}

// Messages with a root in the other group, or this one.
static void rooted(const struct arguments *a, struct between *between, bool first) {
    const struct communicator *communicator = between->communicator;
    const int local = size_of(communicator), remote = communicator->remote->size;
    const bool is_root = a->root == MPI_ROOT;
    const MPI_Count reduced = bytes_of(a->recvcount, a->recvtype), size = bytes_of(a->sendcount, a->sendtype);
    switch (a->verb) {
        case BCAST:
            if (is_root) post(between, ISEND, 0, reduced);
            if (!is_root && first) post(between, IRECV, a->root, reduced);
            if (!is_root) between->after = text("bcast %lld 0 6", reduced, 0);
            break;
        case SCATTER:
            if (is_root) post(between, ISEND, 0, size * remote);
            if (!is_root && first) post(between, IRECV, a->root, reduced * local);
            if (!is_root) between->after = text("scatter %lld %lld 0 6 6", reduced, reduced);
            break;
        case GATHER:
        case REDUCE:
            if (is_root) post(between, IRECV, 0, 0);
            if (!is_root && first) post(between, ISEND, a->root, a->verb == GATHER ? size * local : reduced);
            break;
        case SCATTERV:
            for (int i = 0; is_root && i < remote; i++) post(between, ISEND, i, sent_bytes(a, i));
            if (!is_root) post(between, IRECV, a->root, 0);
            break;
        case GATHERV:
            for (int i = 0; is_root && i < remote; i++) post(between, IRECV, i, 0);
            if (!is_root) post(between, ISEND, a->root, size);
            break;
        default: break;
    }
}

void act_between(struct communicator *communicator, const struct arguments *a, uint32_t number) {
    const int remote = communicator->remote->size;
    const bool has_root = a->verb == BCAST || a->verb == GATHER || a->verb == GATHERV || a->verb == SCATTER ||
                          a->verb == SCATTERV || a->verb == REDUCE;
    if (has_root && a->root == MPI_PROC_NULL) return;
    const bool first = communicator->rank == 0;
    struct between between = {.names = malloc(sizeof(int) * (size_t)(2 * remote + 2)), .communicator = communicator};
    between.tag = (int)collective_tag(communicator, number);
    if (has_root) {
        const bool gathers = a->verb == GATHER || a->verb == REDUCE;
        if (gathers && a->root != MPI_ROOT) {
            const MPI_Count bytes =
                a->verb == GATHER ? bytes_of(a->sendcount, a->sendtype) : bytes_of(a->recvcount, a->recvtype);
            between.before =
                a->verb == GATHER ? text("gather %lld %lld 0 6 6", bytes, bytes) : text("reduce %lld 0 0 6", bytes, 0);
        }
        within(communicator, number, between.before);
        rooted(a, &between, first);
    } else if (a->verb == ALLGATHERV || a->verb == ALLTOALL || a->verb == ALLTOALLV || a->verb == ALLTOALLW) {
        for (int i = 0; i < remote; i++) post(&between, IRECV, i, received_bytes(a, i));
        for (int i = 0; i < remote; i++) {
            post(&between, ISEND, i, a->verb == ALLGATHERV ? bytes_of(a->sendcount, a->sendtype) : sent_bytes(a, i));
        }
    } else {
        MPI_Count sent, received;
        leaders(a, &between, &sent, &received);
        within(communicator, number, between.before);
        if (first && sent != NONE) {
            post(&between, IRECV, 0, received);
            post(&between, ISEND, 0, sent);
        }
    }
    for (int i = 0; i < between.count; i++) act(WAIT, NONE, NONE, between.names[i], 0.0);
    within(communicator, number, between.after);
    free(between.names);
    free(between.before);
    free(between.after);
}
