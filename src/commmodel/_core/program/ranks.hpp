// What a rank is in, and what the engine asks its caller.
#pragma once

#include <cstdint>
#include <vector>

#include "program/program.hpp"

namespace commmodel {

// What asks the caller; each returns false where it raised.
struct Callbacks {
    void *context = nullptr;
    bool (*refill)(void *context, int32_t rank, const Operation **begin, int64_t *count) = nullptr;
    // The next operations of all ranks at once, rank by rank, where all have had what there was; nullptr where that is
    // not so. `users`: of each block given so far, how many ranks still need it.
    bool (*refill_all)(void *context, const std::vector<int32_t> &users, const Operation **operations,
                       const int64_t **offsets) = nullptr;
    bool (*may_go_on)(void *context, double now, int64_t events) = nullptr;
};

enum Doing : int32_t {
    NEXT,             // can begin its operation
    BUSY,             // COMPUTE, SLEEP, or the overhead of a send that has left
    BEFORE_SENDING,   // in the overhead of a send
    SENDING,          // until the message has been transferred
    RECEIVING,        // until the message is there
    AFTER_RECEIVING,  // in the overhead of a receive
    WAITING,          // for `awaited` requests
    GOING_ON,         // as WAITING, and ready
    AFTER_WAITING,    // in the overheads of received messages that it waited for
    TESTED,
    ENDED
};

struct Rank {
    const Operation *begin = nullptr, *at = nullptr, *end = nullptr;
    int64_t before = 0;         // operations in parts of the program that were replaced
    double since = 0.0;         // begin of the state it is in
    double owed = 0.0;          // overheads of what it waited for
    double owed_unnamed = 0.0;  // of unnamed requests that are done
    int32_t open_unnamed = 0, awaited = 0;
    int32_t next = NONE;  // in the agenda or among those ready
    Doing doing = NEXT;
    int32_t first_named = NONE, highest_name = NONE;
    int32_t peer = NONE, tag = NONE;  // of the message that an MPI_Recv got
    double size = 0.0;
    double spent[STATES] = {};
};

// Whether it is in a wait for all of its unnamed requests.
inline bool awaits_unnamed(const Rank &rank) {
    const bool waits = rank.doing == WAITING || rank.doing == GOING_ON || rank.doing == AFTER_WAITING;
    return waits && rank.at->code == WAITALL && rank.at->request == UNNAMED;
}

}  // namespace commmodel
