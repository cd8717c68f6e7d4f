// Collective operations: what each rank gives, whose parts it reads, and the call that the simulator times.
//
// The data go the shortest way, from the parts of others into the buffer. The time is that of the algorithm that the
// simulator selects for the call.
#include "online/collectives/collectives.h"

#include "online/collectives/exchange.h"
#include "online/datatypes/reductions.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/operations.h"
#include "online/runtime/turns.h"

struct collective {
    struct arguments arguments;
    struct communicator *communicator;
    uint64_t call;
    uint32_t number, start;  // of the communicator's calls; how often a persistent one has been started
    MPI_Count *own[2];       // copies of arrays, which the program may change
    MPI_Aint *own_places[2];
    MPI_Datatype *own_types[2];
    struct datatype **kept;  // until the end, as the program may free them
    size_t kept_count;
    struct operation *operation;
    uint64_t batch;  // of operations that have not been waited for
    int error;
};

struct part {  // what a rank gives: one segment, or one for each other rank
    MPI_Count segments;
    MPI_Count ends[];  // bytes; the data follow
};

static const char *data_of(const struct part *part, MPI_Count segment, MPI_Count *bytes) {
    const MPI_Count begin = segment > 0 ? part->ends[segment - 1] : 0;
    *bytes = part->ends[segment] - begin;
    return (const char *)(part->ends + part->segments) + begin;
}

static bool is_of_neighbors(enum verb verb) { return verb >= NEIGHBOR_ALLGATHER; }
static bool has_root(enum verb verb) {
    return verb == BCAST || verb == GATHER || verb == GATHERV || verb == SCATTER || verb == SCATTERV || verb == REDUCE;
}
static bool reduces(enum verb verb) { return verb >= REDUCE && verb <= EXSCAN; }

static bool is_root(const struct collective *of) {
    return of->communicator->remote ? of->arguments.root == MPI_ROOT : of->arguments.root == of->communicator->rank;
}
static bool takes_part(const struct collective *of) {
    return !of->communicator->remote || of->arguments.root != MPI_PROC_NULL;
}

struct block sent_block(const struct arguments *a, int i) {
    struct block block = {(char *)a->sendbuf, a->sendcount, datatype_of(a->sendtypes ? a->sendtypes[i] : a->sendtype)};
    if (a->sendcounts) block.count = a->sendcounts[i];
    if (a->verb == ALLTOALLW || a->verb == NEIGHBOR_ALLTOALLW) {
        block.at += a->sdispls[i];
    } else if (a->sdispls != NULL) {
        block.at += a->sdispls[i] * block.type->extent;
    } else {
        block.at += i * block.count * block.type->extent;
    }
    return block;
}

struct block received_block(const struct arguments *a, int i) {
    struct block block = {a->recvbuf, a->recvcount, datatype_of(a->recvtypes ? a->recvtypes[i] : a->recvtype)};
    if (a->recvcounts) block.count = a->recvcounts[i];
    if (a->verb == ALLTOALLW || a->verb == NEIGHBOR_ALLTOALLW) {
        block.at += a->rdispls[i];
    } else if (a->rdispls != NULL) {
        block.at += a->rdispls[i] * block.type->extent;
    } else {
        block.at += i * block.count * block.type->extent;
    }
    return block;
}

// ---- what this rank gives

static uint64_t part_with(int segments, const struct block *blocks) {
    MPI_Count bytes = 0;
    for (int i = 0; i < segments; i++) bytes += volume(blocks[i].count, blocks[i].type);
    const uint64_t place = allocate_shared(
        sizeof(struct part) + sizeof(MPI_Count) * (uint64_t)segments + (uint64_t)bytes, "the data of a collective");
    struct part *part = online_at_filled(world, place, (uint64_t)bytes);
    part->segments = segments;
    char *to = (char *)(part->ends + segments);
    MPI_Count end = 0;
    for (int i = 0; i < segments; i++) {
        end += pack(blocks[i].at, blocks[i].count, blocks[i].type, to + end);
        part->ends[i] = end;
    }
    return place;
}

