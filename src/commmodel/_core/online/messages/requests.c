// Requests: MPI_Wait, MPI_Test, MPI_Start and their variants.
#include "online/messages/requests.h"

#include <limits.h>

#include "online/messages/statuses.h"
#include "online/messages/watches.h"
#include "online/objects/handles.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/decisions.h"
#include "online/runtime/findings.h"
#include "online/runtime/operations.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

static struct request *free_requests;  // freed ones, for the next
static uint64_t wait_count;            // calls that wait for requests, so far

struct request *new_request(const struct request_kind *kind, struct communicator *communicator) {
    struct request *request = free_requests;
    if (request != NULL)
        free_requests = request->next;
    else
        request = allocate(sizeof *request);
    memset(request, 0, sizeof *request);
    request->kind = kind;
    request->communicator = communicator;
    request->name = request->decision = request->chosen_source = NONE;
    request->call_site = current_site();
    request->handle = new_handle(REQUEST, request);
    return request;
}

void note_start(struct request *request) {
    request->is_active = request->was_started = true;
    request->wait_count = wait_count;
}

static void drop_watches(struct request *request) {
    for (int i = 0; i < 2; i++) drop_watch(&request->watches[i]);
}

static void end_watches_of(struct request *request) {
    for (int i = 0; i < 2; i++) end_watch(&request->watches[i]);
}

struct request *request_of(MPI_Request handle) { return object_of(REQUEST, handle); }

void free_request(struct request *request) {
    drop_handle(REQUEST, request->handle);
    drop_watches(request);
    if (request->communicator != NULL) drop_communicator(request->communicator);
    if (request->type != NULL) drop_datatype(request->type);
    if (request->kind->release != NULL) request->kind->release(request);
    free(request->parts);
    request->next = free_requests;
    free_requests = request;
}

// Tell the simulator that the rank waits for a request; returns whether its data have arrived.
static bool begin_wait(struct request *request) {
    if (!request->is_active || request->is_cancelled) return true;
    if (request->name != NONE) act(WAIT, NONE, NONE, request->name, 0.0);
    return request->kind->expect == NULL || request->kind->expect(request);
}

void start_watch(struct request *request) {
    if (request->kind->watch != NULL && is_checked()) request->kind->watch(request);
}

int finish_request(struct request *request, MPI_Status *status) {
    end_watches_of(request);
    empty_status(status);
    const int error = request->kind->finish == NULL ? MPI_SUCCESS : request->kind->finish(request, status);
    if (request->is_cancelled && status != MPI_STATUS_IGNORE) status->count_hi_and_cancelled |= 1;
    return error;
}

// ---- requests of several parts, and those of nothing

bool expect_parts(struct request *request) {
    bool is_there = true;
    for (int i = 0; i < request->part_count; i++) is_there &= begin_wait(request->parts[i]);
    return is_there;
}

int finish_parts(struct request *request, MPI_Status *status) {
    int error = MPI_SUCCESS;
    for (int i = 0; i < request->part_count; i++) {
        const int part_error = finish_request(request->parts[i], i == 0 ? status : MPI_STATUS_IGNORE);
        if (part_error != MPI_SUCCESS) error = part_error;
        free_request(request->parts[i]);
    }
    request->part_count = 0;
    return error;
}

static void show_result(struct request *request) {
    end_watches_of(request);
    if (request->kind->show != NULL) request->kind->show(request);
}

void show_parts(struct request *request) {
    for (int i = 0; i < request->part_count; i++) show_result(request->parts[i]);
}

const struct request_kind joint_requests = {.expect = expect_parts, .finish = finish_parts, .show = show_parts};
const struct request_kind empty_requests;

