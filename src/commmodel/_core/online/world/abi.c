// The ABI: it is MPICH's, neither Open MPI's nor the standard one.
#include <errno.h>
#include <link.h>

#include "online/objects/info.h"
#include "online/runtime/turns.h"
#include "online/world/environment.h"

static int find_other_library(struct dl_phdr_info *object, size_t size, void *name) {
    (void)size;
    const char *file = strrchr(object->dlpi_name, '/');
    file = file != NULL ? file + 1 : object->dlpi_name;
    if (strcmp(file, "libmpi.so.40") == 0) *(const char **)name = "Open MPI";
    if (strncmp(file, "libmpi_abi.so", strlen("libmpi_abi.so")) == 0) *(const char **)name = "the standard MPI ABI";
    return *(const char **)name != NULL;
}

void refuse_other_libraries(void) {
    const char *name = NULL;
    dl_iterate_phdr(find_other_library, &name);
    if (name == NULL) return;
    abort_all(3,
              "%s is linked with a library of %s: link it with MPICH, whose ABI is simulated (mpi4py: its wheel, or "
              "built from source with MPICH's mpicc)",
              program_invocation_short_name, name);
}

EXPORT int MPI_Abi_get_version(int *abi_major, int *abi_minor) {
    *abi_major = *abi_minor = -1;
    return MPI_SUCCESS;
}

static void put_size(MPI_Info info, const char *name, size_t size) {
    char key[64], value[16];
    snprintf(key, sizeof key, "mpi_%s_size", name);
    snprintf(value, sizeof value, "%zu", size);
    MPI_Info_set(info, key, value);
}

EXPORT int MPI_Abi_get_info(MPI_Info *info) {
    *info = new_info();
    put_size(*info, "aint", sizeof(MPI_Aint));
    put_size(*info, "count", sizeof(MPI_Count));
    put_size(*info, "offset", sizeof(MPI_Offset));
    return MPI_SUCCESS;
}

EXPORT int MPI_Abi_get_fortran_info(MPI_Info *info) {
    static const char *const SUPPORTED[] = {
        "logical1", "logical2", "logical4",  "logical8",  "logical16",      "integer1", "integer2",
        "integer4", "integer8", "integer16", "real2",     "real4",          "real8",    "real16",
        "complex4", "complex8", "complex16", "complex32", "double_complex",
    };
    *info = new_info();
    put_size(*info, "logical", sizeof(int));
    put_size(*info, "integer", sizeof(int));
    put_size(*info, "real", sizeof(float));
    put_size(*info, "double_precision", sizeof(double));
    for (size_t i = 0; i < sizeof SUPPORTED / sizeof SUPPORTED[0]; i++) {
        char key[64];
        snprintf(key, sizeof key, "mpi_%s_supported", SUPPORTED[i]);
        MPI_Info_set(*info, key, "true");
    }
    return MPI_SUCCESS;
}
