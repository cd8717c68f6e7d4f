// Datatypes: each is a list of runs of bytes in the order of its type map.
#include "online/datatypes/datatypes.h"

#include <stdalign.h>
#include <stdint.h>
#include <sys/mman.h>

#include "online/objects/errors.h"
#include "online/objects/families.h"
#include "online/runtime/allocation.h"

static struct datatype basic[256];  // by the last byte of the handle

struct datatype *datatype_of(MPI_Datatype handle) {
    if (((unsigned)handle & 0xff000000u) == 0x4c000000u) {
        struct datatype *type = &basic[handle & 0xff];
        return type->handle == handle ? type : NULL;
    }
    return object_of(DATATYPE, handle);
}

// Whether there is memory: all of it where elements are dense, else the beginning of the first element's runs. What is
// close to the buffer's address is taken to be there.
static bool is_mapped(const char *buffer, MPI_Count count, const struct datatype *type) {
    const MPI_Count page = 4096, most = 16;
    const bool is_whole = is_dense(type);
    for (MPI_Count i = 0; i < (is_whole ? 1 : type->run_count) && i < most; i++) {
        const struct run *run = &type->runs[i];
        const MPI_Count length = is_whole ? count * type->extent : run->length;
        if (run->offset > -page && run->offset + length < page) continue;
        const uintptr_t at = (uintptr_t)(buffer + run->offset), begin = at / (uintptr_t)page * (uintptr_t)page;
        if (msync((void *)begin, at + (uintptr_t)length - begin, MS_ASYNC) != 0) return false;
    }
    return true;
}

int check_memory(const void *buffer, MPI_Count count, const struct datatype *type) {
    if (count < 0) return MPI_ERR_COUNT;
    if (type == NULL || !type->is_committed) return MPI_ERR_TYPE;
    if (volume(count, type) == 0) return MPI_SUCCESS;
    const bool is_null = buffer == NULL && type->true_lower == 0;  // else MPI_BOTTOM
    if (!is_null && is_mapped(buffer, count, type)) return MPI_SUCCESS;
    explain_error(is_null ? ": it is a null pointer" : ": there is less memory than count and datatype say");
    return MPI_ERR_BUFFER;
}

void keep_datatype(struct datatype *type) { type->references++; }

// Freed numbers are reused only once nothing refers to them: a user operation may still get the type.
void drop_datatype(struct datatype *type) {
    if (type->is_basic || --type->references > 0) return;
    drop_handle(DATATYPE, type->handle);
    free_contents(type->contents);
    free(type->runs);
    free(type);
}

