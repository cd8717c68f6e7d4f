// Numbers for the handles of MPI: communicators, requests, matched messages and windows.

#include "recorder.h"

#include <stdlib.h>
#include <string.h>

#include "table.h"

// Requests.

static struct table requests;
static uint64_t requests_made;

uint64_t request_made(MPI_Request request, unsigned flags) {
    if (request == MPI_REQUEST_NULL) return 0;
    put(&requests, (uintptr_t)request, ++requests_made, flags);
    return requests_made;
}

uint64_t request_of(MPI_Request request) {
    const struct node *node = look_up(&requests, (uintptr_t)request);
    return node == NULL ? 0 : node->number;
}

void request_started(MPI_Request request) {
    struct node *node = look_up(&requests, (uintptr_t)request);
    if (node != NULL) node->flags |= ACTIVE;
}

struct request request_taken(MPI_Request request) {
    struct node node = {0, 0, 0, 0};
    if (request != MPI_REQUEST_NULL) node = take(&requests, (uintptr_t)request);
    struct request result = {node.handle, node.number, node.flags};
    return result;
}

void request_kept(const struct request *request) {
    if (request->serial != 0) put(&requests, request->handle, request->serial, request->flags);
}

// Matched messages.

static struct table messages;
static uint64_t messages_made;

uint64_t message_made(MPI_Message message) {
    if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) return 0;
    put(&messages, (uintptr_t)message, ++messages_made, 0);
    return messages_made;
}

uint64_t message_taken(MPI_Message message) { return take(&messages, (uintptr_t)message).number; }

// Communicators.

static struct table communicators;
static struct communicator *communicator_table;  // by id; never freed: a rank makes few
static uint64_t ids, room;
static int world_size, *translated;  // as many ranks as the largest group had
static size_t translated_room;
static MPI_Group world;

enum { COMMUNICATOR_KINDS };

// The processes of a group as runs of ranks of the world, with the same step from each to the next.
static unsigned char *put_group(unsigned char *p, MPI_Group group, int size) {
    int *ranks = translated, *of_world = translated + size, runs = 0;
    for (int i = 0; i < size; i++) ranks[i] = i;
    if (size > 0) PMPI_Group_translate_ranks(group, size, ranks, world, of_world);
    for (int i = 0; i < size; i++)
        of_world[i] = of_world[i] == MPI_UNDEFINED ? world_size : of_world[i];  // a process outside the world
    for (int writing = 0; writing < 2; writing++) {                             // first count, then write
        p = writing ? put_unsigned(p, (uint64_t)runs) : p;
        for (int i = 0, next; i < size; i = next) {
            int step = i + 1 < size ? of_world[i + 1] - of_world[i] : 0;
            for (next = i + 1; next < size && of_world[next] - of_world[next - 1] == step; next++) {
            }
            if (next - i == 2 && step != 1)  // two that lie apart are no run
                next = i + 1;
            step = next - i == 1 ? 0 : step;
            if (writing) {
                p = put_unsigned(p, (uint64_t)of_world[i]);
                p = put_unsigned(put_signed(p, step), (uint64_t)(next - i));
            } else {
                runs++;
            }
        }
    }
    return p;
}

static int count_neighbours(MPI_Comm comm, struct communicator *communicator) {
    int topology = MPI_UNDEFINED, count = 0, weighted;
    PMPI_Topo_test(comm, &topology);
    switch (topology) {
        case MPI_CART:
            PMPI_Cartdim_get(comm, &count);
            communicator->sources = communicator->destinations = 2 * count;
            return CARTESIAN;
        case MPI_GRAPH:
            PMPI_Graph_neighbors_count(comm, communicator->rank, &count);
            communicator->sources = communicator->destinations = count;
            return GRAPH;
        case MPI_DIST_GRAPH:
            PMPI_Dist_graph_neighbors_count(comm, &communicator->sources, &communicator->destinations, &weighted);
            return DISTRIBUTED_GRAPH;
        default: return PLAIN;
    }
}