// Finish a completed request; free it unless it is persistent.
static int complete(MPI_Request *handle, MPI_Status *status) {
    struct request *request = request_of(*handle);
    if (request == NULL || !request->is_active) {
        if (request != NULL) request->was_awaited = true;
        empty_status(status);
        return MPI_SUCCESS;
    }
    const int error = finish_request(request, status);
    request->is_active = request->is_cancelled = request->is_shown = false;
    request->name = NONE;
    if (!request->is_persistent) {
        free_request(request);
        *handle = MPI_REQUEST_NULL;
    }
    return error;
}

// Complete one of several requests; its error goes to its status.
static int complete_one_of(MPI_Request *handle, MPI_Status statuses[], int number) {
    MPI_Status *const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[number];
    const int error = complete(handle, status);
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = error;
    return error;
}

static bool is_active(MPI_Request handle) {
    const struct request *request = handle == MPI_REQUEST_NULL ? NULL : request_of(handle);
    return request != NULL && request->is_active;
}

static bool are_valid(int count, const MPI_Request handles[]) {
    if (count < 0) return false;
    for (int i = 0; i < count; i++)
        if (handles[i] != MPI_REQUEST_NULL && request_of(handles[i]) == NULL) return false;
    return true;
}

// ---- completed requests among several

static int names_of(const struct request *request, int *names) {
    if (request->part_count > 0) {
        int number = 0;
        for (int i = 0; i < request->part_count; i++)
            number += names_of(request->parts[i], names ? names + number : NULL);
        return number;
    }
    if (request->name == NONE || request->is_cancelled) return 0;
    if (names != NULL) *names = request->name;
    return 1;
}

static size_t name_limit(const struct request *request) {
    return request->part_count > 0 ? (size_t)request->part_count : 1;
}

// Ask the simulator which active requests are complete now; returns how many.
static int ask(int count, const MPI_Request handles[], bool *done) {
    size_t name_count = 1;
    for (int i = 0; i < count; i++) name_count += is_active(handles[i]) ? name_limit(request_of(handles[i])) : 0;
    int *const names = allocate_zeroed(name_count, sizeof(int)), number = 0;
    bool *const answers = allocate(sizeof(bool) * name_count);
    for (int i = 0; i < count; i++)
        if (is_active(handles[i])) number += names_of(request_of(handles[i]), names + number);
    for (int i = 0; i < count; i++)
        if (is_active(handles[i]) && request_of(handles[i])->kind->progress) request_of(handles[i])->kind->progress();
    ask_done(number, names, answers);
    int complete_count = 0, at = 0;
    for (int i = 0; i < count; i++) {
        done[i] = false;
        if (!is_active(handles[i])) continue;
        struct request *request = request_of(handles[i]);
        const int count_of_request = names_of(request, NULL);
        done[i] = true;
        for (int j = 0; j < count_of_request; j++) done[i] &= answers[at++];
        if (request->kind->is_done != NULL) done[i] = request->kind->is_done(request, done[i]);
        complete_count += done[i];
    }
    free(names);
    free(answers);
    return complete_count;
}

static int active_of(int count, const MPI_Request handles[]) {
    int number = 0;
    for (int i = 0; i < count; i++) number += is_active(handles[i]);
    return number;
}

// Whether a request may complete without the simulator.
static bool has_others(int count, const MPI_Request handles[]) {
    for (int i = 0; i < count; i++) {
        const struct request *request = is_active(handles[i]) ? request_of(handles[i]) : NULL;
        if (request != NULL && request->kind->may_end_alone && request->kind->may_end_alone(request)) return true;
    }
    return false;
}

// Wait until all of some requests are done, where other threads go on meanwhile.
static void await_beside_threads(int count, const MPI_Request handles[]) {
    const int active = active_of(count, handles);
    bool *done = allocate(sizeof(bool) * (size_t)(count + 1));
    while (ask(count, handles, done) < active) await_change(has_others(count, handles) ? 1e-6 : 1.0 / 0.0);
    free(done);
}

