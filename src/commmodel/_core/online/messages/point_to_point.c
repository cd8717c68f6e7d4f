// Messages from one rank to another.
#include "online/messages/point_to_point.h"

#include "online/datatypes/signatures.h"
#include "online/messages/buffers.h"
#include "online/messages/messages.h"
#include "online/messages/statuses.h"
#include "online/messages/watches.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/copies.h"
#include "online/runtime/decisions.h"
#include "online/runtime/findings.h"
#include "online/runtime/history.h"
#include "online/runtime/operations.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

int check_message(const struct communicator *communicator, int peer, int tag, const void *buffer, MPI_Count count,
                  const struct datatype *type, bool receives) {
    if (communicator == NULL) return MPI_ERR_COMM;
    if (peer != MPI_PROC_NULL && !(receives && peer == MPI_ANY_SOURCE) &&
        (peer < 0 || peer >= peers(communicator)->size)) {
        return MPI_ERR_RANK;
    }
    if (!(receives && tag == MPI_ANY_TAG) && (tag < 0 || tag > LARGEST_TAG)) return MPI_ERR_TAG;
    if (count > 0 && peer == MPI_PROC_NULL) count = 0;
    return check_memory(buffer, count > 0 && receives ? 1 : count, type);  // messages may be shorter
}

static void send_now(const struct request *request, int code, int name) {
    post_message(request->communicator, request->peer, request->tag, request->buffer, request->count, request->type,
                 request->receipt);
    act(code, world_rank(request->communicator, request->peer), wide_tag(request->communicator, request->tag), name,
        (double)volume(request->count, request->type));
}

int start_send(struct request *request) {
    note_start(request);
    request->name = NONE;
    if (request->peer == MPI_PROC_NULL) return MPI_SUCCESS;
    request->name = next_name();
    if (request->is_buffered) {
        const int name = request->name,
                  error = take_room(request->communicator, volume(request->count, request->type), name);
        request->name = NONE;
        request->is_active = error == MPI_SUCCESS;
        if (error == MPI_SUCCESS) send_now(request, ISEND, name);
        return error;
    }
    if (request->is_synchronous && request->receipt == 0)
        request->receipt = allocate_shared(sizeof(uint64_t), "a message's receipt");
    if (request->receipt != 0) *(uint64_t *)online_at(world, request->receipt) = 0;
    send_now(request, request->is_synchronous ? ISSEND : ISEND, request->name);
    return MPI_SUCCESS;
}

static int simulated_source(const struct request *request) {
    return request->peer == MPI_ANY_SOURCE ? request->chosen_source : world_rank(request->communicator, request->peer);
}

// Note a receive that is posted next, and what is prescribed for it.
static void note_posting(struct request *request) {
    if (!notes_decisions()) return;
    request->is_noted = false;
    request->decision = request->chosen_source = NONE;
    request->posting = next_posting();
    if (request->peer != MPI_ANY_SOURCE) return;
    await_orders();
    request->chosen_source = next_choice();
    request->decision = new_decision(A_RECEIVE, wide_tag(request->communicator, request->tag));
}

// Note the message of a receive, which the program knows from now on.
void note_message(struct request *request) {
    if (!notes_decisions() || request->message == 0 || request->is_noted) return;
    request->is_noted = true;
    const struct online_message *message = online_at(world, request->message);
    note_arrival(request->posting, message);
    if (request->decision != NONE) decide(request->decision, message->source, message);
}

int start_receive(struct request *request) {
    note_start(request);
    request->name = NONE;
    if (request->peer == MPI_PROC_NULL) return MPI_SUCCESS;
    note_posting(request);
    const int source = simulated_source(request), tag = wide_tag(request->communicator, request->tag);
    post_receive(request, source, tag);
    act(IRECV, source, tag, request->name, -1.0);
    return MPI_SUCCESS;
}

// Give up a receive that has no message at this time; whether that is so.
static bool withdraw_receive(struct request *request) {
    if (request->name == NONE) return request->message == 0;
    bool done;
    ask_done(1, &request->name, &done);
    if (done) return false;
    act(WITHDRAW, simulated_source(request), wide_tag(request->communicator, request->tag), request->name, 0.0);
    ask_done(1, &request->name, &done);
    if (done) forget_receive(request);  // else its message is on the way
    return done;
}

// ---- sends and receives as requests

static bool is_received(const struct request *request, bool is_over) {
    return is_over && (request->receipt == 0 || *(const uint64_t *)online_at(world, request->receipt) != 0);
}

// The receive has begun, and with it all that its rank did before.
static int finish_send(struct request *request, MPI_Status *status) {
    (void)status;
    if (request->receipt != 0) learn_all_of(world_rank(request->communicator, request->peer));
    return MPI_SUCCESS;
}

