// Datatypes: each is a list of runs of bytes in the order of its type map.
#include "online.h"

#include <limits.h>
#include <stdalign.h>

static struct datatype basic[256];  // by the last byte of the handle

struct datatype *datatype_of(MPI_Datatype handle) {
    if (((unsigned)handle & 0xff000000u) == 0x4c000000u) {
        struct datatype *type = &basic[handle & 0xff];
        return type->handle == handle ? type : NULL;
    }
    return object_of(DATATYPE, handle);
}

void keep_datatype(struct datatype *type) { type->references++; }

// What is used still keeps its number, which an operation of the program may be given.
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
    NAME(MPI_C_FLOAT_COMPLEX),
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

static void make_pair(MPI_Datatype handle, const char *name, int first, int offset, int extent, int alignment) {
    struct datatype *type = calloc(1, sizeof *type);
    type->handle = handle;
    type->is_basic = type->is_committed = true;
    type->size = first + (int)sizeof(int);
    type->extent = extent;
    type->true_extent = offset + (int)sizeof(int);
    type->elements = 2;
    type->alignment = alignment;
    type->basic = handle;
    type->run_count = 2;
    type->runs = malloc(2 * sizeof *type->runs);
    type->runs[0] = (struct run){0, first, first};
    type->runs[1] = (struct run){offset, sizeof(int), sizeof(int)};
    snprintf(type->name, sizeof type->name, "%s", name);
    set_handle(DATATYPE, handle, type);
}

#define PAIR(handle, first)                                                                                           \
    do {                                                                                                              \
        struct pair {                                                                                                 \
            first value;                                                                                              \
            int place;                                                                                                \
        };                                                                                                            \
        make_pair(handle, #handle, sizeof(first), offsetof(struct pair, place), sizeof(struct pair), alignof(first)); \
    } while (0)

void make_basic_datatypes(void) {
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        struct datatype *type = &basic[NAMES[i].handle & 0xff];
        const int size = (NAMES[i].handle >> 8) & 0xff;
        type->handle = type->basic = NAMES[i].handle;
        type->is_basic = type->is_committed = true;
        type->size = type->extent = type->true_extent = size;
        type->elements = 1;
        const int unit = unit_of(NAMES[i].handle, size);
        type->alignment = unit == 0 ? 1 : unit > 16 ? 16 : unit;
        type->run_count = size > 0;
        type->runs = malloc(sizeof *type->runs);
        type->runs[0] = (struct run){0, size, size};
        snprintf(type->name, sizeof type->name, "%s", NAMES[i].name);
    }
    PAIR(MPI_FLOAT_INT, float);
    PAIR(MPI_DOUBLE_INT, double);
    PAIR(MPI_LONG_INT, long);
    PAIR(MPI_SHORT_INT, short);
    PAIR(MPI_LONG_DOUBLE_INT, long double);
}

// ---- making

struct builder {
    struct datatype *type;
    MPI_Count room, upper;
    bool has_bounds, has_true_bounds;
};

static struct builder begin(void) {
    struct builder builder = {.type = calloc(1, sizeof(struct datatype))};
    builder.type->references = 1;
    builder.type->alignment = 1;
    builder.type->basic = MPI_DATATYPE_NULL;
    return builder;
}

static void add_run(struct builder *builder, MPI_Aint offset, MPI_Count length, int unit) {
    struct datatype *type = builder->type;
    if (type->run_count > 0) {
        struct run *last = &type->runs[type->run_count - 1];
        if (last->offset + last->length == offset && last->unit == unit) {
            last->length += length;
            return;
        }
    }
    if (type->run_count == builder->room) {
        builder->room = builder->room ? 2 * builder->room : 4;
        type->runs = realloc(type->runs, sizeof *type->runs * (size_t)builder->room);
    }
    type->runs[type->run_count++] = (struct run){offset, length, unit};
}

// A block of elements of a type, at an offset in bytes.
static void add_block(struct builder *builder, MPI_Aint offset, MPI_Count count, const struct datatype *of) {
    struct datatype *type = builder->type;
    if (count <= 0) return;
    const MPI_Count last = offset + (count - 1) * of->extent;
    const MPI_Count first_lower = (of->extent >= 0 ? offset : last) + of->lower;
    const MPI_Count last_upper = (of->extent >= 0 ? last : offset) + of->lower + of->extent;
    if (!builder->has_bounds || first_lower < type->lower) type->lower = first_lower;
    if (!builder->has_bounds || last_upper > builder->upper) builder->upper = last_upper;
    builder->has_bounds = true;
    if (of->alignment > type->alignment) type->alignment = of->alignment;
    type->size += count * of->size;
    type->elements += count * of->elements;
    if (type->elements == count * of->elements) {
        type->basic = of->basic;
    } else if (type->basic != of->basic) {
        type->basic = MPI_DATATYPE_NULL;
    }
    if (of->run_count == 1 && of->runs[0].length == of->extent) {
        add_run(builder, offset + of->runs[0].offset, count * of->extent, of->runs[0].unit);
        return;
    }
    for (MPI_Count i = 0; i < count; i++) {
        for (MPI_Count j = 0; j < of->run_count; j++) {
            add_run(builder, offset + i * of->extent + of->runs[j].offset, of->runs[j].length, of->runs[j].unit);
        }
    }
}

