// How datatypes were made: MPI_Type_get_envelope and MPI_Type_get_contents.
#include "online/datatypes/datatypes.h"
#include "online/objects/errors.h"
#include "online/objects/handles.h"
#include "online/runtime/allocation.h"

struct contents {
    int combiner;
    MPI_Count number_count, displacement_count, type_count;
    MPI_Count *numbers, *displacements;
    struct datatype **types;
};

static MPI_Count *copy_counts(const MPI_Count *from, MPI_Count count) {
    MPI_Count *copy = allocate(sizeof(MPI_Count) * (size_t)(count + 1));
    if (count > 0) memcpy(copy, from, sizeof(MPI_Count) * (size_t)count);
    return copy;
}

struct contents *new_contents(int combiner, MPI_Count numbers, const MPI_Count *number, MPI_Count displacements,
                              const MPI_Count *displacement, MPI_Count types, const MPI_Datatype *type) {
    struct contents *contents = allocate(sizeof *contents);
    *contents = (struct contents){
        combiner,
        numbers,
        displacements,
        types,
        copy_counts(number, numbers),
        copy_counts(displacement, displacements),
        allocate(sizeof(struct datatype *) * (size_t)(types + 1)),
    };
    for (MPI_Count i = 0; i < types; i++) {
        contents->types[i] = datatype_of(type[i]);
        keep_datatype(contents->types[i]);
    }
    return contents;
}

void free_contents(struct contents *contents) {
    if (contents == NULL) return;
    for (MPI_Count i = 0; i < contents->type_count; i++) drop_datatype(contents->types[i]);
    free(contents->types);
    free(contents->numbers);
    free(contents->displacements);
    free(contents);
}

// Whether any number exceeds an int: then all are returned as large counts.
static bool is_large(const struct contents *contents) {
    bool large = false;
    for (MPI_Count i = 0; contents != NULL && i < contents->number_count; i++)
        large |= contents->numbers[i] != (int)contents->numbers[i];
    return large;
}

EXPORT int MPI_Type_get_envelope(MPI_Datatype handle, int *integers, int *addresses, int *datatypes, int *combiner) {
    const struct datatype *type = datatype_of(handle);
    if (type == NULL) return fail_world(MPI_ERR_TYPE);
    const struct contents *contents = type->contents;
    *combiner = contents ? contents->combiner : MPI_COMBINER_NAMED;
    *integers = contents ? (int)contents->number_count : 0;
    *addresses = contents ? (int)contents->displacement_count : 0;
    *datatypes = contents ? (int)contents->type_count : 0;
    return MPI_SUCCESS;
}

EXPORT int MPI_Type_get_envelope_c(MPI_Datatype handle, MPI_Count *integers, MPI_Count *addresses, MPI_Count *counts,
                                   MPI_Count *datatypes, int *combiner) {
    int numbers, displacements, types;
    const int error = MPI_Type_get_envelope(handle, &numbers, &displacements, &types, combiner);
    if (error != MPI_SUCCESS) return error;
    const bool large = is_large(datatype_of(handle)->contents);
    *integers = large ? 0 : numbers;
    *addresses = large ? 0 : displacements;
    *counts = large ? numbers + displacements : 0;
    *datatypes = types;
    return error;
}

static void tell_types(const struct contents *contents, MPI_Datatype datatypes[]) {
    for (MPI_Count i = 0; i < contents->type_count; i++) {
        struct datatype *part = contents->types[i];
        datatypes[i] = part->handle;
        if (part->is_basic) continue;
        keep_datatype(part);  // a handle of its own, which the program frees
        datatypes[i] = new_handle(DATATYPE, part);
    }
}

EXPORT int MPI_Type_get_contents(MPI_Datatype handle, int max_integers, int max_addresses, int max_datatypes,
                                 int integers[], MPI_Aint addresses[], MPI_Datatype datatypes[]) {
    const struct datatype *type = datatype_of(handle);
    if (type == NULL || type->contents == NULL) return fail_world(MPI_ERR_TYPE);
    const struct contents *contents = type->contents;
    if (max_integers < contents->number_count || max_addresses < contents->displacement_count ||
        max_datatypes < contents->type_count)
        return fail_world(MPI_ERR_ARG);
    for (MPI_Count i = 0; i < contents->number_count; i++) integers[i] = (int)contents->numbers[i];
    for (MPI_Count i = 0; i < contents->displacement_count; i++) addresses[i] = contents->displacements[i];
    tell_types(contents, datatypes);
    return MPI_SUCCESS;
}

EXPORT int MPI_Type_get_contents_c(MPI_Datatype handle, MPI_Count max_integers, MPI_Count max_addresses,
                                   MPI_Count max_counts, MPI_Count max_datatypes, int integers[], MPI_Aint addresses[],
                                   MPI_Count counts[], MPI_Datatype datatypes[]) {
    const struct datatype *type = datatype_of(handle);
    if (type == NULL || !is_large(type->contents)) {
        return MPI_Type_get_contents(handle, (int)max_integers, (int)max_addresses, (int)max_datatypes, integers,
                                     addresses, datatypes);
    }
    const struct contents *contents = type->contents;
    if (max_counts < contents->number_count + contents->displacement_count || max_datatypes < contents->type_count)
        return fail_world(MPI_ERR_ARG);
    memcpy(counts, contents->numbers, sizeof(MPI_Count) * (size_t)contents->number_count);
    memcpy(counts + contents->number_count, contents->displacements,
           sizeof(MPI_Count) * (size_t)contents->displacement_count);
    tell_types(contents, datatypes);
    return MPI_SUCCESS;
}
