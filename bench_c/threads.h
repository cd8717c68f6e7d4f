/* Messages of several threads of a rank at once, in plain C: what commmodel._core.mpi.threads is measured against. */
#ifndef BENCH_C_THREADS_H
#define BENCH_C_THREADS_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum { THREADS = 2, THREAD_WINDOW = 64, THREAD_LINE = 64 };

/* Time `repetitions` round trips of `size` bytes that each of THREADS threads makes with its like of `peer`, or windows of
 * THREAD_WINDOW messages that it sends to it, or gets from it; `first` is true on the rank that sends first. A thread's
 * messages lie in cache lines of their own in the buffers. Ticks are from the first thread's begin to the last one's end.
 * Both return MPI_SUCCESS, the code of the call that failed, or MPI_ERR_NO_MEM; without so many threads the job ends. */
int threads_pingpong(const MPI_Comm *communicator, int peer, int first, void *outgoing, void *incoming, int size,
                     ptrdiff_t repetitions, int clock, uint64_t *ticks);
int threads_window(const MPI_Comm *communicator, int peer, int first, void *outgoing, void *incoming, int size,
                   ptrdiff_t repetitions, int clock, uint64_t *ticks);

#endif
