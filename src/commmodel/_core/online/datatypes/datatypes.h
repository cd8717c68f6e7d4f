// Datatypes, and packing by them.
#pragma once

#include "online/online.h"

struct attribute;
struct contents;

enum form { SAME, PAIR_OF_SAME, SIGNED_LONG, UNSIGNED_LONG, WIDE_CHARACTER, QUADRUPLE };  // in external32

struct run {  // contiguous bytes, once or several times
    MPI_Aint offset;
    MPI_Count length, repeats;
    MPI_Aint stride;  // from one to the next
    int unit;         // bytes of a basic element
    enum form form;
};

struct datatype {
    MPI_Datatype handle;
    int references;
    int alignment;
    bool is_basic, is_committed, marks_lower, marks_upper;  // marks: the bounds hold whatever lies beyond them
    MPI_Count size, extent, lower, true_lower, true_extent, elements;  // elements: basic ones in it
    MPI_Count run_count;
    struct run *runs;
    MPI_Datatype basic;  // of all elements, MPI_DATATYPE_NULL where they differ
    struct contents *contents;
    struct attribute *attributes;
    char name[MPI_MAX_OBJECT_NAME];
    uint64_t signature;  // of a checked run; 0 where it is not known
    MPI_Count signature_repeats;
    enum { NOT_LOOKED_AT, APART, ON_ONE_ANOTHER } entries[2];  // of one element, and of several
};

struct block {  // of a buffer
    char *at;
    MPI_Count count;
    struct datatype *type;
};

struct contents *new_contents(int combiner, MPI_Count numbers, const MPI_Count *number, MPI_Count displacements,
                              const MPI_Count *displacement, MPI_Count types, const MPI_Datatype *type);
void free_contents(struct contents *contents);
struct datatype *datatype_of(MPI_Datatype handle);
int check_memory(const void *buffer, MPI_Count count, const struct datatype *type);  // of a message; returns an error
void keep_datatype(struct datatype *type);
void drop_datatype(struct datatype *type);
void make_basic_datatypes(void);
static inline MPI_Count volume(MPI_Count count, const struct datatype *type) { return count * type->size; }
static inline bool is_dense(const struct datatype *type) {
    return type->run_count == 1 && type->runs[0].repeats == 1 && type->runs[0].length == type->extent;
}
MPI_Count pack(const void *buffer, MPI_Count count, const struct datatype *type, void *packed);  // bytes
MPI_Count unpack(void *buffer, MPI_Count count, const struct datatype *type, const void *packed,
                 MPI_Count bytes);  // at most `bytes`; returns how many were unpacked
bool has_whole_elements(const struct datatype *type, MPI_Count bytes);  // else `explain_error` has been called
MPI_Count elements_in(const struct datatype *type, MPI_Count bytes);
MPI_Count bytes_in_elements(const struct datatype *type, MPI_Count elements);

#define TYPE_OR_FAIL(name, handle)               \
    struct datatype *name = datatype_of(handle); \
    if (name == NULL) return fail_world(MPI_ERR_TYPE)
