// Data of datatypes copied from and to where they lie one after the other.
#include "online.h"

static bool is_dense(const struct datatype *type) {
    return type->run_count == 1 && type->runs[0].length == type->extent;
}

MPI_Count pack(const void *buffer, MPI_Count count, const struct datatype *type, void *packed) {
    if (count <= 0 || type->size == 0) return 0;
    if (is_dense(type)) {
        memcpy(packed, (const char *)buffer + type->runs[0].offset, (size_t)(count * type->size));
        return count * type->size;
    }
    char *to = packed;
    for (MPI_Count i = 0; i < count; i++) {
        const char *from = (const char *)buffer + i * type->extent;
        for (MPI_Count j = 0; j < type->run_count; j++) {
            memcpy(to, from + type->runs[j].offset, (size_t)type->runs[j].length);
            to += type->runs[j].length;
        }
    }
    return to - (char *)packed;
}

MPI_Count unpack(void *buffer, MPI_Count count, const struct datatype *type, const void *packed, MPI_Count bytes) {
    if (bytes <= 0 || type->size == 0) return 0;
    if (is_dense(type)) {
        memcpy((char *)buffer + type->runs[0].offset, packed, (size_t)bytes);
        return bytes;
    }
    const char *from = packed, *const end = from + bytes;
    for (MPI_Count i = 0; i < count && from < end; i++) {
        char *to = (char *)buffer + i * type->extent;
        for (MPI_Count j = 0; j < type->run_count && from < end; j++) {
            const MPI_Count length = type->runs[j].length < end - from ? type->runs[j].length : end - from;
            memcpy(to + type->runs[j].offset, from, (size_t)length);
            from += length;
        }
    }
    return bytes;
}

MPI_Count elements_in(const struct datatype *type, MPI_Count bytes) {
    if (type->size == 0) return 0;
    MPI_Count elements = bytes / type->size * type->elements;
    MPI_Count left = bytes % type->size;
    for (MPI_Count j = 0; j < type->run_count && left > 0; j++) {
        const MPI_Count length = type->runs[j].length < left ? type->runs[j].length : left;
        if (length % type->runs[j].unit) return MPI_UNDEFINED;
        elements += length / type->runs[j].unit;
        left -= length;
    }
    return elements;
}

#define TYPE_OR_FAIL(name, handle)               \
    struct datatype *name = datatype_of(handle); \
    if (name == NULL) return fail_world(MPI_ERR_TYPE)

EXPORT int MPI_Pack_c(const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf, MPI_Count outsize,
                      MPI_Count *position, MPI_Comm comm) {
    TYPE_OR_FAIL(type, datatype);
    if (communicator_of(comm) == NULL) return fail_world(MPI_ERR_COMM);
    if (*position + volume(incount, type) > outsize) return fail_world(MPI_ERR_ARG);
    *position += pack(inbuf, incount, type, (char *)outbuf + *position);
    return MPI_SUCCESS;
}

EXPORT int MPI_Unpack_c(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf, MPI_Count outcount,
                        MPI_Datatype datatype, MPI_Comm comm) {
    TYPE_OR_FAIL(type, datatype);
    if (communicator_of(comm) == NULL) return fail_world(MPI_ERR_COMM);
    const MPI_Count bytes = volume(outcount, type);
    if (*position + bytes > insize) return fail_world(MPI_ERR_ARG);
    *position += unpack(outbuf, outcount, type, (const char *)inbuf + *position, bytes);
    return MPI_SUCCESS;
}

EXPORT int MPI_Pack_size_c(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count *size) {
    TYPE_OR_FAIL(type, datatype);
    if (communicator_of(comm) == NULL) return fail_world(MPI_ERR_COMM);
    *size = volume(incount, type);
    return MPI_SUCCESS;
}

// ---- external32: big-endian elements

static void swap(char *at, MPI_Count bytes, const struct datatype *type) {
    MPI_Count done = 0;
    while (done < bytes) {
        for (MPI_Count j = 0; j < type->run_count && done < bytes; j++) {
            const int unit = type->runs[j].unit;
            for (MPI_Count i = 0; i < type->runs[j].length; i += unit) {
                for (int low = 0, high = unit - 1; low < high; low++, high--) {
                    const char kept = at[done + i + low];
                    at[done + i + low] = at[done + i + high];
                    at[done + i + high] = kept;
                }
            }
            done += type->runs[j].length;
        }
    }
}

EXPORT int MPI_Pack_external_c(const char datarep[], const void *inbuf, MPI_Count incount, MPI_Datatype datatype,
                               void *outbuf, MPI_Count outsize, MPI_Count *position) {
    TYPE_OR_FAIL(type, datatype);
    if (strcmp(datarep, "external32") != 0) return fail_world(MPI_ERR_ARG);
    if (*position + volume(incount, type) > outsize) return fail_world(MPI_ERR_ARG);
    const MPI_Count bytes = pack(inbuf, incount, type, (char *)outbuf + *position);
    swap((char *)outbuf + *position, bytes, type);
    *position += bytes;
    return MPI_SUCCESS;
}

EXPORT int MPI_Unpack_external_c(const char datarep[], const void *inbuf, MPI_Count insize, MPI_Count *position,
                                 void *outbuf, MPI_Count outcount, MPI_Datatype datatype) {
    TYPE_OR_FAIL(type, datatype);
    if (strcmp(datarep, "external32") != 0) return fail_world(MPI_ERR_ARG);
    const MPI_Count bytes = volume(outcount, type);
    if (*position + bytes > insize) return fail_world(MPI_ERR_ARG);
    char *const copy = malloc((size_t)bytes + 1);
    memcpy(copy, (const char *)inbuf + *position, (size_t)bytes);
    swap(copy, bytes, type);
    unpack(outbuf, outcount, type, copy, bytes);
    free(copy);
    *position += bytes;
    return MPI_SUCCESS;
}

EXPORT int MPI_Pack_external_size_c(const char datarep[], MPI_Count incount, MPI_Datatype datatype, MPI_Count *size) {
    TYPE_OR_FAIL(type, datatype);
    if (strcmp(datarep, "external32") != 0) return fail_world(MPI_ERR_ARG);
    *size = volume(incount, type);
    return MPI_SUCCESS;
}