static int finish(struct builder *builder, struct contents *contents, MPI_Datatype *newtype) {
    struct datatype *type = builder->type;
    type->extent = builder->upper - type->lower;
    MPI_Aint first = 0, last = 0;
    for (MPI_Count j = 0; j < type->run_count; j++) {
        const MPI_Aint begins = type->runs[j].offset, ends = begins + type->runs[j].length;
        if (j == 0 || begins < first) first = begins;
        if (j == 0 || ends > last) last = ends;
    }
    type->true_lower = first;
    type->true_extent = last - first;
    type->contents = contents;
    type->handle = *newtype = new_handle(DATATYPE, type);
    return MPI_SUCCESS;
}

#define TYPE_OR_FAIL(name, handle)               \
    struct datatype *name = datatype_of(handle); \
    if (name == NULL) return fail_world(MPI_ERR_TYPE)
#define COUNT_OR_FAIL(count) \
    if ((count) < 0) return fail_world(MPI_ERR_COUNT)

EXPORT int MPI_Type_contiguous_c(MPI_Count count, MPI_Datatype oldtype, MPI_Datatype *newtype) {
    TYPE_OR_FAIL(of, oldtype);
    COUNT_OR_FAIL(count);
    struct builder builder = begin();
    add_block(&builder, 0, count, of);
    return finish(&builder, new_contents(MPI_COMBINER_CONTIGUOUS, 1, (MPI_Count[]){count}, 0, NULL, 1, &oldtype),
                  newtype);
}

static void add_vector(struct builder *builder, MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                       const struct datatype *of) {
    for (MPI_Count i = 0; i < count; i++) add_block(builder, i * stride, blocklength, of);
}

EXPORT int MPI_Type_vector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                             MPI_Datatype *newtype) {
    TYPE_OR_FAIL(of, oldtype);
    COUNT_OR_FAIL(count);
    COUNT_OR_FAIL(blocklength);
    struct builder builder = begin();
    add_vector(&builder, count, blocklength, stride * of->extent, of);
    const MPI_Count numbers[] = {count, blocklength, stride};
    return finish(&builder, new_contents(MPI_COMBINER_VECTOR, 3, numbers, 0, NULL, 1, &oldtype), newtype);
}

EXPORT int MPI_Type_create_hvector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                                     MPI_Datatype *newtype) {
    TYPE_OR_FAIL(of, oldtype);
    COUNT_OR_FAIL(count);
    COUNT_OR_FAIL(blocklength);
    struct builder builder = begin();
    add_vector(&builder, count, blocklength, stride, of);
    const MPI_Count numbers[] = {count, blocklength};
    return finish(&builder, new_contents(MPI_COMBINER_HVECTOR, 2, numbers, 1, &stride, 1, &oldtype), newtype);
}

// Blocks at displacements; lengths may be one for all, displacements in elements or in bytes.
static int indexed(int combiner, MPI_Count count, const MPI_Count *lengths, MPI_Count length,
                   const MPI_Count *displacements, bool in_bytes, MPI_Datatype oldtype, MPI_Datatype *newtype) {
    TYPE_OR_FAIL(of, oldtype);
    COUNT_OR_FAIL(count);
    for (MPI_Count i = 0; lengths != NULL && i < count; i++) COUNT_OR_FAIL(lengths[i]);
    COUNT_OR_FAIL(length);
    struct builder builder = begin();
    for (MPI_Count i = 0; i < count; i++) {
        add_block(&builder, displacements[i] * (in_bytes ? 1 : of->extent), lengths ? lengths[i] : length, of);
    }
    MPI_Count *numbers = malloc(sizeof(MPI_Count) * (size_t)(2 * count + 2));
    MPI_Count number = 0;
    numbers[number++] = count;
    if (lengths == NULL) numbers[number++] = length;
    for (MPI_Count i = 0; lengths != NULL && i < count; i++) numbers[number++] = lengths[i];
    for (MPI_Count i = 0; !in_bytes && i < count; i++) numbers[number++] = displacements[i];
    struct contents *contents =
        new_contents(combiner, number, numbers, in_bytes ? count : 0, displacements, 1, &oldtype);
    free(numbers);
    return finish(&builder, contents, newtype);
}

