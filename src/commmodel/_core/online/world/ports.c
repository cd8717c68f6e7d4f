// Ports, at which two groups meet that share no communicator, and the names under which ports are published.
#include <unistd.h>

#include "online/collectives/exchange.h"
#include "online/objects/communicators.h"
#include "online/objects/handles.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

enum { CALLING, MEETING };  // tags of messages at a port

struct port {
    int rank, context, number;  // who opened it, of the communicator on which it is called
};

struct service {  // in a list
    uint64_t next;
    char words[];  // its name and its port
};

static const char PORT_FORMAT[] = "commmodel-port:%d:%d:%d";

static bool parse_port(const char *name, struct port *port) {
    return name != NULL && sscanf(name, PORT_FORMAT, &port->rank, &port->context, &port->number) == 3 &&
           port->context > 1 && port->context < ONLINE_CONTEXTS && world->contexts[port->context] > 0;
}

static int fail_port(struct communicator *communicator, const char *name) {
    explain_error(": %.100s is no open port", name);
    return fail(communicator, MPI_ERR_PORT);
}

// Hold the turn when other ranks have done what they do before.
static bool hold_turn_in_time(void) {
    const bool is_held = hold_turn();
    if (is_ahead()) yield();
    return is_held;
}

EXPORT int MPI_Open_port(MPI_Info info, char *port_name) {
    (void)info;
    const bool is_held = hold_turn_in_time();
    const struct port port = {my_rank, new_context(1), world->communicators++};
    release_turn(is_held);
    if (port.context == NONE) return fail_world(MPI_ERR_OTHER);
    snprintf(port_name, MPI_MAX_PORT_NAME, PORT_FORMAT, port.rank, port.context, port.number);
    return MPI_SUCCESS;
}

EXPORT int MPI_Close_port(const char *port_name) {
    struct port port;
    if (!parse_port(port_name, &port) || port.rank != my_rank)
        return fail_port(communicator_of(MPI_COMM_WORLD), port_name);
    const bool is_held = hold_turn_in_time();
    --world->contexts[port.context];
    release_turn(is_held);
    return MPI_SUCCESS;
}

// A communicator of all ranks on which a port is called.
static MPI_Comm line_to(const struct port *port) {
    struct group *all = new_group(world->ranks);
    for (int i = 0; i < all->size; i++) all->ranks[i] = i;
    const bool is_held = hold_turn();
    world->contexts[port->context]++;
    release_turn(is_held);
    struct communicator *line = new_communicator(all, NULL, port->context, port->number);
    return line->handle = new_handle(COMMUNICATOR, line);
}

static void hang_up(MPI_Comm line) {
    const bool is_held = hold_turn();
    struct communicator *communicator = communicator_of(line);
    drop_handle(COMMUNICATOR, line);
    drop_communicator(communicator);
    release_turn(is_held);
}

// The rank at the other end of the line: the next that calls, or the one that opened the port.
static int other_end(const struct port *port, MPI_Comm line, bool accepts) {
    enter(accepts ? "MPI_Comm_accept" : "MPI_Comm_connect");  // which a deadlock names
    char message;
    MPI_Status status = {.MPI_SOURCE = port->rank};
    accepts ? MPI_Recv(&message, 0, MPI_CHAR, MPI_ANY_SOURCE, CALLING, line, &status)
            : MPI_Ssend(&message, 0, MPI_CHAR, port->rank, CALLING, line);
    leave();
    return status.MPI_SOURCE;
}

static int meet(const char *port_name, int root, MPI_Comm comm, MPI_Comm *newcomm, bool accepts) {
    COMMUNICATOR_OR_FAIL(communicator, comm);
    if (communicator->remote != NULL) return fail(communicator, MPI_ERR_COMM);
    if (root < 0 || root >= size_of(communicator)) return fail(communicator, MPI_ERR_ROOT);
    struct port port;
    int is_open = communicator->rank == root && parse_port(port_name, &port) && (!accepts || port.rank == my_rank);
    MPI_Bcast(&is_open, 1, MPI_INT, root, comm);
    if (!is_open)
        return fail_port(communicator, communicator->rank != root ? "that of the root"
                                       : port_name == NULL        ? "a null pointer"
                                                                  : port_name);
    if (communicator->rank != root) return MPI_Intercomm_create(comm, root, MPI_COMM_NULL, 0, MEETING, newcomm);
    const MPI_Comm line = line_to(&port);
    const int other = other_end(&port, line, accepts);
    const int error = MPI_Intercomm_create(comm, root, line, other, MEETING, newcomm);
    hang_up(line);
    return error;
}

