// Attributes of datatypes.
#include "online/datatypes/datatypes.h"
#include "online/objects/attributes.h"
#include "online/objects/errors.h"

EXPORT int MPI_Type_create_keyval(MPI_Type_copy_attr_function *copy, MPI_Type_delete_attr_function *delete, int *keyval,
                                  void *state) {
    return create_keyval(DATATYPE, (attribute_copier *)copy, (attribute_deleter *)delete, keyval, state);
}
EXPORT int MPI_Type_free_keyval(int *keyval) { return free_keyval(keyval); }

EXPORT int MPII_Type_get_attr(MPI_Datatype handle, int keyval, void *value, int *flag, enum value_type type_of_value) {
    struct datatype *type = datatype_of(handle);
    const int error =
        type == NULL ? MPI_ERR_TYPE : get_attribute(&type->attributes, keyval, value, flag, type_of_value);
    return error == MPI_SUCCESS ? error : fail_world(error);
}
EXPORT int MPI_Type_get_attr(MPI_Datatype handle, int keyval, void *value, int *flag) {
    return MPII_Type_get_attr(handle, keyval, value, flag, POINTER);
}
EXPORT int MPII_Type_set_attr(MPI_Datatype handle, int keyval, void *value, enum value_type type_of_value) {
    struct datatype *type = datatype_of(handle);
    const int error =
        type == NULL ? MPI_ERR_TYPE : set_attribute(handle, &type->attributes, keyval, value, type_of_value);
    return error == MPI_SUCCESS ? error : fail_world(error);
}
EXPORT int MPI_Type_set_attr(MPI_Datatype handle, int keyval, void *value) {
    return MPII_Type_set_attr(handle, keyval, value, POINTER);
}
EXPORT int MPI_Type_delete_attr(MPI_Datatype handle, int keyval) {
    struct datatype *type = datatype_of(handle);
    const int error = type == NULL ? MPI_ERR_TYPE : delete_attribute(handle, &type->attributes, keyval);
    return error == MPI_SUCCESS ? error : fail_world(error);
}