static void release_receipt(struct request *request) {
    if (request->receipt != 0 && *(uint64_t *)online_at(world, request->receipt)) online_free(world, request->receipt);
}

bool expect_data(struct request *request) {
    if (request->peer == MPI_PROC_NULL || request->is_shown || has_message(request)) return true;
    expect_message(request);
    return false;
}

static void tell_bytes(const struct request *request, MPI_Count bytes, MPI_Status *status) {
    const struct online_message *message = online_at(world, request->message);
    set_status(status, rank_in(peers(request->communicator), message->source),
               message->tag < 0 ? request->program_tag : message->tag & LARGEST_TAG, bytes);
}

void tell_message(const struct request *request, MPI_Status *status) {
    if (request->message != 0)
        tell_bytes(request, ((struct online_message *)online_at(world, request->message))->bytes, status);
}

void show_data(struct request *request) {
    if (request->is_shown || !has_message(request)) return;
    const struct online_message *message = online_at(world, request->message);
    const MPI_Count room = volume(request->count, request->type);
    unpack(request->buffer, request->count, request->type, message->data,
           message->bytes < room ? message->bytes : room);
}

static void compare_types(const struct request *request, const struct online_message *message) {
    const struct content sent = {message->signature, message->repeats};
    const struct content received = content_of(request->count, request->type);
    if (message->bytes > volume(request->count, request->type) || is_alike(sent, received, true)) return;
    char from[128], to[128];
    describe_content(sent, from, sizeof from);
    describe_content(received, to, sizeof to);
    accuse_at("type signature", message->call_site, request->call_site ? request->call_site : current_site(),
              "%s sent, %s received", from, to);
}

int take_data(struct request *request, MPI_Status *status) {
    if (request->is_cancelled) return MPI_SUCCESS;
    if (request->peer == MPI_PROC_NULL) {
        set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
        return MPI_SUCCESS;
    }
    if (!has_message(request)) abort_all(2, "internal error: rank %d completes a receive that has no message", my_rank);
    note_message(request);
    const struct online_message *message = online_at(world, request->message);
    const MPI_Count room = volume(request->count, request->type);
    const MPI_Count bytes = message->bytes < room ? message->bytes : room;
    if (message->signature != 0) compare_types(request, message);
    int error = message->bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        explain_error(": %lld bytes from rank %d with tag %d, room for %lld", (long long)message->bytes,
                      rank_in(peers(request->communicator), message->source),
                      message->tag < 0 ? request->program_tag : message->tag & LARGEST_TAG, (long long)room);
    else if (!has_whole_elements(request->type, bytes))
        error = MPI_ERR_TYPE;
    else if (bytes > 0)
        error = check_memory(request->buffer, 1 + (bytes - 1) / request->type->size, request->type);
    if (error != MPI_ERR_BUFFER) unpack(request->buffer, request->count, request->type, message->data, bytes);
    tell_bytes(request, bytes, status);
    learn(message->history);
    online_free(world, message->history);
    online_free(world, request->message);
    request->message = 0;
    return error;
}

int cancel_receive(struct request *request) {
    if (!request->is_active || request->is_cancelled) return MPI_SUCCESS;
    enter("MPI_Cancel");
    request->is_cancelled = withdraw_receive(request);
    if (request->is_cancelled) drop_watch(&request->watches[0]);
    return leave_with(MPI_SUCCESS);
}

void watch_message(struct request *request) {
    if (request->peer == MPI_PROC_NULL) return;
    request->watches[0] =
        watch_buffer(request->kind->is_receive ? RECEIVED : SENT, request->buffer, request->count, request->type);
}

const struct request_kind sends = {
    .start = start_send,
    .is_done = is_received,
    .finish = finish_send,
    .release = release_receipt,
    .watch = watch_message,
};
const struct request_kind receives = {
    .start = start_receive,
    .expect = expect_data,
    .finish = take_data,
    .show = show_data,
    .tell = tell_message,
    .cancel = cancel_receive,
    .is_receive = true,
    .watch = watch_message,
};

// A message or receive with the arguments of a call; its error where one is wrong.
static int init_request(struct request *request, const struct request_kind *kind, const void *buffer, MPI_Count count,
                        MPI_Datatype datatype, int peer, int tag, MPI_Comm comm) {
    struct communicator *communicator = communicator_of(comm);
    const bool is_empty = (peer == MPI_PROC_NULL || count == 0) && datatype == MPI_DATATYPE_NULL;  // as MPICH
    struct datatype *type = datatype_of(is_empty ? MPI_BYTE : datatype);
    const int error = check_message(communicator, peer, tag, buffer, count, type, kind->is_receive);
    if (error != MPI_SUCCESS) return fail(communicator, error);
    memset(request, 0, sizeof *request);
    request->kind = kind;
    request->communicator = communicator;
    request->type = type;
    request->buffer = (void *)buffer;
    request->count = count;
    request->peer = peer;
    request->tag = tag;
    request->name = request->decision = request->chosen_source = NONE;
    return MPI_SUCCESS;
}