EXPORT int MPI_Type_indexed_c(MPI_Count count, const MPI_Count lengths[], const MPI_Count displacements[],
                              MPI_Datatype oldtype, MPI_Datatype *newtype) {
    return indexed(MPI_COMBINER_INDEXED, count, lengths, 0, displacements, false, oldtype, newtype);
}

EXPORT int MPI_Type_create_hindexed_c(MPI_Count count, const MPI_Count lengths[], const MPI_Count displacements[],
                                      MPI_Datatype oldtype, MPI_Datatype *newtype) {
    return indexed(MPI_COMBINER_HINDEXED, count, lengths, 0, displacements, true, oldtype, newtype);
}

EXPORT int MPI_Type_create_indexed_block_c(MPI_Count count, MPI_Count blocklength, const MPI_Count displacements[],
                                           MPI_Datatype oldtype, MPI_Datatype *newtype) {
    return indexed(MPI_COMBINER_INDEXED_BLOCK, count, NULL, blocklength, displacements, false, oldtype, newtype);
}

EXPORT int MPI_Type_create_hindexed_block_c(MPI_Count count, MPI_Count blocklength, const MPI_Count displacements[],
                                            MPI_Datatype oldtype, MPI_Datatype *newtype) {
    return indexed(MPI_COMBINER_HINDEXED_BLOCK, count, NULL, blocklength, displacements, true, oldtype, newtype);
}

EXPORT int MPI_Type_create_struct_c(MPI_Count count, const MPI_Count lengths[], const MPI_Count displacements[],
                                    const MPI_Datatype types[], MPI_Datatype *newtype) {
    COUNT_OR_FAIL(count);
    for (MPI_Count i = 0; i < count; i++) {
        COUNT_OR_FAIL(lengths[i]);
        if (datatype_of(types[i]) == NULL) return fail_world(MPI_ERR_TYPE);
    }
    struct builder builder = begin();
    for (MPI_Count i = 0; i < count; i++) add_block(&builder, displacements[i], lengths[i], datatype_of(types[i]));
    const MPI_Count extent = builder.upper - builder.type->lower, unit = builder.type->alignment;
    if (extent % unit) builder.upper += unit - extent % unit;
    MPI_Count *numbers = malloc(sizeof(MPI_Count) * (size_t)(count + 1));
    numbers[0] = count;
    for (MPI_Count i = 0; i < count; i++) numbers[i + 1] = lengths[i];
    struct contents *contents =
        new_contents(MPI_COMBINER_STRUCT, count + 1, numbers, count, displacements, count, types);
    free(numbers);
    return finish(&builder, contents, newtype);
}

EXPORT int MPI_Type_create_resized_c(MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent, MPI_Datatype *newtype) {
    TYPE_OR_FAIL(of, oldtype);
    struct builder builder = begin();
    add_block(&builder, 0, 1, of);
    builder.type->lower = lb;
    builder.upper = lb + extent;
    const MPI_Count places[] = {lb, extent};
    return finish(&builder, new_contents(MPI_COMBINER_RESIZED, 0, NULL, 2, places, 1, &oldtype), newtype);
}

EXPORT int MPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype) {
    TYPE_OR_FAIL(of, oldtype);
    struct builder builder = begin();
    add_block(&builder, 0, 1, of);
    builder.type->lower = of->lower;
    builder.upper = of->lower + of->extent;
    builder.type->is_committed = of->is_committed;
    struct attribute *attributes = NULL;
    const int error = copy_attributes(DATATYPE, oldtype, of->attributes, &attributes);
    if (error != MPI_SUCCESS) {
        *newtype = MPI_DATATYPE_NULL;
        return fail_world(error);
    }
    finish(&builder, new_contents(MPI_COMBINER_DUP, 0, NULL, 0, NULL, 1, &oldtype), newtype);
    builder.type->attributes = attributes;
    return MPI_SUCCESS;
}