static uint64_t given(const struct collective *of) {
    const struct arguments *a = &of->arguments;
    const int others = peers(of->communicator)->size, rank = of->communicator->rank;
    const bool in_place = a->sendbuf == MPI_IN_PLACE;
    struct block one;
    int segments = 1;
    switch (a->verb) {
        case BARRIER: segments = 0; break;
        case BCAST:
            one = (struct block){a->recvbuf, a->recvcount, datatype_of(a->recvtype)};
            segments = is_root(of);
            break;
        case GATHER:
        case GATHERV:
            segments = takes_part(of) && !(of->communicator->remote && is_root(of)) && !in_place;
            one = (struct block){(char *)a->sendbuf, a->sendcount, datatype_of(a->sendtype)};
            break;
        case ALLGATHER:
        case ALLGATHERV:
            one = in_place ? received_block(a, rank)
                           : (struct block){(char *)a->sendbuf, a->sendcount, datatype_of(a->sendtype)};
            break;
        case SCATTER:
        case SCATTERV: segments = is_root(of) ? others : 0; break;
        case ALLTOALL:
        case ALLTOALLV:
        case ALLTOALLW: segments = others; break;
        case REDUCE: segments = takes_part(of) && !(of->communicator->remote && is_root(of));  // fall through
        default: {
            MPI_Count count = a->recvcount;
            for (int i = 0; a->verb == REDUCE_SCATTER && i < size_of(of->communicator); i++) {
                count = i ? count + a->recvcounts[i] : a->recvcounts[i];
            }
            if (a->verb == REDUCE_SCATTER_BLOCK) count *= size_of(of->communicator);
            one = (struct block){in_place ? a->recvbuf : (char *)a->sendbuf, count, datatype_of(a->recvtype)};
        }
    }
    if (segments <= 1 && a->verb != SCATTER && a->verb != SCATTERV && (a->verb < ALLTOALL || a->verb > ALLTOALLW)) {
        return part_with(segments, &one);
    }
    struct block *blocks = allocate(sizeof *blocks * (size_t)(segments + 1));
    for (int i = 0; i < segments; i++)
        blocks[i] = in_place && a->verb >= ALLTOALL ? received_block(a, i) : sent_block(a, i);
    const uint64_t place = part_with(segments, blocks);
    free(blocks);
    return place;
}

// ---- what it reads

static const struct part *part_from(const struct collective *of, int peer, bool remote) {
    const uint64_t place = part_of(of->call, position_of(of->communicator, peer, remote));
    return place == 0 ? NULL : online_at(world, place);
}

// Take a segment of a peer's part into a block; an error where it does not fit. Nothing is done without a block: then
// only whether it is there is told.
struct reader {
    struct collective *of;
    bool copies, is_there;
    int error;
};

static void read_segment(struct reader *reader, int peer, MPI_Count segment, struct block block) {
    if (volume(block.count, block.type) == 0) return;
    const struct part *part = part_from(reader->of, peer, reader->of->communicator->remote != NULL);
    if (part == NULL) {
        reader->is_there = false;
        return;
    }
    if (!reader->copies || part->segments == 0) return;
    MPI_Count bytes;
    const char *data = data_of(part, part->segments == 1 ? 0 : segment, &bytes);
    const MPI_Count most = volume(block.count, block.type);
    if (bytes > most) reader->error = MPI_ERR_TRUNCATE;
    unpack(block.at, block.count, block.type, data, bytes < most ? bytes : most);
}

static void read_all(struct reader *reader) {
    struct collective *of = reader->of;
    const struct arguments *a = &of->arguments;
    const int others = peers(of->communicator)->size, rank = of->communicator->rank;
    const bool is_inter = of->communicator->remote != NULL;
    switch (a->verb) {
        case BARRIER:  // ranks that share memory really have to wait for each other
            for (int i = 0; world->has_windows && i < others; i++)
                if (part_from(of, i, is_inter) == NULL) reader->is_there = false;
            break;
        case BCAST:
            if (takes_part(of) && !is_root(of))
                read_segment(reader, a->root, 0, (struct block){a->recvbuf, a->recvcount, datatype_of(a->recvtype)});
            break;
        case GATHER:
        case GATHERV:
            for (int i = 0; is_root(of) && i < others; i++) {
                if (a->sendbuf != MPI_IN_PLACE || i != rank) read_segment(reader, i, 0, received_block(a, i));
            }
            break;
        case SCATTER:
        case SCATTERV:
            if (takes_part(of) && !(is_inter && is_root(of)) && a->recvbuf != MPI_IN_PLACE)
                read_segment(reader, a->root, rank, (struct block){a->recvbuf, a->recvcount, datatype_of(a->recvtype)});
            break;
        case ALLGATHER:
        case ALLGATHERV:
            for (int i = 0; i < others; i++) read_segment(reader, i, 0, received_block(a, i));
            break;
        case ALLTOALL:
        case ALLTOALLV:
        case ALLTOALLW:
            for (int i = 0; i < others; i++) read_segment(reader, i, rank, received_block(a, i));
            break;
        default: break;
    }
}

