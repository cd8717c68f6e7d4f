// Epochs of windows: fences, locks, and those that two groups agree on.
//
// Data have moved when a call returns; the end of an epoch waits for simulated time alone. Synchronisation is by empty
// messages: a lock takes a request and an answer; a lock held by another rank is granted by its release.
#include "online/one_sided/conflicts.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/findings.h"
#include "online/runtime/history.h"
#include "online/runtime/operations.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

#define ALONE (-1)

struct waiter {  // for a lock
    uint64_t next;
    int32_t rank, type;
};

void settle(void) {
    if (is_ahead()) yield();
}

bool has_access(const struct window *window, int target) {
    return window->is_fenced || window->is_all_locked || window->locks[target] ||
           (window->accessed && rank_in(window->accessed, member_rank(window, target)) != NONE);
}

bool has_epoch(const struct window *window) {
    return window->is_all_locked || window->lock_count > 0 || window->accessed || window->exposed;
}

void open_transfer(struct window *window, int name, int target) {
    if (window->open_count == window->open_room) {
        window->open_room = window->open_room ? 2 * window->open_room : 16;
        window->open = reallocate(window->open, sizeof *window->open * (size_t)window->open_room);
    }
    window->open[window->open_count++] = (struct open_transfer){name, target};
}

// Wait for the transfers to a target, NONE for all.
static void close_transfers(struct window *window, int target, bool is_local) {
    complete_accesses(window, target, is_local);
    int open_count = 0;
    for (int i = 0; i < window->open_count; i++) {
        const struct open_transfer transfer = window->open[i];
        if (target != NONE && transfer.target != target)
            window->open[open_count++] = transfer;
        else
            act(WAIT, NONE, NONE, transfer.name, 0.0);
    }
    window->open_count = open_count;
}

// ---- fences

EXPORT int MPI_Win_fence(int assert, MPI_Win win) {
    WINDOW_OR_FAIL(window, win);
    const int assertions = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
    if (assert & ~assertions) return fail_window(window, MPI_ERR_ASSERT);
    if (has_epoch(window)) return fail_window(window, MPI_ERR_RMA_SYNC);
    enter("MPI_Win_fence");
    close_transfers(window, NONE, false);
    MPI_Barrier(window->communicator->handle);
    window->is_fenced = !(assert &MPI_MODE_NOSUCCEED);
    return leave_with(MPI_SUCCESS);
}

// ---- locks

static bool take(struct member *member, int type) {
    if (type == MPI_LOCK_EXCLUSIVE ? member->holders != 0 : member->holders == ALONE) return false;
    member->holders = type == MPI_LOCK_EXCLUSIVE ? ALONE : member->holders + 1;
    return true;
}

// Receive an empty message, while other threads go on.
static void receive_signal(int source, int tag) {
    if (!has_threads()) return act(RECV, source, tag, NONE, -1.0);
    const int name = next_name();
    act(IRECV, source, tag, name, -1.0);
    await_named(1, &name);
}

static void await_lock(struct window *window, int target, int type) {
    struct member *member = &window->shared->members[target];
    if (member->first_waiter == 0 && take(member, type)) return;
    const uint64_t offset = allocate_shared(sizeof(struct waiter), "a lock");
    *(struct waiter *)online_at(world, offset) = (struct waiter){0, my_rank, type};
    if (member->first_waiter == 0)
        member->first_waiter = offset;
    else
        ((struct waiter *)online_at(world, member->last_waiter))->next = offset;
    member->last_waiter = offset;
    receive_signal(NONE, window_tag(window, A_LOCK));
    settle();
}

static void acquire(struct window *window, int target, int type) {
    await_lock(window, target, type);
    const struct member *member = &window->shared->members[target];
    learn(type == MPI_LOCK_EXCLUSIVE ? member->any_clock : member->exclusive_clock);
}

// Release a lock and grant it to waiting ranks.
static void release(struct window *window, int target) {
    struct member *member = &window->shared->members[target];
    if (member->holders == ALONE) hand_to(&member->exclusive_clock);
    hand_to(&member->any_clock);
    member->holders = member->holders == ALONE ? 0 : member->holders - 1;
    while (member->first_waiter != 0) {
        const uint64_t offset = member->first_waiter;
        const struct waiter *waiter = online_at(world, offset);
        if (!take(member, waiter->type)) return;
        act(ISEND, waiter->rank, window_tag(window, A_LOCK), NONE, 0.0);
        member->first_waiter = waiter->next;
        online_free(world, offset);
    }
}

