// Topologies of communicators: Cartesian grids and graphs.
#include <limits.h>
#include <math.h>

#include "online/objects/communicators.h"
#include "online/objects/topologies.h"
#include "online/runtime/allocation.h"

static const struct topology *topology_of(MPI_Comm comm) {
    const struct communicator *communicator = communicator_of(comm);
    return communicator == NULL ? NULL : communicator->topology;
}

EXPORT int MPI_Topo_test(MPI_Comm comm, int *status) {
    if (communicator_of(comm) == NULL) return fail_world(MPI_ERR_COMM);
    const struct topology *topology = topology_of(comm);
    *status = topology ? topology->kind : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

#define TOPOLOGY_OR_FAIL(name, comm, topology_kind)       \
    COMMUNICATOR_OR_FAIL(communicator, comm);             \
    const struct topology *name = communicator->topology; \
    if (name == NULL || name->kind != (topology_kind)) return fail(communicator, MPI_ERR_TOPOLOGY)

// A communicator of the first ranks; MPI_COMM_NULL on the others.
static int first_ranks(struct communicator *communicator, int count, MPI_Comm *newcomm) {
    const int color = communicator->rank < count ? 0 : MPI_UNDEFINED;
    return MPI_Comm_split(communicator->handle, color, communicator->rank, newcomm);
}

// ---- grids: numbers are the dimensions, whether they are periodic, and this rank's place

static int place_of(const struct topology *grid, const int *coordinates) {  // MPI_PROC_NULL outside
    int rank = 0;
    for (int i = 0; i < grid->dimensions; i++) {
        const int size = grid->numbers[i];
        int position = coordinates[i];
        if (position < 0 || position >= size) {
            if (!grid->numbers[grid->dimensions + i]) return MPI_PROC_NULL;
            position = (position % size + size) % size;
        }
        rank = rank * size + position;
    }
    return rank;
}

static void coordinates_of(const struct topology *grid, int rank, int *coordinates) {
    for (int i = grid->dimensions - 1; i >= 0; i--) {
        coordinates[i] = rank % grid->numbers[i];
        rank /= grid->numbers[i];
    }
}

static void shift(const struct topology *grid, int rank, int dimension, int distance, int *neighbor) {
    int *coordinates = allocate(sizeof(int) * (size_t)(grid->dimensions + 1));
    coordinates_of(grid, rank, coordinates);
    coordinates[dimension] += distance;
    *neighbor = place_of(grid, coordinates);
    free(coordinates);
}

static struct topology *new_grid(int rank, int dimensions, const int *sizes, const int *periodic) {
    struct topology *grid = new_topology(MPI_CART, 2 * dimensions, 2 * dimensions);
    grid->dimensions = dimensions;
    grid->numbers = allocate(sizeof(int) * (size_t)(2 * dimensions + 1));
    for (int i = 0; i < dimensions; i++) {
        grid->numbers[i] = sizes[i];
        grid->numbers[dimensions + i] = periodic[i] != 0;
    }
    for (int i = 0; i < dimensions; i++) {
        shift(grid, rank, i, -1, &grid->sources[2 * i]);
        shift(grid, rank, i, 1, &grid->sources[2 * i + 1]);
    }
    memcpy(grid->destinations, grid->sources, sizeof(int) * 2 * (size_t)dimensions);
    return grid;
}

EXPORT int MPI_Cart_create(MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder,
                           MPI_Comm *newcomm) {
    (void)reorder;
    COMMUNICATOR_OR_FAIL(communicator, comm);
    *newcomm = MPI_COMM_NULL;
    if (communicator->remote != NULL) return fail(communicator, MPI_ERR_COMM);
    if (ndims < 0) return fail(communicator, MPI_ERR_DIMS);
    int count = 1;
    for (int i = 0; i < ndims; i++) {
        if (dims[i] < 1) return fail(communicator, MPI_ERR_DIMS);
        count *= dims[i];
    }
    if (count > size_of(communicator)) return fail(communicator, MPI_ERR_DIMS);
    const int error = first_ranks(communicator, count, newcomm);
    if (error != MPI_SUCCESS || *newcomm == MPI_COMM_NULL) return error;
    struct communicator *communicator_copy = communicator_of(*newcomm);
    communicator_copy->topology = new_grid(communicator_copy->rank, ndims, dims, periods);
    return MPI_SUCCESS;
}

EXPORT int MPI_Cartdim_get(MPI_Comm comm, int *ndims) {
    TOPOLOGY_OR_FAIL(grid, comm, MPI_CART);
    *ndims = grid->dimensions;
    return MPI_SUCCESS;
}

EXPORT int MPI_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]) {
    TOPOLOGY_OR_FAIL(grid, comm, MPI_CART);
    if (maxdims < grid->dimensions) return fail(communicator, MPI_ERR_ARG);
    memcpy(dims, grid->numbers, sizeof(int) * (size_t)grid->dimensions);
    memcpy(periods, grid->numbers + grid->dimensions, sizeof(int) * (size_t)grid->dimensions);
    coordinates_of(grid, communicator->rank, coords);
    return MPI_SUCCESS;
}

