/* The calls that complete requests: what completed is recorded, not what was asked for, with the status of each receive. */

#include "recorder.h"

#include <stdlib.h>

#include "next.h"

enum { FEW = 64 };

/* What is needed beside the program's own arguments: a number for each request, taken before MPI changes the handles, and
 * room for the statuses that the program does not want. */
struct given {
    long long count;
    struct request *requests, few[FEW];
    MPI_Status *statuses, ignored[FEW];
};

static void take_requests(struct given *given, int count, const MPI_Request *handles, MPI_Status *statuses,
                          int wanted) {
    given->count = count > 0 ? count : 0;
    given->requests = given->few;
    given->statuses = wanted ? statuses : given->ignored;
    if (given->count > FEW) {
        given->requests = malloc((size_t)given->count * sizeof *given->requests);
        given->statuses = wanted ? statuses : malloc((size_t)given->count * sizeof *given->statuses);
        if (given->requests == NULL || given->statuses == NULL) {
            abort();
        }
    }
    lock_log();
    for (long long i = 0; i < given->count; i++) {
        given->requests[i] = request_taken(handles[i]);
    }
    unlock_log();
}

static unsigned char *put_completed(unsigned char *p, const struct request *request, const MPI_Status *status) {
    int received = request->flags & RECEIVE && !is_cancelled(status);
    return put_status(put_unsigned(p, request->serial), received ? status : NULL);
}

/* Record that the requests with these indices (all in order, where there are none) have completed. */
static void record(unsigned code, uint64_t begin, uint64_t end, const void *caller, struct given *given, int completed,
                   const int *indices) {
    uint64_t site = enter_log(caller), number = 0;
    for (int i = 0; i < completed; i++) { /* a null request, or a persistent one not started, completes as nothing */
        const struct request *request = &given->requests[indices == NULL ? i : indices[i]];
        number += request->serial != 0 && request->flags & ACTIVE;
    }
    unsigned char *p = open_call(code, begin, end, site, 64 + 40 * (size_t)number);
    p = p == NULL ? NULL : put_unsigned(put_unsigned(p, (uint64_t)given->count), number);
    for (int i = 0; i < completed; i++) {
        struct request *request = &given->requests[indices == NULL ? i : indices[i]];
        if (request->serial != 0 && request->flags & ACTIVE) {
            p = p == NULL ? NULL : put_completed(p, request, &given->statuses[i]);
            request->flags &= ~(unsigned)ACTIVE;
        }
    }
    for (long long i = given->count; i-- > 0;) {
        if (given->requests[i].flags & (ACTIVE | PERSISTENT)) {
            request_kept(&given->requests[i]);
        }
    }
    close_call(p);
    if (given->requests != given->few) {
        free(given->requests);
    }
}

static void free_statuses(struct given *given, const MPI_Status *statuses) {
    if (given->statuses != statuses && given->statuses != given->ignored) {
        free(given->statuses);
    }
}

/* One status, or one for each request; in Open MPI and the standard's ABI the two names of no status differ in type. */
#define TAKE_ONE(count, handles) take_requests(&given, count, handles, status, status != MPI_STATUS_IGNORE);
#define TAKE_ALL(count, handles) take_requests(&given, count, handles, statuses, statuses != MPI_STATUSES_IGNORE);
#define CALL_TIMED(call)      \
    uint64_t begin = ticks(); \
    int code = call;          \
    uint64_t end = ticks();   \
    int ok = code == MPI_SUCCESS
#define RECORD(name, completed, indices) \
    record(CODE_##name, begin, end, __builtin_return_address(0), &given, completed, indices)

VISIBLE int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    PASS_ON(next.Wait(request, status));
    struct given given;
    TAKE_ONE(1, request)
    CALL_TIMED(next.Wait(request, given.statuses));
    RECORD(Wait, ok, NULL);
    return code;
}
ALSO_PMPI(Wait)

VISIBLE int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    PASS_ON(next.Test(request, flag, status));
    struct given given;
    TAKE_ONE(1, request)
    CALL_TIMED(next.Test(request, flag, given.statuses));
    RECORD(Test, ok && *flag, NULL);
    return code;
}
ALSO_PMPI(Test)

VISIBLE int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
    PASS_ON(next.Waitall(count, requests, statuses));
    struct given given;
    TAKE_ALL(count, requests)
    CALL_TIMED(next.Waitall(count, requests, given.statuses));
    RECORD(Waitall, ok ? count : 0, NULL);
    free_statuses(&given, statuses);
    return code;
}
ALSO_PMPI(Waitall)

VISIBLE int MPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses) {
    PASS_ON(next.Testall(count, requests, flag, statuses));
    struct given given;
    TAKE_ALL(count, requests)
    CALL_TIMED(next.Testall(count, requests, flag, given.statuses));
    RECORD(Testall, ok && *flag ? count : 0, NULL);
    free_statuses(&given, statuses);
    return code;
}
ALSO_PMPI(Testall)

VISIBLE int MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status) {
    PASS_ON(next.Waitany(count, requests, index, status));
    struct given given;
    TAKE_ONE(count, requests)
    CALL_TIMED(next.Waitany(count, requests, index, given.statuses));
    RECORD(Waitany, ok && *index != MPI_UNDEFINED, index);
    free_statuses(&given, status);
    return code;
}
ALSO_PMPI(Waitany)

VISIBLE int MPI_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status) {
    PASS_ON(next.Testany(count, requests, index, flag, status));
    struct given given;
    TAKE_ONE(count, requests)
    CALL_TIMED(next.Testany(count, requests, index, flag, given.statuses));
    RECORD(Testany, ok && *flag && *index != MPI_UNDEFINED, index);
    free_statuses(&given, status);
    return code;
}
ALSO_PMPI(Testany)

VISIBLE int MPI_Waitsome(int count, MPI_Request *requests, int *completed, int *indices, MPI_Status *statuses) {
    PASS_ON(next.Waitsome(count, requests, completed, indices, statuses));
    struct given given;
    TAKE_ALL(count, requests)
    CALL_TIMED(next.Waitsome(count, requests, completed, indices, given.statuses));
    RECORD(Waitsome, ok && *completed != MPI_UNDEFINED ? *completed : 0, indices);
    free_statuses(&given, statuses);
    return code;
}
ALSO_PMPI(Waitsome)

VISIBLE int MPI_Testsome(int count, MPI_Request *requests, int *completed, int *indices, MPI_Status *statuses) {
    PASS_ON(next.Testsome(count, requests, completed, indices, statuses));
    struct given given;
    TAKE_ALL(count, requests)
    CALL_TIMED(next.Testsome(count, requests, completed, indices, given.statuses));
    RECORD(Testsome, ok && *completed != MPI_UNDEFINED ? *completed : 0, indices);
    free_statuses(&given, statuses);
    return code;
}
ALSO_PMPI(Testsome)
