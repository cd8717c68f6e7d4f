// Errors and their handlers.
#include "online/objects/errors.h"

#include <stdarg.h>

#include "online/objects/communicators.h"
#include "online/objects/families.h"
#include "online/runtime/allocation.h"
#include "online/runtime/call_sites.h"
#include "online/runtime/calls.h"
#include "online/runtime/findings.h"
#include "online/runtime/turns.h"

// Passed by the Fortran bindings of MPICH 5 and newer: a function with a state, and the destructor of that.
typedef void handler_with_state(int, int, void *);
typedef void file_handler_with_state(MPI_File, int, void *);
typedef void destructor(void *);

struct errhandler {
    int references;
    void (*function)(void *, int *, ...);  // one of these three
    handler_with_state *function_with_state;
    file_handler_with_state *file_function_with_state;
    destructor *destructor;
    void *state;
};

struct text {
    int code, class;
    char words[MPI_MAX_ERROR_STRING];
};
static struct text *texts;  // that the program has added
static int text_count, last_used = MPI_ERR_LASTCODE;

static const struct {
    int class;
    const char *words;
} WORDS[] = {
    {MPI_SUCCESS, "no error"},
    {MPI_ERR_BUFFER, "invalid buffer pointer"},
    {MPI_ERR_COUNT, "invalid count argument"},
    {MPI_ERR_TYPE, "invalid datatype"},
    {MPI_ERR_TAG, "invalid tag"},
    {MPI_ERR_COMM, "invalid communicator"},
    {MPI_ERR_RANK, "invalid rank"},
    {MPI_ERR_ROOT, "invalid root"},
    {MPI_ERR_TRUNCATE, "message truncated"},
    {MPI_ERR_GROUP, "invalid group"},
    {MPI_ERR_OP, "invalid reduction operation"},
    {MPI_ERR_REQUEST, "invalid request"},
    {MPI_ERR_TOPOLOGY, "invalid communicator topology"},
    {MPI_ERR_DIMS, "invalid dimensions"},
    {MPI_ERR_ARG, "invalid argument"},
    {MPI_ERR_UNKNOWN, "unknown error"},
    {MPI_ERR_OTHER, "other MPI error"},
    {MPI_ERR_INTERN, "internal error"},
    {MPI_ERR_IN_STATUS, "see the statuses for error codes"},
    {MPI_ERR_PENDING, "pending request"},
    {MPI_ERR_INFO, "invalid info object"},
    {MPI_ERR_INFO_KEY, "invalid info key"},
    {MPI_ERR_INFO_VALUE, "invalid info value"},
    {MPI_ERR_INFO_NOKEY, "no such info key"},
    {MPI_ERR_KEYVAL, "invalid attribute key"},
    {MPI_ERR_NO_MEM, "no memory"},
    {MPI_ERR_UNSUPPORTED_OPERATION, "unsupported operation"},
    {MPI_ERR_WIN, "invalid window"},
    {MPI_ERR_SESSION, "invalid session"},
    {MPI_ERR_FILE, "invalid file handle"},
    {MPI_ERR_NO_SUCH_FILE, "file does not exist"},
    {MPI_ERR_FILE_EXISTS, "file exists"},
    {MPI_ERR_ACCESS, "permission denied"},
    {MPI_ERR_AMODE, "invalid mode of a file"},
    {MPI_ERR_IO, "input or output error"},
    {MPI_ERR_BAD_FILE, "invalid file name"},
    {MPI_ERR_FILE_IN_USE, "file in use"},
    {MPI_ERR_NOT_SAME, "arguments of ranks differ"},
    {MPI_ERR_NO_SPACE, "no space left"},
    {MPI_ERR_QUOTA, "quota exceeded"},
    {MPI_ERR_READ_ONLY, "file is read-only"},
    {MPI_ERR_UNSUPPORTED_DATAREP, "unsupported data representation"},
    {MPI_ERR_DUP_DATAREP, "data representation is registered already"},
    {MPI_ERR_SPAWN, "ranks cannot be spawned: the program is not there, or too few spare ranks (--universe)"},
    {MPI_ERR_PORT, "invalid port"},
    {MPI_ERR_NAME, "no such published name"},
    {MPI_ERR_SERVICE, "invalid service name"},
    {MPI_ERR_CONVERSION, "data cannot be converted"},
    {MPI_ERR_VALUE_TOO_LARGE, "value too large"},
    {MPI_ERR_ERRHANDLER, "invalid error handler"},
    {MPI_ERR_BASE, "invalid base"},
    {MPI_ERR_LOCKTYPE, "invalid lock type"},
    {MPI_ERR_RMA_CONFLICT, "conflicting accesses to a window"},
    {MPI_ERR_RMA_SYNC, "wrong synchronisation of a window"},
    {MPI_ERR_SIZE, "invalid size"},
    {MPI_ERR_DISP, "invalid displacement"},
    {MPI_ERR_ASSERT, "invalid assert"},
    {MPI_ERR_RMA_RANGE, "target memory is not part of the window"},
    {MPI_ERR_RMA_ATTACH, "memory cannot be attached"},
    {MPI_ERR_RMA_SHARED, "memory cannot be shared"},
    {MPI_ERR_RMA_FLAVOR, "window of the wrong flavor"},
};

