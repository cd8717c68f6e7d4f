// Functions that several kinds of objects have alike. `Kind` stands in their names, MPI_Kind_set_name; `find` returns the
// `struct object` of a handle, else `failure` is the result.
#pragma once

#include "online/objects/attributes.h"
#include "online/objects/errors.h"
#include "online/objects/info.h"

#define NAME_FUNCTIONS(Kind, Handle, NO_HANDLE, object, find, failure)                           \
    EXPORT int MPI_##Kind##_set_name(Handle handle, const char *name) {                          \
        struct object *object = find(handle);                                                    \
        if (object == NULL) return failure;                                                      \
        snprintf(object->name, sizeof object->name, "%s", name);                                 \
        return MPI_SUCCESS;                                                                      \
    }                                                                                            \
    EXPORT int MPI_##Kind##_get_name(Handle handle, char *name, int *length) {                   \
        const struct object *object = find(handle);                                              \
        if (object == NULL && handle != NO_HANDLE) return failure;                               \
        *length = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", object ? object->name : #NO_HANDLE); \
        return MPI_SUCCESS;                                                                      \
    }

#define INFO_GETTER(Kind, Handle, object, find, failure)                              \
    EXPORT int MPI_##Kind##_get_info(Handle handle, MPI_Info *info) {                 \
        const struct object *object = find(handle);                                   \
        if (object == NULL) return failure;                                           \
        *info = object->info == MPI_INFO_NULL ? new_info() : copy_info(object->info); \
        return MPI_SUCCESS;                                                           \
    }

#define INFO_FUNCTIONS(Kind, Handle, object, find, failure, copy)    \
    EXPORT int MPI_##Kind##_set_info(Handle handle, MPI_Info info) { \
        struct object *object = find(handle);                        \
        if (object == NULL) return failure;                          \
        free_info(&object->info);                                    \
        object->info = copy(info);                                   \
        return MPI_SUCCESS;                                          \
    }                                                                \
    INFO_GETTER(Kind, Handle, object, find, failure)

#define ERRHANDLER_FUNCTIONS(Kind, Handle, object, find, failure)                                         \
    EXPORT int MPI_##Kind##_set_errhandler(Handle handle, MPI_Errhandler handler) {                       \
        struct object *object = find(handle);                                                             \
        if (object == NULL) return failure;                                                               \
        if (handler == MPI_ERRHANDLER_NULL) return handle_error(handle, object->errhandler, MPI_ERR_ARG); \
        keep_errhandler(handler);                                                                         \
        free_errhandler(object->errhandler);                                                              \
        object->errhandler = handler;                                                                     \
        return MPI_SUCCESS;                                                                               \
    }                                                                                                     \
    EXPORT int MPI_##Kind##_get_errhandler(Handle handle, MPI_Errhandler *handler) {                      \
        const struct object *object = find(handle);                                                       \
        if (object == NULL) return failure;                                                               \
        *handler = object->errhandler;                                                                    \
        keep_errhandler(*handler);                                                                        \
        return MPI_SUCCESS;                                                                               \
    }                                                                                                     \
    EXPORT int MPI_##Kind##_call_errhandler(Handle handle, int errorcode) {                               \
        const struct object *object = find(handle);                                                       \
        if (object == NULL) return failure;                                                               \
        handle_error(handle, object->errhandler, errorcode);                                              \
        return MPI_SUCCESS;                                                                               \
    }

// `is_predefined` gives a value that is no attribute of the program; `fail_object` calls the object's error handler.
// MPII_Kind_get_attr and MPII_Kind_set_attr are what MPICH's Fortran bindings call.
#define ATTRIBUTE_FUNCTIONS(Kind, Handle, KIND, object, find, failure, is_predefined, fail_object)               \
    EXPORT int MPI_##Kind##_create_keyval(MPI_##Kind##_copy_attr_function *copy,                                 \
                                          MPI_##Kind##_delete_attr_function *delete, int *keyval, void *state) { \
        return create_keyval(KIND, (attribute_copier *)copy, (attribute_deleter *)delete, keyval, state);        \
    }                                                                                                            \
    EXPORT int MPI_##Kind##_free_keyval(int *keyval) { return free_keyval(KIND, keyval); }                       \
    EXPORT int MPII_##Kind##_get_attr(Handle handle, int keyval, void *value, int *flag, enum value_type type) { \
        struct object *object = find(handle);                                                                    \
        if (object == NULL) return failure;                                                                      \
        if (is_predefined(object, keyval, value, flag, type)) return MPI_SUCCESS;                                \
        const int error = get_attribute(KIND, &object->attributes, keyval, value, flag, type);                   \
        return error == MPI_SUCCESS ? error : fail_object(object, error);                                        \
    }                                                                                                            \
    EXPORT int MPI_##Kind##_get_attr(Handle handle, int keyval, void *value, int *flag) {                        \
        return MPII_##Kind##_get_attr(handle, keyval, value, flag, POINTER);                                     \
    }                                                                                                            \
    EXPORT int MPII_##Kind##_set_attr(Handle handle, int keyval, void *value, enum value_type type) {            \
        struct object *object = find(handle);                                                                    \
        if (object == NULL) return failure;                                                                      \
        const int error = set_attribute(KIND, handle, &object->attributes, keyval, value, type);                 \
        return error == MPI_SUCCESS ? error : fail_object(object, error);                                        \
    }                                                                                                            \
    EXPORT int MPI_##Kind##_set_attr(Handle handle, int keyval, void *value) {                                   \
        return MPII_##Kind##_set_attr(handle, keyval, value, POINTER);                                           \
    }                                                                                                            \
    EXPORT int MPI_##Kind##_delete_attr(Handle handle, int keyval) {                                             \
        struct object *object = find(handle);                                                                    \
        if (object == NULL) return failure;                                                                      \
        const int error = delete_attribute(KIND, handle, &object->attributes, keyval);                           \
        return error == MPI_SUCCESS ? error : fail_object(object, error);                                        \
    }
