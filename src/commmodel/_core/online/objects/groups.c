// Groups of ranks.
#include "online/objects/groups.h"

#include "online/objects/errors.h"
#include "online/objects/handles.h"
#include "online/runtime/allocation.h"
#include "online/runtime/turns.h"

static struct group empty = {0, 1 << 30};

struct group *new_group(int size) {
    struct group *group = allocate(sizeof *group + sizeof(int) * (size_t)size);
    group->size = size;
    group->references = 1;
    return group;
}

struct group *keep_group(struct group *group) {
    group->references++;
    return group;
}

void drop_group(struct group *group) {
    if (group != NULL && --group->references == 0) free(group);
}

int rank_in(const struct group *group, int rank) {
    if (rank >= 0 && rank < group->size && group->ranks[rank] == rank) return rank;
    for (int i = 0; i < group->size; i++)
        if (group->ranks[i] == rank) return i;
    return NONE;
}

MPI_Group group_handle(struct group *group) {
    if (group->size == 0) {
        drop_group(group);
        return MPI_GROUP_EMPTY;
    }
    return new_handle(GROUP, group);
}

struct group *group_of(MPI_Group handle) { return handle == MPI_GROUP_EMPTY ? &empty : object_of(GROUP, handle); }

#define GROUP_OR_FAIL(name, handle)        \
    struct group *name = group_of(handle); \
    if (name == NULL) return fail_world(MPI_ERR_GROUP)

EXPORT int MPI_Group_size(MPI_Group handle, int *size) {
    GROUP_OR_FAIL(group, handle);
    *size = group->size;
    return MPI_SUCCESS;
}

EXPORT int MPI_Group_rank(MPI_Group handle, int *rank) {
    GROUP_OR_FAIL(group, handle);
    const int position = rank_in(group, my_rank);
    *rank = position == NONE ? MPI_UNDEFINED : position;
    return MPI_SUCCESS;
}

EXPORT int MPI_Group_free(MPI_Group *handle) {
    GROUP_OR_FAIL(group, *handle);
    if (*handle != MPI_GROUP_EMPTY) {
        drop_handle(GROUP, *handle);
        drop_group(group);
    }
    *handle = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

EXPORT int MPI_Group_translate_ranks(MPI_Group handle1, int n, const int ranks1[], MPI_Group handle2, int ranks2[]) {
    GROUP_OR_FAIL(from, handle1);
    GROUP_OR_FAIL(to, handle2);
    if (n < 0) return fail_world(MPI_ERR_ARG);
    for (int i = 0; i < n; i++) {
        if (ranks1[i] == MPI_PROC_NULL) {
            ranks2[i] = MPI_PROC_NULL;
            continue;
        }
        if (ranks1[i] < 0 || ranks1[i] >= from->size) return fail_world(MPI_ERR_RANK);
        const int position = rank_in(to, from->ranks[ranks1[i]]);
        ranks2[i] = position == NONE ? MPI_UNDEFINED : position;
    }
    return MPI_SUCCESS;
}

int compare_groups(const struct group *first, const struct group *second) {
    if (first->size != second->size) return MPI_UNEQUAL;
    bool is_identical = true;
    for (int i = 0; i < first->size; i++) {
        if (rank_in(second, first->ranks[i]) == NONE) return MPI_UNEQUAL;
        is_identical &= first->ranks[i] == second->ranks[i];
    }
    return is_identical ? MPI_IDENT : MPI_SIMILAR;
}

EXPORT int MPI_Group_compare(MPI_Group handle1, MPI_Group handle2, int *result) {
    GROUP_OR_FAIL(first, handle1);
    GROUP_OR_FAIL(second, handle2);
    *result = compare_groups(first, second);
    return MPI_SUCCESS;
}

// The ranks of `first` that are in `second`, or those that are not, after `before`.
static struct group *select_ranks(const struct group *before, const struct group *first, const struct group *second,
                                  bool in) {
    struct group *result = new_group((before ? before->size : 0) + first->size);
    result->size = 0;
    for (int i = 0; before != NULL && i < before->size; i++) result->ranks[result->size++] = before->ranks[i];
    for (int i = 0; i < first->size; i++)
        if ((rank_in(second, first->ranks[i]) != NONE) == in) result->ranks[result->size++] = first->ranks[i];
    return result;
}

EXPORT int MPI_Group_union(MPI_Group handle1, MPI_Group handle2, MPI_Group *newgroup) {
    GROUP_OR_FAIL(first, handle1);
    GROUP_OR_FAIL(second, handle2);
    *newgroup = group_handle(select_ranks(first, second, first, false));
    return MPI_SUCCESS;
}

EXPORT int MPI_Group_intersection(MPI_Group handle1, MPI_Group handle2, MPI_Group *newgroup) {
    GROUP_OR_FAIL(first, handle1);
    GROUP_OR_FAIL(second, handle2);
    *newgroup = group_handle(select_ranks(NULL, first, second, true));
    return MPI_SUCCESS;
}

EXPORT int MPI_Group_difference(MPI_Group handle1, MPI_Group handle2, MPI_Group *newgroup) {
    GROUP_OR_FAIL(first, handle1);
    GROUP_OR_FAIL(second, handle2);
    *newgroup = group_handle(select_ranks(NULL, first, second, false));
    return MPI_SUCCESS;
}

EXPORT int MPI_Group_incl(MPI_Group handle, int n, const int ranks[], MPI_Group *newgroup) {
    GROUP_OR_FAIL(group, handle);
    if (n < 0) return fail_world(MPI_ERR_ARG);
    struct group *result = new_group(n);
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= group->size) {
            drop_group(result);
            return fail_world(MPI_ERR_RANK);
        }
        result->ranks[i] = group->ranks[ranks[i]];
    }
    *newgroup = group_handle(result);
    return MPI_SUCCESS;
}

