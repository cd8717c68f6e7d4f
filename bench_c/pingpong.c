/* Blocking ping-pong in plain C, with the meaning of commmodel._core.mpi.pingpong.pingpong: between two ticks
 * stand MPI calls and nothing else; a repetition times `batch` exchanges with one pair of ticks. The clock is
 * read by the core's own ticks.h, so that a difference in time is a difference of the loops.
 *
 * Built into the program (yardstick.c) and, twice, into a shared object that compare.py calls by ctypes.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, in ticks.h */

#include "pingpong.h"
#include "clock/ticks.h"
#include "mpi/touch.h"

enum { TAG_MESSAGE = 1 };

struct message {
    const void *outgoing;
    void *incoming;
    int size;
};

static inline int send(const struct message *message, int peer, MPI_Comm communicator) {
    return MPI_Send(message->outgoing, message->size, MPI_BYTE, peer, TAG_MESSAGE, communicator);
}

static inline int receive(const struct message *message, int peer, MPI_Comm communicator) {
    return MPI_Recv(message->incoming, message->size, MPI_BYTE, peer, TAG_MESSAGE, communicator, MPI_STATUS_IGNORE);
}

static inline int exchanges(const struct message *message, int peer, int first, MPI_Comm communicator,
                            ptrdiff_t batch) {
    int code = MPI_SUCCESS;
    if (first) {
        for (ptrdiff_t i = 0; i < batch; i++) {
            if ((code = send(message, peer, communicator)) != MPI_SUCCESS) break;
            if ((code = receive(message, peer, communicator)) != MPI_SUCCESS) break;
        }
    } else {
        for (ptrdiff_t i = 0; i < batch; i++) {
            if ((code = receive(message, peer, communicator)) != MPI_SUCCESS) break;
            if ((code = send(message, peer, communicator)) != MPI_SUCCESS) break;
        }
    }
    return code;
}

int pingpong(const MPI_Comm *communicator, int peer, int first, const void *outgoing, void *incoming, int size,
             ptrdiff_t repetitions, ptrdiff_t batch, int clock, uint64_t *ticks) {
    const struct message message = {outgoing, incoming, size};
    const MPI_Comm handle = *communicator;
    for (ptrdiff_t i = 0; i < repetitions; i++) {
        uint64_t begin = ticks_start(clock);
        int code = exchanges(&message, peer, first, handle, batch);
        ticks[i] = ticks_stop(clock) - begin;
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

/* Read the message that has arrived and write the next one in its place; return the ticks that this takes. */
static inline uint64_t touch(void *address, int size, int clock) {
    if (!size) return 0;
    uint64_t begin = ticks_start(clock);
    read_lines(address, size);
    write_lines(address, size);
    return ticks_stop(clock) - begin;
}

static inline int touched_exchanges(const struct message *message, int peer, int first, MPI_Comm communicator,
                                    ptrdiff_t batch, int clock, uint64_t *touching) {
    int code = MPI_SUCCESS;
    for (ptrdiff_t i = 0; i < batch && code == MPI_SUCCESS; i++) {
        if (first) {
            if (i) *touching += touch(message->incoming, message->size, clock);
            if ((code = send(message, peer, communicator)) != MPI_SUCCESS) break;
            code = receive(message, peer, communicator);
        } else {
            if ((code = receive(message, peer, communicator)) != MPI_SUCCESS) break;
            *touching += touch(message->incoming, message->size, clock);
            code = send(message, peer, communicator);
        }
    }
    return code;
}

int touched_pingpong(const MPI_Comm *communicator, int peer, int first, void *buffer, int size, ptrdiff_t repetitions,
                     ptrdiff_t batch, int clock, uint64_t *ticks) {
    const struct message message = {buffer, buffer, size};
    const MPI_Comm handle = *communicator;
    for (ptrdiff_t i = 0; i < repetitions; i++) {
        uint64_t touching = 0;
        if (first) touch(buffer, size, clock);
        uint64_t begin = ticks_start(clock);
        int code = touched_exchanges(&message, peer, first, handle, batch, clock, &touching);
        ticks[i] = first ? ticks_stop(clock) - begin - touching : touching;
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

int library_is_started(void) {
    int started = 0;
    return MPI_Initialized(&started) == MPI_SUCCESS && started;
}