// The elements from `first` on of the parts of ranks up to `last`, combined in the order of ranks.
static void combine(struct reader *reader, int last, MPI_Count first, MPI_Count count, void *result) {
    struct collective *of = reader->of;
    const struct arguments *a = &of->arguments;
    struct datatype *type = datatype_of(a->recvtype);
    const MPI_Count bytes = volume(count, type);
    if (bytes == 0) return;
    const bool is_inter = of->communicator->remote != NULL;
    for (int i = 0; reader->is_there && i <= last; i++) reader->is_there = part_from(of, i, is_inter) != NULL;
    if (!reader->copies || !reader->is_there) return;
    struct operation *operation = operation_of(a->op);
    // What all get is worked out by the first of them; calls of the program's own functions are each rank's.
    uint64_t *const shared = a->verb == ALLREDUCE && !is_inter && is_built_in(a->op) ? result_of(of->call) : NULL;
    if (shared != NULL && *shared != 0) {
        unpack(result, count, type, online_at(world, *shared), bytes);
        return;
    }
    if (shared != NULL) *shared = allocate_shared((uint64_t)bytes, "the result of a collective");
    const bool is_direct = shared == NULL && is_dense(type);
    char *const sum = shared != NULL ? online_at(world, *shared)
                      : is_direct    ? (char *)result + type->runs[0].offset
                                     : allocate((size_t)bytes);
    for (int i = last; i >= 0; i--) {
        MPI_Count unused;
        const char *data = data_of(part_from(of, i, is_inter), 0, &unused) + volume(first, type);
        if (i == last) {
            memcpy(sum, data, (size_t)bytes);
        } else {
            const int error = reduce(operation, data, sum, count, type);
            if (error != MPI_SUCCESS) reader->error = error;
        }
    }
    if (is_direct) return;
    unpack(result, count, type, sum, bytes);
    if (shared == NULL) free(sum);
}

static void read_reduced(struct reader *reader) {
    struct collective *of = reader->of;
    const struct arguments *a = &of->arguments;
    const int rank = of->communicator->rank, others = peers(of->communicator)->size;
    MPI_Count first = 0;
    switch (a->verb) {
        case REDUCE:
            if (is_root(of)) combine(reader, others - 1, 0, a->recvcount, a->recvbuf);
            break;
        case ALLREDUCE: combine(reader, others - 1, 0, a->recvcount, a->recvbuf); break;
        case SCAN: combine(reader, rank, 0, a->recvcount, a->recvbuf); break;
        case EXSCAN:
            if (rank > 0) combine(reader, rank - 1, 0, a->recvcount, a->recvbuf);
            break;
        case REDUCE_SCATTER:
            for (int i = 0; i < rank; i++) first += a->recvcounts[i];
            combine(reader, others - 1, first, a->recvcounts[rank], a->recvbuf);
            break;
        default: combine(reader, others - 1, rank * a->recvcount, a->recvcount, a->recvbuf); break;
    }
}

static bool read_parts(struct collective *of, bool copies) {
    if (!copies && has_all_parts(of->call)) return true;
    struct reader reader = {of, copies, true, MPI_SUCCESS};
    reduces(of->arguments.verb) ? read_reduced(&reader) : read_all(&reader);
    if (copies && reader.is_there) of->error = reader.error;
    return reader.is_there;
}

// ---- what the simulator hears of it

