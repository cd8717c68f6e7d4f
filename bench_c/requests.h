/* Ping-pongs and allreduces by persistent requests, and receives behind others, in plain C: what
 * commmodel._core.mpi.persistent and commmodel._core.mpi.matching are measured against.
 */
#ifndef BENCH_C_REQUESTS_H
#define BENCH_C_REQUESTS_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Time `repetitions` round trips of `size` bytes with `peer` by MPI_Start and MPI_Wait; `first` is true on the rank that
 * sends first. */
int persistent_pingpong(const MPI_Comm *communicator, int peer, int first, void *outgoing, void *incoming, int size,
                        ptrdiff_t repetitions, int clock, uint64_t *ticks);

/* Time `repetitions` allreduces of `size` bytes by MPI_Start and MPI_Wait, each after a barrier; `peer` and `first` tell
 * nothing. Without MPI 4.0 it returns MPI_ERR_UNSUPPORTED_OPERATION. */
int persistent_allreduce(const MPI_Comm *communicator, int peer, int first, void *outgoing, void *incoming, int size,
                         ptrdiff_t repetitions, int clock, uint64_t *ticks);

/* Time `repetitions` messages of `size` bytes from asking for them to their arrival, each receive posted behind BEHIND
 * others; or the receive of each that has arrived behind BEHIND others. `first` is true on the rank that receives. All
 * write ticks and return MPI_SUCCESS, or the code of the call that failed. */
enum { BEHIND = 64 };
int posted_receive(const MPI_Comm *communicator, int peer, int first, void *outgoing, void *incoming, int size,
                   ptrdiff_t repetitions, int clock, uint64_t *ticks);
int unexpected_message(const MPI_Comm *communicator, int peer, int first, void *outgoing, void *incoming, int size,
                       ptrdiff_t repetitions, int clock, uint64_t *ticks);

#endif
