// Views of files: which bytes of it a rank sees, in which order; and pointers into them.
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "online/files/files.h"
#include "online/objects/handles.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/operations.h"
#include "online/runtime/turns.h"

// ---- from bytes of a view to bytes of the file

struct cursor {  // in a view
    MPI_Offset tile;
    MPI_Count run, repeat, inside;
};

static struct cursor cursor_of(const struct ADIOI_FileD *file, MPI_Offset bytes) {
    const struct datatype *type = file->filetype;
    struct cursor cursor = {bytes / type->size, 0, 0, 0};
    MPI_Count left = bytes % type->size;
    while (left >= type->runs[cursor.run].length * type->runs[cursor.run].repeats) {
        left -= type->runs[cursor.run].length * type->runs[cursor.run].repeats;
        cursor.run++;
    }
    cursor.repeat = left / type->runs[cursor.run].length;
    cursor.inside = left % type->runs[cursor.run].length;
    return cursor;
}

static MPI_Offset offset_of(const struct ADIOI_FileD *file, const struct cursor *cursor) {
    const struct run *run = &file->filetype->runs[cursor->run];
    return file->displacement + cursor->tile * file->filetype->extent + run->offset + cursor->repeat * run->stride +
           cursor->inside;
}

// Pass contiguous bytes, at most so many; returns how many.
static MPI_Count pass(const struct ADIOI_FileD *file, struct cursor *cursor, MPI_Count most) {
    const struct datatype *type = file->filetype;
    const struct run *run = &type->runs[cursor->run];
    const MPI_Count rest = run->length - cursor->inside;
    if (most < rest) {
        cursor->inside += most;
        return most;
    }
    cursor->inside = 0;
    if (++cursor->repeat < run->repeats) return rest;
    cursor->repeat = 0;
    if (++cursor->run < type->run_count) return rest;
    cursor->run = 0;
    cursor->tile++;
    return rest;
}

// Read or write contiguous bytes of the file; returns how many, fewer at its end, NONE where the system refuses.
static MPI_Count move_part(int descriptor, bool writes, MPI_Offset begin, char *memory, MPI_Count bytes) {
    MPI_Count moved = 0;
    while (moved < bytes) {
        const size_t rest = (size_t)(bytes - moved);
        const ssize_t number = writes ? pwrite(descriptor, memory + moved, rest, begin + moved)
                                      : pread(descriptor, memory + moved, rest, begin + moved);
        if (number < 0 && errno == EINTR) continue;
        if (number < 0) return NONE;
        if (number == 0) break;
        moved += number;
    }
    return moved;
}

int move_bytes(const struct ADIOI_FileD *file, bool writes, MPI_Offset begin, char *memory, MPI_Count bytes,
               MPI_Count *moved, MPI_Count *parts) {
    *moved = *parts = 0;
    if (bytes == 0 || file->filetype->size == 0) return MPI_SUCCESS;
    const bool is_whole = is_dense(file->filetype);
    struct cursor cursor = is_whole ? (struct cursor){0} : cursor_of(file, begin);
    while (*moved < bytes) {
        MPI_Offset first = offset_of(file, &cursor) + (is_whole ? begin : 0);
        MPI_Count length = is_whole ? bytes : pass(file, &cursor, bytes - *moved);
        while (*moved + length < bytes && offset_of(file, &cursor) == first + length)
            length += pass(file, &cursor, bytes - *moved - length);
        const MPI_Count number = move_part(file->descriptor, writes, first, memory + *moved, length);
        if (number < 0) return error_of_system();
        ++*parts;
        *moved += number;
        if (number < length) break;
    }
    return MPI_SUCCESS;
}

MPI_Offset end_in_view(const struct ADIOI_FileD *file) {
    struct stat status;
    const struct datatype *type = file->filetype;
    if (fstat(file->descriptor, &status) != 0 || type->size == 0 || file->etype->size == 0) return 0;
    const MPI_Offset end = status.st_size;
    MPI_Offset bytes = 0;
    if (is_dense(type)) {
        bytes = end - file->displacement - type->runs[0].offset;
    } else {
        struct cursor cursor = {.tile = (end - file->displacement - type->true_lower) / type->extent - 1};
        if (cursor.tile < 0) cursor.tile = 0;
        bytes = cursor.tile * type->size;
        for (MPI_Offset at; (at = offset_of(file, &cursor)) < end;) bytes += pass(file, &cursor, end - at);
    }
    return bytes < 0 ? 0 : (bytes + file->etype->size - 1) / file->etype->size;
}

// ---- views

static void take_view(struct ADIOI_FileD *file, MPI_Offset displacement, struct datatype *etype,
                      struct datatype *filetype, const char *representation) {
    keep_datatype(etype);
    keep_datatype(filetype);
    if (file->etype != NULL) drop_datatype(file->etype);
    if (file->filetype != NULL) drop_datatype(file->filetype);
    file->displacement = displacement;
    file->etype = etype;
    file->filetype = filetype;
    snprintf(file->representation, sizeof file->representation, "%s", representation);
}

