// The datatype of a rank's part of an array that is distributed over a grid of ranks.
#include "online/datatypes/datatypes.h"
#include "online/objects/errors.h"
#include "online/runtime/allocation.h"

// Indices of one grid coordinate, ascending. Returns how many, NONE if an argument is invalid.
static MPI_Count list_indices(MPI_Count size, int distribution, int argument, int grid_sizes, int position,
                              MPI_Count *indices) {
    const bool is_default = argument == MPI_DISTRIBUTE_DFLT_DARG;
    MPI_Count block = is_default ? 1 : argument;
    if (distribution == MPI_DISTRIBUTE_NONE) {
        if (grid_sizes != 1) return NONE;
        block = size;
    } else if (distribution == MPI_DISTRIBUTE_BLOCK) {
        if (is_default) block = (size + grid_sizes - 1) / grid_sizes;
        if (block * grid_sizes < size) return NONE;
    } else if (distribution != MPI_DISTRIBUTE_CYCLIC) {
        return NONE;
    }
    if (block < 1) return NONE;
    MPI_Count count = 0;
    for (MPI_Count first = position * block; first < size; first += grid_sizes * block)
        for (MPI_Count i = first; i < first + block && i < size; i++) indices[count++] = i;
    return count;
}

// Offsets of the elements of this part, in elements of the array; NULL if an argument is invalid.
static MPI_Count *offsets(int rank, int dimensions, const MPI_Count sizes[], const int distributions[],
                          const int arguments[], const int grid_sizes[], int order, MPI_Count *count) {
    MPI_Count *result = allocate_zeroed(1, sizeof(MPI_Count));
    MPI_Count unit = 1;
    *count = 1;
    int *grid = allocate(sizeof(int) * (size_t)dimensions);  // this rank's coordinates, in row-major order
    for (int i = dimensions - 1; i >= 0; i--) {
        grid[i] = rank % grid_sizes[i];
        rank /= grid_sizes[i];
    }
    // From the fastest dimension to the slowest: each index of a slower one repeats the offsets so far.
    for (int step = 0; step < dimensions; step++) {
        const int i = order == MPI_ORDER_C ? dimensions - 1 - step : step;
        MPI_Count *indices = allocate(sizeof(MPI_Count) * (size_t)(sizes[i] + 1));
        const MPI_Count number =
            list_indices(sizes[i], distributions[i], arguments[i], grid_sizes[i], grid[i], indices);
        MPI_Count *whole = number == NONE ? NULL : allocate(sizeof(MPI_Count) * (size_t)(*count * number + 1));
        for (MPI_Count j = 0; whole != NULL && j < number; j++)
            for (MPI_Count k = 0; k < *count; k++) whole[j * *count + k] = result[k] + indices[j] * unit;
        free(indices);
        free(result);
        result = whole;
        if (whole == NULL) break;
        *count *= number;
        unit *= sizes[i];
    }
    free(grid);
    return result;
}

EXPORT int MPI_Type_create_darray_c(int size, int rank, int ndims, const MPI_Count gsizes[], const int distribs[],
                                    const int dargs[], const int psizes[], int order, MPI_Datatype oldtype,
                                    MPI_Datatype *newtype) {
    const struct datatype *element = datatype_of(oldtype);
    if (element == NULL) return fail_world(MPI_ERR_TYPE);
    if (ndims < 1 || rank < 0 || rank >= size || (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN))
        return fail_world(MPI_ERR_ARG);
    MPI_Count whole = 1, ranks = 1, count;
    for (int i = 0; i < ndims; i++) {
        if (gsizes[i] < 1 || psizes[i] < 1) return fail_world(MPI_ERR_ARG);
        whole *= gsizes[i];
        ranks *= psizes[i];
    }
    if (ranks != size) return fail_world(MPI_ERR_ARG);
    MPI_Count *grid_sizes = offsets(rank, ndims, gsizes, distribs, dargs, psizes, order, &count);
    if (grid_sizes == NULL) return fail_world(MPI_ERR_ARG);
    for (MPI_Count i = 0; i < count; i++) grid_sizes[i] *= element->extent;
    MPI_Datatype elements;
    int error = MPI_Type_create_hindexed_block_c(count, 1, grid_sizes, oldtype, &elements);
    free(grid_sizes);
    if (error == MPI_SUCCESS) error = MPI_Type_create_resized_c(elements, 0, whole * element->extent, newtype);
    if (error != MPI_SUCCESS) return error;
    MPI_Type_free(&elements);
    MPI_Count *numbers = allocate(sizeof(MPI_Count) * (size_t)(4 + 4 * ndims));
    numbers[0] = size;
    numbers[1] = rank;
    numbers[2] = ndims;
    for (int i = 0; i < ndims; i++) {
        numbers[3 + i] = gsizes[i];
        numbers[3 + ndims + i] = distribs[i];
        numbers[3 + 2 * ndims + i] = dargs[i];
        numbers[3 + 3 * ndims + i] = psizes[i];
    }
    numbers[3 + 4 * ndims] = order;
    struct datatype *type = datatype_of(*newtype);
    free_contents(type->contents);
    type->contents = new_contents(MPI_COMBINER_DARRAY, 4 + 4 * ndims, numbers, 0, NULL, 1, &oldtype);
    free(numbers);
    return MPI_SUCCESS;
}