EXPORT int MPI_Type_create_subarray_c(int ndims, const MPI_Count sizes[], const MPI_Count subsizes[],
                                      const MPI_Count starts[], int order, MPI_Datatype oldtype,
                                      MPI_Datatype *newtype) {
    TYPE_OR_FAIL(of, oldtype);
    if (ndims < 1 || (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)) return fail_world(MPI_ERR_ARG);
    MPI_Count whole = 1, blocks = 1;
    for (int i = 0; i < ndims; i++) {
        if (sizes[i] < 1 || subsizes[i] < 1 || starts[i] < 0 || starts[i] + subsizes[i] > sizes[i])
            return fail_world(MPI_ERR_ARG);
        whole *= sizes[i];
        blocks *= subsizes[i];
    }
    const int fastest = order == MPI_ORDER_C ? ndims - 1 : 0, step = order == MPI_ORDER_C ? -1 : 1;
    struct builder builder = begin();
    MPI_Count *at = calloc((size_t)ndims, sizeof(MPI_Count));
    blocks /= subsizes[fastest];
    for (MPI_Count block = 0; block < blocks; block++) {
        MPI_Count place = 0, unit = 1;
        for (int i = fastest, left = ndims; left > 0; i += step, left--) {
            place += (starts[i] + at[i]) * unit;
            unit *= sizes[i];
        }
        add_block(&builder, place * of->extent, subsizes[fastest], of);
        for (int i = fastest + step, left = ndims - 1; left > 0; i += step, left--) {
            if (++at[i] < subsizes[i]) break;
            at[i] = 0;
        }
    }
    free(at);
    builder.type->lower = 0;
    builder.upper = whole * of->extent;
    MPI_Count *numbers = malloc(sizeof(MPI_Count) * (size_t)(3 * ndims + 2));
    numbers[0] = ndims;
    for (int i = 0; i < ndims; i++) {
        numbers[1 + i] = sizes[i];
        numbers[1 + ndims + i] = subsizes[i];
        numbers[1 + 2 * ndims + i] = starts[i];
    }
    numbers[1 + 3 * ndims] = order;
    struct contents *contents = new_contents(MPI_COMBINER_SUBARRAY, 3 * ndims + 2, numbers, 0, NULL, 1, &oldtype);
    free(numbers);
    return finish(&builder, contents, newtype);
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
    const int error = delete_attributes(DATATYPE, *handle, &type->attributes);
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
EXPORT int MPI_Type_size_x(MPI_Datatype handle, MPI_Count *size) { return MPI_Type_size_c(handle, size); }

EXPORT int MPI_Type_get_extent_c(MPI_Datatype handle, MPI_Count *lb, MPI_Count *extent) {
    TYPE_OR_FAIL(type, handle);
    *lb = type->lower;
    *extent = type->extent;
    return MPI_SUCCESS;
}
EXPORT int MPI_Type_get_extent_x(MPI_Datatype handle, MPI_Count *lb, MPI_Count *extent) {
    return MPI_Type_get_extent_c(handle, lb, extent);
}
EXPORT int MPI_Type_get_extent(MPI_Datatype handle, MPI_Aint *lb, MPI_Aint *extent) {
    return MPI_Type_get_extent_c(handle, (MPI_Count *)lb, (MPI_Count *)extent);
}

EXPORT int MPI_Type_get_true_extent_c(MPI_Datatype handle, MPI_Count *lb, MPI_Count *extent) {
    TYPE_OR_FAIL(type, handle);
    *lb = type->true_lower;
    *extent = type->true_extent;
    return MPI_SUCCESS;
}
EXPORT int MPI_Type_get_true_extent_x(MPI_Datatype handle, MPI_Count *lb, MPI_Count *extent) {
    return MPI_Type_get_true_extent_c(handle, lb, extent);
}
EXPORT int MPI_Type_get_true_extent(MPI_Datatype handle, MPI_Aint *lb, MPI_Aint *extent) {
    return MPI_Type_get_true_extent_c(handle, (MPI_Count *)lb, (MPI_Count *)extent);
}

EXPORT int MPI_Type_set_name(MPI_Datatype handle, const char *name) {
    TYPE_OR_FAIL(type, handle);
    snprintf(type->name, sizeof type->name, "%s", name);
    return MPI_SUCCESS;
}

EXPORT int MPI_Type_get_name(MPI_Datatype handle, char *name, int *length) {
    if (handle == MPI_DATATYPE_NULL) {
        *length = sprintf(name, "MPI_DATATYPE_NULL");
        return MPI_SUCCESS;
    }
    TYPE_OR_FAIL(type, handle);
    *length = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", type->name);
    return MPI_SUCCESS;
}

EXPORT int MPI_Get_address(const void *location, MPI_Aint *address) {
    *address = (MPI_Aint)location;
    return MPI_SUCCESS;
}
EXPORT MPI_Aint MPI_Aint_add(MPI_Aint base, MPI_Aint disp) { return base + disp; }
EXPORT MPI_Aint MPI_Aint_diff(MPI_Aint first, MPI_Aint second) { return first - second; }
