/* Persistent requests and queues of receives in plain C. compare.py calls them by ctypes. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, in ticks.h */

#include "requests.h"
#include "allreduce.h"
#include "try.h"
#include "clock/ticks.h"

enum { TAG_MESSAGE = 1, TAG_READY = 2, TAG_ENTRY = 100 };

static inline int carry_out(MPI_Request *request) {
    TRY(MPI_Start(request));
    return MPI_Wait(request, MPI_STATUS_IGNORE);
}

int persistent_pingpong(const MPI_Comm *communicator, int peer, int first, void *outgoing, void *incoming, int size,
                        ptrdiff_t repetitions, int clock, uint64_t *ticks) {
    MPI_Request sending, receiving;
    TRY(MPI_Send_init(outgoing, size, MPI_BYTE, peer, TAG_MESSAGE, *communicator, &sending));
    TRY(MPI_Recv_init(incoming, size, MPI_BYTE, peer, TAG_MESSAGE, *communicator, &receiving));
    TRY(MPI_Barrier(*communicator));
    for (ptrdiff_t i = 0; i < repetitions; i++) {
        uint64_t begin = ticks_start(clock);
        TRY(carry_out(first ? &sending : &receiving));
        TRY(carry_out(first ? &receiving : &sending));
        ticks[i] = ticks_stop(clock) - begin;
    }
    TRY(MPI_Barrier(*communicator));
    TRY(MPI_Request_free(&sending));
    return MPI_Request_free(&receiving);
}

int persistent_allreduce(const MPI_Comm *communicator, int peer, int first, void *outgoing, void *incoming, int size,
                         ptrdiff_t repetitions, int clock, uint64_t *ticks) {
    (void)peer, (void)first;
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
    const struct elements elements = elements_of(size);
    MPI_Request request;
    TRY(MPI_Allreduce_init(outgoing, incoming, elements.count, elements.type, elements.operation, *communicator,
                           MPI_INFO_NULL, &request));
    for (ptrdiff_t i = 0; i < repetitions; i++) {
        TRY(MPI_Barrier(*communicator));
        uint64_t begin = ticks_start(clock);
        TRY(carry_out(&request));
        ticks[i] = ticks_stop(clock) - begin;
    }
    return MPI_Request_free(&request);
#else
    (void)communicator, (void)outgoing, (void)incoming, (void)size, (void)repetitions, (void)clock, (void)ticks;
    return MPI_ERR_UNSUPPORTED_OPERATION;
#endif
}

static int receive_behind(MPI_Comm communicator, int peer, void *incoming, int size, ptrdiff_t repetitions, int clock,
                          uint64_t *ticks) {
    MPI_Request entries[BEHIND], request;
    for (int i = 0; i < BEHIND; i++) TRY(MPI_Irecv(NULL, 0, MPI_BYTE, peer, TAG_ENTRY + i, communicator, &entries[i]));
    for (ptrdiff_t i = 0; i < repetitions; i++) {
        TRY(MPI_Irecv(incoming, size, MPI_BYTE, peer, TAG_MESSAGE, communicator, &request));
        uint64_t begin = ticks_start(clock);
        TRY(MPI_Send(NULL, 0, MPI_BYTE, peer, TAG_READY, communicator));
        TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
        ticks[i] = ticks_stop(clock) - begin;
    }
    return MPI_Waitall(BEHIND, entries, MPI_STATUSES_IGNORE);
}

static int send_entries(MPI_Comm communicator, int peer) {
    for (int i = 0; i < BEHIND; i++) TRY(MPI_Send(NULL, 0, MPI_BYTE, peer, TAG_ENTRY + i, communicator));
    return MPI_SUCCESS;
}

static int send_when_asked(MPI_Comm communicator, int peer, const void *outgoing, int size, ptrdiff_t repetitions,
                           int clock, uint64_t *ticks) {
    for (ptrdiff_t i = 0; i < repetitions; i++) {
        TRY(MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG_READY, communicator, MPI_STATUS_IGNORE));
        uint64_t begin = ticks_start(clock);
        TRY(MPI_Send(outgoing, size, MPI_BYTE, peer, TAG_MESSAGE, communicator));
        ticks[i] = ticks_stop(clock) - begin;
    }
    return MPI_SUCCESS;
}

int posted_receive(const MPI_Comm *communicator, int peer, int first, void *outgoing, void *incoming, int size,
                   ptrdiff_t repetitions, int clock, uint64_t *ticks) {
    if (first) return receive_behind(*communicator, peer, incoming, size, repetitions, clock, ticks);
    TRY(send_when_asked(*communicator, peer, outgoing, size, repetitions, clock, ticks));
    return send_entries(*communicator, peer);
}

static int receive_unexpected(MPI_Comm communicator, int peer, void *incoming, int size, ptrdiff_t repetitions,
                              int clock, uint64_t *ticks) {
    for (ptrdiff_t i = 0; i < repetitions; i++) {
        TRY(MPI_Send(NULL, 0, MPI_BYTE, peer, TAG_READY, communicator));
        TRY(MPI_Probe(peer, TAG_MESSAGE, communicator, MPI_STATUS_IGNORE));
        uint64_t begin = ticks_start(clock);
        TRY(MPI_Recv(incoming, size, MPI_BYTE, peer, TAG_MESSAGE, communicator, MPI_STATUS_IGNORE));
        ticks[i] = ticks_stop(clock) - begin;
    }
    for (int i = 0; i < BEHIND; i++)
        TRY(MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG_ENTRY + i, communicator, MPI_STATUS_IGNORE));
    return MPI_SUCCESS;
}

int unexpected_message(const MPI_Comm *communicator, int peer, int first, void *outgoing, void *incoming, int size,
                       ptrdiff_t repetitions, int clock, uint64_t *ticks) {
    if (first) return receive_unexpected(*communicator, peer, incoming, size, repetitions, clock, ticks);
    TRY(send_entries(*communicator, peer));
    return send_when_asked(*communicator, peer, outgoing, size, repetitions, clock, ticks);
}