static MPI_Count bytes_of(MPI_Count count, MPI_Datatype handle) {  // 0 where there is no such type
    const struct datatype *type = datatype_of(handle);
    return type ? volume(count, type) : 0;
}

static void list_bytes(int64_t *to, const MPI_Count *counts, const MPI_Datatype *types, MPI_Datatype type, int size) {
    for (int i = 0; i < size; i++) to[i] = bytes_of(counts[i], types ? types[i] : type);
}

// The call with what libraries look at, and nothing else, so that calls alike are expanded once.
static uint64_t described(const struct collective *of) {
    const struct arguments *a = &of->arguments;
    const enum verb verb = a->verb;
    const int rank = of->communicator->rank;
    const int size = verb == REDUCE_SCATTER ? size_of(of->communicator) : peers(of->communicator)->size;
    const bool in_place = a->sendbuf == MPI_IN_PLACE, root = is_root(of), reduced = reduces(verb) || verb == BCAST;
    const bool has_sent = verb == ALLTOALLV || verb == ALLTOALLW || (verb == SCATTERV && root);
    const bool has_received = a->recvcounts != NULL && (verb != GATHERV || root);
    const uint64_t place = new_call((int)verb, has_sent ? size : 0, has_received ? size : 0);
    struct online_call *call = call_at(place);
    if (has_sent && in_place) {
        list_bytes(call->counts, a->recvcounts, a->recvtypes, a->recvtype, size);
    } else if (has_sent) {
        list_bytes(call->counts, a->sendcounts, a->sendtypes, a->sendtype, size);
    }
    if (has_received) list_bytes(call->counts + call->sent_count, a->recvcounts, a->recvtypes, a->recvtype, size);
    const MPI_Count received = a->recvcounts ? 0 : bytes_of(a->recvcount, a->recvtype);
    const MPI_Count sent = in_place || reduced ? received : a->sendcounts ? 0 : bytes_of(a->sendcount, a->sendtype);
    call->sent = sent;
    if (in_place && (verb == GATHERV || verb == ALLGATHERV)) call->sent = bytes_of(a->recvcounts[rank], a->recvtype);
    if (verb == SCATTER && !root) call->sent = 0;
    if (!reduced && (verb != GATHER || root)) call->received = received;
    if (verb == SCATTER && a->recvbuf == MPI_IN_PLACE) call->received = sent;
    if (verb == SCATTERV && a->recvbuf == MPI_IN_PLACE) call->received = bytes_of(a->sendcounts[rank], a->sendtype);
    if (has_root(verb)) call->root = of->communicator->remote && root ? IS_ROOT : a->root;
    if (reduced) call->element = bytes_of(1, a->recvtype);
    if (reduces(verb) && !is_built_in(a->op)) call->operator_kind = is_commutative(operation_of(a->op)) ? 1 : 2;
    call->in_place = verb == ALLTOALL && in_place;
    return place;
}

// ---- beginning and end

static int wrong(const struct arguments *a, const struct communicator *communicator) {
    if (communicator == NULL) return MPI_ERR_COMM;
    const int others = peers(communicator)->size;
    if (has_root(a->verb) && (a->root < 0 || a->root >= others) &&
        !(communicator->remote && (a->root == MPI_ROOT || a->root == MPI_PROC_NULL)))
        return MPI_ERR_ROOT;
    if (has_root(a->verb) && communicator->remote && a->root == MPI_PROC_NULL) return MPI_SUCCESS;
    if (reduces(a->verb)) {
        const struct operation *operation = operation_of(a->op);
        if (operation == NULL) return MPI_ERR_OP;
        if (datatype_of(a->recvtype) == NULL) return MPI_ERR_TYPE;
        if (!has_type(operation, datatype_of(a->recvtype))) return MPI_ERR_OP;
        if (a->recvcount < 0) return MPI_ERR_COUNT;
    }
    if (a->verb == BCAST && datatype_of(a->recvtype) == NULL) return MPI_ERR_TYPE;
    const bool is_whole = a->root == communicator->rank || a->root == MPI_ROOT;  // one end of a gather or scatter
    const bool sends = a->sendbuf != MPI_IN_PLACE && (a->verb != SCATTER || is_whole);
    const bool receives = a->recvbuf != MPI_IN_PLACE && (a->verb != GATHER || is_whole);
    return (sends && a->sendcount < 0) || (receives && a->recvcount < 0) ? MPI_ERR_COUNT : MPI_SUCCESS;
}

