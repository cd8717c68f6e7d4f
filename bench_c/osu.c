#include "osu.h"
#include "try.h"
#include "allreduce.h"

#include <stdlib.h>

enum { TAG_DATA = 1, TAG_ACKNOWLEDGEMENT = 2, ACKNOWLEDGEMENT = 4 };

int osu_pingpong(MPI_Comm communicator, int peer, int first, const char *outgoing, char *incoming, int size,
                 ptrdiff_t iterations, double *seconds) {
    for (ptrdiff_t i = 0; i < iterations; i++) {
        double begin = MPI_Wtime();
        if (first) TRY(MPI_Send(outgoing, size, MPI_CHAR, peer, TAG_DATA, communicator));
        TRY(MPI_Recv(incoming, size, MPI_CHAR, peer, TAG_DATA, communicator, MPI_STATUS_IGNORE));
        if (!first) TRY(MPI_Send(outgoing, size, MPI_CHAR, peer, TAG_DATA, communicator));
        seconds[i] = MPI_Wtime() - begin;
    }
    return MPI_SUCCESS;
}

static int send_window(char *buffer, int size, int window, int peer, MPI_Comm communicator, MPI_Request *requests) {
    char acknowledgement[ACKNOWLEDGEMENT];
    for (int i = 0; i < window; i++) TRY(MPI_Isend(buffer, size, MPI_CHAR, peer, TAG_DATA, communicator, &requests[i]));
    TRY(MPI_Waitall(window, requests, MPI_STATUSES_IGNORE));
    return MPI_Recv(acknowledgement, ACKNOWLEDGEMENT, MPI_CHAR, peer, TAG_ACKNOWLEDGEMENT, communicator,
                    MPI_STATUS_IGNORE);
}

static int take_window(char *buffer, int size, int window, int peer, MPI_Comm communicator, MPI_Request *requests) {
    char acknowledgement[ACKNOWLEDGEMENT] = {0};
    for (int i = 0; i < window; i++) TRY(MPI_Irecv(buffer, size, MPI_CHAR, peer, TAG_DATA, communicator, &requests[i]));
    TRY(MPI_Waitall(window, requests, MPI_STATUSES_IGNORE));
    return MPI_Send(acknowledgement, ACKNOWLEDGEMENT, MPI_CHAR, peer, TAG_ACKNOWLEDGEMENT, communicator);
}

int osu_stream(MPI_Comm communicator, int peer, int first, char *buffer, int size, int window, ptrdiff_t iterations,
               double *seconds) {
    MPI_Request *requests = malloc((size_t)window * sizeof *requests);
    int code = requests ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (ptrdiff_t i = 0; i < iterations && code == MPI_SUCCESS; i++) {
        double begin = MPI_Wtime();
        code = (first ? send_window : take_window)(buffer, size, window, peer, communicator, requests);
        seconds[i] = MPI_Wtime() - begin;
    }
    free(requests);
    return code;
}

int osu_allreduce(MPI_Comm communicator, const void *outgoing, void *incoming, int size, ptrdiff_t iterations,
                  double *seconds) {
    const struct elements elements = elements_of(size);
    for (ptrdiff_t i = 0; i < iterations; i++) {
        double begin = MPI_Wtime();
        TRY(MPI_Allreduce(outgoing, incoming, elements.count, elements.type, elements.operation, communicator));
        seconds[i] = MPI_Wtime() - begin;
        TRY(MPI_Barrier(communicator));
    }
    return MPI_SUCCESS;
}
