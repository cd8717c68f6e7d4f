/* Trains of messages in plain C, with the meaning of commmodel._core.mpi.trains: MPI_Send and MPI_Recv, or MPI_Isend and
 * MPI_Irecv with one MPI_Waitall. Between two ticks stand MPI calls, and with a delay the reading of the clock until
 * it is over. compare.py calls them by ctypes, without a delay: a wait would only hide what a loop costs.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, in ticks.h */

#include "trains.h"
#include "try.h"
#include "clock/ticks.h"

#include <stdlib.h>

enum { TAG_MESSAGE = 1, TAG_READY = 2, TAG_ANSWER = 3 };

struct train {
    char *buffer;
    int size, messages, answer;
    ptrdiff_t stride;
    uint64_t delay;
    int peer, clock;
    MPI_Comm communicator;
};

static inline void spin(uint64_t ticks, int clock) {
    uint64_t begin = ticks_start(clock);
    while (ticks_stop(clock) - begin < ticks);
}

static inline int send_ready(const struct train *train) {
    return MPI_Send(NULL, 0, MPI_BYTE, train->peer, TAG_READY, train->communicator);
}

static inline int receive_ready(const struct train *train) {
    return MPI_Recv(NULL, 0, MPI_BYTE, train->peer, TAG_READY, train->communicator, MPI_STATUS_IGNORE);
}

static inline int send_answer(const struct train *train) {
    char byte = 1;
    return MPI_Send(&byte, train->answer, MPI_BYTE, train->peer, TAG_ANSWER, train->communicator);
}

static inline int receive_answer(const struct train *train) {
    char byte;
    return MPI_Recv(&byte, train->answer, MPI_BYTE, train->peer, TAG_ANSWER, train->communicator, MPI_STATUS_IGNORE);
}

static inline int send(const struct train *train) {
    return MPI_Send(train->buffer, train->size, MPI_BYTE, train->peer, TAG_MESSAGE, train->communicator);
}

static inline int begin_send(const struct train *train, MPI_Request *request) {
    return MPI_Isend(train->buffer, train->size, MPI_BYTE, train->peer, TAG_MESSAGE, train->communicator, request);
}

static inline int blocking_sender(const struct train *train, uint64_t *ticks) {
    TRY(receive_ready(train));
    uint64_t begin = ticks_start(train->clock);
    TRY(send(train));
    for (int i = 1; i < train->messages; i++) {
        if (train->delay) spin(train->delay, train->clock);
        TRY(send(train));
    }
    TRY(receive_answer(train));
    *ticks = ticks_stop(train->clock) - begin;
    return MPI_SUCCESS;
}

static inline int blocking_receiver(const struct train *train, uint64_t *ticks) {
    char *place = train->buffer;
    TRY(send_ready(train));
    uint64_t begin = ticks_start(train->clock);
    for (int i = 0; i < train->messages; i++) {
        TRY(MPI_Recv(place, train->size, MPI_BYTE, train->peer, TAG_MESSAGE, train->communicator, MPI_STATUS_IGNORE));
        place += train->stride;
    }
    TRY(send_answer(train));
    *ticks = ticks_stop(train->clock) - begin;
    return MPI_SUCCESS;
}

static inline int immediate_sender(const struct train *train, MPI_Request *requests, uint64_t *ticks) {
    TRY(receive_ready(train));
    uint64_t begin = ticks_start(train->clock);
    TRY(begin_send(train, &requests[0]));
    for (int i = 1; i < train->messages; i++) {
        if (train->delay) spin(train->delay, train->clock);
        TRY(begin_send(train, &requests[i]));
    }
    TRY(MPI_Waitall(train->messages, requests, MPI_STATUSES_IGNORE));
    TRY(receive_answer(train));
    *ticks = ticks_stop(train->clock) - begin;
    return MPI_SUCCESS;
}

static inline int immediate_receiver(const struct train *train, MPI_Request *requests, uint64_t *ticks) {
    for (int i = 0; i < train->messages; i++)
        TRY(MPI_Irecv(train->buffer + i * train->stride, train->size, MPI_BYTE, train->peer, TAG_MESSAGE,
                      train->communicator, &requests[i]));
    TRY(send_ready(train));
    uint64_t begin = ticks_start(train->clock);
    TRY(MPI_Waitall(train->messages, requests, MPI_STATUSES_IGNORE));
    TRY(send_answer(train));
    *ticks = ticks_stop(train->clock) - begin;
    return MPI_SUCCESS;
}

int blocking_train(const MPI_Comm *communicator, int peer, int first, char *buffer, int size, ptrdiff_t stride,
                   int messages, uint64_t delay, int answer, ptrdiff_t repetitions, int clock, uint64_t *ticks) {
    const struct train train = {buffer, size, messages, answer, stride, delay, peer, clock, *communicator};
    for (ptrdiff_t i = 0; i < repetitions; i++)
        TRY(first ? blocking_sender(&train, &ticks[i]) : blocking_receiver(&train, &ticks[i]));
    return MPI_SUCCESS;
}

int immediate_train(const MPI_Comm *communicator, int peer, int first, char *buffer, int size, ptrdiff_t stride,
                    int messages, uint64_t delay, int answer, ptrdiff_t repetitions, int clock, uint64_t *ticks) {
    const struct train train = {buffer, size, messages, answer, stride, delay, peer, clock, *communicator};
    MPI_Request *requests = malloc((size_t)messages * sizeof *requests);
    int code = requests ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (ptrdiff_t i = 0; i < repetitions && code == MPI_SUCCESS; i++)
        code = first ? immediate_sender(&train, requests, &ticks[i]) : immediate_receiver(&train, requests, &ticks[i]);
    free(requests);
    return code;
}
