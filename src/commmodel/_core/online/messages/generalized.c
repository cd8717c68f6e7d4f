// Generalized requests, which the program itself completes.
#include "online/messages/requests.h"
#include "online/runtime/allocation.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

struct generalized {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *release;
    MPI_Grequest_cancel_function *cancel;
    void *state;
    bool is_done, is_of_fortran;
};

static struct generalized *generalized_of(const struct request *request) { return request->state; }

EXPORT int MPI_Grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                              MPI_Grequest_cancel_function *cancel_fn, void *extra_state, MPI_Request *handle) {
    struct request *request = new_request(&generalized_requests, NULL);
    struct generalized *state = request->state = allocate(sizeof *state);
    *state = (struct generalized){query_fn, free_fn, cancel_fn, extra_state, false, false};
    request->is_active = true;
    *handle = request->handle;
    return MPI_SUCCESS;
}

// Called by MPICH's Fortran bindings: the functions are Fortran's.
EXPORT void MPII_Grequest_set_lang_f77(MPI_Request handle) { generalized_of(request_of(handle))->is_of_fortran = true; }

EXPORT int MPI_Grequest_complete(MPI_Request handle) {
    struct request *request = request_of(handle);
    if (request == NULL || request->kind != &generalized_requests) return fail_world(MPI_ERR_REQUEST);
    const bool is_held = hold_turn();
    generalized_of(request)->is_done = true;
    note_change();
    release_turn(is_held);
    return MPI_SUCCESS;
}

static bool is_completed(const struct request *request, bool is_over) {
    (void)is_over;
    return generalized_of(request)->is_done;
}

static bool may_end_alone(const struct request *request) {
    (void)request;
    return !has_threads();  // threads are told
}

static int cancel(struct request *request) {
    const struct generalized *generalized = request->state;
    if (!generalized->is_of_fortran) return generalized->cancel(generalized->state, generalized->is_done);
    MPI_Fint error = MPI_SUCCESS, is_done = generalized->is_done;
    ((void (*)(void *, MPI_Fint *, MPI_Fint *))(void *)generalized->cancel)(generalized->state, &is_done, &error);
    return error;
}

static int query(const struct generalized *generalized, MPI_Status *status) {
    if (!generalized->is_of_fortran) return generalized->query(generalized->state, status);
    MPI_Fint error = MPI_SUCCESS;
    ((void (*)(void *, MPI_Status *, MPI_Fint *))(void *)generalized->query)(generalized->state, status, &error);
    return error;
}

static int release(const struct generalized *generalized) {
    if (generalized->release == NULL) return MPI_SUCCESS;
    if (!generalized->is_of_fortran) return generalized->release(generalized->state);
    MPI_Fint error = MPI_SUCCESS;
    ((void (*)(void *, MPI_Fint *))(void *)generalized->release)(generalized->state, &error);
    return error;
}

static int finish(struct request *request, MPI_Status *status) {
    struct generalized *generalized = request->state;
    if (!generalized->is_done) abort_all(2, "rank %d waits for a generalized request that nothing completes", my_rank);
    MPI_Status ignored;
    MPI_Status *filled = status == MPI_STATUS_IGNORE ? &ignored : status;
    int error = query(generalized, filled);
    const int failed = release(generalized);
    if (error == MPI_SUCCESS) error = failed;
    free(generalized);
    return error;
}

const struct request_kind generalized_requests = {
    .is_done = is_completed, .may_end_alone = may_end_alone, .finish = finish, .cancel = cancel};
