// One-sided operations. Data move at the call; the time is that of a message without part of the target, and is waited
// for at the end of the epoch or by a request.
#include "online/datatypes/reductions.h"
#include "online/messages/requests.h"
#include "online/one_sided/conflicts.h"
#include "online/one_sided/windows.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/findings.h"
#include "online/runtime/operations.h"
#include "online/runtime/turns.h"

static MPI_Count end_of(MPI_Count count, const struct datatype *type) {
    return (type->extent > 0 ? (count - 1) * type->extent : 0) + type->true_lower + type->true_extent;
}

// Whether the whole range is attached, in one region or several adjacent ones.
static bool is_attached_memory(const struct member *member, uint64_t address, MPI_Count length) {
    const uint64_t end = address + (uint64_t)length;
    for (uint64_t offset = member->regions; offset != 0 && address < end;) {
        const struct region *region = online_at(world, offset);
        const bool is_within = address >= region->base && address < region->base + region->size;
        if (is_within) address = region->base + region->size;
        offset = is_within ? member->regions : region->next;
    }
    return address >= end;
}

static int check_access(struct access *access, MPI_Aint displacement) {
    struct window *window = access->window;
    if (access->target < 0 || access->target >= size_of(window->communicator)) return MPI_ERR_RANK;
    if (access->count < 0) return MPI_ERR_COUNT;
    if (access->type == NULL || !access->type->is_committed) return MPI_ERR_TYPE;
    if (!has_access(window, access->target)) return MPI_ERR_RMA_SYNC;
    const struct member *member = &window->shared->members[access->target];
    access->rank = member_rank(window, access->target);
    access->mapping = member->mapping;
    const bool is_dynamic = window->flavor == MPI_WIN_FLAVOR_DYNAMIC;
    if (!is_dynamic && displacement < 0) return MPI_ERR_DISP;
    const MPI_Aint offset = is_dynamic ? displacement : displacement * member->unit;
    access->address = is_dynamic ? (uint64_t)offset : member->base + (uint64_t)offset;
    if (volume(access->count, access->type) == 0) return MPI_SUCCESS;
    const MPI_Count end = end_of(access->count, access->type);
    if (is_dynamic) return is_attached_memory(member, access->address, end) ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
    const MPI_Count begin = access->type->true_lower;
    return offset + begin < 0 || offset + end > member->size ? MPI_ERR_RMA_RANGE : MPI_SUCCESS;
}

static void transfer(const struct access *access, int code, MPI_Count bytes, int *name) {
    *name = next_name();
    act(code, access->rank, window_tag(access->window, A_TRANSFER), *name, (double)bytes);
    open_transfer(access->window, *name, access->target);
}

// The predefined type that a datatype is made of: accumulates combine elements of it.
static const struct datatype *basic_of(const struct datatype *type) {
    return type->is_basic ? type : datatype_of(type->basic);
}

static int finish_access(struct request *request, MPI_Status *status) {
    (void)status;
    complete_request(request);
    return MPI_SUCCESS;
}

static const struct request_kind one_sided_requests = {.finish = finish_access, .release = complete_request};

// What is fetched: `result`, before the operation takes `origin` to the target; either may be NULL.
static int operate(const char *call, struct access *access, MPI_Aint displacement, const struct block *origin,
                   const struct block *result, MPI_Op op, MPI_Request *handle) {
    struct window *window = access->window;
    if (window == NULL) return fail_world(MPI_ERR_WIN);
    int error = MPI_SUCCESS;
    if (origin && op != MPI_NO_OP) error = check_memory(origin->at, origin->count, origin->type);
    if (error == MPI_SUCCESS && result) error = check_memory(result->at, result->count, result->type);
    int name = NONE;
    struct request *request = NULL;
    if (error == MPI_SUCCESS && access->target != MPI_PROC_NULL) {
        error = check_access(access, displacement);
        const bool changes = origin != NULL && op != MPI_NO_OP, combines = changes && op != MPI_REPLACE;
        if (error == MPI_SUCCESS && op != MPI_OP_NULL && !is_built_in(op)) error = MPI_ERR_OP;
        if (error == MPI_SUCCESS && combines && volume(access->count, access->type) > 0 &&
            !has_type(operation_of(op), basic_of(access->type)))
            error = MPI_ERR_OP;
        const MPI_Count bytes = error == MPI_SUCCESS ? volume(access->count, access->type) : 0;
        if (error == MPI_SUCCESS && changes && volume(origin->count, origin->type) > bytes) error = MPI_ERR_TRUNCATE;
        if (error == MPI_SUCCESS && result && volume(result->count, result->type) < bytes) error = MPI_ERR_TRUNCATE;
        if (error != MPI_SUCCESS) return fail_window(window, error);
        enter(call);
        if ((!window->is_fenced && !window->accessed) || (result && changes)) settle();
        begin_access(access, op);
        char *origin_data = allocate(2 * (size_t)bytes + 2), *target_data = origin_data + bytes + 1;
        if (result || combines)
            read_memory(access->rank, access->mapping, access->address, access->count, access->type, target_data);
        if (changes) pack(origin->at, origin->count, origin->type, origin_data);
        if (result) unpack(result->at, result->count, result->type, target_data, bytes);
        if (combines && bytes > 0)
            error = reduce(operation_of(op), origin_data, target_data, access->count, access->type);
        if (changes) {
            write_memory(access->rank, access->mapping, access->address, access->count, access->type,
                         combines ? target_data : origin_data);
            update_copy(access);  // at once: where the ring of operations is full, the owner may have the turn next
        }
        free(origin_data);
        const MPI_Count small = 16;  // travels with the request
        if (changes && !(result && bytes <= small)) transfer(access, PUT, bytes, &name);
        if (result) transfer(access, GET, bytes, &name);
        if (handle != NULL) request = new_request(&one_sided_requests, NULL);
        end_access(access, changes ? origin : NULL, result, request);
        leave();
    }
    if (error != MPI_SUCCESS) return fail_window(window, error);
    if (handle != NULL) {
        if (request == NULL) request = new_request(&empty_requests, NULL);
        request->name = name;
        request->is_active = true;
        *handle = request->handle;
    }
    return MPI_SUCCESS;
}

