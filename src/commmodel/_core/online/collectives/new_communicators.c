// Communicators that are made of others, and their end.
#include "online/collectives/collectives.h"
#include "online/collectives/exchange.h"
#include "online/messages/messages.h"
#include "online/objects/attributes.h"
#include "online/objects/info.h"
#include "online/objects/topologies.h"
#include "online/runtime/allocation.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

// Give a new communicator its handle; it takes over the groups.
static MPI_Comm build_communicator(struct communicator *parent, struct group *group, struct group *remote, int context,
                                   int number) {
    struct communicator *communicator = new_communicator(group, remote, context, number);
    communicator->errhandler = parent->errhandler;
    keep_errhandler(communicator->errhandler);
    communicator->is_of_session = parent->is_of_session;
    communicator->handle = new_handle(COMMUNICATOR, communicator);
    return communicator->handle;
}

static int fail_as_too_many(struct communicator *communicator) {
    explain_error(": more than %d communicators and windows at once", ONLINE_CONTEXTS - 2);
    return fail(communicator, MPI_ERR_OTHER);
}

static void all_of(struct communicator *communicator, const char *name, int numbers[2], int count) {
    const int size = size_of(communicator) + (communicator->remote ? communicator->remote->size : 0);
    int contribution = 0, *contributions = allocate(sizeof(int) * (size_t)size);
    gather_all(communicator, name, &contribution, sizeof contribution, contributions, numbers, count);
    free(contributions);
}

// Start an allreduce: the communicator can be used at once, its request completes when all ranks have called.
static void request_numbers(const char *name, MPI_Comm comm, MPI_Request *request, int numbers[2]) {
    static int64_t addend, sum;
    const struct arguments arguments = {.name = name,
                                        .verb = ALLREDUCE,
                                        .sendbuf = &addend,
                                        .recvbuf = &sum,
                                        .recvcount = 1,
                                        .recvtype = MPI_INT64_T,
                                        .op = MPI_SUM,
                                        .comm = comm};
    begin_collective(&arguments, request);
    make_numbers(((const struct collective *)request_of(*request)->state)->call, 1, numbers);
}

// `request`: NULL where all ranks are waited for.
static int duplicate(const char *name, MPI_Comm comm, MPI_Info info, bool has_info, MPI_Comm *newcomm,
                     MPI_Request *request) {
    COMMUNICATOR_OR_FAIL(communicator, comm);
    int numbers[2];
    request == NULL ? all_of(communicator, name, numbers, 1) : request_numbers(name, comm, request, numbers);
    *newcomm = MPI_COMM_NULL;
    if (numbers[0] == NONE && request != NULL) {
        ((struct collective *)request_of(*request)->state)->later_error = MPI_ERR_OTHER;
        return MPI_SUCCESS;
    }
    if (numbers[0] == NONE) return fail_as_too_many(communicator);
    struct attribute *attributes = NULL;
    const int error = copy_attributes(comm, communicator->attributes, &attributes);
    if (error != MPI_SUCCESS) return fail(communicator, error);
    *newcomm =
        build_communicator(communicator, keep_group(communicator->group),
                           communicator->remote ? keep_group(communicator->remote) : NULL, numbers[0], numbers[1]);
    struct communicator *copy = communicator_of(*newcomm);
    copy->attributes = attributes;
    copy->topology = keep_topology(communicator->topology);
    copy->info = has_info ? copy_hints(info) : copy_info(communicator->info);
    return MPI_SUCCESS;
}

EXPORT int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm) {
    return duplicate("MPI_Comm_dup", comm, MPI_INFO_NULL, false, newcomm, NULL);
}

EXPORT int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm) {
    return duplicate("MPI_Comm_dup_with_info", comm, info, true, newcomm, NULL);
}

EXPORT int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request) {
    return duplicate("MPI_Comm_idup", comm, MPI_INFO_NULL, false, newcomm, request);
}

EXPORT int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request) {
    return duplicate("MPI_Comm_idup_with_info", comm, info, true, newcomm, request);
}

