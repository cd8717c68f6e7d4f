// Partitioned messages: a persistent message whose parts become ready one by one. It goes whole, when the last part is
// ready, so that all parts arrive at once.
#include "online/messages/point_to_point.h"
#include "online/messages/statuses.h"
#include "online/messages/watches.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/findings.h"
#include "online/runtime/turns.h"

// A send and a receive that match one another, in the order in which they were made, for as long as both are there. Their
// messages have a tag of their own, below those of windows.
struct pair {
    uint64_t next;  // among those that lack one of the two, or whose number is free
    int32_t context, tag, sender, receiver, number;
    bool has_sender, has_receiver;
    int32_t sends, receives;  // how often they were started
    int32_t users;
};

static uint64_t *lacking(const struct pair *like, bool receives) {
    for (uint64_t *link = &world->half_pairs; *link != 0;) {
        struct pair *pair = online_at(world, *link);
        if (pair->context == like->context && pair->tag == like->tag && pair->sender == like->sender &&
            pair->receiver == like->receiver && !(receives ? pair->has_receiver : pair->has_sender))
            return link;
        link = &pair->next;
    }
    return NULL;
}

// The last of the pairs that lack one of the two.
static uint64_t *end_of_half_pairs(void) {
    uint64_t *link = &world->half_pairs;
    while (*link != 0) link = &((struct pair *)online_at(world, *link))->next;
    return link;
}

static struct pair *new_pair(const struct pair *like) {
    uint64_t offset = world->free_pairs;
    int32_t number = world->pair_count;
    if (offset != 0) {
        const struct pair *old = online_at(world, offset);
        world->free_pairs = old->next;
        number = old->number;
    } else {
        if (number == 1 << 20) abort_all(2, "more than %d partitioned messages", number);
        offset = allocate_shared(sizeof(struct pair), "a partitioned message");
        world->pair_count++;
    }
    struct pair *pair = online_at(world, offset);
    *pair = *like;
    pair->number = number;
    *end_of_half_pairs() = offset;
    return pair;
}

static struct pair *join_pair(const struct communicator *communicator, int peer, int tag, bool receives) {
    const int other = world_rank(communicator, peer);
    const struct pair like = {.context = communicator->context,
                              .tag = tag,
                              .sender = receives ? other : my_rank,
                              .receiver = receives ? my_rank : other};
    uint64_t *const link = lacking(&like, receives);
    struct pair *pair;
    if (link != NULL) {
        pair = online_at(world, *link);
        *link = pair->next;
    } else {
        pair = new_pair(&like);
    }
    *(receives ? &pair->has_receiver : &pair->has_sender) = true;
    pair->users++;
    return pair;
}

// One of the two is freed. Where both are, and all messages received, others may have the number.
static void leave_pair(struct pair *pair) {
    if (--pair->users > 0 || !pair->has_sender || !pair->has_receiver || pair->sends != pair->receives) return;
    pair->next = world->free_pairs;
    world->free_pairs = online_offset(world, pair);
}

static int prepare(const char *name, const struct request_kind *kind, void *buffer, int partitions, MPI_Count count,
                   MPI_Datatype datatype, int peer, int tag, MPI_Comm comm, MPI_Request *handle) {
    struct communicator *communicator = communicator_of(comm);
    struct datatype *type = datatype_of(datatype);
    int error = check_message(communicator, peer, tag, buffer, partitions > 0 ? count : 0, type, false);
    if (error == MPI_SUCCESS && partitions < 0) error = MPI_ERR_ARG;
    if (error != MPI_SUCCESS) return fail(communicator, error);
    enter(name);
    struct request *request = new_request(kind, communicator);
    keep_communicator(communicator);
    keep_datatype(type);
    request->is_persistent = true;
    request->buffer = buffer;
    request->type = type;
    request->count = count * partitions;
    request->peer = peer;
    request->tag = tag;
    if (peer != MPI_PROC_NULL) {
        struct pair *const pair = join_pair(communicator, peer, tag, kind->is_receive);
        request->state = pair;
        request->tag = -(3 << 20) - pair->number;
    }
    request->program_tag = tag;
    request->partitions = partitions;
    *handle = request->handle;
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_Psend_init(const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                          MPI_Comm comm, MPI_Info info, MPI_Request *request) {
    (void)info;
    return prepare("MPI_Psend_init", &partitioned_sends, (void *)buf, partitions, count, datatype, dest, tag, comm,
                   request);
}

EXPORT int MPI_Precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                          MPI_Comm comm, MPI_Info info, MPI_Request *request) {
    (void)info;
    return prepare("MPI_Precv_init", &partitioned_receives, buf, partitions, count, datatype, dest, tag, comm, request);
}

