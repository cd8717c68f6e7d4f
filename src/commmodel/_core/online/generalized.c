// Generalized requests, which the program itself completes.
#include "online.h"

struct generalized {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *release;
    MPI_Grequest_cancel_function *cancel;
    void *state;
    bool is_done, is_of_fortran;
};

EXPORT int MPI_Grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                              MPI_Grequest_cancel_function *cancel_fn, void *extra_state, MPI_Request *handle) {
    struct request *request = new_request(IS_GENERALIZED, NULL);
    request->generalized = malloc(sizeof *request->generalized);
    *request->generalized = (struct generalized){query_fn, free_fn, cancel_fn, extra_state, false, false};
    request->is_active = true;
    *handle = request->handle;
    return MPI_SUCCESS;
}

// Called by MPICH's Fortran bindings: the functions are Fortran's.
EXPORT void MPII_Grequest_set_lang_f77(MPI_Request handle) { request_of(handle)->generalized->is_of_fortran = true; }

EXPORT int MPI_Grequest_complete(MPI_Request handle) {
    struct request *request = request_of(handle);
    if (request == NULL || request->kind != IS_GENERALIZED) return fail_world(MPI_ERR_REQUEST);
    request->generalized->is_done = true;
    return MPI_SUCCESS;
}

bool is_generalized_done(const struct request *request) { return request->generalized->is_done; }

int cancel_generalized(struct request *request) {
    const struct generalized *of = request->generalized;
    if (!of->is_of_fortran) return of->cancel(of->state, of->is_done);
    MPI_Fint error = MPI_SUCCESS, is_done = of->is_done;
    ((void (*)(void *, MPI_Fint *, MPI_Fint *))(void *)of->cancel)(of->state, &is_done, &error);
    return error;
}

static int query(const struct generalized *of, MPI_Status *status) {
    if (!of->is_of_fortran) return of->query(of->state, status);
    MPI_Fint error = MPI_SUCCESS;
    ((void (*)(void *, MPI_Status *, MPI_Fint *))(void *)of->query)(of->state, status, &error);
    return error;
}

static int release(const struct generalized *of) {
    if (of->release == NULL) return MPI_SUCCESS;
    if (!of->is_of_fortran) return of->release(of->state);
    MPI_Fint error = MPI_SUCCESS;
    ((void (*)(void *, MPI_Fint *))(void *)of->release)(of->state, &error);
    return error;
}

int finish_generalized(struct request *request, MPI_Status *status) {
    struct generalized *of = request->generalized;
    if (!of->is_done) abort_all(2, "rank %d waits for a generalized request that nothing completes", my_rank);
    MPI_Status ignored;
    MPI_Status *filled = status == MPI_STATUS_IGNORE ? &ignored : status;
    int error = query(of, filled);
    const int failed = release(of);
    if (error == MPI_SUCCESS) error = failed;
    free(of);
    return error;
}
