// The calls that complete requests: what completed is recorded, not what was asked for, with the status of each
// receive.

#include "recorder.h"

#include <stdlib.h>

#include "next.h"

enum { FEW = 64 };

// What is needed beside the program's own arguments: a number for each request, taken before MPI changes the handles,
// and room for the statuses that the program does not want.
struct before {
    long long count;
    struct request *requests, few[FEW];
    MPI_Status *statuses, *allocated, ignored[FEW];
};

static void take_requests(struct before *before, int count, const MPI_Request *handles, MPI_Status *statuses,
                          int has_statuses) {
    before->count = count > 0 ? count : 0;
    before->requests = before->few;
    before->statuses = has_statuses ? statuses : before->ignored;
    before->allocated = NULL;
    if (before->count > FEW) {
        before->requests = malloc((size_t)before->count * sizeof *before->requests);
        if (!has_statuses)
            before->statuses = before->allocated = malloc((size_t)before->count * sizeof *before->statuses);
        if (before->requests == NULL || before->statuses == NULL) abort();
    }
    lock_log();
    for (long long i = 0; i < before->count; i++) before->requests[i] = request_taken(handles[i]);
    unlock_log();
}

static unsigned char *put_completed(unsigned char *p, const struct request *request, const MPI_Status *status) {
    int received = request->flags & RECEIVE && !is_cancelled(status);
    return put_status(put_unsigned(p, request->serial), received ? status : NULL);
}

// Record that the requests with these indices (all in order, where there are none) have completed.
static void record(unsigned code, uint64_t begin, uint64_t end, const void *caller, struct before *before,
                   int completed, const int *indices) {
    uint64_t site = enter_log(caller), number = 0;
    for (int i = 0; i < completed; i++) {  // a null request, or a persistent one not started, completes as nothing
        const struct request *request = &before->requests[indices == NULL ? i : indices[i]];
        number += request->serial != 0 && request->flags & ACTIVE;
    }
    unsigned char *p = open_call(code, begin, end, site, 64 + 40 * (size_t)number);
    p = p == NULL ? NULL : put_unsigned(put_unsigned(p, (uint64_t)before->count), number);
    for (int i = 0; i < completed; i++) {
        struct request *request = &before->requests[indices == NULL ? i : indices[i]];
        if (request->serial != 0 && request->flags & ACTIVE) {
            p = p == NULL ? NULL : put_completed(p, request, &before->statuses[i]);
            request->flags &= ~(unsigned)ACTIVE;
        }
    }
    for (long long i = before->count; i-- > 0;)
        if (before->requests[i].flags & (ACTIVE | PERSISTENT)) request_kept(&before->requests[i]);
    close_call(p);
    if (before->requests != before->few) {
        free(before->requests);
        free(before->allocated);
    }
}

// A function of this family. Once the requests are taken, `list`, its parameter for one status or several, is room for
// them where it was `no_status`; in Open MPI and the standard's ABI the two names of no status differ in type.
#define COMPLETION(name, parameters, arguments, number, handles, list, no_status, completed, indices)     \
    VISIBLE int MPI_##name parameters {                                                                   \
        PASS_ON(next.name arguments);                                                                     \
        struct before before;                                                                             \
        take_requests(&before, number, handles, list, list != no_status);                                 \
        list = before.statuses;                                                                           \
        uint64_t begin = ticks();                                                                         \
        int code = next.name arguments;                                                                   \
        uint64_t end = ticks();                                                                           \
        int number_completed = code == MPI_SUCCESS ? (completed) : 0;                                     \
        record(CODE_##name, begin, end, __builtin_return_address(0), &before, number_completed, indices); \
        return code;                                                                                      \
    }                                                                                                     \
    ALSO_PMPI(name)

#define ONE(name, parameters, arguments, number, handles, completed, indices) \
    COMPLETION(name, parameters, arguments, number, handles, status, MPI_STATUS_IGNORE, completed, indices)
#define SEVERAL(name, parameters, arguments, completed, indices) \
    COMPLETION(name, parameters, arguments, count, requests, statuses, MPI_STATUSES_IGNORE, completed, indices)

ONE(Wait, (MPI_Request * request, MPI_Status *status), (request, status), 1, request, 1, NULL)
ONE(Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status), 1, request, *flag != 0, NULL)
ONE(Waitany, (int count, MPI_Request *requests, int *index, MPI_Status *status), (count, requests, index, status),
    count, requests, *index != MPI_UNDEFINED, index)
ONE(Testany, (int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status),
    (count, requests, index, flag, status), count, requests, *flag && *index != MPI_UNDEFINED, index)
SEVERAL(Waitall, (int count, MPI_Request *requests, MPI_Status *statuses), (count, requests, statuses), count, NULL)
SEVERAL(Testall, (int count, MPI_Request *requests, int *flag, MPI_Status *statuses), (count, requests, flag, statuses),
        *flag ? count : 0, NULL)
SEVERAL(Waitsome, (int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses),
        (count, requests, outcount, indices, statuses), *outcount != MPI_UNDEFINED ? *outcount : 0, indices)
SEVERAL(Testsome, (int count, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses),
        (count, requests, outcount, indices, statuses), *outcount != MPI_UNDEFINED ? *outcount : 0, indices)
