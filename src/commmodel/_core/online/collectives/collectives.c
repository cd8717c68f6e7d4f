// Collective operations: what each rank gives, whose parts it reads, and the call that the simulator times.
//
// Data are copied directly from the parts of other ranks; the time is that of the algorithm that the simulator selects.
#include "online/collectives/collectives.h"

#include "online/collectives/exchange.h"
#include "online/collectives/uses.h"
#include "online/datatypes/reductions.h"
#include "online/datatypes/signatures.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/decisions.h"
#include "online/runtime/findings.h"
#include "online/runtime/operations.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

struct part {  // what a rank gives: one segment, or one for each other rank
    MPI_Count segments;
    uint64_t call_site;
    MPI_Op op;
    bool has_contents;
    MPI_Count ends[];  // bytes; the contents follow in a checked run, and the data
};

static struct content *contents_of(const struct part *part) {
    return part->has_contents ? (struct content *)(part->ends + part->segments) : NULL;
}

static const char *data_of(const struct part *part, MPI_Count segment, MPI_Count *bytes) {
    const MPI_Count begin = segment > 0 ? part->ends[segment - 1] : 0;
    *bytes = part->ends[segment] - begin;
    const char *data = (const char *)(part->ends + part->segments);
    return data + (part->has_contents ? sizeof(struct content) * (size_t)part->segments : 0) + begin;
}

static bool is_of_neighbors(enum verb verb) { return verb >= NEIGHBOR_ALLGATHER; }
static bool is_root(const struct collective *collective) {
    return collective->communicator->remote ? collective->arguments.root == MPI_ROOT
                                            : collective->arguments.root == collective->communicator->rank;
}
static bool takes_part(const struct collective *collective) {
    return !collective->communicator->remote || collective->arguments.root != MPI_PROC_NULL;
}

// ---- this rank's contribution

static uint64_t part_with(int segments, const struct block *blocks) {
    MPI_Count bytes = 0;
    for (int i = 0; i < segments; i++) bytes += volume(blocks[i].count, blocks[i].type);
    const bool is_with_contents = is_checked();
    const uint64_t width = sizeof(MPI_Count) + (is_with_contents ? sizeof(struct content) : 0);
    const uint64_t offset =
        allocate_shared(sizeof(struct part) + width * (uint64_t)segments + (uint64_t)bytes, "the data of a collective");
    struct part *part = online_at_filled(world, offset, (uint64_t)bytes);
    *part = (struct part){segments, current_site(), MPI_OP_NULL, is_with_contents};
    char *to = (char *)part->ends + width * (uint64_t)segments;
    MPI_Count end = 0;
    for (int i = 0; i < segments; i++) {
        if (is_with_contents) contents_of(part)[i] = content_of(blocks[i].count, blocks[i].type);
        end += pack(blocks[i].at, blocks[i].count, blocks[i].type, to + end);
        part->ends[i] = end;
    }
    return offset;
}

static uint64_t pack_contribution(const struct collective *collective) {
    const struct arguments *arguments = &collective->arguments;
    const int peer_count = peers(collective->communicator)->size, rank = collective->communicator->rank;
    const bool in_place = arguments->sendbuf == MPI_IN_PLACE;
    struct block block_of_rank;
    int segments = 1;
    switch (arguments->verb) {
        case BARRIER: segments = 0; break;
        case BCAST:
            block_of_rank = whole_received(arguments);
            segments = is_root(collective);
            break;
        case GATHER:
        case GATHERV:
            segments =
                takes_part(collective) && !(collective->communicator->remote && is_root(collective)) && !in_place;
            block_of_rank = whole_sent(arguments);
            break;
        case ALLGATHER:
        case ALLGATHERV: block_of_rank = in_place ? received_block(arguments, rank) : whole_sent(arguments); break;
        case SCATTER:
        case SCATTERV: segments = is_root(collective) ? peer_count : 0; break;
        case ALLTOALL:
        case ALLTOALLV:
        case ALLTOALLW: segments = peer_count; break;
        case REDUCE:
            segments =
                takes_part(collective) && !(collective->communicator->remote && is_root(collective));  // fall through
        default: {
            MPI_Count count = arguments->recvcount;
            for (int i = 0; arguments->verb == REDUCE_SCATTER && i < size_of(collective->communicator); i++)
                count = i ? count + arguments->recvcounts[i] : arguments->recvcounts[i];
            if (arguments->verb == REDUCE_SCATTER_BLOCK) count *= size_of(collective->communicator);
            block_of_rank = (struct block){in_place ? arguments->recvbuf : (char *)arguments->sendbuf, count,
                                           datatype_of(arguments->recvtype)};
        }
    }
    if (segments <= 1 && arguments->verb != SCATTER && arguments->verb != SCATTERV &&
        (arguments->verb < ALLTOALL || arguments->verb > ALLTOALLW)) {
        return part_with(segments, &block_of_rank);
    }
    struct block *blocks = allocate(sizeof *blocks * (size_t)(segments + 1));
    for (int i = 0; i < segments; i++)
        blocks[i] = in_place && arguments->verb >= ALLTOALL ? received_block(arguments, i) : sent_block(arguments, i);
    const uint64_t offset = part_with(segments, blocks);
    free(blocks);
    return offset;
}