// Non-blocking and persistent ones have an order of their own, as their order among blocking ones may differ from rank to
// rank.
struct collective *new_collective(const struct arguments *arguments, bool has_request) {
    struct collective *of = allocate_zeroed(1, sizeof *of);
    of->arguments = *arguments;
    struct communicator *communicator = of->communicator = communicator_of(arguments->comm);
    of->number = has_request ? 1u << 31 | communicator->requested++ : communicator->collectives++;
    keep_communicator(of->communicator);
    return of;
}

// Persistent collectives get their numbers in the order in which they are made, as their starts may come in any order.
void start_again(struct collective *of) { of->start++; }

static void start(struct collective *of) {
    const struct arguments *a = &of->arguments;
    const int root = has_root(a->verb) && of->communicator->remote == NULL ? a->root : 0;
    const int kind = (int)a->verb + 64 * root;
    of->call = join_call(of->communicator, of->number, of->start, kind, 1, given(of));
}

static bool is_alone(const struct collective *of) {
    return size_of(of->communicator) == 1 && of->communicator->remote == NULL;
}

// Tell the simulator.
static void act_now(const struct collective *of) {
    if (is_alone(of) || !takes_part(of)) return;
    act_on(of->communicator, of->call, described(of));
}

// What comes from a root is waited for in the simulator's order: until then more roots have gone on, so that there are
// fewer turns.
static void await_parts(const struct collective *of) {
    const enum verb verb = of->arguments.verb;
    const bool is_from_root = verb == BCAST || verb == SCATTER || verb == SCATTERV;
    is_from_root || of->communicator->remote != NULL ? yield() : await_all_parts(of->call);
}

static int take_parts(struct collective *of) {
    bool yielded = false;
    while (!read_parts(of, false)) {
        if (yielded) progress();
        if (yielded) act(AWAIT, -2, NONE, NONE, 1e-6);
        await_parts(of);
        yielded = true;
    }
    read_parts(of, true);
    leave_call(of->call);
    return of->error;
}

int collective(const struct arguments *arguments) {
    if (is_of_neighbors(arguments->verb)) return neighbor_collective(arguments);
    enter(arguments->name);
    struct communicator *communicator = communicator_of(arguments->comm);
    int error = wrong(arguments, communicator);
    if (error == MPI_SUCCESS) {
        struct collective *of = new_collective(arguments, false);
        start(of);
        act_now(of);
        error = take_parts(of);
        free_collective(of);
    }
    if (error != MPI_SUCCESS) error = fail(communicator, error);
    leave();
    return error;
}

// ---- non-blocking and persistent

static void begin_pending(struct collective *of) {
    if (is_ahead()) yield();  // else others would see the part before its time
    start(of);
    begin_batch();
    act_now(of);
    of->batch = end_batch();
}

static void act_pending(struct collective *of) {
    if (of->batch != 0) wait_for_batch(of->batch);
    of->batch = 0;
}

void free_collective(struct collective *of) {
    act_pending(of);
    for (int i = 0; i < 2; i++) {
        free(of->own[i]);
        free(of->own_places[i]);
        free(of->own_types[i]);
    }
    for (size_t i = 0; i < of->kept_count; i++) drop_datatype(of->kept[i]);
    free(of->kept);
    if (of->operation != NULL) drop_operation(of->operation);
    drop_communicator(of->communicator);
    free(of);
}

static void *copied(const void *from, size_t size) {
    if (from == NULL) return NULL;
    void *copy = allocate(size + 1);
    return memcpy(copy, from, size);
}

static void keep(struct collective *of, const MPI_Datatype *types, size_t count) {
    for (size_t i = 0; types != NULL && i < count; i++) {
        struct datatype *type = datatype_of(types[i]);
        if (type == NULL) continue;
        keep_datatype(type);
        of->kept[of->kept_count++] = type;
    }
}

