// Datatypes that are made of others.
#include "online/datatypes/datatypes.h"
#include "online/datatypes/signatures.h"
#include "online/objects/attributes.h"
#include "online/objects/errors.h"
#include "online/runtime/allocation.h"

struct builder {
    struct datatype *type;
    MPI_Count room, upper;
    bool has_lower, has_upper;
};

static struct builder begin(void) {
    struct builder builder = {.type = allocate_zeroed(1, sizeof(struct datatype))};
    builder.type->references = 1;
    builder.type->alignment = 1;
    builder.type->basic = MPI_DATATYPE_NULL;
    return builder;
}

static bool are_alike(const struct run *first, const struct run *second) {
    return first->length == second->length && first->unit == second->unit && first->form == second->form;
}

// Merge the last run into the one before if it continues its stride.
static void fold(struct datatype *type) {
    if (type->run_count < 2) return;
    struct run *before = &type->runs[type->run_count - 2], *last = before + 1;
    if (!are_alike(before, last)) return;
    const MPI_Aint first_stride = before->repeats > 1 ? before->stride : last->offset - before->offset;
    if (last->offset != before->offset + before->repeats * first_stride) return;
    if (last->repeats > 1 && last->stride != first_stride) return;
    before->stride = first_stride;
    before->repeats += last->repeats;
    type->run_count--;
}

static void add_run(struct builder *builder, MPI_Aint offset, struct run run) {
    struct datatype *type = builder->type;
    run.offset += offset;
    if (run.repeats > 1 && run.stride == run.length) {
        run.length *= run.repeats;
        run.repeats = 1;
    }
    if (type->run_count > 0 && run.repeats == 1) {
        struct run *last = &type->runs[type->run_count - 1];
        if (last->repeats == 1 && last->offset + last->length == run.offset && last->unit == run.unit &&
            last->form == run.form) {
            last->length += run.length;
            return;
        }
    }
    fold(type);
    if (type->run_count == builder->room) {
        builder->room = builder->room ? 2 * builder->room : 4;
        type->runs = reallocate(type->runs, sizeof *type->runs * (size_t)builder->room);
    }
    type->runs[type->run_count++] = run;
}

// Explicit bounds (MPI_LB, MPI_UB, resized types) override those of the data.
static void set_bounds(struct builder *builder, MPI_Aint offset, MPI_Count count, const struct datatype *element) {
    struct datatype *type = builder->type;
    const MPI_Count last = offset + (count - 1) * element->extent;
    const MPI_Count lower = (element->extent >= 0 ? offset : last) + element->lower;
    const MPI_Count upper = (element->extent >= 0 ? last : offset) + element->lower + element->extent;
    if (element->handle != MPI_UB && element->marks_lower >= type->marks_lower) {
        const bool is_first = element->marks_lower > type->marks_lower || !builder->has_lower;
        if (is_first || lower < type->lower) type->lower = lower;
        builder->has_lower = true;
        type->marks_lower = element->marks_lower;
    }
    if (element->handle != MPI_LB && element->marks_upper >= type->marks_upper) {
        const bool is_first = element->marks_upper > type->marks_upper || !builder->has_upper;
        if (is_first || upper > builder->upper) builder->upper = upper;
        builder->has_upper = true;
        type->marks_upper = element->marks_upper;
    }
}

static void mark_bounds(struct builder *builder, MPI_Aint lower, MPI_Aint upper) {
    builder->type->lower = lower;
    builder->upper = upper;
    builder->type->marks_lower = builder->type->marks_upper = true;
}

// The properties of `count` elements of a type that do not depend on their offsets.
static void add_elements(struct builder *builder, MPI_Count count, const struct datatype *element) {
    struct datatype *type = builder->type;
    if (element->alignment > type->alignment) type->alignment = element->alignment;
    add_signature(type, count, element);
    const MPI_Count elements = count * element->elements;
    if (elements > 0) {
        if (type->elements == 0)
            type->basic = element->basic;
        else if (type->basic != element->basic)
            type->basic = MPI_DATATYPE_NULL;
    }
    type->size += count * element->size;
    type->elements += elements;
}

static void add_runs(struct builder *builder, MPI_Aint offset, MPI_Count count, const struct datatype *element) {
    if (element->run_count == 1 && element->runs[0].repeats == 1) {
        struct run run = element->runs[0];
        run.repeats = count;
        run.stride = element->extent;
        add_run(builder, offset, run);
        return;
    }
    for (MPI_Count i = 0; i < count; i++)
        for (MPI_Count j = 0; j < element->run_count; j++)
            add_run(builder, offset + i * element->extent, element->runs[j]);
}

// A block of elements of a type, at an offset in bytes.
static void add_block(struct builder *builder, MPI_Aint offset, MPI_Count count, const struct datatype *element) {
    if (count <= 0) return;
    set_bounds(builder, offset, count, element);
    add_elements(builder, count, element);
    add_runs(builder, offset, count, element);
}

static int finish(struct builder *builder, struct contents *contents, MPI_Datatype *newtype) {
    struct datatype *type = builder->type;
    fold(type);
    type->extent = builder->upper - type->lower;
    MPI_Aint first = 0, last = 0;
    for (MPI_Count j = 0; j < type->run_count; j++) {
        const struct run *run = &type->runs[j];
        const MPI_Aint way = (run->repeats - 1) * run->stride;
        const MPI_Aint begins = run->offset + (way < 0 ? way : 0),
                       ends = run->offset + (way > 0 ? way : 0) + run->length;
        if (j == 0 || begins < first) first = begins;
        if (j == 0 || ends > last) last = ends;
    }
    type->true_lower = first;
    type->true_extent = last - first;
    type->contents = contents;
    type->handle = *newtype = new_handle(DATATYPE, type);
    return MPI_SUCCESS;
}

