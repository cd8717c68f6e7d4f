// Files: opened, closed, deleted; their sizes and what is told of them. They are real files of this machine.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "online/collectives/exchange.h"
#include "online/files/files.h"
#include "online/objects/families.h"
#include "online/objects/handles.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/operations.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

static MPI_Errhandler default_errhandler = MPI_ERRORS_RETURN;  // that of MPI_FILE_NULL

int fail_file(MPI_File file, int error) {
    return call_file_errhandler(&file, file ? file->errhandler : default_errhandler, error);
}

int error_of_system(void) {
    switch (errno) {
        case ENOENT: return MPI_ERR_NO_SUCH_FILE;
        case EEXIST: return MPI_ERR_FILE_EXISTS;
        case EACCES:
        case EPERM: return MPI_ERR_ACCESS;
        case EROFS: return MPI_ERR_READ_ONLY;
        case ENOSPC: return MPI_ERR_NO_SPACE;
        case EDQUOT: return MPI_ERR_QUOTA;
        case ETXTBSY: return MPI_ERR_FILE_IN_USE;
        case ENAMETOOLONG:
        case ENOTDIR:
        case EISDIR: return MPI_ERR_BAD_FILE;
        default: return MPI_ERR_IO;
    }
}

struct shared_file *shared_of(const struct ADIOI_FileD *file) { return online_at(world, file->shared); }

void come_in_order(void) {
    if (is_ahead()) yield();
}

void use_storage(MPI_Count parts, MPI_Count bytes, int request) {
    if (!world->has_storage) return;
    const int number = parts < INT_MAX ? (int)parts : INT_MAX;
    const bool waits = request == NONE, is_beside_threads = waits && has_threads();
    const int name = is_beside_threads ? next_name() : request;
    act(ACCESS, number, ANY, name, (double)bytes);
    if (is_beside_threads) await_named(1, &name);
}

int by_first_rank(struct ADIOI_FileD *file, const char *name, int (*work)(struct ADIOI_FileD *file, int64_t number),
                  int64_t number) {
    const size_t size = (size_t)size_of(file->communicator);
    int64_t *const numbers = allocate(sizeof *numbers * size);
    int error = MPI_SUCCESS;
    gather_all(file->communicator, name, &number, sizeof number, numbers, NULL, 0);
    for (size_t i = 1; i < size; i++)
        if (numbers[i] != numbers[0]) error = MPI_ERR_NOT_SAME;
    free(numbers);
    if (error != MPI_SUCCESS) return error;
    int *const errors = allocate(sizeof *errors * size);
    if (file->communicator->rank == 0) error = work(file, number);
    gather_all(file->communicator, name, &error, sizeof error, errors, NULL, 0);
    error = errors[0];
    free(errors);
    return error;
}

// ---- opening

static int check_mode(int mode) {
    const int accesses = !!(mode & MPI_MODE_RDONLY) + !!(mode & MPI_MODE_RDWR) + !!(mode & MPI_MODE_WRONLY);
    const bool makes = mode & (MPI_MODE_CREATE | MPI_MODE_EXCL);
    if (accesses != 1 || (makes && mode & MPI_MODE_RDONLY)) return MPI_ERR_AMODE;
    return mode & MPI_MODE_RDWR && mode & MPI_MODE_SEQUENTIAL ? MPI_ERR_AMODE : MPI_SUCCESS;
}

// Without the kind of file system that may stand before it.
static const char *path_of(const char *name) {
    static const char *const KINDS[] = {"ufs:", "nfs:", "lustre:", "gpfs:", "xfs:", "panfs:", "pvfs2:", "testfs:"};
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++)
        if (strncmp(name, KINDS[i], strlen(KINDS[i])) == 0) return name + strlen(KINDS[i]);
    return name;
}

static int open_here(struct ADIOI_FileD *file, bool is_first) {
    int flags = file->mode & MPI_MODE_RDWR ? O_RDWR : file->mode & MPI_MODE_WRONLY ? O_WRONLY : O_RDONLY;
    if (is_first && file->mode & MPI_MODE_CREATE) flags |= O_CREAT;
    if (is_first && file->mode & MPI_MODE_EXCL) flags |= O_EXCL;
    file->descriptor = open(file->name, flags | O_CLOEXEC, 0666);
    return file->descriptor < 0 ? error_of_system() : MPI_SUCCESS;
}

