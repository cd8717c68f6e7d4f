// Generalized requests, which the program itself completes.
#include "online.h"

struct generalized {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *release;
    MPI_Grequest_cancel_function *cancel;
    void *state;
    bool is_done;
};

EXPORT int MPI_Grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                              MPI_Grequest_cancel_function *cancel_fn, void *extra_state, MPI_Request *handle) {
    struct request *request = new_request(IS_GENERALIZED, NULL);
    request->generalized = malloc(sizeof *request->generalized);
    *request->generalized = (struct generalized){query_fn, free_fn, cancel_fn, extra_state, false};
    request->is_active = true;
    *handle = request->handle;
    return MPI_SUCCESS;
}

EXPORT int MPI_Grequest_complete(MPI_Request handle) {
    struct request *request = request_of(handle);
    if (request == NULL || request->kind != IS_GENERALIZED) return fail_world(MPI_ERR_REQUEST);
    request->generalized->is_done = true;
    return MPI_SUCCESS;
}

bool is_generalized_done(const struct request *request) { return request->generalized->is_done; }

int cancel_generalized(struct request *request) {
    return request->generalized->cancel(request->generalized->state, request->generalized->is_done);
}

int finish_generalized(struct request *request, MPI_Status *status) {
    struct generalized *of = request->generalized;
    if (!of->is_done) abort_all(2, "rank %d waits for a generalized request that nothing completes", my_rank);
    MPI_Status ignored;
    MPI_Status *filled = status == MPI_STATUS_IGNORE ? &ignored : status;
    int error = of->query(of->state, filled);
    if (of->release != NULL) {
        const int failed = of->release(of->state);
        if (error == MPI_SUCCESS) error = failed;
    }
    free(of);
    return error;
}