static const struct {
    MPI_Datatype handle;
    const char *name;
} NAMES[] = {
#define NAME(type) {type, #type}
    NAME(MPI_CHAR),
    NAME(MPI_UNSIGNED_CHAR),
    NAME(MPI_SHORT),
    NAME(MPI_UNSIGNED_SHORT),
    NAME(MPI_INT),
    NAME(MPI_UNSIGNED),
    NAME(MPI_LONG),
    NAME(MPI_UNSIGNED_LONG),
    NAME(MPI_LONG_LONG_INT),
    NAME(MPI_FLOAT),
    NAME(MPI_DOUBLE),
    NAME(MPI_LONG_DOUBLE),
    NAME(MPI_BYTE),
    NAME(MPI_WCHAR),
    NAME(MPI_PACKED),
    NAME(MPI_LB),
    NAME(MPI_UB),
    NAME(MPI_2INT),
    NAME(MPI_SIGNED_CHAR),
    NAME(MPI_UNSIGNED_LONG_LONG),
    NAME(MPI_CHARACTER),
    NAME(MPI_INTEGER),
    NAME(MPI_REAL),
    NAME(MPI_LOGICAL),
    NAME(MPI_COMPLEX),
    NAME(MPI_DOUBLE_PRECISION),
    NAME(MPI_2INTEGER),
    NAME(MPI_2REAL),
    NAME(MPI_DOUBLE_COMPLEX),
    NAME(MPI_2DOUBLE_PRECISION),
    NAME(MPI_REAL2),
    NAME(MPI_REAL4),
    NAME(MPI_COMPLEX8),
    NAME(MPI_REAL8),
    NAME(MPI_COMPLEX16),
    NAME(MPI_REAL16),
    NAME(MPI_COMPLEX32),
    NAME(MPI_INTEGER1),
    NAME(MPI_COMPLEX4),
    NAME(MPI_INTEGER2),
    NAME(MPI_INTEGER4),
    NAME(MPI_INTEGER8),
    NAME(MPI_INTEGER16),
    NAME(MPI_CXX_BOOL),
    NAME(MPI_CXX_FLOAT_COMPLEX),
    NAME(MPI_CXX_DOUBLE_COMPLEX),
    NAME(MPI_CXX_LONG_DOUBLE_COMPLEX),
    NAME(MPI_INT8_T),
    NAME(MPI_INT16_T),
    NAME(MPI_INT32_T),
    NAME(MPI_INT64_T),
    NAME(MPI_UINT8_T),
    NAME(MPI_UINT16_T),
    NAME(MPI_UINT32_T),
    NAME(MPI_UINT64_T),
    NAME(MPI_C_BOOL),
    NAME(MPI_C_COMPLEX),
    NAME(MPI_C_DOUBLE_COMPLEX),
    NAME(MPI_C_LONG_DOUBLE_COMPLEX),
    NAME(MPI_AINT),
    NAME(MPI_OFFSET),
    NAME(MPI_COUNT),
    NAME(MPI_LOGICAL1),
    NAME(MPI_LOGICAL2),
    NAME(MPI_LOGICAL4),
    NAME(MPI_LOGICAL8),
    NAME(MPI_LOGICAL16),
#ifdef MPIX_C_FLOAT16
    NAME(MPIX_C_FLOAT16),
#endif
#undef NAME
};

// Basic types that are two of another.
static int unit_of(MPI_Datatype handle, int size) {
    switch (handle) {
        case MPI_2INT:
        case MPI_2INTEGER:
        case MPI_2REAL:
        case MPI_2DOUBLE_PRECISION: return size / 2;
        case MPI_COMPLEX:
        case MPI_DOUBLE_COMPLEX:
        case MPI_COMPLEX8:
        case MPI_COMPLEX16:
        case MPI_COMPLEX32:
        case MPI_C_FLOAT_COMPLEX:
        case MPI_C_DOUBLE_COMPLEX:
        case MPI_C_LONG_DOUBLE_COMPLEX:
        case MPI_CXX_FLOAT_COMPLEX:
        case MPI_CXX_DOUBLE_COMPLEX:
        case MPI_CXX_LONG_DOUBLE_COMPLEX: return size / 2;
        default: return size;
    }
}

// What external32 makes of the units of a basic type.
static enum form form_of(MPI_Datatype handle, int size) {
    switch (handle) {
        case MPI_LONG: return SIGNED_LONG;
        case MPI_UNSIGNED_LONG: return UNSIGNED_LONG;
        case MPI_WCHAR: return WIDE_CHARACTER;
        case MPI_LONG_DOUBLE:
        case MPI_C_LONG_DOUBLE_COMPLEX:
        case MPI_CXX_LONG_DOUBLE_COMPLEX: return QUADRUPLE;
        default: return unit_of(handle, size) < size ? PAIR_OF_SAME : SAME;
    }
}

static void make_pair(MPI_Datatype handle, const char *name, MPI_Datatype first_type, int first, int offset, int extent,
                      int alignment) {
    struct datatype *type = allocate_zeroed(1, sizeof *type);
    type->handle = handle;
    type->is_basic = type->is_committed = true;
    type->size = first + (int)sizeof(int);
    type->extent = extent;
    type->true_extent = offset + (int)sizeof(int);
    type->elements = 2;
    type->alignment = alignment;
    type->basic = handle;
    type->run_count = 2;
    type->runs = allocate(2 * sizeof *type->runs);
    type->runs[0] = (struct run){.length = first, .repeats = 1, .unit = first, .form = form_of(first_type, first)};
    type->runs[1] = (struct run){.offset = offset, .length = sizeof(int), .repeats = 1, .unit = sizeof(int)};
    snprintf(type->name, sizeof type->name, "%s", name);
    set_handle(DATATYPE, handle, type);
}

