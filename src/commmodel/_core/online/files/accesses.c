// Reading and writing files: at an offset, at the rank's pointer or at the shared one; alone or together.
//
// Data move at once, in the order of simulated time; the time is that of the storage. A rank that accesses a file alone
// has an operation of the storage for each contiguous part; ranks that do so together have one each, as they would sort
// the parts among them.
#include "online/collectives/exchange.h"
#include "online/files/files.h"
#include "online/messages/requests.h"
#include "online/messages/statuses.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/operations.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

enum pointer { OF_CALL, OF_RANK, OF_FILE, IN_ORDER };

struct access {
    const char *name;
    bool writes, is_collective;
    enum pointer pointer;
    MPI_File file;
    MPI_Offset offset;
    void *buffer;
    MPI_Count count;
    MPI_Datatype datatype;
};

static int check_access(const struct access *access) {
    const struct ADIOI_FileD *file = access->file;
    const struct datatype *type = datatype_of(access->datatype);
    if (access->count < 0) return MPI_ERR_COUNT;
    if (type == NULL || !type->is_committed) return MPI_ERR_TYPE;
    if (access->pointer == OF_CALL && access->offset < 0) return MPI_ERR_ARG;
    if (file->mode & MPI_MODE_SEQUENTIAL && access->pointer < OF_FILE) return MPI_ERR_UNSUPPORTED_OPERATION;
    if (access->writes && file->mode & MPI_MODE_RDONLY) return MPI_ERR_READ_ONLY;
    if (!access->writes && file->mode & MPI_MODE_WRONLY) return MPI_ERR_ACCESS;
    if (file->etype->size > 0 && volume(access->count, type) % file->etype->size != 0) {
        explain_error(": %lld bytes are no whole elementary types of the view, of %lld bytes each",
                      (long long)volume(access->count, type), (long long)file->etype->size);
        return MPI_ERR_IO;
    }
    return check_memory(access->buffer, access->count, type);
}

// Ranks come together; where they go in order, each gets its number of elementary types after those of lower ranks. They
// do so again, with no number, where they have written.
static MPI_Offset come_together(const struct access *access, MPI_Offset length) {
    struct ADIOI_FileD *file = access->file;
    const size_t size = (size_t)size_of(file->communicator);
    MPI_Offset *const lengths = allocate(sizeof *lengths * size), total = 0, before = 0;
    gather_all(file->communicator, access->name, &length, sizeof length, lengths, NULL, 0);
    for (size_t i = 0; i < size; i++) {
        if (i == (size_t)file->communicator->rank) before = total;
        total += lengths[i];
    }
    free(lengths);
    if (access->pointer != IN_ORDER || length == NONE) return 0;
    struct shared_file *shared = shared_of(file);
    if (shared->ordered_calls == file->ordered_calls++) {  // the first that goes on
        shared->ordered_calls++;
        shared->base = shared->pointer;
        shared->pointer += total;
    }
    return shared->base + before;
}

static MPI_Offset first_of(const struct access *access, MPI_Offset length) {
    struct ADIOI_FileD *file = access->file;
    int64_t *const pointer = access->pointer == OF_FILE ? &shared_of(file)->pointer : &file->position;
    if (access->pointer == OF_CALL) return access->offset;
    const MPI_Offset first = *pointer;
    *pointer += length;
    return first;
}

// Move data between memory and file; returns an error.
static int move(const struct access *access, MPI_Offset first, MPI_Count *moved, MPI_Count *parts) {
    const struct ADIOI_FileD *file = access->file;
    const struct datatype *type = datatype_of(access->datatype);
    const MPI_Count bytes = volume(access->count, type);
    const MPI_Offset begin = first * file->etype->size;
    const bool is_external = strcmp(file->representation, "external32") == 0;
    if (is_dense(type) && !is_external)
        return move_bytes(file, access->writes, begin, (char *)access->buffer + type->runs[0].offset, bytes, moved,
                          parts);
    char *const packed = allocate((size_t)bytes + 1);
    MPI_Count position = 0, size = 0;
    int error = MPI_SUCCESS;
    if (is_external && (MPI_Pack_external_size_c("external32", access->count, access->datatype, &size), size != bytes))
        error = MPI_ERR_UNSUPPORTED_DATAREP;
    if (error == MPI_SUCCESS && access->writes) {
        is_external ? (void)MPI_Pack_external_c("external32", access->buffer, access->count, access->datatype, packed,
                                                bytes, &position)
                    : (void)pack(access->buffer, access->count, type, packed);
    }
    if (error == MPI_SUCCESS) error = move_bytes(file, access->writes, begin, packed, bytes, moved, parts);
    if (error == MPI_SUCCESS && !access->writes && *moved > 0) {
        is_external ? (void)MPI_Unpack_external_c("external32", packed, bytes, &position, access->buffer,
                                                  *moved / (type->size ? type->size : 1), access->datatype)
                    : (void)unpack(access->buffer, access->count, type, packed, *moved);
    }
    free(packed);
    return error;
}