static int new_message(const struct request_kind *kind, const void *buffer, MPI_Count count, MPI_Datatype datatype,
                       int peer, int tag, MPI_Comm comm, struct request **made_request) {
    struct request arguments;
    const int error = init_request(&arguments, kind, buffer, count, datatype, peer, tag, comm);
    if (error != MPI_SUCCESS) return error;
    struct request *request = new_request(kind, arguments.communicator);
    const MPI_Request handle = request->handle;
    *request = arguments;
    request->handle = handle;
    request->call_site = current_site();
    keep_communicator(request->communicator);
    keep_datatype(request->type);
    *made_request = request;
    return MPI_SUCCESS;
}

// ---- blocking

static void learn_of_receive(const struct request *request) {
    if (is_ahead()) yield();
    learn_all_of(world_rank(request->communicator, request->peer));
}

// As a request, so that other threads go on meanwhile.
static int send_beside_threads(int code, const void *buffer, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                               MPI_Comm comm) {
    struct request *request;
    const int error = new_message(&sends, buffer, count, datatype, dest, tag, comm, &request);
    if (error != MPI_SUCCESS) return error;
    request->is_synchronous = code == SSEND;
    start_watch(request);
    start_send(request);
    return wait_for(request, MPI_STATUS_IGNORE);
}

static int receive_beside_threads(void *buffer, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                                  MPI_Comm comm, MPI_Status *status) {
    struct request *request;
    int error = new_message(&receives, buffer, count, datatype, source, tag, comm, &request);
    if (error != MPI_SUCCESS) return error;
    start_watch(request);
    start_receive(request);
    error = wait_for(request, status);
    return error == MPI_SUCCESS ? error : fail(communicator_of(comm), error);
}

static int send(const char *name, int code, const void *buffer, MPI_Count count, MPI_Datatype datatype, int dest,
                int tag, MPI_Comm comm) {
    enter(name);
    struct request request;
    const int error = init_request(&request, &sends, buffer, count, datatype, dest, tag, comm);
    if (error == MPI_SUCCESS && has_threads() &&
        (code == SSEND || (double)volume(count, request.type) > world->buffered_limit))
        return leave_with(send_beside_threads(code, buffer, count, datatype, dest, tag, comm));
    if (error == MPI_SUCCESS && dest != MPI_PROC_NULL) {
        use_buffer(SENT, buffer, count, request.type);
        send_now(&request, code, NONE);
        if (code == SSEND && has_history()) learn_of_receive(&request);
    }
    return leave_with(error);
}

EXPORT int MPI_Send_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
    return send("MPI_Send", SEND, buf, count, datatype, dest, tag, comm);
}
EXPORT int MPI_Ssend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
    return send("MPI_Ssend", SSEND, buf, count, datatype, dest, tag, comm);
}
EXPORT int MPI_Rsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
    return send("MPI_Rsend", SEND, buf, count, datatype, dest, tag, comm);
}
EXPORT int MPI_Bsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
    enter("MPI_Bsend");
    struct request request;
    int error = init_request(&request, &sends, buf, count, datatype, dest, tag, comm);
    if (error == MPI_SUCCESS) {
        request.is_buffered = true;
        if (dest != MPI_PROC_NULL) use_buffer(SENT, buf, count, request.type);
        error = start_send(&request);
        if (error != MPI_SUCCESS) error = fail(request.communicator, error);
    }
    return leave_with(error);
}

// Post a receive and wait for its message.
void receive_now(struct request *request) {
    request->is_blocking = true;
    note_posting(request);
    const int source = simulated_source(request), tag = wide_tag(request->communicator, request->tag);
    post_receive(request, source, tag);
    act(RECV, source, tag, request->name & FIRST_REPORTED ? request->name : NONE, -1.0);
    if (has_message(request)) return;
    this_rank->missing = 0;
    expect_message(request);
    yield();
}

EXPORT int MPI_Recv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                      MPI_Status *status) {
    enter("MPI_Recv");
    if (has_threads()) return leave_with(receive_beside_threads(buf, count, datatype, source, tag, comm, status));
    struct request request;
    int error = init_request(&request, &receives, buf, count, datatype, source, tag, comm);
    if (error == MPI_SUCCESS) {
        if (source != MPI_PROC_NULL) {
            use_buffer(RECEIVED, buf, count, request.type);
            receive_now(&request);
        }
        error = finish_request(&request, status);
        if (error != MPI_SUCCESS) error = fail(request.communicator, error);
    }
    return leave_with(error);
}