EXPORT int MPI_Group_excl(MPI_Group handle, int n, const int ranks[], MPI_Group *newgroup) {
    GROUP_OR_FAIL(group, handle);
    if (n < 0) return fail_world(MPI_ERR_ARG);
    struct group *result = new_group(group->size);
    result->size = 0;
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= group->size) {
            drop_group(result);
            return fail_world(MPI_ERR_RANK);
        }
    }
    for (int i = 0; i < group->size; i++) {
        bool excluded = false;
        for (int j = 0; j < n; j++) excluded |= ranks[j] == i;
        if (!excluded) result->ranks[result->size++] = group->ranks[i];
    }
    *newgroup = group_handle(result);
    return MPI_SUCCESS;
}

// The ranks of (first, last, stride) triples; NULL where one is out of range.
static int *list_ranks(const struct group *group, int n, int ranges[][3], int *count) {
    int room = 16, *ranks = allocate(sizeof(int) * (size_t)room);
    *count = 0;
    for (int i = 0; i < n; i++) {
        const int first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
        if (stride == 0 || first < 0 || first >= group->size || last < 0 || last >= group->size) {
            free(ranks);
            return NULL;
        }
        for (int rank = first; stride > 0 ? rank <= last : rank >= last; rank += stride) {
            if (*count == room) ranks = reallocate(ranks, sizeof(int) * (size_t)(room *= 2));
            ranks[(*count)++] = rank;
        }
    }
    return ranks;
}

EXPORT int MPI_Group_range_incl(MPI_Group handle, int n, int ranges[][3], MPI_Group *newgroup) {
    GROUP_OR_FAIL(group, handle);
    int count, *ranks = list_ranks(group, n, ranges, &count);
    if (ranks == NULL) return fail_world(MPI_ERR_ARG);
    const int error = MPI_Group_incl(handle, count, ranks, newgroup);
    free(ranks);
    return error;
}

EXPORT int MPI_Group_range_excl(MPI_Group handle, int n, int ranges[][3], MPI_Group *newgroup) {
    GROUP_OR_FAIL(group, handle);
    int count, *ranks = list_ranks(group, n, ranges, &count);
    if (ranks == NULL) return fail_world(MPI_ERR_ARG);
    const int error = MPI_Group_excl(handle, count, ranks, newgroup);
    free(ranks);
    return error;
}