// Begin an access; `request` is its name for the simulator, NONE where it is waited for.
static int begin_access(const struct access *access, int request, MPI_Count *moved) {
    const struct ADIOI_FileD *file = access->file;
    const struct datatype *type = datatype_of(access->datatype);
    const MPI_Offset length = file->etype->size ? volume(access->count, type) / file->etype->size : 0;
    come_in_order();
    MPI_Offset first = access->is_collective ? come_together(access, length) : 0;
    if (access->pointer != IN_ORDER) first = first_of(access, length);
    MPI_Count parts = 0;
    const int error = move(access, first, moved, &parts);
    if (error == MPI_SUCCESS) use_storage(access->is_collective || parts == 0 ? 1 : parts, *moved, request);
    return error;
}

static void tell_bytes(MPI_Status *status, MPI_Count bytes) {
    empty_status(status);
    if (status != MPI_STATUS_IGNORE) set_status(status, status->MPI_SOURCE, status->MPI_TAG, bytes);
}

static int access_now(const struct access *access, MPI_Status *status) {
    FILE_OR_FAIL(access->file);
    MPI_Count moved = 0;
    enter(access->name);
    int error = check_access(access);
    if (error == MPI_SUCCESS) error = begin_access(access, NONE, &moved);
    if (error == MPI_SUCCESS && access->is_collective && access->writes) come_together(access, NONE);
    if (error == MPI_SUCCESS) tell_bytes(status, moved);
    return leave_with(error == MPI_SUCCESS ? error : fail_file(access->file, error));
}

// ---- later

static int finish(struct request *request, MPI_Status *status) {
    tell_bytes(status, request->count);
    return MPI_SUCCESS;
}
static void tell(const struct request *request, MPI_Status *status) { tell_bytes(status, request->count); }

static const struct request_kind file_requests = {.finish = finish, .tell = tell};

static int access_later(const struct access *access, MPI_Request *handle) {
    FILE_OR_FAIL(access->file);
    MPI_Count moved = 0;
    enter(access->name);
    int error = check_access(access);
    const int name = world->has_storage ? next_name() : NONE;
    if (error == MPI_SUCCESS) error = begin_access(access, name, &moved);
    if (error == MPI_SUCCESS) {
        struct request *request = new_request(&file_requests, NULL);
        request->is_active = true;
        request->name = name;
        request->count = moved;
        *handle = request->handle;
    }
    return leave_with(error == MPI_SUCCESS ? error : fail_file(access->file, error));
}

static int begin_split(const struct access *access) {
    FILE_OR_FAIL(access->file);
    struct split *split = &access->file->split;
    if (split->name != NULL) {
        explain_error(": %s has not ended", split->name);
        return fail_file(access->file, MPI_ERR_OTHER);
    }
    enter(access->name);
    int error = check_access(access);
    const int name = world->has_storage ? next_name() : NONE;
    MPI_Count moved = 0;
    if (error == MPI_SUCCESS) error = begin_access(access, name, &moved);
    if (error == MPI_SUCCESS) *split = (struct split){access->name, moved, name};
    return leave_with(error == MPI_SUCCESS ? error : fail_file(access->file, error));
}

// `begin` is the name of the call that it ends.
static int end_split(const char *begin, const char *end, MPI_File file, MPI_Status *status) {
    FILE_OR_FAIL(file);
    if (file->split.name == NULL || strcmp(file->split.name, begin) != 0) {
        explain_error(": %s has not been called", begin);
        return fail_file(file, MPI_ERR_OTHER);
    }
    enter(end);
    if (file->split.request != NONE) await_named(1, &file->split.request);
    tell_bytes(status, file->split.bytes);
    file->split.name = NULL;
    return leave_with(MPI_SUCCESS);
}

