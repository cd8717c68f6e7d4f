/* One-sided operations with their completion, in plain C: what commmodel._core.mpi.one_sided is measured against. */
#ifndef BENCH_C_ONE_SIDED_H
#define BENCH_C_ONE_SIDED_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Time `repetitions` operations of `size` bytes on the window of `peer`, where `first` is true; 0 on the other rank. The
 * window and the communicator are given by their addresses. `put_flush`: MPI_Put and MPI_Win_flush within one
 * MPI_Win_lock_all; `accumulate_lock`: MPI_Accumulate within a shared lock each; `get_fence`: MPI_Get and MPI_Win_fence,
 * a turn of each rank. They write the ticks and return MPI_SUCCESS, or the code of the call that failed.
 */
int put_flush(const MPI_Comm *communicator, const MPI_Win *window, int peer, int first, const void *origin,
              void *result, int size, ptrdiff_t repetitions, int clock, uint64_t *ticks);
int accumulate_lock(const MPI_Comm *communicator, const MPI_Win *window, int peer, int first, const void *origin,
                    void *result, int size, ptrdiff_t repetitions, int clock, uint64_t *ticks);
int get_fence(const MPI_Comm *communicator, const MPI_Win *window, int peer, int first, const void *origin,
              void *result, int size, ptrdiff_t repetitions, int clock, uint64_t *ticks);

#endif