EXPORT int MPI_Cart_rank(MPI_Comm comm, const int coords[], int *rank) {
    TOPOLOGY_OR_FAIL(grid, comm, MPI_CART);
    *rank = place_of(grid, coords);
    return *rank == MPI_PROC_NULL ? fail(communicator, MPI_ERR_ARG) : MPI_SUCCESS;
}

EXPORT int MPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[]) {
    TOPOLOGY_OR_FAIL(grid, comm, MPI_CART);
    if (rank < 0 || rank >= size_of(communicator)) return fail(communicator, MPI_ERR_RANK);
    if (maxdims < grid->dimensions) return fail(communicator, MPI_ERR_ARG);
    coordinates_of(grid, rank, coords);
    return MPI_SUCCESS;
}

EXPORT int MPI_Cart_shift(MPI_Comm comm, int direction, int disp, int *source, int *dest) {
    TOPOLOGY_OR_FAIL(grid, comm, MPI_CART);
    if (direction < 0 || direction >= grid->dimensions) return fail(communicator, MPI_ERR_ARG);
    shift(grid, communicator->rank, direction, -disp, source);
    shift(grid, communicator->rank, direction, disp, dest);
    return MPI_SUCCESS;
}

EXPORT int MPI_Cart_sub(MPI_Comm comm, const int remain[], MPI_Comm *newcomm) {
    TOPOLOGY_OR_FAIL(grid, comm, MPI_CART);
    const int dimensions = grid->dimensions;
    int *numbers = allocate(sizeof(int) * (size_t)(3 * dimensions + 1));
    int *coordinates = numbers, *sizes = numbers + dimensions, *periodic = sizes + dimensions;
    coordinates_of(grid, communicator->rank, coordinates);
    int color = 0, key = 0, dimension_count = 0;
    for (int i = 0; i < dimensions; i++) {
        if (remain[i]) {
            key = key * grid->numbers[i] + coordinates[i];
            sizes[dimension_count] = grid->numbers[i];
            periodic[dimension_count++] = grid->numbers[dimensions + i];
        } else {
            color = color * grid->numbers[i] + coordinates[i];
        }
    }
    const int error = MPI_Comm_split(comm, color, key, newcomm);
    if (error == MPI_SUCCESS) {
        struct communicator *communicator_copy = communicator_of(*newcomm);
        communicator_copy->topology = new_grid(communicator_copy->rank, dimension_count, sizes, periodic);
    }
    free(numbers);
    return error;
}

