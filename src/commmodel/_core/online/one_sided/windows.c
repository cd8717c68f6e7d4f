// Windows: memory that a rank opens to others; how they are made, and what is told of them.
#include "online/one_sided/conflicts.h"

#include "online/collectives/exchange.h"
#include "online/objects/families.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/findings.h"
#include "online/runtime/turns.h"

struct window *window_of(MPI_Win handle) { return object_of(WINDOW, handle); }

int fail_window(struct window *window, int error) {
    if (window == NULL) return fail_world(MPI_ERR_WIN);
    return handle_error(window->handle, window->errhandler, error);
}

// Below those of collectives, above those that stand for any tag.
int window_tag(const struct window *window, enum window_message kind) {
    return -(1 << 21) - (window->communicator->context * 4 + (int)kind);
}

// ---- making

struct exposure {  // of a rank, to the others
    uint64_t base, mapping;
    MPI_Aint size, unit;
    int host;
};

static struct shared_window *shared_by(int number, int size) {
    uint64_t offset = world->windows;
    while (offset != 0) {
        struct shared_window *shared = online_at(world, offset);
        if (shared->number == number) return shared;
        offset = shared->next;
    }
    const uint64_t bytes = sizeof(struct shared_window) + sizeof(struct member) * (uint64_t)size;
    offset = allocate_shared(bytes, "a window");
    struct shared_window *shared = online_at(world, offset);
    memset(shared, 0, bytes);
    shared->next = world->windows;
    shared->number = number;
    world->windows = offset;
    return shared;
}

static void leave_shared(struct shared_window *shared, int size) {
    if (--shared->references > 0) return;
    forget_history(shared, size);
    const uint64_t offset = online_offset(world, shared);
    uint64_t *link = &world->windows;
    while (*link != offset) link = &((struct shared_window *)online_at(world, *link))->next;
    *link = shared->next;
    online_free(world, shared->memory);
    online_free(world, offset);
}

// The memory of a window of one host: each rank's part after those of the ranks before it, where `apart` on pages of
// their own. Any rank that comes first tells all, as the others may be asked for before they go on.
static void place_parts(struct window *window, struct exposure *exposures, bool apart) {
    const uint64_t page = 4096;
    struct shared_window *shared = window->shared;
    uint64_t total = 0;
    for (int i = 0; i < size_of(window->communicator); i++) {
        const uint64_t size = (uint64_t)exposures[i].size;
        exposures[i].base = total;
        total += apart ? (size + page - 1) / page * page : size;
    }
    if (shared->memory == 0) shared->memory = allocate_shared(total + 1, "a window's memory");
    for (int i = 0; i < size_of(window->communicator); i++)
        exposures[i].base =
            apart && exposures[i].size == 0 ? 0 : exposures[i].base + exposures[i].mapping + shared->memory;
    window->base = (void *)exposures[window->communicator->rank].base;
}