struct choice {  // of a rank in MPI_Comm_split
    int color, key, rank, side;
};

static int by_key(const void *first, const void *second) {
    const struct choice *left = first, *right = second;
    if (left->key != right->key) return left->key < right->key ? -1 : 1;
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

// The ranks of a color on a side of a communicator, in order of their keys.
static struct group *members_of_color(const struct choice *contributions, int size, int color, int side,
                                      const struct group *whole) {
    struct choice *members = allocate(sizeof *members * (size_t)size);
    int count = 0;
    for (int i = 0; i < size; i++)
        if (contributions[i].color == color && contributions[i].side == side) members[count++] = contributions[i];
    qsort(members, (size_t)count, sizeof *members, by_key);
    struct group *group = new_group(count);
    for (int i = 0; i < count; i++) group->ranks[i] = whole->ranks[members[i].rank];
    free(members);
    return group;
}

static int split(const char *name, struct communicator *communicator, int color, int key, MPI_Comm *newcomm) {
    const struct group *remote = communicator->remote;
    const int size = size_of(communicator) + (remote ? remote->size : 0);
    const int side = remote != NULL && remote->ranks[0] < communicator->group->ranks[0];
    struct choice contribution = {color, key, communicator->rank, side},
                  *contributions = allocate(sizeof contribution * (size_t)size);
    int numbers[2];
    gather_all(communicator, name, &contribution, sizeof contribution, contributions, numbers, size);
    *newcomm = MPI_COMM_NULL;
    if (numbers[0] == NONE) {
        free(contributions);
        return fail_as_too_many(communicator);
    }
    struct group *group = NULL, *remote_group = NULL;
    if (color != MPI_UNDEFINED) {
        group = members_of_color(contributions, size, color, side, communicator->group);
        if (remote != NULL) remote_group = members_of_color(contributions, size, color, !side, remote);
    }
    if (group != NULL && (remote == NULL || remote_group->size > 0)) {
        int first = 0;  // first rank of this color: its position numbers the new communicator
        while (contributions[first].color != color) first++;
        *newcomm = build_communicator(communicator, group, remote_group, numbers[0], numbers[1] + first);
    } else {
        --world->contexts[numbers[0]];
        drop_group(group);
        drop_group(remote_group);
    }
    free(contributions);
    return MPI_SUCCESS;
}

EXPORT int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm) {
    COMMUNICATOR_OR_FAIL(communicator, comm);
    if (color < 0 && color != MPI_UNDEFINED) return fail(communicator, MPI_ERR_ARG);
    return split("MPI_Comm_split", communicator, color, key, newcomm);
}

static bool has_several_hosts(const struct group *group) {
    for (int i = 1; i < group->size; i++)
        if (world->rank[group->ranks[i]].host_number != world->rank[group->ranks[0]].host_number) return true;
    return false;
}

// Whether an info asks for ranks of one host: the platform knows no smaller parts of a machine.
static bool names_host(MPI_Info info) {
    char resource[32] = "";
    int is_named = 0;
    if (info != MPI_INFO_NULL) MPI_Info_get(info, "mpi_hw_resource_type", 31, resource, &is_named);
    return is_named && (strcmp(resource, "mpi_shared_memory") == 0 || strcmp(resource, "machine") == 0);
}

EXPORT int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm) {
    COMMUNICATOR_OR_FAIL(communicator, comm);
    bool by_host = false;
    switch (split_type) {
        case MPI_COMM_TYPE_SHARED: by_host = true; break;
        case MPI_COMM_TYPE_HW_GUIDED:
        case MPI_COMM_TYPE_RESOURCE_GUIDED: by_host = names_host(info); break;
        case MPI_COMM_TYPE_HW_UNGUIDED:
            by_host = has_several_hosts(communicator->group);
            if (by_host && info != MPI_INFO_NULL) MPI_Info_set(info, "mpi_hw_resource_type", "machine");
            break;
        case MPIX_COMM_TYPE_NEIGHBORHOOD:
        case MPI_UNDEFINED: break;
        default: return fail(communicator, MPI_ERR_ARG);
    }
    return split("MPI_Comm_split_type", communicator, by_host ? this_rank->host_number : MPI_UNDEFINED, key, newcomm);
}