EXPORT int MPI_Comm_accept(const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm) {
    (void)info;
    return meet(port_name, root, comm, newcomm, true);
}

EXPORT int MPI_Comm_connect(const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm) {
    (void)info;
    return meet(port_name, root, comm, newcomm, false);
}

// ---- two ranks that share a socket

static bool is_exchanged(int fd, int *other) {
    size_t count = 0;
    if (write(fd, &my_rank, sizeof my_rank) != (ssize_t)sizeof my_rank) return false;
    while (count < sizeof *other) {
        const ssize_t bytes = read(fd, (char *)other + count, sizeof *other - count);
        if (bytes <= 0) return false;
        count += (size_t)bytes;
    }
    return *other >= 0 && *other < world->ranks && *other != my_rank;
}

EXPORT int MPI_Comm_join(int fd, MPI_Comm *intercomm) {
    int other;
    *intercomm = MPI_COMM_NULL;
    if (!is_exchanged(fd, &other)) {
        explain_error(": descriptor %d is no socket to another rank of the run", fd);
        return fail_world(MPI_ERR_ARG);
    }
    struct group *pair = new_group(2);
    const bool is_second = my_rank > other;
    pair->ranks[is_second] = my_rank;
    pair->ranks[!is_second] = other;
    MPI_Group handle = group_handle(pair);
    MPI_Comm line;
    int error = MPI_Comm_create_from_group(handle, "MPI_Comm_join", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &line);
    MPI_Group_free(&handle);
    if (error != MPI_SUCCESS) return error;
    error = MPI_Intercomm_create(MPI_COMM_SELF, 0, line, !is_second, MEETING, intercomm);
    MPI_Comm_free(&line);
    return error;
}

// ---- published names

static const char *port_of(const struct service *service) { return service->words + strlen(service->words) + 1; }

// The link in the list to a service; to the end where there is none.
static uint64_t *link_to(const char *name) {
    uint64_t *link = &world->services;
    while (*link != 0 && strcmp(((struct service *)online_at(world, *link))->words, name) != 0)
        link = &((struct service *)online_at(world, *link))->next;
    return link;
}

static int fail_service(const char *name, const char *words, int error) {
    explain_error(": %.100s is %s", name, words);
    return fail_world(error);
}

EXPORT int MPI_Publish_name(const char *service_name, MPI_Info info, const char *port_name) {
    (void)info;
    const bool is_held = hold_turn_in_time();
    uint64_t *link = link_to(service_name);
    const bool is_new = *link == 0;
    if (is_new) {
        const size_t length = strlen(service_name) + strlen(port_name) + 2;
        const uint64_t offset = allocate_shared(sizeof(struct service) + length, "a published name");
        struct service *service = online_at(world, offset);
        service->next = 0;
        strcpy(stpcpy(service->words, service_name) + 1, port_name);
        *link_to(service_name) = offset;
    }
    release_turn(is_held);
    return is_new ? MPI_SUCCESS : fail_service(service_name, "published already", MPI_ERR_SERVICE);
}

EXPORT int MPI_Unpublish_name(const char *service_name, MPI_Info info, const char *port_name) {
    (void)info;
    (void)port_name;
    const bool is_held = hold_turn_in_time();
    uint64_t *link = link_to(service_name);
    const uint64_t offset = *link;
    if (offset != 0) {
        *link = ((struct service *)online_at(world, offset))->next;
        online_free(world, offset);
    }
    release_turn(is_held);
    return offset != 0 ? MPI_SUCCESS : fail_service(service_name, "not published", MPI_ERR_SERVICE);
}

EXPORT int MPI_Lookup_name(const char *service_name, MPI_Info info, char *port_name) {
    (void)info;
    const bool is_held = hold_turn_in_time();
    const uint64_t offset = *link_to(service_name);
    if (offset != 0) snprintf(port_name, MPI_MAX_PORT_NAME, "%s", port_of(online_at(world, offset)));
    release_turn(is_held);
    return offset != 0 ? MPI_SUCCESS : fail_service(service_name, "not published", MPI_ERR_NAME);
}