// ---- contributions of other ranks

static const struct part *part_from(const struct collective *collective, int peer, bool remote) {
    const uint64_t offset = part_of(collective->call, position_of(collective->communicator, peer, remote));
    if (offset != 0 && notes_decisions())
        note_part(collective->call, position_of(collective->communicator, peer, remote));
    return offset == 0 ? NULL : online_at(world, offset);
}

// Unpack a segment of a peer's part into a block, or only check that the part is there (`copies` false). Segments that
// are too long set `error`.
struct reader {
    struct collective *collective;
    bool copies, is_there;
    int error;
};

static void accuse_contents(const struct part *part, uint64_t site, struct content left, struct content right,
                            const char *words) {
    char first[128], second[128];
    describe_content(left, first, sizeof first);
    describe_content(right, second, sizeof second);
    accuse_at("type signature", part->call_site, site, words, first, second);
}

static void compare_segment(const struct part *part, MPI_Count segment, struct block block) {
    const struct content received = content_of(block.count, block.type);
    if (part->segments == 0 || !part->has_contents || is_alike(contents_of(part)[segment], received, false)) return;
    accuse_contents(part, current_site(), contents_of(part)[segment], received, "%s sent, %s received");
}

static void read_segment(struct reader *reader, int peer, MPI_Count segment, struct block block) {
    if (volume(block.count, block.type) == 0) return;
    const struct part *part = part_from(reader->collective, peer, reader->collective->communicator->remote != NULL);
    if (part == NULL) {
        reader->is_there = false;
        return;
    }
    if (!reader->copies || part->segments == 0) return;
    MPI_Count bytes;
    compare_segment(part, part->segments == 1 ? 0 : segment, block);
    const char *data = data_of(part, part->segments == 1 ? 0 : segment, &bytes);
    const MPI_Count room = volume(block.count, block.type);
    if (bytes > room) {
        reader->error = MPI_ERR_TRUNCATE;
        explain_error(": %lld bytes from rank %d, room for %lld", (long long)bytes, peer, (long long)room);
    } else if (!has_whole_elements(block.type, bytes)) {
        reader->error = MPI_ERR_TYPE;
    }
    unpack(block.at, block.count, block.type, data, bytes < room ? bytes : room);
}

static void read_all(struct reader *reader) {
    struct collective *collective = reader->collective;
    const struct arguments *arguments = &collective->arguments;
    const int peer_count = peers(collective->communicator)->size, rank = collective->communicator->rank;
    const bool is_inter = collective->communicator->remote != NULL;
    switch (arguments->verb) {
        case BARRIER:  // ranks really wait for each other: they may share files
            for (int i = 0; i < peer_count; i++)
                if (part_from(collective, i, is_inter) == NULL) reader->is_there = false;
            break;
        case BCAST:
            if (takes_part(collective) && !is_root(collective))
                read_segment(reader, arguments->root, 0, whole_received(arguments));
            break;
        case GATHER:
        case GATHERV:
            for (int i = 0; is_root(collective) && i < peer_count; i++)
                if (arguments->sendbuf != MPI_IN_PLACE || i != rank)
                    read_segment(reader, i, 0, received_block(arguments, i));
            break;
        case SCATTER:
        case SCATTERV:
            if (takes_part(collective) && !(is_inter && is_root(collective)) && arguments->recvbuf != MPI_IN_PLACE)
                read_segment(reader, arguments->root, rank, whole_received(arguments));
            break;
        case ALLGATHER:
        case ALLGATHERV:
            for (int i = 0; i < peer_count; i++) read_segment(reader, i, 0, received_block(arguments, i));
            break;
        case ALLTOALL:
        case ALLTOALLV:
        case ALLTOALLW:
            for (int i = 0; i < peer_count; i++) read_segment(reader, i, rank, received_block(arguments, i));
            break;
        default: break;
    }
}