static struct text *text_of(int code) {
    for (int i = 0; i < text_count; i++)
        if (texts[i].code == code) return &texts[i];
    return NULL;
}

EXPORT int MPI_Error_class(int errorcode, int *errorclass) {
    const struct text *text = text_of(errorcode);
    *errorclass = text != NULL ? text->class : errorcode;
    return MPI_SUCCESS;
}

EXPORT int MPI_Error_string(int errorcode, char *string, int *resultlen) {
    const struct text *text = text_of(errorcode);
    const char *words = text != NULL ? text->words : "unknown error";
    for (size_t i = 0; text == NULL && i < sizeof WORDS / sizeof WORDS[0]; i++)
        if (WORDS[i].class == errorcode) words = WORDS[i].words;
    *resultlen = snprintf(string, MPI_MAX_ERROR_STRING, "%s", words);
    return MPI_SUCCESS;
}

static struct text *add(int code, int class) {
    texts = reallocate(texts, sizeof *texts * (size_t)(text_count + 1));
    texts[text_count] = (struct text){code, class, ""};
    if (code > last_used) last_used = code;
    return &texts[text_count++];
}

EXPORT int MPI_Add_error_class(int *errorclass) {
    *errorclass = ++last_used;
    add(*errorclass, *errorclass);
    return MPI_SUCCESS;
}

EXPORT int MPI_Add_error_code(int errorclass, int *errorcode) {
    *errorcode = ++last_used;
    add(*errorcode, errorclass);
    return MPI_SUCCESS;
}

EXPORT int MPI_Add_error_string(int errorcode, const char *string) {
    struct text *text = text_of(errorcode);
    if (text == NULL) return fail_world(MPI_ERR_ARG);
    snprintf(text->words, sizeof text->words, "%s", string);
    return MPI_SUCCESS;
}

// A class with codes, and what has an error string, cannot be removed.
static int remove_text(int code, bool is_class) {
    struct text *text = text_of(code);
    if (text == NULL || (text->class == code) != is_class || text->words[0] != 0) return fail_world(MPI_ERR_ARG);
    for (int i = 0; is_class && i < text_count; i++)
        if (texts[i].class == code && texts[i].code != code) return fail_world(MPI_ERR_ARG);
    *text = texts[--text_count];
    last_used = MPI_ERR_LASTCODE;
    for (int i = 0; i < text_count; i++) last_used = texts[i].code > last_used ? texts[i].code : last_used;
    return MPI_SUCCESS;
}

EXPORT int MPI_Remove_error_class(int errorclass) { return remove_text(errorclass, true); }
EXPORT int MPI_Remove_error_code(int errorcode) { return remove_text(errorcode, false); }
EXPORT int MPI_Remove_error_string(int errorcode) {
    struct text *text = text_of(errorcode);
    if (text == NULL) return fail_world(MPI_ERR_ARG);
    text->words[0] = 0;
    return MPI_SUCCESS;
}

// Their names in MPICH 4.0, which its Fortran bindings call.
#define OLD_NAME(item)                                                                      \
    EXPORT int MPIX_Delete_error_##item(int code) { return MPI_Remove_error_##item(code); } \
    WEAK int PMPIX_Delete_error_##item(int code) { return MPI_Remove_error_##item(code); }
OLD_NAME(class)
OLD_NAME(code)
OLD_NAME(string)

int last_used_code(void) { return last_used; }

// ---- handlers

static bool is_fixed(MPI_Errhandler handler) {
    return handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_RETURN || handler == MPI_ERRORS_ABORT ||
           handler == MPI_ERRHANDLER_NULL;
}

void keep_errhandler(MPI_Errhandler handler) {
    struct errhandler *errhandler = is_fixed(handler) ? NULL : object_of(ERRHANDLER, handler);
    if (errhandler != NULL) errhandler->references++;
}

void free_errhandler(MPI_Errhandler handler) {
    struct errhandler *errhandler = is_fixed(handler) ? NULL : object_of(ERRHANDLER, handler);
    if (errhandler == NULL || --errhandler->references > 0) return;
    drop_handle(ERRHANDLER, handler);
    if (errhandler->destructor != NULL) errhandler->destructor(errhandler->state);
    free(errhandler);
}

