// Programs that look up MPI's functions by name (ctypes, cffi, numba-mpi, Julia) get those that record.

#include "recorder.h"

#ifdef __GLIBC__

#include <dlfcn.h>
#include <string.h>

#include "next.h"

typedef void *lookup_function(void *handle, const char *name);

// The C library's dlsym by its versions: each processor's ABI has the newest and the one that it began with.
static lookup_function *system_lookup(void) {
    static const char *const VERSIONS[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27", "GLIBC_2.2"};
    static lookup_function *function;
    for (size_t i = 0; function == NULL && i < sizeof VERSIONS / sizeof *VERSIONS; i++)
        *(void **)&function = dlvsym(RTLD_NEXT, "dlsym", VERSIONS[i]);
    return function;
}

static void *file_of(void *address) {
    Dl_info file;
    return address != NULL && dladdr(address, &file) != 0 ? file.dli_fbase : NULL;
}

static void *wrapper_of(lookup_function *lookup, const char *name) {
    static void *recorder;
    Dl_info file;
    if (recorder == NULL && dladdr(&recorder, &file) != 0) recorder = dlopen(file.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return recorder == NULL ? NULL : lookup(recorder, name);
}

#if defined(__has_attribute) && __has_attribute(musttail)
#define JUMP __attribute__((musttail))
#define WITH_JUMP
#else
#define JUMP
#define WITH_JUMP __attribute__((optimize("O2")))
#endif

// RTLD_NEXT means what follows the caller, so that the C library must see the caller's return address: the last call
// of this function has to be a jump, however the file is compiled. Whoever asks so for an MPI function is a profiler.
VISIBLE WITH_JUMP void *dlsym(void *restrict handle, const char *restrict name) {
    lookup_function *lookup = system_lookup();
    if (UNLIKELY(lookup == NULL)) return NULL;
    if (handle != RTLD_NEXT && strncmp(name, "MPI_", 4) == 0) {
        void *function = lookup(handle, name);
        if (function == NULL || file_of(function) != file_of(*(void **)&next.Send)) return function;
        void *wrapper = wrapper_of(lookup, name);
        return wrapper != NULL ? wrapper : function;
    }
    JUMP return lookup(handle, name);
}

#endif
