// Rounds of messages sorted by rank: in a round a rank posts its receives, then its sends, waits for all, and works.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "program/program.hpp"

namespace commmodel::traces {

constexpr int32_t MARKER = -1;  // the code of a call that is to be replaced

struct Rounds {
    int64_t processes, messages, works;
    const int64_t *round, *sender, *receiver;
    const double *size;
    const int64_t *work_round, *worker;
    const double *seconds;
};

// Fill offsets (processes + 1 places) with where the operations of each rank begin.
inline void count_operations(const Rounds &all, int64_t *offsets) {
    std::memset(offsets, 0, sizeof(int64_t) * (all.processes + 1));
    int64_t *count = offsets + 1;
    std::vector<int64_t> waited(all.processes, NONE);
    for (int64_t i = 0; i < all.messages; ++i)
        for (int64_t rank : {all.sender[i], all.receiver[i]}) {
            count[rank] += 1 + (waited[rank] != all.round[i]);
            waited[rank] = all.round[i];
        }
    for (int64_t i = 0; i < all.works; ++i) count[all.worker[i]] += all.seconds[i] > 0;
    for (int64_t rank = 0; rank < all.processes; ++rank) count[rank] += offsets[rank];
}

inline void place_operations(const Rounds &all, const int64_t *offsets, int32_t tag, Operation *operations) {
    struct Places {
        int64_t receive, send, next;
    };
    std::vector<Places> of(all.processes);
    for (int64_t rank = 0; rank < all.processes; ++rank) of[rank] = {NONE, 0, offsets[rank]};
    int64_t message = 0, done = 0;
    while (message < all.messages || done < all.works) {
        int64_t round = INT64_MAX;
        if (message < all.messages) round = all.round[message];
        if (done < all.works && all.work_round[done] < round) round = all.work_round[done];
        int64_t stop = message;
        while (stop < all.messages && all.round[stop] == round) ++stop;
        // A rank's receives, its sends and its wait lie side by side: first find their places, then write once.
        for (int64_t i = message; i < stop; ++i) {
            for (int64_t rank : {all.sender[i], all.receiver[i]})
                if (of[rank].receive == NONE) of[rank].receive = of[rank].send = of[rank].next, ++of[rank].next;
            ++of[all.sender[i]].next;
            ++of[all.receiver[i]].next;
            ++of[all.receiver[i]].send;
        }
        for (int64_t i = message; i < stop; ++i) {
            const int32_t sender = static_cast<int32_t>(all.sender[i]),
                          receiver = static_cast<int32_t>(all.receiver[i]);
            operations[of[receiver].receive++] = {IRECV, sender, tag, UNNAMED, all.size[i]};
            operations[of[sender].send++] = {ISEND, receiver, tag, UNNAMED, all.size[i]};
        }
        for (int64_t i = message; i < stop; ++i)
            for (int64_t rank : {all.sender[i], all.receiver[i]})
                if (of[rank].receive != NONE) {
                    of[rank].receive = NONE;
                    operations[of[rank].next - 1] = {WAITALL, ANY, ANY, UNNAMED, 0.0};
                }
        message = stop;
        for (; done < all.works && all.work_round[done] == round; ++done)
            if (all.seconds[done] > 0)
                operations[of[all.worker[done]].next++] = {COMPUTE, ANY, ANY, UNNAMED, all.seconds[done]};
    }
}

// Place the operations of one of `rounds` in which each rank sends one message: receive, send, wait. `source` has a place
// for each rank. False where two ranks send to the same one.
inline bool place_exchange(int64_t processes, int64_t rounds, int64_t round, const int64_t *receiver,
                           const double *size, int32_t tag, int32_t *source, Operation *operations) {
    std::fill(source, source + processes, ANY);
    for (int64_t rank = 0; rank < processes; ++rank) {
        const int64_t to = receiver[rank];
        if (to < 0 || to >= processes || source[to] != ANY) return false;
        source[to] = static_cast<int32_t>(rank);
    }
    for (int64_t rank = 0; rank < processes; ++rank) {
        Operation *const at = operations + 3 * (rank * rounds + round);
        at[0] = {IRECV, source[rank], tag, UNNAMED, size[source[rank]]};
        at[1] = {ISEND, static_cast<int32_t>(receiver[rank]), tag, UNNAMED, size[rank]};
        at[2] = {WAITALL, ANY, ANY, UNNAMED, 0.0};
    }
    return true;
}

}  // namespace commmodel::traces