static bool have_equal_parts(struct reader *reader, int last, bool is_inter) {
    MPI_Count first, bytes;
    data_of(part_from(reader->collective, 0, is_inter), 0, &first);
    for (int i = 1; i <= last; i++) {
        data_of(part_from(reader->collective, i, is_inter), 0, &bytes);
        if (bytes == first) continue;
        reader->error = MPI_ERR_TRUNCATE;
        explain_error(": %lld bytes from rank %d, %lld from rank 0", (long long)bytes, i, (long long)first);
        return false;
    }
    return true;
}

// Reduce the elements from `first` on over ranks 0 to `last`, in rank order.
static void combine(struct reader *reader, int last, MPI_Count first, MPI_Count count, void *result) {
    struct collective *collective = reader->collective;
    const struct arguments *arguments = &collective->arguments;
    struct datatype *type = datatype_of(arguments->recvtype);
    const MPI_Count bytes = volume(count, type);
    if (bytes == 0) return;
    const bool is_inter = collective->communicator->remote != NULL;
    for (int i = 0; reader->is_there && i <= last; i++) reader->is_there = part_from(collective, i, is_inter) != NULL;
    if (!reader->copies || !reader->is_there || !have_equal_parts(reader, last, is_inter)) return;
    struct operation *operation = operation_of(arguments->op);
    // The first rank reduces for all; with a user operation each rank does, as it has to call the function.
    uint64_t *const shared =
        arguments->verb == ALLREDUCE && !is_inter && is_built_in(arguments->op) ? result_of(collective->call) : NULL;
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
        MPI_Count ignored_bytes;
        const char *data = data_of(part_from(collective, i, is_inter), 0, &ignored_bytes) + volume(first, type);
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
    struct collective *collective = reader->collective;
    const struct arguments *arguments = &collective->arguments;
    const int rank = collective->communicator->rank, peer_count = peers(collective->communicator)->size;
    MPI_Count first = 0;
    switch (arguments->verb) {
        case REDUCE:
            if (is_root(collective)) combine(reader, peer_count - 1, 0, arguments->recvcount, arguments->recvbuf);
            break;
        case ALLREDUCE: combine(reader, peer_count - 1, 0, arguments->recvcount, arguments->recvbuf); break;
        case SCAN: combine(reader, rank, 0, arguments->recvcount, arguments->recvbuf); break;
        case EXSCAN:
            if (rank > 0) combine(reader, rank - 1, 0, arguments->recvcount, arguments->recvbuf);
            break;
        case REDUCE_SCATTER:
            for (int i = 0; i < rank; i++) first += arguments->recvcounts[i];
            combine(reader, peer_count - 1, first, arguments->recvcounts[rank], arguments->recvbuf);
            break;
        default:
            combine(reader, peer_count - 1, rank * arguments->recvcount, arguments->recvcount, arguments->recvbuf);
            break;
    }
}

static bool read_parts(struct collective *collective, bool copies) {
    if (!copies && has_all_parts(collective->call)) return true;
    struct reader reader = {collective, copies, true, MPI_SUCCESS};
    reduces(collective->arguments.verb) ? read_reduced(&reader) : read_all(&reader);
    if (copies && reader.is_there) collective->error = reader.error;
    return reader.is_there;
}

// ---- the call as the simulator gets it

static MPI_Count bytes_of(MPI_Count count, MPI_Datatype handle) {  // 0 where there is no such type
    const struct datatype *type = datatype_of(handle);
    return type ? volume(count, type) : 0;
}

static void list_bytes(int64_t *to, const MPI_Count *counts, const MPI_Datatype *types, MPI_Datatype type, int size) {
    for (int i = 0; i < size; i++) to[i] = bytes_of(counts[i], types ? types[i] : type);
}

