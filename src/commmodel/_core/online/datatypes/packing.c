// Packing and unpacking: copies between typed buffers and contiguous data.
#include "online/datatypes/datatypes.h"
#include "online/objects/errors.h"
#include "online/objects/communicators.h"
#include "online/runtime/allocation.h"

MPI_Count pack(const void *buffer, MPI_Count count, const struct datatype *type, void *packed) {
    if (count <= 0 || type->size == 0) return 0;
    if (is_dense(type)) {
        memcpy(packed, (const char *)buffer + type->runs[0].offset, (size_t)(count * type->size));
        return count * type->size;
    }
    char *to = packed;
    for (MPI_Count i = 0; i < count; i++) {
        for (MPI_Count j = 0; j < type->run_count; j++) {
            const struct run *run = &type->runs[j];
            const char *from = (const char *)buffer + i * type->extent + run->offset;
            for (MPI_Count k = 0; k < run->repeats; k++) {
                memcpy(to, from + k * run->stride, (size_t)run->length);
                to += run->length;
            }
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
        for (MPI_Count j = 0; j < type->run_count && from < end; j++) {
            const struct run *run = &type->runs[j];
            char *to = (char *)buffer + i * type->extent + run->offset;
            for (MPI_Count k = 0; k < run->repeats && from < end; k++) {
                const MPI_Count length = run->length < end - from ? run->length : end - from;
                memcpy(to + k * run->stride, from, (size_t)length);
                from += length;
            }
        }
    }
    return bytes;
}

MPI_Count elements_in(const struct datatype *type, MPI_Count bytes) {
    if (type->size == 0) return 0;
    MPI_Count elements = bytes / type->size * type->elements;
    MPI_Count left = bytes % type->size;
    for (MPI_Count j = 0; j < type->run_count && left > 0; j++) {
        const MPI_Count all = type->runs[j].length * type->runs[j].repeats, length = all < left ? all : left;
        if (length % type->runs[j].unit) return MPI_UNDEFINED;
        elements += length / type->runs[j].unit;
        left -= length;
    }
    return elements;
}

bool has_whole_elements(const struct datatype *type, MPI_Count bytes) {
    if (bytes % (type->size > 0 ? type->size : 1) == 0 || elements_in(type, bytes) != MPI_UNDEFINED) return true;
    explain_error(": %lld bytes have arrived, which are no whole elements of it", (long long)bytes);
    return false;
}

MPI_Count bytes_in_elements(const struct datatype *type, MPI_Count elements) {
    if (type->elements == 0) return 0;
    MPI_Count bytes = elements / type->elements * type->size;
    MPI_Count left = elements % type->elements;
    for (MPI_Count j = 0; j < type->run_count && left > 0; j++) {
        const struct run *run = &type->runs[j];
        const MPI_Count all = run->length * run->repeats / run->unit, number = all < left ? all : left;
        bytes += number * run->unit;
        left -= number;
    }
    return bytes;
}

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

// ---- external32: big-endian elements, some of them of another size

static int parts(const struct run *run) {  // of a basic element
    return run->form == PAIR_OF_SAME || (run->form == QUADRUPLE && run->unit > (int)sizeof(long double)) ? 2 : 1;
}

static int external_size(const struct run *run) {
    switch (run->form) {
        case SIGNED_LONG:
        case UNSIGNED_LONG: return 4;
        case WIDE_CHARACTER: return 2;
        default: return run->unit;
    }
}

static MPI_Count external_volume(MPI_Count count, const struct datatype *type) {
    MPI_Count bytes = 0;
    for (MPI_Count j = 0; j < type->run_count; j++) {
        const struct run *run = &type->runs[j];
        bytes += run->length / run->unit * run->repeats * external_size(run);
    }
    return count * bytes;
}

static void reverse(char *to, const char *from, int size) {
    for (int i = 0; i < size; i++) to[i] = from[size - 1 - i];
}

// Convert one unit of an element; external32 drops the upper bytes of longer numbers.
static void write_part(char *to, const char *from, int size, enum form form) {
#if __LDBL_MANT_DIG__ == 64
    if (form == QUADRUPLE) {
        const __float128 number = *(const long double *)from;
        reverse(to, (const char *)&number, size);
        return;
    }
#endif
    (void)form;
    reverse(to, from, size);
}

static void read_part(char *to, const char *from, int size, int inner_size, enum form form) {
#if __LDBL_MANT_DIG__ == 64
    if (form == QUADRUPLE) {
        __float128 number;
        reverse((char *)&number, from, size);
        *(long double *)to = (long double)number;
        return;
    }
#endif
    reverse(to, from, size);
    const bool is_negative = form == SIGNED_LONG && from[0] < 0;
    memset(to + size, is_negative ? 0xff : 0, (size_t)(inner_size - size));
}

// Convert contiguous elements between the native form and external32.
static void convert(char *inner, char *outer, MPI_Count count, const struct datatype *type, bool writes) {
    for (MPI_Count i = 0; i < count; i++) {
        for (MPI_Count j = 0; j < type->run_count; j++) {
            const struct run *run = &type->runs[j];
            const int number = parts(run), size = external_size(run) / number, inner_size = run->unit / number;
            for (MPI_Count left = run->length / run->unit * run->repeats * number; left > 0; left--) {
                writes ? write_part(outer, inner, size, run->form)
                       : read_part(inner, outer, size, inner_size, run->form);
                inner += inner_size;
                outer += size;
            }
        }
    }
}

EXPORT int MPI_Pack_external_c(const char datarep[], const void *inbuf, MPI_Count incount, MPI_Datatype datatype,
                               void *outbuf, MPI_Count outsize, MPI_Count *position) {
    TYPE_OR_FAIL(type, datatype);
    if (strcmp(datarep, "external32") != 0) return fail_world(MPI_ERR_ARG);
    const MPI_Count bytes = external_volume(incount, type);
    if (*position + bytes > outsize) return fail_world(MPI_ERR_ARG);
    char *const inner = allocate((size_t)volume(incount, type) + 1);
    pack(inbuf, incount, type, inner);
    convert(inner, (char *)outbuf + *position, incount, type, true);
    free(inner);
    *position += bytes;
    return MPI_SUCCESS;
}

EXPORT int MPI_Unpack_external_c(const char datarep[], const void *inbuf, MPI_Count insize, MPI_Count *position,
                                 void *outbuf, MPI_Count outcount, MPI_Datatype datatype) {
    TYPE_OR_FAIL(type, datatype);
    if (strcmp(datarep, "external32") != 0) return fail_world(MPI_ERR_ARG);
    const MPI_Count bytes = external_volume(outcount, type);
    if (*position + bytes > insize) return fail_world(MPI_ERR_ARG);
    char *const inner = allocate((size_t)volume(outcount, type) + 1);
    convert(inner, (char *)inbuf + *position, outcount, type, false);
    unpack(outbuf, outcount, type, inner, volume(outcount, type));
    free(inner);
    *position += bytes;
    return MPI_SUCCESS;
}

EXPORT int MPI_Pack_external_size_c(const char datarep[], MPI_Count incount, MPI_Datatype datatype, MPI_Count *size) {
    TYPE_OR_FAIL(type, datatype);
    if (strcmp(datarep, "external32") != 0) return fail_world(MPI_ERR_ARG);
    *size = external_volume(incount, type);
    return MPI_SUCCESS;
}
