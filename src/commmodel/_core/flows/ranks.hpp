// What a rank is in, and its requests.
#pragma once

#include <cstdint>
#include <vector>

#include "program/matching.hpp"
#include "program/program.hpp"
#include "program/reader.hpp"

namespace commmodel {

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
    FILING,    // in ACCESS
    AWAITING,  // in AWAIT, until something happens
    AWOKEN,
    ENDED
};

struct Rank : Cursor {
    double since = 0.0;         // begin of the state it is in
    double owed = 0.0;          // overheads of what it waited for
    double owed_unnamed = 0.0;  // of unnamed requests that are done
    int32_t open_unnamed = 0, awaited = 0;
    int32_t next = NONE;    // in the event queue or among those ready
    int32_t in_flight = 0;  // messages to and from it
    Doing doing = NEXT;
    int32_t peer = NONE, tag = NONE;  // of the message that an MPI_Recv got
    double size = 0.0;
    bool is_early = false;  // in an MPI_Recv since before any of its messages left
    Unmatched unmatched;
};

struct Request {
    int32_t name;
    int32_t before, after;  // among the rank's
    double overhead;        // that its wait takes, once it is done
    bool done, awaited;     // awaited: its rank is in the wait for it
};

// Ranks that can go on, in the order in which they became able to.
class ReadyRanks {
  public:
    bool empty() const { return first_ == NONE; }

    void add(int32_t rank, std::vector<Rank> &ranks) {
        ranks[rank].next = NONE;
        (last_ == NONE ? first_ : ranks[last_].next) = rank;
        last_ = rank;
    }

    int32_t take(const std::vector<Rank> &ranks) {
        const int32_t rank = first_;
        first_ = ranks[rank].next;
        if (first_ == NONE) last_ = NONE;
        return rank;
    }

  private:
    int32_t first_ = NONE, last_ = NONE;
};

// Whether it is in a call that waits for requests, or for anything to happen.
inline bool is_waiting(const Rank &rank) {
    return rank.doing == WAITING || rank.doing == GOING_ON || rank.doing == AWAITING;
}

// Whether it is in a wait for all of its unnamed requests.
inline bool awaits_unnamed(const Rank &rank) {
    const bool waits = rank.doing == WAITING || rank.doing == GOING_ON || rank.doing == AFTER_WAITING;
    return waits && rank.at->code == WAITALL && rank.at->request == UNNAMED;
}

}  // namespace commmodel