EXPORT int MPI_Comm_create(MPI_Comm comm, MPI_Group handle, MPI_Comm *newcomm) {
    COMMUNICATOR_OR_FAIL(communicator, comm);
    struct group *group = group_of(handle);
    if (group == NULL) return fail(communicator, MPI_ERR_GROUP);
    const int position = rank_in(group, my_rank);
    if (communicator->remote ==
        NULL) {  // the call may create several disjoint groups: the first rank identifies a group
        for (int i = 0; i < group->size; i++)
            if (rank_in(communicator->group, group->ranks[i]) == NONE) return fail(communicator, MPI_ERR_GROUP);
    }
    const int color = position == NONE ? MPI_UNDEFINED : communicator->remote ? 0 : group->ranks[0];
    return split("MPI_Comm_create", communicator, color, position == NONE ? 0 : position, newcomm);
}

enum { OF_LEADERS = -3, OF_SIDE, FROM_GROUP };  // calls with a text

// A call of ranks that have no communicator yet; the list has it until all of them have come.
struct group_call {
    uint64_t next;
    int32_t number;  // of the new communicator
    int32_t arrival_count;
    uint64_t length;
    char name[];
};

// What a call is known by: its text and number, and its ranks in their order.
static char *name_of_call(const char *text, int64_t number, const struct group *group, size_t *length) {
    const size_t text_size = strlen(text) + 1, ranks_size = sizeof(int) * (size_t)group->size;
    *length = text_size + sizeof number + ranks_size;
    char *name = allocate(*length);
    memcpy(name, text, text_size);
    memcpy(name + text_size, &number, sizeof number);
    memcpy(name + text_size + sizeof number, group->ranks, ranks_size);
    return name;
}

// The number of the communicator that the ranks of a group make.
static int join_group_call(const char *text, int64_t number, const struct group *group) {
    size_t length;
    char *name = name_of_call(text, number, group, &length);
    struct group_call *call = NULL;
    uint64_t *link = &world->group_calls;
    for (; *link != 0; link = &call->next) {
        call = online_at(world, *link);
        if (call->length == length && memcmp(call->name, name, length) == 0) break;
    }
    const uint64_t offset = *link ? *link : allocate_shared(sizeof *call + length, "a communicator's group");
    call = online_at(world, offset);
    if (*link == 0) {
        *call = (struct group_call){.number = world->communicators++, .length = length};
        memcpy(call->name, name, length);
        *link = offset;
    }
    free(name);
    const int communicator_number = call->number;
    if (++call->arrival_count == group->size) {
        *link = call->next;
        online_free(world, offset);
    }
    return communicator_number;
}

// A communicator of a group, whose ranks alone call, with the same text and number.
static int of_group(const char *call, struct communicator *parent, struct group *group, const char *text,
                    int64_t number, MPI_Comm *newcomm) {
    *newcomm = MPI_COMM_NULL;
    if (rank_in(group, my_rank) == NONE) return MPI_SUCCESS;
    const bool is_held = hold_turn();
    const int communicator_number = join_group_call(text, number, group);
    release_turn(is_held);
    struct communicator *members = new_communicator(keep_group(group), NULL, 0, communicator_number);
    int numbers[2];
    all_of(members, call, numbers, 0);
    drop_communicator(members);
    if (numbers[0] == NONE) return fail_as_too_many(parent);
    *newcomm = build_communicator(parent, keep_group(group), NULL, numbers[0], communicator_number);
    return MPI_SUCCESS;
}

