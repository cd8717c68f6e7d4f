// Sessions and their process sets, beside or in place of MPI_Init.
#include "online/objects/communicators.h"
#include "online/objects/families.h"
#include "online/objects/handles.h"
#include "online/runtime/allocation.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"
#include "online/world/environment.h"

struct session {
    MPI_Errhandler errhandler;
    MPI_Info info;
};

static const char *const SETS[] = {"mpi://WORLD", "mpi://SELF"};

static struct session *session_of(MPI_Session handle) { return object_of(SESSION, handle); }

#define SESSION_OR_FAIL(name, handle)          \
    struct session *name = session_of(handle); \
    if (name == NULL) return fail_world(MPI_ERR_SESSION)

static int fail_session(MPI_Session handle, int error) {
    return handle_error(handle, session_of(handle)->errhandler, error);
}

static int set_of(const char *name) {
    for (int i = 0; i < 2; i++)
        if (strcasecmp(name, SETS[i]) == 0) return i;
    return NONE;
}

static int session_count;

// Whether an info asks for a thread level that there is none of.
static bool asks_for_no_level(MPI_Info info) {
    static const char *const LEVELS[] = {"SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE"};
    char level[64] = "";
    int is_given = 0;
    if (info != MPI_INFO_NULL) MPI_Info_get(info, "thread_level", sizeof level - 1, level, &is_given);
    for (int i = 0; is_given && i < 4; i++)
        if (strncmp(level, "MPI_THREAD_", 11) == 0 && strcmp(level + 11, LEVELS[i]) == 0) return false;
    return is_given;
}

EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *handle) {
    prepare_library();
    if (asks_for_no_level(info)) return handle_error(MPI_SESSION_NULL, errhandler, MPI_ERR_INFO_VALUE);
    session_count++;
    struct session *session = allocate(sizeof *session);
    *session = (struct session){errhandler, info == MPI_INFO_NULL ? new_info() : copy_info(info)};
    MPI_Info_set(session->info, "thread_level", "MPI_THREAD_MULTIPLE");
    allow_threads(MPI_THREAD_MULTIPLE);
    keep_errhandler(errhandler);
    *handle = new_handle(SESSION, session);
    return MPI_SUCCESS;
}

EXPORT int MPI_Session_finalize(MPI_Session *handle) {
    SESSION_OR_FAIL(session, *handle);
    free_errhandler(session->errhandler);
    free_info(&session->info);
    drop_handle(SESSION, *handle);
    free(session);
    *handle = MPI_SESSION_NULL;
    if (--session_count == 0) end_without_world();
    return MPI_SUCCESS;
}

INFO_GETTER(Session, MPI_Session, session, session_of, fail_world(MPI_ERR_SESSION))

EXPORT int MPI_Session_get_num_psets(MPI_Session handle, MPI_Info info, int *count) {
    (void)info;
    SESSION_OR_FAIL(session, handle);
    (void)session;
    *count = 2;
    return MPI_SUCCESS;
}

EXPORT int MPI_Session_get_nth_pset(MPI_Session handle, MPI_Info info, int n, int *length, char *name) {
    (void)info;
    SESSION_OR_FAIL(session, handle);
    (void)session;
    if (n < 0 || n >= 2) return fail_session(handle, MPI_ERR_ARG);
    if (*length > 0 && name == NULL) return fail_session(handle, MPI_ERR_ARG);
    if (*length > 0) snprintf(name, (size_t)*length, "%s", SETS[n]);
    *length = (int)strlen(SETS[n]) + 1;
    return MPI_SUCCESS;
}

EXPORT int MPI_Session_get_pset_info(MPI_Session handle, const char *name, MPI_Info *info) {
    SESSION_OR_FAIL(session, handle);
    (void)session;
    const int set = set_of(name);
    if (set == NONE) return fail_session(handle, MPI_ERR_ARG);
    char size[16];
    snprintf(size, sizeof size, "%d", set == 0 ? size_of(communicator_of(MPI_COMM_WORLD)) : 1);
    *info = new_info();
    return MPI_Info_set(*info, "mpi_size", size);
}

EXPORT int MPI_Group_from_session_pset(MPI_Session handle, const char *name, MPI_Group *group) {
    SESSION_OR_FAIL(session, handle);
    (void)session;
    const int set = set_of(name);
    if (set == NONE) return fail_session(handle, MPI_ERR_ARG);
    return MPI_Comm_group(set == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF, group);
}

ERRHANDLER_FUNCTIONS(Session, MPI_Session, session, session_of, fail_world(MPI_ERR_SESSION))