static int make(const char *call, int flavor, void *base, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                MPI_Win *win) {
    struct communicator *parent = communicator_of(comm);
    if (parent == NULL || parent->remote != NULL) return fail(parent, MPI_ERR_COMM);
    if (size < 0) return fail(parent, MPI_ERR_SIZE);
    if (unit <= 0) return fail(parent, MPI_ERR_ARG);
    enter(call);
    world->is_in_order = 1;
    struct window *window = allocate_zeroed(1, sizeof *window);
    const int count = size_of(parent);
    if (flavor == MPI_WIN_FLAVOR_ALLOCATE) {
        window->memory = online_allocate(world, (uint64_t)size + 1);
        if (window->memory == 0) {
            free(window);
            leave();
            return fail(parent, MPI_ERR_NO_MEM);
        }
        base = online_at(world, window->memory);
    }
    const struct exposure exposure = {(uint64_t)base, (uint64_t)world, size, unit, this_rank->host_number};
    struct exposure *exposures = allocate(sizeof exposure * (size_t)count);
    int numbers[2];
    gather_all(parent, call, &exposure, sizeof exposure, exposures, numbers, 1);
    bool has_one_host = true;
    for (int i = 0; i < count; i++) has_one_host &= exposures[i].host == exposure.host;
    const bool is_split = flavor == MPI_WIN_FLAVOR_SHARED && !has_one_host;
    if (is_split || numbers[0] == NONE) {
        if (numbers[0] != NONE) world->contexts[numbers[0]]--;
        free(exposures);
        free(window);
        leave();
        return fail(parent, is_split ? MPI_ERR_RMA_SHARED : MPI_ERR_OTHER);
    }
    window->communicator = new_communicator(keep_group(parent->group), NULL, numbers[0], numbers[1]);
    window->communicator->handle = new_handle(COMMUNICATOR, window->communicator);
    forgive_leak(COMMUNICATOR, window->communicator->handle);
    window->shared = shared_by(numbers[1], count);
    window->shared->references++;
    window->flavor = flavor;
    window->model = MPI_WIN_UNIFIED;
    window->base = base;
    window->size = size;
    window->unit = (int)unit;
    window->errhandler = MPI_ERRORS_ARE_FATAL;
    window->info = copy_info(info);
    window->locks = allocate_zeroed((size_t)count, 1);
    if (flavor == MPI_WIN_FLAVOR_SHARED) {
        char value[8] = "";
        int is_there = 0;
        if (info != MPI_INFO_NULL) MPI_Info_get(info, "alloc_shared_noncontig", 7, value, &is_there);
        place_parts(window, exposures, is_there && strcmp(value, "true") == 0);
    }
    for (int i = 0; i < count; i++) {
        struct member *member = &window->shared->members[i];
        if (member->mapping != 0) continue;  // another rank has told it
        member->base = exposures[i].base;
        member->mapping = exposures[i].mapping;
        member->size = exposures[i].size;
        member->unit = exposures[i].unit;
    }
    free(exposures);
    copy_window(window);
    window->handle = *win = new_handle(WINDOW, window);
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_Win_create_c(void *base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win) {
    if (base == NULL && size > 0) return refuse_null("base");
    if (is_checked() && size > 0 && check_memory(base, size, datatype_of(MPI_BYTE)) != MPI_SUCCESS) {
        explain_error(": there is less memory than the size says");
        return fail(communicator_of(comm), MPI_ERR_BUFFER);
    }
    return make("MPI_Win_create", MPI_WIN_FLAVOR_CREATE, base, size, disp_unit, info, comm, win);
}

EXPORT int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win) {
    return make("MPI_Win_create_dynamic", MPI_WIN_FLAVOR_DYNAMIC, MPI_BOTTOM, 0, 1, info, comm, win);
}

static int allocate_window(const char *call, int flavor, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                           void *baseptr, MPI_Win *win) {
    const int error = make(call, flavor, NULL, size, unit, info, comm, win);
    if (error == MPI_SUCCESS) *(void **)baseptr = window_of(*win)->base;
    return error;
}

EXPORT int MPI_Win_allocate_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                              MPI_Win *win) {
    return allocate_window("MPI_Win_allocate", MPI_WIN_FLAVOR_ALLOCATE, size, disp_unit, info, comm, baseptr, win);
}

EXPORT int MPI_Win_allocate_shared_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                                     MPI_Win *win) {
    return allocate_window("MPI_Win_allocate_shared", MPI_WIN_FLAVOR_SHARED, size, disp_unit, info, comm, baseptr, win);
}

EXPORT int MPI_Win_free(MPI_Win *win) {
    WINDOW_OR_FAIL(window, *win);
    if (has_epoch(window) || (window->is_fenced && window->open_count > 0))
        return fail_window(window, MPI_ERR_RMA_SYNC);
    const int error = delete_attributes(*win, &window->attributes);
    if (error != MPI_SUCCESS) return fail_window(window, error);
    enter("MPI_Win_free");
    forget_accesses(window);
    MPI_Barrier(window->communicator->handle);
    const uint64_t regions = window->shared->members[window->communicator->rank].regions;
    for (uint64_t offset = regions; offset != 0;) {
        const uint64_t next = ((struct region *)online_at(world, offset))->next;
        online_free(world, offset);
        offset = next;
    }
    leave_shared(window->shared, size_of(window->communicator));
    online_free(world, window->memory);
    drop_handle(COMMUNICATOR, window->communicator->handle);
    drop_communicator(window->communicator);
    drop_handle(WINDOW, *win);
    free_errhandler(window->errhandler);
    free_info(&window->info);
    free(window->locks);
    free(window->open);
    free(window);
    *win = MPI_WIN_NULL;
    return leave_with(MPI_SUCCESS);
}

// ---- memory of a dynamic window

