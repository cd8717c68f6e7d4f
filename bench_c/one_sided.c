/* One-sided operations in plain C, with the meaning of commmodel._core.mpi.one_sided. compare.py calls them by ctypes. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, in ticks.h */

#include "one_sided.h"
#include "allreduce.h"
#include "try.h"
#include "clock/ticks.h"

int put_flush(const MPI_Comm *communicator, const MPI_Win *window, int peer, int first, const void *origin,
              void *result, int size, ptrdiff_t repetitions, int clock, uint64_t *ticks) {
    (void)result;
    TRY(MPI_Barrier(*communicator));
    TRY(MPI_Win_lock_all(0, *window));
    for (ptrdiff_t i = 0; i < repetitions; i++) {
        ticks[i] = 0;
        if (!first) continue;
        uint64_t begin = ticks_start(clock);
        TRY(MPI_Put(origin, size, MPI_BYTE, peer, 0, size, MPI_BYTE, *window));
        TRY(MPI_Win_flush(peer, *window));
        ticks[i] = ticks_stop(clock) - begin;
    }
    TRY(MPI_Win_unlock_all(*window));
    return MPI_Barrier(*communicator);
}

int accumulate_lock(const MPI_Comm *communicator, const MPI_Win *window, int peer, int first, const void *origin,
                    void *result, int size, ptrdiff_t repetitions, int clock, uint64_t *ticks) {
    const struct elements elements = elements_of(size);
    (void)result;
    TRY(MPI_Barrier(*communicator));
    for (ptrdiff_t i = 0; i < repetitions; i++) {
        ticks[i] = 0;
        if (!first) continue;
        uint64_t begin = ticks_start(clock);
        TRY(MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, *window));
        TRY(MPI_Accumulate(origin, elements.count, elements.type, peer, 0, elements.count, elements.type,
                           elements.operation, *window));
        TRY(MPI_Win_unlock(peer, *window));
        ticks[i] = ticks_stop(clock) - begin;
    }
    return MPI_Barrier(*communicator);
}

int get_fence(const MPI_Comm *communicator, const MPI_Win *window, int peer, int first, const void *origin,
              void *result, int size, ptrdiff_t repetitions, int clock, uint64_t *ticks) {
    (void)origin;
    TRY(MPI_Barrier(*communicator));
    TRY(MPI_Win_fence(0, *window));
    for (ptrdiff_t i = 0; i < repetitions; i++) {
        ticks[i] = 0;
        uint64_t begin = ticks_start(clock);
        if (!first) TRY(MPI_Win_fence(0, *window));
        TRY(MPI_Get(result, size, MPI_BYTE, peer, 0, size, MPI_BYTE, *window));
        TRY(MPI_Win_fence(0, *window));
        if (!first) continue;
        TRY(MPI_Win_fence(0, *window));
        ticks[i] = ticks_stop(clock) - begin;
    }
    return MPI_Barrier(*communicator);
}