#define PAIR(handle, first_type, first)                                                                          \
    do {                                                                                                         \
        struct pair {                                                                                            \
            first value;                                                                                         \
            int index;                                                                                           \
        };                                                                                                       \
        make_pair(handle, #handle, first_type, sizeof(first), offsetof(struct pair, index), sizeof(struct pair), \
                  alignof(first));                                                                               \
    } while (0)

void make_basic_datatypes(void) {
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        struct datatype *type = &basic[NAMES[i].handle & 0xff];
        const int size = (NAMES[i].handle >> 8) & 0xff;
        type->handle = type->basic = NAMES[i].handle;
        type->is_basic = type->is_committed = true;
        type->size = type->extent = type->true_extent = size;
        type->elements = size > 0;
        type->marks_lower = NAMES[i].handle == MPI_LB;
        type->marks_upper = NAMES[i].handle == MPI_UB;
        const int unit = unit_of(NAMES[i].handle, size);
        type->alignment = unit == 0 ? 1 : unit > 16 ? 16 : unit;
        type->run_count = size > 0;
        type->runs = allocate(sizeof *type->runs);
        type->runs[0] =
            (struct run){.length = size, .repeats = 1, .unit = size, .form = form_of(NAMES[i].handle, size)};
        snprintf(type->name, sizeof type->name, "%s", NAMES[i].name);
    }
    PAIR(MPI_FLOAT_INT, MPI_FLOAT, float);
    PAIR(MPI_DOUBLE_INT, MPI_DOUBLE, double);
    PAIR(MPI_LONG_INT, MPI_LONG, long);
    PAIR(MPI_SHORT_INT, MPI_SHORT, short);
    PAIR(MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, long double);
}

// ---- what a type is

EXPORT int MPI_Type_commit(MPI_Datatype *handle) {
    TYPE_OR_FAIL(type, *handle);
    type->is_committed = true;
    return MPI_SUCCESS;
}

EXPORT int MPI_Type_free(MPI_Datatype *handle) {
    TYPE_OR_FAIL(type, *handle);
    if (type->is_basic) return fail_world(MPI_ERR_TYPE);
    const int error = delete_attributes(*handle, &type->attributes);
    if (error != MPI_SUCCESS) return fail_world(error);
    if (*handle != type->handle) drop_handle(DATATYPE, *handle);  // MPI_Type_get_contents has made it
    drop_datatype(type);
    *handle = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

EXPORT int MPI_Type_size_c(MPI_Datatype handle, MPI_Count *size) {
    TYPE_OR_FAIL(type, handle);
    *size = type->size;
    return MPI_SUCCESS;
}

#define EXTENT_FUNCTIONS(name, first, length)                                                 \
    EXPORT int MPI_Type_get_##name##_c(MPI_Datatype handle, MPI_Count *lb, MPI_Count *size) { \
        TYPE_OR_FAIL(type, handle);                                                           \
        *lb = type->first;                                                                    \
        *size = type->length;                                                                 \
        return MPI_SUCCESS;                                                                   \
    }                                                                                         \
    EXPORT int MPI_Type_get_##name(MPI_Datatype handle, MPI_Aint *lb, MPI_Aint *size) {       \
        return MPI_Type_get_##name##_c(handle, (MPI_Count *)lb, (MPI_Count *)size);           \
    }
EXTENT_FUNCTIONS(extent, lower, extent)
EXTENT_FUNCTIONS(true_extent, true_lower, true_extent)

NAME_FUNCTIONS(Type, MPI_Datatype, MPI_DATATYPE_NULL, datatype, datatype_of, fail_world(MPI_ERR_TYPE))

EXPORT int MPI_Get_address(const void *location, MPI_Aint *address) {
    *address = (MPI_Aint)location;
    return MPI_SUCCESS;
}
EXPORT MPI_Aint MPI_Aint_add(MPI_Aint base, MPI_Aint disp) { return base + disp; }
EXPORT MPI_Aint MPI_Aint_diff(MPI_Aint first, MPI_Aint second) { return first - second; }
