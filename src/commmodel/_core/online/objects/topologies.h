// The topology of a communicator: a Cartesian grid or a graph.
#pragma once

#include "online/online.h"

struct topology {
    int references;
    int kind;                             // MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH
    int source_count, destination_count;  // neighbours of this rank
    int *sources, *destinations, *source_weights, *destination_weights;
    bool is_weighted;
    int dimensions;  // of a grid; of a graph the number of nodes
    int *numbers;
};

struct topology *new_topology(int kind, int sources, int destinations);
struct topology *keep_topology(struct topology *topology);
void drop_topology(struct topology *topology);