EXPORT int MPI_Win_attach(MPI_Win win, void *base, MPI_Aint size) {
    WINDOW_OR_FAIL(window, win);
    if (window->flavor != MPI_WIN_FLAVOR_DYNAMIC) return fail_window(window, MPI_ERR_RMA_FLAVOR);
    if (size < 0) return fail_window(window, MPI_ERR_SIZE);
    struct member *member = &window->shared->members[window->communicator->rank];
    for (uint64_t offset = member->regions; offset != 0;) {
        const struct region *region = online_at(world, offset);
        if ((uint64_t)base < region->base + region->size && region->base < (uint64_t)base + (uint64_t)size)
            return fail_window(window, MPI_ERR_RMA_ATTACH);
        offset = region->next;
    }
    const uint64_t offset = allocate_shared(sizeof(struct region), "a window's region");
    *(struct region *)online_at(world, offset) = (struct region){member->regions, (uint64_t)base, (uint64_t)size};
    member->regions = offset;
    return MPI_SUCCESS;
}

EXPORT int MPI_Win_detach(MPI_Win win, const void *base) {
    WINDOW_OR_FAIL(window, win);
    if (window->flavor != MPI_WIN_FLAVOR_DYNAMIC) return fail_window(window, MPI_ERR_RMA_FLAVOR);
    uint64_t *link = &window->shared->members[window->communicator->rank].regions;
    while (*link != 0) {
        struct region *region = online_at(world, *link);
        if (region->base == (uint64_t)base) {
            const uint64_t offset = *link;
            *link = region->next;
            online_free(world, offset);
            return MPI_SUCCESS;
        }
        link = &region->next;
    }
    return fail_window(window, MPI_ERR_ARG);
}

// ---- what a window is

EXPORT int MPI_Win_shared_query_c(MPI_Win win, int rank, MPI_Aint *size, MPI_Aint *disp_unit, void *baseptr) {
    WINDOW_OR_FAIL(window, win);
    if (window->flavor == MPI_WIN_FLAVOR_DYNAMIC) return fail_window(window, MPI_ERR_RMA_FLAVOR);
    const int count = size_of(window->communicator);
    if (rank != MPI_PROC_NULL && (rank < 0 || rank >= count)) return fail_window(window, MPI_ERR_RANK);
    const struct member *members = window->shared->members;
    if (rank == MPI_PROC_NULL) {  // the first with memory
        rank = 0;
        while (rank < count - 1 && members[rank].size == 0) rank++;
    }
    const struct member *member = &members[rank];
    const bool is_mine = rank == window->communicator->rank;
    const bool is_mapped = member->base >= member->mapping && member->base < member->mapping + world->size;
    const bool is_near = world->rank[member_rank(window, rank)].host_number == this_rank->host_number;
    const bool is_there = is_mine || (is_mapped && is_near);
    *size = is_there ? member->size : 0;
    *disp_unit = is_there ? member->unit : 1;
    *(void **)baseptr = !is_there ? NULL
                        : is_mine ? (void *)member->base
                                  : online_at(world, member->base - member->mapping);
    return MPI_SUCCESS;
}

EXPORT int MPI_Win_get_group(MPI_Win win, MPI_Group *group) {
    WINDOW_OR_FAIL(window, win);
    *group = group_handle(keep_group(window->communicator->group));
    return MPI_SUCCESS;
}

NAME_FUNCTIONS(Win, MPI_Win, MPI_WIN_NULL, window, window_of, fail_world(MPI_ERR_WIN))
INFO_FUNCTIONS(Win, MPI_Win, window, window_of, fail_world(MPI_ERR_WIN), copy_info)
ERRHANDLER_FUNCTIONS(Win, MPI_Win, window, window_of, fail_world(MPI_ERR_WIN))

// ---- attributes: those of all windows point into the window

static bool find_predefined(struct window *window, int keyval, void *value, int *flag, enum value_type type) {
    void *at = NULL;
    intptr_t number = 0;
    switch (type == POINTER ? keyval : keyval - 1) {  // Fortran's numbers are the next ones
        case MPI_WIN_BASE: at = window->base, number = (intptr_t)at; break;
        case MPI_WIN_SIZE: at = &window->size, number = window->size; break;
        case MPI_WIN_DISP_UNIT: at = &window->unit, number = window->unit; break;
        case MPI_WIN_CREATE_FLAVOR: at = &window->flavor, number = window->flavor; break;
        case MPI_WIN_MODEL: at = &window->model, number = window->model; break;
        default: return false;
    }
    *(void **)value = type == POINTER ? at : (void *)number;
    *flag = 1;
    return true;
}

// A key that is none is nothing of the window.
static int fail_attribute(struct window *window, int error) {
    return error == MPI_ERR_KEYVAL ? fail_world(error) : fail_window(window, error);
}

ATTRIBUTE_FUNCTIONS(Win, MPI_Win, WINDOW, window, window_of, fail_world(MPI_ERR_WIN), find_predefined, fail_attribute)
