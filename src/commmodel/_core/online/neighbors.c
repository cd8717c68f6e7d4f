// Collectives of neighbours in a topology.
#include "exchange.h"

int neighbor_collective(const struct arguments *arguments) { missing(arguments->name); }
int request_neighbor_collective(const struct arguments *arguments, MPI_Request *request, bool is_persistent) {
    (void)request;
    (void)is_persistent;
    missing(arguments->name);
}