// Wait for all of some requests.
static void await(int count, const MPI_Request handles[]) {
    wait_count++;
    if (has_threads()) await_beside_threads(count, handles);
    bool ready = true;
    this_rank->missing = 0;
    for (int i = 0; i < count; i++)
        if (is_active(handles[i])) ready &= begin_wait(request_of(handles[i]));
    if (!ready) yield();
}

// A persistent request for which the program waits, but which it never starts.
static void accuse_idle(const struct request *request) {
    if (request->is_persistent && !request->was_started && request->was_awaited)
        accuse_at("request never started", request->call_site, 0, "the program waits for it, but never starts it");
}

// Of an active request that the program frees. A send may be forgotten at once; one that the program kept while it waited
// for others is what it should have waited for, too.
static void accuse_forgotten(const struct request *request) {
    const char *why = NULL;
    if (request->kind->settle != NULL)
        why = "it is a collective, which MPI_Request_free must not free before it is complete";
    else if (request->kind->is_receive)
        why = "MPI_Request_free frees the receive, so that nothing says when its data have come";
    else if (request->wait_count != wait_count)
        why = "MPI_Request_free frees it after a wait for others, so that nothing says when its buffer may be used";
    if (why != NULL) accuse_at("request never completed", request->call_site, 0, "%s", why);
}

void note_open_requests(void) {
    struct request *request;
    for (int index = 0; (request = next_object(REQUEST, &index)) != NULL;)
        for (int i = 0; i < request->part_count; i++) request->parts[i]->is_active = false;
    accuse_leaks();
    for (int index = 0; (request = next_object(REQUEST, &index)) != NULL;) {
        if (!request->is_active) {
            if (request->is_persistent) accuse_at("leak of a request", request->call_site, 0, NOT_FREED);
            accuse_idle(request);
            continue;
        }
        accuse_at("request never completed", request->call_site, 0,
                  "neither a wait nor a test completed it, and MPI_Request_free did not free it");
        if (world->open_request_count < ONLINE_LISTED)
            world->open_requests[world->open_request_count] = (struct online_open_request){my_rank, request->call_site};
        world->open_request_count++;
    }
}

int wait_for(struct request *request, MPI_Status *status) {
    MPI_Request handle = request->handle;
    await(1, &handle);
    return complete(&handle, status);
}

// Complete those that are done, as `first_only` or all; indices and statuses of them. Their errors are in the statuses.
static int complete_done(int count, MPI_Request handles[], const bool *done, bool first_only, int *outcount,
                         int indices[], MPI_Status statuses[]) {
    int number = 0, error = MPI_SUCCESS;
    note_choice(true);
    for (int i = 0; i < count; i++) {
        if (!done[i] || (first_only && number > 0)) continue;
        begin_wait(request_of(handles[i]));
        const int failed =
            first_only ? complete(&handles[i], statuses) : complete_one_of(&handles[i], statuses, number);
        if (failed != MPI_SUCCESS) error = first_only ? failed : MPI_ERR_IN_STATUS;
        indices[number++] = i;
    }
    note_choice(false);
    *outcount = number;
    return error;
}

// Note which of several requests are completed, and which another run may complete.
static void note_completion(int count, const MPI_Request handles[], const bool *done) {
    if (!notes_decisions() || active_of(count, handles) < 2) return;
    int first = 0;
    while (!done[first]) first++;
    const int decision = new_decision(A_COMPLETION, 0);
    for (int i = 0; i < count; i++) {
        const struct request *const request = is_active(handles[i]) ? request_of(handles[i]) : NULL;
        if (i != first && request != NULL && (done[i] || request->kind->is_receive))
            note_candidate(decision, i, request->posting, done[i]);
    }
    decide(decision, first, NULL);
}

// Note what a test has found; where that is nothing, which receives it may find.
static void note_test(int count, const MPI_Request handles[], bool is_found) {
    const int decision = last_test_decision();
    for (int i = 0; !is_found && decision != NONE && i < count; i++)
        if (is_active(handles[i]) && request_of(handles[i])->kind->is_receive)
            note_candidate(decision, 1, request_of(handles[i])->posting, false);
    decide_test(is_found);
}

