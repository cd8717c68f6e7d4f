/* MPI_Allreduce with the meaning of commmodel._core.mpi.collective.collective: between two ticks stands one operation. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, in ticks.h */

#include "allreduce.h"
#include "clock/ticks.h"

struct elements elements_of(int size) {
    if (size % 4 == 0) return (struct elements){size / 4, MPI_FLOAT, MPI_SUM};
    return (struct elements){size, MPI_UINT8_T, MPI_BOR};
}

int allreduce(MPI_Comm communicator, const void *outgoing, void *incoming, int size, ptrdiff_t repetitions, int clock,
              uint64_t *ticks) {
    const struct elements elements = elements_of(size);
    for (ptrdiff_t i = 0; i < repetitions; i++) {
        int code = MPI_Barrier(communicator);
        if (code != MPI_SUCCESS) return code;
        uint64_t begin = ticks_start(clock);
        code = MPI_Allreduce(outgoing, incoming, elements.count, elements.type, elements.operation, communicator);
        ticks[i] = ticks_stop(clock) - begin;
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}
