// Files: what a rank knows of one that it has opened.
#pragma once

#include "online/datatypes/datatypes.h"
#include "online/objects/communicators.h"

struct shared_file {  // in shared memory
    int64_t pointer;  // in elementary types
    int64_t base;     // of the last ordered access
    uint32_t ordered_calls;
    int32_t references;
};

struct split {  // a collective access that has begun
    const char *name;
    MPI_Count bytes;
    int request;
};

struct ADIOI_FileD {  // the name that mpi.h gives it
    int handle, mode, descriptor;
    char *name;
    struct communicator *communicator;  // of its own
    MPI_Errhandler errhandler;
    MPI_Info info;
    uint64_t shared;
    MPI_Offset displacement;  // of the view, in bytes
    int64_t position;         // the rank's pointer, in elementary types
    struct datatype *etype, *filetype;
    char representation[MPI_MAX_DATAREP_STRING];
    bool is_atomic;
    uint32_t ordered_calls;
    struct split split;
};

int fail_file(MPI_File file, int error);
int error_of_system(void);
struct shared_file *shared_of(const struct ADIOI_FileD *file);

#define FILE_OR_FAIL(file) \
    if ((file) == MPI_FILE_NULL) return fail_file(NULL, MPI_ERR_FILE)

// Wait until simulated time is that of the call: other ranks may use the file before.
void come_in_order(void);
// Let the rank's time pass for parts of a file; a request where it has a name.
void use_storage(MPI_Count parts, MPI_Count bytes, int request);
// Let the first rank do something once all have come, with a number that must be the same on all; the others wait for
// it. Returns its error.
int by_first_rank(struct ADIOI_FileD *file, const char *name, int (*work)(struct ADIOI_FileD *file, int64_t number),
                  int64_t number);
// Move bytes between memory and the part of the file that the view shows; returns an error.
int move_bytes(const struct ADIOI_FileD *file, bool writes, MPI_Offset begin, char *memory, MPI_Count bytes,
               MPI_Count *moved, MPI_Count *parts);
void set_first_view(struct ADIOI_FileD *file);
MPI_Offset end_in_view(const struct ADIOI_FileD *file);  // in elementary types
