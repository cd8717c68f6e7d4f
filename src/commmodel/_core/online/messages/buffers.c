// Buffers of buffered sends. Messages are copied in any case: a buffer is only how much may be under way.
//
// A buffered send is over for the program at once, and for the simulator when its buffer is flushed or detached.
#include "online/messages/buffers.h"

#include "online/messages/requests.h"
#include "online/objects/handles.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/operations.h"

static struct buffer of_process, of_sessions;  // all sessions have one

static struct buffer *buffer_of(const struct communicator *communicator) {
    if (communicator->buffer != NULL) return communicator->buffer;
    return communicator->is_of_session && of_sessions.address != NULL ? &of_sessions : &of_process;
}

// Forget the sends that are over; returns the bytes of the others.
static MPI_Count bytes_under_way(struct buffer *buffer) {
    int *const names = allocate(sizeof(int) * (size_t)(buffer->count + 1));
    bool *const done = allocate(sizeof(bool) * (size_t)(buffer->count + 1));
    for (int i = 0; i < buffer->count; i++) names[i] = buffer->sends[i].name;
    ask_done(buffer->count, names, done);
    MPI_Count bytes = 0;
    int remaining = 0;
    for (int i = 0; i < buffer->count; i++) {
        if (done[i]) continue;
        bytes += buffer->sends[i].bytes;
        buffer->sends[remaining++] = buffer->sends[i];
    }
    buffer->count = remaining;
    free(names);
    free(done);
    return bytes;
}

static bool has_room(struct buffer *buffer, MPI_Count bytes) {
    if (buffer->address == MPI_BUFFER_AUTOMATIC) return true;
    if (buffer->address == NULL) return false;
    MPI_Count sum = bytes;
    for (int i = 0; i < buffer->count; i++) sum += buffer->sends[i].bytes;
    return sum <= buffer->size || bytes_under_way(buffer) + bytes <= buffer->size;
}

int take_room(struct communicator *communicator, MPI_Count bytes, int name) {
    struct buffer *buffer = buffer_of(communicator);
    bytes += MPI_BSEND_OVERHEAD;
    if (!has_room(buffer, bytes)) return MPI_ERR_BUFFER;
    if (buffer->count == buffer->room) {
        buffer->room = buffer->room ? 2 * buffer->room : 16;
        buffer->sends = reallocate(buffer->sends, sizeof *buffer->sends * (size_t)buffer->room);
    }
    buffer->sends[buffer->count++] = (struct buffered){name, bytes};
    return MPI_SUCCESS;
}

// ---- what the process, a communicator and sessions have in common

static int attach_buffer(struct communicator *communicator, struct buffer *buffer, void *address, MPI_Count size) {
    if (buffer->address != NULL) return fail(communicator, MPI_ERR_BUFFER);
    if (size < 0) return fail(communicator, MPI_ERR_BUFFER);
    buffer->address = address;
    buffer->size = size;
    return MPI_SUCCESS;
}

static int flush_buffer(const char *call, struct buffer *buffer) {
    enter(call);
    for (int i = 0; i < buffer->count; i++) act(WAIT, NONE, NONE, buffer->sends[i].name, 0.0);
    buffer->count = 0;
    return leave_with(MPI_SUCCESS);
}

static int detach_buffer(const char *call, struct buffer *buffer, void *address, MPI_Count *size) {
    flush_buffer(call, buffer);
    *(void **)address = buffer->address;
    *size = buffer->size;
    free(buffer->sends);
    *buffer = (struct buffer){NULL};
    return MPI_SUCCESS;
}

// A request for the sends so far, which keep their room until they are over.
static int begin_flush(const char *call, const struct buffer *buffer, MPI_Request *handle) {
    enter(call);
    struct request *request = new_request(&joint_requests, NULL);
    request->is_active = true;
    request->parts = allocate(sizeof *request->parts * (size_t)(buffer->count + 1));
    for (int i = 0; i < buffer->count; i++) {
        struct request *part = request->parts[i] = new_request(&sends, NULL);
        part->is_active = true;
        part->name = buffer->sends[i].name;
    }
    request->part_count = buffer->count;
    *handle = request->handle;
    return leave_with(MPI_SUCCESS);
}

void flush_buffers(void) {
    flush_buffer("MPI_Finalize", &of_process);
    flush_buffer("MPI_Finalize", &of_sessions);
}

// ---- of the process

static struct communicator *world_communicator(void) { return communicator_of(MPI_COMM_WORLD); }

EXPORT int MPI_Buffer_attach_c(void *buffer, MPI_Count size) {
    return attach_buffer(world_communicator(), &of_process, buffer, size);
}
EXPORT int MPI_Buffer_detach_c(void *buffer_addr, MPI_Count *size) {
    return detach_buffer("MPI_Buffer_detach", &of_process, buffer_addr, size);
}
EXPORT int MPI_Buffer_flush(void) { return flush_buffer("MPI_Buffer_flush", &of_process); }
EXPORT int MPI_Buffer_iflush(MPI_Request *request) { return begin_flush("MPI_Buffer_iflush", &of_process, request); }

// ---- of a communicator

EXPORT int MPI_Comm_attach_buffer_c(MPI_Comm comm, void *buffer, MPI_Count size) {
    COMMUNICATOR_OR_FAIL(communicator, comm);
    if (communicator->buffer == NULL) communicator->buffer = allocate_zeroed(1, sizeof *communicator->buffer);
    return attach_buffer(communicator, communicator->buffer, buffer, size);
}
EXPORT int MPI_Comm_detach_buffer_c(MPI_Comm comm, void *buffer_addr, MPI_Count *size) {
    COMMUNICATOR_OR_FAIL(communicator, comm);
    if (communicator->buffer == NULL) return fail(communicator, MPI_ERR_BUFFER);
    detach_buffer("MPI_Comm_detach_buffer", communicator->buffer, buffer_addr, size);
    drop_buffer(communicator);
    return MPI_SUCCESS;
}
EXPORT int MPI_Comm_flush_buffer(MPI_Comm comm) {
    COMMUNICATOR_OR_FAIL(communicator, comm);
    return flush_buffer("MPI_Comm_flush_buffer", buffer_of(communicator));
}
EXPORT int MPI_Comm_iflush_buffer(MPI_Comm comm, MPI_Request *request) {
    COMMUNICATOR_OR_FAIL(communicator, comm);
    return begin_flush("MPI_Comm_iflush_buffer", buffer_of(communicator), request);
}

// ---- of sessions

#define SESSION_OR_FAIL(handle) \
    if (object_of(SESSION, handle) == NULL) return fail_world(MPI_ERR_SESSION)

EXPORT int MPI_Session_attach_buffer_c(MPI_Session session, void *buffer, MPI_Count size) {
    SESSION_OR_FAIL(session);
    return attach_buffer(world_communicator(), &of_sessions, buffer, size);
}
EXPORT int MPI_Session_detach_buffer_c(MPI_Session session, void *buffer_addr, MPI_Count *size) {
    SESSION_OR_FAIL(session);
    return detach_buffer("MPI_Session_detach_buffer", &of_sessions, buffer_addr, size);
}
EXPORT int MPI_Session_flush_buffer(MPI_Session session) {
    SESSION_OR_FAIL(session);
    return flush_buffer("MPI_Session_flush_buffer", &of_sessions);
}
EXPORT int MPI_Session_iflush_buffer(MPI_Session session, MPI_Request *request) {
    SESSION_OR_FAIL(session);
    return begin_flush("MPI_Session_iflush_buffer", &of_sessions, request);
}
