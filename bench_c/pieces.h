/* Ping-pongs of a column of numbers, by their MPI datatype and packed by MPI_Pack, in plain C: what
 * commmodel._core.mpi.datatype is measured against.
 */
#ifndef BENCH_C_PIECES_H
#define BENCH_C_PIECES_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a number, and of the distance between two of the column. */
enum { NUMBER = 8, NUMBER_STRIDE = 16 };

/* Time `repetitions` round trips with `peer` of `size` bytes, a multiple of NUMBER, that lie so in both buffers, with room
 * for them packed behind; `first` is true on the rank that sends first. Both write ticks and return MPI_SUCCESS, or the
 * code of the call that failed. */
int typed_pingpong(const MPI_Comm *communicator, int peer, int first, void *outgoing, void *incoming, int size,
                   ptrdiff_t repetitions, int clock, uint64_t *ticks);
int packed_pingpong(const MPI_Comm *communicator, int peer, int first, void *outgoing, void *incoming, int size,
                    ptrdiff_t repetitions, int clock, uint64_t *ticks);

#endif