// Start the receive and the send of an exchange, which become `pair`.
static int start_exchange(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                          void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                          MPI_Comm comm, bool is_blocking, struct request *pair[2]) {
    int error = new_message(&sends, sendbuf, sendcount, sendtype, dest, sendtag, comm, &pair[1]);
    if (error != MPI_SUCCESS) return error;
    error = new_message(&receives, recvbuf, recvcount, recvtype, source, recvtag, comm, &pair[0]);
    if (error != MPI_SUCCESS) {
        free_request(pair[1]);
        return error;
    }
    pair[0]->is_blocking = is_blocking;
    start_watch(pair[0]);
    if (sendbuf != recvbuf || strstr(program_call, "_replace") == NULL) start_watch(pair[1]);
    start_receive(pair[0]);
    start_send(pair[1]);
    return MPI_SUCCESS;
}

EXPORT int MPI_Sendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                          void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                          MPI_Comm comm, MPI_Status *status) {
    enter("MPI_Sendrecv");
    struct request *pair[2];
    int error = start_exchange(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                               recvtag, comm, !has_threads(), pair);
    if (error == MPI_SUCCESS) {
        error = wait_for(pair[0], status);
        wait_for(pair[1], MPI_STATUS_IGNORE);
        if (error != MPI_SUCCESS) error = fail(communicator_of(comm), error);
    }
    return leave_with(error);
}

EXPORT int MPI_Sendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source,
                                  int recvtag, MPI_Comm comm, MPI_Status *status) {
    return MPI_Sendrecv_c(buf, count, datatype, dest, sendtag, buf, count, datatype, source, recvtag, comm, status);
}

// ---- non-blocking

enum mode { STANDARD, SYNCHRONOUS, BUFFERED };

static int begin(const char *name, const struct request_kind *kind, enum mode mode, const void *buffer, MPI_Count count,
                 MPI_Datatype datatype, int peer, int tag, MPI_Comm comm, MPI_Request *handle, bool is_persistent) {
    enter(name);
    struct request *request;
    int error = new_message(kind, buffer, count, datatype, peer, tag, comm, &request);
    if (error == MPI_SUCCESS) {
        request->is_persistent = is_persistent;
        request->is_synchronous = mode == SYNCHRONOUS;
        request->is_buffered = mode == BUFFERED;
        if (!is_persistent) start_watch(request);
        if (!is_persistent) error = kind->start(request);
        *handle = request->handle;
        if (error != MPI_SUCCESS) {
            error = fail(request->communicator, error);
            free_request(request);
            *handle = MPI_REQUEST_NULL;
        }
    }
    return leave_with(error);
}

#define SEND_FORMS(Form, form, mode)                                                                            \
    EXPORT int MPI_I##form##_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,      \
                               MPI_Comm comm, MPI_Request *request) {                                           \
        return begin("MPI_I" #form, &sends, mode, buf, count, datatype, dest, tag, comm, request, false);       \
    }                                                                                                           \
    EXPORT int MPI_##Form##_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,  \
                                   MPI_Comm comm, MPI_Request *request) {                                       \
        return begin("MPI_" #Form "_init", &sends, mode, buf, count, datatype, dest, tag, comm, request, true); \
    }

SEND_FORMS(Send, send, STANDARD)
SEND_FORMS(Ssend, ssend, SYNCHRONOUS)
SEND_FORMS(Rsend, rsend, STANDARD)
SEND_FORMS(Bsend, bsend, BUFFERED)

EXPORT int MPI_Irecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                       MPI_Request *request) {
    return begin("MPI_Irecv", &receives, STANDARD, buf, count, datatype, source, tag, comm, request, false);
}

EXPORT int MPI_Recv_init_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                           MPI_Request *request) {
    return begin("MPI_Recv_init", &receives, STANDARD, buf, count, datatype, source, tag, comm, request, true);
}

EXPORT int MPI_Isendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                           void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                           MPI_Comm comm, MPI_Request *request) {
    enter("MPI_Isendrecv");
    struct request *pair[2];
    const int error = start_exchange(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                                     recvtag, comm, false, pair);
    if (error == MPI_SUCCESS) {
        struct request *joint = new_request(&joint_requests, communicator_of(comm));
        keep_communicator(joint->communicator);
        joint->is_active = true;
        joint->parts = allocate(sizeof pair);
        memcpy(joint->parts, pair, sizeof pair);
        joint->part_count = 2;
        *request = joint->handle;
    }
    return leave_with(error);
}

EXPORT int MPI_Isendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source,
                                   int recvtag, MPI_Comm comm, MPI_Request *request) {
    return MPI_Isendrecv_c(buf, count, datatype, dest, sendtag, buf, count, datatype, source, recvtag, comm, request);
}
