/* Streams in plain C, with the meaning of commmodel._core.mpi.pingpong.stream: receives are posted before the barrier, and
 * between two ticks stand MPI calls and nothing else.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, in ticks.h */

#include "streams.h"
#include "try.h"
#include "clock/ticks.h"

#include <stdlib.h>

enum { TAG_MESSAGE = 1, TAG_READY = 2 };

static inline int send_window(const char *buffer, int size, int window, int peer, MPI_Comm communicator,
                              MPI_Request *requests) {
    for (int i = 0; i < window; i++)
        TRY(MPI_Isend(buffer, size, MPI_BYTE, peer, TAG_MESSAGE, communicator, &requests[i]));
    TRY(MPI_Waitall(window, requests, MPI_STATUSES_IGNORE));
    return MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG_READY, communicator, MPI_STATUS_IGNORE);
}

static inline int take_window(int window, int peer, MPI_Comm communicator, MPI_Request *requests) {
    TRY(MPI_Waitall(window, requests, MPI_STATUSES_IGNORE));
    return MPI_Send(NULL, 0, MPI_BYTE, peer, TAG_READY, communicator);
}

int stream(MPI_Comm communicator, int peer, int first, char *buffer, int size, ptrdiff_t stride, int window,
           ptrdiff_t repetitions, int clock, uint64_t *ticks) {
    MPI_Request *requests = malloc((size_t)window * sizeof *requests);
    int code = requests ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (ptrdiff_t i = 0; i < repetitions && code == MPI_SUCCESS; i++) {
        for (int j = 0; j < window && !first && code == MPI_SUCCESS; j++)
            code = MPI_Irecv(buffer + j * stride, size, MPI_BYTE, peer, TAG_MESSAGE, communicator, &requests[j]);
        if (code != MPI_SUCCESS || (code = MPI_Barrier(communicator)) != MPI_SUCCESS) break;
        uint64_t begin = ticks_start(clock);
        code = first ? send_window(buffer, size, window, peer, communicator, requests)
                     : take_window(window, peer, communicator, requests);
        ticks[i] = ticks_stop(clock) - begin;
    }
    free(requests);
    return code;
}