static int start_partitioned_send(struct request *request) {
    note_start(request);
    request->name = NONE;
    request->ready_count = 0;
    request->ready = reallocate(request->ready, (size_t)request->partitions + 1);
    memset(request->ready, 0, (size_t)request->partitions);
    if (request->state != NULL) ((struct pair *)request->state)->sends++;
    return request->partitions == 0 ? start_send(request) : MPI_SUCCESS;
}

static int start_partitioned_receive(struct request *request) {
    if (request->state != NULL) ((struct pair *)request->state)->receives++;
    return start_receive(request);
}

// What is ready must not change until the message is over.
static void watch_partitions(struct request *request, int first, int last) {
    if (!is_checked() || request->state == NULL) return;
    const size_t room = (size_t)request->partitions;
    if (request->partition_watches == NULL)
        request->partition_watches = allocate_zeroed(room, sizeof *request->partition_watches);
    const MPI_Count partition_count = request->count / request->partitions;
    request->partition_watches[first] =
        watch_buffer(SENT, (char *)request->buffer + first * partition_count * request->type->extent,
                     (last - first + 1) * partition_count, request->type);
}

static int finish_partitioned_send(struct request *request, MPI_Status *status) {
    (void)status;
    for (int i = 0; request->partition_watches != NULL && i < request->partitions; i++)
        end_watch(&request->partition_watches[i]);
    return MPI_SUCCESS;
}

static void release_partitions(struct request *request) {
    for (int i = 0; request->partition_watches != NULL && i < request->partitions; i++)
        drop_watch(&request->partition_watches[i]);
    free(request->partition_watches);
    free(request->ready);
    if (request->state != NULL) leave_pair(request->state);
}

static void take_early(struct request *request) {
    end_watch(&request->watches[0]);
    if (!request->is_shown) take_data(request, MPI_STATUS_IGNORE);
    request->is_shown = true;
}

static int finish_partitioned_receive(struct request *request, MPI_Status *status) {
    if (!request->is_shown) return take_data(request, status);
    request->is_shown = false;
    set_status(status, request->peer, request->program_tag, volume(request->count, request->type));
    return MPI_SUCCESS;
}

const struct request_kind partitioned_sends = {
    .start = start_partitioned_send, .finish = finish_partitioned_send, .release = release_partitions};
const struct request_kind partitioned_receives = {
    .start = start_partitioned_receive,
    .expect = expect_data,
    .finish = finish_partitioned_receive,
    .show = show_data,
    .tell = tell_message,
    .cancel = cancel_receive,
    .release = release_partitions,
    .is_receive = true,
    .watch = watch_message,
};

EXPORT int MPI_Pready_range(int first, int last, MPI_Request handle) {
    struct request *request = request_of(handle);
    if (request == NULL || request->kind != &partitioned_sends || !request->is_active)
        return fail_world(MPI_ERR_REQUEST);
    if (first < 0 || last < first || last >= request->partitions) return fail(request->communicator, MPI_ERR_ARG);
    for (int i = first; i <= last; i++)
        if (request->ready[i]) return fail(request->communicator, MPI_ERR_ARG);
    enter("MPI_Pready");
    watch_partitions(request, first, last);
    memset(request->ready + first, 1, (size_t)(last - first + 1));
    request->ready_count += last - first + 1;
    if (request->ready_count == request->partitions) start_send(request);
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_Pready(int partition, MPI_Request request) { return MPI_Pready_range(partition, partition, request); }

EXPORT int MPI_Pready_list(int length, const int partitions[], MPI_Request request) {
    for (int i = 0; i < length; i++) {
        const int error = MPI_Pready(partitions[i], request);
        if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
}

EXPORT int MPI_Parrived(MPI_Request handle, int partition, int *flag) {
    struct request *request = request_of(handle);
    if (request == NULL || request->kind != &partitioned_receives) return fail_world(MPI_ERR_REQUEST);
    if (partition < 0 || partition >= request->partitions) return fail(request->communicator, MPI_ERR_ARG);
    *flag = 1;
    if (request->is_active && request->peer != MPI_PROC_NULL && !request->is_shown) {
        MPI_Request_get_status(handle, flag, MPI_STATUS_IGNORE);
        if (*flag) take_early(request);
    }
    return MPI_SUCCESS;
}