EXPORT int MPI_Comm_create_group(MPI_Comm comm, MPI_Group handle, int tag, MPI_Comm *newcomm) {
    COMMUNICATOR_OR_FAIL(communicator, comm);
    struct group *group = group_of(handle);
    if (group == NULL) return fail(communicator, MPI_ERR_GROUP);
    const int64_t number = (int64_t)communicator->number << 32 | (uint32_t)tag;
    return of_group("MPI_Comm_create_group", communicator, group, "", number, newcomm);
}

EXPORT int MPI_Comm_create_from_group(MPI_Group handle, const char *stringtag, MPI_Info info, MPI_Errhandler errhandler,
                                      MPI_Comm *newcomm) {
    static const char *const call = "MPI_Comm_create_from_group";
    struct group *group = group_of(handle);
    if (group == NULL) return fail_world(MPI_ERR_GROUP);
    const int error = of_group(call, communicator_of(MPI_COMM_WORLD), group, stringtag, FROM_GROUP, newcomm);
    if (error != MPI_SUCCESS || *newcomm == MPI_COMM_NULL) return error;
    communicator_of(*newcomm)->info = copy_hints(info);
    communicator_of(*newcomm)->is_of_session = true;
    return MPI_Comm_set_errhandler(*newcomm, errhandler);
}

// ---- between two groups

EXPORT int MPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag,
                                MPI_Comm *newintercomm) {
    COMMUNICATOR_OR_FAIL(local, local_comm);
    if (local_leader < 0 || local_leader >= size_of(local)) return fail(local, MPI_ERR_RANK);
    const int size = size_of(local);
    int heading[3] = {0, 0, 0};  // size of the other group, context and number
    struct group *remote;
    int *contributions = NULL;
    if (local->rank == local_leader) {
        MPI_Sendrecv(&size, 1, MPI_INT, remote_leader, tag, heading, 1, MPI_INT, remote_leader, tag, peer_comm,
                     MPI_STATUS_IGNORE);
        contributions = allocate(sizeof(int) * (size_t)(heading[0] + 2));
        MPI_Sendrecv(local->group->ranks, size, MPI_INT, remote_leader, tag, contributions, heading[0], MPI_INT,
                     remote_leader, tag, peer_comm, MPI_STATUS_IGNORE);
        if (local->group->ranks[0] < contributions[0]) {  // this side makes the numbers
            heading[1] = new_context(size + heading[0]);
            heading[2] = world->communicators++;
            MPI_Send(heading + 1, 2, MPI_INT, remote_leader, tag, peer_comm);
        } else {
            MPI_Recv(heading + 1, 2, MPI_INT, remote_leader, tag, peer_comm, MPI_STATUS_IGNORE);
        }
    }
    MPI_Bcast(heading, 3, MPI_INT, local_leader, local_comm);
    *newintercomm = MPI_COMM_NULL;
    if (heading[1] == NONE) {
        free(contributions);
        return fail_as_too_many(local);
    }
    remote = new_group(heading[0]);
    if (contributions != NULL) memcpy(remote->ranks, contributions, sizeof(int) * (size_t)heading[0]);
    free(contributions);
    MPI_Bcast(remote->ranks, heading[0], MPI_INT, local_leader, local_comm);
    *newintercomm = build_communicator(local, keep_group(local->group), remote, heading[1], heading[2]);
    return MPI_SUCCESS;
}