static bool has_request(const struct collective *collective) { return collective->number >> 31; }

// The call with only those fields that matter to its algorithm, so that equal calls are expanded once.
static uint64_t describe_call(const struct collective *collective) {
    const struct arguments *arguments = &collective->arguments;
    const enum verb verb = arguments->verb;
    const int rank = collective->communicator->rank;
    const int size = verb == REDUCE_SCATTER ? size_of(collective->communicator) : peers(collective->communicator)->size;
    const bool in_place = arguments->sendbuf == MPI_IN_PLACE, root = is_root(collective),
               reduced = reduces(verb) || verb == BCAST;
    const bool has_sent = verb == ALLTOALLV || verb == ALLTOALLW || (verb == SCATTERV && root);
    const bool has_received = arguments->recvcounts != NULL && (verb != GATHERV || root);
    const uint64_t offset = new_call((int)verb, has_sent ? size : 0, has_received ? size : 0);
    struct online_call *call = call_at(offset);
    if (has_sent && in_place)
        list_bytes(call->counts, arguments->recvcounts, arguments->recvtypes, arguments->recvtype, size);
    else if (has_sent)
        list_bytes(call->counts, arguments->sendcounts, arguments->sendtypes, arguments->sendtype, size);
    if (has_received)
        list_bytes(call->counts + call->sent_count, arguments->recvcounts, arguments->recvtypes, arguments->recvtype,
                   size);
    const MPI_Count received = arguments->recvcounts ? 0 : bytes_of(arguments->recvcount, arguments->recvtype);
    const MPI_Count sent = in_place || reduced     ? received
                           : arguments->sendcounts ? 0
                                                   : bytes_of(arguments->sendcount, arguments->sendtype);
    call->sent = sent;
    if (in_place && (verb == GATHERV || verb == ALLGATHERV))
        call->sent = bytes_of(arguments->recvcounts[rank], arguments->recvtype);
    if (verb == SCATTER && !root) call->sent = 0;
    if (!reduced && (verb != GATHER || root)) call->received = received;
    if (verb == SCATTER && arguments->recvbuf == MPI_IN_PLACE) call->received = sent;
    if (verb == SCATTERV && arguments->recvbuf == MPI_IN_PLACE)
        call->received = bytes_of(arguments->sendcounts[rank], arguments->sendtype);
    if (has_root(verb)) call->root = collective->communicator->remote && root ? IS_ROOT : arguments->root;
    if (reduced) call->element = bytes_of(1, arguments->recvtype);
    if (reduces(verb) && !is_built_in(arguments->op))
        call->operator_kind = is_commutative(operation_of(arguments->op)) ? 1 : 2;
    call->in_place = verb == ALLTOALL && in_place;
    call->is_pending = has_request(collective);
    call->is_derived = reduces(verb) && !datatype_of(arguments->recvtype)->is_basic;
    return offset;
}

// ---- beginning and end

static int call_beside_threads(const struct arguments *arguments);

// What all ranks have alike.
static int kind_of(const struct arguments *arguments, const struct communicator *communicator) {
    const int root = has_root(arguments->verb) && communicator->remote == NULL ? arguments->root : 0;
    return (int)arguments->verb + 64 * root;
}

// Non-blocking and persistent collectives are numbered apart, as their order among blocking ones may differ between
// ranks; persistent ones when they are made, as their starts may come in any order.
struct collective *new_collective(const struct arguments *arguments, bool has_request) {
    struct collective *collective = allocate_zeroed(1, sizeof *collective);
    collective->arguments = *arguments;
    struct communicator *communicator = collective->communicator = communicator_of(arguments->comm);
    collective->number = has_request ? 1u << 31 | communicator->request_count++ : communicator->collectives++;
    keep_communicator(collective->communicator);
    note_collective(communicator, kind_of(arguments, communicator), has_request);
    return collective;
}