struct opening {  // what a rank tells the others
    int mode, error;
    uint64_t shared;
    MPI_Offset end;  // where the pointers begin
};

static void forget(struct ADIOI_FileD *file) {
    if (file->descriptor >= 0) close(file->descriptor);
    if (file->communicator != NULL) {
        drop_handle(COMMUNICATOR, file->communicator->handle);
        drop_communicator(file->communicator);
    }
    if (file->etype != NULL) drop_datatype(file->etype);
    if (file->filetype != NULL) drop_datatype(file->filetype);
    if (file->shared != 0 && --shared_of(file)->references == 0) online_free(world, file->shared);
    free_errhandler(file->errhandler);
    free_info(&file->info);
    free(file->name);
    free(file);
}

// The first rank makes the file, then all open it.
static int open_together(struct ADIOI_FileD *file, struct communicator *parent) {
    const int size = size_of(parent);
    struct opening opening = {.mode = file->mode}, *const openings = allocate(sizeof opening * (size_t)size);
    if (parent->rank == 0) {
        opening.error = open_here(file, true);
        if (file->mode & MPI_MODE_APPEND) opening.end = lseek(file->descriptor, 0, SEEK_END);
        opening.shared = allocate_shared(sizeof(struct shared_file), "a file");
        *(struct shared_file *)online_at(world, opening.shared) = (struct shared_file){opening.end, .references = size};
    }
    int numbers[2];
    gather_all(parent, "MPI_File_open", &opening, sizeof opening, openings, numbers, 1);
    file->shared = openings[0].shared;
    file->position = openings[0].end;
    int error = openings[0].error;
    for (int i = 0; i < size; i++)
        if (openings[i].mode != file->mode) error = MPI_ERR_NOT_SAME;
    if (numbers[0] == NONE) {
        error = MPI_ERR_OTHER;
        explain_error(": more than %d communicators, windows and files at once", ONLINE_CONTEXTS - 2);
    } else {
        file->communicator = new_communicator(keep_group(parent->group), NULL, numbers[0], numbers[1]);
        file->communicator->handle = new_handle(COMMUNICATOR, file->communicator);
    }
    if (error == MPI_SUCCESS) {
        opening.error = parent->rank == 0 ? MPI_SUCCESS : open_here(file, false);
        gather_all(file->communicator, "MPI_File_open", &opening, sizeof opening, openings, NULL, 0);
        for (int i = 0; error == MPI_SUCCESS && i < size; i++) error = openings[i].error;
    }
    free(openings);
    return error;
}

EXPORT int MPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh) {
    struct communicator *const parent = communicator_of(comm);
    if (parent == NULL || parent->remote != NULL) return fail_file(NULL, MPI_ERR_COMM);
    if (filename == NULL || fh == NULL) return fail_file(NULL, MPI_ERR_ARG);
    const int refusal = check_mode(amode);
    if (refusal != MPI_SUCCESS) return fail_file(NULL, refusal);
    enter("MPI_File_open");
    world->is_in_order = world->has_files = 1;
    come_in_order();
    struct ADIOI_FileD *file = allocate_zeroed(1, sizeof *file);
    file->mode = amode;
    file->descriptor = NONE;
    file->name = copy_text(path_of(filename));
    file->errhandler = default_errhandler;
    file->info = copy_info(info);
    keep_errhandler(file->errhandler);
    const int error = open_together(file, parent);
    use_storage(1, 0, NONE);
    if (error != MPI_SUCCESS) {
        forget(file);
        return leave_with(fail_file(NULL, error));
    }
    set_first_view(file);
    file->handle = new_handle(FILES, file);
    *fh = file;
    return leave_with(MPI_SUCCESS);
}

static int close_as_first(struct ADIOI_FileD *file, int64_t number) {
    (void)number;
    return file->mode & MPI_MODE_DELETE_ON_CLOSE && unlink(file->name) != 0 ? error_of_system() : MPI_SUCCESS;
}

