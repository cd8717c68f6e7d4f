// Statuses of received messages.
#include "online/messages/statuses.h"

#include "online/datatypes/datatypes.h"
#include "online/objects/errors.h"

void set_status(MPI_Status *status, int source, int tag, MPI_Count bytes) {
    if (status == MPI_STATUS_IGNORE) return;
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    status->count_lo = (int)(bytes & 0xffffffff);
    status->count_hi_and_cancelled = (int)(bytes >> 32) << 1;
}

void empty_status(MPI_Status *status) {
    if (status == MPI_STATUS_IGNORE) return;
    set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
}

EXPORT int MPI_Test_cancelled(const MPI_Status *status, int *flag) {
    *flag = status->count_hi_and_cancelled & 1;
    return MPI_SUCCESS;
}

static MPI_Count bytes_in(const MPI_Status *status) {
    return ((MPI_Count)((unsigned)status->count_hi_and_cancelled >> 1) << 32) | (unsigned)status->count_lo;
}

EXPORT int MPI_Get_count_c(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count) {
    const struct datatype *type = datatype_of(datatype);
    if (type == NULL) return fail_world(MPI_ERR_TYPE);
    const MPI_Count bytes = bytes_in(status);
    *count = type->size == 0 ? (bytes ? MPI_UNDEFINED : 0) : bytes % type->size ? MPI_UNDEFINED : bytes / type->size;
    return MPI_SUCCESS;
}

EXPORT int MPI_Get_elements_c(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count) {
    const struct datatype *type = datatype_of(datatype);
    if (type == NULL) return fail_world(MPI_ERR_TYPE);
    *count = elements_in(type, bytes_in(status));
    return MPI_SUCCESS;
}
EXPORT int MPI_Get_elements_x(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count) {
    return MPI_Get_elements_c(status, datatype, count);
}

EXPORT int MPI_Status_set_elements_c(MPI_Status *status, MPI_Datatype datatype, MPI_Count count) {
    const struct datatype *type = datatype_of(datatype);
    if (type == NULL) return fail_world(MPI_ERR_TYPE);
    const MPI_Count bytes = bytes_in_elements(type, count);
    status->count_lo = (int)(bytes & 0xffffffff);
    status->count_hi_and_cancelled = (int)(bytes >> 32) << 1 | (status->count_hi_and_cancelled & 1);
    return MPI_SUCCESS;
}
EXPORT int MPI_Status_set_elements(MPI_Status *status, MPI_Datatype datatype, int count) {
    return MPI_Status_set_elements_c(status, datatype, count);
}
EXPORT int MPI_Status_set_elements_x(MPI_Status *status, MPI_Datatype datatype, MPI_Count count) {
    return MPI_Status_set_elements_c(status, datatype, count);
}

EXPORT int MPI_Status_set_cancelled(MPI_Status *status, int flag) {
    status->count_hi_and_cancelled = (status->count_hi_and_cancelled & ~1) | (flag != 0);
    return MPI_SUCCESS;
}

#define STATUS_FIELD(name, field)                                            \
    EXPORT int MPI_Status_get_##name(const MPI_Status *status, int *value) { \
        *value = status->field;                                              \
        return MPI_SUCCESS;                                                  \
    }                                                                        \
    EXPORT int MPI_Status_set_##name(MPI_Status *status, int value) {        \
        status->field = value;                                               \
        return MPI_SUCCESS;                                                  \
    }
STATUS_FIELD(source, MPI_SOURCE)
STATUS_FIELD(tag, MPI_TAG)
STATUS_FIELD(error, MPI_ERROR)

// ---- those of Fortran have the same layout

#define STATUS_COPY(name, from_type, to_type)                    \
    EXPORT int MPI_Status_##name(from_type *from, to_type *to) { \
        memcpy(to, from, sizeof(MPI_Status));                    \
        return MPI_SUCCESS;                                      \
    }
STATUS_COPY(c2f, const MPI_Status, MPI_Fint)
STATUS_COPY(f2c, const MPI_Fint, MPI_Status)
STATUS_COPY(c2f08, const MPI_Status, MPI_F08_status)
STATUS_COPY(f082c, const MPI_F08_status, MPI_Status)
STATUS_COPY(f2f08, const MPI_Fint, MPI_F08_status)
STATUS_COPY(f082f, const MPI_F08_status, MPI_Fint)