// Of the requests that are done, leave the one that is prescribed; returns how many are left.
static int leave_chosen(int count, const MPI_Request handles[], bool *done, int number) {
    const int choice = notes_decisions() && active_of(count, handles) > 1 ? next_choice() : NONE;
    if (number == 0 || choice == NONE) return number;
    for (int i = 0; i < count; i++) done[i] = done[i] && i == choice;
    return choice < count && done[choice];
}

static int complete_some(int count, MPI_Request handles[], bool waits, bool first_only, int *outcount, int indices[],
                         MPI_Status statuses[]) {
    if (!are_valid(count, handles)) return fail_world(MPI_ERR_REQUEST);
    wait_count += waits;
    if (active_of(count, handles) == 0) {
        *outcount = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    bool *done = allocate(sizeof(bool) * (size_t)(count + 1));
    const int outcome = waits ? NONE : new_test(A_TEST, NONE, 0);
    if (!waits) before_poll();
    int number = outcome == 0 ? 0 : leave_chosen(count, handles, done, ask(count, handles, done));
    if (outcome == 0) memset(done, 0, sizeof(bool) * (size_t)(count + 1));
    while (number == 0 && (waits || outcome == 1)) {
        await_change(has_others(count, handles) ? 1e-6 : 1.0 / 0.0);
        number = leave_chosen(count, handles, done, ask(count, handles, done));
    }
    if (!waits) after_poll(number > 0);
    if (!waits) note_test(count, handles, number > 0);
    if (number > 0) note_completion(count, handles, done);
    const int error = complete_done(count, handles, done, first_only, outcount, indices, statuses);
    free(done);
    return error == MPI_SUCCESS ? error : fail_world(error);
}

// Settle active requests in an order that all ranks share.
static void settle_requests(int count, const MPI_Request handles[]) {
    struct request **list = NULL;
    size_t number = 0;
    for (int i = 0; i < count; i++) {
        struct request *request = is_active(handles[i]) ? request_of(handles[i]) : NULL;
        if (request == NULL || request->kind->settle == NULL) continue;
        if (list == NULL) list = allocate(sizeof *list * (size_t)(count - i));
        list[number++] = request;
    }
    if (number > 0) qsort(list, number, sizeof *list, list[0]->kind->order);
    for (size_t i = 0; i < number; i++) list[i]->kind->settle(list[i]);
    free(list);
}

// ---- waits

EXPORT int MPI_Wait(MPI_Request *handle, MPI_Status *status) {
    enter("MPI_Wait");
    int error = MPI_SUCCESS;
    if (!are_valid(1, handle)) {
        error = fail_world(MPI_ERR_REQUEST);
    } else if (is_active(*handle)) {
        struct communicator *communicator = request_of(*handle)->communicator;
        await(1, handle);
        if (communicator != NULL) keep_communicator(communicator);
        error = complete(handle, status);
        if (error != MPI_SUCCESS) error = fail(communicator, error);
        if (communicator != NULL) drop_communicator(communicator);
    } else {
        complete(handle, status);
    }
    return leave_with(error);
}

EXPORT int MPI_Waitall(int count, MPI_Request handles[], MPI_Status statuses[]) {
    enter("MPI_Waitall");
    int error = MPI_SUCCESS;
    if (!are_valid(count, handles)) {
        error = fail_world(MPI_ERR_REQUEST);
    } else {
        await(count, handles);
        settle_requests(count, handles);
        for (int i = 0; i < count; i++)
            if (complete_one_of(&handles[i], statuses, i) != MPI_SUCCESS) error = MPI_ERR_IN_STATUS;
        if (error != MPI_SUCCESS) error = fail_world(error);
    }
    return leave_with(error);
}

EXPORT int MPI_Waitany(int count, MPI_Request handles[], int *index, MPI_Status *status) {
    enter("MPI_Waitany");
    int number;
    empty_status(status);
    const int error = complete_some(count, handles, true, true, &number, index, status);
    if (number == MPI_UNDEFINED) *index = MPI_UNDEFINED;
    return leave_with(error);
}

EXPORT int MPI_Waitsome(int count, MPI_Request handles[], int *outcount, int indices[], MPI_Status statuses[]) {
    enter("MPI_Waitsome");
    return leave_with(complete_some(count, handles, true, false, outcount, indices, statuses));
}

// ---- tests

EXPORT int MPI_Testall(int count, MPI_Request handles[], int *flag, MPI_Status statuses[]) {
    enter("MPI_Testall");
    int error = MPI_SUCCESS;
    if (!are_valid(count, handles)) {
        error = fail_world(MPI_ERR_REQUEST);
        return leave_with(error);
    }
    const int active = active_of(count, handles);
    *flag = 1;
    if (active > 0) {
        bool *done = allocate(sizeof(bool) * (size_t)count);
        const int outcome = new_test(A_TEST, NONE, 0);
        before_poll();
        *flag = outcome != 0 && ask(count, handles, done) == active;
        while (!*flag && outcome == 1) {
            await_change(has_others(count, handles) ? 1e-6 : 1.0 / 0.0);
            *flag = ask(count, handles, done) == active;
        }
        after_poll(*flag);
        decide_test(*flag);
        free(done);
    }
    if (*flag) settle_requests(count, handles);
    note_choice(true);
    for (int i = 0; *flag && i < count; i++) {
        if (is_active(handles[i])) begin_wait(request_of(handles[i]));
        if (complete_one_of(&handles[i], statuses, i) != MPI_SUCCESS) error = MPI_ERR_IN_STATUS;
    }
    note_choice(false);
    if (error != MPI_SUCCESS) error = fail_world(error);
    return leave_with(error);
}

EXPORT int MPI_Test(MPI_Request *handle, int *flag, MPI_Status *status) {
    enter("MPI_Test");
    int index, number;
    *flag = 1;
    empty_status(status);
    const int error = complete_some(1, handle, false, true, &number, &index, status);
    if (number == 0) *flag = 0;
    return leave_with(error);
}

EXPORT int MPI_Testany(int count, MPI_Request handles[], int *index, int *flag, MPI_Status *status) {
    enter("MPI_Testany");
    int number = 0;
    *flag = 1;
    empty_status(status);
    const int error = complete_some(count, handles, false, true, &number, index, status);
    if (number == 0) *flag = 0;
    if (number == 0 || number == MPI_UNDEFINED) *index = MPI_UNDEFINED;
    return leave_with(error);
}

EXPORT int MPI_Testsome(int count, MPI_Request handles[], int *outcount, int indices[], MPI_Status statuses[]) {
    enter("MPI_Testsome");
    return leave_with(complete_some(count, handles, false, false, outcount, indices, statuses));
}

// Fill the status of a completed request without freeing the request.
static void kept_status(MPI_Request handle, MPI_Status *status) {
    empty_status(status);
    const struct request *request = is_active(handle) ? request_of(handle) : NULL;
    if (request == NULL || status == MPI_STATUS_IGNORE) return;
    if (request->kind->tell != NULL) request->kind->tell(request, status);
    if (request->is_cancelled) status->count_hi_and_cancelled |= 1;
}

// Which of several are complete; returns how many of how many active ones.
static int look(int count, const MPI_Request handles[], bool *done, int *active) {
    *active = active_of(count, handles);
    if (*active == 0) return 0;
    before_poll();
    const int number = ask(count, handles, done);
    after_poll(number > 0);
    for (int i = 0; i < count; i++)
        if (done[i]) show_result(request_of(handles[i]));
    return number;
}

static MPI_Status *status_at(MPI_Status statuses[], int index) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[index];
}

