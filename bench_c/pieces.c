/* A column of numbers, sent by its type and packed, in plain C. compare.py calls them by ctypes. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, in ticks.h */

#include "pieces.h"
#include "try.h"
#include "clock/ticks.h"

enum { TAG_MESSAGE = 1 };

static int column(int size, MPI_Datatype *type) {
    TRY(MPI_Type_vector(size / NUMBER, 1, NUMBER_STRIDE / NUMBER, MPI_DOUBLE, type));
    return MPI_Type_commit(type);
}

int typed_pingpong(const MPI_Comm *communicator, int peer, int first, void *outgoing, void *incoming, int size,
                   ptrdiff_t repetitions, int clock, uint64_t *ticks) {
    const MPI_Comm comm = *communicator;
    MPI_Datatype type;
    TRY(column(size, &type));
    for (ptrdiff_t i = 0; i < repetitions; i++) {
        uint64_t begin = ticks_start(clock);
        if (first) TRY(MPI_Send(outgoing, 1, type, peer, TAG_MESSAGE, comm));
        TRY(MPI_Recv(incoming, 1, type, peer, TAG_MESSAGE, comm, MPI_STATUS_IGNORE));
        if (!first) TRY(MPI_Send(outgoing, 1, type, peer, TAG_MESSAGE, comm));
        ticks[i] = ticks_stop(clock) - begin;
    }
    return MPI_Type_free(&type);
}

static inline int send_packed(char *data, char *packed, int size, MPI_Datatype type, int peer, MPI_Comm comm) {
    int position = 0;
    TRY(MPI_Pack(data, 1, type, packed, size, &position, comm));
    return MPI_Send(packed, position, MPI_PACKED, peer, TAG_MESSAGE, comm);
}

static inline int receive_packed(char *data, char *packed, int size, MPI_Datatype type, int peer, MPI_Comm comm) {
    int position = 0;
    TRY(MPI_Recv(packed, size, MPI_PACKED, peer, TAG_MESSAGE, comm, MPI_STATUS_IGNORE));
    return MPI_Unpack(packed, size, &position, data, 1, type, comm);
}

int packed_pingpong(const MPI_Comm *communicator, int peer, int first, void *outgoing, void *incoming, int size,
                    ptrdiff_t repetitions, int clock, uint64_t *ticks) {
    const MPI_Comm comm = *communicator;
    const ptrdiff_t extent = (ptrdiff_t)(size / NUMBER) * NUMBER_STRIDE;
    char *sent = outgoing, *received = incoming;
    MPI_Datatype type;
    TRY(column(size, &type));
    for (ptrdiff_t i = 0; i < repetitions; i++) {
        uint64_t begin = ticks_start(clock);
        if (first) TRY(send_packed(sent, sent + extent, size, type, peer, comm));
        TRY(receive_packed(received, received + extent, size, type, peer, comm));
        if (!first) TRY(send_packed(sent, sent + extent, size, type, peer, comm));
        ticks[i] = ticks_stop(clock) - begin;
    }
    return MPI_Type_free(&type);
}