EXPORT int MPI_File_close(MPI_File *fh) {
    if (fh == NULL) return fail_file(NULL, MPI_ERR_ARG);
    FILE_OR_FAIL(*fh);
    struct ADIOI_FileD *file = *fh;
    if (file->split.name != NULL) return fail_file(file, MPI_ERR_OTHER);
    enter("MPI_File_close");
    come_in_order();
    const int error = by_first_rank(file, "MPI_File_close", close_as_first, 0);
    use_storage(1, 0, NONE);
    drop_handle(FILES, file->handle);
    forget(file);
    *fh = MPI_FILE_NULL;
    return leave_with(error == MPI_SUCCESS ? error : fail_file(NULL, error));
}

EXPORT int MPI_File_delete(const char *filename, MPI_Info info) {
    (void)info;
    if (filename == NULL) return fail_file(NULL, MPI_ERR_ARG);
    enter("MPI_File_delete");
    world->is_in_order = world->has_files = 1;
    come_in_order();
    const int error = unlink(path_of(filename)) == 0 ? MPI_SUCCESS : error_of_system();
    use_storage(1, 0, NONE);
    return leave_with(error == MPI_SUCCESS ? error : fail_file(NULL, error));
}

// ---- sizes

static int set_size(struct ADIOI_FileD *file, int64_t size) {
    return ftruncate(file->descriptor, size) == 0 ? MPI_SUCCESS : error_of_system();
}

static int preallocate(struct ADIOI_FileD *file, int64_t size) {
    if (size == 0) return MPI_SUCCESS;
    errno = posix_fallocate(file->descriptor, 0, size);
    return errno == 0 ? MPI_SUCCESS : error_of_system();
}

static int resize(const char *name, MPI_File file, MPI_Offset size, int (*work)(struct ADIOI_FileD *, int64_t)) {
    FILE_OR_FAIL(file);
    if (file->mode & MPI_MODE_RDONLY) return fail_file(file, MPI_ERR_READ_ONLY);
    if (size < 0) return fail_file(file, MPI_ERR_ARG);
    enter(name);
    come_in_order();
    const int error = by_first_rank(file, name, work, size);
    use_storage(1, 0, NONE);
    return leave_with(error == MPI_SUCCESS ? error : fail_file(file, error));
}

EXPORT int MPI_File_set_size(MPI_File file, MPI_Offset size) {
    return resize("MPI_File_set_size", file, size, set_size);
}
EXPORT int MPI_File_preallocate(MPI_File file, MPI_Offset size) {
    return resize("MPI_File_preallocate", file, size, preallocate);
}

EXPORT int MPI_File_get_size(MPI_File file, MPI_Offset *size) {
    FILE_OR_FAIL(file);
    enter("MPI_File_get_size");
    come_in_order();
    struct stat status;
    const int error = fstat(file->descriptor, &status) == 0 ? MPI_SUCCESS : error_of_system();
    if (error == MPI_SUCCESS) *size = status.st_size;
    return leave_with(error == MPI_SUCCESS ? error : fail_file(file, error));
}

// Other ranks see what is written at once.
EXPORT int MPI_File_sync(MPI_File file) {
    FILE_OR_FAIL(file);
    enter("MPI_File_sync");
    use_storage(1, 0, NONE);
    return leave_with(MPI_SUCCESS);
}

// ---- what a file is

EXPORT int MPI_File_set_atomicity(MPI_File file, int flag) {
    FILE_OR_FAIL(file);
    file->is_atomic = flag != 0;  // each access is in any case
    return MPI_SUCCESS;
}

EXPORT int MPI_File_get_atomicity(MPI_File file, int *flag) {
    FILE_OR_FAIL(file);
    *flag = file->is_atomic;
    return MPI_SUCCESS;
}

EXPORT int MPI_File_get_amode(MPI_File file, int *amode) {
    FILE_OR_FAIL(file);
    *amode = file->mode;
    return MPI_SUCCESS;
}

EXPORT int MPI_File_get_group(MPI_File file, MPI_Group *group) {
    FILE_OR_FAIL(file);
    *group = group_handle(keep_group(file->communicator->group));
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