// ---- the functions

#define OFFSET_OF_CALL MPI_Offset offset,
#define ACCESS_OF(name, writes, is_collective, pointer, offset) \
    &(struct access){name, writes, is_collective, pointer, file, offset, (void *)buf, count, datatype}

#define FUNCTIONS(verb, Buffer, writes, infix, offset_parameter, offset, is_collective, pointer)                \
    EXPORT int MPI_File_##verb##infix##_c(MPI_File file, offset_parameter Buffer buf, MPI_Count count,          \
                                          MPI_Datatype datatype, MPI_Status *status) {                          \
        return access_now(ACCESS_OF("MPI_File_" #verb #infix, writes, is_collective, pointer, offset), status); \
    }
#define LATER_FUNCTIONS(verb, Buffer, writes, infix, offset_parameter, offset, pointer)                     \
    EXPORT int MPI_File_i##verb##infix##_c(MPI_File file, offset_parameter Buffer buf, MPI_Count count,     \
                                           MPI_Datatype datatype, MPI_Request *request) {                   \
        return access_later(ACCESS_OF("MPI_File_i" #verb #infix, writes, false, pointer, offset), request); \
    }
#define SPLIT_FUNCTIONS(verb, Buffer, writes, infix, offset_parameter, offset, pointer)                      \
    EXPORT int MPI_File_##verb##infix##_begin_c(MPI_File file, offset_parameter Buffer buf, MPI_Count count, \
                                                MPI_Datatype datatype) {                                     \
        return begin_split(ACCESS_OF("MPI_File_" #verb #infix "_begin", writes, true, pointer, offset));     \
    }                                                                                                        \
    EXPORT int MPI_File_##verb##infix##_end(MPI_File file, Buffer buf, MPI_Status *status) {                 \
        (void)buf;                                                                                           \
        return end_split("MPI_File_" #verb #infix "_begin", "MPI_File_" #verb #infix "_end", file, status);  \
    }
#define NO_PARAMETER
#define ALL_FUNCTIONS(verb, Buffer, writes)                                         \
    FUNCTIONS(verb, Buffer, writes, _at, OFFSET_OF_CALL, offset, false, OF_CALL)    \
    FUNCTIONS(verb, Buffer, writes, _at_all, OFFSET_OF_CALL, offset, true, OF_CALL) \
    FUNCTIONS(verb, Buffer, writes, , NO_PARAMETER, 0, false, OF_RANK)              \
    FUNCTIONS(verb, Buffer, writes, _all, NO_PARAMETER, 0, true, OF_RANK)           \
    FUNCTIONS(verb, Buffer, writes, _shared, NO_PARAMETER, 0, false, OF_FILE)       \
    FUNCTIONS(verb, Buffer, writes, _ordered, NO_PARAMETER, 0, true, IN_ORDER)      \
    LATER_FUNCTIONS(verb, Buffer, writes, _at, OFFSET_OF_CALL, offset, OF_CALL)     \
    LATER_FUNCTIONS(verb, Buffer, writes, _at_all, OFFSET_OF_CALL, offset, OF_CALL) \
    LATER_FUNCTIONS(verb, Buffer, writes, , NO_PARAMETER, 0, OF_RANK)               \
    LATER_FUNCTIONS(verb, Buffer, writes, _all, NO_PARAMETER, 0, OF_RANK)           \
    LATER_FUNCTIONS(verb, Buffer, writes, _shared, NO_PARAMETER, 0, OF_FILE)        \
    SPLIT_FUNCTIONS(verb, Buffer, writes, _at_all, OFFSET_OF_CALL, offset, OF_CALL) \
    SPLIT_FUNCTIONS(verb, Buffer, writes, _all, NO_PARAMETER, 0, OF_RANK)           \
    SPLIT_FUNCTIONS(verb, Buffer, writes, _ordered, NO_PARAMETER, 0, IN_ORDER)

ALL_FUNCTIONS(read, void *, false)
ALL_FUNCTIONS(write, const void *, true)
