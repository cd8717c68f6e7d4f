/* MPI_Allreduce in plain C: what commmodel._core.mpi.collective is measured against. */
#ifndef BENCH_C_ALLREDUCE_H
#define BENCH_C_ALLREDUCE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Time `repetitions` operations on `size` bytes, each after a barrier. As commmodel's kernel: floats are added where
 * the size is a multiple of 4, other bytes are or-ed. Writes this rank's ticks of each and returns MPI_SUCCESS, or the
 * code of the call that failed.
 */
int allreduce(MPI_Comm communicator, const void *outgoing, void *incoming, int size, ptrdiff_t repetitions, int clock,
              uint64_t *ticks);

/* The elements of `size` bytes, their type and the operation on them. */
struct elements {
    int count;
    MPI_Datatype type;
    MPI_Op operation;
};
struct elements elements_of(int size);

#endif