// Whether a reduction is that of the rank that came first.
static void compare_reduction(const struct collective *collective) {
    const struct arguments *arguments = &collective->arguments;
    const int position = position_of(collective->communicator, collective->communicator->rank, false);
    struct part *part = online_at(world, part_of(collective->call, position));
    part->op = arguments->op;
    const struct part *first = online_at(world, first_part(collective->call));
    if (first == part || part->segments != 1 || first->segments != 1) return;
    if (is_built_in(arguments->op) ? first->op != part->op : is_built_in(first->op))
        accuse_at("operations of a reduction", first->call_site, current_site(), "%s here, %s there",
                  operation_name(first->op), operation_name(part->op));
    if (!is_alike(contents_of(first)[0], contents_of(part)[0], false))
        accuse_contents(first, current_site(), contents_of(first)[0], contents_of(part)[0],
                        "%s reduced here, %s there");
}

static void start(struct collective *collective) {
    const struct arguments *arguments = &collective->arguments;
    const int kind = kind_of(arguments, collective->communicator);
    collective->call =
        join_call(collective->communicator, collective->number, collective->start, kind, pack_contribution(collective));
    if (is_checked() && reduces(arguments->verb)) compare_reduction(collective);
}

static bool is_alone(const struct collective *collective) {
    return size_of(collective->communicator) == 1 && collective->communicator->remote == NULL;
}

// Tell the simulator. Without buffers, no rank leaves before all have come.
static void act_now(const struct collective *collective) {
    if (is_alone(collective) || !takes_part(collective)) return;
    act_on(collective->communicator, collective->call, describe_call(collective));
    if (world->buffered_limit < 0.0 && collective->communicator->remote == NULL &&
        collective->arguments.verb != BARRIER)
        act_on(collective->communicator, collective->call, new_call(BARRIER, 0, 0));
}

// For data of a root, give the turn to the simulator: meanwhile roots run ahead, which saves turns.
static void await_parts(const struct collective *collective) {
    const enum verb verb = collective->arguments.verb;
    const bool is_from_root = verb == BCAST || verb == SCATTER || verb == SCATTERV;
    is_from_root || collective->communicator->remote != NULL ? yield() : await_all_parts(collective->call);
}

static int take_parts(struct collective *collective) {
    bool yielded = false;
    while (!read_parts(collective, false)) {
        if (yielded) progress();
        if (yielded) act(AWAIT, -2, NONE, NONE, 1e-6);
        await_parts(collective);
        yielded = true;
    }
    read_parts(collective, true);
    leave_call(collective->call);
    return collective->error;
}

static int call_alone(const struct arguments *arguments) {
    struct collective *collective = new_collective(arguments, false);
    if (is_checked()) use_collective_buffers(collective);
    start(collective);
    act_now(collective);
    const int error = take_parts(collective);
    free_collective(collective);
    return error;
}

int call_collective(const struct arguments *arguments) {
    if (is_of_neighbors(arguments->verb)) return neighbor_collective(arguments);
    enter(arguments->name);
    struct communicator *communicator = communicator_of(arguments->comm);
    int error = check_arguments(arguments, communicator);
    if (error == MPI_SUCCESS) error = has_threads() ? call_beside_threads(arguments) : call_alone(arguments);
    if (error != MPI_SUCCESS) error = fail(communicator, error);
    return leave_with(error);
}

// ---- non-blocking and persistent

static void begin_pending(struct collective *collective) {
    if (is_ahead()) yield();  // else others would see the data too early
    start(collective);
    begin_batch();
    act_now(collective);
    collective->batch = end_batch();
    if (world->begins_at_call && has_request(collective)) progress();
}

static void act_pending(struct collective *collective) {
    if (collective->batch != 0) wait_for_batch(collective->batch);
    collective->batch = 0;
}

void free_collective(struct collective *collective) {
    act_pending(collective);
    for (int i = 0; i < 2; i++) {
        free(collective->counts[i]);
        free(collective->displacements[i]);
        free(collective->types[i]);
    }
    for (size_t i = 0; i < collective->datatype_count; i++) drop_datatype(collective->datatypes[i]);
    free(collective->datatypes);
    if (collective->operation != NULL) drop_operation(collective->operation);
    drop_communicator(collective->communicator);
    free(collective);
}

static void *copy_array(const void *from, size_t size) {
    if (from == NULL) return NULL;
    void *copy = allocate(size + 1);
    return memcpy(copy, from, size);
}