static struct access access_to(MPI_Win win, enum access_use use, int target, MPI_Count count, MPI_Datatype datatype) {
    return (struct access){
        .window = window_of(win), .use = use, .target = target, .count = count, .type = datatype_of(datatype)};
}

#define ORIGIN const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype
#define TARGET int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype
#define ORIGIN_BLOCK \
    (struct block) { (void *)origin_addr, origin_count, datatype_of(origin_datatype) }
#define OPERATE(call, use, origin, result, op, request)                                     \
    struct access access = access_to(win, use, target_rank, target_count, target_datatype); \
    return operate(call, &access, target_disp, origin, result, op, request)

EXPORT int MPI_Put_c(ORIGIN, TARGET, MPI_Win win) { OPERATE("MPI_Put", PUTS, &ORIGIN_BLOCK, NULL, MPI_REPLACE, NULL); }
EXPORT int MPI_Rput_c(ORIGIN, TARGET, MPI_Win win, MPI_Request *request) {
    OPERATE("MPI_Rput", PUTS, &ORIGIN_BLOCK, NULL, MPI_REPLACE, request);
}

EXPORT int MPI_Get_c(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, TARGET, MPI_Win win) {
    OPERATE("MPI_Get", GETS, NULL, &ORIGIN_BLOCK, MPI_OP_NULL, NULL);
}
EXPORT int MPI_Rget_c(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, TARGET, MPI_Win win,
                      MPI_Request *request) {
    OPERATE("MPI_Rget", GETS, NULL, &ORIGIN_BLOCK, MPI_OP_NULL, request);
}

EXPORT int MPI_Accumulate_c(ORIGIN, TARGET, MPI_Op op, MPI_Win win) {
    OPERATE("MPI_Accumulate", ACCUMULATES, &ORIGIN_BLOCK, NULL, op, NULL);
}
EXPORT int MPI_Raccumulate_c(ORIGIN, TARGET, MPI_Op op, MPI_Win win, MPI_Request *request) {
    OPERATE("MPI_Raccumulate", ACCUMULATES, &ORIGIN_BLOCK, NULL, op, request);
}

#define RESULT void *result_addr, MPI_Count result_count, MPI_Datatype result_datatype
#define RESULT_BLOCK \
    (struct block) { result_addr, result_count, datatype_of(result_datatype) }

EXPORT int MPI_Get_accumulate_c(ORIGIN, RESULT, TARGET, MPI_Op op, MPI_Win win) {
    OPERATE("MPI_Get_accumulate", ACCUMULATES, op == MPI_NO_OP ? NULL : &ORIGIN_BLOCK, &RESULT_BLOCK, op, NULL);
}
EXPORT int MPI_Rget_accumulate_c(ORIGIN, RESULT, TARGET, MPI_Op op, MPI_Win win, MPI_Request *request) {
    OPERATE("MPI_Rget_accumulate", ACCUMULATES, op == MPI_NO_OP ? NULL : &ORIGIN_BLOCK, &RESULT_BLOCK, op, request);
}

EXPORT int MPI_Fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank,
                            MPI_Aint target_disp, MPI_Op op, MPI_Win win) {
    struct access access = access_to(win, ACCUMULATES, target_rank, 1, datatype);
    const struct block origin = {(void *)origin_addr, 1, access.type}, result = {result_addr, 1, access.type};
    return operate("MPI_Fetch_and_op", &access, target_disp, op == MPI_NO_OP ? NULL : &origin, &result, op, NULL);
}

// Integers, bytes and logical values.
static bool is_comparable(const struct datatype *type) {
    const bool is_logical = has_type(operation_of(MPI_LAND), type) && !has_type(operation_of(MPI_MAX), type);
    return type->is_basic && (is_logical || has_type(operation_of(MPI_BAND), type));
}

// Of MPI_Compare_and_swap, whose result is watched already.
static void watch_operands(const struct access *access, const void *origin, const void *compared) {
    if (!is_checked()) return;
    const struct block blocks[] = {{(char *)origin, 1, access->type}, {(char *)compared, 1, access->type}};
    watch_more(access, 2, blocks);
}

EXPORT int MPI_Compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr,
                                MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win) {
    struct access access = access_to(win, ACCUMULATES, target_rank, 1, datatype);
    if (access.type != NULL && !is_comparable(access.type)) return fail_window(window_of(win), MPI_ERR_TYPE);
    if (origin_addr == NULL || compare_addr == NULL) return fail_window(window_of(win), MPI_ERR_BUFFER);
    const struct block result = {result_addr, 1, access.type};
    const int error = operate("MPI_Compare_and_swap", &access, target_disp, NULL, &result, MPI_OP_NULL, NULL);
    if (error != MPI_SUCCESS || target_rank == MPI_PROC_NULL) return error;
    // No other rank has run since the value was read.
    watch_operands(&access, origin_addr, compare_addr);
    if (memcmp(result_addr, compare_addr, (size_t)access.type->size) == 0) {
        write_memory(access.rank, access.mapping, access.address, 1, access.type, origin_addr);
        update_copy(&access);
    }
    return MPI_SUCCESS;
}
