/* Return the code of an MPI call that failed. */
#ifndef BENCH_C_TRY_H
#define BENCH_C_TRY_H

#include <mpi.h>

#define TRY(call)                             \
    do {                                      \
        int code = (call);                    \
        if (code != MPI_SUCCESS) return code; \
    } while (0)

#endif
