// Communicators.
#pragma once

#include "online/objects/errors.h"
#include "online/objects/groups.h"

struct topology;
struct attribute;

struct buffered {  // a send that may be incomplete
    int name;
    MPI_Count bytes;
};

struct buffer {     // of buffered sends
    void *address;  // NULL where there is none
    MPI_Count size;
    struct buffered *sends;
    int count, room;
};

struct communicator {
    MPI_Comm handle;
    int context, number, rank, references;
    struct group *group, *remote;  // remote: of an intercommunicator
    uint32_t collectives;          // blocking calls so far
    uint32_t request_count;        // non-blocking and persistent ones
    uint32_t step_count;           // of all of these, in a checked run
    int thread_count;              // that are in blocking collectives now
    bool defined;                  // whether the simulator knows its ranks
    bool is_of_session;            // made of a group
    struct topology *topology;
    struct attribute *attributes;
    struct buffer *buffer;  // attached, NULL where there is none
    MPI_Errhandler errhandler;
    MPI_Info info;
    char name[MPI_MAX_OBJECT_NAME];
};

struct communicator *communicator_of(MPI_Comm handle);
struct communicator *new_communicator(struct group *group, struct group *remote, int context, int number);
void keep_communicator(struct communicator *communicator);
void drop_communicator(struct communicator *communicator);
void drop_buffer(struct communicator *communicator);
void make_first_communicators(void);
void forget_first_communicators(void);
static inline int size_of(const struct communicator *communicator) { return communicator->group->size; }
static inline const struct group *peers(const struct communicator *communicator) {
    return communicator->remote ? communicator->remote : communicator->group;
}
static inline int world_rank(const struct communicator *communicator, int peer) {
    return peers(communicator)->ranks[peer];
}

#define COMMUNICATOR_OR_FAIL(name, handle)               \
    struct communicator *name = communicator_of(handle); \
    if (name == NULL) return fail_world(MPI_ERR_COMM)
