// Communicators: what they are, and the first ones.
#include "online/objects/communicators.h"

#include "online/objects/families.h"
#include "online/objects/topologies.h"
#include "online/runtime/allocation.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

struct communicator *communicator_of(MPI_Comm handle) { return object_of(COMMUNICATOR, handle); }

struct communicator *new_communicator(struct group *group, struct group *remote, int context, int number) {
    struct communicator *communicator = allocate_zeroed(1, sizeof *communicator);
    communicator->group = group;
    communicator->remote = remote;
    communicator->context = context;
    communicator->number = number;
    communicator->rank = rank_in(group, my_rank);
    communicator->references = 1;
    communicator->errhandler = MPI_ERRORS_ARE_FATAL;
    communicator->info = MPI_INFO_NULL;
    return communicator;
}

void keep_communicator(struct communicator *communicator) { communicator->references++; }

void drop_buffer(struct communicator *communicator) {
    if (communicator->buffer != NULL) free(communicator->buffer->sends);
    free(communicator->buffer);
    communicator->buffer = NULL;
}

void drop_communicator(struct communicator *communicator) {
    if (--communicator->references > 0) return;
    if (communicator->context > 1) --world->contexts[communicator->context];
    drop_group(communicator->group);
    drop_group(communicator->remote);
    drop_topology(communicator->topology);
    free_errhandler(communicator->errhandler);
    free_info(&communicator->info);
    drop_buffer(communicator);
    free(communicator);
}

static MPI_Comm parent = MPI_COMM_NULL;  // of a spawned rank

static MPI_Comm parents_of(const struct online_family *family, struct group *all) {
    struct group *parents = new_group(family->parent_count);
    memcpy(parents->ranks, family->parents, sizeof(int) * (size_t)family->parent_count);
    struct communicator *communicator =
        new_communicator(keep_group(all), parents, family->parent_context, family->parent_number);
    strcpy(communicator->name, "MPI_COMM_PARENT");
    return communicator->handle = new_handle(COMMUNICATOR, communicator);
}

void make_first_communicators(void) {
    const struct online_family *family = this_rank->family ? online_at(world, this_rank->family) : NULL;
    const int first = family ? family->first : 0, count = family ? family->count : world->first_ranks;
    struct group *all = new_group(count), *self = new_group(1);
    for (int i = 0; i < count; i++) all->ranks[i] = first + i;
    self->ranks[0] = my_rank;
    const int number = family ? family->world_number : world->first_ranks < world->ranks;  // 0 is of all ranks
    struct communicator *pair[] = {new_communicator(all, NULL, family ? family->world_context : 0, number),
                                   new_communicator(self, NULL, 1, -1 - my_rank)};
    if (family) parent = parents_of(family, all);
    pair[0]->handle = MPI_COMM_WORLD;
    pair[1]->handle = MPI_COMM_SELF;
    strcpy(pair[0]->name, "MPI_COMM_WORLD");
    strcpy(pair[1]->name, "MPI_COMM_SELF");
    world->contexts[1] = 1;
    set_handle(COMMUNICATOR, MPI_COMM_WORLD, pair[0]);
    set_handle(COMMUNICATOR, MPI_COMM_SELF, pair[1]);
}

// From now on, calls fail.
void forget_first_communicators(void) {
    set_handle(COMMUNICATOR, MPI_COMM_WORLD, NULL);
    set_handle(COMMUNICATOR, MPI_COMM_SELF, NULL);
}

// ---- what a communicator is

EXPORT int MPI_Comm_size(MPI_Comm comm, int *size) {
    COMMUNICATOR_OR_FAIL(communicator, comm);
    *size = size_of(communicator);
    return MPI_SUCCESS;
}

EXPORT int MPI_Comm_rank(MPI_Comm comm, int *rank) {
    COMMUNICATOR_OR_FAIL(communicator, comm);
    *rank = communicator->rank;
    return MPI_SUCCESS;
}

EXPORT int MPI_Comm_remote_size(MPI_Comm comm, int *size) {
    COMMUNICATOR_OR_FAIL(communicator, comm);
    if (communicator->remote == NULL) return fail(communicator, MPI_ERR_COMM);
    *size = communicator->remote->size;
    return MPI_SUCCESS;
}

EXPORT int MPI_Comm_test_inter(MPI_Comm comm, int *flag) {
    COMMUNICATOR_OR_FAIL(communicator, comm);
    *flag = communicator->remote != NULL;
    return MPI_SUCCESS;
}

EXPORT int MPI_Comm_group(MPI_Comm comm, MPI_Group *group) {
    COMMUNICATOR_OR_FAIL(communicator, comm);
    *group = group_handle(keep_group(communicator->group));
    return MPI_SUCCESS;
}

EXPORT int MPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group) {
    COMMUNICATOR_OR_FAIL(communicator, comm);
    if (communicator->remote == NULL) return fail(communicator, MPI_ERR_COMM);
    *group = group_handle(keep_group(communicator->remote));
    return MPI_SUCCESS;
}

EXPORT int MPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result) {
    COMMUNICATOR_OR_FAIL(first, comm1);
    COMMUNICATOR_OR_FAIL(second, comm2);
    *result = MPI_UNEQUAL;
    if ((first->remote == NULL) != (second->remote == NULL)) return MPI_SUCCESS;
    const int of_local = compare_groups(first->group, second->group);
    const int of_remote = first->remote == NULL ? MPI_IDENT : compare_groups(first->remote, second->remote);
    if (of_local != MPI_UNEQUAL && of_remote != MPI_UNEQUAL)
        *result = of_local == MPI_SIMILAR || of_remote == MPI_SIMILAR ? MPI_SIMILAR : MPI_CONGRUENT;
    if (comm1 == comm2) *result = MPI_IDENT;
    return MPI_SUCCESS;
}

NAME_FUNCTIONS(Comm, MPI_Comm, MPI_COMM_NULL, communicator, communicator_of, fail_world(MPI_ERR_COMM))
INFO_FUNCTIONS(Comm, MPI_Comm, communicator, communicator_of, fail_world(MPI_ERR_COMM), copy_hints)

EXPORT int MPI_Comm_get_parent(MPI_Comm *comm) {
    *comm = communicator_of(parent) != NULL ? parent : MPI_COMM_NULL;  // unless it has been freed
    return MPI_SUCCESS;
}
