// Topologies of communicators: Cartesian grids and graphs.
#include "online.h"

struct topology {
    int references;
};

struct topology *keep_topology(struct topology *topology) {
    if (topology != NULL) topology->references++;
    return topology;
}
void drop_topology(struct topology *topology) {
    if (topology != NULL && --topology->references == 0) free(topology);
}
int in_degree_of(MPI_Comm comm) { (void)comm; return 0; }
int out_degree_of(MPI_Comm comm) { (void)comm; return 0; }