void own_arguments(struct collective *of, size_t sent, size_t received) {
    struct arguments *a = &of->arguments;
    a->sendcounts = of->own[0] = copied(a->sendcounts, sizeof(MPI_Count) * sent);
    a->recvcounts = of->own[1] = copied(a->recvcounts, sizeof(MPI_Count) * received);
    a->sdispls = of->own_places[0] = copied(a->sdispls, sizeof(MPI_Aint) * sent);
    a->rdispls = of->own_places[1] = copied(a->rdispls, sizeof(MPI_Aint) * received);
    a->sendtypes = of->own_types[0] = copied(a->sendtypes, sizeof(MPI_Datatype) * sent);
    a->recvtypes = of->own_types[1] = copied(a->recvtypes, sizeof(MPI_Datatype) * received);
    of->kept = allocate(sizeof *of->kept * (sent + received + 2));
    keep(of, a->sendtypes, sent);
    keep(of, a->recvtypes, received);
    keep(of, &a->sendtype, 1);
    keep(of, &a->recvtype, 1);
    of->operation = reduces(a->verb) ? keep_operation(a->op) : NULL;
}

uint32_t sequence_number(const struct collective *of) { return of->number; }
uint32_t start_number(const struct collective *of) { return of->start; }
const struct arguments *arguments_of(const struct collective *of) { return &of->arguments; }
uint64_t call_of(const struct collective *of) { return of->call; }
struct communicator *of_collective(const struct collective *of) { return of->communicator; }

// ---- collectives as requests

static int restart(struct request *request) {
    request->is_active = true;
    start_again(request->state);
    begin_pending(request->state);
    return MPI_SUCCESS;
}

static bool is_over(const struct request *request) {
    const struct collective *of = request->state;
    return of->batch == 0 || is_batch_over(of->batch);
}

static bool is_done(const struct request *request, bool is_answered) {
    (void)is_answered;
    return request->is_shown || (is_over(request) && read_parts(request->state, false));
}

static int finish(struct request *request, MPI_Status *status) {
    (void)status;
    struct collective *of = request->state;
    if (request->is_shown) return of->error;
    act_pending(of);
    return take_parts(of);
}

static void show(struct request *request) {
    finish(request, MPI_STATUS_IGNORE);
    request->is_shown = true;
}

static void release(struct request *request) { free_collective(request->state); }

static void settle_batch(struct request *request) { act_pending(request->state); }

static int by_call(const void *left, const void *right) {
    const struct collective *first = (*(struct request *const *)left)->state;
    const struct collective *second = (*(struct request *const *)right)->state;
    const int number = first->communicator->number, other = second->communicator->number;
    return number != other ? (number < other ? -1 : 1) : first->number < second->number ? -1 : 1;
}

static const struct request_kind collective_requests = {
    .start = restart,
    .is_done = is_done,
    .may_end_alone = is_over,
    .progress = progress,
    .finish = finish,
    .show = show,
    .release = release,
    .settle = settle_batch,
    .order = by_call,
};

static int requested(const struct arguments *arguments, MPI_Request *handle, bool is_persistent) {
    if (is_of_neighbors(arguments->verb)) return request_neighbor_collective(arguments, handle, is_persistent);
    enter(arguments->name);
    struct communicator *communicator = communicator_of(arguments->comm);
    int error = wrong(arguments, communicator);
    if (error == MPI_SUCCESS) {
        struct request *request = new_request(&collective_requests, communicator);
        keep_communicator(communicator);
        struct collective *of = request->state = new_collective(arguments, true);
        const bool significant = !has_root(arguments->verb) || is_root(of);
        const size_t size = significant ? (size_t)peers(communicator)->size : 0;
        own_arguments(of, size, arguments->verb == REDUCE_SCATTER ? (size_t)size_of(communicator) : size);
        request->is_persistent = is_persistent;
        request->is_active = !is_persistent;
        if (!is_persistent) begin_pending(of);
        *handle = request->handle;
    } else {
        error = fail(communicator, error);
    }
    leave();
    return error;
}

int begin_collective(const struct arguments *arguments, MPI_Request *request) {
    return requested(arguments, request, false);
}
int prepare_collective(const struct arguments *arguments, MPI_Request *request) {
    return requested(arguments, request, true);
}
