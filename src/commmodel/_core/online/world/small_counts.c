// Functions with small counts call those with large ones: lengths of their arrays, and wider copies.
#include "online/world/small_counts.h"

#include <limits.h>

#include "online/objects/communicators.h"
#include "online/objects/topologies.h"
#include "online/runtime/allocation.h"

static const struct topology *topology_of(MPI_Comm comm) {
    const struct communicator *communicator = communicator_of(comm);
    return communicator == NULL ? NULL : communicator->topology;
}

int in_degree_of(MPI_Comm comm) {
    const struct topology *topology = topology_of(comm);
    return topology ? topology->source_count : 0;
}

int out_degree_of(MPI_Comm comm) {
    const struct topology *topology = topology_of(comm);
    return topology ? topology->destination_count : 0;
}

int peers_of(MPI_Comm comm) {
    const struct communicator *communicator = communicator_of(comm);
    return communicator ? peers(communicator)->size : 0;
}
int size_of_communicator(MPI_Comm comm) {
    const struct communicator *communicator = communicator_of(comm);
    return communicator ? size_of(communicator) : 0;
}
int peers_at_root(MPI_Comm comm, int root) {
    const struct communicator *communicator = communicator_of(comm);
    if (communicator == NULL) return 0;
    const bool is_root = communicator->remote ? root == MPI_ROOT : root == communicator->rank;
    return is_root ? peers(communicator)->size : 0;
}
MPI_Count *widened_counts(const int *narrow, int length) {
    if (narrow == NULL) return NULL;
    MPI_Count *wide = allocate(sizeof(MPI_Count) * (size_t)(length + 1));
    for (int i = 0; i < length; i++) wide[i] = narrow[i];
    return wide;
}
MPI_Aint *widened_displacements(const int *narrow, int length) {
    if (narrow == NULL) return NULL;
    MPI_Aint *wide = allocate(sizeof(MPI_Aint) * (size_t)(length + 1));
    for (int i = 0; i < length; i++) wide[i] = narrow[i];
    return wide;
}
int narrowed(MPI_Count wide) { return wide > INT_MAX || wide < INT_MIN ? MPI_UNDEFINED : (int)wide; }
