// Probes, and receives of the messages that they have matched.
#include "online/messages/point_to_point.h"

#include "online/messages/messages.h"
#include "online/messages/statuses.h"
#include "online/messages/watches.h"
#include "online/objects/handles.h"
#include "online/runtime/calls.h"
#include "online/runtime/copies.h"
#include "online/runtime/decisions.h"
#include "online/runtime/operations.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

// Ask the simulator for a message; its source and tag are the simulator's, before and after.
static bool find(int *source, int *tag) {
    this_rank->question = ONLINE_MESSAGE;
    this_rank->source = *source;
    this_rank->tag = *tag;
    yield();
    *source = this_rank->source;
    *tag = this_rank->tag;
    return this_rank->answer;
}

static const struct online_message *message_at(uint64_t offset) { return online_at(world, offset); }

// The status of a message that is still there.
static void tell_probed(struct communicator *communicator, int source, int tag, MPI_Status *status) {
    const uint64_t offset = first_message(source, tag);
    if (offset == 0) abort_all(2, "internal error: rank %d has probed a message that is not there", my_rank);
    set_status(status, rank_in(peers(communicator), source), tag & LARGEST_TAG, message_at(offset)->bytes);
}

// Look for a message; wait for it where that is wanted.
static int probe(int source, int tag, MPI_Comm comm, bool waits, int *flag, MPI_Message *message, MPI_Status *status) {
    struct communicator *communicator = communicator_of(comm);
    struct datatype *bytes = datatype_of(MPI_BYTE);
    const int error = check_message(communicator, source, tag, NULL, 0, bytes, true);
    if (error != MPI_SUCCESS) return fail(communicator, error);
    *flag = 1;
    if (source == MPI_PROC_NULL) {
        if (message != NULL) *message = MPI_MESSAGE_NO_PROC;
        set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
        return MPI_SUCCESS;
    }
    struct request *request = NULL;
    if (message != NULL) {
        request = new_request(&receives, communicator);
        keep_communicator(communicator);
        request->peer = source;
        request->tag = tag;
    }
    int from = source == MPI_ANY_SOURCE ? NONE : world_rank(communicator, source), with = wide_tag(communicator, tag);
    const bool is_decision = notes_decisions() && source == MPI_ANY_SOURCE && (!waits || message == NULL);
    const int pattern = with;
    const int outcome = waits ? NONE : new_test(A_LOOK, from, with);
    if (is_decision) {
        await_orders();
        from = next_choice();
    }
    if (!waits || message == NULL || has_threads()) {
        if (!waits) before_poll();
        while (!(*flag = outcome != 0 && find(&from, &with)) && (waits || outcome == 1))
            has_threads() ? await_change(1.0 / 0.0) : act(AWAIT, from, with, NONE, 1.0 / 0.0);
        if (!waits) after_poll(*flag);
        if (!waits) decide_test(*flag);
        if (!*flag) {
            if (request != NULL) free_request(request);
            return MPI_SUCCESS;
        }
        if (is_decision) decide(new_decision(A_PROBE, pattern), from, message_at(first_message(from, with)));
        if (message == NULL) {
            tell_probed(communicator, from, with, status);
            return MPI_SUCCESS;
        }
        request->peer = rank_in(peers(communicator), from);
        request->tag = with & LARGEST_TAG;
    }
    receive_now(request);  // a matched probe is the receive
    has_message(request);
    note_message(request);
    const struct online_message *content = message_at(request->message);
    set_status(status, rank_in(peers(communicator), content->source), content->tag & LARGEST_TAG, content->bytes);
    *message = new_handle(MESSAGE, request);
    return MPI_SUCCESS;
}

EXPORT int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
    enter("MPI_Probe");
    int flag;
    return leave_with(probe(source, tag, comm, true, &flag, NULL, status));
}

EXPORT int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
    enter("MPI_Iprobe");
    return leave_with(probe(source, tag, comm, false, flag, NULL, status));
}

EXPORT int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
    enter("MPI_Mprobe");
    int flag;
    return leave_with(probe(source, tag, comm, true, &flag, message, status));
}

EXPORT int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status) {
    enter("MPI_Improbe");
    return leave_with(probe(source, tag, comm, false, flag, message, status));
}

// The receive of a matched message, which has arrived already.
static int init_matched(void *buffer, MPI_Count count, MPI_Datatype datatype, MPI_Message *message,
                        struct request **request) {
    struct datatype *type = datatype_of(datatype);
    const int error = check_memory(buffer, count, type);
    if (error != MPI_SUCCESS) return fail_world(error);
    if (*message == MPI_MESSAGE_NO_PROC) {
        *request = new_request(&receives, NULL);
        (*request)->peer = MPI_PROC_NULL;
    } else {
        *request = object_of(MESSAGE, *message);
        if (*request == NULL) return fail_world(MPI_ERR_REQUEST);
        drop_handle(MESSAGE, *message);
    }
    (*request)->buffer = buffer;
    (*request)->count = count;
    (*request)->type = type;
    (*request)->name = NONE;
    (*request)->is_active = true;
    keep_datatype(type);
    *message = MPI_MESSAGE_NULL;
    return MPI_SUCCESS;
}

EXPORT int MPI_Mrecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status) {
    enter("MPI_Mrecv");
    struct request *request;
    int error = init_matched(buf, count, datatype, message, &request);
    if (error == MPI_SUCCESS) {
        if (request->peer != MPI_PROC_NULL) use_buffer(RECEIVED, buf, count, request->type);
        error = wait_for(request, status);
        if (error != MPI_SUCCESS) error = fail_world(error);
    }
    return leave_with(error);
}

EXPORT int MPI_Imrecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *handle) {
    enter("MPI_Imrecv");
    struct request *request;
    const int error = init_matched(buf, count, datatype, message, &request);
    if (error == MPI_SUCCESS) {
        start_watch(request);
        *handle = request->handle;
    }
    return leave_with(error);
}