EXPORT int MPI_Request_get_status_all(int count, const MPI_Request handles[], int *flag, MPI_Status statuses[]) {
    if (!are_valid(count, handles)) return fail_world(MPI_ERR_REQUEST);
    enter("MPI_Request_get_status_all");
    bool *done = allocate_zeroed((size_t)count + 1, sizeof(bool));
    int active;
    *flag = look(count, handles, done, &active) == active;
    for (int i = 0; *flag && i < count; i++) kept_status(handles[i], status_at(statuses, i));
    free(done);
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_Request_get_status(MPI_Request handle, int *flag, MPI_Status *status) {
    return MPI_Request_get_status_all(1, &handle, flag, status);
}

EXPORT int MPI_Request_get_status_some(int count, const MPI_Request handles[], int *outcount, int indices[],
                                       MPI_Status statuses[]) {
    if (!are_valid(count, handles)) return fail_world(MPI_ERR_REQUEST);
    enter("MPI_Request_get_status_some");
    bool *done = allocate_zeroed((size_t)count + 1, sizeof(bool));
    int active, number = 0;
    look(count, handles, done, &active);
    for (int i = 0; i < count; i++) {
        if (!done[i]) continue;
        kept_status(handles[i], status_at(statuses, number));
        indices[number++] = i;
    }
    *outcount = active == 0 ? MPI_UNDEFINED : number;
    free(done);
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_Request_get_status_any(int count, const MPI_Request handles[], int *index, int *flag,
                                      MPI_Status *status) {
    if (!are_valid(count, handles)) return fail_world(MPI_ERR_REQUEST);
    enter("MPI_Request_get_status_any");
    bool *done = allocate_zeroed((size_t)count + 1, sizeof(bool));
    int active;
    *flag = look(count, handles, done, &active) > 0 || active == 0;
    *index = MPI_UNDEFINED;
    empty_status(status);
    if (active == 0 && status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;  // as MPICH does
    for (int i = count - 1; i >= 0; i--)
        if (done[i]) *index = i;
    if (*index != MPI_UNDEFINED) kept_status(handles[*index], status);
    free(done);
    return leave_with(MPI_SUCCESS);
}

// ---- the others

EXPORT int MPI_Start(MPI_Request *handle) {
    enter("MPI_Start");
    struct request *request = request_of(*handle);
    int error = MPI_SUCCESS;
    if (request == NULL || !request->is_persistent || request->is_active) {
        error = fail_world(MPI_ERR_REQUEST);
    } else {
        start_watch(request);
        error = request->kind->start(request);
        if (error != MPI_SUCCESS) drop_watches(request);
        if (error != MPI_SUCCESS) error = fail(request->communicator, error);
    }
    return leave_with(error);
}

EXPORT int MPI_Startall(int count, MPI_Request handles[]) {
    if (!are_valid(count, handles)) return fail_world(MPI_ERR_REQUEST);
    for (int i = 0; i < count; i++) {
        const int error = MPI_Start(&handles[i]);
        if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
}

EXPORT int MPI_Request_free(MPI_Request *handle) {
    struct request *request = request_of(*handle);
    if (request == NULL) return fail_world(MPI_ERR_REQUEST);
    if (request->is_active)
        accuse_forgotten(request);
    else
        accuse_idle(request);
    drop_watches(request);
    for (int i = 0; i < request->part_count; i++) drop_watches(request->parts[i]);
    if (request->is_active && request->kind->is_receive)
        drop_handle(REQUEST, *handle);  // its message may come: it is kept for ever
    else
        free_request(request);
    *handle = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

EXPORT int MPI_Cancel(MPI_Request *handle) {
    struct request *request = request_of(*handle);
    if (request == NULL) return fail_world(MPI_ERR_REQUEST);
    if (request->kind->cancel != NULL) return request->kind->cancel(request);
    return MPI_SUCCESS;
}
