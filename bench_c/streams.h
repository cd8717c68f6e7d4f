/* Windows of messages in one direction, in plain C: what the loop stream of commmodel._core.mpi.pingpong is measured against. */
#ifndef BENCH_C_STREAMS_H
#define BENCH_C_STREAMS_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Time `repetitions` windows of `window` messages of `size` bytes to `peer`, each begun after a barrier and ended by an
 * answer of 0 bytes; `first` is true on the rank that sends. Messages arrive `stride` bytes apart; 0: all in one place.
 * Writes the ticks of each window and returns MPI_SUCCESS, or the code of the call that failed.
 */
int stream(MPI_Comm communicator, int peer, int first, char *buffer, int size, ptrdiff_t stride, int window,
           ptrdiff_t repetitions, int clock, uint64_t *ticks);

#endif
