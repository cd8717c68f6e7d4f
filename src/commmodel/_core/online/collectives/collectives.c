// Collective operations: the call that the simulator times, its beginning and its end, blocking or as a request.
//
// Data are copied directly from the parts of other ranks; the time is that of the algorithm that the simulator selects.
#include "online/collectives/collectives.h"

#include "online/collectives/contributions.h"
#include "online/collectives/exchange.h"
#include "online/collectives/uses.h"
#include "online/datatypes/reductions.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/findings.h"
#include "online/runtime/operations.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

static bool is_of_neighbors(enum verb verb) { return verb >= NEIGHBOR_ALLGATHER; }

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
    struct communicator *communicator = request->communicator;
    if (communicator->thread_count++ > 0)
        accuse("collectives in different orders",
               "another thread of the rank is in a collective on the same communicator, so that nothing orders them");
    keep_communicator(communicator);
    request->is_active = true;
    start_watch(request);
    begin_pending(request->state);
    const int error = wait_for(request, MPI_STATUS_IGNORE);
    communicator->thread_count--;
    drop_communicator(communicator);
    return error;
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