EXPORT int MPI_Cart_map(MPI_Comm comm, int ndims, const int dims[], const int periods[], int *newrank) {
    (void)periods;
    COMMUNICATOR_OR_FAIL(communicator, comm);
    int count = 1;
    for (int i = 0; i < ndims; i++) count *= dims[i];
    if (ndims < 0 || count < 1 || count > size_of(communicator)) return fail(communicator, MPI_ERR_DIMS);
    *newrank = communicator->rank < count ? communicator->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

// A number divided into dimensions in falling order: the greatest as near to the least as possible, the last large.
struct division {
    int count, gap, divisor_count;
    int *dimensions, *best, *divisors;
};

static int by_size(const void *first, const void *second) { return *(const int *)first - *(const int *)second; }

static void list_divisors(struct division *division, int number) {
    division->divisors = allocate(sizeof(int) * 4096);  // more than any 32-bit number has
    division->divisor_count = 0;
    for (int factor = 1; (long)factor * factor <= number; factor++) {
        if (number % factor != 0) continue;
        division->divisors[division->divisor_count++] = factor;
        if (factor != number / factor) division->divisors[division->divisor_count++] = number / factor;
    }
    qsort(division->divisors, (size_t)division->divisor_count, sizeof(int), by_size);
}

// Try all factors for the dimensions from `position` on, whose product is `rest`.
static void divide(struct division *division, int position, int rest) {
    int *const dimensions = division->dimensions;
    const int largest = position == 0 ? rest : dimensions[position - 1], rest_count = division->count - position - 1;
    if (rest_count == 0) {
        if (rest > largest) return;
        dimensions[position] = rest;
        const int gap = dimensions[0] - rest;
        int position_of_difference = position;
        while (position_of_difference > 0 &&
               dimensions[position_of_difference] == division->best[position_of_difference])
            position_of_difference--;
        if (gap == division->gap && dimensions[position_of_difference] <= division->best[position_of_difference])
            return;
        if (gap > division->gap) return;
        division->gap = gap;
        memcpy(division->best, dimensions, sizeof(int) * (size_t)division->count);
        return;
    }
    for (int i = 0; i < division->divisor_count && division->divisors[i] <= largest; i++) {
        const int size = division->divisors[i];
        if (rest % size != 0 || pow(size, rest_count + 1) < 0.999 * rest) continue;  // the others are no greater
        const double last = pow((double)rest / size, 1.0 / rest_count);              // the least is no greater
        if ((position == 0 ? size : dimensions[0]) - last - 0.001 > division->gap) continue;
        dimensions[position] = size;
        divide(division, position + 1, rest / size);
    }
}

EXPORT int MPI_Dims_create(int nnodes, int ndims, int dims[]) {
    int rest = nnodes, open = 0;
    if (ndims < 0 || nnodes < 1) return fail_world(MPI_ERR_DIMS);
    for (int i = 0; i < ndims; i++) {
        if (dims[i] < 0) return fail_world(MPI_ERR_DIMS);
        if (dims[i] == 0)
            ++open;
        else if (rest % dims[i] == 0)
            rest /= dims[i];
        else
            return fail_world(MPI_ERR_DIMS);
    }
    if (open == 0) return rest == 1 || ndims == 0 ? MPI_SUCCESS : fail_world(MPI_ERR_DIMS);
    struct division division = {.count = open, .gap = INT_MAX};
    division.dimensions = allocate_zeroed(2 * (size_t)open, sizeof(int));
    division.best = division.dimensions + open;
    list_divisors(&division, rest);
    divide(&division, 0, rest);
    for (int i = 0, next = 0; i < ndims; i++)
        if (dims[i] == 0) dims[i] = division.best[next++];
    free(division.dimensions);
    free(division.divisors);
    return MPI_SUCCESS;
}

// ---- graphs: numbers are the index and the edges that the program gave

EXPORT int MPI_Graph_create(MPI_Comm comm, int nnodes, const int index[], const int edges[], int reorder,
                            MPI_Comm *newcomm) {
    (void)reorder;
    COMMUNICATOR_OR_FAIL(communicator, comm);
    if (nnodes < 0 || nnodes > size_of(communicator)) return fail(communicator, MPI_ERR_ARG);
    const int error = first_ranks(communicator, nnodes, newcomm);
    if (error != MPI_SUCCESS || *newcomm == MPI_COMM_NULL) return error;
    struct communicator *communicator_copy = communicator_of(*newcomm);
    const int begin = communicator_copy->rank ? index[communicator_copy->rank - 1] : 0,
              degree = index[communicator_copy->rank] - begin;
    const int edge_count = nnodes ? index[nnodes - 1] : 0;
    struct topology *graph = communicator_copy->topology = new_topology(MPI_GRAPH, degree, degree);
    memcpy(graph->sources, edges + begin, sizeof(int) * (size_t)degree);
    memcpy(graph->destinations, edges + begin, sizeof(int) * (size_t)degree);
    graph->dimensions = nnodes;
    graph->numbers = allocate(sizeof(int) * (size_t)(nnodes + edge_count + 1));
    memcpy(graph->numbers, index, sizeof(int) * (size_t)nnodes);
    memcpy(graph->numbers + nnodes, edges, sizeof(int) * (size_t)edge_count);
    return MPI_SUCCESS;
}

static int edges_of(const struct topology *graph) {
    return graph->dimensions ? graph->numbers[graph->dimensions - 1] : 0;
}

EXPORT int MPI_Graphdims_get(MPI_Comm comm, int *nnodes, int *nedges) {
    TOPOLOGY_OR_FAIL(graph, comm, MPI_GRAPH);
    *nnodes = graph->dimensions;
    *nedges = edges_of(graph);
    return MPI_SUCCESS;
}

EXPORT int MPI_Graph_get(MPI_Comm comm, int maxindex, int maxedges, int index[], int edges[]) {
    TOPOLOGY_OR_FAIL(graph, comm, MPI_GRAPH);
    if (maxindex < graph->dimensions || maxedges < edges_of(graph)) return fail(communicator, MPI_ERR_ARG);
    memcpy(index, graph->numbers, sizeof(int) * (size_t)graph->dimensions);
    memcpy(edges, graph->numbers + graph->dimensions, sizeof(int) * (size_t)edges_of(graph));
    return MPI_SUCCESS;
}

static int edges_from(const struct topology *graph, int rank, const int **edges) {
    const int begin = rank ? graph->numbers[rank - 1] : 0;
    *edges = graph->numbers + graph->dimensions + begin;
    return graph->numbers[rank] - begin;
}

EXPORT int MPI_Graph_neighbors_count(MPI_Comm comm, int rank, int *nneighbors) {
    TOPOLOGY_OR_FAIL(graph, comm, MPI_GRAPH);
    if (rank < 0 || rank >= size_of(communicator)) return fail(communicator, MPI_ERR_RANK);
    const int *edges;
    *nneighbors = edges_from(graph, rank, &edges);
    return MPI_SUCCESS;
}

EXPORT int MPI_Graph_neighbors(MPI_Comm comm, int rank, int maxneighbors, int neighbors[]) {
    TOPOLOGY_OR_FAIL(graph, comm, MPI_GRAPH);
    if (rank < 0 || rank >= size_of(communicator)) return fail(communicator, MPI_ERR_RANK);
    const int *edges;
    const int count = edges_from(graph, rank, &edges);
    if (maxneighbors < count) return fail(communicator, MPI_ERR_ARG);
    memcpy(neighbors, edges, sizeof(int) * (size_t)count);
    return MPI_SUCCESS;
}

EXPORT int MPI_Graph_map(MPI_Comm comm, int nnodes, const int index[], const int edges[], int *newrank) {
    (void)index, (void)edges;
    COMMUNICATOR_OR_FAIL(communicator, comm);
    if (nnodes < 1 || nnodes > size_of(communicator)) return fail(communicator, MPI_ERR_ARG);
    *newrank = communicator->rank < nnodes ? communicator->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

// ---- distributed graphs

static bool has_weights(const int weights[]) { return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY; }

EXPORT int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[], const int sourceweights[],
                                          int outdegree, const int destinations[], const int destweights[],
                                          MPI_Info info, int reorder, MPI_Comm *newcomm) {
    (void)info, (void)reorder;
    COMMUNICATOR_OR_FAIL(communicator, comm);
    if (indegree < 0 || outdegree < 0) return fail(communicator, MPI_ERR_ARG);
    const int error = first_ranks(communicator, size_of(communicator), newcomm);
    if (error != MPI_SUCCESS) return error;
    struct topology *graph = communicator_of(*newcomm)->topology = new_topology(MPI_DIST_GRAPH, indegree, outdegree);
    graph->is_weighted = sourceweights != MPI_UNWEIGHTED && destweights != MPI_UNWEIGHTED;
    for (int i = 0; i < indegree; i++) {
        graph->sources[i] = sources[i];
        graph->source_weights[i] = has_weights(sourceweights) ? sourceweights[i] : 1;
    }
    for (int i = 0; i < outdegree; i++) {
        graph->destinations[i] = destinations[i];
        graph->destination_weights[i] = has_weights(destweights) ? destweights[i] : 1;
    }
    return MPI_SUCCESS;
}

EXPORT int MPI_Dist_graph_create(MPI_Comm comm, int n, const int sources[], const int degrees[],
                                 const int destinations[], const int weights[], MPI_Info info, int reorder,
                                 MPI_Comm *newcomm) {
    (void)info, (void)reorder;
    COMMUNICATOR_OR_FAIL(communicator, comm);
    if (n < 0) return fail(communicator, MPI_ERR_ARG);
    int edges = 0;
    for (int i = 0; i < n; i++) edges += degrees[i];
    // All ranks learn all edges: source, destination, weight.
    const int size = size_of(communicator), count = 3 * edges;
    int *own_edges = allocate(sizeof(int) * (size_t)(count + 1)), *counts = allocate(sizeof(int) * 2 * (size_t)size);
    for (int i = 0, edge = 0; i < n; i++) {
        for (int j = 0; j < degrees[i]; j++, edge++) {
            own_edges[3 * edge] = sources[i];
            own_edges[3 * edge + 1] = destinations[edge];
            own_edges[3 * edge + 2] = has_weights(weights) ? weights[edge] : 1;
        }
    }
    MPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, comm);
    int total = 0, *displacements = counts + size;
    for (int i = 0; i < size; i++) {
        displacements[i] = total;
        total += counts[i];
    }
    int *all_edges = allocate(sizeof(int) * (size_t)(total + 1));
    MPI_Allgatherv(own_edges, count, MPI_INT, all_edges, counts, displacements, MPI_INT, comm);
    const int error = first_ranks(communicator, size, newcomm);
    if (error == MPI_SUCCESS) {
        int in = 0, out = 0;
        for (int i = 0; i < total; i += 3) {
            in += all_edges[i + 1] == communicator->rank;
            out += all_edges[i] == communicator->rank;
        }
        struct topology *graph = communicator_of(*newcomm)->topology = new_topology(MPI_DIST_GRAPH, in, out);
        graph->is_weighted = weights != MPI_UNWEIGHTED;
        in = out = 0;
        for (int i = 0; i < total; i += 3) {
            if (all_edges[i + 1] == communicator->rank) {
                graph->sources[in] = all_edges[i];
                graph->source_weights[in++] = all_edges[i + 2];
            }
            if (all_edges[i] == communicator->rank) {
                graph->destinations[out] = all_edges[i + 1];
                graph->destination_weights[out++] = all_edges[i + 2];
            }
        }
    }
    free(own_edges);
    free(counts);
    free(all_edges);
    return error;
}

EXPORT int MPI_Dist_graph_neighbors_count(MPI_Comm comm, int *indegree, int *outdegree, int *weighted) {
    TOPOLOGY_OR_FAIL(graph, comm, MPI_DIST_GRAPH);
    *indegree = graph->source_count;
    *outdegree = graph->destination_count;
    *weighted = graph->is_weighted;
    return MPI_SUCCESS;
}

EXPORT int MPI_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[], int sourceweights[],
                                    int maxoutdegree, int destinations[], int destweights[]) {
    TOPOLOGY_OR_FAIL(graph, comm, MPI_DIST_GRAPH);
    const int in = maxindegree < graph->source_count ? maxindegree : graph->source_count;
    const int out = maxoutdegree < graph->destination_count ? maxoutdegree : graph->destination_count;
    for (int i = 0; i < in; i++) {
        sources[i] = graph->sources[i];
        if (graph->is_weighted && has_weights(sourceweights)) sourceweights[i] = graph->source_weights[i];
    }
    for (int i = 0; i < out; i++) {
        destinations[i] = graph->destinations[i];
        if (graph->is_weighted && has_weights(destweights)) destweights[i] = graph->destination_weights[i];
    }
    return MPI_SUCCESS;
}
