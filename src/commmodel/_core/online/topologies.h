// The topology of a communicator, as collectives of neighbours need it.
#pragma once

#include "online.h"

struct topology {
    int references;
    int kind;                             // MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH
    int source_count, destination_count;  // neighbours of this rank
    int *sources, *destinations, *source_weights, *destination_weights;
    bool is_weighted;
    int dimensions;  // of a grid; of a graph the number of nodes
    int *numbers;
};
