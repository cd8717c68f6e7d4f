/* Ping-pong, stream and allreduce timed as the OSU Micro-Benchmarks (7.4) time theirs: osu_latency, osu_bw and
 * osu_allreduce. Written from their documentation and behaviour; no line is theirs.
 */
#ifndef BENCH_C_OSU_H
#define BENCH_C_OSU_H

#include <mpi.h>
#include <stddef.h>

/* All time with MPI_Wtime and write this rank's seconds of each iteration: of a round trip, of a window of `window`
 * messages to its answer, of an operation. They return MPI_SUCCESS, or the code of the call that failed.
 *
 * osu_stream begins its windows without a barrier, posts receives as it comes, all in one buffer, and answers with 4
 * bytes. osu_allreduce has a barrier between two operations.
 */
int osu_pingpong(MPI_Comm communicator, int peer, int first, const char *outgoing, char *incoming, int size,
                 ptrdiff_t iterations, double *seconds);
int osu_stream(MPI_Comm communicator, int peer, int first, char *buffer, int size, int window, ptrdiff_t iterations,
               double *seconds);
int osu_allreduce(MPI_Comm communicator, const void *outgoing, void *incoming, int size, ptrdiff_t iterations,
                  double *seconds);

#endif
