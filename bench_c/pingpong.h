/* The ping-pong loop in plain C: what the compiled core's loop is measured against. */
#ifndef BENCH_C_PINGPONG_H
#define BENCH_C_PINGPONG_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Time `repetitions` times `batch` round trips of `size` bytes with `peer`; `first` is true on the rank that
 * sends first. Writes the ticks of each repetition and returns MPI_SUCCESS, or the code of the call that
 * failed. The communicator is given by its address, as a handle has no size that ctypes could know.
 */
int pingpong(const MPI_Comm *communicator, int peer, int first, const void *outgoing, void *incoming, int size,
             ptrdiff_t repetitions, ptrdiff_t batch, int clock, uint64_t *ticks);

/* The same with one buffer for both ways, which each rank reads and writes before it sends it: the ticks of `first` are
 * without its own reading and writing, those of the other rank are those of its reading and writing.
 */
int touched_pingpong(const MPI_Comm *communicator, int peer, int first, void *buffer, int size, ptrdiff_t repetitions,
                     ptrdiff_t batch, int clock, uint64_t *ticks);

/* Whether the MPI library behind this code has been started: false if it is another copy than the caller's. */
int library_is_started(void);

#endif
