// Files can be opened and closed; reading and writing is not simulated.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "online/objects/communicators.h"
#include "online/objects/families.h"
#include "online/objects/handles.h"
#include "online/runtime/allocation.h"

struct ADIOI_FileD {  // the name that mpi.h gives it
    int handle, mode;
    char *name;
    struct group *group;
    MPI_Errhandler errhandler;
    MPI_Info info;
};

static MPI_Errhandler default_errhandler = MPI_ERRORS_RETURN;  // that of MPI_FILE_NULL

static int fail_file(MPI_File file, int error) {
    return call_file_errhandler(&file, file ? file->errhandler : default_errhandler, error);
}

static int error_of_system(void) {
    switch (errno) {
        case ENOENT: return MPI_ERR_NO_SUCH_FILE;
        case EEXIST: return MPI_ERR_FILE_EXISTS;
        case EACCES: return MPI_ERR_ACCESS;
        case EROFS: return MPI_ERR_READ_ONLY;
        case EISDIR: return MPI_ERR_BAD_FILE;
        default: return MPI_ERR_IO;
    }
}

static int try_to_open(const char *name, int mode) {
    int flags = mode & MPI_MODE_RDWR ? O_RDWR : mode & MPI_MODE_WRONLY ? O_WRONLY : O_RDONLY;
    if (mode & MPI_MODE_CREATE) flags |= O_CREAT;
    if (mode & MPI_MODE_EXCL) flags |= O_EXCL;
    const int descriptor = open(name, flags | O_CLOEXEC, 0666);
    if (descriptor < 0) return error_of_system();
    close(descriptor);
    return MPI_SUCCESS;
}

EXPORT int MPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh) {
    struct communicator *communicator = communicator_of(comm);
    if (communicator == NULL || communicator->remote != NULL) return fail_file(NULL, MPI_ERR_COMM);
    const int accesses = !!(amode & MPI_MODE_RDONLY) + !!(amode & MPI_MODE_RDWR) + !!(amode & MPI_MODE_WRONLY);
    if (accesses != 1) return fail_file(NULL, MPI_ERR_AMODE);
    int error = communicator->rank == 0 ? try_to_open(filename, amode) : MPI_SUCCESS;
    MPI_Bcast(&error, 1, MPI_INT, 0, comm);
    if (error != MPI_SUCCESS) return fail_file(NULL, error);
    struct ADIOI_FileD *file = allocate(sizeof *file);
    *file = (struct ADIOI_FileD){
        0, amode, copy_text(filename), keep_group(communicator->group), default_errhandler, copy_info(info)};
    keep_errhandler(file->errhandler);
    file->handle = new_handle(FILES, file);
    *fh = file;
    return MPI_SUCCESS;
}

#define FILE_OR_FAIL(file) \
    if ((file) == MPI_FILE_NULL) return fail_file(NULL, MPI_ERR_FILE)

EXPORT int MPI_File_close(MPI_File *fh) {
    FILE_OR_FAIL(*fh);
    struct ADIOI_FileD *file = *fh;
    if (file->mode & MPI_MODE_DELETE_ON_CLOSE) unlink(file->name);
    drop_handle(FILES, file->handle);
    drop_group(file->group);
    free_errhandler(file->errhandler);
    free_info(&file->info);
    free(file->name);
    free(file);
    *fh = MPI_FILE_NULL;
    return MPI_SUCCESS;
}

EXPORT int MPI_File_delete(const char *filename, MPI_Info info) {
    (void)info;
    return unlink(filename) == 0 ? MPI_SUCCESS : fail_file(NULL, error_of_system());
}

EXPORT int MPI_File_get_amode(MPI_File file, int *amode) {
    FILE_OR_FAIL(file);
    *amode = file->mode;
    return MPI_SUCCESS;
}

EXPORT int MPI_File_get_group(MPI_File file, MPI_Group *group) {
    FILE_OR_FAIL(file);
    *group = group_handle(keep_group(file->group));
    return MPI_SUCCESS;
}

INFO_FUNCTIONS(File, MPI_File, ADIOI_FileD, , fail_file(NULL, MPI_ERR_FILE), copy_info)

static MPI_Errhandler *errhandler_of(MPI_File file) { return file ? &file->errhandler : &default_errhandler; }

EXPORT int MPI_File_set_errhandler(MPI_File file, MPI_Errhandler handler) {
    keep_errhandler(handler);
    free_errhandler(*errhandler_of(file));
    *errhandler_of(file) = handler;
    return MPI_SUCCESS;
}

EXPORT int MPI_File_get_errhandler(MPI_File file, MPI_Errhandler *handler) {
    *handler = *errhandler_of(file);
    keep_errhandler(*handler);
    return MPI_SUCCESS;
}

EXPORT int MPI_File_call_errhandler(MPI_File file, int errorcode) {
    call_file_errhandler(&file, *errhandler_of(file), errorcode);
    return MPI_SUCCESS;
}

EXPORT MPI_Fint MPI_File_c2f(MPI_File file) { return file ? file->handle : 0; }
EXPORT MPI_File MPI_File_f2c(MPI_Fint handle) { return handle ? object_of(FILES, handle) : MPI_FILE_NULL; }
