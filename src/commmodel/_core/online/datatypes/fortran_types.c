// Datatypes of a given size, and those of Fortran with a given precision and range.
#include "online/datatypes/datatypes.h"
#include "online/objects/errors.h"
#include "online/objects/handles.h"
#include "online/runtime/allocation.h"

EXPORT int MPI_Type_match_size(int typeclass, int size, MPI_Datatype *datatype) {
    static const struct {
        int class, size;
        MPI_Datatype type;
    } TYPES[] = {
        {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
        {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
        {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16}, {MPI_TYPECLASS_REAL, 2, MPI_REAL2},
        {MPI_TYPECLASS_REAL, 4, MPI_REAL4},         {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
        {MPI_TYPECLASS_REAL, 16, MPI_REAL16},       {MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4},
        {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},   {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
        {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32},
    };
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++) {
        if (TYPES[i].class != typeclass || TYPES[i].size != size) continue;
        *datatype = TYPES[i].type;
        return MPI_SUCCESS;
    }
    return fail_world(MPI_ERR_ARG);
}

struct parametrized {
    int combiner;
    MPI_Count numbers[2];
    MPI_Datatype handle;
};

// A permanent type: like a basic one, but its envelope names its precision and range.
static int parametrized(int combiner, int number_count, const MPI_Count numbers[2], MPI_Datatype like,
                        MPI_Datatype *newtype) {
    static struct parametrized *list;
    static int count;
    for (int i = 0; i < count; i++) {
        if (list[i].combiner != combiner || memcmp(list[i].numbers, numbers, sizeof list[i].numbers) != 0) continue;
        *newtype = list[i].handle;
        return MPI_SUCCESS;
    }
    struct datatype *type = allocate(sizeof *type);
    *type = *datatype_of(like);
    type->contents = new_contents(combiner, number_count, numbers, 0, NULL, 0, NULL);
    type->name[0] = 0;
    type->handle = *newtype = new_handle(DATATYPE, type);
    forgive_leak(DATATYPE, type->handle);
    list = reallocate(list, sizeof *list * (size_t)(count + 1));
    list[count++] = (struct parametrized){combiner, {numbers[0], numbers[1]}, type->handle};
    return MPI_SUCCESS;
}

EXPORT int MPI_Type_create_f90_integer(int r, MPI_Datatype *newtype) {
    static const struct {
        int range;
        MPI_Datatype type;
    } TYPES[] = {{2, MPI_INTEGER1}, {4, MPI_INTEGER2}, {9, MPI_INTEGER4}, {18, MPI_INTEGER8}};
    for (int i = 0; i < 4; i++)
        if (r <= TYPES[i].range)
            return parametrized(MPI_COMBINER_F90_INTEGER, 1, (MPI_Count[]){r, 0}, TYPES[i].type, newtype);
    return fail_world(MPI_ERR_ARG);
}

// 0, 1 or 2 for single, double or quadruple precision; NONE if none suffices.
static int precision(int p, int r) {
    if (p <= 6 && r <= 37) return 0;
    if (p <= 15 && r <= 307) return 1;
    return p <= 33 && r <= 4931 ? 2 : NONE;
}

static int of_precision(int combiner, int p, int r, const MPI_Datatype types[3], MPI_Datatype *newtype) {
    const int index = precision(p, r);
    if (index == NONE) return fail_world(MPI_ERR_ARG);
    return parametrized(combiner, 2, (MPI_Count[]){p, r}, types[index], newtype);
}

EXPORT int MPI_Type_create_f90_real(int p, int r, MPI_Datatype *newtype) {
    static const MPI_Datatype TYPES[] = {MPI_REAL4, MPI_REAL8, MPI_REAL16};
    return of_precision(MPI_COMBINER_F90_REAL, p, r, TYPES, newtype);
}

EXPORT int MPI_Type_create_f90_complex(int p, int r, MPI_Datatype *newtype) {
    static const MPI_Datatype TYPES[] = {MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32};
    return of_precision(MPI_COMBINER_F90_COMPLEX, p, r, TYPES, newtype);
}

EXPORT int MPI_Type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type, MPI_Datatype *pair_type) {
    static const MPI_Datatype VALUES[] = {MPI_FLOAT, MPI_DOUBLE, MPI_LONG, MPI_SHORT, MPI_INT, MPI_LONG_DOUBLE};
    static const MPI_Datatype PAIRS[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT,
                                         MPI_SHORT_INT, MPI_2INT,       MPI_LONG_DOUBLE_INT};
    if (datatype_of(value_type) == NULL || datatype_of(index_type) == NULL) return fail_world(MPI_ERR_TYPE);
    *pair_type = MPI_DATATYPE_NULL;
    for (int i = 0; index_type == MPI_INT && i < 6; i++)
        if (VALUES[i] == value_type) *pair_type = PAIRS[i];
    return MPI_SUCCESS;
}