void set_first_view(struct ADIOI_FileD *file) {
    take_view(file, 0, datatype_of(MPI_BYTE), datatype_of(MPI_BYTE), "native");
}

// Whether elements follow each other in the file, as they have to.
static bool has_rising_offsets(const struct datatype *type) {
    MPI_Offset end = 0;
    for (MPI_Count i = 0; i < type->run_count; i++) {
        const struct run *run = &type->runs[i];
        if (run->length * run->repeats == 0) continue;
        if (run->offset < end || (run->repeats > 1 && run->stride < run->length)) return false;
        end = run->offset + (run->repeats - 1) * run->stride + run->length;
    }
    return true;
}

static bool has_same_size(MPI_Datatype handle, const struct datatype *type) {
    MPI_Count bytes = 0;
    return MPI_Pack_external_size_c("external32", 1, handle, &bytes) == MPI_SUCCESS && bytes == type->size;
}

static int check_view(const struct ADIOI_FileD *file, MPI_Offset displacement, MPI_Datatype etype,
                      MPI_Datatype filetype, const char *representation) {
    const struct datatype *elementary = datatype_of(etype), *type = datatype_of(filetype);
    if (elementary == NULL || type == NULL || !elementary->is_committed || !type->is_committed) return MPI_ERR_TYPE;
    if (displacement < 0 && !(displacement == MPI_DISPLACEMENT_CURRENT && file->mode & MPI_MODE_SEQUENTIAL))
        return MPI_ERR_ARG;
    if (elementary->size > 0 && type->size % elementary->size != 0) return MPI_ERR_ARG;
    if (!has_rising_offsets(type)) return MPI_ERR_TYPE;
    if (strcmp(representation, "native") == 0 || strcmp(representation, "internal") == 0) return MPI_SUCCESS;
    if (strcmp(representation, "external32") != 0) return MPI_ERR_UNSUPPORTED_DATAREP;
    const bool is_same = has_same_size(etype, elementary) && has_same_size(filetype, type);
    if (!is_same) explain_error(": its elements have another size in external32, which is not simulated");
    return is_same ? MPI_SUCCESS : MPI_ERR_UNSUPPORTED_DATAREP;
}

static int rewind_shared(struct ADIOI_FileD *file, int64_t etype_size) {
    (void)etype_size;
    shared_of(file)->pointer = 0;
    return MPI_SUCCESS;
}

EXPORT int MPI_File_set_view(MPI_File file, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                             const char *datarep, MPI_Info info) {
    FILE_OR_FAIL(file);
    if (datarep == NULL) return fail_file(file, MPI_ERR_ARG);
    const int refusal = check_view(file, disp, etype, filetype, datarep);
    if (refusal != MPI_SUCCESS) return fail_file(file, refusal);
    enter("MPI_File_set_view");
    come_in_order();
    if (disp == MPI_DISPLACEMENT_CURRENT) {
        const struct cursor cursor = cursor_of(file, shared_of(file)->pointer * file->etype->size);
        disp = offset_of(file, &cursor);
    }
    const int error = by_first_rank(file, "MPI_File_set_view", rewind_shared, datatype_of(etype)->size);
    if (error != MPI_SUCCESS) return leave_with(fail_file(file, error));
    take_view(file, disp, datatype_of(etype), datatype_of(filetype), datarep);
    file->position = 0;
    if (info != MPI_INFO_NULL) MPI_File_set_info(file, info);
    return leave_with(MPI_SUCCESS);
}

// A handle of its own, which the program frees.
static MPI_Datatype handle_of(struct datatype *type) {
    if (type->is_basic) return type->handle;
    keep_datatype(type);
    return new_handle(DATATYPE, type);
}

EXPORT int MPI_File_get_view(MPI_File file, MPI_Offset *disp, MPI_Datatype *etype, MPI_Datatype *filetype,
                             char *datarep) {
    FILE_OR_FAIL(file);
    *disp = file->displacement;
    *etype = handle_of(file->etype);
    *filetype = handle_of(file->filetype);
    strcpy(datarep, file->representation);
    return MPI_SUCCESS;
}

EXPORT int MPI_File_get_type_extent_c(MPI_File file, MPI_Datatype datatype, MPI_Count *extent) {
    FILE_OR_FAIL(file);
    const struct datatype *type = datatype_of(datatype);
    if (type == NULL) return fail_file(file, MPI_ERR_TYPE);
    *extent = type->extent;
    return MPI_SUCCESS;
}
EXPORT int MPI_File_get_type_extent(MPI_File file, MPI_Datatype datatype, MPI_Aint *extent) {
    return MPI_File_get_type_extent_c(file, datatype, (MPI_Count *)extent);
}

// Names of representations that the program adds: no view has them.
static char **names;
static int name_count;