static int keep_content(struct errhandler content, MPI_Errhandler *handler) {
    struct errhandler *errhandler = allocate(sizeof *errhandler);
    *errhandler = content;
    *handler = new_handle(ERRHANDLER, errhandler);
    return MPI_SUCCESS;
}

typedef void (*any_handler)(void *, int *, ...);
static int create_errhandler(any_handler function, MPI_Errhandler *handler) {
    return keep_content((struct errhandler){.references = 1, .function = function}, handler);
}

EXPORT int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *handler) {
    return create_errhandler((any_handler)function, handler);
}
EXPORT int MPI_Win_create_errhandler(MPI_Win_errhandler_function *function, MPI_Errhandler *handler) {
    return create_errhandler((any_handler)function, handler);
}
EXPORT int MPI_File_create_errhandler(MPI_File_errhandler_function *function, MPI_Errhandler *handler) {
    return create_errhandler((any_handler)function, handler);
}
EXPORT int MPI_Session_create_errhandler(MPI_Session_errhandler_function *function, MPI_Errhandler *handler) {
    return create_errhandler((any_handler)function, handler);
}

#define CREATE_WITH_STATE(kind)                                                                                     \
    EXPORT int MPIX_##kind##_create_errhandler_x(handler_with_state *function, destructor *destructor, void *state, \
                                                 MPI_Errhandler *handler) {                                         \
        return keep_content((struct errhandler){1, NULL, function, NULL, destructor, state}, handler);              \
    }
CREATE_WITH_STATE(Comm)
CREATE_WITH_STATE(Win)
CREATE_WITH_STATE(Session)
EXPORT int MPIX_File_create_errhandler_x(file_handler_with_state *function, destructor *destructor, void *state,
                                         MPI_Errhandler *handler) {
    return keep_content((struct errhandler){1, NULL, NULL, function, destructor, state}, handler);
}

EXPORT int MPI_Errhandler_free(MPI_Errhandler *handler) {
    if (*handler == MPI_ERRHANDLER_NULL) return fail_world(MPI_ERR_ARG);
    free_errhandler(*handler);
    *handler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

static char explanation[128];  // of the next error

void explain_error(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(explanation, sizeof explanation, format, list);
    va_end(list);
}

static const char *kind_of(int error) {
    int class;
    MPI_Error_class(error, &class);
    switch (class) {
        case MPI_ERR_TRUNCATE: return "truncated message";
        case MPI_ERR_REQUEST: return "wrong use of a request";
        case MPI_ERR_RMA_SYNC:
        case MPI_ERR_RMA_CONFLICT: return "wrong synchronisation of a window";
        default: return class <= MPI_ERR_LASTCODE ? "wrong argument" : "error of the program";
    }
}

static _Noreturn void end_with(int error) {
    char words[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, words, &length);
    this_rank->call_site = call_site(program_call);
    name_error(kind_of(error));
    abort_all(error ? error : 1, "rank %d: fatal error in %s: %s%s", my_rank, program_call, words, explanation);
}

static int call(void *object, MPI_Errhandler handler, int error) {
    struct errhandler *const errhandler = is_fixed(handler) ? NULL : object_of(ERRHANDLER, handler);
    if (handler != MPI_ERRORS_RETURN && errhandler == NULL) end_with(error);
    explanation[0] = 0;
    if (handler == MPI_ERRORS_RETURN) return error;
    if (errhandler->function_with_state != NULL)
        errhandler->function_with_state(*(const int *)object, error, errhandler->state);
    else if (errhandler->file_function_with_state != NULL)
        errhandler->file_function_with_state(*(const MPI_File *)object, error, errhandler->state);
    else
        errhandler->function(object, &error);
    return error;
}

int handle_error(int object, MPI_Errhandler handler, int error) { return call(&object, handler, error); }
int call_file_errhandler(MPI_File *file, MPI_Errhandler handler, int error) { return call(file, handler, error); }

int fail(struct communicator *communicator, int error) {
    if (communicator == NULL) return fail_world(error);
    return handle_error(communicator->handle, communicator->errhandler, error);
}

int fail_world(int error) {
    struct communicator *communicator = communicator_of(MPI_COMM_WORLD);
    if (communicator == NULL) {
        note_early_call("a call of MPI");
        abort_all(1, is_attached() ? "a call of MPI after MPI_Finalize" : "a call of MPI before MPI_Init");
    }
    return fail(communicator, error);
}

int refuse_null(const char *argument) {
    explain_error(": %s is a null pointer", argument);
    return fail_world(MPI_ERR_ARG);
}

int refuse_null_by(MPI_Errhandler handler, const char *argument) {
    explain_error(": %s is a null pointer", argument);
    return handle_error(MPI_COMM_NULL, handler, MPI_ERR_ARG);
}

ERRHANDLER_FUNCTIONS(Comm, MPI_Comm, communicator, communicator_of, fail_world(MPI_ERR_COMM))
