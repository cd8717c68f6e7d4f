// Topologies of communicators, which their copies share.
#include "online/objects/topologies.h"

#include "online/runtime/allocation.h"

struct topology *new_topology(int kind, int sources, int destinations) {
    struct topology *topology = allocate_zeroed(1, sizeof *topology);
    topology->references = 1;
    topology->kind = kind;
    topology->source_count = sources;
    topology->destination_count = destinations;
    topology->sources = allocate_zeroed((size_t)(4 * sources + 4 * destinations + 4), sizeof(int));
    topology->destinations = topology->sources + sources;
    topology->source_weights = topology->destinations + destinations;
    topology->destination_weights = topology->source_weights + sources;
    return topology;
}

struct topology *keep_topology(struct topology *topology) {
    if (topology != NULL) topology->references++;
    return topology;
}

void drop_topology(struct topology *topology) {
    if (topology == NULL || --topology->references > 0) return;
    free(topology->sources);
    free(topology->numbers);
    free(topology);
}