EXPORT int MPI_Register_datarep_c(const char *datarep, MPI_Datarep_conversion_function_c *read_conversion_fn,
                                  MPI_Datarep_conversion_function_c *write_conversion_fn,
                                  MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state) {
    (void)read_conversion_fn, (void)write_conversion_fn, (void)extra_state;
    static const char *const KNOWN[] = {"native", "internal", "external32"};
    if (datarep == NULL || strlen(datarep) == 0 || strlen(datarep) >= MPI_MAX_DATAREP_STRING)
        return fail_file(NULL, MPI_ERR_ARG);
    if (dtype_file_extent_fn == NULL) return fail_file(NULL, MPI_ERR_ARG);
    for (size_t i = 0; i < sizeof KNOWN / sizeof KNOWN[0]; i++)
        if (strcmp(datarep, KNOWN[i]) == 0) return fail_file(NULL, MPI_ERR_DUP_DATAREP);
    for (int i = 0; i < name_count; i++)
        if (strcmp(datarep, names[i]) == 0) return fail_file(NULL, MPI_ERR_DUP_DATAREP);
    names = reallocate(names, sizeof *names * (size_t)(name_count + 1));
    names[name_count++] = copy_text(datarep);
    return MPI_SUCCESS;
}
EXPORT int MPI_Register_datarep(const char *datarep, MPI_Datarep_conversion_function *read_conversion_fn,
                                MPI_Datarep_conversion_function *write_conversion_fn,
                                MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state) {
    (void)read_conversion_fn, (void)write_conversion_fn;
    return MPI_Register_datarep_c(datarep, NULL, NULL, dtype_file_extent_fn, extra_state);
}

// ---- pointers

// The position that a call moves a pointer to; NONE where it lies before the file.
static MPI_Offset position_after(const struct ADIOI_FileD *file, MPI_Offset position, MPI_Offset offset, int whence) {
    switch (whence) {
        case MPI_SEEK_SET: break;
        case MPI_SEEK_CUR: offset += position; break;
        case MPI_SEEK_END: offset += end_in_view(file); break;
        default: return NONE;
    }
    return offset < 0 ? NONE : offset;
}

EXPORT int MPI_File_seek(MPI_File file, MPI_Offset offset, int whence) {
    FILE_OR_FAIL(file);
    if (file->mode & MPI_MODE_SEQUENTIAL) return fail_file(file, MPI_ERR_UNSUPPORTED_OPERATION);
    enter("MPI_File_seek");
    if (whence == MPI_SEEK_END) come_in_order();
    const MPI_Offset position = position_after(file, file->position, offset, whence);
    if (position != NONE) file->position = position;
    return leave_with(position == NONE ? fail_file(file, MPI_ERR_ARG) : MPI_SUCCESS);
}

static int seek_shared(struct ADIOI_FileD *file, int64_t position) {
    if (position == NONE) return MPI_ERR_ARG;
    shared_of(file)->pointer = position;
    return MPI_SUCCESS;
}

EXPORT int MPI_File_seek_shared(MPI_File file, MPI_Offset offset, int whence) {
    FILE_OR_FAIL(file);
    if (file->mode & MPI_MODE_SEQUENTIAL) return fail_file(file, MPI_ERR_UNSUPPORTED_OPERATION);
    enter("MPI_File_seek_shared");
    come_in_order();
    const MPI_Offset position = position_after(file, shared_of(file)->pointer, offset, whence);
    const int error = by_first_rank(file, "MPI_File_seek_shared", seek_shared, position);
    return leave_with(error == MPI_SUCCESS ? error : fail_file(file, error));
}

EXPORT int MPI_File_get_position(MPI_File file, MPI_Offset *offset) {
    FILE_OR_FAIL(file);
    if (file->mode & MPI_MODE_SEQUENTIAL) return fail_file(file, MPI_ERR_UNSUPPORTED_OPERATION);
    *offset = file->position;
    return MPI_SUCCESS;
}

EXPORT int MPI_File_get_position_shared(MPI_File file, MPI_Offset *offset) {
    FILE_OR_FAIL(file);
    if (file->mode & MPI_MODE_SEQUENTIAL) return fail_file(file, MPI_ERR_UNSUPPORTED_OPERATION);
    enter("MPI_File_get_position_shared");
    come_in_order();
    *offset = shared_of(file)->pointer;
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_File_get_byte_offset(MPI_File file, MPI_Offset offset, MPI_Offset *disp) {
    FILE_OR_FAIL(file);
    if (file->mode & MPI_MODE_SEQUENTIAL) return fail_file(file, MPI_ERR_UNSUPPORTED_OPERATION);
    if (offset < 0) return fail_file(file, MPI_ERR_ARG);
    const MPI_Offset bytes = offset * file->etype->size;
    *disp = file->displacement;
    if (file->filetype->size == 0) return MPI_SUCCESS;
    const struct cursor cursor = cursor_of(file, bytes);
    *disp = offset_of(file, &cursor);
    return MPI_SUCCESS;
}