EXPORT int MPI_Intercomm_create_from_groups(MPI_Group local_group, int local_leader, MPI_Group remote_group,
                                            int remote_leader, const char *stringtag, MPI_Info info,
                                            MPI_Errhandler errhandler, MPI_Comm *newintercomm) {
    static const char *const call = "MPI_Intercomm_create_from_groups";
    struct communicator *parent = communicator_of(MPI_COMM_WORLD);
    struct group *local = group_of(local_group), *remote = group_of(remote_group);
    if (local == NULL || rank_in(local, my_rank) == NONE) return fail_world(MPI_ERR_GROUP);
    if (local_leader < 0 || local_leader >= local->size) return fail_world(MPI_ERR_RANK);
    const bool leads = local->ranks[local_leader] == my_rank;
    if (leads && remote == NULL) return fail_world(MPI_ERR_GROUP);
    if (leads && (remote_leader < 0 || remote_leader >= remote->size)) return fail_world(MPI_ERR_RANK);
    MPI_Comm side, leaders = MPI_COMM_NULL;
    int other = 0;
    int error = of_group(call, parent, local, stringtag, OF_SIDE, &side);
    if (error != MPI_SUCCESS) return error;
    if (leads) {
        struct group *pair = new_group(2);
        const int peer = remote->ranks[remote_leader];
        other = my_rank < peer;
        pair->ranks[!other] = my_rank;  // in the order of ranks
        pair->ranks[other] = peer;
        of_group(call, parent, pair, stringtag, OF_LEADERS, &leaders);
        drop_group(pair);
    }
    error = MPI_Intercomm_create(side, local_leader, leaders, other, 0, newintercomm);
    MPI_Comm_free(&side);
    if (leads) MPI_Comm_free(&leaders);
    if (error != MPI_SUCCESS) return error;
    communicator_of(*newintercomm)->info = copy_hints(info);
    return MPI_Comm_set_errhandler(*newintercomm, errhandler);
}

EXPORT int MPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newintracomm) {
    COMMUNICATOR_OR_FAIL(communicator, intercomm);
    if (communicator->remote == NULL) return fail(communicator, MPI_ERR_COMM);
    const int sizes[] = {size_of(communicator), communicator->remote->size}, size = sizes[0] + sizes[1];
    int *contributions = allocate(sizeof(int) * (size_t)size), numbers[2];
    gather_all(communicator, "MPI_Intercomm_merge", &high, sizeof high, contributions, numbers, 1);
    if (numbers[0] == NONE) {
        free(contributions);
        return fail_as_too_many(communicator);
    }
    const bool other_high = contributions[position_of(communicator, 0, true)] != 0, is_high = high != 0;
    const bool is_first =
        is_high != other_high ? !is_high : communicator->group->ranks[0] < communicator->remote->ranks[0];
    const struct group *order[] = {is_first ? communicator->group : communicator->remote,
                                   is_first ? communicator->remote : communicator->group};
    struct group *group = new_group(size);
    int at = 0;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < order[side]->size; i++) group->ranks[at++] = order[side]->ranks[i];
    free(contributions);
    *newintracomm = build_communicator(communicator, group, NULL, numbers[0], numbers[1]);
    return MPI_SUCCESS;
}

// ---- the end

// Whether messages on it are never received, as MPICH tells, too, below MPI_THREAD_MULTIPLE.
static bool has_unreceived(const struct communicator *communicator) {
    if (may_have_threads() || size_of(communicator) == 1) return false;
    const bool is_held = hold_turn();
    if (is_ahead()) yield();  // other ranks have sent what they send before
    const int count = unreceived_messages(communicator);
    release_turn(is_held);
    if (count > 0) explain_error(": %d message%s to this rank never received", count, count > 1 ? "s" : "");
    return count > 0;
}

EXPORT int MPI_Comm_free(MPI_Comm *comm) {
    COMMUNICATOR_OR_FAIL(communicator, *comm);
    if (*comm == MPI_COMM_WORLD || *comm == MPI_COMM_SELF) return fail(communicator, MPI_ERR_COMM);
    if (has_unreceived(communicator)) return fail(communicator, MPI_ERR_OTHER);
    const int error = delete_attributes(*comm, &communicator->attributes);
    if (error != MPI_SUCCESS) return fail(communicator, error);
    const bool is_held = hold_turn();
    drop_handle(COMMUNICATOR, *comm);
    drop_communicator(communicator);
    release_turn(is_held);
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

// As MPI_Comm_free, when all ranks have come.
EXPORT int MPI_Comm_disconnect(MPI_Comm *comm) {
    COMMUNICATOR_OR_FAIL(communicator, *comm);
    int numbers[2];
    all_of(communicator, "MPI_Comm_disconnect", numbers, 0);
    return MPI_Comm_free(comm);
}