static void write_communicator(MPI_Comm comm, const struct communicator *communicator, uint64_t parent,
                               MPI_Comm members) {
    MPI_Group group, remote = MPI_GROUP_EMPTY;
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    int length, most = communicator->size > communicator->peers ? communicator->size : communicator->peers;
    if ((size_t)most * 2 > translated_room) {
        int *larger = realloc(translated, (size_t)most * 2 * sizeof *larger);
        if (larger == NULL) return;
        translated = larger;
        translated_room = (size_t)most * 2;
    }
    unsigned char *record =
        log_reserve(sizeof name + 64 + 30 * ((size_t)communicator->size + (size_t)communicator->peers));
    if (record == NULL) return;
    PMPI_Comm_get_name(comm, name, &length);
    unsigned char *p = put_unsigned(put_unsigned(record + 1, communicator->id), parent);
    p = put_text(put_unsigned(p, (uint64_t)communicator->kind), name);
    PMPI_Comm_group(members, &group);
    p = put_group(p, group, communicator->size);
    PMPI_Group_free(&group);
    if (communicator->inter) {
        PMPI_Comm_remote_group(members, &remote);
        p = put_group(p, remote, communicator->peers);
        PMPI_Group_free(&remote);
    } else {
        p = put_unsigned(p, 0);
    }
    log_commit(record, p, LOG_COMMUNICATOR);
}

// The neighbours of this process, from the first source on, then the destinations; 0 where they cannot be had.
static int list_neighbours(MPI_Comm comm, const struct communicator *communicator, int *neighbours) {
    int code = MPI_SUCCESS;
    switch (communicator->kind) {
        case CARTESIAN:
            for (int i = 0; i < communicator->sources && code == MPI_SUCCESS; i += 2)
                code = PMPI_Cart_shift(comm, i / 2, 1, &neighbours[i], &neighbours[i + 1]);
            break;
        case GRAPH: code = PMPI_Graph_neighbors(comm, communicator->rank, communicator->sources, neighbours); break;
        default: {  // weights are asked for, as not all libraries let them be ignored
            int *weights = neighbours + communicator->sources + communicator->destinations;
            return PMPI_Dist_graph_neighbors(comm, communicator->sources, neighbours, weights,
                                             communicator->destinations, neighbours + communicator->sources,
                                             weights + communicator->sources) == MPI_SUCCESS;
        }
    }
    memcpy(neighbours + communicator->sources, neighbours, (size_t)communicator->sources * sizeof *neighbours);
    return code == MPI_SUCCESS;
}

static void write_neighbours(MPI_Comm comm, const struct communicator *communicator) {
    size_t number = (size_t)communicator->sources + (size_t)communicator->destinations;
    int *neighbours = calloc(2 * number + 1, sizeof *neighbours);
    if (neighbours != NULL && list_neighbours(comm, communicator, neighbours)) {
        unsigned char *record = log_reserve(64 + 10 * number);
        unsigned char *p = record == NULL ? NULL : put_unsigned(record + 1, communicator->id);
        for (size_t i = 0; p != NULL && i <= number; i++) {
            p = i == 0 ? put_unsigned(p, (uint64_t)communicator->sources) : p;
            p = i == (size_t)communicator->sources ? put_unsigned(p, (uint64_t)communicator->destinations) : p;
            p = i == number ? p : put_signed(p, peer_number(neighbours[i]));
        }
        if (p != NULL) log_commit(record, p, LOG_NEIGHBOURS);
    }
    free(neighbours);
}

// A copy that is not complete (MPI_Comm_idup) must not be asked: its parent knows.
static struct communicator *add(MPI_Comm comm, uint64_t parent, MPI_Comm members) {
    if (ids + 1 >= room) {
        struct communicator *larger = realloc(communicator_table, (2 * room + 64) * sizeof *larger);
        if (larger == NULL) return NULL;
        communicator_table = larger;
        room = 2 * room + 64;
    }
    struct communicator *communicator = &communicator_table[++ids];
    memset(communicator, 0, sizeof *communicator);
    communicator->id = ids;
    PMPI_Comm_test_inter(members, &communicator->inter);
    PMPI_Comm_rank(members, &communicator->rank);
    PMPI_Comm_size(members, &communicator->size);
    communicator->peers = communicator->size;
    if (communicator->inter) {
        PMPI_Comm_remote_size(members, &communicator->peers);
        communicator->kind = INTER;
    } else {
        communicator->kind = count_neighbours(members, communicator);
    }
    put(&communicators, (uintptr_t)comm, communicator->id, 0);
    write_communicator(comm, communicator, parent, members);
    if (communicator->kind != PLAIN && communicator->kind != INTER) write_neighbours(members, communicator);
    return communicator;
}

