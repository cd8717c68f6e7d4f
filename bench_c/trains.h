/* Trains of messages with one answer in plain C: what the loops of commmodel._core.mpi.trains are measured against. */
#ifndef BENCH_C_TRAINS_H
#define BENCH_C_TRAINS_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Time `repetitions` trains of `messages` messages of `size` bytes to `peer`, and an answer of `answer` (0 or 1)
 * bytes; `first` is true on the rank that sends. The receiver, when it is ready, says so, and takes each message to
 * a place of its own, `stride` bytes apart. Each send but the first begins `delay` ticks after the end of the one
 * before it. Both write the ticks of each train and return MPI_SUCCESS, or the code of the call that failed.
 */
int blocking_train(const MPI_Comm *communicator, int peer, int first, char *buffer, int size, ptrdiff_t stride,
                   int messages, uint64_t delay, int answer, ptrdiff_t repetitions, int clock, uint64_t *ticks);
int immediate_train(const MPI_Comm *communicator, int peer, int first, char *buffer, int size, ptrdiff_t stride,
                    int messages, uint64_t delay, int answer, ptrdiff_t repetitions, int clock, uint64_t *ticks);

#endif