// A fence without operations after it opens no epoch.
static bool leaves_fence(struct window *window) {
    if (window->is_fenced && window->open_count > 0) return false;
    window->is_fenced = false;
    return true;
}

EXPORT int MPI_Win_lock(int lock_type, int rank, int assert, MPI_Win win) {
    WINDOW_OR_FAIL(window, win);
    if (lock_type != MPI_LOCK_SHARED && lock_type != MPI_LOCK_EXCLUSIVE) return fail_window(window, MPI_ERR_LOCKTYPE);
    if (assert & ~MPI_MODE_NOCHECK) return fail_window(window, MPI_ERR_ASSERT);
    if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
    if (rank < 0 || rank >= size_of(window->communicator)) return fail_window(window, MPI_ERR_RANK);
    if (window->is_all_locked || window->locks[rank] || window->accessed || !leaves_fence(window))
        return fail_window(window, MPI_ERR_RMA_SYNC);
    enter("MPI_Win_lock");
    if (rank != window->communicator->rank && !(assert &MPI_MODE_NOCHECK)) {
        const int name = next_name();
        act(GET, member_rank(window, rank), window_tag(window, A_LOCK), name, 0.0);
        act(WAIT, NONE, NONE, name, 0.0);
    }
    settle();
    acquire(window, rank, lock_type);
    window->locks[rank] = 1;
    window->lock_count++;
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_Win_unlock(int rank, MPI_Win win) {
    WINDOW_OR_FAIL(window, win);
    if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
    if (rank < 0 || rank >= size_of(window->communicator)) return fail_window(window, MPI_ERR_RANK);
    if (!window->locks[rank]) return fail_window(window, MPI_ERR_RMA_SYNC);
    enter("MPI_Win_unlock");
    close_transfers(window, rank, false);
    settle();
    release(window, rank);
    window->locks[rank] = 0;
    window->lock_count--;
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_Win_lock_all(int assert, MPI_Win win) {
    WINDOW_OR_FAIL(window, win);
    if (assert & ~MPI_MODE_NOCHECK) return fail_window(window, MPI_ERR_ASSERT);
    if (window->is_all_locked || window->lock_count > 0 || window->accessed || !leaves_fence(window))
        return fail_window(window, MPI_ERR_RMA_SYNC);
    enter("MPI_Win_lock_all");
    settle();
    for (int target = 0; target < size_of(window->communicator); target++) acquire(window, target, MPI_LOCK_SHARED);
    window->is_all_locked = true;
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_Win_unlock_all(MPI_Win win) {
    WINDOW_OR_FAIL(window, win);
    if (!window->is_all_locked) return fail_window(window, MPI_ERR_RMA_SYNC);
    enter("MPI_Win_unlock_all");
    close_transfers(window, NONE, false);
    settle();
    for (int target = 0; target < size_of(window->communicator); target++) release(window, target);
    window->is_all_locked = false;
    return leave_with(MPI_SUCCESS);
}

// ---- flushes: a transfer is over on both sides at once

static int flush(const char *name, MPI_Win win, int target) {
    WINDOW_OR_FAIL(window, win);
    if (target != NONE && (target < 0 || target >= size_of(window->communicator)))
        return fail_window(window, MPI_ERR_RANK);
    if (!window->is_all_locked && !(target == NONE ? window->lock_count > 0 : window->locks[target]))
        return fail_window(window, MPI_ERR_RMA_SYNC);
    enter(name);
    close_transfers(window, target, strstr(name, "_local") != NULL);
    settle();
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_Win_flush(int rank, MPI_Win win) {
    return rank == NONE ? fail_window(window_of(win), MPI_ERR_RANK) : flush("MPI_Win_flush", win, rank);
}
EXPORT int MPI_Win_flush_local(int rank, MPI_Win win) {
    return rank == NONE ? fail_window(window_of(win), MPI_ERR_RANK) : flush("MPI_Win_flush_local", win, rank);
}
EXPORT int MPI_Win_flush_all(MPI_Win win) { return flush("MPI_Win_flush_all", win, NONE); }
EXPORT int MPI_Win_flush_local_all(MPI_Win win) { return flush("MPI_Win_flush_local_all", win, NONE); }

// Memory is shared, so nothing is copied; a loop that polls for a store of another rank takes time.
EXPORT int MPI_Win_sync(MPI_Win win) {
    WINDOW_OR_FAIL(window, win);
    enter("MPI_Win_sync");
    before_poll();
    settle();
    after_poll(false);
    find_stores(window);
    learn(window->shared->members[0].atomic_clock);
    hand_to(&window->shared->members[0].atomic_clock);
    return leave_with(MPI_SUCCESS);
}

// ---- epochs of groups

static bool is_within(const struct window *window, const struct group *group) {
    for (int i = 0; i < group->size; i++)
        if (rank_in(window->communicator->group, group->ranks[i]) == NONE) return false;
    return true;
}

EXPORT int MPI_Win_post(MPI_Group handle, int assert, MPI_Win win) {
    WINDOW_OR_FAIL(window, win);
    struct group *group = group_of(handle);
    if (group == NULL || !is_within(window, group)) return fail_window(window, MPI_ERR_GROUP);
    if (assert & ~(MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT)) return fail_window(window, MPI_ERR_ASSERT);
    if (window->exposed != NULL) return fail_window(window, MPI_ERR_RMA_SYNC);
    enter("MPI_Win_post");
    find_stores(window);
    hand_to(&window->shared->members[window->communicator->rank].post_clock);
    window->exposed = keep_group(group);
    window->completions = allocate(sizeof(int) * (size_t)(group->size + 1));
    for (int i = 0; i < group->size; i++) {
        window->completions[i] = next_name();
        act(IRECV, group->ranks[i], window_tag(window, A_COMPLETION), window->completions[i], -1.0);
        if (!(assert &MPI_MODE_NOCHECK)) act(ISEND, group->ranks[i], window_tag(window, A_POST), NONE, 0.0);
    }
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_Win_start(MPI_Group handle, int assert, MPI_Win win) {
    WINDOW_OR_FAIL(window, win);
    struct group *group = group_of(handle);
    if (group == NULL || !is_within(window, group)) return fail_window(window, MPI_ERR_GROUP);
    if (assert & ~MPI_MODE_NOCHECK) return fail_window(window, MPI_ERR_ASSERT);
    if (window->accessed || window->is_all_locked || window->lock_count > 0 || !leaves_fence(window))
        return fail_window(window, MPI_ERR_RMA_SYNC);
    enter("MPI_Win_start");
    for (int i = 0; i < group->size && !(assert &MPI_MODE_NOCHECK); i++)
        receive_signal(group->ranks[i], window_tag(window, A_POST));
    settle();
    for (int i = 0; i < group->size; i++)
        learn(window->shared->members[rank_in(window->communicator->group, group->ranks[i])].post_clock);
    window->accessed = keep_group(group);
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_Win_complete(MPI_Win win) {
    WINDOW_OR_FAIL(window, win);
    if (window->accessed == NULL) return fail_window(window, MPI_ERR_RMA_SYNC);
    enter("MPI_Win_complete");
    close_transfers(window, NONE, false);
    hand_to(&window->shared->members[window->communicator->rank].completion_clock);
    const struct group *group = window->accessed;
    for (int i = 0; i < group->size; i++) act(ISEND, group->ranks[i], window_tag(window, A_COMPLETION), NONE, 0.0);
    drop_group(window->accessed);
    window->accessed = NULL;
    return leave_with(MPI_SUCCESS);
}

static void end_exposure(struct window *window) {
    await_named(window->exposed->size, window->completions);
    settle();
    find_stores(window);
    for (int i = 0; i < window->exposed->size; i++)
        learn(
            window->shared->members[rank_in(window->communicator->group, window->exposed->ranks[i])].completion_clock);
    drop_group(window->exposed);
    window->exposed = NULL;
    free(window->completions);
}

EXPORT int MPI_Win_wait(MPI_Win win) {
    WINDOW_OR_FAIL(window, win);
    if (window->exposed == NULL) return fail_window(window, MPI_ERR_RMA_SYNC);
    enter("MPI_Win_wait");
    end_exposure(window);
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_Win_test(MPI_Win win, int *flag) {
    WINDOW_OR_FAIL(window, win);
    if (window->exposed == NULL) return fail_window(window, MPI_ERR_RMA_SYNC);
    enter("MPI_Win_test");
    bool *const done = allocate(sizeof(bool) * (size_t)(window->exposed->size + 1));
    before_poll();
    ask_done(window->exposed->size, window->completions, done);
    *flag = 1;
    for (int i = 0; i < window->exposed->size; i++) *flag &= done[i];
    free(done);
    after_poll(*flag);
    if (*flag) end_exposure(window);
    return leave_with(MPI_SUCCESS);
}