const struct communicator *communicator_of(MPI_Comm comm) {
    static const struct communicator null;
    if (comm == MPI_COMM_NULL) return &null;
    const struct node *node = look_up(&communicators, (uintptr_t)comm);
    const struct communicator *communicator = node == NULL ? add(comm, 0, comm) : &communicator_table[node->number];
    return communicator == NULL ? &null : communicator;
}

uint64_t communicator_made(MPI_Comm comm, MPI_Comm parent, int is_copy) {
    if (comm == MPI_COMM_NULL) return 0;
    uint64_t of_parent = parent == MPI_COMM_NULL ? 0 : communicator_of(parent)->id;
    take(&communicators, (uintptr_t)comm);  // one whose end was not seen
    const struct communicator *communicator = add(comm, of_parent, is_copy ? parent : comm);
    return communicator == NULL ? 0 : communicator->id;
}

void communicator_renamed(MPI_Comm comm) {
    if (comm != MPI_COMM_NULL) write_communicator(comm, communicator_of(comm), 0, comm);
}

// Removed before MPI frees it: another thread may get the same handle at once.
uint64_t communicator_taken(MPI_Comm comm) {
    uint64_t id = communicator_of(comm)->id;
    take(&communicators, (uintptr_t)comm);
    return id;
}

void communicator_kept(MPI_Comm comm, uint64_t id) {
    if (id != 0) put(&communicators, (uintptr_t)comm, id, 0);
}

void handles_prepare(int processes) {
    world_size = processes;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    communicator_of(MPI_COMM_WORLD);  // 1
    communicator_of(MPI_COMM_SELF);   // 2
}

// Windows.

static struct table windows;
static uint64_t windows_made;

uint64_t window_made(MPI_Win win, uint64_t communicator, uint64_t size, uint64_t displacement_unit) {
    if (win == MPI_WIN_NULL) return 0;
    put(&windows, (uintptr_t)win, ++windows_made, 0);
    unsigned char *record = log_reserve(64);
    if (record != NULL) {
        unsigned char *p = put_unsigned(put_unsigned(record + 1, windows_made), communicator);
        log_commit(record, put_unsigned(put_unsigned(p, size), displacement_unit), LOG_WINDOW);
    }
    return windows_made;
}

uint64_t window_of(MPI_Win win) {
    const struct node *node = look_up(&windows, (uintptr_t)win);
    return node == NULL ? 0 : node->number;
}

uint64_t window_taken(MPI_Win win) { return take(&windows, (uintptr_t)win).number; }

void window_kept(MPI_Win win, uint64_t number) {
    if (number != 0) put(&windows, (uintptr_t)win, number, 0);
}

// Reduction operations.

unsigned operation_number(MPI_Op op) {
    const MPI_Op numbered[] = {MPI_OP_NULL, MPI_MAX,  MPI_MIN,  MPI_SUM,    MPI_PROD,   MPI_LAND,    MPI_BAND, MPI_LOR,
                               MPI_BOR,     MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP};
    enum { COUNT = sizeof numbered / sizeof *numbered };
    unsigned i = 0;
    while (i < COUNT && numbered[i] != op) i++;
    return i;  // the user's: the number after the last
}

unsigned operation_flags(MPI_Op op) {
    enum { USERS = 15 };  // numbers of operation_number
    int commutes = 1;
    if (operation_number(op) < USERS || PMPI_Op_commutative(op, &commutes) != MPI_SUCCESS) return 0;
    return commutes ? OF_USER : OF_USER | ORDERED;
}
