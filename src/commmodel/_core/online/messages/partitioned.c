// Partitioned messages: a persistent message whose parts become ready one by one. It goes whole, when the last part is
// ready, so that all parts arrive at once.
#include "online/messages/point_to_point.h"
#include "online/messages/statuses.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/turns.h"

struct partitioned_tag {  // of a communicator's tag
    uint64_t next;
    int32_t context, tag, number;
};

// They match one another alone: tags of their own, below those of windows.
static int partitioned_tag(const struct communicator *communicator, int tag) {
    const struct partitioned_tag *last = world->partitioned_tags ? online_at(world, world->partitioned_tags) : NULL;
    for (uint64_t offset = world->partitioned_tags; offset != 0;) {
        const struct partitioned_tag *entry = online_at(world, offset);
        if (entry->context == communicator->context && entry->tag == tag) return -(3 << 20) - entry->number;
        offset = entry->next;
    }
    const int number = last == NULL ? 0 : last->number + 1;
    if (number == 1 << 20) abort_all(2, "more than %d tags of partitioned messages", number);
    const uint64_t offset = allocate_shared(sizeof(struct partitioned_tag), "a tag");
    *(struct partitioned_tag *)online_at(world, offset) =
        (struct partitioned_tag){world->partitioned_tags, communicator->context, tag, number};
    world->partitioned_tags = offset;
    return -(3 << 20) - number;
}

static int prepare(const char *name, const struct request_kind *kind, void *buffer, int partitions, MPI_Count count,
                   MPI_Datatype datatype, int peer, int tag, MPI_Comm comm, MPI_Request *handle) {
    struct communicator *communicator = communicator_of(comm);
    struct datatype *type = datatype_of(datatype);
    int error = check_message(communicator, peer, tag, count, type, false);
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
    request->tag = partitioned_tag(communicator, tag);
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
    request->is_active = true;
    request->name = NONE;
    request->ready_count = 0;
    request->ready = reallocate(request->ready, (size_t)request->partitions + 1);
    memset(request->ready, 0, (size_t)request->partitions);
    return request->partitions == 0 ? start_send(request) : MPI_SUCCESS;
}

static void release_partitions(struct request *request) { free(request->ready); }

static void take_early(struct request *request) {
    if (!request->is_shown) take_data(request, MPI_STATUS_IGNORE);
    request->is_shown = true;
}

static int finish_partitioned_receive(struct request *request, MPI_Status *status) {
    if (!request->is_shown) return take_data(request, status);
    request->is_shown = false;
    set_status(status, request->peer, request->program_tag, volume(request->count, request->type));
    return MPI_SUCCESS;
}

const struct request_kind partitioned_sends = {.start = start_partitioned_send, .release = release_partitions};
const struct request_kind partitioned_receives = {
    .start = start_receive,
    .expect = expect_data,
    .finish = finish_partitioned_receive,
    .show = show_data,
    .tell = tell_message,
    .cancel = cancel_receive,
    .is_receive = true,
};

EXPORT int MPI_Pready_range(int first, int last, MPI_Request handle) {
    struct request *request = request_of(handle);
    if (request == NULL || request->kind != &partitioned_sends || !request->is_active)
        return fail_world(MPI_ERR_REQUEST);
    if (first < 0 || last < first || last >= request->partitions) return fail(request->communicator, MPI_ERR_ARG);
    for (int i = first; i <= last; i++)
        if (request->ready[i]) return fail(request->communicator, MPI_ERR_ARG);
    enter("MPI_Pready");
    memset(request->ready + first, 1, (size_t)(last - first + 1));
    request->ready_count += last - first + 1;
    if (request->ready_count == request->partitions) start_send(request);
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_Pready(int partition, MPI_Request request) { return MPI_Pready_range(partition, partition, request); }

EXPORT int MPI_Pready_list(int length, CONST_SINCE_4_1 int partitions[], MPI_Request request) {
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