static void keep(struct collective *collective, const MPI_Datatype *types, size_t count) {
    for (size_t i = 0; types != NULL && i < count; i++) {
        struct datatype *type = datatype_of(types[i]);
        if (type == NULL) continue;
        keep_datatype(type);
        collective->datatypes[collective->datatype_count++] = type;
    }
}

void copy_arguments(struct collective *collective, size_t sent, size_t received) {
    struct arguments *arguments = &collective->arguments;
    arguments->sendcounts = collective->counts[0] = copy_array(arguments->sendcounts, sizeof(MPI_Count) * sent);
    arguments->recvcounts = collective->counts[1] = copy_array(arguments->recvcounts, sizeof(MPI_Count) * received);
    arguments->sdispls = collective->displacements[0] = copy_array(arguments->sdispls, sizeof(MPI_Aint) * sent);
    arguments->rdispls = collective->displacements[1] = copy_array(arguments->rdispls, sizeof(MPI_Aint) * received);
    arguments->sendtypes = collective->types[0] = copy_array(arguments->sendtypes, sizeof(MPI_Datatype) * sent);
    arguments->recvtypes = collective->types[1] = copy_array(arguments->recvtypes, sizeof(MPI_Datatype) * received);
    collective->datatypes = allocate(sizeof *collective->datatypes * (sent + received + 2));
    keep(collective, arguments->sendtypes, sent);
    keep(collective, arguments->recvtypes, received);
    keep(collective, &arguments->sendtype, 1);
    keep(collective, &arguments->recvtype, 1);
    collective->operation = reduces(arguments->verb) ? keep_operation(arguments->op) : NULL;
}

// ---- collectives as requests

static int restart(struct request *request) {
    struct collective *collective = request->state;
    note_start(request);
    collective->start++;
    begin_pending(collective);
    return MPI_SUCCESS;
}

static bool is_over(const struct request *request) {
    const struct collective *collective = request->state;
    return collective->batch == 0 || is_batch_over(collective->batch);
}

static bool is_done(const struct request *request, bool is_answered) {
    (void)is_answered;
    return request->is_shown || (is_over(request) && read_parts(request->state, false));
}

static int finish(struct request *request, MPI_Status *status) {
    (void)status;
    struct collective *collective = request->state;
    if (request->is_shown) return collective->error;
    act_pending(collective);
    const int error = take_parts(collective);
    return error == MPI_SUCCESS ? collective->later_error : error;
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

static void watch(struct request *request) { watch_collective(request, request->state); }

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
    .watch = watch,
};

static struct request *new_collective_request(const struct arguments *arguments, bool is_ordered_apart) {
    struct request *request = new_request(&collective_requests, communicator_of(arguments->comm));
    keep_communicator(request->communicator);
    request->state = new_collective(arguments, is_ordered_apart);
    return request;
}

// As a request, so that other threads go on meanwhile.
static int call_beside_threads(const struct arguments *arguments) {
    struct request *request = new_collective_request(arguments, false);
    request->is_active = true;
    begin_pending(request->state);
    return wait_for(request, MPI_STATUS_IGNORE);
}

static int request_collective(const struct arguments *arguments, MPI_Request *handle, bool is_persistent) {
    if (is_of_neighbors(arguments->verb)) return request_neighbor_collective(arguments, handle, is_persistent);
    enter(arguments->name);
    struct communicator *communicator = communicator_of(arguments->comm);
    int error = check_arguments(arguments, communicator);
    if (error == MPI_SUCCESS) {
        struct request *request = new_collective_request(arguments, true);
        struct collective *collective = request->state;
        const bool significant = !has_root(arguments->verb) || is_root(collective);
        const size_t size = significant ? (size_t)peers(communicator)->size : 0;
        copy_arguments(collective, size, arguments->verb == REDUCE_SCATTER ? (size_t)size_of(communicator) : size);
        request->is_persistent = is_persistent;
        request->is_active = !is_persistent;
        if (!is_persistent) start_watch(request);
        if (!is_persistent) begin_pending(collective);
        *handle = request->handle;
    } else {
        error = fail(communicator, error);
    }
    return leave_with(error);
}

int begin_collective(const struct arguments *arguments, MPI_Request *request) {
    return request_collective(arguments, request, false);
}
int prepare_collective(const struct arguments *arguments, MPI_Request *request) {
    return request_collective(arguments, request, true);
}