#define COUNT_OR_FAIL(count) \
    if ((count) < 0) return fail_world(MPI_ERR_COUNT)

EXPORT int MPI_Type_contiguous_c(MPI_Count count, MPI_Datatype oldtype, MPI_Datatype *newtype) {
    TYPE_OR_FAIL(element, oldtype);
    COUNT_OR_FAIL(count);
    struct builder builder = begin();
    add_block(&builder, 0, count, element);
    return finish(&builder, new_contents(MPI_COMBINER_CONTIGUOUS, 1, (MPI_Count[]){count}, 0, NULL, 1, &oldtype),
                  newtype);
}

static void add_vector(struct builder *builder, MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                       const struct datatype *element) {
    if (count <= 0 || blocklength <= 0) return;
    if (!is_dense(element)) {
        for (MPI_Count i = 0; i < count; i++) add_block(builder, i * stride, blocklength, element);
        return;
    }
    set_bounds(builder, 0, blocklength, element);
    set_bounds(builder, (count - 1) * stride, blocklength, element);
    add_elements(builder, count * blocklength, element);
    struct run run = element->runs[0];
    run.length *= blocklength;
    run.repeats = count;
    run.stride = stride;
    add_run(builder, 0, run);
}

EXPORT int MPI_Type_vector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                             MPI_Datatype *newtype) {
    TYPE_OR_FAIL(element, oldtype);
    COUNT_OR_FAIL(count);
    COUNT_OR_FAIL(blocklength);
    struct builder builder = begin();
    add_vector(&builder, count, blocklength, stride * element->extent, element);
    const MPI_Count numbers[] = {count, blocklength, stride};
    return finish(&builder, new_contents(MPI_COMBINER_VECTOR, 3, numbers, 0, NULL, 1, &oldtype), newtype);
}

EXPORT int MPI_Type_create_hvector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                                     MPI_Datatype *newtype) {
    TYPE_OR_FAIL(element, oldtype);
    COUNT_OR_FAIL(count);
    COUNT_OR_FAIL(blocklength);
    struct builder builder = begin();
    add_vector(&builder, count, blocklength, stride, element);
    const MPI_Count numbers[] = {count, blocklength};
    return finish(&builder, new_contents(MPI_COMBINER_HVECTOR, 2, numbers, 1, &stride, 1, &oldtype), newtype);
}

// Blocks at displacements; lengths may be one for all, displacements in elements or in bytes.
static int indexed(int combiner, MPI_Count count, const MPI_Count *lengths, MPI_Count length,
                   const MPI_Count *displacements, bool in_bytes, MPI_Datatype oldtype, MPI_Datatype *newtype) {
    TYPE_OR_FAIL(element, oldtype);
    COUNT_OR_FAIL(count);
    for (MPI_Count i = 0; lengths != NULL && i < count; i++) COUNT_OR_FAIL(lengths[i]);
    COUNT_OR_FAIL(length);
    struct builder builder = begin();
    for (MPI_Count i = 0; i < count; i++) {
        add_block(&builder, displacements[i] * (in_bytes ? 1 : element->extent), lengths ? lengths[i] : length,
                  element);
    }
    MPI_Count *numbers = allocate(sizeof(MPI_Count) * (size_t)(2 * count + 2));
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
    if (extent % unit && !builder.type->marks_upper) builder.upper += unit - extent % unit;
    MPI_Count *numbers = allocate(sizeof(MPI_Count) * (size_t)(count + 1));
    numbers[0] = count;
    for (MPI_Count i = 0; i < count; i++) numbers[i + 1] = lengths[i];
    struct contents *contents =
        new_contents(MPI_COMBINER_STRUCT, count + 1, numbers, count, displacements, count, types);
    free(numbers);
    return finish(&builder, contents, newtype);
}

EXPORT int MPI_Type_create_resized_c(MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent, MPI_Datatype *newtype) {
    TYPE_OR_FAIL(element, oldtype);
    struct builder builder = begin();
    add_block(&builder, 0, 1, element);
    mark_bounds(&builder, lb, lb + extent);
    const MPI_Count displacements[] = {lb, extent};
    return finish(&builder, new_contents(MPI_COMBINER_RESIZED, 0, NULL, 2, displacements, 1, &oldtype), newtype);
}

EXPORT int MPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype) {
    TYPE_OR_FAIL(element, oldtype);
    struct builder builder = begin();
    add_block(&builder, 0, 1, element);
    builder.type->lower = element->lower;
    builder.upper = element->lower + element->extent;
    builder.type->is_committed = element->is_committed;
    struct attribute *attributes = NULL;
    const int error = copy_attributes(oldtype, element->attributes, &attributes);
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
    TYPE_OR_FAIL(element, oldtype);
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
    MPI_Count *indices = allocate_zeroed((size_t)ndims, sizeof(MPI_Count));
    blocks /= subsizes[fastest];
    for (MPI_Count block = 0; block < blocks; block++) {
        MPI_Count index = 0, unit = 1;
        for (int i = fastest, left = ndims; left > 0; i += step, left--) {
            index += (starts[i] + indices[i]) * unit;
            unit *= sizes[i];
        }
        add_block(&builder, index * element->extent, subsizes[fastest], element);
        for (int i = fastest + step, left = ndims - 1; left > 0; i += step, left--) {
            if (++indices[i] < subsizes[i]) break;
            indices[i] = 0;
        }
    }
    free(indices);
    mark_bounds(&builder, 0, whole * element->extent);
    MPI_Count *numbers = allocate(sizeof(MPI_Count) * (size_t)(3 * ndims + 2));
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
