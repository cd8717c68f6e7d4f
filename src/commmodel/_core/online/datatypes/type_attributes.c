// Attributes of datatypes.
#include "online/datatypes/datatypes.h"
#include "online/objects/families.h"

static bool has_no_value(const struct datatype *type, int keyval, void *value, int *flag, enum value_type kind) {
    (void)type, (void)keyval, (void)value, (void)flag, (void)kind;
    return false;
}

static int fail_type(const struct datatype *type, int error) {
    (void)type;
    return fail_world(error);
}

ATTRIBUTE_FUNCTIONS(Type, MPI_Datatype, DATATYPE, datatype, datatype_of, fail_world(MPI_ERR_TYPE), has_no_value,
                    fail_type)
